"""Work out from a snapshot which memories to merge, promote, evict or shorten.

The result does not depend on the time of the last run: one run per year and one per hour lead to the same state. Fading
is computed by ``memstone.core.ranking.strength`` and never stored.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, TypeAlias

from memstone.core.prompt.profile import VISIBILITY
from memstone.core.ranking.mmr import SHINGLE_CHARS
from memstone.core.ranking.strength import Strength, current_strength, reinforce_strength
from memstone.language.language import Language
from memstone.language.text.normal import normal_text
from memstone.model.age import MemoryAge
from memstone.model.instant import Instant, datetime_from_instant, to_instant
from memstone.model.memory import Kind, Layer, Link, Record
from memstone.model.policy import Upkeep
from memstone.model.scope import Scope

# --- texts as sets of small pieces, and which of them are nearly the same ---------------------------------------------


Pieces: TypeAlias = frozenset[str]

_WORD: Final = re.compile(r"\w+")
_NEARLY: Final = 1e-9
"""So much a product of a share and a count may be off."""


def text_pieces(text: str) -> Pieces:
    """Return the pieces of a text; one without any word is a single piece, so that two equal ones are alike."""
    folded = text.casefold()
    words = _WORD.findall(folded)
    if not words:
        return frozenset({folded} if folded else ())
    return frozenset(
        word[start : start + SHINGLE_CHARS] for word in words for start in range(max(1, len(word) - SHINGLE_CHARS + 1))
    )


def find_similar_pairs(
    sets: Sequence[Pieces], threshold: float, may: Callable[[int, int], bool] | None = None
) -> Iterator[tuple[int, int]]:
    """Yield, for every set that is at least so much like one before it, the first such one, and itself.

    What has found its like is no longer compared with what comes after, so the answer is the same whether all are
    looked at in one go or a few at a time. ``may`` is asked about each pair before it is taken.
    """
    order = _rarest_first(sets)
    holding: defaultdict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(sets):
        telling = sorted(one, key=order.__getitem__)[: _prefix_size(len(one), threshold)]
        near = sorted({other for piece in telling for other in holding[piece]})
        like = next(
            (other for other in near if is_similar(sets[other], one, threshold) and _is_allowed(may, other, place)),
            None,
        )
        if like is not None:
            yield like, place
            continue
        for piece in telling:
            holding[piece].append(place)


def _rarest_first(sets: Sequence[Pieces]) -> dict[str, int]:
    """Return an order of all pieces in which those that tell most come first."""
    counts = Counter(piece for one in sets for piece in one)
    return {piece: place for place, piece in enumerate(sorted(counts, key=lambda piece: (counts[piece], piece)))}


def _prefix_size(size: int, threshold: float) -> int:
    """Return how many pieces have to be looked at: two sets that are alike share one of the first so many of each.

    If none of them were shared, all that could be would be the rest, and the rest is less than the threshold wants.
    """
    return size - math.ceil(threshold * size - _NEARLY) + 1 if size else 0


def is_similar(one: Pieces, other: Pieces, threshold: float) -> bool:
    """Return whether two have at least such a share in common; those of very different size are told apart at once."""
    size, other_size = len(one), len(other)
    if size + _NEARLY < threshold * other_size or other_size + _NEARLY < threshold * size:
        return False
    shared = len(one & other)
    return shared + _NEARLY >= threshold * (size + other_size - shared)


def _is_allowed(may: Callable[[int, int], bool] | None, older: int, newer: int) -> bool:
    return may is None or may(older, newer)


# --- what becomes of memories over time, decided from what is known of them alone -------------------------------------


Owner: TypeAlias = tuple[str, str]
"""A user and an agent: what belongs to two of them is never mixed."""

LASTING: Final = frozenset({Kind.OVERRIDE, Kind.NARRATIVE})
"""Kinds that a person wrote, or that are made again: no pass touches them."""

_TIMES: Final = 100
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")


def days_before(now: Instant, days: float) -> Instant:
    """Return the moment so many days ago; the beginning of time when there are too many."""
    try:
        return to_instant(datetime_from_instant(now) - timedelta(days=days))
    except OverflowError:
        return ""


def owners_of(links: Iterable[Link]) -> frozenset[Owner]:
    """Return whom a memory belongs to."""
    return frozenset((link.scope.user_id, link.scope.agent_id) for link in links)


# --- becoming one -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Merge:
    """Two memories that say the same: the older is kept."""

    survivor: Record
    dropped: Record


def find_merges(records: Sequence[Record], threshold: float, language: Language) -> list[Merge]:
    """Return which of the memories of one owner and layer become one."""
    if threshold <= 0:
        return []
    aged = sorted(records, key=lambda record: (record.occurred_at, record.seq))
    sets = [text_pieces(_comparison_text(record)) for record in aged]
    found = find_similar_pairs(sets, threshold, lambda older, newer: can_merge(aged[older], aged[newer], language))
    return [Merge(aged[older], aged[newer]) for older, newer in found]


def find_repeats(records: Sequence[Record]) -> list[Merge]:
    """Return which of the facts of one owner were learned again in the same words: all are merged into the oldest."""
    found, first = list[Merge](), dict[tuple[str, str], Record]()
    for record in sorted(records, key=lambda one: (one.occurred_at, one.seq)):
        if record.data.get("verbatim") or _is_named(record):
            continue
        oldest = first.setdefault((str(record.kind), normal_text(record.text)), record)
        if oldest is not record and _is_told_alike(oldest, record):
            found.append(Merge(oldest, record))
    return found


def _is_told_alike(older: Record, newer: Record) -> bool:
    """Return whether nothing that is known of the newer of two with the same words would be lost with it."""
    return (
        older.trust >= newer.trust
        and older.expires_at == newer.expires_at
        and newer.metadata.items() <= older.metadata.items()
        and older.data.get(VISIBILITY) == newer.data.get(VISIBILITY)
    )


def can_merge(older: Record, newer: Record, language: Language) -> bool:
    """Return whether the newer of two that are nearly alike in words may become part of the older.

    Not when a number differs, a caller named one of them or tells them apart by metadata, one ends before the other, or
    the newer comes from a more trusted source. Facts must also say the same: what one affirms the other does not deny,
    and who did what to whom is told by the order of the words.
    """
    return (
        older.kind == newer.kind
        and older.kind not in LASTING
        and older.trust >= newer.trust
        and older.expires_at == newer.expires_at
        and not _is_named(older)
        and not _is_named(newer)
        and newer.metadata.items() <= older.metadata.items()
        and _number_set(older.text) == _number_set(newer.text)
        and (older.layer != Layer.FACT or _states_the_same(older.text, newer.text, language))
    )


def merge_records(record: Record, dropped: Record) -> Record:
    """Return the older of two with what the newer brings: it was said as often as both, and when last."""
    times = sorted({*times_of(record), *times_of(dropped)})[-_TIMES:]
    lists = {
        name: [*dict.fromkeys([*_data_list(record, name), *_data_list(dropped, name)])] for name in ("facts", "turns")
    }
    answer = {name: values for name, values in lists.items() if values}
    answer["merged"] = [*dict.fromkeys([*_data_list(record, "merged"), *_data_list(dropped, "merged"), dropped.id])]
    return replace(
        record,
        source_count=record.source_count + dropped.source_count,
        salience=max(record.salience, dropped.salience),
        anchor_at=max(record.anchor_at, dropped.anchor_at),
        data={**record.data, **answer, "times": times},
    )


def times_of(record: Record) -> list[Instant]:
    """Return when it was said, once for each memory that became part of it."""
    answer = record.data.get("times")
    return [str(one) for one in answer] if isinstance(answer, list) and answer else [record.occurred_at]


def merge_links(links: Sequence[Link], dropped: Sequence[Link]) -> list[Link]:
    """Return the links of the memory that is left of two: everybody who saw one of them sees it; uses are added up."""
    by_scope: dict[Scope, Link] = {link.scope: link for link in links}
    for link in dropped:
        known = by_scope.get(link.scope)
        by_scope[link.scope] = replace(link, dedupe=None) if known is None else _add_uses(known, link)
    return list(by_scope.values())


def _add_uses(one: Link, other: Link) -> Link:
    last = max(one.last_used_at or "", other.last_used_at or "") or None
    return replace(one, use_count=one.use_count + other.use_count, last_used_at=last)


def _comparison_text(record: Record) -> str:
    """Return what two memories are compared by: the text, and what an episode was about."""
    return " ".join([record.text, *_data_list(record, "topics")])


def _data_list(record: Record, name: str) -> list[str]:
    answer = record.data.get(name)
    return [str(one) for one in answer] if isinstance(answer, list) else []


def _is_named(record: Record) -> bool:
    """Return whether a caller gave it its key; a key that was learned follows from the text."""
    return bool(record.key and (record.data.get("verbatim") or record.data.get("named")))


def _number_set(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text))


def _states_the_same(older: str, newer: str, language: Language) -> bool:
    """Return whether nothing in the newer of two facts is new, and who did what to whom is told alike."""
    return language.changes.is_known(newer, older) and _in_order(older, newer)


def _in_order(one: str, other: str) -> bool:
    """Return whether the words that two texts share come in the same order."""
    words, again = _WORD.findall(one.casefold()), _WORD.findall(other.casefold())
    shared = {*words} & {*again}
    return [word for word in words if word in shared] == [word for word in again if word in shared]


# --- what keeps being mentioned ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Promotion:
    """A fact that episodes mention, and when each of them took place, oldest first."""

    fact: Record
    times: tuple[Instant, ...]

    def steps(self, policy: Upkeep) -> int:
        """Return how often it has earned its boost: once for every ``promote_at`` episodes."""
        return len(self.times) // policy.promote_at

    def strengthen_fact(self, amount: int, policy: Upkeep) -> Record:
        """Return the fact with what it has earned beyond ``given``, as of the episode that earned it last.

        Being mentioned again is being told again: it is as strong as it ever was, and stronger by the boost.
        """
        steps = self.steps(policy)
        at = self.times[steps * policy.promote_at - 1]
        before = Strength(self.fact.salience, self.fact.anchor_at)
        after = reinforce_strength(before, at, policy.promote_boost * (steps - amount))
        return replace(self.fact, salience=after.base, anchor_at=after.anchor)


def find_promotions(
    facts: Sequence[Record], episodes: Sequence[Record], policy: Upkeep, since: Instant
) -> list[Promotion]:
    """Return the facts of an owner that enough of its episodes since some day mention."""
    recent = [_EpisodeContent.of(episode, since) for episode in episodes]
    found = []
    for fact in facts:
        own = text_pieces(fact.text)
        speaking = (answer for answer in recent if answer.speaks_of(fact, own, policy.promote_overlap))
        times = sorted(at for answer in speaking for at in answer.times)
        if len(times) >= policy.promote_at:
            found.append(Promotion(fact, tuple(times)))
    return found


@dataclass(frozen=True, slots=True)
class _EpisodeContent:
    """An episode: what it says as a whole and sentence by sentence, which facts it names, and when it took place.

    A fact is one sentence, so it is compared with one as well.
    """

    parts: tuple[Pieces, ...]
    facts: frozenset[str]
    times: tuple[Instant, ...]

    @classmethod
    def of(cls, episode: Record, since: Instant) -> _EpisodeContent:
        full_text = " ".join([episode.text, *_data_list(episode, "topics"), *_data_list(episode, "entities")])
        parts = tuple(text_pieces(part) for part in (full_text, *_SENTENCE.split(episode.text)) if part.strip())
        times = tuple(at for at in times_of(episode) if at >= since)
        return cls(parts, frozenset(_data_list(episode, "facts")), times)

    def speaks_of(self, fact: Record, own: Pieces, overlap: float) -> bool:
        return fact.id in self.facts or any(is_similar(part, own, overlap) for part in self.parts)


# --- what is no longer needed -----------------------------------------------------------------------------------------


def is_faint(one: MemoryAge, now: Instant, policy: Upkeep, decay_days: float) -> bool:
    """Return whether a fact has faded below the floor, and nobody used it for long enough: both."""
    if one.record.kind in LASTING or one.touched_at > days_before(now, policy.idle_days):
        return False
    strength = Strength(one.record.salience, one.fresh_at)
    return current_strength(strength, now, decay_days) < policy.salience_floor


def is_overdue(one: MemoryAge, now: Instant, policy: Upkeep) -> bool:
    """Return whether a memory of a kind that is kept only while it is used was not used for its time."""
    days = dict(policy.ttl).get(one.record.kind)
    if days is None or one.uses >= policy.immune_uses:
        return False
    return one.touched_at <= days_before(now, days)


# --- old memories made shorter ----------------------------------------------------------------------------------------


SENTENCES: Final = 3
"""So many sentences are left of a memory that is shortened."""

# An end of a sentence is followed by a blank, so that neither 3.5 nor example.org is cut in two; Chinese and Japanese
# write none.
_END: Final = re.compile(r"(?<![.!?])[.!?]++(?=\s|$)|[\u3002\uff01\uff1f]+")


def shorten_text(text: str) -> str | None:
    """Return the first three sentences of a text; None when it has no more than that, or would not get shorter."""
    sentences = [part.strip() for part in _END.split(text) if part.strip()]
    if len(sentences) <= SENTENCES:
        return None
    short = ". ".join(sentences[:SENTENCES]) + "."
    return short if len(short) < len(text) else None


def over_budget(tokens: Iterable[int], budget: int) -> list[int]:
    """Return the places of those that do not fit, when each is taken in turn as long as there is room for it."""
    left = budget
    over: list[int] = []
    for place, size in enumerate(tokens):
        if size <= left:
            left -= size
        else:
            over.append(place)
    return over
