"""Look up known memories similar to a new fact, before a transaction is open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np

from memstone.core.checks.filters import where_visible
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import Draft, scope_tokens
from memstone.engine.store.turns import Turn
from memstone.errors import BackendError
from memstone.language.language import ChangeRules
from memstone.language.text.tokens import query_terms
from memstone.model.fact import Candidate, FactAction, KnownMemory
from memstone.model.instant import Instant
from memstone.model.memory import FoundMemory, Layer, Record
from memstone.model.message import speaker_name
from memstone.model.policy import OwnSlot
from memstone.model.query import And, Condition, Op, TextQuery, VectorQuery, Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

# --- what is already known near a new fact ----------------------------------------------------------------------------


_NEAREST: Final = 8
SIDE_BY_SIDE: Final = 8
"""So many searches run at once: an index outside this process is waited for once, and not once a fact."""

_NOTHING_LATER: Final = 2**62
_LAYERS: Final = (str(Layer.FACT),)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A model's proposal: an action on one version of a memory."""

    action: FactAction
    target: int | None
    text: str
    reason: str


@dataclass(slots=True)
class Fact:
    """A candidate fact: where it was said, its draft, and similar memories."""

    candidate: Candidate
    turn: Turn
    draft: Draft
    near: list[int] = field(default_factory=list)
    adds: bool = True
    own: tuple[OwnSlot, ...] = ()
    who: str = ""
    """The name of whoever is meant by "I" and "User" in it; '' when nobody gave one."""

    proposals: list[Proposal] = field(default_factory=list)
    """What a model would do, at most one thing to each memory; nothing when structure has to decide."""

    replaced: dict[int, float] = field(default_factory=dict)
    """How likely it replaces each version that its message was read with."""

    compared_with: Where | None = None
    """Which of the memories that are known it is held against; None is all."""

    judged: bool = False
    """A model decides about it: rules have no say but for time, trust and exact repetition."""

    also: list[Turn] = field(default_factory=list)
    """Other turns of the conversation that show it: what was proposed, where this one accepts it."""

    kept_as: str | None = None
    """The memory that says it since it was settled, and so what took the place of those that it ended."""

    @property
    def doubtful(self) -> bool:
        """Whether the conversation does not support the fact."""
        return bool((self.draft.data or {}).get("doubt"))

    @property
    def words(self) -> str:
        """The words that state the fact."""
        return self.turn.text[self.candidate.start : self.candidate.end]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory similar to a fact, as read inside the transaction."""

    found: FoundMemory
    known: KnownMemory
    cosine: float


async def find_neighbours(runtime: Runtime, scope: Scope, facts: Sequence[Fact], signature: str) -> int:
    """Find memories similar to each fact; return the position of the ledger at that time."""
    tokens = scope_tokens(scope)

    chosen = facts[0].compared_with if facts else None
    among: frozenset[int] | None = None

    async def by_words(tx: Tx) -> tuple[int, list[list[int]]]:
        """Find memories that share words with each fact, and the position of the ledger."""
        nonlocal among
        if chosen is not None:
            among = frozenset(await tx.memories.seqs(where_visible(scope, runtime.now(), extra=chosen)))
        queries = [TextQuery(query_terms(fact.draft.text), tokens, scope) for fact in facts]
        hits = [await tx.text.match(query, _NEAREST) for query in queries]
        return await tx.admin.cursor(), [[seq for seq, _ in found] for found in hits]

    cursor, worded = await runtime.ledger.read(by_words)
    for at in range(0, len(facts), SIDE_BY_SIDE):
        wave = facts[at : at + SIDE_BY_SIDE]
        found = await runtime.io.gather(*(_search_by_meaning(runtime, scope, fact, signature, among) for fact in wave))
        for fact, wanted, shared in zip(wave, found, worded[at:], strict=False):
            fact.near = list(dict.fromkeys([*wanted, *shared]))
    return cursor


async def _search_by_meaning(
    runtime: Runtime, scope: Scope, fact: Fact, signature: str, among: frozenset[int] | None
) -> list[int]:
    """Find similar memories by vectors; nothing if the index cannot be reached."""
    if fact.draft.vector is None or not signature:
        return []
    vector = np.frombuffer(fact.draft.vector, "<f4")
    try:
        hits = await runtime.index.search(VectorQuery(signature, vector, _NEAREST, scope, _LAYERS, among))
    except BackendError:
        return []
    return [hit.seq for hit in hits]


@dataclass(frozen=True, slots=True)
class NeighbourMemory:
    """A memory similar to a fact, as read before the transaction."""

    seq: int
    text: str
    cosine: float
    day: str = ""
    as_user: str = ""
    """Its text with whoever says the fact as "User"; '' where somebody else said it of themselves."""


def _to_related(one: Neighbour) -> NeighbourMemory:
    record = one.found.record
    text = "" if one.known.is_others else one.known.text
    return NeighbourMemory(record.seq, record.text, one.cosine, record.occurred_at[:10], text)


async def read_related_memories(
    runtime: Runtime, scope: Scope, facts: Sequence[Fact], signature: str
) -> list[list[NeighbourMemory]]:
    """Read the current neighbours of every fact."""
    now = runtime.now()

    async def work(tx: Tx) -> list[list[NeighbourMemory]]:
        found = [
            await read_neighbours(tx, runtime.language.changes, scope, fact, _NOTHING_LATER, signature, now)
            for fact in facts
        ]
        return [[_to_related(one) for one in near] for near in found]

    return await runtime.ledger.read(work)


async def read_neighbours(
    tx: Tx, rules: ChangeRules, scope: Scope, fact: Fact, cursor: int, signature: str, now: Instant
) -> list[Neighbour]:
    """Read the current neighbours of a fact, including everything stored since they were found."""
    where = where_visible(scope, now, extra=fact.compared_with)
    found = await tx.memories.among(fact.near, where) if fact.near else []
    newer: Where = And((where, Condition("seq", Op.GT, cursor)))
    later = await tx.memories.find(newer, limit=200)
    return [await _build_neighbour(tx, rules, one, fact, signature) for one in [*found, *later]]


async def _build_neighbour(tx: Tx, rules: ChangeRules, found: FoundMemory, fact: Fact, signature: str) -> Neighbour:
    record, cosine = found.record, 0.0
    if fact.draft.vector is not None and signature:
        stored = await tx.vectors.get(record.tenant_id, record.seq, signature)
        cosine = _compute_cosine(stored, fact.draft.vector) if stored is not None else 0.0
    return Neighbour(found, known_as(record, fact, rules), cosine)


def known_as(record: Record, fact: Fact, rules: ChangeRules) -> KnownMemory:
    """Return a memory for comparison with a fact: the speaker of the fact is "User" in both."""
    person = _told_about(record, fact.who, rules)
    if person != fact.who:
        return KnownMemory(record.text, is_others=True)
    return KnownMemory(rules.as_user(record.text, person), fact.replaced.get(record.seq, 0.0), record.text)


def _told_about(record: Record, who: str, rules: ChangeRules) -> str:
    """Return the name of the person who is "I" in a memory."""
    speaker = str(record.data.get("speaker") or "")
    teller = speaker_name(speaker) if record.source_role in ("user", None) else ""
    is_quoted = bool(teller and record.data.get("verbatim"))
    return who if not is_quoted and rules.is_about(record.text, who) else teller


def _compute_cosine(one: bytes, other: bytes) -> float:
    return float(np.frombuffer(one, "<f4") @ np.frombuffer(other, "<f4"))


# --- what users say, read together with the memories near it, before any transaction is open --------------------------


MOST_MEMORIES: Final = 4
SHARED, MOST_SHARED = 0.15, 3
"""So much nearer is a memory for each word it shares with a message, up to so many words."""

LEAST, NEAR = 0.15, 0.3
"""A memory that is less near than the first to all that a message states has nothing to do with it; one that is less
near than the second only where they share a word that tells something."""

FEW_WORDS: Final = 50
MOST_OF_A_TALE: Final = 3
"""Of a longer message so many statements are read, each by itself."""


async def read_changes(runtime: Runtime, scope: Scope, facts: Sequence[Fact], signature: str) -> None:
    """Rate for every fact how likely it replaces each similar memory, as the language finds with the curator."""
    asked = [fact for fact in facts if fact.near and not fact.candidate.forget and fact.turn.message.role == "user"]
    if runtime.curator is None or not asked:
        return
    rules = runtime.language.changes
    near = await read_related_memories(runtime, scope, asked, signature)
    around = {
        id(fact): _reading_nearest(found, measured=bool(signature)) for fact, found in zip(asked, near, strict=True)
    }
    for message, stated in _by_message(asked, around, rules):
        memories = list({one.seq: one for fact in stated for one in around[id(fact)]}.values())
        memories = [one for one in memories if one.cosine >= NEAR or rules.count_shared_words(message, one.text)]
        memories = sorted(memories, key=lambda one: _message_distance(message, one, rules))[:MOST_MEMORIES]
        if memories:
            texts = [one.as_user for one in memories]
            odds = await runtime.io.compute(partial(rules.rate_changes, message, texts, runtime.curator))
            _note_odds(stated, around, dict(zip((one.seq for one in memories), odds, strict=True)), rules)


def _message_distance(message: str, one: NeighbourMemory, rules: ChangeRules) -> float:
    """Return how different a memory is from a message, by meaning and by shared words."""
    return -one.cosine - SHARED * min(MOST_SHARED, rules.count_shared_words(message, one.text))


def _note_odds(
    stated: Sequence[Fact], around: dict[int, list[NeighbourMemory]], odds: dict[int, float], rules: ChangeRules
) -> None:
    """Assign the odds for each memory to the statement that is most similar to it."""
    for seq, value in odds.items():
        taker = max(stated, key=lambda fact: (fact.adds, *_measure_closeness(fact, around[id(fact)], seq, rules)))
        taker.replaced[seq] = value


def _measure_closeness(
    fact: Fact, around: Sequence[NeighbourMemory], seq: int, rules: ChangeRules
) -> tuple[int, float]:
    one = next((one for one in around if one.seq == seq), None)
    return (rules.count_shared_words(fact.words, one.text), one.cosine) if one else (0, -1.0)


def _reading_nearest(found: Sequence[NeighbourMemory], *, measured: bool) -> list[NeighbourMemory]:
    """Return the memories for the curator to read: about the user and, if measured, similar enough."""
    return [one for one in found if one.as_user and (not measured or one.cosine >= LEAST)]


def _by_message(
    facts: Sequence[Fact], around: dict[int, list[NeighbourMemory]], rules: ChangeRules
) -> Iterator[tuple[str, list[Fact]]]:
    """Yield what the curator reads at once: a short message, or one statement of a long one."""
    turns: dict[int, list[Fact]] = {}
    for fact in facts:
        if around[id(fact)]:
            turns.setdefault(id(fact.turn), []).append(fact)
    for stated in turns.values():
        if len(stated[0].turn.text.split()) <= FEW_WORDS:
            yield rules.as_user(stated[0].turn.text, stated[0].who), stated
            continue
        nearest = sorted(stated, key=lambda fact: -max(one.cosine for one in around[id(fact)]))
        yield from ((fact.words, [fact]) for fact in nearest[:MOST_OF_A_TALE])
