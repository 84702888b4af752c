"""What a statement says, in a form in which two statements can be compared.

A statement is about somebody (the speaker, or one of their people), and has segments with a polarity each, single-valued
slots, and numbers and dates with their units. What a text says of several people is one statement for each of them.
Everything is derived from the text, so stored memories need nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from memstone.core.changes.slots import beyond_statuses, denied_of, names_status, slots_of
from memstone.core.rules.contrast import Segment, segments_of
from memstone.core.rules.marks import (
    ADDITIONAL,
    AHEAD,
    BY_NOW,
    DIFFERENCE,
    FEELING,
    ONCE,
    PLAN,
    SO_FAR,
    SPOKEN,
    TEMPORARY,
    TURNED,
    WISH,
)
from memstone.core.rules.named import as_user, person_of, subjects
from memstone.core.rules.own import own_values
from memstone.core.rules.owners import OTHERS, SELF, as_pronoun, by_owner, owner_of
from memstone.core.rules.plain import is_question, plain, sentences
from memstone.core.rules.quantities import dates_of, numbers_of
from memstone.core.rules.signals import tells_change
from memstone.core.rules.slot_patterns import STATUSES
from memstone.core.rules.stance import canonical, changes, content_tokens, is_light, polarity_of, token
from memstone.core.text.clues import clued
from memstone.core.text.lexicon import AVERSION, CESSATION_AROUND, CLASS_NEEDS, CLASSES, KIN, STOP_WORDS
from memstone.model.own import OwnSlot

__all__ = [
    "SELF",
    "Segment",
    "Statement",
    "content_tokens",
    "dates_of",
    "is_light",
    "may_change",
    "names_of",
    "numbers_of",
    "polarity_of",
    "subject_of",
    "understand",
]


_DIED: Final = re.compile(r"\b(?:died|dead)\b")


@dataclass(frozen=True, slots=True)
class Statement:
    """A text, understood as far as rules can, as far as it is about one person."""

    text: str
    subject: str
    segments: tuple[Segment, ...]
    slots: dict[str, str] = field(default_factory=dict)
    denied: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    dates: frozenset[str] = frozenset()
    values: dict[str, str] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    planned: bool = False
    wished: bool = False
    ahead: bool = False
    """Planned, arranged or offered: it is not so yet."""
    confirms: bool = False
    temporary: bool = False
    additional: bool = False
    feeling: bool = False
    once: bool = False
    turned: bool = False
    """Said to be so now, as opposed to before."""
    roles: frozenset[str] = frozenset()
    """What it says somebody or something changed or newly is: "Firefox is my browser now", "changed schools"."""
    said: str = ""
    """What it was understood from, in plain lower-case words."""
    besides: int = 0
    """How many telling words stand beside the statuses it names."""
    others: tuple[Statement, ...] = ()

    @property
    def tokens(self) -> frozenset[str]:
        """All content words."""
        return frozenset().union(*(segment.tokens for segment in self.segments))

    @property
    def about(self) -> frozenset[str]:
        """The word for whom it is about, which says nothing more of them; of somebody who died it says all."""
        if self.subject == SELF or _DIED.search(self.said):
            return frozenset()
        return frozenset({token(self.subject)})

    @property
    def polarity(self) -> int:
        """The stance of the first segment."""
        return self.segments[0].polarity if self.segments else 1

    @property
    def whole(self) -> frozenset[str]:
        """All content words, of what it says of others too."""
        return self.tokens.union(*(other.tokens for other in self.others))

    @property
    def everybody(self) -> tuple[Statement, ...]:
        """This statement and those about other people."""
        return (self, *self.others)


MOST_CHARS: Final = 2_000
"""So much of a text is understood: what is longer is a document somebody stored, and no statement."""


def understand(text: str, own: tuple[OwnSlot, ...] = (), speaker: str = "") -> Statement:
    """The statement a text makes; ``own`` are slots that a configuration adds, ``speaker`` is who "I" is, by name."""
    found = _understood(text[:MOST_CHARS], own, speaker)
    if len(text) <= MOST_CHARS:
        return found
    return replace(found, text=text, others=tuple(replace(other, text=text) for other in found.others))


@lru_cache(maxsize=4096)
def _understood(text: str, own: tuple[OwnSlot, ...], speaker: str) -> Statement:
    person = person_of(text, speaker)
    neutral = as_user(text, person)
    undated = _RESOLVED.sub("", neutral)
    names = names_of(undated)
    said = plain(undated)
    told = _told(sentences(said)) or [said.lower()]
    about = subjects(person, speaker)
    first, *others = (_state(text, owner, said, names, about(owner)) for owner, said in _by_owner(told).items())
    values = {name: getattr(first, name) for name in _FIELDS}
    values["slots"] = {**first.slots, **own_values(text, own)}
    return Statement(**values, others=tuple(others))


_RESOLVED: Final = re.compile(r" ?\([^()]*\b(?:19|20)\d{2}\b[^()]*\)")
"""The day a word such as "tomorrow" meant, as it is noted beside it; it says when, not what."""

_FIELDS: Final = tuple(name for name in Statement.__dataclass_fields__ if name != "others")


def _told(said: list[str]) -> list[str]:
    """The sentences that tell something, in canonical words; a question lends its words to an answer about "ones"."""
    told: list[str] = []
    asked = ""
    for sentence in map(_untagged, said):
        if is_question(sentence) and not _is_topic(sentence):
            asked = sentence
            continue
        lowered = canonical(sentence.lower())
        if asked and _ONES.search(lowered):
            lowered = f"{lowered.rstrip('.!')} ({asked.lower().rstrip('?')})"
        if told and _FRAGMENT.match(lowered):
            told[-1] = f"{told[-1].rstrip('.!')} {lowered}"
        else:
            told.append(lowered)
        asked = ""
    return told


def _untagged(sentence: str) -> str:
    """Without a tag that turns a statement into a question ("..., right?"), and with "is" before a name made plain."""
    return _PERSON_IS.sub(r"\1 is called ", _TAG.sub(".", sentence))


_TAG: Final = re.compile(r",? (?:right|huh|remember|you know|eh|no)\?$", re.IGNORECASE)
_PERSON_IS: Final = re.compile(
    r"^((?:User's|[Mm]y|[Oo]ur) (?:new )?(?:"
    + "|".join(sorted(KIN))
    + r")) is (?=(?:Mr|Mrs|Ms|Dr)?\.? ?[A-Z][a-z]+[.!]?(?:$| [A-Z]| now))"
)
_ONES: Final = re.compile(r"\bones\b")
_FRAGMENT: Final = re.compile(r"^(?:from|at|in|with|by|of) [\w ]+[.!]?$")


def _by_owner(told: Iterable[str]) -> dict[str, list[str]]:
    """What is said of whom, in the order in which they are named first."""
    parts: dict[str, list[str]] = {}
    owner = SELF
    for sentence in told:
        for who, part in by_owner(sentence, owner):
            parts.setdefault(who, []).append(part)
            owner = who
    return parts or {SELF: [""]}


def _state(text: str, owner: str, said: list[str], names: frozenset[str], subject: str) -> Statement:
    repeated = bool(_CONFIRMS.search(" ".join(said))) or bool(_STILL.search(_STAYS_BESIDE.sub("", said[0])))
    cleaned = [_STILL.sub(" ", _CONFIRMS.sub(" ", sentence)) for sentence in said]
    whole = " ".join(cleaned)
    segments = tuple(segments_of(cleaned))
    own = owner == SELF
    filled = slots_of(whole if own else " ".join(map(as_pronoun, cleaned)), own=own)
    standing = " ".join(segment.said for segment in segments if segment.polarity > 0)
    return Statement(
        text=text,
        subject=subject,
        segments=segments,
        slots=filled,
        denied=denied_of(whole) if own and not filled else {},
        numbers=numbers_of(standing) or numbers_of(whole),
        dates=dates_of(standing) or dates_of(whole),
        values=_values(standing),
        names=names,
        planned=bool(PLAN.search(whole)),
        wished=bool(WISH.search(whole)),
        ahead=_is_ahead(SPOKEN.sub(" ", whole)),
        confirms=repeated,
        temporary=bool(TEMPORARY.search(SO_FAR.sub(" ", whole))),
        additional=bool(ADDITIONAL.search(whole) or DIFFERENCE.search(whole)),
        feeling=bool(FEELING.search(whole)),
        turned=bool(TURNED.search(whole)),
        once=bool(ONCE.search(whole)),
        roles=_roles(whole),
        said=whole,
        besides=_besides(whole) if filled.keys() & STATUSES.keys() else 0,
    )


def _is_ahead(text: str) -> bool:
    return bool(PLAN.search(text) or (AHEAD.search(text) and not BY_NOW.search(text)))


def _besides(text: str) -> int:
    return sum(not is_light(word) for word in content_tokens(beyond_statuses(text)))


_ROLE: Final = re.compile(
    r"\b(?:is|are) (?:now )?my (?:new )?([a-z]+)(?: now\b|$|[.,;!?])|\bmy (?:new )?([a-z]+) (?:is|are) now\b|\bmy new ([a-z]+) (?:is|are)\b|\bis (?:now )?the new ([a-z]+)\b|\b(?:my|our|the) ([a-z]+) (?:is (?:now )?called|has a new name|got a new name)\b|\b(?:chang|switch|renam|replac|swapp)(?:e|ed|ing) (?:my |our |the )?([a-z]+)\b(?! to)|\b(?:chang|switch|renam|replac)ed (?:my |our |the )?([a-z]+) to\b"
)


def _roles(text: str) -> frozenset[str]:
    words = (word for match in _ROLE.finditer(text) for word in match.groups() if word and word not in STOP_WORDS | KIN)
    return frozenset(map(token, words))


_WORDS: Final = re.compile(r"[a-z][a-z0-9-]*")
_VALUE_OF: Final = {
    word: (kind, group.split()[0]) for kind, groups in CLASSES.items() for group in groups for word in group.split()
}


def _values(text: str) -> dict[str, str]:
    """Values of exclusive classes in a text; of two of a class the last word counts."""
    words = _WORDS.findall(text)
    found: dict[str, str] = {}
    for word in words:
        if word in _VALUE_OF:
            kind, value = _VALUE_OF[word]
            if kind not in CLASS_NEEDS or CLASS_NEEDS[kind] & set(words):
                found[kind] = value
    return found


def may_change(lowered: str) -> bool:
    """Whether a sentence has a word that ends, changes, counts or confirms something, or tells a status."""
    return bool(
        changes(lowered)
        or _CONFIRMS.search(lowered)
        or _STILL.search(lowered)
        or _AGAINST_MORE.search(lowered)
        or numbers_of(lowered)
        or names_status(canonical(lowered))
        or tells_change(lowered)
    )


_AGAINST_MORE: Final = clued(rf"\b(?:{CESSATION_AROUND}|{AVERSION})\b")
"""Words that end or dislike something and are no words of change by themselves."""


def _is_topic(sentence: str) -> bool:
    """Such as "Horror movies? No more of them": a question of a few words that only names what comes next."""
    return len(sentence.split()) <= 3 and not _ASKS.match(sentence)


_ASKS: Final = re.compile(
    r"^(?:what|who|when|where|why|how|which|really|right|you|and you|do|does|did|is|are|can|could|would|will|ok|okay)\b",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"(?<![.!?] )(?<!^)\b[A-ZÀ-ÖØ-Þ][\w'&-]*|\b[A-Z]{2,}\w*|\b\w*[a-z][A-Z]\w*")
_NOT_NAMES: Final = frozenset(
    """User I The A An Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mondays Tuesdays Wednesdays Thursdays
    Fridays Saturdays Sundays""".split()
)


def names_of(text: str) -> frozenset[str]:
    """Names in a text: capitalised words that do not only stand at the start of a sentence."""
    words = (word.removesuffix("'s") for word in _NAME.findall(text))
    return frozenset(token(word.lower()) for word in words if word not in _NOT_NAMES and word.lower() not in STOP_WORDS)


def subject_of(sentence: str) -> str:
    """Whom a lower-case sentence is about: the speaker, or one of their people."""
    owner = owner_of(sentence)
    return SELF if owner is None or owner == OTHERS else owner


_CONFIRMS: Final = clued(
    r"\b(?:as (?:you know|you are aware|i said|i told you|i mentioned|always|before|usual|ever|planned)|(?:like|as) i (?:always|usually|keep)|like (?:always|i said|i told you)|"
    r"(?:think i )?told you|just (?:to be|so (?:it|we|that) (?:is|are)) clear|like every|nothing (?:is |has )?changed|(?:is|has) not changed|do not forget|remember|same as (?:always|before|ever)|"
    r"already (?:told|said|know|mentioned)|in case (?:that|you|it)|not sure if that helps|yep|as ever|once (?:more|again)|reminder|on file|you know me|just so you know|decided to (?:stay|stick|keep)|(?:staying|sticking) (?:put|with)|keep (?:addressing|calling|answering|writing|using))\b"
)
_STAYS_BESIDE: Final = re.compile(r"(?<=\w\w\w), (?:(?:but |and )?(?:the|my|our) [^,]*)?\bstill\b[^,]*$")
"""What is said to stay as it is, beside something else."""

_STILL: Final = clued(r"\bstill\b")
"""Words of somebody who repeats what is known."""
