"""What a statement does to what is known: it is added, known already, takes a memory's place, amends it, or ends it.

Something is known only if every word of it stands in a memory and is meant alike. A memory changes only where that is
sure: the same is denied, it is told to have ended, a person has one of it and it is another now, or the curator that
has read both is certain. In doubt a statement is added: a wrong change hides what is true, an addition costs a line.
Nothing is cut out of a memory: either the new statement takes its place as a whole, or its words are put behind it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from memstone.core.changes.slots import Filled, asked_slots, is_other_value, slots_of
from memstone.core.changes.words import Statement, understand
from memstone.core.rules.stance import ends, is_negated
from memstone.core.rules.verbs import is_verb
from memstone.core.text.amendment import amended
from memstone.model.own import OwnSlot

ODDS: Final = (0.7, 0.7, 0.45)
"""So likely the curator must find it that a statement changes a memory with which it shares no word that tells something,
one, or more; chosen by the totals of people it was not fitted to, the first a little lower for plain news of a job."""

_NOTED: Final = re.compile(r" \([^()]*\b\d{4}\)")
"""The date that was noted beside a word such as "yesterday"."""

_LIGHT: Final = frozenset(
    """work live go own us get make take keep start begin plai becom like dislik new current now still alreadi last next
    todai yesterdai week month year dai time again also onli more much mani lot bite thing peopl go come back final recent just
    plan want hope think sai tell feel realli actual no not never without longer anymor stop quit sell leav move chang job role""".split()
)
"""Words that two statements may share without being about the same."""


_DENIALS: Final = frozenset("no not never without longer anymor stop".split())
_ENDINGS: Final = frozenset(
    "end die broke break up cancel gave give finish divorc separ lose lost return close drop retir resign fire over done gone".split()
)
"""Words that tell that something has ended, and not what."""


_ATTITUDES: Final = frozenset(("like", "dislike"))
_EMPTY: Final = frozenset("get go make take come thing now new again more much lot bite good".split())
"""A statement of nothing but these tells nobody anything."""


class Action(StrEnum):
    """What is done with a statement."""

    ADD = "add"
    IGNORE = "ignore"
    REVISE = "revise"
    RETRACT = "retract"


@dataclass(frozen=True, slots=True)
class Known:
    """A memory near a statement: its text, and the odds that the statement replaces it, as far as it was read."""

    text: str
    replaced: float = 0.0
    stored: str = ""
    """Its text as it is stored, where that names whoever is "User" here."""

    is_others: bool = False
    """Whether somebody else said it of themselves: nobody's words but theirs change it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done, to which of the memories, why, and with which text where it is not the statement's own."""

    action: Action
    target: int | None
    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class New:
    """A statement on its way into memory."""

    text: str
    quote: str = ""
    day: str = ""
    own: tuple[OwnSlot, ...] = ()
    is_quote: bool = False
    """Whether the text is in the speaker's own words, so that it may not stand alone."""

    adds: bool = True
    """Without, it says nothing by itself, and may still change what is known."""


def decide(new: New, known: Sequence[Known]) -> Decision:
    """What a statement does to the memories near it."""
    said = understand(new.text)
    statements = [understand(one.text) for one in known]
    if said.bag <= _EMPTY:
        return Decision(Action.IGNORE, None, "says nothing by itself")
    if new.adds:
        for at, memory in enumerate(statements):
            if not known[at].is_others and is_known(said, memory):
                return Decision(Action.IGNORE, at, "already known")
    changed = _changed(new, said, known, statements) or _extended(new, said, known, statements)
    if changed is not None:
        return changed
    if not new.adds:
        return Decision(Action.IGNORE, None, "says nothing by itself")
    return Decision(Action.ADD, None, "nothing known says this or its opposite")


