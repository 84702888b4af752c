"""The segments of a statement: parts with one stance each, also of what is set against each other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from memstone.core.rules.stance import changes, content_tokens, ends, is_against, is_glad, is_negated, polarity_of
from memstone.core.text.clues import clued


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a statement with one stance: +1, or -1 for what ended or is not liked."""

    tokens: frozenset[str]
    polarity: int
    changes: bool
    ends: bool = False
    replaced: bool = False
    glad: bool = False
    said: str = ""


_CONTRASTS: Final = tuple(
    (clued(pattern), stances)
    for pattern, stances in (
        (r"^instead of (?P<old>.+?),? (?P<new>(?:it|we|i|there|user)\b.+)$", "-+"),
        (
            r"^(?P<head>.*?)\bmov\w+ (?P<old>.{1,80}? (?:out of|off|away from) .{1,80}?),? (?:and )?(?:in)?to (?P<new>.+)$",
            "-+",
        ),
        (
            r"^(?P<head>.*[,:] )?(?P<old>(?!(?:i|we|he|she|they|it|user|my|our|user's|which|that)\b)[\w'& -]+?) (?:became|is now called|(?:was|got|has been) renamed(?: to)?|turned into|makes way for|gave way to) (?P<new>.+)$",
            "-+",
        ),
        (r"^(?P<new>.*?),? ?\b(?:instead of|rather than|better than|over) (?P<old>.+)$", "+-"),
        (
            r"^(?P<old>.+?) (?:got|was|is|has been|have been|were|is being|are being|gets) (?:replaced|swapped(?: out)?|exchanged|succeeded|superseded) (?:by|with|for) (?P<new>.+)$",
            "-+",
        ),
        (r"^(?P<old>.*?),? ?\bin favou?r of (?P<new>.+)$", "-+"),
        (
            r"^(?P<head>.*?)\b(?:switch\w*|chang\w+|mov\w+|upgrad\w+|downgrad\w+|migrat\w+|went|gone|go|shift\w+)(?P<anchor>(?: [\w'-]+){0,4}?) from (?P<old>.{1,150}?) to (?P<new>.+)$",
            "-+",
        ),
        (
            r"^(?P<head>.*?)\b(?:trad\w+|swap\w*|replac\w+|exchang\w+|ditch\w+|drop\w+|left)(?: in)? (?P<old>.{1,150}?) (?:for|with|by) (?P<new>.+)$",
            "-+",
        ),
        (
            r"^(?P<new>.+?) (?:has |have )?(?:replaced|overtaken|overtook|dethroned|superseded|took over from|takes over from) (?P<old>.+)$",
            "+-",
        ),
        (r"^(?P<new>.*\bit is .{1,150}?),? (?:and |but )?not (?P<old>.+)$", "+-"),
        (
            r"^(?P<new>.+?),? (?:and )?not (?P<old>(?!so\b|too\b|very\b|that\b|really\b|sure\b|mine\b|yet\b|only\b|just\b)[\w' ]{2,25})$",
            "?-",
        ),
        (
            r"^(?P<old>.*?),? (?:prefer\w*|focus\w* (?:more )?on|opting for|choosing|concentrat\w+ on|favou?ring|and focus on|and stick with) (?P<new>.+)$",
            "=+",
        ),
    )
)
"""What is set against each other, with the stance of its two parts in the order old, new; "+-" has the new one first."""

_REFERS: Final = re.compile(r"\b(?:it|them|him|her|this|that|those|these|one|ones)\b")
_CLAUSES: Final = re.compile(
    r"(?:,? (?:but|however|although|though|while|whereas|and now|and then|and so|and instead|because|so) |; |, |: | - |\.\.\. ?|! |\? )"
)
_CARRIED_SENTENCE, _CARRIED_CLAUSE = 4, 3
"""How many words a sentence, and a clause, about "it" may have to belong to what stands before."""


def segments_of(told: Iterable[str]) -> list[Segment]:
    """The segments of all sentences; a sentence about "it" belongs to the one before."""
    found: list[Segment] = []
    for sentence in told:
        segments = _of_sentence(sentence)
        carried = len(segments) == 1 and _REFERS.search(sentence) and len(segments[0].tokens) <= _CARRIED_SENTENCE
        if found and carried:
            found[-1] = _carried(found[-1], segments[0])
        else:
            found += segments
    return found


def _of_sentence(sentence: str) -> list[Segment]:
    for pattern, stances in _CONTRASTS:
        found = pattern.match(sentence)
        parts = _contrast(found.groupdict(), stances) if found else []
        if parts:
            return parts
    segments: list[Segment] = []
    for clause in _CLAUSES.split(sentence):
        if not clause.strip():
            continue
        segment = _segment(clause)
        if segments and _REFERS.search(clause) and len(segment.tokens) <= _CARRIED_CLAUSE:
            segments[-1] = _carried(segments[-1], segment)
        elif segment.tokens:
            segments.append(segment)
    return segments or [_segment(sentence)]


def _carried(first: Segment, later: Segment) -> Segment:
    """What is said of "it" is said of what stands before, and the last word on it counts."""
    stance = later.polarity if later.polarity < 0 else first.polarity
    return Segment(
        first.tokens | later.tokens,
        stance,
        first.changes or later.changes,
        first.ends or later.ends,
        glad=first.glad or later.glad,
        said=f"{first.said} {later.said}",
    )


def _contrast(parts: dict[str, str | None], stances: str) -> list[Segment]:
    """Two things set against each other. The first keeps its own stance where the pattern does not know it ("=")."""
    anchor = f" {_CLAUSES.split(parts.get('head') or '')[-1]}{parts.get('anchor') or ''}"
    old, new = _segment(f"{parts['old']}{anchor}"), _segment(f"{parts['new']}{anchor}")
    if not old.tokens or not new.tokens:
        return []
    if stances == "=+":
        return _preferred(old, new) if is_against(old.said) or is_negated(old.said) else []
    if stances == "?-":
        return [] if polarity_of(new.said) < 0 else [_with(new, 1), _with(old, -1, replaced=True)]
    stance = -1 if is_negated(parts.get("head") or (new.said if stances == "+-" else "")) else 1
    return [_with(new, stance), _with(old, -stance, replaced=stance > 0), *_rest(parts.get("head") or "")]


def _preferred(old: Segment, new: Segment) -> list[Segment]:
    return [_with(old, old.polarity), _with(new, 1)]


def _with(segment: Segment, polarity: int, *, replaced: bool = False) -> Segment:
    return Segment(segment.tokens, polarity, changes=True, ends=segment.ends, replaced=replaced, said=segment.said)


def _rest(head: str) -> list[Segment]:
    """Whole clauses before the contrast."""
    clauses = [clause for clause in _CLAUSES.split(head)[:-1] if clause.strip()]
    return [segment for segment in map(_segment, clauses) if segment.tokens]


def _segment(clause: str) -> Segment:
    return Segment(
        content_tokens(clause), polarity_of(clause), changes(clause), ends(clause), glad=is_glad(clause), said=clause
    )
