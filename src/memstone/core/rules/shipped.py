"""The slots that are there without any configuration: what a person has one of at a time."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Slot(NamedTuple):
    """By which words people call it, and what tells its value in a statement's plain words."""

    asked: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]


@cache
def shipped_slots() -> dict[str, Slot]:
    """The slots by their names."""
    told = tomllib.loads(files("memstone.core.changes").joinpath("slots.toml").read_text("utf-8"))
    return {
        name: Slot(tuple(one["asked"].split()), tuple(re.compile(pattern) for pattern in one["patterns"]))
        for name, one in told.items()
    }
