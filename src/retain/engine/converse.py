"""``add`` with ``infer=True``: keep what was said, and what follows from it.

Ingest, extract, relate, reconcile, commit. Rules or a model propose; structure decides; no transaction is open while a
model works. When a model is out of reach the turns are kept all the same, and the next call tries again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from retain.engine.extract import extract
from retain.engine.parts import Parts
from retain.engine.propose import propose
from retain.engine.relate import Fact, relate
from retain.engine.settle import NeedsVector, Plan, recognise, settle
from retain.engine.store import Space
from retain.engine.turns import Turn
from retain.engine.write import Outcome, current_space
from retain.errors import RetainError
from retain.model.event import Signal
from retain.model.ids import new_id
from retain.model.instant import Instant
from retain.model.memory import Layer
from retain.model.scope import Scope
from retain.ports.ledger import Tx
from retain.trace import log


@dataclass(slots=True)
class Conversation:
    """One call: whose it is, what was said, and how to learn from it."""

    scope: Scope
    turns: list[Turn]
    metadata: dict[str, Any] = field(default_factory=dict)
    prompt: str = ""
    dated: bool = True


@dataclass(slots=True)
class Learned:
    """What became of it; ``error`` when learning had to be put off."""

    outcomes: list[Outcome]
    error: RetainError | None = None
    degraded: list[dict[str, object]] = field(default_factory=list)


async def converse(parts: Parts, said: Conversation, *, keep: bool = True) -> Learned:
    """Store turns and settle the facts they state; with ``keep`` what cannot be learned now waits for another try."""
    await parts.ledger.read(partial(_recognised, said=said))
    try:
        facts = await extract(parts, said.scope, said.turns, said.metadata, said.prompt)
        space, waiting = await _embedded(parts, said.turns, facts)
    except RetainError as error:
        return await _put_off(parts, said, error, keep=keep)
    ready = [fact for fact in facts if space is None or fact.draft.vector is not None]
    cursor = await relate(parts, said.scope, ready, space.signature if space else "")
    learned = Learned([], waiting[0].error if waiting and not keep else None)
    await _proposals(parts, said.scope, ready, space, learned)
    signal = _signal(said, waiting[0].error, parts.now()) if waiting and keep else None
    outcomes = await _settled(parts, Plan(said.scope, said.turns, ready, cursor, space), signal)
    if isinstance(outcomes, RetainError):
        return await _put_off(parts, said, outcomes, keep=keep)
    learned.outcomes = [*outcomes, *waiting] if keep else outcomes
    _tell(said, learned)
    return learned


async def _recognised(tx: Tx, *, said: Conversation) -> None:
    """Find the turns that are stored already: what is sent again is the question that was asked before."""
    for turn in said.turns:
        await recognise(tx, turn, said.scope, last=turn is said.turns[-1])


async def _proposals(parts: Parts, scope: Scope, facts: Sequence[Fact], space: Space | None, learned: Learned) -> None:
    """Let a model decide what structure leaves open; without its answer structure decides alone."""
    if parts.llm is None or not facts:
        return
    try:
        await propose(parts, scope, facts, space.signature if space else "")
    except RetainError as error:
        learned.degraded.append({"step": "decision", **error.as_dict()})


async def _embedded(parts: Parts, turns: Sequence[Turn], facts: Sequence[Fact]) -> tuple[Space | None, list[Outcome]]:
    """Vectors for turns and facts, and the facts that got none; an error when there is none for any fact.

    A turn without a vector is kept: it is found by its words, and a reindex gives it one.
    """
    drafts = [*(turn.draft for turn in turns), *(fact.draft for fact in facts)]
    if not parts.embedding.on or not drafts:
        return None, []
    space = await current_space(parts)
    waiting: list[Outcome] = []
    for draft, vector in zip(drafts, await parts.embedding.many([draft.text for draft in drafts]), strict=True):
        if isinstance(vector, RetainError):
            waiting.append(Outcome("DEFERRED", None, draft, error=vector))
        else:
            draft.vector = vector
    unlearned = [outcome for outcome in waiting if outcome.draft.layer is not Layer.TURN]
    wanted, missing = (facts, unlearned) if facts else (turns, waiting)
    if missing and missing[0].error is not None and len(missing) == len(wanted):
        raise missing[0].error
    return space, unlearned


async def _settled(parts: Parts, plan: Plan, signal: Signal | None) -> list[Outcome] | RetainError:
    """Run the unit; a revision that makes a new text gets its vector outside the transaction and is run again."""
    while True:
        try:
            return await parts.ledger.write(partial(_unit, parts=parts, plan=plan, signal=signal, now=parts.now()))
        except NeedsVector as missing:
            vector = (await parts.embedding.many([missing.text]))[0]
            if isinstance(vector, RetainError):
                return vector
            plan.revised[missing.text] = vector


async def _unit(tx: Tx, *, parts: Parts, plan: Plan, signal: Signal | None, now: Instant) -> list[Outcome]:
    outcomes = await settle(parts, tx, plan, now)
    if signal is not None:
        await tx.signals.put([signal])
    return outcomes


async def _put_off(parts: Parts, said: Conversation, error: RetainError, *, keep: bool) -> Learned:
    """Keep the turns, and the conversation in the inbox, where another try finds it."""
    if keep:
        now = parts.now()
        try:
            space, _ = await _embedded(parts, said.turns, [])
        except RetainError:
            space = None
        plan = Plan(said.scope, said.turns, [], 0, space)
        await parts.ledger.write(
            partial(_unit, parts=parts, plan=plan, signal=_signal(said, error, now), now=now),
        )
    return Learned([], error)


def _signal(said: Conversation, error: RetainError | None, now: Instant) -> Signal:
    """A conversation with all it takes to learn from it later; what was learned from it already is then known."""
    messages = [{"role": turn.message.role, "content": turn.text, "name": turn.message.name} for turn in said.turns]
    data = {
        "infer": True,
        "messages": messages,
        "metadata": said.metadata,
        "prompt": said.prompt,
        "dated": said.dated,
    }
    first = next((turn.text for turn in said.turns if turn.message.role == "user"), "")
    when = said.turns[0].occurred_at if said.turns else now
    return Signal(new_id(), said.scope, first, when, now, data=data, last_error=str(error))


def _tell(said: Conversation, learned: Learned) -> None:
    """The record of what was decided; texts only for those who ask for details."""
    log.info(
        "memory_decision",
        extra={
            "event": "memory_decision",
            "user_id": said.scope.user_id,
            "input_message_length": sum(len(turn.text) for turn in said.turns),
            "extracted_count": len(learned.outcomes),
            "actions": [str(outcome.event) for outcome in learned.outcomes],
        },
    )
    for outcome in learned.outcomes:
        log.debug("memory_decision: %s %r because %s", outcome.event, outcome.draft.text, outcome.reason)
