"""Sections of the settings about policy, quotas, identity and injection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, field_validator

from memstone.literals import Strategy
from memstone.model.policy import Identity, Injection, Quotas
from memstone.sections import SettingsSection


class PolicySettings(SettingsSection):
    """How the memory behaves where it is not told otherwise in a call.

    ``enabled`` switches all of it, ``learns`` and ``shows`` its two halves. ``language`` is that of the users, as in
    ``nb`` or ``pt-BR``. ``search_tool`` lets a model search by itself. ``skills`` does nothing here: it is kept for
    services that offer tools beside memory.
    """

    strategy: Strategy = "hybrid"
    min_score: float | None = Field(default=None, ge=0, le=1)
    enabled: bool = True
    learns: bool = True
    shows: bool = True
    language: str = Field(default="", max_length=35, pattern=r"^([A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)?$")
    search_tool: bool = False
    skills: bool = False


class QuotaSettings(SettingsSection):
    """How much may be stored for one user and for all together; none is without end."""

    user_memories: int | None = Field(default=None, ge=0)
    user_turns: int | None = Field(default=None, ge=0)
    user_chars: int | None = Field(default=None, ge=0)
    tenant_memories: int | None = Field(default=None, ge=0)
    tenant_turns: int | None = Field(default=None, ge=0)
    tenant_chars: int | None = Field(default=None, ge=0)

    def as_policy(self) -> Quotas:
        """Return the values the engine works with."""
        return Quotas(**self.model_dump())


class IdentitySettings(SettingsSection):
    """Who a request to a service is about; what is not set is as the preset says.

    ``sources`` are looked at in order: ``body``, ``header:<name>``, ``api_key``. ``nobody`` says what happens when none
    of them names anybody: ``error``, ``off`` (no memory for that request) or ``owner`` (it is about ``owner``).
    """

    sources: tuple[str, ...] | None = Field(default=None, min_length=1)
    nobody: Literal["error", "off", "owner"] | None = None
    owner: str | None = Field(default=None, min_length=1, max_length=256)

    @field_validator("sources")
    @classmethod
    def _known_sources(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for one in value or ():
            if one not in ("body", "api_key") and not (one.startswith("header:") and one.removeprefix("header:")):
                raise ValueError(f"unknown source {one!r}: use body, api_key or header:<name>")
        return value

    def over(self, preset: Identity) -> Identity:
        """Return the values of a preset with what is set here in their place."""
        return replace(preset, **_explicit_values(self))


class InjectSettings(SettingsSection):
    """Where a service puts what a model is shown, and which of its routes do; what is not set is as the preset says.

    ``position``: ``split``, ``system_first``, ``system_merge`` or ``prefix_last_user``. ``chat`` is the plain chat
    route, ``agents`` the running of an agent.
    """

    position: Literal["split", "system_first", "system_merge", "prefix_last_user"] | None = None
    chat: bool | None = None
    agents: bool | None = None
    extras: tuple[Literal["memories", "events"], ...] | None = None

    def over(self, preset: Injection) -> Injection:
        """Return the values of a preset with what is set here in their place."""
        return replace(preset, **_explicit_values(self))


def _explicit_values(section: SettingsSection) -> dict[str, Any]:
    """Return what was set, and not to nothing."""
    values = ((name, getattr(section, name)) for name in section.model_fields_set)
    return {name: value for name, value in values if value is not None}
