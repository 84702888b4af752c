"""What is already known near a new fact: candidates for the reconciler, looked up before any transaction is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from memstone.core.changes.judge import FITTED_TO
from memstone.core.changes.pairing import Action
from memstone.core.changes.reader import Read
from memstone.core.changes.reconcile import Known
from memstone.core.changes.statement import Statement, understand
from memstone.core.checks.visible import visible
from memstone.core.curate import Candidate
from memstone.core.rules.marks import PUTS_RIGHT
from memstone.core.rules.named import begins_with, speaker_name
from memstone.core.text.analyze import query_terms
from memstone.engine.parts import Parts
from memstone.engine.storing.draft import Draft, scope_tokens
from memstone.engine.storing.turns import Turn
from memstone.errors import BackendError
from memstone.model.instant import Instant
from memstone.model.memory import Found, Layer, Record
from memstone.model.own import OwnSlot
from memstone.model.query import And, Condition, Op, TextQuery, VectorQuery, Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

_NEAREST: Final = 8
SIDE_BY_SIDE: Final = 8
"""So many searches run at once: an index outside this process is waited for once, and not once a fact."""

_LAST: Final = 3
"""So many memories back somebody may put right without naming what."""

_NOTHING_LATER: Final = 2**62
_LAYERS: Final = (str(Layer.FACT),)


@dataclass(frozen=True, slots=True)
class Proposal:
    """One thing a model does with a fact: an action on one version of a memory."""

    action: Action
    target: int | None
    text: str
    reason: str


@dataclass(slots=True)
class Fact:
    """A candidate on its way into the ledger: where it was said, its draft, and which memories are near it."""

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

    read: Read | None = None
    """What a reading of its message together with the memories near it brought."""

    takes: int | None = None
    """The version it takes the place of, by that reading."""

    last: list[int] = field(default_factory=list)
    """What was learned last, the newest first: what somebody means who puts right what they have said."""

    only_read: bool = False
    """A message in which no rule sees a fact: it counts where it surely takes the place of a memory, and else not."""

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
        """Whether the conversation does not bear it out."""
        return bool((self.draft.data or {}).get("doubt"))

    @property
    def message(self) -> str:
        """What was said, as it is understood: an answer of a word or two together with what was asked."""
        return self.candidate.asked or self.turn.text

    @property
    def words(self) -> str:
        """The words that state it, understood in the same way."""
        return self.candidate.asked or self.turn.text[self.candidate.start : self.candidate.end]

    @property
    def puts_right(self) -> bool:
        """Whether somebody puts right what they have just said: "no wait, I meant ..."."""
        return not self.adds and PUTS_RIGHT.match(self.draft.text.lower()) is not None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory near a fact, as it is inside the transaction."""

    found: Found
    known: Known


async def relate(parts: Parts, scope: Scope, facts: Sequence[Fact], signature: str) -> int:
    """Note the neighbours of every fact; gives the ledger's position, so that what comes later is looked at too."""
    tokens = scope_tokens(scope)

    chosen = facts[0].compared_with if facts else None
    among: frozenset[int] | None = None

    async def by_words(tx: Tx) -> tuple[int, list[list[int]]]:
        """The position, and what shares words with each fact, in one look."""
        nonlocal among
        if chosen is not None:
            among = frozenset(await tx.memories.seqs(visible(scope, parts.now(), extra=chosen)))
        queries = [TextQuery(query_terms(fact.draft.text), tokens, scope) for fact in facts]
        hits = [await tx.text.match(query, _NEAREST) for query in queries]
        for fact in facts:
            fact.last = await _learned_last(tx, scope, parts.now(), chosen) if fact.puts_right else []
        return await tx.admin.cursor(), [[seq for seq, _ in found] for found in hits]

    cursor, worded = await parts.ledger.read(by_words)
    for at in range(0, len(facts), SIDE_BY_SIDE):
        wave = facts[at : at + SIDE_BY_SIDE]
        found = await parts.io.gather(*(_nearest(parts, scope, fact, signature, among) for fact in wave))
        for fact, meant, shared in zip(wave, found, worded[at:], strict=False):
            fact.near = list(dict.fromkeys([*meant, *shared, *fact.last]))
    return cursor


