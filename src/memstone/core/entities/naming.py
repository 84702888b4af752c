"""A question about somebody, put as that one would have said it.

People speak of themselves as "I". A question that names a speaker is nearer to what the speaker said when the name is
"I" there, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from memstone.core.text.words import STOP_WORDS


@dataclass(frozen=True, slots=True)
class Spoken:
    """The speakers a question names, and the question in their words; '' when it names none."""

    named: tuple[str, ...] = ()
    text: str = ""


NOBODY: Final = Spoken()

_WORDS_TOO: Final = STOP_WORDS | frozenset(
    """may mark bill rose hope grace faith joy drew chase art grant rich frank summer autumn dawn april june august
    page lane guy miles penny skip sky ginger pepper olive basil rosemary crystal sandy sunny brook cliff""".split()
)
"""Names that are words of many questions: somebody is meant where they have a capital and do not begin a sentence."""


def spoken(query: str, speakers: Collection[str]) -> Spoken:
    """A question in the words of the speakers it names; ``speakers`` are known names in lower case."""
    lowered = query.lower()
    named = tuple(sorted((name for name in speakers if name in lowered and _pattern(name).search(query)), key=len))
    if not named:
        return NOBODY
    text = query
    for name in reversed(named):  # the longest first: "Mary Ann" before "Mary"
        text = _pattern(name).sub(lambda match: "my" if match["of"] else "I", text)
    return Spoken(named, text)


def _pattern(name: str) -> re.Pattern[str]:
    of = "(?P<of>['\u2019]s)?(?!\\w)"
    if name in _WORDS_TOO:
        return re.compile(f"(?<!\\w)(?:(?<=[\\w,;:] )|(?=\\w+['\u2019]s)){name.capitalize()}{of}")
    return re.compile(f"(?<!\\w){re.escape(name)}{of}", re.IGNORECASE)
