"""Answers that began under one number and ended under another, because the model searched in between.

A client knows the first number, and continues the answer by it. The service that gave it can only continue the last: in
the first the call of our tool has no result. What is noted belongs to the user whose chat it is: whoever learns the
number of somebody else's answer is not led to its end.
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
