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
    """An API key with its secret, which is shown this once."""

    key: str


class AccountItem(TypedDict):
    """An account of somebody who may log in."""

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
    """An account that was removed."""

    removed: Literal[True]
    dry_run: NotRequired[Literal[True]]


class TokenKeyRotation(TypedDict):
    """When tokens got another key, and whether older ones are accepted until they expire."""

    rotated_at: str
    grace: bool


# --- settings ---------------------------------------------------------------------------------------------------------


class SettingsReport(TypedDict):
    """Settings as they hold, and where each value comes from."""

    settings: dict[str, Any]
    """Values by the names of the settings."""
    sources: dict[str, str]
    """Where each value comes from: ``default``, ``tenant``, ``user``, ``agent`` and so on."""
    preset: PresetName
    effective: NotRequired[dict[str, Any]]
    """With the names of the gateway: what holds in the end."""


class SettingsChange(TypedDict):
    """Whose settings were changed, and to what."""

    scope: str
    set: dict[str, Any]


class SettingsRemoval(TypedDict):
    """Whose settings were removed, and how many."""

    scope: str
    unset: int
    dry_run: NotRequired[Literal[True]]


class BackendSettings(TypedDict):
    """Which embedder, reranker and stores a service is to use from its next start."""

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
    """Who is paused where they are together; who is not named does not matter."""

    user_id: str | None
    """None is the pool of the key itself."""
    agent_id: str
    run_id: str


class PauseItem(PauseScope):
    """A pause, and until when it holds."""

    until: str | None
    """None until somebody ends it."""


class PauseList(TypedDict):
    """The pauses that hold."""

    paused: list[PauseItem]


class PauseResult(TypedDict):
    """The pause that holds from now on."""

    paused: PauseItem


class ResumeResult(TypedDict):
    """The pause that has ended; None when there was none."""

    resumed: PauseScope | None
    dry_run: NotRequired[Literal[True]]


class ScopeCount(TypedDict):
    """A user, agent or run, and how many memories it has."""

    id: str
    memories: int
    last_at: str


class ScopeList(TypedDict):
    """The users, agents or runs there are, the largest first."""

    kind: ScopeKind
    results: list[ScopeCount]


# --- vectors that callers bring ---------------------------------------------------------------------------------------


class VectorCount(TypedDict):
    """How many vectors a call was about, and their ids."""

    count: int
    ids: list[str]
    warnings: NotRequired[list[str]]
    status: NotRequired[IdleStatus]
    """Why nothing was stored."""
    reason: NotRequired[str]
    dry_run: NotRequired[Literal[True]]


class VectorMatch(TypedDict):
    """A vector that is near; ``score`` is 1 minus the cosine distance."""

    id: str
    score: float
    values: NotRequired[list[float]]
    metadata: NotRequired[dict[str, Any]]


class VectorMatches(TypedDict):
    """The nearest vectors, best first."""

    matches: list[VectorMatch]


class VectorItem(TypedDict):
    """A vector as it was brought."""

    id: str
    values: list[float] | None
    metadata: dict[str, Any]


class VectorList(TypedDict):
    """The vectors that are there."""

    vectors: list[VectorItem]


class VectorUnlink(TypedDict):
    """What became of a vector that was taken from a user."""

    id: str
    event: Literal["UNLINK", "DELETE"]
    """``DELETE`` when the last holder left."""
    reason: str
    user_id: str | None
    dry_run: NotRequired[Literal[True]]
