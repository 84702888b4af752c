"""Answers that began under one number and ended under another, because the model searched in between.

A client knows the first number, and continues the answer by it. The service that gave it can only continue the last: in
the first the call of our tool has no result. What is noted belongs to the user whose chat it is: whoever learns the
number of somebody else's answer is not led to its end.
"""

from __future__ import annotations

from typing import Final

from memstone.core.consolidation import days_before
from memstone.engine.runtime import Parts
from memstone.ports.ledger import Tx

_KEPT: Final = 10_000
_LONGEST: Final = 256


async def note_end(parts: Parts, began: str, ended: str, user_id: str | None) -> None:
    """An answer in a user's chat began under one number and ended under another."""
    if not (_is_number(began) and _is_number(ended)):
        return
    scope, now = parts.scope({"user_id": user_id}), parts.now()
    oldest = days_before(now, parts.policy.upkeep.log_days)

    async def work(tx: Tx) -> None:
        await tx.continuations.put(scope.tenant_id, scope.user_id, began, ended, now)
        await tx.continuations.prune(scope.tenant_id, keep=_KEPT, before=oldest)

    await parts.ledger.note(work)


async def end_of(parts: Parts, began: str, user_id: str | None) -> str:
    """Under which number an answer in this user's chat ended; the same when nothing else is known."""
    if not _is_number(began):
        return began
    scope = parts.scope({"user_id": user_id})
    found = await parts.ledger.peek(lambda tx: tx.continuations.ended(scope.tenant_id, scope.user_id, began))
    return found or began


def _is_number(told: str) -> bool:
    """Whether this is what services call their answers: anything else comes from nobody who gave one."""
    return len(told) <= _LONGEST and told.isascii() and told.isprintable()
