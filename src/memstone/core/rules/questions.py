"""From a question about the user and a short reply to the statement that both make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from memstone.core.rules.question_table import QUESTIONS, Asked

_MANY_PEOPLE: Final = frozenset({"children", "in-laws", "grandchildren"})


def stated(question: str, said: str) -> str:
    """The statement that a plain reply makes of a plain question about the user; '' where it makes none."""
    for asked in QUESTIONS:
        found = next(filter(None, (one.fullmatch(question) for one in asked.patterns)), None)
        value = asked.value(said) if found else ""
        if found and value:
            return _filled(asked, found.groupdict(), value)
    return ""


def _filled(asked: Asked, groups: Mapping[str, str], value: str) -> str:
    about = (groups.get("whose") or groups.get("what") or "").lower().split()
    many = bool(about) and (about[-1] in _MANY_PEOPLE or about[-1].endswith("s"))
    words = {name: my(one) for name, one in groups.items() if one}
    value = asked.fitted(words, value) if asked.fitted else value
    return asked.says.format(**words, value=value, is_="are" if many else "is", s_="" if many else "s")


def my(said: str) -> str:
    """What is said to somebody as they would say it of themselves."""
    return _YOURSELF.sub("myself", _YOUR.sub("my", said))


_YOUR: Final = re.compile(r"\byour\b", re.IGNORECASE)
_YOURSELF: Final = re.compile(r"\byourself\b", re.IGNORECASE)