def _extended(new: New, said: Statement, known: Sequence[Known], statements: Sequence[Statement]) -> Decision | None:
    """Take the place of a memory that the statement repeats word for word and goes on from: nothing of it is lost."""
    if not new.adds or new.is_quote:
        return None
    for at, memory in enumerate(statements):
        begins = bool(memory.words) and said.words[: len(memory.words)] == memory.words
        alike = (said.polarity, said.meant, said.owner) == (memory.polarity, memory.meant, memory.owner)
        if begins and alike and not known[at].is_others and _telling(memory):
            return Decision(Action.REVISE, at, "it says the same and more")
    return None


def is_known(new: Statement, memory: Statement) -> bool:
    """Whether a memory proves that a statement is known: it has all its words, and means them alike."""
    if (new.polarity, new.meant, new.owner) != (memory.polarity, memory.meant, memory.owner) or not new.words:
        return new.text == memory.text
    return new.bag <= memory.bag and _in_order(new, memory)


def _in_order(new: Statement, memory: Statement) -> bool:
    """Whether the words come in the same order, so that nobody does to the other what the other does to them."""
    at = iter(memory.words)
    return all(word in at for word in new.words)


def _changed(new: New, said: Statement, known: Sequence[Known], statements: Sequence[Statement]) -> Decision | None:
    filled = slots_of(said, new.own)
    said = understand(_NOTED.sub("", new.text))
    own = [at for at, one in enumerate(known) if not one.is_others]
    for at in own:
        reason, value = _why(said, filled, statements[at], new)
        if reason:
            return _change(new, said, statements[at], known[at], at, reason, value)
    best = max(own, key=lambda at: known[at].replaced, default=None)
    if best is None or not _is_likely(said, statements[best], known[best]):
        return None
    return _change(new, said, statements[best], known[best], best, _read(known[best]))


def _is_likely(said: Statement, memory: Statement, known: Known) -> bool:
    """Whether the curator is sure enough that a statement changes a memory."""
    shared = 0 if said.meant & {"supposed", "once"} else len(_telling(said) & _telling(memory))
    return known.replaced >= ODDS[min(shared, len(ODDS) - 1)]


def _read(known: Known) -> str:
    return f"the curator reads it as a change ({known.replaced:.2f})"


def also_changed(new: New, known: Sequence[Known], main: Decision) -> list[Decision]:
    """What else a statement changes: its words are put behind whatever has the old value, or the curator is sure of."""
    said, filled = understand(_NOTED.sub("", new.text)), slots_of(understand(new.text), new.own)
    found = []
    for at, one in enumerate(known):
        memory = understand(one.text)
        reason = _other_value(filled, memory, new)[0] or (_read(one) if _is_likely(said, memory, one) else "")
        if reason and at != main.target and not one.is_others:
            text = amended(one.stored or one.text, new.quote or new.text, new.day)
            found.append(Decision(Action.REVISE, at, reason, text))
    return found


def _why(said: Statement, filled: Sequence[Filled], memory: Statement, new: New) -> tuple[str, str]:
    """Why a statement surely changes a memory, '' where it does not; and the value that it has no longer."""
    reason, value = _other_value(filled, memory, new)
    if reason:
        return reason, value
    if said.meant == memory.meant and _is_other_amount(said, memory):
        return "the same is said with another number", " ".join(one for one in memory.words if one[:1].isdigit())
    return _denies(said, memory), ""


def _other_value(filled: Sequence[Filled], memory: Statement, new: New) -> tuple[str, str]:
    """Why a memory has the old value of something that a person has one of, '' where it has not; and that value."""
    for theirs in slots_of(memory, new.own) if filled else ():
        if mine := next((one for one in filled if is_other_value(one, theirs)), None):
            return f"{mine.slot}: {theirs.value!r} becomes {mine.value!r}", theirs.value
    return "", ""


def _denies(said: Statement, memory: Statement) -> str:
    telling, named = _telling(memory), _telling(said) - _ENDINGS
    if not telling or not named or said.polarity == memory.polarity or _is_unsure(said, memory):
        return ""
    if telling - _ENDINGS == named or _turns_round(said, memory):
        return "the opposite is said"
    if said.polarity < 0 and (named <= memory.bag or (ends(said.said) and telling <= said.bag)):
        return "it has ended" if ends(said.said) else "it is denied"
    return ""


