"""Rules of a configuration's own: how a fact is said, and what people have one or many of."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OwnPattern:
    """A way to say a fact. ``fact`` is the sentence to keep, with ``{subject}`` and the named groups of ``match``."""

    match: re.Pattern[str]
    fact: str
    category: str
    slot: str = ""


@dataclass(frozen=True, slots=True)
class OwnSlot:
    """Something people have one of at a time, or ``many`` of; ``patterns`` find its value in a kept sentence."""

    name: str
    many: bool = False
    patterns: tuple[re.Pattern[str], ...] = ()


@dataclass(frozen=True, slots=True)
class OwnRules:
    """All rules of a configuration."""

    patterns: tuple[OwnPattern, ...] = ()
    slots: tuple[OwnSlot, ...] = ()
