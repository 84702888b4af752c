"""Answers about keys, accounts, settings, pauses and the callers' own vectors."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from memstone.literals import IdleStatus, PresetName, RoleName, ScopeKind, VerbName
from memstone.results.common import Degradation

# --- keys and accounts ------------------------------------------------------------------------------------------------


class KeyItem(TypedDict):
    """An API key, without its secret."""

    id: str
    name: str
    prefix: str
    tenant_id: str
    user_id: str | None
    agent_id: str | None
    may_assert_user: bool
    verbs: list[VerbName]
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    dry_run: NotRequired[Literal[True]]


class KeySecret(KeyItem):
    """An API key with its secret, which is shown only once."""

    key: str


class AccountItem(TypedDict):
    """An account of a person who can log in."""

    id: str
    login: str
    name: str
    role: RoleName
    verbs: list[VerbName]
    tenant_id: str
    user_id: str | None
    agent_id: str | None
    disabled: bool
    created_at: str
    updated_at: str
    last_login_at: str | None


class AccountRemoval(AccountItem):
    """A removed account."""

    removed: Literal[True]
    dry_run: NotRequired[Literal[True]]


class TokenKeyRotation(TypedDict):
    """When the key for tokens changed, and whether older tokens stay valid until they expire."""

    rotated_at: str
    grace: bool


# --- settings ---------------------------------------------------------------------------------------------------------


class SettingsReport(TypedDict):
    """The settings that apply, and where each value comes from."""

    settings: dict[str, Any]
    """Values by the names of the settings."""
    sources: dict[str, str]
    """Where each value comes from: ``default``, ``tenant``, ``user``, ``agent`` and so on."""
    preset: PresetName
    effective: NotRequired[dict[str, Any]]
    """With the names of the gateway: what holds in the end."""


class SettingsChange(TypedDict):
    """Whose settings were changed, and the new values."""

    scope: str
    set: dict[str, Any]


class SettingsRemoval(TypedDict):
    """Whose settings were removed, and how many."""

    scope: str
    unset: int
    dry_run: NotRequired[Literal[True]]


class BackendSettings(TypedDict):
    """Which embedder, reranker and stores a service uses from its next start."""

    settings: dict[str, Any]
    stored: list[str]
    """The names of the settings that are stored."""
    unreadable: list[str]
    """The names of the keys that cannot be opened."""
    cleared: NotRequired[list[str]]
    """The names of the keys that went because their address changed."""


class InstructionSuggestion(TypedDict):
    """Instructions and settings for a use case; nothing was changed."""

    use_case: str
    source: Literal["llm", "rules"]
    domains: list[str]
    instructions: str
    include: list[str]
    exclude: list[str]
    categories: dict[str, str]
    example_settings: dict[str, Any]
    degraded: NotRequired[list[Degradation]]


class PauseScope(TypedDict, total=False):
    """The ids that a pause applies to. If there are several, it applies where all of them match."""

    user_id: str | None
    """None is the pool of the key itself."""
    agent_id: str
    run_id: str


class PauseItem(PauseScope):
    """A pause, and when it ends."""

    until: str | None
    """None until somebody ends it."""


class PauseList(TypedDict):
    """The current pauses."""

    paused: list[PauseItem]


class PauseResult(TypedDict):
    """The new pause."""

    paused: PauseItem


class ResumeResult(TypedDict):
    """The pause that has ended; None if there was none."""

    resumed: PauseScope | None
    dry_run: NotRequired[Literal[True]]


class ScopeCount(TypedDict):
    """A user, agent or run, and how many memories it has."""

    id: str
    memories: int
    last_at: str


class ScopeList(TypedDict):
    """Users, agents or runs, the largest first."""

    kind: ScopeKind
    results: list[ScopeCount]


# --- vectors that callers bring ---------------------------------------------------------------------------------------


class VectorCount(TypedDict):
    """How many vectors a call affected, and their ids."""

    count: int
    ids: list[str]
    warnings: NotRequired[list[str]]
    status: NotRequired[IdleStatus]
    """Why nothing was stored."""
    reason: NotRequired[str]
    dry_run: NotRequired[Literal[True]]


class VectorMatch(TypedDict):
    """A similar vector; ``score`` is 1 minus the cosine distance."""

    id: str
    score: float
    values: NotRequired[list[float]]
    metadata: NotRequired[dict[str, Any]]


class VectorMatches(TypedDict):
    """The most similar vectors, best first."""

    matches: list[VectorMatch]


class VectorItem(TypedDict):
    """A vector as the caller stored it."""

    id: str
    values: list[float] | None
    metadata: dict[str, Any]


class VectorList(TypedDict):
    """The vectors that exist."""

    vectors: list[VectorItem]


class VectorUnlink(TypedDict):
    """What happened to a vector that was taken away from a user."""

    id: str
    event: Literal["UNLINK", "DELETE"]
    """``DELETE`` when the last holder left."""
    reason: str
    user_id: str | None
    dry_run: NotRequired[Literal[True]]
