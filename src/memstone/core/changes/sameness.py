"""Whether something is known already: in other words, as a part of more, or in words of its own."""

from __future__ import annotations

from typing import Final

from memstone.core.changes.apart import counts_more, is_of_another
from memstone.core.changes.pairing import Decision, Pair
from memstone.core.changes.statement import Statement
from memstone.core.rules.signals import NEWLY, ONE_MORE, tells_change
from memstone.core.rules.stance import is_light, token
from memstone.core.text.lexicon import KIN

NEARLY_EQUAL: Final = 0.85
SAME_COVERED, SAME_COVERING = 0.65, 0.5
NEAR_COSINE, NEAR_COVERED = 0.72, 0.34
WITHIN_COSINE, WITHIN_FEELING_COSINE = 0.3, 0.6

ALIKE_COSINE, ALIKE_MARGIN = 0.76, 0.25
"""How near a memory has to be, and how much nearer than any other, to say the same in words of its own."""

MOST_BESIDE: Final = 3
"""So many telling words beside what is known are news."""


def same(pairs: list[Pair]) -> Decision | None:
    """The same in other words, or a part of it."""
    for pair in pairs:
        shared, cosine = pair.shared, pair.cosine
        if pair.left_behind:
            return pair.ignore(f"{pair.left_behind} is known to be otherwise")
        if not pair.agrees or _names_differ(pair) or not pair.counts_the_same or _is_another(pair):
            continue
        if _differs(pair):
            continue
        close = shared.covered >= SAME_COVERED and shared.covering >= SAME_COVERING and not _tells_beside(pair)
        near = cosine >= NEAR_COSINE and shared.covered >= NEAR_COVERED and not _is_newly(pair)
        if close or near or cosine >= NEARLY_EQUAL:
            return pair.ignore("already known in other words")
        if _is_part(pair):
            return pair.ignore("part of what is known")
    return _alike(pairs)


def _differs(pair: Pair) -> bool:
    """Whether one is only a plan, or another word stands in the same place of both: news, however near they are."""
    if pair.new.confirms:
        return False
    apart = is_of_another(pair.new, pair.memory) or _shares_only_names(pair)
    return pair.only_planned or pair.came_true or apart


def _alike(pairs: list[Pair]) -> Decision | None:
    """The same in words of its own: one memory is near, and no other is nearly as near."""
    first, *others = sorted(pairs, key=lambda pair: -pair.cosine)
    apart = first.cosine - max((one.cosine for one in others if one.at != first.at), default=0.0)
    if first.cosine < ALIKE_COSINE or apart < ALIKE_MARGIN or first.new.polarity != first.memory.polarity:
        return None
    return None if _is_news(first) else first.ignore("already known in words of its own")


def _is_news(pair: Pair) -> bool:
    """Whether a statement names, dates, counts or tells something that a memory does not, or is about others."""
    new, memory = pair.new, pair.memory
    if new.names - memory.tokens or new.dates - memory.dates or (memory.tokens & _PEOPLE) - new.tokens:
        return True
    if not pair.counts_the_same or _is_another(pair) or _differs(pair):
        return True
    return _is_newly(pair) or _tells_beside(pair)


def _is_another(pair: Pair) -> bool:
    """Whether it speaks of one more of what the memory has, or of somebody the memory does not speak of."""
    one_more = bool(ONE_MORE.search(pair.new.said)) and not ONE_MORE.search(pair.memory.said)
    return one_more or bool((pair.new.tokens & _PEOPLE) - pair.whole)


_PEOPLE: Final = frozenset(token(word) for word in KIN if word != "baby") - {token("baby")}


def _is_newly(pair: Pair) -> bool:
    """Whether it speaks of something as new that the memory does not."""
    return bool(NEWLY.search(pair.new.said)) and not NEWLY.search(pair.memory.said)


def _tells_beside(pair: Pair) -> bool:
    """Whether the parts of a statement that share nothing with a memory have words that tell something else."""
    beside = pair.new.tokens - pair.shared.segment.tokens - pair.whole
    return not pair.new.confirms and sum(not is_light(word) for word in beside) >= MOST_BESIDE


def _names_differ(pair: Pair) -> bool:
    """Two sentences about different names are not the same, however alike they are."""
    mine, theirs = pair.new.names, pair.memory.names
    return bool(mine - pair.memory.tokens and theirs - pair.new.tokens)


def _shares_only_names(pair: Pair) -> bool:
    """Whether both speak of somebody by name, and each tells something else of them."""
    shared = pair.new.tokens & pair.memory.tokens
    return bool(shared) and shared <= pair.memory.names and _tells_more(pair.memory)


def _tells_more(memory: Statement) -> bool:
    return any(not is_light(word) for word in memory.tokens - memory.names - memory.about)


def _is_part(pair: Pair) -> bool:
    """Whether every word that says something stands in the memory too."""
    said = {word for word in pair.new.tokens if not is_light(word)} - pair.new.about
    feels_more = pair.new.feeling and not pair.memory.feeling
    near = pair.cosine >= (WITHIN_FEELING_COSINE if feels_more else WITHIN_COSINE)
    if counts_more(pair.new, pair.memory):
        return False
    if tells_change(pair.new.said) and not pair.new.confirms and not tells_change(pair.memory.said):
        return False
    return bool(said) and said <= pair.whole and near and not _is_newly(pair) and pair.new.dates <= pair.memory.dates
