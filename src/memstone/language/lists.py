"""Read word lists and tables from the data files of a language."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def read_data(language: str, name: str) -> dict[str, Any]:
    """Return what a data file holds: texts, lists and tables by name."""
    path = Path(__file__).parent / language / "data" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))
