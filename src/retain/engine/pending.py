"""``flush``: try again what could not be stored when it was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from retain.engine.converse import Conversation, converse
from retain.engine.draft import Details, Draft, verbatim_draft
from retain.engine.parts import Parts
from retain.engine.turns import turns_of
from retain.engine.write import Prepared, commit, prepare
from retain.model.event import Signal
from retain.model.message import Message
from retain.model.scope import Scope
from retain.ports.ledger import Tx

_AT_ONCE: Final = 500
_BEFORE_MORE: Final = 20


async def flush(parts: Parts, given: Mapping[str, Any]) -> dict[str, Any]:
    """Store what waits in a scope (or everywhere); what fails again keeps waiting."""
    scope = Scope.of(**given, tenant_id=parts.tenant_id)
    stored, failed = 0, set[str]()
    while waiting := await _waiting(parts, scope, failed):
        ended, again = await _try_again(parts, waiting)
        stored, failed = stored + ended, failed | again
    return {"stored": stored, "waiting": len(failed)}


async def _waiting(parts: Parts, scope: Scope, failed: set[str]) -> list[Signal]:
    """The oldest that wait and have not been tried by this call."""
    found = await parts.ledger.read(lambda tx: tx.signals.pending(scope, _AT_ONCE + len(failed)))
    return [signal for signal in found if signal.id not in failed][:_AT_ONCE]


async def _try_again(parts: Parts, waiting: Sequence[Signal]) -> tuple[int, set[str]]:
    to_learn = [signal for signal in waiting if signal.data.get("infer")]
    to_store = [signal for signal in waiting if not signal.data.get("infer")]
    learned, unlearned = await learn_again(parts, to_learn)
    stored, failed = await _store_again(parts, to_store) if to_store else (0, set[str]())
    return learned + stored, unlearned | failed


async def learn_waiting(parts: Parts, scope: Scope) -> None:
    """Learn from what waits in exactly this scope, before something new is said there."""
    waiting = await parts.ledger.peek(lambda tx: tx.signals.pending(scope, _BEFORE_MORE))
    await learn_again(parts, [signal for signal in waiting if signal.data.get("infer") and signal.scope == scope])


async def learn_again(parts: Parts, waiting: Sequence[Signal]) -> tuple[int, set[str]]:
    """Learn from conversations that were put off, oldest first; stops at the first that fails again."""
    for done, signal in enumerate(waiting):
        learned = await converse(parts, _conversation(signal), keep=False)
        status = "processed" if learned.error is None else "pending"
        problem = None if learned.error is None else str(learned.error)
        await parts.ledger.write(partial(_mark, signal=signal, status=status, problem=problem))
        if learned.error is not None:
            return done, {later.id for later in waiting[done:]}
    return len(waiting), set()


async def _mark(tx: Tx, *, signal: Signal, status: str, problem: str | None) -> None:
    await tx.signals.mark(signal.scope.tenant_id, [signal.id], status, problem)


def _conversation(signal: Signal) -> Conversation:
    data = signal.data
    messages = [Message(one["role"], one["content"], one["name"]) for one in data["messages"]]
    turns = turns_of(signal.scope, messages, signal.occurred_at, dated=data["dated"])
    for turn in turns:
        turn.retold = True
    return Conversation(signal.scope, turns, data["metadata"], data["prompt"], data["dated"])


async def _store_again(parts: Parts, waiting: Sequence[Signal]) -> tuple[int, set[str]]:
    prepared = await prepare(parts, [_draft(parts, signal, at) for at, signal in enumerate(waiting)])
    errors = {waiting[outcome.draft.item].id: str(outcome.error) for outcome in prepared.failed}
    ready = Prepared(prepared.drafts, space=prepared.space)
    now = parts.now()

    async def work(tx: Tx) -> int:
        for signal in waiting:
            status = "pending" if signal.id in errors else "processed"
            await tx.signals.mark(parts.tenant_id, [signal.id], status, errors.get(signal.id))
        return len(await commit(parts, tx, ready, now))

    return await parts.ledger.write(work), set(errors)


def _draft(parts: Parts, signal: Signal, at: int) -> Draft:
    data = signal.data
    message = Message(data["role"], signal.user_text, data["name"])
    details = Details(data["kind"], signal.occurred_at, data["key"], data["expires_at"], data["metadata"])
    return verbatim_draft(signal.scope, message, details, parts.policy.dedupe_scope, at)
