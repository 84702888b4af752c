"""Claim a session, so that one worker at a time works on it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

from memstone.engine.runtime import Runtime
from memstone.model.event import Signal
from memstone.model.ids import new_id
from memstone.model.instant import Instant, datetime_from_instant, to_instant
from memstone.model.scope import Scope
from memstone.ports.io import Bell
from memstone.ports.ledger import Tx

_MOST: Final = 5_000
"""So many signals of a session are taken at once; the rest is a claim of its own."""


Wanted: TypeAlias = Callable[[Signal], bool]
_NEVER: Final[Instant] = "9999-12-31T23:59:59.999999Z"


class LostClaim(Exception):
    """Somebody else has taken the session, or what was claimed is gone: nothing of this work may be stored."""


@dataclass(slots=True)
class Claim:
    """A session that is ours for a while, and what waited in it when we claimed it."""

    scope: Scope
    owner: str
    signals: list[Signal]
    released: bool = False

    @property
    def name(self) -> str:
        """The name of its lease."""
        return lease_name(self.scope)


def lease_name(scope: Scope) -> str:
    """Return the name of the lease on a session; no two sessions have the same."""
    return "session:" + json.dumps([scope.user_id, scope.agent_id, scope.run_id], ensure_ascii=False)


def _lease_end(runtime: Runtime, now: Instant) -> Instant:
    return to_instant(datetime_from_instant(now) + timedelta(seconds=runtime.policy.formation.lease_seconds))


async def take_over_session(tx: Tx, runtime: Runtime, scope: Scope, signals: list[Signal]) -> Claim:
    """Claim a session even if somebody works on it; their result is not stored."""
    taken = Claim(scope, new_id(), signals)
    await tx.leases.claim(scope.tenant_id, taken.name, taken.owner, _NEVER, _lease_end(runtime, runtime.now()))
    return taken


async def claim_session(runtime: Runtime, sessions: Sequence[Scope], wanted: Wanted | None = None) -> Claim | None:
    """Return the first of these sessions that nobody works on and in which something waits, of what is wanted."""

    async def work(tx: Tx) -> Claim | None:
        now, left = runtime.now(), [(scope, lease_name(scope)) for scope in sessions]
        while left and (place := await tx.signals.free(left, now)) is not None:
            scope, _ = left[place]
            taken = Claim(scope, new_id(), [])
            left = left[place + 1 :]
            if not await tx.leases.claim(scope.tenant_id, taken.name, taken.owner, now, _lease_end(runtime, now)):
                continue
            waiting = await tx.signals.session(scope, _MOST)
            taken.signals = [one for one in waiting if wanted is None or wanted(one)]
            if taken.signals:
                return taken
            await tx.leases.release(scope.tenant_id, taken.name, taken.owner)
        return None

    return await runtime.ledger.aside(work) if sessions else None


async def confirm_lease(tx: Tx, claimed: Claim, until: Instant | None) -> None:
    """Check that a session is still ours, inside the transaction that stores it.

    None as the result gives the session back.
    """
    lease = (claimed.scope.tenant_id, claimed.name, claimed.owner)
    is_held = await (tx.leases.release(*lease) if until is None else tx.leases.renew(*lease, until))
    if not is_held:
        raise LostClaim(claimed.name)


async def hold_on(tx: Tx, runtime: Runtime, claimed: Claim, *, last: bool) -> None:
    """Do ``hold`` for the next piece of work on the session or, after the ``last`` one, not any longer."""
    await confirm_lease(tx, claimed, None if last else _lease_end(runtime, runtime.now()))


async def give_back(runtime: Runtime, claimed: Claim) -> None:
    """Let others have the session, if it is still ours."""
    if not claimed.released:
        claimed.released = True
        lease = (claimed.scope.tenant_id, claimed.name, claimed.owner)
        await runtime.ledger.aside(lambda tx: tx.leases.release(*lease))


@asynccontextmanager
async def keep_lease_alive(runtime: Runtime, claimed: Claim) -> AsyncIterator[None]:
    """Say again and again that we work on it, as long as a model may take."""
    if runtime.llm is None:  # rules are done long before a lease is over
        yield
        return
    done = runtime.io.bell()
    runtime.io.spawn(_renew_repeatedly(runtime, claimed, done), name="memstone-lease")
    try:
        yield
    finally:
        done.ring()


async def _renew_repeatedly(runtime: Runtime, claimed: Claim, done: Bell) -> None:
    lease = (claimed.scope.tenant_id, claimed.name, claimed.owner)
    while not await done.wait(runtime.policy.formation.lease_seconds / 3):
        until = _lease_end(runtime, runtime.now())
        if not await runtime.ledger.aside(lambda tx, until=until: tx.leases.renew(*lease, until)):  # type: ignore[misc]
            return
