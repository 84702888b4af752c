"""Find the tense of a place in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain
from typing import Final

from memstone.language.en.verbs import SAME_IN_PAST, is_past

WORD: Final = re.compile("[a-z']+")
_SENTENCE_END: Final = re.compile(r"[.!?;\n]")
_CLAUSE_END: Final = re.compile(r"[.!?;\n]|\b(?:and|but|so|because|while|which|until)\b")
_YEAR_OR_HABIT: Final = re.compile(
    r"\b(?:(?:19|20)[0-9]{2}|every|each|usually|always|weekly|often|normally|typically)\b", re.IGNORECASE
)
_LEADING_ON: Final = frozenset({"to", "until", "till", "by"})  # "moved to Friday" was said before, not after it
_NEARBY: Final = 300
_FUTURE: Final = frozenset(
    """will i'll we'll you'll he'll she'll they'll it'll won't shall gonna going tomorrow upcoming plan plans planning
    planned hope hopes hoping scheduled booked reserved due intend intends looking want wants would wait expect expects
    expecting soon should must leaving arriving coming starting flying""".split()
)
_PAST: Final = frozenset("been seen gone done taken begun written driven eaten given happened".split())
_BE: Final = frozenset("am is are i'm we're you're they're he's she's it's isn't aren't".split())
_HAVE: Final = frozenset("i've we've you've they've he's she's it's have has".split())
_PRESENT: Final = _BE | frozenset("have has starts ends begins leaves arrives expires opens closes".split())
_NOT_BEFORE_A_VERB: Final = _BE | {
    "be",
    "being",
    "get",
    "gets",
    "getting",
    "feel",
    "feels",
    "so",
    "very",
}

_ARRANGED: Final = frozenset(
    """got signed registered bought arranged postponed pushed rescheduled applied invited agreed decided promised asked
    told said confirmed enrolled entered rebooked""".split()
)
"""What is done today for a day ahead: "got tickets for 3 June" says nothing of when that is."""

_NO_VERB: Final = SAME_IN_PAST | _ARRANGED | {"hundred", "united", "need", "fred"}


@dataclass(frozen=True, slots=True)
class DatedText:
    """A text and the time it was said; ``looks_back`` is what a phrase without any tense means."""

    text: str
    now: datetime
    looks_back: bool

    @property
    def today(self) -> date:
        """The day where it was said."""
        return self.now.date()

    def words_before(self, at: int) -> list[str]:
        """Return the few words before a place, in small letters."""
        return [word.lstrip("(\"'\u201c") for word in self.text[max(0, at - 30) : at].lower().replace("-", " ").split()]

    def word_before(self, at: int) -> str:
        """Return the word before a place, with its punctuation; '' at the start."""
        return (self.words_before(at) or [""])[-1]

    def tense(self, match: re.Match[str]) -> int | None:
        """Return what the nearest verb of the sentence says: -1 past, 0 present, 1 future, ``None`` without one."""
        words = [word for word in self.words_before(match.start()) if word != "the"]
        if words[-1:] == ["since"]:
            return -1
        before, after = self._around(match)
        found = chain(reversed([*_verb_tenses(before)]), _verb_tenses(_CLAUSE_END.split(after, maxsplit=1)[0]))
        tense = next(found, None)
        return None if tense == -1 and not _LEADING_ON.isdisjoint(words[-1:]) else tense

    def is_past(self, tense: int | None) -> bool:
        """Return whether a place with this tense lies in the past; without past or future, what was agreed on."""
        return (tense or (-1 if self.looks_back else 1)) < 0

    def has_doubts(self, match: re.Match[str]) -> bool:
        """Return whether the sentence names a year, which is likely to be meant here too, or mentions a habit."""
        return any(_YEAR_OR_HABIT.search(part) for part in self._around(match))

    def _around(self, match: re.Match[str]) -> tuple[str, str]:
        """Return the sentence before and after a place, as far as it is near."""
        before = self.text[max(0, match.start() - _NEARBY) : match.start()]
        after = self.text[match.end() : match.end() + _NEARBY]
        return _SENTENCE_END.split(before)[-1], _SENTENCE_END.split(after, maxsplit=1)[0]


def _verb_tenses(clause: str) -> Iterator[int]:
    words = WORD.findall(clause.lower().replace("\u2019", "'"))
    for before, word in zip(["", *words], words, strict=False):
        if word in _FUTURE or (word.endswith("ing") and before in _BE):
            yield -1 if before in {"was", "were", "been"} else 1
        elif word in _PRESENT or (word == "got" and before in _HAVE):
            yield 0
        elif before not in _NOT_BEFORE_A_VERB and _is_past(word):
            yield -1


def _is_past(word: str) -> bool:
    return word not in _NO_VERB and (word in _PAST or is_past(word.removesuffix("n't")))
