"""Cut a message into pieces, from what the curator says about each word.

A piece is a sentence or a clause. Whether it is worth remembering, of which kind it is and whom it is about follow from
the mean of the numbers over its words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from memstone.language.en.sentences import expand_contractions
from memstone.language.en.verbs import finite_at, is_verb
from memstone.model.curator import Curator

KINDS: Final = (
    "identity",
    "health",
    "family",
    "home",
    "work",
    "preference",
    "plan",
    "possession",
    "event",
    "project",
    "instruction",
)
WHYS: Final = (
    "mood",
    "question",
    "task",
    "hypothetical",
    "joke",
    "other",
    "pasted",
    "smalltalk",
    "world",
    "passing",
)
ABOUT: Final = ("user", "near", "work", "thing")
JUDGEMENTS: Final = ("ok", "unclear", "worthless", "garbled")
"""What a reader may find of a memory who has not seen the conversation."""

FIRST_KIND: Final = 4
OUTPUTS: Final = FIRST_KIND + len(KINDS) + len(WHYS) + len(ABOUT)
"""Of each word: whether a piece begins with it, whether it is worth remembering, whether it takes the rest of the message
or what was said before to understand it, its kind or why not, and about whom."""

_AT_ONCE: Final = 250
"""So many words are read at once; a longer message is read in several parts."""

_BEFORE: Final = 40
_START: Final = 0.0
_JOINT_START: Final = -0.4
"""How sure a beginning must be within a sentence, as log odds; and where a comma or a joining word allows one."""

_FAR: Final = 8
_SELF: Final = re.compile(r"(?:i|i['’]?(?:m|ve|d|ll)|my|we|we['’](?:re|ve)|our)$")
_WORD: Final = re.compile(r"\S+")
_ENDS: Final = re.compile(r"[.!?…][\"')\]”’]*$|[\U0001f300-\U0001faff]$")
_ABBREVIATED: Final = re.compile(
    r"^(?:mr|mrs|ms|dr|st|prof|inc|ltd|corp|co|vs|etc|e\.g|i\.e|jr|sr|no|approx|dept|[a-z]|\d{1,2})\.$", re.IGNORECASE
)
_ASKING: Final = frozenset(
    "what how when where why which who should shall can could would will do does did is are am any whats hows".split()
)
_ASKED_START: Final = -2.5
"""How sure a beginning must be where a comma stands before a word with which people ask."""

_JOINTS: Final = frozenset("and but so because cause cuz though although while since plus also or then except".split())


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a message: where it is, how likely it is worth remembering, what it is, and about whom."""

    start: int
    end: int
    keep: float
    kind: str
    why: str
    about: str
    opens: bool
    """Whether a sentence begins with it."""

    leans: float = 0.0
    """How likely it takes the rest of the message to understand it."""

    answers: float = 0.0
    """How likely it takes what was said before to understand it."""


def read_pieces(curator: Curator, text: str, before: str = "") -> list[Piece]:
    """Return the pieces of a message, in order; ``before`` is what was said right before it."""
    spans = [match.span() for match in _WORD.finditer(text)]
    opens = {0, *(at for at in range(1, len(spans)) if _is_end(text, spans, at))}
    pieces: list[Piece] = []
    at = 0
    while at < len(spans):
        part = spans[at : at + _AT_ONCE]
        rows = curator.read_words(before, [text[start:end] for start, end in part])
        if not len(rows):
            break
        size = _complete_word_count(len(rows), at, len(spans), opens)
        # What goes on from part to part without an end is no sentence: each part begins one, so that none is endless.
        begins = {0, *(one for one in range(size) if at + one in opens)}
        pieces += _split_pieces(text, part[:size], rows[:size], begins)
        at += size
        before = text[spans[max(0, at - _BEFORE)][0] : spans[at - 1][1]]
    return pieces


def _complete_word_count(read: int, at: int, total: int, opens: set[int]) -> int:
    """Return how many of the words that were read make whole sentences.

    It is all of them where they are the last, or one sentence.
    """
    if at + read >= total:
        return read
    return next((size for size in range(read, 0, -1) if at + size in opens), read)


def _is_end(text: str, spans: Sequence[tuple[int, int]], at: int) -> bool:
    """Return whether a sentence ends right before a word."""
    (start, end), (following, _) = spans[at - 1], spans[at]
    if "\n" in text[end:following]:
        return True
    word = text[start:end]
    return bool(_ENDS.search(word)) and not _ABBREVIATED.match(word)


def _split_pieces(text: str, spans: Sequence[tuple[int, int]], rows: Any, opens: set[int]) -> Iterator[Piece]:
    words = [text[start:end] for start, end in spans]
    starts: list[int] = []
    for at in range(len(spans)):
        if at == 0 or at in opens or _may_start(words, at, float(rows[at][0])) or _begins_clause(words, starts[-1], at):
            starts.append(at)
    for begin, end in pairwise([*starts, len(spans)]):
        mean = rows[begin:end].mean(axis=0)
        kinds, whys = mean[FIRST_KIND:][: len(KINDS)], mean[FIRST_KIND + len(KINDS) :][: len(WHYS)]
        yield Piece(
            spans[begin][0],
            spans[end - 1][1],
            _probability_from_logit(mean[1]),
            KINDS[int(kinds.argmax())],
            WHYS[int(whys.argmax())],
            ABOUT[int(mean[-len(ABOUT) :].argmax())],
            begin in opens,
            _probability_from_logit(mean[2]),
            _probability_from_logit(mean[3]),
        )


def _probability_from_logit(logit: float) -> float:
    return 1 / (1 + math.exp(-float(logit)))


def _may_start(words: Sequence[str], at: int, odds: float) -> bool:
    if words[at - 1][-1] in ",;:-—–" and _asks_at(words, at):
        return odds >= _ASKED_START
    is_joint = words[at - 1][-1] in ",;:-—–)" or words[at].lower().strip(",") in _JOINTS
    return odds >= (_JOINT_START if is_joint else _START)


def _asks_at(words: Sequence[str], at: int) -> bool:
    """Return whether a question begins with a word, or right behind it where it only joins: ", so what …"."""
    is_joint = words[at].lower() in _JOINTS and at + 1 < len(words)
    return words[at + is_joint].lower() in _ASKING


def _begins_clause(words: Sequence[str], begun: int, at: int) -> bool:
    """Return whether "and I", "but my" or the like joins a clause of its own to a whole one: each has its verb."""
    if words[at].lower() not in ("and", "but", "so") or at + 2 >= len(words) or not _SELF.match(words[at + 1].lower()):
        return False
    before, behind = _split_expanded_words(words[begun:at]), _split_expanded_words(words[at + 1 : at + _FAR])
    return _has_verb(before) and _has_verb(behind)


def _has_verb(words: list[str]) -> bool:
    return finite_at(words) > 0 or any(
        one.lower() in ("i", "we") and is_verb(then.lower()) for one, then in pairwise(words)
    )


def _split_expanded_words(words: Sequence[str]) -> list[str]:
    return expand_contractions(" ".join(words)).split()
