"""The layers above facts: identity and episodes.

The part of ``Client``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memstone.drive import drive
from memstone.model.instant import When
from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.literals import VisibilityName
    from memstone.results import (
        EpisodeList,
        IdentityResult,
        InstructionList,
        PinnedFactList,
        ProfileResult,
        VisibilityResult,
    )


class Layered(Remote):
    """The layers above facts: identity and episodes."""

    def identity(self, *, user_id: str | int) -> IdentityResult:
        """Who a user is: ``overrides`` they wrote, what was ``derived`` from what they said, and the ``narrative``.

        Overrides stand in every block a model is shown, whatever the budget. The narrative is a short text made from
        what is derived and from the most salient facts; ``None`` when there is none yet. It says its ``version``, which
        grows with every change, the ``model`` that wrote it (``"user"`` when it was written by hand), and whether it is
        ``stale``: something it was made of has changed since.
        """
        given: dict[str, Any] = {"user_id": user_id}
        result: IdentityResult = drive(self._link.call("identity", given))
        return result

    def profile(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        tokens: int | None = None,
    ) -> ProfileResult:
        """What a model is always shown of a user.

        The ``instructions`` they gave, ``facts`` with what each is ``about``, most important first, and ``turns``: what
        they said before today and no fact holds. It is made without a search and without an embedding. ``left_out``
        names what is known and not in it, with the reason; ``complete`` is false where it is too much for ``tokens``,
        else ``context.profile_tokens``.
        """
        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "tokens": tokens}
        result: ProfileResult = drive(self._link.call("profile", given))
        return result

    def set_visibility(self, memory_id: str, visibility: VisibilityName) -> VisibilityResult:
        """Decide whether models are shown a memory.

        ``pinned``: always, before everything else in the profile. ``hidden``: not in the profile, but when a message
        calls for it. ``private``: never; searches and lists still find it. ``default`` takes the decision back.
        """
        given: dict[str, Any] = {"memory_id": memory_id, "visibility": visibility}
        result: VisibilityResult = drive(self._link.call("set_visibility", given))
        return result

    def add_override(self, text: str, *, user_id: str | int) -> IdentityResult:
        """Keep something in mind for good, in the user's own words; gives the identity.

        What is there already, in whatever case, is not added again. ``warnings`` say when there is more than a model is
        shown.
        """
        given: dict[str, Any] = {"text": text, "user_id": user_id}
        result: IdentityResult = drive(self._link.call("add_override", given))
        return result

    def remove_override(self, position: int, *, user_id: str | int, dry_run: bool = False) -> IdentityResult:
        """Delete the override at a position, counted from 0; gives the identity."""
        given: dict[str, Any] = {"position": position, "user_id": user_id, "dry_run": dry_run}
        result: IdentityResult = drive(self._link.call("remove_override", given))
        return result

    def set_overrides(self, texts: Sequence[str], *, user_id: str | int) -> IdentityResult:
        """Put these in the place of all overrides; gives the identity. What stays keeps its id and its history."""
        given: dict[str, Any] = {"texts": texts, "user_id": user_id}
        result: IdentityResult = drive(self._link.call("set_overrides", given))
        return result

    def set_narrative(self, text: str | None, *, user_id: str | int) -> IdentityResult:
        """Write the text about a user by hand; gives the identity.

        It is then left alone by consolidation. ``None`` gives it back: the next consolidation makes it anew.
        """
        given: dict[str, Any] = {"text": text, "user_id": user_id}
        result: IdentityResult = drive(self._link.call("set_narrative", given))
        return result

    def episodes(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
        offset: int = 0,
        since: When | None = None,
    ) -> EpisodeList:
        """What sessions were about, newest first: one episode for each, ``since`` when they took place.

        Returns ``{"results": [{"id", "summary", "topics", "entities", "decisions", "action_items", ...}]}``; ``facts``
        are the ids of the facts that an episode speaks of.
        """
        given: dict[str, Any] = {
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "limit": limit,
            "offset": offset,
            "since": since,
        }
        result: EpisodeList = drive(self._link.call("episodes", given))
        return result

    def pinned(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
    ) -> PinnedFactList:
        """Facts with what they weigh, the most salient first.

        ``source_count`` is how many episodes speak of a fact, ``source_episode_id`` the one it comes from (None when it
        was not learned from a session), ``use_count`` and ``last_used`` how often and when it was shown to a model.
        """
        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id, "limit": limit}
        result: PinnedFactList = drive(self._link.call("pinned", given))
        return result

    def standing_instructions(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
    ) -> InstructionList:
        """What the user asked to be done always, such as "answer in metric units": ``text`` for a system prompt.

        This is a surface of its own. What changes from message to message comes from ``context`` and belongs to the
        newest message; these lines change rarely, belong to the instructions that an application keeps for its agent,
        and are put there by the application, never by Memstone.
        """
        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        result: InstructionList = drive(self._link.call("standing_instructions", given))
        return result
