"""What a statement says, in a form in which two statements can be compared.

A statement has a subject (the speaker, or somebody of theirs), segments with a polarity each, single-valued slots,
and numbers and dates with their units. Everything is derived from the text, so stored memories need nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from retain.core.rules.lexicon import AVERSION, CESSATION, KIN, LIGHT, NEGATIONS, NOT_NEGATIVE, STOP_WORDS, SYNONYMS
from retain.core.rules.plain import is_question, plain, sentences
from retain.core.slots import slots_of
from retain.core.stem import stem

SELF: Final = "self"

_WORD: Final = re.compile(r"[a-z][a-z'&-]*[a-z]|[a-z]|\d+(?:[.,:]\d+)*")
_NEGATION: Final = re.compile(r"\b(?:" + "|".join(sorted(NEGATIONS)) + r")\b")
_NEGATIVE: Final = re.compile(rf"\b(?:{CESSATION}|{AVERSION})\b")
_CESSATION: Final = re.compile(rf"\b(?:{CESSATION})\b")
_NOT_NEGATIVE: Final = re.compile(rf"\b(?:{NOT_NEGATIVE})\b")
_CHANGE: Final = re.compile(
    rf"\b(?:{CESSATION}|switch\w*|chang\w+|mov(?:ed|ing)|now|again|instead|start(?:s|ed|ing)?|beg[au]n|began|resum\w+"
    r"|return\w+|joined|became|become|decid\w+|new|finally|replac\w+|swap\w*|trad(?:ed|ing)|upgrad\w+|turned"
    r"|chose|no longer|anymore|sign(?:ed|ing) up|resubscrib\w+|picked up|took up|back (?:to|on|in)|these days|actually)\b"
)
_KIN_SUBJECT: Final = re.compile(
    r"^(?:(?:and|but|so|also|well|oh|yes|yeah|haha|lol),? )*(?:my|our|user's|the user's|his|her|their) (?:(?:older|younger|little|big|best|oldest"
    r"|youngest|new|old|ex|late|two|three) )*("
    + "|".join(sorted(KIN, key=len, reverse=True))
    + r")\b(?!'s? (?:and I|and me))"
)
_CONTRASTS: Final = (
    (
        re.compile(
            r"^(?P<head>.*?)\bmov\w+ (?P<old>.+? (?:out of|off|away from) .+?),? (?:and )?(?:in)?to (?P<new>.+)$"
        ),
        "-+",
    ),
    (
        re.compile(
            r"^(?P<old>[\w' ]+?) (?:became|is now called|was renamed(?: to)?|turned into|makes way for|gave way to) (?P<new>.+)$"
        ),
        "-+",
    ),
    (re.compile(r"^(?P<new>.*?),? ?\b(?:instead of|rather than|over) (?P<old>.+)$"), "+-"),
    (re.compile(r"^(?P<old>.*?),? ?\bin favou?r of (?P<new>.+)$"), "-+"),
    (
        re.compile(
            r"^(?P<head>.*?)\b(?:switch\w*|chang\w+|mov\w+|upgrad\w+|migrat\w+|went|gone) from (?P<old>.+?) to (?P<new>.+)$"
        ),
        "-+",
    ),
    (
        re.compile(
            r"^(?P<head>.*?)\b(?:trad\w+|swap\w*|replac\w+|exchang\w+|ditch\w+|drop\w+) (?P<old>.+?) (?:for|with|by) (?P<new>.+)$"
        ),
        "-+",
    ),
    (
        re.compile(
            r"^(?P<old>.*?),? (?:prefer\w*|focus\w* (?:more )?on|opting for|choosing|concentrat\w+ on|favou?ring) (?P<new>.+)$"
        ),
        "=+",
    ),
)
_CANCELLED: Final = re.compile(rf"\b(?:not|never|no longer)(?: \w+)? (?:{CESSATION}|{AVERSION})\b")
"""A negation right before a negative word undoes it: "do not dislike", "never stopped"."""

_REFERS: Final = re.compile(r"\b(?:it|them|him|her|this|that|those|these|one|ones)\b")
_CLAUSES: Final = re.compile(
    r"(?:,? (?:but|however|although|though|while|whereas|and now|and then|and so|so) |; |, |: | - |\.\.\. ?)"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a statement with one stance: +1, or -1 for what ended or is not liked."""

    tokens: frozenset[str]
    polarity: int
    changes: bool
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """A text, understood as far as rules can."""

    text: str
    subject: str
    segments: tuple[Segment, ...]
    slots: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    dates: frozenset[str] = frozenset()
    planned: bool = False
    names: frozenset[str] = frozenset()
    confirms: bool = False

    @property
    def tokens(self) -> frozenset[str]:
        """All content words."""
        return frozenset().union(*(segment.tokens for segment in self.segments))

    @property
    def polarity(self) -> int:
        """The stance of the first segment."""
        return self.segments[0].polarity if self.segments else 1


