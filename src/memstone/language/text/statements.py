"""Read a statement in several languages: its clauses, negation and owner."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from memstone.language.lists import read_data
from memstone.language.text.tokens import query_terms

_DATA: Final = read_data("text", "statements")

_EDGE: Final = re.compile(
    r"[.!?;\u2026\u061f](?!\w)|[\n\u3002\uff01\uff1f\u0964\u3001\uff0c]|[,:](?!\d)|\s[-\u2013\u2014]+\s"
    r"|\b(?:but|however|although|though|aber|sondern|mais|pero|sino|ma|mas|maar|lekin|magar)\b",
    re.IGNORECASE,
)
_AND: Final = re.compile(r"\b(?:and|so|und|et|y|och|og|aur|и)\b", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_LEADING: Final = re.compile(r"^\W*(?:no|nope|nah|nein|non|nee|não|いいえ|いや|不是|нет)\b[\s,]+(?=\w)", re.IGNORECASE)
_IDIOM: Final = re.compile(
    r"\b(?:not (?:only|just)|can(?:'|\u2019)?t wait|why not|no (?:worries|problem|idea|doubt|matter)|nicht nur)\b",
    re.IGNORECASE,
)
_DENIES: Final = frozenset(_DATA["denies"].split())
_DENIES_INSIDE: Final = re.compile(
    "\u306a\u3044|\u307e\u305b\u3093|\u306a\u304f|\u306a\u304b\u3063|\u3084\u3081|\u4e0d|\u6ca1|\u6c92|\u522b|\u65e0"
    "|\u7121|\uc548 |\uc54a|\uc5c6|\ubabb|\uc544\ub2c8"
)
_OTHERS: Final = frozenset(_DATA["others"].split())
_PRONOUNS: Final = frozenset(_DATA["pronouns"].split())
_OWN: Final = frozenset(_DATA["own"].split())
_FIRST_PERSON_POSSESSIVES: Final = frozenset(_DATA["mine"].split())

_NAMED_WITHIN: Final = 3
"""So many words behind "my" it is said whose or what it is: "my older brother"."""

_YOURS: Final = frozenset(_DATA["yours"].split())
_HEARSAY: Final = re.compile(
    r"\b\w+ (?:says|said|thinks|reckons|told me|sagt|meint|dice|dit|bola|boli)\b"
    r"|\bi (?:think|guess|believe|heard|hear|know|hope|suppose|was told|worry|feel like|saw|said|told|asked)\b",
    re.IGNORECASE,
)

_OF_THE_USER: Final = re.compile(
    r"user(?:in)?\b(?!['\u2019]s)|nutzer(?:in)?\b|\u30e6\u30fc\u30b6\u30fc|\u7528\u6237", re.IGNORECASE
)
"""How a statement about the user begins; one about somebody or something else of theirs does not."""
_PREFIX: Final = 4


DENIAL_TERMS: Final = frozenset(query_terms("not no never without longer anymore"))
"""Words that deny, as they are indexed."""

DENIALS: Final = ("not", "no", "never", "doesn't", "don't", "isn't", "longer", "anymore", "nicht", "kein", "keine")
"""Words that deny, as they are said."""


def clause_at(text: str, start: int, end: int) -> str:
    """Return the clause, or the clauses, in which a stretch of a text stands."""
    before = [edge.end() for edge in _EDGE.finditer(text, 0, start)]
    after = _EDGE.search(text, max(start, end - 1))
    return text[
        before[-1] if before else 0 : after.start()
        if after and after.start() >= end - 1
        else _find_clause_end(text, end)
    ]


def _find_clause_end(text: str, end: int) -> int:
    after = _EDGE.search(text, end)
    return after.start() if after else len(text)


def parts_of(text: str) -> list[str]:
    """Return the clauses of a stretch of text."""
    edges = [
        0,
        *(edge.end() for edge in _EDGE.finditer(text)),
        *(edge.end() for edge in _AND.finditer(text)),
        len(text),
    ]
    edges.sort()
    return [text[start:end] for start, end in pairwise(edges) if text[start:end].strip()]


def is_denied(text: str) -> bool:
    """Return whether a statement says that something is not so, or no longer."""
    sentence = _IDIOM.sub(" ", _LEADING.sub("", text)).replace("\u2019", "'")
    words = [word.lower() for word in _TOKEN.findall(sentence)]
    if any(word in _DENIES or word.endswith("n't") for word in words):
        return True
    return _DENIES_INSIDE.search(sentence) is not None


def begins_in_another(fact: str, clause: str, around: str = "") -> bool:
    """Return whether a statement of the user was said of somebody whom the statement does not mention.

    Who "he" or "her" is may stand ``around`` the clause: where the user mentions themselves, it may be their dog.
    """
    if not _OF_THE_USER.match(fact):
        return False
    words = [word.lower() for word in _TOKEN.findall(_HEARSAY.sub(" ", clause.replace("\u2019", "'")))]
    if any(word in _OWN for word in words) or _owns_something(words):
        return False
    known_names = {word.lower() for word in _TOKEN.findall(fact)}
    others = [word for word in words if (word.removesuffix("'s") in _OTHERS)]
    if others:
        return not any(_is_mentioned(other.removesuffix("'s"), known_names) for other in others)
    if any(word.lower() in _OWN for word in _TOKEN.findall(around.replace("\u2019", "'"))):
        return False
    return bool(words) and words[0] in _PRONOUNS and not known_names & _OTHERS and not known_names & _PRONOUNS


def _owns_something(words: Sequence[str]) -> bool:
    """Return whether something of the user's own is mentioned, and not only somebody near them: "he raised my dose"."""
    behind = (
        words[at + 1 : at + 1 + _NAMED_WITHIN] for at, word in enumerate(words) if word in _FIRST_PERSON_POSSESSIVES
    )
    return any(texts and not any(one.removesuffix("'s") in _OTHERS for one in texts) for texts in behind)


