"""Check the values of settings, and convert them between their stored and their used form."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Final, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memstone.core.redact import RedactPolicy
from memstone.language.text.tokens import query_terms
from memstone.model.context_gate import GateMode

# --- what the value of a setting may be -------------------------------------------------------------------------------


_LANGUAGE: Final = re.compile(r"([A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)?")
_TEXT_CHARS: Final = 20_000
_CATEGORIES: Final = 100
_NAME_CHARS: Final = 64


class Form(Protocol):
    """A kind of value. What is wrong is a ``ValueError`` that says how it should be."""

    def read(self, value: object) -> Any:
        """Return the value as the policy holds it."""
        ...

    def to_json(self, value: Any) -> Any:
        """Return a value of the policy as JSON."""
        ...


class _PlainForm:
    """Values that JSON and the policy write in the same way."""

    def to_json(self, value: Any) -> Any:
        return value


class Flag(_PlainForm):
    """True or false."""

    def read(self, value: object) -> bool:
        """Return a truth value."""
        if not isinstance(value, bool):
            raise ValueError("true or false")  # noqa: TRY004 - callers wait for one kind of error
        return value


@dataclass(frozen=True, slots=True)
class Number(_PlainForm):
    """A number within bounds; ``above`` leaves the least one out, ``below`` the greatest."""

    least: float = 0
    most: float = math.inf
    is_integer: bool = True
    optional: bool = False
    above: bool = False
    below: bool = False

    def read(self, value: object) -> float | None:
        """Return a number."""
        if value is None and self.optional:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not self._fits(value):
            raise ValueError(self._describe_range())
        return value if self.is_integer else float(value)

    def _fits(self, value: float) -> bool:
        if self.is_integer and not isinstance(value, int):
            return False
        within = self.least <= value <= self.most and math.isfinite(value)
        return within and not (self.above and value == self.least) and not (self.below and value == self.most)

    def _describe_range(self) -> str:
        kind = "a whole number" if self.is_integer else "a number"
        least = f"more than {self.least:,}" if self.above else f"at least {self.least:,}"
        most = "" if self.most == math.inf else f" and {'less than' if self.below else 'at most'} {self.most:,}"
        return f"{kind}, {least}{most}" + (", or null" if self.optional else "")


@dataclass(frozen=True, slots=True)
class Choice(_PlainForm):
    """One of a few words."""

    words: tuple[str, ...]

    def read(self, value: object) -> str:
        """Return the word."""
        if not isinstance(value, str) or value not in self.words:
            raise ValueError("one of " + ", ".join(self.words))
        return value


@dataclass(frozen=True, slots=True)
class GateForm(_PlainForm):
    """How the gate decides; ``off`` is another word for ``always``."""

    def read(self, value: object) -> str:
        """Return the word."""
        word = Choice(tuple(map(str, GateMode))).read(value)
        return str(GateMode.ALWAYS) if word == GateMode.OFF else word


@dataclass(frozen=True, slots=True)
class Text(_PlainForm):
    """Any text, up to a length."""

    most: int = _TEXT_CHARS

    def read(self, value: object) -> str:
        """Return the text."""
        if not isinstance(value, str) or len(value) > self.most or "\x00" in value:
            raise ValueError(f"text of at most {self.most:,} characters")
        return value


class LanguageForm(_PlainForm):
    """A language, as in ``nb`` or ``pt-BR``; '' is not known."""

    def read(self, value: object) -> str:
        """Return the tag."""
        if not isinstance(value, str) or not _LANGUAGE.fullmatch(value):
            raise ValueError("the tag of a language, such as nb or pt-BR")
        return value


class Zone(_PlainForm):
    """A time zone by its IANA name."""

    def read(self, value: object) -> str:
        """Return the name."""
        try:
            ZoneInfo(value if isinstance(value, str) else "")
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError("the name of a time zone, such as Europe/Oslo") from None
        return str(value)


@dataclass(frozen=True, slots=True)
class WordList:
    """Some of a few words, each once; at least so many."""

    words: tuple[str, ...]
    least: int = 0

    def read(self, value: object) -> tuple[str, ...]:
        """Return the words, in their order."""
        argument = tuple(value) if isinstance(value, (list, tuple)) else (None,)
        if any(one not in self.words for one in argument) or not self.least <= len(argument) == len(set(argument)):
            raise ValueError("a list of some of " + ", ".join(self.words))
        return argument

    def to_json(self, value: tuple[str, ...]) -> list[str]:
        """Return a list."""
        return list(value)


@dataclass(frozen=True, slots=True)
class Days:
    """Days by name; 0 is without end, and the same as not to name it."""

    names: tuple[str, ...]

    def read(self, value: object) -> tuple[tuple[str, int], ...]:
        """Return pairs, in the order of their names."""
        wrong = "a table of whole days, at least 0, for some of " + ", ".join(self.names)
        if not isinstance(value, Mapping) or any(name not in self.names for name in value):
            raise ValueError(wrong)
        if any(isinstance(days, bool) or not isinstance(days, int) or days < 0 for days in value.values()):
            raise ValueError(wrong)
        return tuple(sorted((name, days) for name, days in value.items() if days))

    def to_json(self, value: tuple[tuple[str, int], ...]) -> dict[str, int]:
        """Return a table."""
        return dict(value)


class Redaction:
    """What is done about each kind of secret."""

    def read(self, value: object) -> tuple[tuple[str, str], ...]:
        """Return pairs, in the order of their names."""
        kinds = [item.name for item in fields(RedactPolicy)]
        if not isinstance(value, Mapping) or any(kind not in kinds for kind in value):
            raise ValueError("a table of off, mask or drop for some of " + ", ".join(kinds))
        if any(action not in ("off", "mask", "drop") for action in value.values()):
            raise ValueError("off, mask or drop for each kind of secret")
        return tuple(sorted((str(kind), str(action)) for kind, action in value.items()))

    def to_json(self, value: tuple[tuple[str, str], ...]) -> dict[str, str]:
        """Return a table."""
        return dict(value)


class Scores:
    """A minimum by embedder."""

    def read(self, value: object) -> tuple[tuple[str, float], ...]:
        """Return pairs, in the order of their names."""
        wrong = "a table of numbers from 0 to 1 by provider:model"
        if not isinstance(value, Mapping) or not all(isinstance(name, str) and name for name in value):
            raise ValueError(wrong)
        least = Number(0, 1, is_integer=False)
        try:
            return tuple(sorted((name, float(least.read(score) or 0)) for name, score in value.items()))
        except ValueError:
            raise ValueError(wrong) from None

    def to_json(self, value: tuple[tuple[str, float], ...]) -> dict[str, float]:
        """Return a table."""
        return dict(value)


class Categories:
    """Names with a few words about each, as a table or as a list of names."""

    def read(self, value: object) -> tuple[tuple[str, str], ...]:
        """Return pairs, in the order they were given."""
        named = isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)
        argument = dict.fromkeys(value, "") if named and isinstance(value, (list, tuple)) else value
        wrong = f"a list of at most {_CATEGORIES} names, or a table of names with a few words about each"
        if not isinstance(argument, Mapping) or len(argument) > _CATEGORIES:
            raise ValueError(wrong)
        for name, about in argument.items():
            if not isinstance(name, str) or not 0 < len(name.strip()) <= _NAME_CHARS or not isinstance(about, str):
                raise ValueError(wrong)
        return tuple((name.strip(), about) for name, about in argument.items())

    def to_json(self, value: tuple[tuple[str, str], ...]) -> dict[str, str]:
        """Return a table."""
        return dict(value)


# --- categories of one's own ------------------------------------------------------------------------------------------


def sorted_into(text: str, category: str, own: Sequence[tuple[str, str]]) -> str:
    """Return the category of one's own that a fact belongs to; the one it was given where none fits.

    A language model has chosen from them already. Otherwise the words decide: those of the category's name and of what
    is said about it, in whichever form they are in the fact. The first of equals wins.
    """
    if not own or any(category == name for name, _ in own):
        return category
    words = set(query_terms(text))
    shared = [(len(words & _category_terms(name, about)), name) for name, about in own]
    best = max(count for count, _ in shared)
    return next(name for count, name in shared if count == best) if best else category


@lru_cache(maxsize=1_024)
def _category_terms(name: str, about: str) -> frozenset[str]:
    return frozenset(query_terms(f"{name} {about}"))


def asked_for(own: Sequence[tuple[str, str]]) -> str:
    """Return what a language model is told about them; '' when there are none."""
    if not own:
        return ""
    listed = "; ".join(f"{name} ({about})" if about else name for name, about in own)
    return f"Use one of these as the category of each fact, and other where none fits: {listed}."
