"""Undo and time travel: every change can be taken back.

The part of ``AsyncClient``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memstone.core.checks.filters import Filters
from memstone.model.instant import When
from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.literals import LayerName, StatusName
    from memstone.results import (
        ContextPreview,
        EventFeed,
        PreviewList,
        RestoreResult,
        RollbackResult,
        StatusResult,
        UndoResult,
    )


class Undoing(Remote):
    """Undo and time travel: every change can be taken back."""

    async def undo(self, event_id: str | None = None, *, job_id: str | None = None) -> UndoResult:
        """Take back one change, or with ``job_id`` everything a job did; all of it or nothing.

        ``history`` and ``events`` give the ids. A change can be taken back as long as nothing later touched the memory;
        else a ``Conflict`` names what did. Undoing is an event of its own and may itself be undone.

        Returns ``{"undone": n, "results": [{"id", "event", "memory", "status", "event_id", "undoes"}]}``.
        """
        given: dict[str, Any] = {"event_id": event_id, "job_id": job_id}
        result: UndoResult = await self._link.call("undo", given)
        return result

    async def restore(self, memory_id: str, version: int | None = None) -> RestoreResult:
        """Bring back a memory that was deleted, evicted, overtaken or disabled; or what an earlier version said.

        What comes back is the next version, for those who see the memory now or saw it last. What was erased cannot be
        restored, and ``NotFoundError`` says so.
        """
        given: dict[str, Any] = {"memory_id": memory_id, "version": version}
        result: RestoreResult = await self._link.call("restore", given)
        return result

    async def rollback(
        self,
        *,
        source: str | None = None,
        since: When | None = None,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
        dry_run: bool = False,
    ) -> RollbackResult:
        """Take back what a source did, or what was done since a time, in a scope or with ``everybody`` in all.

        It goes from the newest to the oldest.

        A source is an actor, a job, or the means by which something was learned (``pattern``, ``facts``, ``digest``).
        What somebody changed after it stays, and is among the ``conflicts``. With ``dry_run`` nothing is changed, and
        the answer says what would be. ``undo(job_id=...)`` takes a rollback back.

        Returns ``{"undone", "memories", "by_event", "conflicts", "skipped", "job_id"}``.
        """
        given: dict[str, Any] = {
            "source": source,
            "since": since,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "everybody": everybody,
            "dry_run": dry_run,
        }
        result: RollbackResult = await self._link.call("rollback", given)
        return result

    async def disable(self, memory_id: str, reason: str | None = None) -> StatusResult:
        """Keep a memory and recall it no more; ``get_all(status="disabled")`` lists it, ``enable`` brings it back."""
        given: dict[str, Any] = {"memory_id": memory_id, "reason": reason}
        result: StatusResult = await self._link.call("disable", given)
        return result

    async def enable(self, memory_id: str, reason: str | None = None) -> StatusResult:
        """Recall a disabled memory again."""
        given: dict[str, Any] = {"memory_id": memory_id, "reason": reason}
        result: StatusResult = await self._link.call("enable", given)
        return result

    async def quarantine(self, memory_id: str, reason: str | None = None) -> StatusResult:
        """Put a memory aside until somebody approves it; ``get_all(status="quarantined")`` lists what waits."""
        given: dict[str, Any] = {"memory_id": memory_id, "reason": reason}
        result: StatusResult = await self._link.call("quarantine", given)
        return result

    async def approve(self, memory_id: str, reason: str | None = None) -> StatusResult:
        """Let a memory out of quarantine."""
        given: dict[str, Any] = {"memory_id": memory_id, "reason": reason}
        result: StatusResult = await self._link.call("approve", given)
        return result

    async def reject(self, memory_id: str, reason: str | None = None, *, dry_run: bool = False) -> StatusResult:
        """Delete a memory that is in quarantine; it does not come back by itself."""
        given: dict[str, Any] = {"memory_id": memory_id, "reason": reason, "dry_run": dry_run}
        result: StatusResult = await self._link.call("reject", given)
        return result

    async def inspect(
        self,
        q: str | None = None,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
        layers: LayerName | Sequence[LayerName] | None = None,
        statuses: StatusName | Sequence[StatusName] | None = None,
        filters: Filters | None = None,
        limit: int = 60,
        as_of: When | None = None,
    ) -> PreviewList:
        """Look through memories as a console does: every layer, also what is disabled or in quarantine.

        Each result has a ``preview`` of its text without secrets, addresses and numbers of people, and says in ``why``
        what it has to do with ``q``; without one, the newest are shown. ``statuses`` may also name ``evicted`` and
        ``deleted``. With ``everybody`` it is those of all, and ``q`` is looked for literally. ``limit`` is 1 to 250.
        With ``as_of`` it is what held then, also of what was deleted since, if ``statuses`` name that.
        """
        given: dict[str, Any] = {
            "q": q,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "everybody": everybody,
            "layers": layers,
            "statuses": statuses,
            "filters": filters,
            "limit": limit,
            "as_of": as_of,
        }
        result: PreviewList = await self._link.call("inspect", given)
        return result

    async def preview_context(
        self,
        query: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        budget: int | None = None,
        as_of: When | None = None,
    ) -> ContextPreview:
        """What a model would be shown for a message, as a console may show it: redacted, and not counted as used."""
        given: dict[str, Any] = {
            "query": query,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "budget": budget,
            "as_of": as_of,
        }
        result: ContextPreview = await self._link.call("preview_context", given)
        return result

    async def events(
        self,
        after: int = 0,
        *,
        limit: int = 100,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
    ) -> EventFeed:
        """What happened in a scope, or with ``everybody`` in all, after a cursor; oldest first.

        Returns ``{"results": [{"seq", "id", "memory_id", "event", ...}], "cursor": n}``; the next call goes on there.
        """
        given: dict[str, Any] = {
            "after": after,
            "limit": limit,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "everybody": everybody,
        }
        result: EventFeed = await self._link.call("events", given)
        return result