def is_of_the_speaker(clause: str) -> bool:
    """Return whether somebody mentions themselves, and not of the one they talk to."""
    words = {word.lower() for word in _TOKEN.findall(clause.replace("\u2019", "'"))}
    return bool(words & _OWN) and not words & _YOURS


def _is_mentioned(other: str, known_names: set[str]) -> bool:
    return any(one.startswith(other[:_PREFIX]) for one in known_names) or bool(known_names & _OTHERS)


_JOINT_AFTER: Final = re.compile(r"[\s,;]*+\b(?:and|but|so)\b(?=\s)", re.IGNORECASE)
_JOINT_BEFORE: Final = re.compile(r"\b(?:and|but|so)\s++\Z", re.IGNORECASE)
_JOINT_MARKS: Final = " \t\r\n\u00a0,;"
_STOP: Final = re.compile(r"(?<![.!?])[.!?]++(?=\s|\Z)|\n")


def blank_spans(text: str, hidden: Sequence[tuple[int, int]]) -> str:
    """Return a text with blanks in place of these words, so that all others stand where they stood."""
    for start, end in hidden:
        begin, until = _with_its_joint(text, start, min(end, len(text)))
        if begin < until:
            text = _blank_range(text, begin, until)
    return text


def _blank_range(text: str, begin: int, until: int) -> str:
    """Blank a part, and with it the end of the sentence if nothing else is left of that."""
    stop = text[until] if until < len(text) and text[until] in ".!?" else ""
    before, until = text[:begin].rstrip(), until + len(stop)
    stop = stop if before and before[-1] not in ".!?" else ""
    return text[:begin] + stop + " " * (until - begin - len(stop)) + text[until:]


def _with_its_joint(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a part of a sentence with the word that joins it to the rest; where nothing does, all of the sentence."""
    begins = max((one.end() for one in _STOP.finditer(text, 0, start)), default=0)
    is_whole = start < end and text[end - 1] in ".!?\n"
    stop = None if is_whole else _STOP.search(text, end)
    ends = end if is_whole else stop.start() if stop else len(text)
    before, after = _JOINT_BEFORE.search(text, begins, start), _JOINT_AFTER.match(text, end, ends)
    if text[end:ends].strip(" ,;") and after is None:
        end = ends
    if text[begins:start].strip(" ,;") and before is None:
        start = begins
    if after is not None:
        return start, after.end()
    if before is not None:
        start = begins + len(text[begins : before.start()].rstrip(_JOINT_MARKS))
    return start, end
