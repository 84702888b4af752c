"""The answers that only the service gives; all others are those of ``Memory``, and are in ``memstone.results``.

They are loaded when the service is asked to describe itself.
"""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from memstone.literals import VerbName
from memstone.results import (
    AccountItem,
    BackupResult,
    ConsolidateResult,
    ErasurePreview,
    ErasureReport,
    ErrorInfo,
    HistoryEvent,
    ImportResult,
    KeyItem,
    ReindexResult,
    StoreStats,
)

# --- memories ---------------------------------------------------------------------------------------------------------


class HistoryList(TypedDict):
    """The history of a memory, oldest first."""

    results: list[HistoryEvent]


class ResetResult(TypedDict):
    """Everything was removed; with ``dry_run``, counts of what exists."""

    status: Literal["reset", "cleared", "dry_run"]
    dry_run: NotRequired[Literal[True]]
    would_delete: NotRequired[StoreStats]


class ConversationResult(TypedDict):
    """The result of a conversation; ``distillation`` says whether it became an episode, or why not."""

    status: Literal["ok", "pending", "failed", "disabled", "paused"]
    turns_ingested: int
    distillation: str
    episode_id: int | None
    warnings: NotRequired[list[str]]
    reason: NotRequired[str]


# --- who asks ---------------------------------------------------------------------------------------------------------


class KeyList(TypedDict):
    """The keys of a tenant."""

    results: list[KeyItem]


class KeyRights(TypedDict):
    """What a key has access to, and its permissions."""

    tenant_id: str
    user_id: str | None
    agent_id: str | None
    may_assert_user: bool
    verbs: list[VerbName]


class AccountList(TypedDict):
    """The accounts of a tenant, oldest first."""

    results: list[AccountItem]


class AccountTokens(TypedDict):
    """An access token, and a refresh token to get the next one."""

    access_token: str
    token_type: str
    expires_in: int
    refresh_token: str
    refresh_expires_at: str
    account: AccountItem


class LogoutResult(TypedDict):
    """How many sessions were ended."""

    sessions_ended: int


class PasswordResult(TypedDict):
    """Whether a password was changed, and how many other sessions were ended."""

    changed: bool
    sessions_ended: int


class CallerInfo(TypedDict):
    """Who the caller is; ``account`` is present for people, not for keys."""

    kind: Literal["account", "key"]
    tenant_id: str
    user_id: str | None
    agent_id: str | None
    verbs: list[VerbName]
    session_id: str | None
    expires_at: str | None
    account: AccountItem | None


# --- the console ------------------------------------------------------------------------------------------------------


class ConsoleJob(TypedDict):
    """A job of this process, running or finished."""

    id: str
    task: Literal["consolidate", "reindex", "erase", "backup", "import"]
    state: Literal["running", "done", "failed", "cancelled"]
    done: int
    total: int | None
    started_at: str
    finished_at: str | None
    result: ConsolidateResult | ReindexResult | ErasureReport | ErasurePreview | BackupResult | ImportResult | None
    error: ErrorInfo | None


class ConsoleJobList(TypedDict):
    """Jobs of this process, newest first."""

    results: list[ConsoleJob]


class RequestItem(TypedDict):
    """One request, without its content."""

    at: str
    key_id: str
    method: str
    route: str
    status: int
    ms: float
    request_id: str


class RequestList(TypedDict):
    """The last requests of this tenant's keys, newest first."""

    results: list[RequestItem]


class ServiceConfiguration(TypedDict):
    """How the service is configured, without secrets."""

    configuration: dict[str, Any]


# --- models of an upstream --------------------------------------------------------------------------------------------


class UpstreamModel(TypedDict):
    """A model of an upstream, as the upstream describes it; ``id`` is its name here."""

    id: str


class ModelList(TypedDict):
    """The models of all upstreams."""

    object: Literal["list"]
    data: list[UpstreamModel]
