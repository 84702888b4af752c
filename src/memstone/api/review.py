"""Look through memories, correct them, and say what was useful."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memstone.api.base import Group
from memstone.core.checks.filters import Filters
from memstone.drive import drive
from memstone.engine.request_scope import Progress
from memstone.model.instant import When

if TYPE_CHECKING:
    from memstone.literals import LayerName, StatusName
    from memstone.results import (
        EventFeed,
        FeedbackResult,
        PreviewList,
        ReplacementList,
        RestoreResult,
        RollbackResult,
        StatusResult,
        UseReport,
    )


class ReviewVerbs(Group):
    """Look through memories, correct them, and say what was useful."""

    def list(
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
        """List memories of every layer, including disabled and quarantined ones, for people to look at.

        Each result has a ``preview`` of its text without secrets, addresses and personal numbers, and says in ``why``
        how it matches ``q``; without ``q``, you get the newest. ``statuses`` can also contain ``evicted`` and
        ``deleted``. With ``everybody`` it covers all users, and ``q`` is searched literally. ``limit`` is 1 to 250.
        With ``as_of`` you get what was valid then, including what was deleted since if ``statuses`` contain that.
        """
        from memstone.engine import console

        request = console.InspectRequest(
            q, user_id, agent_id, run_id, layers, statuses, filters, limit, as_of, everybody
        )
        return drive(self.engine.run(console.console_search, request))

    def approve(self, memory_id: str, reason: str | None = None) -> StatusResult:
        """Release a memory from quarantine."""
        from memstone.engine.store import status

        return drive(self.engine.run(status.approve_memory, memory_id, reason))

    def reject(self, memory_id: str, reason: str | None = None, *, dry_run: bool = False) -> StatusResult:
        """Delete a memory in quarantine; it does not come back by itself."""
        from memstone.engine.store import status

        return drive(self.engine.dry(dry_run).run(status.reject_memory, memory_id, reason))

    def quarantine(self, memory_id: str, reason: str | None = None) -> StatusResult:
        """Hold a memory back until someone approves it; ``get_all(status="quarantined")`` lists these."""
        from memstone.engine.store import status

        return drive(self.engine.run(status.quarantine_memory, memory_id, reason))

    def disable(self, memory_id: str, reason: str | None = None) -> StatusResult:
        """Keep a memory but stop recalling it; ``get_all(status="disabled")`` lists it, ``enable`` brings it back."""
        from memstone.engine.store import status

        return drive(self.engine.run(status.disable_memory, memory_id, reason))

    def enable(self, memory_id: str, reason: str | None = None) -> StatusResult:
        """Recall a disabled memory again."""
        from memstone.engine.store import status

        return drive(self.engine.run(status.enable_memory, memory_id, reason))

    def restore(self, memory_id: str, version: int | None = None) -> RestoreResult:
        """Bring back a deleted, evicted, replaced or disabled memory, or the text of an earlier version.

        It becomes the next version, for those who see the memory now or saw it last. An erased memory cannot be
        restored; you get a ``NotFoundError``.
        """
        from memstone.engine.change import undo as restore

        return drive(self.engine.run(restore.restore_version, memory_id, version))

    def rollback(
        self,
        *,
        source: str | None = None,
        since: When | None = None,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> RollbackResult:
        """Undo what a source did, or what was done since a time, in a scope or with ``everybody`` in all.

        It goes from the newest to the oldest change.

        A source is an actor, a job, or the method by which something was learned (``pattern``, ``facts``, ``digest``).
        What someone changed after it stays, and is listed in ``conflicts``. With ``dry_run`` nothing is changed, and
        the answer says what would be. ``undo(job_id=...)`` undoes a rollback.

        Returns ``{"undone", "memories", "by_event", "conflicts", "skipped", "job_id"}``.
        """
        from memstone.engine.change import undo as rollback

        request = rollback.RollbackRequest(source, since, user_id, agent_id, run_id, dry_run, progress, everybody)
        return drive(self.engine.run(rollback.rollback_changes, request))

    def events(
        self,
        after: int = 0,
        *,
        limit: int = 100,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
        newest_first: bool = False,
    ) -> EventFeed:
        """List what happened in a scope, or with ``everybody`` in all, after a cursor; oldest first.

        With ``newest_first`` the latest come first, and a cursor leads further into the past.

        Returns ``{"results": [{"seq", "id", "memory_id", "event", ...}], "cursor": n}``; pass the cursor to the next
        call.
        """
        from memstone.engine import results

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        how = {"everybody": everybody, "newest_first": newest_first}
        return drive(self.engine.run(results.list_events, values, after, limit, **how))

    def replacements(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> ReplacementList:
        """List what replaced what for a user, newest first, with both texts and the reason.

        ``new_id`` is the same as ``old_id`` for a new version, and ``old_version`` and ``new_version`` number the two;
        it is None if the memory was taken away.
        """
        from memstone.engine.store import sharing

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self.engine.run(sharing.list_replacements, values, limit, offset))

    def feedback(
        self,
        *,
        useful: bool,
        receipt_id: str | None = None,
        memory_id: str | None = None,
        note: str | None = None,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
    ) -> FeedbackResult:
        """Say whether a memory, or everything in a receipt, was useful; it gains or loses weight.

        If several users share a memory, ``user_id`` says who judges; its weight then stays the same for the others.
        """
        from memstone.engine.store import feedback

        about = {"receipt_id": receipt_id, "memory_id": memory_id}
        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self.engine.run(feedback.record_feedback, about, values, note, useful=useful))

    def record_answer(self, receipt_id: str, answer: str) -> UseReport:
        """Record a model's answer to a prompt with a context, and work out which memories it used.

        A memory counts as used if the answer contains what it says and the question did not. Returns ``used`` and
        ``unused`` ids, and the ``share`` of each in ``results``.
        """
        from memstone.engine.store import feedback

        return drive(self.engine.run(feedback.record_answer, receipt_id, answer))
