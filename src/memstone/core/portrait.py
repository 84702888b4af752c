"""The narrative of a user: choose facts, and write a text that contains nothing else."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from memstone.language.text.normal import ESTIMATE, TokenCounter, normal_text
from memstone.model.digest import LISTS, Digest, PortraitFact

# --- who the user is, in sentences that are known ---------------------------------------------------------------------


IDENTITY_GRADE: Final = frozenset({"identity", "home", "work", "health", "family"})
"""The categories of what somebody would write into a profile."""

IDENTITY_SALIENCE: Final = 0.7
_ORDER: Final = ("identity", "home", "work", "family", "health", "skill", "preference", "instruction")

_END: Final = re.compile(r"[.!?\u2026\u3002]$")
_NAME: Final = re.compile(r"\b[^\W\d_a-z]\w+")
_PARTS: Final = re.compile(r"(?<=[.!?\u2026\u3002])\s+")


def is_identity_grade(category: str, salience: float, subject: str, polarity: int) -> bool:
    """Return whether a fact says who the user is, and not what they did or who others are; their family is theirs.

    What they are not says nothing, but for their health: what somebody must not eat belongs to them.
    """
    about_user = subject in ("", "self", "user") or (category == "family" and subject == "near")
    stated = polarity > 0 or category == "health"
    return about_user and stated and category in IDENTITY_GRADE and salience >= IDENTITY_SALIENCE


def inputs_of(lines: Iterable[PortraitFact]) -> str:
    """Return what a text about the user was made from, as one hash: it is made again only when this changes."""
    text = "\n".join(sorted(f"{line.id}:{line.version}" for line in lines))
    return hashlib.sha256(text.encode()).hexdigest()


def compose_user_text(lines: Sequence[PortraitFact], tokens: int, counter: TokenCounter = ESTIMATE) -> str:
    """Return the sentences of facts one after the other, as far as they fit; the most salient are taken first.

    Of those that are alike in that, what was said last. Ids decide nothing: wherever the same was told, the text is.
    """
    room, facts, seen = counter.units(tokens), list[PortraitFact](), set[str]()
    latest = sorted(lines, key=_time_sort_key, reverse=True)
    for line in sorted(latest, key=lambda one: (-one.salience, _category_rank(one))):
        text, cost = normal_text(line.text), counter.cost(f"{_as_sentence(line.text)} ")
        if text not in seen and cost <= room:
            seen.add(text)
            facts.append(line)
            room -= cost
    facts.sort(key=lambda one: (_category_rank(one), -one.salience, _time_sort_key(one)))
    return " ".join(_as_sentence(line.text) for line in facts)


def with_names(text: str, lines: Sequence[PortraitFact], tokens: int, counter: TokenCounter = ESTIMATE) -> str:
    """Return a text about the user with what they are called before it, where whoever wrote it left that out.

    Beside such a text nothing else says it. Sentences at the end go where there is no room for both.
    """
    words = frozenset(_NAME.findall(text))
    missing = [_as_sentence(line.text) for line in lines if line.category == "identity" and _is_unnamed(line, words)]
    answers = [*missing, *(part for part in _PARTS.split(text) if part)]
    most = counter.units(tokens) + 1
    room = sum(cost <= most for cost in accumulate(counter.cost(f"{part} ") for part in answers))
    return " ".join(answers[: max(len(missing), room)]) if missing else text


def _is_unnamed(line: PortraitFact, words: frozenset[str]) -> bool:
    names = _names_in_line(line)
    return bool(names) and names.isdisjoint(words)


def _names_in_line(line: PortraitFact) -> frozenset[str]:
    """Return what in a sentence is written as a name; how it begins is none."""
    return frozenset(_NAME.findall(line.text.partition(" ")[2]))


def _time_sort_key(line: PortraitFact) -> tuple[str, str]:
    return line.said_at, line.text


def _category_rank(line: PortraitFact) -> int:
    return _ORDER.index(line.category) if line.category in _ORDER else len(_ORDER)


def _as_sentence(text: str) -> str:
    sentence = " ".join(text.split())
    return sentence if _END.search(sentence) else f"{sentence}."


def is_within_budget(text: str, tokens: int, counter: TokenCounter = ESTIMATE) -> bool:
    """Return whether a text is short enough to be in every prompt."""
    return counter.tokens(text) <= tokens


# --- what a session is distilled into, whoever does it ----------------------------------------------------------------


def merge_digests(first: Digest, second: Digest, *, sentences: int = 3) -> Digest:
    """Return what was distilled before of a session, and what came since, where the words of before are not kept."""
    lines = [one for one in (*first.summary.splitlines(), *second.summary.splitlines()) if one.strip()]
    remaining = lines if len(lines) <= sentences else [lines[0], *lines[-(sentences - 1) :]]
    own, other = first.lists, second.lists
    lists = {name: dict.fromkeys([*own[name], *other[name]]) for name in LISTS}
    return Digest.of("\n".join(dict.fromkeys(remaining)), lists, max(first.salience, second.salience))
