"""Settings in the store, and pauses."""

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
    """Settings in the store, and pauses."""

    async def get(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        names: Vocabulary = "native",
    ) -> SettingsReport:
        """Return the settings that apply to a user, an agent, both, or (if you name nobody) the tenant.

        A value comes from the agent, else the user, else the tenant, else the configuration, the preset or the default;
        ``sources`` says which. ``names`` chooses the vocabulary: ``native`` (``context.budget``), ``gateway``
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
        """Store settings for a user, an agent or (if you name nobody) the tenant, all or none; they apply at once.

        Names can be of any vocabulary. Memstone's own are checked: ``InvalidInput`` names an unknown setting or an
        invalid value. Values under the names of other products are corrected instead: a number is rounded and moved
        into its range, and an invalid value becomes the default. Other processes notice within a second.
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
        """Remove stored settings; the next level applies again.

        Without names, all of them are removed, except quotas and masking of a user or an agent: name those to remove
        them.
        """
        from memstone.engine import settings

        values = {"user_id": user_id, "agent_id": agent_id}
        return await self.engine.dry(dry_run).run(settings.unset_settings, names, values)

    async def pause(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        until: When | None = None,
    ) -> PauseResult:
        """Pause memory for a user, an agent or a session, until a time or until ``resume``.

        Meanwhile nothing they say is stored (``add`` answers ``"paused"``) and nothing is shown to a model. Existing
        memories stay, and a search finds them. If you name several ids, the pause applies only where all of them match:
        with a user and a session, only to that session of this user.
        """
        from memstone.engine.access import admission

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(admission.pause_scope, values, until)

    async def resume(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        dry_run: bool = False,
    ) -> ResumeResult:
        """End a pause; name exactly the ids it was made for."""
        from memstone.engine.access import admission

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.dry(dry_run).run(admission.resume_scope, values)

    async def pauses(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
    ) -> PauseList:
        """List the pauses that apply to the ids you name, or with ``everybody`` all of them, and until when."""
        from memstone.engine.access import admission

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(admission.list_pauses, values, everybody=everybody)

    async def suggest_instructions(self, use_case: str) -> InstructionSuggestion:
        """Suggest instructions and settings for a use case in plain words, such as "a cooking coach".

        If a language model is configured, it is asked once; otherwise rules answer. ``source`` says which. Secrets, and
        what the law protects, are left out unless the use case needs them. It only suggests: nothing is changed.
        """
        from memstone.engine.learn import instructions

        return await self.engine.run(instructions.suggest_instructions, use_case)
