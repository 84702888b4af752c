"""Settings that live in the store, and pauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memstone.api.base import Group
from memstone.model.instant import When

if TYPE_CHECKING:
    from memstone.literals import Vocabulary
    from memstone.results import (
        InstructionSuggestion,
        PauseList,
        PauseResult,
        ResumeResult,
        SettingsChange,
        SettingsRemoval,
        SettingsReport,
    )


class AsyncSettingVerbs(Group):
    """Settings that live in the store, and pauses."""

    async def get(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        names: Vocabulary = "native",
    ) -> SettingsReport:
        """Return every setting as it holds for a user, an agent, both, or (when you name nobody) the tenant.

        A value comes from the agent, else the user, else the tenant, else the configuration, the preset or the
        default; ``sources`` says which. ``names`` chooses the vocabulary: ``native`` (``context.budget``), ``gateway``
        (``memoryMaxTokens``), ``companion`` (``memoryBudgetTokens``) or ``agent`` (``disableMemory``).

        Returns ``{"settings": {name: value}, "sources": {name: source}, "preset": ...}``.
        """
        from memstone.engine import settings

        return await self.engine.run(settings.get_settings, {"user_id": user_id, "agent_id": agent_id}, names)

    async def set(
        self,
        values: Mapping[str, Any],
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
    ) -> SettingsChange:
        """Store settings for a user, an agent or (when you name nobody) the tenant, all or none; they hold at once.

        Names may be of any vocabulary. Our own are checked: ``InvalidInput`` names what is unknown or cannot be. Those
        of other products are brought into form instead, as they expect it: a number is rounded and moved into its
        range, and what makes no sense becomes the default. Other processes notice within a second.
        """
        from memstone.engine import settings

        return await self.engine.run(settings.set_settings, values, {"user_id": user_id, "agent_id": agent_id})

    async def unset(
        self,
        names: Sequence[str] | None = None,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        dry_run: bool = False,
    ) -> SettingsRemoval:
        """Remove stored settings; what stands below them holds again.

        When none are named it is all of them, but for quotas and masking of a user or an agent: they go when named.
        """
        from memstone.engine import settings

        given = {"user_id": user_id, "agent_id": agent_id}
        return await self.engine.dry(dry_run).run(settings.unset_settings, names, given)

    async def pause(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        until: When | None = None,
    ) -> PauseResult:
        """Pause memory for a user, an agent or a session, until a moment or until ``resume``.

        Meanwhile nothing they say is stored (``add`` answers ``"paused"``) and nothing is shown to a model. What was
        known stays, and a search by hand finds it. If you name several, it is paused where all of them meet: with a
        user and a session only that session of this user.
        """
        from memstone.engine.access import admission

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(admission.pause_scope, given, until)

    async def resume(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        dry_run: bool = False,
    ) -> ResumeResult:
        """End a pause; name exactly those that it was made for."""
        from memstone.engine.access import admission

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.dry(dry_run).run(admission.resume_scope, given)

    async def pauses(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
    ) -> PauseList:
        """List the pauses that hold for those you name, or with ``everybody`` all there are; and until when."""
        from memstone.engine.access import admission

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(admission.list_pauses, given, everybody=everybody)

    async def suggest_instructions(self, use_case: str) -> InstructionSuggestion:
        """Suggest instructions and settings for a use case in plain words, such as "a cooking coach".

        A language model is asked once, where one is configured, else rules answer; ``source`` says which. Secrets, and
        what the law protects, are left out unless the use case asks for them. It only suggests: nothing is changed.
        """
        from memstone.engine.learning import instructions

        return await self.engine.run(instructions.suggest_instructions, use_case)
