"""``add`` with ``infer=True``: keep what was said, and what follows from it.

Ingest, extract, relate, reconcile, commit. Rules or a model propose; structure decides; no transaction is open while a
model works. When a model is out of reach the turns are kept all the same, and the next call tries again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from retain.engine.draft import Draft
from retain.engine.extract import extract
from retain.engine.parts import Parts
from retain.engine.propose import propose
from retain.engine.relate import Fact, relate
from retain.engine.settle import NeedsVector, Plan, settle
from retain.engine.store import Space
from retain.engine.turns import Turn
from retain.engine.write import Outcome, current_space
from retain.errors import RetainError
from retain.model.event import Signal
from retain.model.ids import new_id
from retain.model.instant import Instant
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
    try:
        facts = await extract(parts, said.scope, said.turns, said.metadata, said.prompt)
        space = await _embedded(parts, [*(turn.draft for turn in said.turns), *(fact.draft for fact in facts)])
    except RetainError as error:
        if keep:
            await _put_off(parts, said, error)
        return Learned([], error)
    cursor = await relate(parts, said.scope, facts, space.signature if space else "")
    learned = Learned([])
    await _proposals(parts, said.scope, facts, space, learned)
    learned.outcomes = await _settled(parts, Plan(said.scope, said.turns, facts, cursor, space))
    _tell(said, learned)
    return learned


async def _proposals(parts: Parts, scope: Scope, facts: Sequence[Fact], space: Space | None, learned: Learned) -> None:
    """Let a model decide what structure leaves open; without its answer structure decides alone."""
    if parts.llm is None or not facts:
        return
    try:
        await propose(parts, scope, facts, space.signature if space else "")
    except RetainError as error:
        learned.degraded.append({"step": "decision", **error.as_dict()})


async def _embedded(parts: Parts, drafts: Sequence[Draft]) -> Space | None:
    if not parts.embedding.on or not drafts:
        return None
    space = await current_space(parts)
    for draft, vector in zip(drafts, await parts.embedding.many([draft.text for draft in drafts]), strict=True):
        if isinstance(vector, RetainError):
            raise vector
        draft.vector = vector
    return space


async def _settled(parts: Parts, plan: Plan) -> list[Outcome]:
    """Run the unit; a revision that makes a new text gets its vector outside the transaction and is run again."""
    while True:
        try:
            return await parts.ledger.write(partial(_unit, parts=parts, plan=plan, now=parts.now()))
        except NeedsVector as missing:
            vector = (await parts.embedding.many([missing.text]))[0]
            if isinstance(vector, RetainError):
                raise vector from None
            plan.revised[missing.text] = vector


async def _unit(tx: Tx, *, parts: Parts, plan: Plan, now: Instant) -> list[Outcome]:
    return await settle(parts, tx, plan, now)


async def _put_off(parts: Parts, said: Conversation, error: RetainError) -> None:
    """Keep a conversation in the inbox, with all it takes to learn from it later."""
    now = parts.now()
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
    signal = Signal(new_id(), said.scope, first, when, now, data=data, last_error=str(error))
    try:
        space = await _embedded(parts, [turn.draft for turn in said.turns])
    except RetainError:  # the turns are kept without vectors; a reindex gives them some
        space = None

    async def work(tx: Tx) -> None:
        await settle(parts, tx, Plan(said.scope, said.turns, [], 0, space), now)
        await tx.signals.put([signal])

    await parts.ledger.write(work)


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
