"""``flush``: form memory of everything that waits, due or not, and try again what could not be stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from memstone.engine.runtime import Parts
from memstone.engine.scoping import scope_or_everybody
from memstone.engine.work.jobs import Patience
from memstone.engine.work.sessions import form_session
from memstone.model.event import Signal
from memstone.model.scope import Scope

if TYPE_CHECKING:
    from memstone.results import FlushResult

_AT_ONCE: Final = 500
_BEFORE_MORE: Final = 20


async def flush_sessions(parts: Parts, given: Mapping[str, Any], *, everybody: bool) -> FlushResult:
    """Work off what waits in a scope (or everywhere), session by session; what fails again keeps waiting."""
    scope, patience = scope_or_everybody(parts, given, everybody=everybody), Patience()
    stored, tried = 0, set[Scope]()
    while not patience.over and (fresh := await _untried_sessions(parts, scope, tried)):
        for session in fresh:
            tried.add(session)
            formed = await form_session(parts, [session], patience)
            stored += formed.ended if formed is not None else 0
            if patience.over:
                break
    return {"stored": stored, "waiting": await parts.ledger.peek(lambda tx: tx.signals.waiting(scope))}


async def _untried_sessions(parts: Parts, scope: Scope, tried: set[Scope]) -> list[Scope]:
    """The sessions that wait longest and have not been tried by this call."""
    found = await parts.ledger.peek(lambda tx: tx.signals.sessions(scope, _AT_ONCE + len(tried)))
    return [session for session in found if session not in tried]


async def learn_waiting(parts: Parts, scope: Scope, *, verbatim: bool = False) -> bool:
    """Learn from what was put off in exactly this scope, before something new is said there; False when in vain.

    With ``verbatim`` only what is stored word for word: whoever stores a note waits for no language model.

    Not while the last try in vain is fresh. Transcripts that were taken in are left to ``flush``: there may be
    thousands, and nobody who says something waits.
    """
    if parts.waiting.rests(scope):
        return True
    wanted = _is_verbatim if verbatim else _was_put_off
    waiting = await parts.ledger.peek(lambda tx: tx.signals.session(scope, _BEFORE_MORE))
    if not waiting:
        await parts.waiting.look(parts)
    elif any(map(wanted, waiting)):
        formed = await form_session(parts, [scope], wanted=wanted)
        in_vain = formed is not None and not formed.ended
        parts.waiting.tried(scope, in_vain=in_vain)
        return not in_vain
    return True


def _is_verbatim(signal: Signal) -> bool:
    return bool(signal.data.get("verbatim")) and not signal.data.get("ingested")


def _was_put_off(signal: Signal) -> bool:
    data = signal.data
    return bool(data.get("infer") or data.get("verbatim")) and not data.get("ingested")
