"""``flush``: try again what could not be stored when it was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from retain.engine.converse import Conversation, converse
from retain.engine.draft import Details, Draft, verbatim_draft
from retain.engine.embedding import is_outage
from retain.engine.parts import Parts
from retain.engine.turns import Turn, turn_of
from retain.engine.write import Prepared, commit, prepare
from retain.errors import BackendRejected, BadModelOutput, LLMError, ModelRefused, RetainError
from retain.model.event import Signal
from retain.model.message import Message
from retain.model.scope import Scope
from retain.ports.ledger import Tx

_AT_ONCE: Final = 500
_BEFORE_MORE: Final = 20
_ENOUGH: Final = 2

MOST_ATTEMPTS: Final = 3
"""So often a conversation is tried that a model answers and nothing comes of; then it is kept as dead."""


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
    """Learn from what waits in exactly this scope, before something new is said there.

    Transcripts that were taken in are left to ``flush``: there may be thousands, and nobody who says something waits.
    """
    waiting = await parts.ledger.peek(lambda tx: tx.signals.pending(scope, _BEFORE_MORE))
    own = [signal for signal in waiting if signal.data.get("infer") and signal.scope == scope]
    await learn_again(parts, [signal for signal in own if not signal.data.get("ingested")])


async def learn_again(parts: Parts, waiting: Sequence[Signal]) -> tuple[int, set[str]]:
    """Learn from conversations that were put off, oldest first; gives how many, and which wait on.

    One that a model answers and nothing comes of is given up after three tries. Whatever else goes wrong counts against
    none; in an outage the others are not tried, and neither are they after two failures in a row.
    """
    learned, failed, in_a_row = 0, set[str](), 0
    for at, signal in enumerate(waiting):
        error = (await converse(parts, _conversation(signal), again=True)).error
        counts = error is None or is_hopeless(error)
        status = _status(signal, error)
        await parts.ledger.write(partial(_mark, signal=signal, status=status, error=error, counts=counts))
        learned += error is None
        in_a_row = 0 if counts else in_a_row + 1
        if status == "pending":
            failed.add(signal.id)
        if error is not None and (is_outage(error) or in_a_row == _ENOUGH):
            return learned, failed | {later.id for later in waiting[at:]}
    return learned, failed


def is_hopeless(error: RetainError) -> bool:
    """Whether a model has answered and will hardly answer better: it cannot be read, it refuses, or it is refused."""
    if isinstance(error, (BadModelOutput, ModelRefused, BackendRejected)):
        return True
    # An LLMError of no finer kind is a request the service rejects; with a cause it is a function of somebody's own
    # that has failed, which may have been the network.
    return type(error) is LLMError and error.__cause__ is None


def _status(signal: Signal, error: RetainError | None) -> str:
    if error is None:
        return "processed"
    return "dead" if is_hopeless(error) and signal.attempts + 1 >= MOST_ATTEMPTS else "pending"


async def _mark(tx: Tx, *, signal: Signal, status: str, error: RetainError | None, counts: bool) -> None:
    problem = None if error is None else str(error)
    if status == "processed" and not signal.data.get("keep_turns", True):  # what was said is not kept, here neither
        await tx.signals.remove(signal.scope.tenant_id, [signal.id])
        return
    await tx.signals.mark(signal.scope.tenant_id, [signal.id], status, problem, counts=counts)


def _conversation(signal: Signal) -> Conversation:
    data = signal.data
    turns = [_retold(signal, one, at) for at, one in enumerate(data["messages"])]
    keep_turns = data.get("keep_turns", True)
    return Conversation(
        signal.scope, turns, data["metadata"], data["prompt"], data["dated"], data.get("expires_at"), keep_turns
    )


def _retold(signal: Signal, one: Mapping[str, Any], at: int) -> Turn:
    """A turn as it was when it was put off; those of a transcript have their own time and place."""
    message = Message(one["role"], one["content"], one["name"])
    when, dated = one.get("occurred_at", signal.occurred_at), one.get("dated", signal.data["dated"])
    turn = turn_of(signal.scope, message, when, at, dated=dated, repeated=one.get("repeated", 0))
    turn.draft.expires_at, turn.draft.metadata = signal.data.get("expires_at"), dict(signal.data["metadata"])
    turn.retold = True
    return turn


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
