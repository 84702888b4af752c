"""``flush``: process everything that waits, due or not, and retry what failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from memstone.engine.background.jobs import Patience
from memstone.engine.background.sessions import form_session
from memstone.engine.request_scope import scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.model.event import Signal
from memstone.model.scope import Scope

if TYPE_CHECKING:
    from memstone.results import FlushResult

_AT_ONCE: Final = 500
_BEFORE_MORE: Final = 20


async def flush_sessions(runtime: Runtime, values: Mapping[str, Any], *, everybody: bool) -> FlushResult:
    """Work off what waits in a scope (or everywhere), session by session; what fails again keeps waiting."""
    scope, patience = scope_or_everybody(runtime, values, everybody=everybody), Patience()
    stored, tried = 0, set[Scope]()
    while not patience.over and (fresh := await _untried_sessions(runtime, scope, tried)):
        for session in fresh:
            tried.add(session)
            formed = await form_session(runtime, [session], patience)
            stored += formed.ended if formed is not None else 0
            if patience.over:
                break
    return {"stored": stored, "waiting": await runtime.ledger.peek(lambda tx: tx.signals.count_pending(scope))}


async def _untried_sessions(runtime: Runtime, scope: Scope, tried: set[Scope]) -> list[Scope]:
    """Return the sessions that wait longest and have not been tried by this call."""
    found = await runtime.ledger.peek(lambda tx: tx.signals.sessions(scope, _AT_ONCE + len(tried)))
    return [session for session in found if session not in tried]


async def learn_waiting(runtime: Runtime, scope: Scope, *, verbatim: bool = False) -> bool:
    """Learn from what was put off in exactly this scope, before something new is said there; False when in vain.

    With ``verbatim`` only what is stored word for word: whoever stores a note waits for no language model.

    Not while the last try in vain is fresh. Transcripts that were taken in are left to ``flush``: there may be
    thousands, and nobody who says something waits.
    """
    if runtime.waiting.rests(scope):
        return True
    wanted = _is_verbatim if verbatim else _was_put_off
    waiting = await runtime.ledger.peek(lambda tx: tx.signals.session(scope, _BEFORE_MORE))
    if not waiting:
        await runtime.waiting.look(runtime)
    elif any(map(wanted, waiting)):
        formed = await form_session(runtime, [scope], wanted=wanted)
        in_vain = formed is not None and not formed.ended
        runtime.waiting.record_attempt(scope, in_vain=in_vain)
        return not in_vain
    return True


def _is_verbatim(signal: Signal) -> bool:
    return bool(signal.data.get("verbatim")) and not signal.data.get("ingested")


def _was_put_off(signal: Signal) -> bool:
    data = signal.data
    return bool(data.get("infer") or data.get("verbatim")) and not data.get("ingested")
