"""What a model always sees about a user, and what it would see for a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstone.api.base import Group
from memstone.engine.request_scope import ContextRequest
from memstone.engine.search_request import SearchRequest
from memstone.model.instant import When

if TYPE_CHECKING:
    from memstone.literals import SearchScope, Strategy, VisibilityName
    from memstone.results import ContextPreview, FactList, ProfileResult, SearchPreview, VisibilityResult


class AsyncProfileVerbs(Group):
    """What a model always sees about a user, and what it would see for a message."""

    async def get(
        self, *, user_id: str | int | None = None, agent_id: str | int | None = None, tokens: int | None = None
    ) -> ProfileResult:
        """Return what a model always sees about a user.

        It has the ``instructions`` they gave, ``facts`` with what each is ``about``, most important first, and
        ``turns``: what they said before today that no fact covers. It needs no search and no embedding. ``left_out``
        lists what is known but not in it, with the reason; ``complete`` is false if there is too much for ``tokens``,
        or else ``context.profile_tokens``.
        """
        from memstone.engine.recall import profile

        values = {"user_id": user_id, "agent_id": agent_id}
        return await self.engine.run(profile.get_profile, values, tokens)

    async def set_visibility(self, memory_id: str, visibility: VisibilityName) -> VisibilityResult:
        """Choose whether models see a memory.

        ``pinned``: always, first in the profile. ``hidden``: not in the profile, but shown when a message calls for it.
        ``private``: never; searches and lists still find it. ``default`` removes the choice.
        """
        from memstone.engine.store import status

        return await self.engine.run(status.set_visibility, memory_id, visibility)

    async def facts(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
    ) -> FactList:
        """List facts with their weight, most salient first.

        ``source_count`` is how many episodes mention a fact, ``source_episode_id`` the one it comes from (None if it
        was not learned from a session), ``use_count`` and ``last_used`` how often and when a model saw it.
        """
        from memstone.engine.layers import identity

        request = identity.PinnedRequest(user_id, agent_id, run_id, limit)
        return await self.engine.run(identity.list_pinned_facts, request)

    async def preview(
        self,
        query: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        budget: int | None = None,
        as_of: When | None = None,
    ) -> ContextPreview:
        """Return what ``context`` would return for a message, for people to look at.

        Secrets, addresses and personal numbers are masked, and nothing counts as used.
        """
        from memstone.engine import console

        request = ContextRequest(query, user_id, agent_id, run_id, budget, as_of=as_of)
        return await self.engine.run(console.context_preview, request)

    async def preview_search(
        self,
        query: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        strategy: Strategy | None = None,
        limit: int = 20,
        max_tokens: int | None = None,
        scope: SearchScope | None = None,
    ) -> SearchPreview:
        """Try a search: the results that fit into ``max_tokens``, and why each is there. Nothing counts as used.

        ``block`` is exactly what a chat with this message would get, and ``injected`` says for each item whether it is
        in it. Without ``max_tokens`` the configured budget applies; if that is 0, nothing fits.

        Each item has its ``tier`` (``hybrid``, ``vector``, ``keyword`` or ``recent``), its ``tokens``, ``vec_score``
        and ``fts_score``; ``resolution`` says how the search was done in the end, ``totals`` how much was found and
        fits.
        """
        from memstone.engine import preview

        search = SearchRequest(query, user_id, agent_id, run_id, limit, strategy=strategy, scope=scope)
        return await self.engine.run(preview.retrieve_preview, preview.PreviewRequest(search, max_tokens))
