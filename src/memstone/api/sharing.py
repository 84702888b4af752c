"""Share memories, stop sharing them, and move them to someone else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memstone.api.base import Group
from memstone.drive import drive
from memstone.engine.request_scope import Progress

if TYPE_CHECKING:
    from memstone.results import ReassignResult, ShareResult, UpdateResult


class SharingVerbs(Group):
    """Share memories, stop sharing them, and move them to someone else."""

    def share(
        self,
        memory_id: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        reason: str | None = None,
    ) -> ShareResult:
        """Share a memory with someone else; the user ``*`` is everybody, ``project:<id>`` a project.

        Nothing is copied. ``event`` is ``NONE`` if they already have it, or another memory that says the same.
        """
        from memstone.engine.store import sharing

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self.engine.run(sharing.share_memory, memory_id, values, reason))

    def unshare(
        self,
        memory_id: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> ShareResult:
        """Take a memory away from someone. The others keep it; with the last one it is deleted: ``event`` says so."""
        from memstone.engine.store import sharing

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self.engine.dry(dry_run).run(sharing.unshare_memory, memory_id, values, reason))

    def replace(
        self,
        memory_id: str,
        text: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        metadata: Mapping[str, Any] | None = None,
        reason: str | None = None,
    ) -> UpdateResult:
        """Change a shared memory for one of its holders; ``update`` changes it for all of them.

        They get a separate memory with a new id, and the others keep what they have. If they are the only holder, it
        gets its next version under the same id. Returns the memory with its ``event`` and, if it is a new one, the
        ``old_id``.
        """
        from memstone.engine.store import sharing

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self.engine.run(sharing.replace_memory_text, memory_id, text, values, metadata, reason))

    def reassign(
        self,
        from_scope: Mapping[str, Any],
        to_scope: Mapping[str, Any],
        progress: Progress | None = None,
    ) -> ReassignResult:
        """Move everything of one scope to another: rename a user, or merge two users.

        A scope is, for example, ``{"user_id": "alice"}``. The ids in ``to_scope`` replace the matching ones; the others
        stay. If both have the same memory, the older one stays. ``undo(job_id=...)`` undoes it. ``progress(done,
        total)`` is called during the work; if a call is interrupted, repeat it and it continues.

        Returns ``{"job_id", "moved", "merged", "signals", "receipts"}``.
        """
        from memstone.engine.change import reassign

        return drive(self.engine.run(reassign.reassign_scope, from_scope, to_scope, progress))