@lru_cache(maxsize=4096)
def understand(text: str) -> Statement:
    """The statement a text makes."""
    names = names_of(text)
    told = [sentence for sentence in sentences(plain(text)) if not is_question(sentence) or _is_topic(sentence)]
    lowered = [_CONFIRMS.sub(" ", sentence.lower()) for sentence in told] or [plain(text).lower()]
    whole = " ".join(lowered)
    return Statement(
        text=text,
        subject=subject_of(lowered[0]),
        segments=_across(lowered),
        names=names,
        slots=slots_of(whole),
        numbers=numbers_of(whole),
        dates=dates_of(whole),
        planned=bool(_PLAN.search(whole)),
        confirms=bool(_CONFIRMS.search(plain(text).lower())),
    )


def may_change(lowered: str) -> bool:
    """Whether a sentence has a word that ends, changes, counts or confirms something."""
    return bool(
        _CHANGE.search(lowered) or _CONFIRMS.search(lowered) or _NEGATIVE.search(lowered) or numbers_of(lowered)
    )


def _is_topic(sentence: str) -> bool:
    """Such as "Horror movies? No more of them": a question of a few words that only names what comes next."""
    return len(sentence.split()) <= 3 and not _ASKS.match(sentence)


_ASKS: Final = re.compile(
    r"^(?:what|who|when|where|why|how|which|really|right|you|and you|do|does|did|is|are|can|could|would|will|ok|okay)\b",
    re.IGNORECASE,
)


def _across(told: list[str]) -> tuple[Segment, ...]:
    """The segments of all sentences; a sentence about "it" belongs to the one before."""
    found: list[Segment] = []
    for sentence in told:
        segments = _segments(sentence)
        if found and len(segments) == 1 and _REFERS.search(sentence) and len(segments[0].tokens) <= 4:
            found[-1] = _carried(found[-1], segments[0])
        else:
            found += segments
    return tuple(found)


_NAME: Final = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'&-]*|\b[A-Z]{2,}\w*|\b\w*[a-z][A-Z]\w*")
_NOT_NAMES: Final = frozenset({"User", "I", "The", "A", "An"})


def names_of(text: str) -> frozenset[str]:
    """Names in a text: capitalised words that do not only stand at the start of a sentence."""
    words = (word.removesuffix("'s") for word in _NAME.findall(text))
    return frozenset(
        _token(word.lower()) for word in words if word not in _NOT_NAMES and word.lower() not in STOP_WORDS
    )


_CONFIRMS: Final = re.compile(
    r"\b(?:still|as (?:you know|you are aware|i said|i told you|i mentioned|always|before|usual|ever)|like (?:always|i said|i told you)|"
    r"told you|just to be clear|nothing (?:is |has )?changed|(?:is|has) not changed|do not forget|remember|same as (?:always|before|ever)|"
    r"already (?:told|said|know|mentioned)|in case (?:that|you|it)|not sure if that helps|yep|as ever|again, |once more|reminder)\b"
)
"""Words of somebody who repeats what is known."""


def subject_of(sentence: str) -> str:
    """Whom a sentence is about: the speaker, or one of their people."""
    found = _KIN_SUBJECT.match(sentence)
    return SYNONYMS.get(found[1], found[1]) if found else SELF


_PLAN: Final = re.compile(
    r"\b(?:plan(?:s|ning|ned)? (?:to|on|for)|going to|intend\w* to|hop(?:e|es|ing) to|want(?:s)? to (?!be (?:called|addressed|known)|use|have answers)|would (?:like|love) to|"
    r"thinking (?:of|about)|considering|looking forward to|will be|aim(?:s|ing)? to)\b"
)


def _segments(sentence: str) -> list[Segment]:
    for pattern, stances in _CONTRASTS:
        found = pattern.match(sentence)
        if found:
            parts = _contrast(found.groupdict(), stances)
            if parts:
                return parts
    segments: list[Segment] = []
    for clause in _clauses(sentence):
        segment = _segment(clause)
        if segments and _REFERS.search(clause) and len(segment.tokens) <= 3:
            segments[-1] = _carried(segments[-1], segment)
        elif segment.tokens:
            segments.append(segment)
    return segments or [_segment(sentence)]


def _clauses(sentence: str) -> list[str]:
    return [clause for clause in _CLAUSES.split(sentence) if clause and clause.strip()]


def _carried(first: Segment, later: Segment) -> Segment:
    """What is said of "it" is said of what stands before, and the last word on it counts."""
    stance = later.polarity if later.polarity < 0 else first.polarity
    return Segment(first.tokens | later.tokens, stance, first.changes or later.changes, first.ends or later.ends)


def _contrast(parts: dict[str, str], stances: str) -> list[Segment]:
    """Two things set against each other. The first keeps its own stance where the pattern does not know it ("=")."""
    old, new = _segment(parts["old"]), _segment(parts["new"])
    if not old.tokens or not new.tokens:
        return []
    if stances == "=+":
        old_stance = old.polarity if _NEGATIVE.search(parts["old"]) or _NEGATION.search(parts["old"]) else 0
        if not old_stance:
            return []
        return [Segment(old.tokens, old_stance, changes=True), Segment(new.tokens, 1, changes=True)]
    negated = _is_negated(parts.get("head") or (parts["new"] if stances == "+-" else ""))
    stance = -1 if negated else 1
    first = Segment(new.tokens, stance, changes=True)
    second = Segment(old.tokens, -stance, changes=True)
    return [first, second]


