"""Tables of signals, jobs, leases, receipts and cached answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from memstone.model.event import Job, JobFigures, Signal
from memstone.model.instant import Instant
from memstone.model.scope import Scope
from memstone.ports.erasure import ErasureRecord

# --- what waits, what a person deleted, and what was answered before --------------------------------------------------


class Signals(Protocol):
    """The durable inbox."""

    async def put(self, signals: Iterable[Signal]) -> None:
        """Keep something for later."""
        ...

    async def list_pending(self, scope: Scope, limit: int) -> list[Signal]:
        """Return what waits in a scope, oldest first."""
        ...

    async def session(self, scope: Scope, limit: int) -> list[Signal]:
        """Return what waits in exactly this scope, oldest first."""
        ...

    async def sessions(self, scope: Scope, limit: int, offset: int = 0) -> list[Scope]:
        """Return the scopes below this one in which something waits, those that wait longest first."""
        ...

    async def due(self, tenant_id: str | None, now: Instant, limit: int, offset: int = 0) -> list[Scope]:
        """Return the scopes in which everything that waits is due, of one tenant or of all.

        One may be named repeatedly.
        """
        ...

    async def free(self, sessions: Sequence[tuple[Scope, str]], now: Instant) -> int | None:
        """Return the place of the first session of one tenant in which something waits and whose lease nobody holds.

        Each comes with the name of its lease. One that somebody else is taking at this moment is passed over, where a
        database lets several take work at once.
        """
        ...

    async def hurry(self, scope: Scope, now: Instant) -> int:
        """Let the other sessions of this user and agent, in whose silence somebody waits, be due; return how many."""
        ...

    async def count_pending(self, scope: Scope) -> int:
        """Return how many wait in a scope."""
        ...

    async def mark(
        self,
        tenant_id: str,
        ids: Iterable[str],
        status: str,
        error: str | None = None,
        *,
        counts: bool = True,
        due_at: Instant | None = None,
    ) -> int:
        """Say what became of signals that wait; return how many of them still did.

        Without ``counts`` it is no attempt that speaks against them. ``due_at`` is when they may be tried again, for
        those that are not only tried when somebody asks for it.
        """
        ...

    async def list_unfinished(self, scope: Scope) -> list[Signal]:
        """Return all of a scope that wait, were given up, or were passed over, oldest first."""
        ...

    async def passed_over(self, scope: Scope, limit: int) -> list[Signal]:
        """Return what was processed in exactly this scope with a problem: it said too little alone, oldest first."""
        ...

    async def take_up(self, tenant_id: str, ids: Iterable[str]) -> None:
        """Say that what was passed over has been learned from after all."""
        ...

    async def is_known(self, scope: Scope) -> bool:
        """Return whether anything was ever kept for later in exactly this scope."""
        ...

    async def clear(self, scope: Scope) -> None:
        """Remove every signal of exactly this scope, whatever its state."""
        ...

    async def purge(self, tenant_id: str, before: Instant) -> int:
        """Remove what was processed and was said before a moment; return how many."""
        ...

    async def find_known_ids(self, tenant_id: str, ids: Sequence[str]) -> set[str]:
        """Return which of these are there, whatever their state."""
        ...

    async def remove(self, tenant_id: str, ids: Sequence[str]) -> None:
        """Remove these, with the words they hold."""
        ...

    async def forget(self, scope: Scope) -> None:
        """Remove every signal of a scope, whatever its state."""
        ...


class Suppressions(Protocol):
    """What a person deleted and must not come back by itself."""

    async def put(self, tenant_id: str, dedupe: str, memory_id: str, at: Instant, turn_id: str | None = None) -> None:
        """Remember a deletion, and the turn that asked for it: it says what is to be forgotten."""
        ...

    async def lift(self, tenant_id: str, dedupe: str) -> None:
        """Lift it: the person said it again."""
        ...

    async def any(self, tenant_id: str) -> bool:
        """Return whether anything was deleted by a person."""
        ...

    async def has(self, tenant_id: str, dedupe: str) -> bool:
        """Return whether it was deleted by a person."""
        ...

    async def since(self, tenant_id: str, dedupe: str) -> Instant | None:
        """Return when a person deleted it; None when nobody did."""
        ...

    async def turns(self, tenant_id: str, turn_ids: Sequence[str]) -> set[str]:
        """Return which of these turns are the evidence of something that a person deleted, or asked for that."""
        ...

    async def page(self, tenant_id: str, after: str, limit: int) -> list[tuple[str, str, Instant]]:
        """Return what was deleted by its dedupe value, in the order of those: with the id of the memory, and when."""
        ...

    async def evidence(self, tenant_id: str, turn_ids: Sequence[str]) -> list[tuple[str, str, Mapping[str, Any]]]:
        """Return turns of which a memory was deleted since, each with the memory's id and what was noted."""
        ...


class Idempotency(Protocol):
    """Answers of batches that must not be carried out twice."""

    async def get(self, tenant_id: str, key: str) -> tuple[str, str] | None:
        """Return the hash of the request and the reply that was given."""
        ...

    async def put(self, tenant_id: str, key: str, request: str, reply: str, at: Instant) -> None:
        """Keep a reply."""
        ...

    async def purge(self, before: Instant) -> None:
        """Forget old replies."""
        ...


