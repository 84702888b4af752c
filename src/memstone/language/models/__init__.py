"""Fitted weights; ``MANIFEST.toml`` says where each of them comes from and how it did on what it had not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
"""Where the files lie."""