def _segment(clause: str) -> Segment:
    ends = bool(_CESSATION.search(_NOT_NEGATIVE.sub(" ", clause)))
    return Segment(content_tokens(clause), polarity_of(clause), changes=bool(_CHANGE.search(clause)), ends=ends)


def polarity_of(clause: str) -> int:
    """-1 when a clause denies, ends or dislikes something, else +1; "never stopped" is a yes."""
    cleaned = _NOT_NEGATIVE.sub(" ", clause)
    if not _NEGATIVE.search(cleaned) and not _is_negated(cleaned):
        return 1
    return 1 if _CANCELLED.search(cleaned) else -1


def _is_negated(clause: str) -> bool:
    return bool(_NEGATION.search(_NOT_NEGATIVE.sub(" ", clause)))


@lru_cache(maxsize=8192)
def _token(word: str) -> str:
    known = SYNONYMS.get(word)
    return known or stem(word)


def content_tokens(text: str) -> frozenset[str]:
    """The words that say what a text is about, as stems, with synonyms made one."""
    cleaned = re.sub(rf"\b(?:{CESSATION})\b", " ", text)
    words = (part.removesuffix("'s").strip("'") for word in _WORD.findall(cleaned) for part in word.split("-"))
    return frozenset(_token(word) for word in words if word and word not in STOP_WORDS and word not in NEGATIONS)


_LIGHT_TOKENS: Final = frozenset(stem(word) for word in LIGHT) | LIGHT


def is_light(token: str) -> bool:
    """Whether a token says little."""
    return token in _LIGHT_TOKENS


_SMALL: Final = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty".split()
    )
}
_MONEY: Final = re.compile(
    r"(?:[$€£¥]\s?(\d[\d,]*(?:\.\d+)?)(k\b)?)|(?:(\d[\d,]*(?:\.\d+)?)(k)?\s?(?:dollars|euros|pounds|usd|eur|gbp|bucks|kr))"
)
_CLOCK: Final = re.compile(r"\b(\d{1,2}:\d{2}(?::\d{2})?|\d{1,2}\s?(?:am|pm|o'clock))\b")
_PERCENT: Final = re.compile(r"\b(\d+(?:\.\d+)?)\s?(?:%|percent)")
_UNIT: Final = re.compile(r"\b(\d+(?:[.,]\d+)*|" + "|".join(_SMALL) + r")[ -]([a-z]+(?: [a-z]+)?)")
_BARE: Final = re.compile(
    r"(?<![\w.,:$€£-])(\d{2,}(?:,\d{3})*|"
    + "|".join(list(_SMALL)[2:])
    + r")(?= (?:a|of|for|per|in|on|now|after|instead|today|and|to|by|is|at|or)\b|[.,!]|$)"
)
_NOT_UNITS: Final = STOP_WORDS | {
    "am",
    "pm",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
}


def numbers_of(text: str) -> dict[str, str]:
    """Numbers by what they count: ``{"money": "1400", "cat": "2"}``. A unit with two values is left out."""
    found: dict[str, set[str]] = {}
    for match in _MONEY.finditer(text):
        found.setdefault("money", set()).add(
            (match[1] or match[3]).replace(",", "") + ("k" if match[2] or match[4] else "")
        )
    for match in _CLOCK.finditer(text):
        found.setdefault("clock", set()).add(match[1].replace(" ", ""))
    for match in _PERCENT.finditer(text):
        found.setdefault("percent", set()).add(match[1])
    for match in _UNIT.finditer(text):
        unit = _unit(match[2])
        if unit:
            found.setdefault(unit, set()).add(_SMALL.get(match[1], match[1].replace(",", "")))
    bare = {match[1].replace(",", "") for match in _BARE.finditer(text)} - {
        value for values in found.values() for value in values
    }
    if bare:
        found["bare"] = bare
    return {unit: values.pop() for unit, values in found.items() if len(values) == 1}


def _unit(words: str) -> str:
    for word in words.split():
        if word not in _NOT_UNITS:
            return _token(word)
        if word not in {"more", "new", "different", "other"}:
            return ""
    return ""


_MONTHS: Final = "january february march april may june july august september october november december".split()
_DAY: Final = re.compile(
    r"\b(?:(" + "|".join(month[:3] + r"(?:" + month[3:] + ")?" for month in _MONTHS) + r")\.? (\d{1,2})(?:st|nd|rd|th)?"
    r"|(\d{1,2})(?:st|nd|rd|th)? (?:of )?("
    + "|".join(month[:3] + r"(?:" + month[3:] + ")?" for month in _MONTHS)
    + r")"
    r"|(\d{4}-\d{2}-\d{2}))\b"
)
_WEEKDAY: Final = re.compile(r"\b(monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b")


def dates_of(text: str) -> frozenset[str]:
    """Days of the year and of the week a text names."""
    days = {match[5] or f"{(match[1] or match[4])[:3]} {int(match[2] or match[3])}" for match in _DAY.finditer(text)}
    return frozenset(days | set(_WEEKDAY.findall(text)))
