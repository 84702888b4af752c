"""Sessions become memory: one is claimed and formed at a time, by the worker or by whoever asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memstone.engine.parts import Parts
from memstone.engine.tuning import tuned
from memstone.engine.work.claims import Claim, Wanted, claim, holding
from memstone.engine.work.jobs import Patience
from memstone.engine.work.session_work import Formed, SessionWork
from memstone.model.scope import Scope


async def form(
    parts: Parts, sessions: Sequence[Scope], patience: Patience | None = None, *, wanted: Wanted | None = None
) -> Formed | None:
    """Form memory of the first of these sessions that can be claimed; None when there is none.

    All belong to the tenant of these parts. One at a time in a process, whoever asks for it.
    """
    async with parts.workshop.turn(parts.io):
        claimed = await claim(parts, sessions, wanted)
        if claimed is None:
            return None
        return await form_claimed(await tuned(parts, claimed.scope), claimed, patience)


async def form_claimed(parts: Parts, claimed: Claim, patience: Patience | None = None) -> Formed:
    """Form memory of a session that is ours, with parts that are tuned for it; whoever asks for it holds the turn.

    What becomes of a session does not depend on who asks for it: with a bound key it is what the worker would make.
    """
    from memstone.engine.access.bounds import unbound

    parts = unbound(parts)
    parts.workshop.touched.pop(claimed.scope, None)
    async with holding(parts, claimed):
        return await SessionWork(parts, claimed, patience or Patience()).formed()


async def end_session(parts: Parts, given: Mapping[str, Any]) -> dict[str, Any]:
    """Form memory now of every session in a scope in which something waits."""
    scope = parts.required_scope(given)
    waiting = await parts.ledger.peek(lambda tx: tx.signals.sessions(scope, parts.policy.limits.page))
    formed = [await form(parts, [session]) or await _by_others(parts, session) for session in waiting]
    return {"results": [one.as_dict() for one in formed]}


async def _by_others(parts: Parts, session: Scope) -> Formed:
    """What became of a session that somebody else was quicker to take, as far as it is known."""
    logged = await parts.ledger.peek(lambda tx: tx.jobs.find(session, limit=1))
    return Formed(session, str(logged[0].details["outcome"]), 0, logged[0].details) if logged else Formed(session)