class LlmCache(Protocol):
    """Answers of language models to questions that were asked before."""

    async def get(self, tenant_id: str, key: str) -> str | None:
        """Return the answer to a question, by the hash of all that went into it."""
        ...

    async def put(self, tenant_id: str, key: str, reply: str, at: Instant) -> None:
        """Keep an answer."""
        ...


# --- the log of background work ---------------------------------------------------------------------------------------


class Jobs(Protocol):
    """Rows of ``jobs``: what was done, when, and what it cost."""

    async def put(self, job: Job) -> None:
        """Log a job."""
        ...

    async def find(
        self, scope: Scope, *, task: str | None = None, status: str | None = None, limit: int = 100, offset: int = 0
    ) -> list[Job]:
        """Return the jobs of a scope (of the whole tenant when nobody is named), newest first."""
        ...

    async def figures(self, tenant_id: str) -> list[JobFigures]:
        """Return how often each task ended how, and what that took on average (time) and in all (tokens)."""
        ...

    async def forget(self, scope: Scope) -> None:
        """Remove the jobs of a scope, with the words they hold."""
        ...

    async def purge(self, tenant_id: str, before: Instant) -> int:
        """Remove jobs that were logged before a moment; return how many."""
        ...


# --- who works on what ------------------------------------------------------------------------------------------------


class Leases(Protocol):
    """Work that one worker at a time may do, for a while that it can prolong.

    ``owner`` is unique to one claim. Each call is one statement, so that of many who claim at once one wins; and while
    a transaction that has renewed or released a lease is open, nobody else can claim it.
    """

    async def claim(self, tenant_id: str, name: str, owner: str, now: Instant, until: Instant) -> bool:
        """Take a lease that nobody holds, or whose time is over; false when somebody holds it."""
        ...

    async def renew(self, tenant_id: str, name: str, owner: str, until: Instant) -> bool:
        """Hold a lease longer; false when somebody else has taken it."""
        ...

    async def release(self, tenant_id: str, name: str, owner: str) -> bool:
        """Give a lease back; false when somebody else has taken it."""
        ...


# --- the accounts of what was shown to a model ------------------------------------------------------------------------


class Receipts(Protocol):
    """Kept for a while, by tenant."""

    async def put(self, scope: Scope, receipt_id: str, body: Mapping[str, Any], at: Instant) -> None:
        """Keep a receipt."""
        ...

    async def find_known_ids(self, tenant_id: str, ids: Sequence[str]) -> set[str]:
        """Return which of these are kept."""
        ...

    async def list_erasures(self, tenant_id: str, since: Instant) -> list[ErasureRecord]:
        """Return who was erased since a moment: whoever keeps a receipt of before must leave theirs out."""
        ...

    async def get(self, tenant_id: str, receipt_id: str) -> dict[str, Any] | None:
        """Return the body of a receipt, or None."""
        ...

    async def find_with_owner(self, tenant_id: str, receipt_id: str) -> tuple[Scope, dict[str, Any]] | None:
        """Return who was asked about, and the body of a receipt, or None."""
        ...

    async def list_newest(self, scope: Scope, since: Instant, limit: int) -> list[tuple[Scope, dict[str, Any]]]:
        """Return receipts of a scope that are not older than a moment, newest first, each with whom it is about."""
        ...

    async def owner(self, tenant_id: str, receipt_id: str) -> Scope | None:
        """Return who was asked about, or None."""
        ...

    async def amend(self, tenant_id: str, receipt_id: str, body: Mapping[str, Any]) -> None:
        """Put another body in place of that of a receipt."""
        ...

    async def prune(self, tenant_id: str, *, keep: int, before: Instant) -> None:
        """Remove what is older than a moment, and what is older than the newest ``keep``."""
        ...

    async def forget(self, scope: Scope) -> None:
        """Remove every receipt of a scope: they hold what its users asked."""
        ...


# --- what unrelated questions score, kept so that it need not be found out again --------------------------------------


class Calibration(Protocol):
    """One body for each name of a tenant: a signature, or something that belongs to one."""

    async def get(self, tenant_id: str, name: str) -> dict[str, Any] | None:
        """Return the body under a name, or None."""
        ...

    async def put(self, tenant_id: str, name: str, body: Mapping[str, Any], at: Instant) -> None:
        """Keep a body in place of an earlier one."""
        ...

    async def sample(self, scope: Scope, signature: str, most: int) -> tuple[int, list[bytes]]:
        """Return how many vectors a scope has, and about ``most`` of them: spread evenly, and the same every time."""
        ...


# --- answers of models that began under one number and ended under another --------------------------------------------


class Continuations(Protocol):
    """Kept for a while, by tenant and by the user whose chat it is; '' where nobody is known."""

    async def put(self, tenant_id: str, user_id: str, began: str, ended: str, at: Instant) -> None:
        """Note where an answer ended, in place of what was noted of it before."""
        ...

    async def find_end(self, tenant_id: str, user_id: str, began: str) -> str | None:
        """Return where an answer of this user's chat ended, or None."""
        ...

    async def hand_over(self, tenant_id: str, old_user: str, new_user: str) -> None:
        """Let the answers of one user be those of another."""
        ...

    async def prune(self, tenant_id: str, *, keep: int, before: Instant) -> None:
        """Remove what is older than a moment, and what is older than the newest ``keep``."""
        ...
