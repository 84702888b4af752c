"""Fitted weights. ``MANIFEST.toml`` lists their sources and results."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
"""Where the files lie."""
