"""Which turns are stored already, or were deleted by a person: an application may send a whole conversation again."""

from __future__ import annotations

from collections.abc import Sequence

from memstone.core.checks.filters import within
from memstone.engine.storing.turns import Turn
from memstone.model.memory import Layer, Record
from memstone.model.query import And, Condition, Op
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx


async def recognise(tx: Tx, turn: Turn, scope: Scope, *, last: bool, before: Sequence[Turn] = ()) -> bool:
    """Whether a turn is stored already; then it is what it was: its id, its place and its time.

    One that a person has deleted is known, too. ``before`` are the turns before it in the call.
    """
    holder = await tx.links.holder(scope.tenant_id, turn.draft.dedupe)
    known = await tx.memories.at(holder) if holder is not None else None
    newest = (last or turn.answered) and not turn.retold
    if known is None:
        is_old = not newest or _goes_on_as_it_did(turn, before)
        turn.deleted = is_old and await tx.suppressed.has(scope.tenant_id, turn.draft.dedupe)
        turn.said_before = turn.said_before or turn.deleted
        return turn.deleted
    if newest and (_goes_on(before) or await _is_said_anew(tx, turn, scope, known)):
        return False
    turn.id, turn.place, turn.said_before, turn.draft.occurred_at = known.id, known.seq, True, known.occurred_at
    if known.trust < turn.draft.trust:  # it was stored as somebody else's words
        turn.draft.origin, turn.draft.trust = known.origin, known.trust
    return True


def _goes_on(before: Sequence[Turn]) -> bool:
    """Whether the last of what was said before a turn is new: then so is what follows, in whatever words."""
    return bool(before) and not before[-1].place and not before[-1].deleted


def _goes_on_as_it_did(turn: Turn, before: Sequence[Turn]) -> bool:
    """Whether all that was said before a turn is deleted, and none of it is the same: the whole talk once more."""
    return bool(before) and all(one.deleted and one.draft.dedupe != turn.draft.dedupe for one in before)


async def _is_said_anew(tx: Tx, turn: Turn, scope: Scope, known: Record) -> bool:
    """Whether something was said since, or it was over: otherwise the same words are a call that was repeated."""
    if known.expires_at is not None and known.expires_at <= turn.draft.occurred_at:
        return True
    where = And((within(scope), Condition("layer", Op.EQ, str(Layer.TURN)), Condition("seq", Op.GT, known.seq)))
    if turn.answered:  # the answer to it was stored after it, and may be no more than sent again as well
        where = And((where, Condition("source_role", Op.EQ, turn.message.role)))
    return bool(await tx.memories.find(where, limit=1))
