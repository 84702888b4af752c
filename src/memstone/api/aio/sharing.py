"""Who holds a memory: share it, take it back, hand it over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memstone.api.base import Group
from memstone.engine.scoping import Progress

if TYPE_CHECKING:
    from memstone.results import ReassignResult, ShareResult, UpdateResult


class AsyncSharingVerbs(Group):
    """Who holds a memory: share it, take it back, hand it over."""

    async def share(
        self,
        memory_id: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        reason: str | None = None,
    ) -> ShareResult:
        """Let somebody else hold a memory, too; the user ``*`` is everybody, ``project:<id>`` a project.

        Nothing is copied. ``event`` is ``NONE`` when they hold it already, or know another one that says the same.
        """
        from memstone.engine.storing import sharing

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(sharing.share_memory, memory_id, given, reason)

    async def unshare(
        self,
        memory_id: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> ShareResult:
        """Take a memory from somebody. The others keep it; with the last holder it is deleted: ``event`` says so."""
        from memstone.engine.storing import sharing

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.dry(dry_run).run(sharing.unshare_memory, memory_id, given, reason)

    async def replace(
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
        """Change what a memory says for one of those who hold it; ``update`` changes it for all of them.

        They get a memory of their own with a new id, and the others keep what they have. Who holds it alone has its
        next version, under the same id. Returns the memory with its ``event`` and, if it is a new one, the ``old_id``.
        """
        from memstone.engine.storing import sharing

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(sharing.replace_memory_text, memory_id, text, given, metadata, reason)

    async def reassign(
        self,
        from_scope: Mapping[str, Any],
        to_scope: Mapping[str, Any],
        progress: Progress | None = None,
    ) -> ReassignResult:
        """Hand everything one scope holds over to another: rename a user, or make two into one.

        A scope is such as ``{"user_id": "alice"}``. The ids that ``to_scope`` names take the place of those there were,
        the others stay. Where both know the same, the older memory stays. ``undo(job_id=...)`` takes it back.
        ``progress(done, total)`` is called as it goes; a call that broke off is made again and goes on.

        Returns ``{"job_id", "moved", "merged", "signals", "receipts"}``.
        """
        from memstone.engine.undoing import reassign

        return await self.engine.run(reassign.reassign_scope, from_scope, to_scope, progress)
