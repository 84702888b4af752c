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
        """Return the ``overrides`` a user wrote, what was ``derived`` from what they said, and the ``narrative``.

        Overrides stand in every block a model is shown, whatever the budget. The narrative is a short text made from
        what is derived and from the most salient facts; ``None`` when there is none yet. It says its ``version``, which
        grows with every change, the ``model`` that wrote it (``"user"`` when it was written by hand), and whether it is
        ``stale``: something it was made of has changed since.
        """
        from memstone.engine.layers import identity

        return await self.engine.run(identity.get_identity, user_id)

    async def add_override(self, text: str, *, user_id: str | int) -> IdentityResult:
        """Keep something in mind for good, in the user's own words; return the identity.

        What is there already, in whatever case, is not added again. ``warnings`` say when there is more than a model is
        shown.
        """
        from memstone.engine.layers import identity

        return await self.engine.run(identity.add_override, user_id, text)

    async def remove_override(self, position: int, *, user_id: str | int, dry_run: bool = False) -> IdentityResult:
        """Delete the override at a position, counted from 0; return the identity."""
        from memstone.engine.layers import identity

        return await self.engine.dry(dry_run).run(identity.remove_override, user_id, position)

    async def set_overrides(self, texts: Sequence[str], *, user_id: str | int) -> IdentityResult:
        """Put these in the place of all overrides; return the identity. What stays keeps its id and its history."""
        from memstone.engine.layers import identity

        return await self.engine.run(identity.set_overrides, user_id, texts)

    async def set_narrative(self, text: str | None, *, user_id: str | int) -> IdentityResult:
        """Write the text about a user by hand; return the identity.

        Consolidation then leaves it alone. With ``None`` the next consolidation makes it anew.
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
        """Return what the user asked to be done always, such as "answer in metric units".

        ``text`` is made for a system prompt. What changes from message to message comes from ``context`` and belongs to
        the newest message; these lines change rarely, belong to the instructions that your application keeps for its
        agent, and your application puts them there, never Memstone.
        """
        from memstone.engine.layers import identity

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(identity.standing_instructions, given)
