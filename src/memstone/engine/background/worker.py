"""The worker: process sessions that are due, one after the other, until it is stopped.

The same loop serves a thread or task of the library, ``memstone worker`` and the server, any number of them on one
database. Work of this process wakes it. What other processes have left to do it hears of where the ledger can call it,
and looks for it now and then all the same; elsewhere it looks once a second.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from memstone.engine.background.jobs import DISABLED, UNSET, Patience
from memstone.engine.background.sessions import SETTLE, FormationResult, form_session
from memstone.engine.runtime import Runtime
from memstone.engine.upkeep.passes import Timetable
from memstone.engine.worker_state import IN_BACKGROUND
from memstone.errors import Forbidden, InvalidInput, NotFoundError, StorageBusy, StorageError
from memstone.model.ids import clean_id
from memstone.model.scope import Scope
from memstone.ports.ledger import WakeableLedger, WakeSubscription
from memstone.trace import log_event

if TYPE_CHECKING:
    from memstone.results import WorkerResult

# --- the worker -------------------------------------------------------------------------------------------------------


POLL_SECONDS: Final = 1.0
LISTENING_SECONDS: Final = 5.0
"""How often whoever is called looks all the same."""

_PAGE: Final = 200
_PAGES: Final = 25
_GRACE: Final = 0.5
_REFUSED_SECONDS: Final = 60.0


def start_worker(runtime: Runtime) -> None:
    """Start the worker of this process, where memory is formed in the background and none is at work."""
    shop, home = runtime.worker_state, runtime.worker_state.home
    if home is None or runtime.policy.formation.mode not in IN_BACKGROUND or shop.stopping:
        return
    if shop.worker is None or not shop.worker.alive:
        patience = runtime.policy.formation.shutdown_seconds + _GRACE
        shop.worker = home.io.spawn(_serve_background(home), name="memstone-worker", stop=shop.leave, patience=patience)


async def _serve_background(runtime: Runtime) -> None:
    """Do the work of a library's worker. Those who only look something up leave before it begins."""
    shop, timetable = runtime.worker_state, Timetable.of(runtime)
    await shop.bell(runtime.io).wait(POLL_SECONDS)
    ear = None if shop.stopping else await _listen_for_work(runtime)
    try:
        await _serve_until_stopped(runtime, timetable, ear)
    finally:
        _stop_listening(ear)
    await _form_remaining(runtime)


async def _serve_until_stopped(runtime: Runtime, timetable: Timetable, ear: WakeSubscription | None) -> None:
    shop = runtime.worker_state
    while not shop.stopping:
        did, patience = False, Patience()
        try:
            did = await _run_step(runtime, timetable, patience)
        except Exception as error:  # noqa: BLE001 - it must go on
            _tell_failure(runtime, error)
            patience.outage = True
        if patience.over:
            await _pause_worker(runtime, SETTLE.total_seconds())
        elif not did and not shop.stopping:
            await shop.bell(runtime.io).wait(_poll_seconds(ear))


async def _listen_for_work(runtime: Runtime, *, all_tenants: bool = False) -> WakeSubscription | None:
    """Let the ledger ring when something becomes due, if it can."""
    ledger, ring = runtime.ledger, runtime.worker_state.bell(runtime.io).ring
    if not isinstance(ledger, WakeableLedger):
        return None
    return await ledger.listen(ring, None if all_tenants else lambda: _list_tenants(runtime))


def _list_tenants(runtime: Runtime) -> list[str]:
    return sorted({runtime.tenant_id, *(one.tenant_id for one in list(runtime.worker_state.touched))})


def _poll_seconds(ear: WakeSubscription | None) -> float:
    return LISTENING_SECONDS if ear is not None and ear.hears else POLL_SECONDS


def _stop_listening(ear: WakeSubscription | None) -> None:
    if ear is not None:
        ear.stop()


async def _run_step(runtime: Runtime, timetable: Timetable, patience: Patience) -> bool:
    """Do the next thing there is to do, when nobody calls; return whether there was one."""
    await runtime.worker_state.calm(runtime.io, runtime.policy.formation.idle_seconds)
    if runtime.worker_state.stopping:
        return False
    if await _form_next_due(runtime, patience) is not None:
        return True
    return await timetable.tick(runtime, busy=runtime.worker_state.busy) is not None


def _tell_failure(runtime: Runtime, error: Exception) -> None:
    if runtime.worker_state.stopping and isinstance(error, StorageError):  # it was closed under us: nothing is lost
        return
    code = getattr(error, "code", type(error).__name__)
    log_event("memory.extraction.background.failed", logging.WARNING, code=code)


async def _pause_worker(runtime: Runtime, seconds: float) -> None:
    until = monotonic() + seconds
    while not runtime.worker_state.stopping and (left := until - monotonic()) > 0:
        await runtime.worker_state.bell(runtime.io).wait(left)


