"""Settings that live in the store, pauses, and agents.

The part of ``AsyncClient``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memstone.model.instant import When
from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.literals import Vocabulary
    from memstone.results import (
        AgentDeletion,
        AgentItem,
        AgentList,
        PauseList,
        PauseResult,
        ResumeResult,
        SettingsChange,
        SettingsRemoval,
        SettingsReport,
    )


class Configuring(Remote):
    """Settings that live in the store, pauses, and agents."""

    async def settings(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        names: Vocabulary = "native",
    ) -> SettingsReport:
        """Every setting as it holds for a user, an agent, both, or (when nobody is named) the tenant.

        A value comes from the agent, else the user, else the tenant, else the configuration, the preset or the
        default; ``sources`` says which. ``names`` chooses the vocabulary: ``native`` (``context.budget``), ``gateway``
        (``memoryMaxTokens``), ``companion`` (``memoryBudgetTokens``) or ``agent`` (``disableMemory``).

        Returns ``{"settings": {name: value}, "sources": {name: source}, "preset": ...}``.
        """
        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "names": names}
        result: SettingsReport = await self._link.call("settings", given)
        return result

    async def set_settings(
        self,
        values: Mapping[str, Any],
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
    ) -> SettingsChange:
        """Store settings for a user, an agent or (when nobody is named) the tenant, all or none; they hold at once.

        Names may be of any vocabulary. Our own are checked: ``InvalidInput`` names what is unknown or cannot be. Those
        of other products are brought into form instead, as they expect it: a number is rounded and moved into its
        range, and what makes no sense becomes the default. Other processes notice within a second.
        """
        given: dict[str, Any] = {"values": values, "user_id": user_id, "agent_id": agent_id}
        result: SettingsChange = await self._link.call("set_settings", given)
        return result

    async def unset_settings(
        self,
        names: Sequence[str] | None = None,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        dry_run: bool = False,
    ) -> SettingsRemoval:
        """Remove stored settings; what stands below holds again.

        When none are named it is all of them, but for quotas and masking of a user or an agent: they go when named.
        """
        given: dict[str, Any] = {"names": names, "user_id": user_id, "agent_id": agent_id, "dry_run": dry_run}
        result: SettingsRemoval = await self._link.call("unset_settings", given)
        return result

    async def pause(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        until: When | None = None,
    ) -> PauseResult:
        """No memory for a user, an agent or a session, until a moment or until ``resume``.

        Meanwhile nothing they say is stored (``add`` answers ``"paused"``) and nothing is shown to a model. What was
        known stays, and a search by hand finds it. Who names several means all of them together: with a user and a
        session only that session of this user is paused.
        """
        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id, "until": until}
        result: PauseResult = await self._link.call("pause", given)
        return result

    async def resume(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        dry_run: bool = False,
    ) -> ResumeResult:
        """End a pause; name exactly those that it was made for."""
        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id, "dry_run": dry_run}
        result: ResumeResult = await self._link.call("resume", given)
        return result

    async def paused(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
    ) -> PauseList:
        """The pauses that hold for those that are named, or with ``everybody`` all there are; and until when."""
        given: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id, "everybody": everybody}
        result: PauseList = await self._link.call("paused", given)
        return result

    async def agents(self, *, limit: int = 100, offset: int = 0) -> AgentList:
        """The agents of this memory, each with its settings and how many memories it has.

        An agent that ``add`` or ``ingest`` names for the first time is registered by itself.
        """
        given: dict[str, Any] = {"limit": limit, "offset": offset}
        result: AgentList = await self._link.call("agents", given)
        return result

    async def agent(self, agent_id: str | int) -> AgentItem | None:
        """One agent, or None."""
        given: dict[str, Any] = {"agent_id": agent_id}
        result: AgentItem | None = await self._link.call("agent", given)
        return result

    async def save_agent(
        self,
        agent_id: str | int,
        *,
        name: str | None = None,
        model: str | None = None,
        system_prompt: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> AgentItem:
        """Make an agent or change one; what is not given stays as it is, and '' removes a model or a prompt.

        ``settings`` take the place of all that were set for it, but for quotas and masking. Two of them are switches by
        names that hosts know: ``disableMemory`` (nothing is stored and nothing shown) and ``searchMemoryEnabled`` (it
        may search by itself).
        """
        given: dict[str, Any] = {
            "agent_id": agent_id,
            "name": name,
            "model": model,
            "system_prompt": system_prompt,
            "settings": settings,
        }
        result: AgentItem = await self._link.call("save_agent", given)
        return result

    async def delete_agent(self, agent_id: str | int, *, dry_run: bool = False) -> AgentDeletion:
        """Remove an agent with its memories, vectors, signals and settings. ``NotFoundError`` when there is none.

        What it learned of who its users are, and of how they want to be served, stays theirs.
        """
        given: dict[str, Any] = {"agent_id": agent_id, "dry_run": dry_run}
        result: AgentDeletion = await self._link.call("delete_agent", given)
        return result