async def _learned_last(tx: Tx, scope: Scope, now: Instant, chosen: Where | None) -> list[int]:
    where = And((visible(scope, now, extra=chosen), Condition("layer", Op.EQ, str(Layer.FACT))))
    return [one.record.seq for one in await tx.memories.find(where, limit=_LAST)]


async def _nearest(parts: Parts, scope: Scope, fact: Fact, signature: str, among: frozenset[int] | None) -> list[int]:
    """What means something like a fact; nothing while the index is out of reach, and words have to do."""
    if fact.draft.vector is None or not signature:
        return []
    vector = np.frombuffer(fact.draft.vector, "<f4")
    try:
        hits = await parts.index.search(VectorQuery(signature, vector, _NEAREST, scope, _LAYERS, among))
    except BackendError:
        return []
    return [hit.seq for hit in hits]


@dataclass(frozen=True, slots=True)
class Related:
    """A memory near a fact, before the transaction: enough to ask a model about it."""

    seq: int
    text: str
    cosine: float
    day: str = ""


def _related(record: Record, cosine: float) -> Related:
    return Related(record.seq, record.text, cosine, record.occurred_at[:10])


async def related(parts: Parts, scope: Scope, facts: Sequence[Fact], signature: str) -> list[list[Related]]:
    """The neighbours of every fact as they are now."""
    now = parts.now()

    async def work(tx: Tx) -> list[list[Related]]:
        found = [await neighbours(tx, scope, fact, _NOTHING_LATER, signature, now) for fact in facts]
        return [[_related(one.found.record, one.known.cosine) for one in near] for near in found]

    return await parts.ledger.read(work)


async def neighbours(tx: Tx, scope: Scope, fact: Fact, cursor: int, signature: str, now: Instant) -> list[Neighbour]:
    """The candidates of a fact as they are now, with everything that was stored since they were looked up."""
    where = visible(scope, now, extra=fact.compared_with)
    found = await tx.memories.among(fact.near, where) if fact.near else []
    newer: Where = And((where, Condition("seq", Op.GT, cursor)))
    later = await tx.memories.find(newer, limit=200)
    return [await _neighbour(tx, one, fact, signature) for one in [*found, *later]]


async def _neighbour(tx: Tx, found: Found, fact: Fact, signature: str) -> Neighbour:
    record = found.record
    cosine, told = 0.0, None
    if fact.draft.vector is not None and signature:
        stored = await tx.vectors.get(record.tenant_id, record.seq, signature)
        if stored is not None:
            cosine = _cosine(stored, fact.draft.vector)
            told = _cosine(stored, fact.turn.draft.vector or fact.draft.vector) if signature == FITTED_TO else None
    fresh = bool(fact.turn.id) and record.origin_id == fact.turn.id
    return Neighbour(found, Known(known_statement(record, fact), cosine, fresh, told))


def _cosine(one: bytes, other: bytes) -> float:
    return float(np.frombuffer(one, "<f4") @ np.frombuffer(other, "<f4"))


def known_statement(record: Record, fact: Fact) -> Statement:
    """What a memory says, as it is held against a fact: each about whom it was told."""
    return understand(record.text, fact.own, _told_about(record, fact.who))


def _told_about(record: Record, who: str) -> str:
    """Who "I" is in a memory, by name; what others told of ``who`` is theirs to change."""
    speaker = str(record.data.get("speaker") or "")
    teller = speaker_name(speaker) if record.source_role in ("user", None) else ""
    is_quoted = bool(teller and record.data.get("verbatim"))
    return who if not is_quoted and begins_with(record.text, who) else teller
