"""Who a user is: what they wrote about themselves, and what was derived from what they said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memstone.api.base import Group

if TYPE_CHECKING:
    from memstone.results import IdentityResult, InstructionList


class AsyncIdentityVerbs(Group):
    """Who a user is: what they wrote about themselves, and what was derived from what they said."""

    async def get(self, *, user_id: str | int) -> IdentityResult:
        """Return a user's standing instructions, what was ``derived`` from what they said, and the ``narrative``.

        Every block shows the standing instructions (``overrides``), whatever the budget. The narrative is a short text
        made from the derived facts and the most salient other facts; it is ``None`` if there is none yet. It has a
        ``version``, which grows with every change, the ``model`` that wrote it (``"user"`` if it was written by hand),
        and is ``stale`` if one of its sources has changed since.
        """
        from memstone.engine.layers import identity

        return await self.engine.run(identity.get_identity, user_id)

    async def add_override(self, text: str, *, user_id: str | int) -> IdentityResult:
        """Add a standing instruction, in the user's own words; return the identity.

        A text that is already there, ignoring case, is not added again. ``warnings`` say if there is more than a model
        sees.
        """
        from memstone.engine.layers import identity

        return await self.engine.run(identity.add_override, user_id, text)

    async def remove_override(self, position: int, *, user_id: str | int, dry_run: bool = False) -> IdentityResult:
        """Delete the standing instruction at a position, counted from 0; return the identity."""
        from memstone.engine.layers import identity

        return await self.engine.dry(dry_run).run(identity.remove_override, user_id, position)

    async def set_overrides(self, texts: Sequence[str], *, user_id: str | int) -> IdentityResult:
        """Replace all standing instructions; return the identity. Those that stay keep their id and history."""
        from memstone.engine.layers import identity

        return await self.engine.run(identity.set_overrides, user_id, texts)

    async def set_narrative(self, text: str | None, *, user_id: str | int) -> IdentityResult:
        """Write the narrative of a user by hand; return the identity.

        Consolidation then leaves it alone. With ``None``, the next consolidation rewrites it.
        """
        from memstone.engine.layers import narrative

        return await self.engine.run(narrative.set_narrative, user_id, text)

    async def instructions(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
    ) -> InstructionList:
        """Return what the user always wants done, such as "answer in metric units".

        ``text`` is meant for a system prompt. What changes from message to message comes from ``context`` and belongs
        to the newest message. These lines change rarely and belong to the instructions of your agent; your application
        puts them there, never Memstone.
        """
        from memstone.engine.layers import identity

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(identity.standing_instructions, values)