async def _form_remaining(runtime: Runtime) -> None:
    """Form memory of the sessions that this process leaves behind, one by one, as far as there is time."""
    until = monotonic() + runtime.policy.formation.shutdown_seconds
    patience = Patience()
    for session in list(runtime.worker_state.touched):
        if patience.over or monotonic() >= until:
            return
        try:
            await form_session(_of_tenant(runtime, session.tenant_id), [session], patience)
        except Exception as error:  # noqa: BLE001 - what is left waits for the next start
            _tell_failure(runtime, error)
            return


async def _form_next_due(runtime: Runtime, patience: Patience, *, all_tenants: bool = False) -> FormationResult | None:
    """Form memory of a session that is due; None when nothing is, or others are at it."""
    tenants: list[str | None] = [None] if all_tenants else [*_list_tenants(runtime)]
    for tenant in tenants:
        for page in range(_PAGES):
            due = await _read_due_sessions(runtime, tenant, page * _PAGE)
            formed = await _form_first_claimable(runtime, due, patience)
            if formed is not None:
                return formed
            if len(due) < _PAGE:
                break
    return None


async def _read_due_sessions(runtime: Runtime, tenant: str | None, offset: int) -> list[Scope]:
    ledger = runtime.ledger if tenant is None else runtime.ledger.of(tenant)
    return await ledger.peek(lambda tx: tx.signals.due(tenant, runtime.now(), _PAGE, offset))


async def _form_first_claimable(
    runtime: Runtime, sessions: Sequence[Scope], patience: Patience
) -> FormationResult | None:
    """Return the first of these that can be claimed, formed within its tenant."""
    by_tenant, refused, now = dict[str, list[Scope]](), runtime.worker_state.refused, monotonic()
    for session in dict.fromkeys(sessions):
        if refused.get(session, now) <= now:
            by_tenant.setdefault(session.tenant_id, []).append(session)
    for tenant, own in by_tenant.items():
        formed = await form_session(_of_tenant(runtime, tenant), own, patience)
        if formed is None:
            continue
        if formed.outcome in (DISABLED, UNSET):
            refused[formed.scope] = now + _REFUSED_SECONDS
        else:
            refused.pop(formed.scope, None)
        return formed
    return None


def _of_tenant(runtime: Runtime, tenant: str) -> Runtime:
    return runtime if tenant == runtime.tenant_id else runtime.of(tenant)


async def run_worker(runtime: Runtime, seconds: float | None, *, all_tenants: bool = False) -> WorkerResult:
    """Be a worker, so long at most; 0 seconds do what is due now, None goes on until somebody stops it."""
    if runtime.bounds is not None:
        raise Forbidden("this key cannot process everybody's sessions", hint="use a key for the whole tenant")
    if seconds is not None and (isinstance(seconds, bool) or not seconds >= 0):
        raise InvalidInput(f"seconds must be a number from 0, not {seconds!r}")
    ear = None if seconds == 0 else await _listen_for_work(runtime, all_tenants=all_tenants)
    try:
        outcomes = await _work_until(runtime, seconds, ear, all_tenants=all_tenants)
    finally:
        _stop_listening(ear)
    return {"sessions": outcomes.total(), "outcomes": dict(outcomes)}


async def _work_until(
    runtime: Runtime, seconds: float | None, ear: WakeSubscription | None, *, all_tenants: bool
) -> Counter[str]:
    """Form one session after the other, and between them do what the timetable says."""
    shop, outcomes, timetable = runtime.worker_state, Counter[str](), Timetable.of(runtime)
    until, reached = None if seconds is None else monotonic() + seconds, False
    while not shop.stopping:
        patience, formed = Patience(), None
        try:
            formed = await _form_next_due(runtime, patience, all_tenants=all_tenants)
            reached = True
        except StorageBusy as error:
            if seconds == 0 or not reached:
                raise
            _tell_failure(runtime, error)  # the database is away for a while, and whoever goes on working outlasts it
            patience.outage = True
        if formed is not None:
            outcomes[formed.outcome] += 1
        elif seconds != 0:
            await timetable.tick(runtime)
        left = _poll_seconds(ear) if until is None else until - monotonic()
        if left <= 0 and (formed is None or patience.over or seconds):
            break
        if patience.over:
            await _pause_worker(runtime, min(left, SETTLE.total_seconds()))
        elif formed is None:
            await shop.bell(runtime.io).wait(min(left, _poll_seconds(ear)))
    return outcomes


# --- what an agent runs with ------------------------------------------------------------------------------------------


async def runs_with(runtime: Runtime, agent_id: Any) -> dict[str, str]:
    """Return the model and the instructions of an agent, '' where it has none; ``NotFoundError`` if it is unknown.

    A key that is bound to one agent runs no other; one that is bound to a user runs any.
    """
    wanted = clean_id(agent_id, "agent_id")
    if not wanted:
        raise InvalidInput("agent_id is missing")
    if runtime.bounds is not None and runtime.bounds.agent_id not in ("", wanted):
        raise Forbidden(f"this key has no access to agent {wanted!r}")
    row = await runtime.ledger.peek(lambda tx: tx.agents.get(runtime.tenant_id, wanted))
    if row is None:
        raise NotFoundError(f"no agent {wanted}", hint="agents.list() shows the known agents")
    return {"id": row.id, "model": row.model or "", "system_prompt": row.system_prompt or ""}
