"""What a model that has read a message together with the memories near it makes of what the rules decided.

The model was fitted to changes that others have written down (``scripts/fit_change_reader.py``): for each memory it
says how likely the message replaces it or says the same, against the odds that it does neither to any of them. A
memory is lost only where it is sure. What the rules see as a change happens unless the model finds it unlikely, and
what the rules know already stays known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from memstone.core.changes.apart import amounts
from memstone.core.changes.judge import Odds
from memstone.core.changes.pairing import Action, Decision, Known
from memstone.core.changes.statement import Statement, understand
from memstone.core.rules.guarded import FOR_ONCE, is_taste, may_end
from memstone.core.rules.plain import plain
from memstone.core.rules.stance import content_tokens, is_light
from memstone.core.rules.topics import topics_of

SURE: Final = 0.75
"""So likely it has to be that a memory is replaced, where no rule says so."""

KNOWN: Final = 0.5
"""So likely it has to be that a message says nothing new."""

STANDS: Final = 0.2
"""Less likely than this, what a rule would change stays as it is."""

LOOSELY_STANDS: Final = 0.4
"""The same where a rule has nothing to go by but how near a memory is."""

NEW: Final = 0.7
"""So likely it has to be that a message is news beside what is known, to keep one in which no rule sees a fact."""


FAR: Final = 0.15
"""A memory that is less near to a message is hardly repeated or replaced by it, unless they share a word."""

CERTAIN: Final = 0.9
"""So likely, what was read is believed against distance, and against a denial."""


@dataclass(frozen=True, slots=True)
class Read:
    """A message read with memories: the odds of each, by the number of its version."""

    message: str
    odds: Mapping[int, Odds]
    texts: Mapping[int, str] = field(default_factory=dict)

    @property
    def known(self) -> float:
        """How likely one of the memories says it already."""
        return sum(one.same for one in self.odds.values())

    @property
    def new(self) -> float:
        """How likely it is news that leaves all of them as they are."""
        return 1 - sum(one.same + one.replaces for one in self.odds.values())


def reading(message: str, memories: Mapping[int, str], rows: Sequence[Sequence[float]]) -> Read:
    """The odds out of a model's numbers: two for each memory, against the outcome that all stay as they are."""
    most = max(0.0, *(value for row in rows for value in row))
    weights = [[math.exp(value - most) for value in row] for row in rows]
    total = math.exp(-most) + sum(map(sum, weights))
    odds = {seq: Odds(one / total, same / total) for seq, (one, same) in zip(memories, weights, strict=True)}
    return Read(message, odds, memories)


_OWN_WORDS: Final = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours|you|your)\b", re.IGNORECASE)


def is_read(memory: str) -> bool:
    """Whether the model knows such memories: it was fitted to statements about somebody, and not to their own words."""
    return not _OWN_WORDS.search(memory)


def is_far(new: Statement, known: Known) -> bool:
    """Whether a memory has nothing to do with what was said, by words or meaning."""
    if known.told is None or known.told >= FAR:
        return False
    return _shares_nothing(new, known.statement)


def is_other_wish(new: Statement, memory: Statement) -> bool:
    """Whether both say what is asked of the assistant, and have only that in common."""
    return all(ORDER in one.text for one in (new, memory)) and _shares_nothing(new, memory)


def _shares_nothing(new: Statement, memory: Statement) -> bool:
    return not any(not is_light(word) for word in new.whole & memory.whole - _OF_ORDERS)


ORDER: Final = "wants the assistant"
"""How a memory says what is asked of the assistant."""

_OF_ORDERS: Final = content_tokens("wants the assistant to stop not always never")


def is_told_beside(part: str, rest: str, memory: str) -> bool:
    """Whether a part of a message says something by itself, and only the rest of it has to do with a memory."""
    mine, other, known = (understand(text) for text in (part, rest, memory))
    if not rest.strip() or not mine.slots or mine.slots.keys() & known.slots.keys() or _have_in_common(mine, known):
        return False
    return _have_in_common(other, known)


def _have_in_common(new: Statement, known: Statement) -> bool:
    kinds = topics_of(new.said) & topics_of(known.said)
    words = any(not is_light(word) for word in new.whole & known.whole)
    return bool(kinds or words or (amounts(new.said) and amounts(known.said)))


def replaced(read: Read) -> int | None:
    """The version a message surely replaces, out of those it was read with, or None."""
    best = max(read.odds, key=lambda seq: read.odds[seq].replaces, default=None)
    if (
        best is None
        or read.odds[best].replaces < SURE
        or not may_end(plain(read.message).lower(), read.texts.get(best, ""))
    ):
        return None
    return best


def possible(read: Read, news: Collection[int], others: Collection[int]) -> Read:
    """What was read, without what cannot be: news is not known already, and what is about others replaces nothing."""
    odds = {
        seq: Odds(0.0 if seq in others else one.replaces, 0.0 if seq in news else one.same)
        for seq, one in read.odds.items()
    }
    return replace(read, odds=odds)


def verdict(rule: Decision, read: Read, seqs: Sequence[int], taken: int | None) -> Decision:
    """What to do by the rules' decision and the reading; ``seqs`` are the versions that the rules looked at.

    ``taken`` is the one that this statement takes the place of.
    """
    if rule.certain or rule.plain:
        return rule
    if taken is not None and taken in seqs:
        return _replacing(rule, seqs.index(taken), read.odds[taken].replaces)
    if rule.action is Action.IGNORE:
        return rule
    still = [at for at, seq in enumerate(seqs) if seq in read.odds]
    same = max(still, key=lambda at: read.odds[seqs[at]].same, default=None)
    if same is not None and read.known >= KNOWN and not is_taste(read.texts.get(seqs[same], "")):
        return Decision(Action.IGNORE, same, f"read: it is known already ({read.known:.2f})")
    if rule.target is None or rule.action is Action.ADD or _stands(read, seqs[rule.target], rule):
        return rule
    return Decision(Action.ADD, None, f"read: it leaves what is known as it is, against: {rule.reason}")


def of_a_message(decided: Decision, read: Read | None, taken: int | None, *, keeps: bool = True) -> Decision:
    """The same for a message in which no rule sees a fact: it counts by its reading alone.

    As news it is kept only where it is a sentence by itself (``keeps``).
    """
    if read is not None and taken is not None and decided.action is Action.REVISE:
        return decided
    if read is not None and taken is None and keeps and read.new >= NEW:
        return Decision(Action.ADD, None, f"read: it is news beside what is known ({read.new:.2f})")
    return Decision(Action.IGNORE, None, "says nothing by itself")


def _replacing(rule: Decision, at: int, odds: float) -> Decision:
    """A change that the rules see as well is theirs to explain."""
    if rule.target == at and rule.action in (Action.REVISE, Action.RETRACT):
        return rule
    return Decision(Action.REVISE, at, f"read: it takes the place of what was known ({odds:.2f})", linked=True)


def _stands(read: Read, seq: int, rule: Decision) -> bool:
    """Whether a change that the rules see is left to them: of what was not read, and of tastes, they know more."""
    if is_taste(read.texts.get(seq, "")) and not rule.loose:
        return True
    least = SURE if FOR_ONCE.search(read.message.lower()) else LOOSELY_STANDS if rule.loose else STANDS
    return seq not in read.odds or read.odds[seq].replaces >= least