def _is_unsure(said: Statement, memory: Statement) -> bool:
    return bool(said.meant & {"supposed", "once", "wished"}) or _is_yet_to_come(said, memory)


def _is_yet_to_come(said: Statement, memory: Statement) -> bool:
    """Whether a statement is a plan and the memory is none: it holds until the plan is carried out."""
    return "planned" in said.meant - memory.meant and not is_negated(said.said)


_AMOUNT: Final = re.compile(
    r"\b(?P<verb>[a-z]{3,}s|is|are|was|at|on|to|for|of|by|about|around|only|now|every) "
    r"(?P<much>(?:[$€£] ?)?\d[\d.,:/]*(?: ?(?:am|pm|h|th|st|nd|rd|%|k))?(?: (?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december)\b)?)"
)
_NOW: Final = re.compile(r" (?:now|currently|these days)\b")


def _is_other_amount(said: Statement, memory: Statement) -> bool:
    """Whether two statements are the same but for how much, how many or when; what has a number as its name is not."""
    mine, theirs = (_NOW.sub("", one.said.rstrip(".! ")) for one in (said, memory))
    if mine == theirs or _masked(mine) != _masked(theirs):
        return False
    return "#" in _masked(mine)


def _masked(said: str) -> str:
    return _AMOUNT.sub(lambda found: f"{found['verb']} #" if _is_verb(found["verb"]) else found[0], said)


def _is_verb(word: str) -> bool:
    return not word.endswith("s") or word in ("is", "was") or is_verb(word[:-1]) or is_verb(word[:-2])


def _turns_round(said: Statement, memory: Statement) -> bool:
    """Whether one likes what the other dislikes."""
    mine, theirs = _liked(said), _liked(memory)
    if said.owner != memory.owner or mine != theirs or not mine:
        return False
    return bool(_ATTITUDES & said.bag) and bool(_ATTITUDES & memory.bag) and said.polarity != memory.polarity


def _liked(statement: Statement) -> frozenset[str]:
    return statement.bag - _ATTITUDES - _DENIALS


def _telling(statement: Statement) -> frozenset[str]:
    return statement.bag - _LIGHT


def shared_words(one: str, other: str) -> int:
    """How many words that tell something two statements share."""
    return len(_telling(understand(one)) & _telling(understand(other)))


def _change(
    new: New, said: Statement, memory: Statement, known: Known, at: int, reason: str, value: str = ""
) -> Decision:
    """Take a memory's place where nothing of it is lost but the old value, else put the new words behind it."""
    over = understand(value).bag | _ATTITUDES
    lost = _telling(memory) - over - said.bag
    is_whole = new.adds and not new.is_quote and not lost and not _is_yet_to_come(said, memory)
    text = "" if is_whole else amended(known.stored or known.text, new.quote or new.text, new.day)
    return Decision(Action.REVISE, at, reason, text)


def to_forget(what: str, known: Sequence[str]) -> list[int]:
    """The memories that somebody asks to be forgotten: those that say all of it, else those that fill what it names."""
    words = understand(what).bag
    found = [at for at, text in enumerate(known) if words and words <= understand(text).bag]
    if found:
        return found
    slots = set(asked_slots(words))
    return [at for at, text in enumerate(known) if any(one.slot in slots for one in slots_of(understand(text)))]


def odds_of(rows: Any) -> list[float]:
    """How likely each memory is changed, out of a curator's log odds."""
    return [1 / (1 + math.exp(-float(row[0]))) for row in rows]


def contradicts(new: str, memory: str, own: Iterable[OwnSlot] = ()) -> bool:
    """Whether a statement and a memory cannot both hold, as far as that is sure."""
    said, known = understand(new), understand(memory)
    return bool(_why(said, slots_of(said, own), known, New(new, own=tuple(own)))[0])
