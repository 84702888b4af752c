"""What waits, what a person deleted, and what was answered before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from memstone.model.event import Signal
from memstone.model.instant import Instant
from memstone.model.scope import Scope


class Signals(Protocol):
    """The durable inbox."""

    async def put(self, signals: Iterable[Signal]) -> None:
        """Keep something for later."""
        ...

    async def pending(self, scope: Scope, limit: int) -> list[Signal]:
        """What waits in a scope, oldest first."""
        ...

    async def session(self, scope: Scope, limit: int) -> list[Signal]:
        """What waits in exactly this scope, oldest first."""
        ...

    async def sessions(self, scope: Scope, limit: int, offset: int = 0) -> list[Scope]:
        """The scopes below this one in which something waits, those that wait longest first."""
        ...

    async def due(self, tenant_id: str | None, now: Instant, limit: int, offset: int = 0) -> list[Scope]:
        """The scopes in which everything that waits is due, of one tenant or of all; one may be named repeatedly."""
        ...

    async def free(self, sessions: Sequence[tuple[Scope, str]], now: Instant) -> int | None:
        """The place of the first session of one tenant in which something waits and whose lease nobody holds.

        Each comes with the name of its lease. One that somebody else is taking at this moment is passed over, where a
        database lets several take work at once.
        """
        ...

    async def hurry(self, scope: Scope, now: Instant) -> int:
        """Let the other sessions of this user and agent, in whose silence somebody waits, be due; gives how many."""
        ...

    async def waiting(self, scope: Scope) -> int:
        """How many wait in a scope."""
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
        """Say what became of signals that wait; gives how many of them still did.

        Without ``counts`` it is no attempt that speaks against them. ``due_at`` is when they may be tried again, for
        those that are not only tried when somebody asks for it.
        """
        ...

    async def unfinished(self, scope: Scope) -> list[Signal]:
        """All of a scope that wait, were given up, or were passed over, oldest first."""
        ...

    async def passed_over(self, scope: Scope, limit: int) -> list[Signal]:
        """What was processed in exactly this scope with a problem: it said too little by itself, oldest first."""
        ...

    async def take_up(self, tenant_id: str, ids: Iterable[str]) -> None:
        """Say that what was passed over has been learned from after all."""
        ...

    async def is_known(self, scope: Scope) -> bool:
        """Whether anything was ever kept for later in exactly this scope."""
        ...

    async def clear(self, scope: Scope) -> None:
        """Remove every signal of exactly this scope, whatever its state."""
        ...

    async def purge(self, tenant_id: str, before: Instant) -> int:
        """Remove what was processed and was said before a moment; gives how many."""
        ...

    async def known(self, tenant_id: str, ids: Sequence[str]) -> set[str]:
        """Which of these are there, whatever their state."""
        ...

    async def remove(self, tenant_id: str, ids: Sequence[str]) -> None:
        """Remove these, with the words they hold."""
        ...

    async def forget(self, scope: Scope) -> None:
        """Remove every signal of a scope, whatever its state."""
        ...


class Suppressed(Protocol):
    """What a person deleted and must not come back by itself."""

    async def put(self, tenant_id: str, dedupe: str, memory_id: str, at: Instant, turn_id: str | None = None) -> None:
        """Remember a deletion, and the turn that asked for it: it says what is to be forgotten."""
        ...

    async def lift(self, tenant_id: str, dedupe: str) -> None:
        """The person said it again."""
        ...

    async def any(self, tenant_id: str) -> bool:
        """Whether anything was deleted by a person."""
        ...

    async def has(self, tenant_id: str, dedupe: str) -> bool:
        """Whether it was deleted by a person."""
        ...

    async def since(self, tenant_id: str, dedupe: str) -> Instant | None:
        """When a person deleted it; None when nobody did."""
        ...

    async def turns(self, tenant_id: str, turn_ids: Sequence[str]) -> set[str]:
        """Which of these turns are the evidence of something that a person deleted, or asked for that."""
        ...

    async def page(self, tenant_id: str, after: str, limit: int) -> list[tuple[str, str, Instant]]:
        """What was deleted by its dedupe value, in the order of those: with the id of the memory, and when."""
        ...

    async def evidence(self, tenant_id: str, turn_ids: Sequence[str]) -> list[tuple[str, str, Mapping[str, Any]]]:
        """These turns again, each with a memory that came of it and was deleted since: its id, and what was noted."""
        ...


class Idempotency(Protocol):
    """Answers of batches that must not be carried out twice."""

    async def get(self, tenant_id: str, key: str) -> tuple[str, str] | None:
        """The hash of the request and the reply that was given."""
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
        """The answer to a question, by the hash of all that went into it."""
        ...

    async def put(self, tenant_id: str, key: str, reply: str, at: Instant) -> None:
        """Keep an answer."""
        ...
