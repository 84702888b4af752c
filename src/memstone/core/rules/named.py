"""Speakers who have a name: what stands before their words, and what is told about them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_ROLES: Final = frozenset({"user", "the user", "assistant", "system"})
_MONTHS: Final = frozenset(
    "january february march april may june july august september october november december".split()
)


def speaker_name(name: str) -> str:
    """The name of a speaker as far as it is one; '' for a name such as "user"."""
    return "" if name.strip().casefold() in _ROLES else name.strip()


def begins_with(text: str, name: str) -> bool:
    """Whether a text is told about somebody of this name, or about somebody of theirs; not only to them."""
    found = _name(name).match(text) if name else None
    return found is not None and _GOES_ON.match(text, found.end()) is not None


_GOES_ON: Final = re.compile(r"(?:'s)? [a-z\d]")


def as_user(text: str, name: str) -> str:
    """A text about somebody by name as it would be told about "User"."""
    return _name(name).sub("User", text) if name else text


def without_prefix(text: str, speaker: str) -> str:
    """The words of a message that begins with who says them: "Maya: I moved to Bergen"."""
    found = _prefix(speaker).match(text) if speaker and ":" in text[: len(speaker) + 16] else None
    return text[found.end() :] if found else text


@lru_cache(maxsize=256)
def _prefix(name: str) -> re.Pattern[str]:
    return re.compile(rf"\s*[*_\[(<]{{0,3}}{_written(name)}[*_\])>]{{0,3}}\s*:[*_]{{0,3}}\s+", re.IGNORECASE)


@lru_cache(maxsize=256)
def _name(name: str) -> re.Pattern[str]:
    """A name at the start of a sentence, and as it is written anywhere else but where it is told as a name."""
    word = _written(name)
    behind = "(?='s )" if name.casefold() in _MONTHS else r"(?!\w)"
    return re.compile(
        rf"(?:^|(?<=[.!?] ))(?i:{word})(?!\w)|(?<!name is )(?<!called )(?<!named )(?<!call )(?<!\w){word}{behind}"
    )


def _written(name: str) -> str:
    return r"\s+".join(map(re.escape, name.split()))
