"""Remember the last id of an answer that began under another id.

If a model searches in the middle of an answer, the answer ends under another id. A client knows the first id and
continues the answer by it, but the provider can only continue the last one, because in the first the call of our tool
has no result. The record belongs to the user of the chat, so another user's id cannot be continued.
"""

from __future__ import annotations

from typing import Final

from memstone.core.consolidation import days_before
from memstone.engine.runtime import Runtime
from memstone.ports.ledger import Tx

_MAX_STORED: Final = 10_000
_LONGEST: Final = 256


async def note_end(runtime: Runtime, began: str, ended: str, user_id: str | None) -> None:
    """Note that an answer in a user's chat began under one number and ended under another."""
    if not (_is_number(began) and _is_number(ended)):
        return
    scope, now = runtime.scope({"user_id": user_id}), runtime.now()
    oldest = days_before(now, runtime.policy.upkeep.log_days)

    async def work(tx: Tx) -> None:
        await tx.continuations.put(scope.tenant_id, scope.user_id, began, ended, now)
        await tx.continuations.prune(scope.tenant_id, keep=_MAX_STORED, before=oldest)

    await runtime.ledger.note(work)


async def end_of(runtime: Runtime, began: str, user_id: str | None) -> str:
    """Return the number under which an answer in this user's chat ended; the same when nothing else is known."""
    if not _is_number(began):
        return began
    scope = runtime.scope({"user_id": user_id})
    found = await runtime.ledger.peek(lambda tx: tx.continuations.find_end(scope.tenant_id, scope.user_id, began))
    return found or began


def _is_number(text: str) -> bool:
    """Return whether this is what services call their answers: anything else comes from nobody who gave one."""
    return len(text) <= _LONGEST and text.isascii() and text.isprintable()
