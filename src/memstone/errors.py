"""Every error Memstone raises on purpose.

::

    MemstoneError(message, code, hint, retryable)
    ├─ UsageError(ValueError)        the call was wrong; nothing was written
    │  ├─ ScopeError                 nobody was named, or an id is malformed
    │  ├─ InvalidFilter              unknown operator, wrong value for an operator
    │  ├─ InvalidInput               text, metadata or a date that cannot be stored
    │  ├─ TooLarge                   longer than a limit allows
    │  ├─ DimensionMismatch          a vector of the wrong length, or not finite
    │  ├─ ConfigError                a setting is unknown or out of range
    │  ├─ NeedsEventLoop             an adapter that only AsyncMemory can use
    │  └─ MissingExtra(ImportError)  the feature needs a package that is not installed
    ├─ NotFoundError(KeyError)       no such memory
    ├─ AccessError                   who asks may not
    │  ├─ Unauthenticated            no key, or one that is unknown, expired or revoked
    │  │  └─ TokenExpired            the token of a session that goes on: refresh it
    │  ├─ Forbidden                  the key does not reach so far
    │  └─ TooManyRequests(retry_after)
    ├─ Conflict                      the same thing is already stored, or changed meanwhile
    ├─ QuotaExceeded(quota, limit)   as much is stored as may be
    ├─ BackendError(kind, name)      a service Memstone was configured to use
    │  ├─ VectorStoreError
    │  ├─ BackendUnavailable         (retryable)
    │  ├─ BackendTimeout(TimeoutError)
    │  ├─ BackendRejected
    │  └─ Unsupported                the backend lacks a capability
    ├─ ModelError                    a language or embedding model
    │  ├─ LLMError
    │  │  ├─ BadModelOutput(raw)     an answer that cannot be used
    │  │  │  └─ AnswerCutOff         it reached the limit of tokens
    │  │  ├─ ModelRefused
    │  │  ├─ LlmUnavailable          (retryable)
    │  │  └─ LlmBudgetSpent          as many tokens as a day may cost
    │  ├─ EmbeddingError(reason)
    │  ├─ RateLimited(retry_after)   (retryable)
    │  └─ AuthenticationFailed
    └─ StorageError                  the database file itself
       ├─ SchemaTooNew
       ├─ MigrationFailed
       ├─ StorageReadOnly
       ├─ StorageFull
       ├─ StorageBusy                (retryable)
       └─ Corrupted

A class's default ``code`` is stable and is what the command line and the server map to
exit codes and HTTP statuses. ``MemoryError`` is an alias of the base for callers who come from
other libraries; it is not exported from ``memstone`` because it would shadow the builtin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from memstone.results import ErrorInfo


class MemstoneError(Exception):
    """Base of all errors; carries a stable code and a hint that says what to do."""

    code: ClassVar[str] = "memstone_error"
    default_hint: ClassVar[str] = ""
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint: str = self.default_hint if hint is None else hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def as_dict(self) -> ErrorInfo:
        """The form in which faces report an error."""
        return {"code": self.code, "message": self.message, "hint": self.hint, "retryable": self.retryable}


class UsageError(MemstoneError, ValueError):
    """The call was wrong; nothing was written."""

    code = "usage"


class ScopeError(UsageError):
    """Nobody was named, or an id is malformed."""

    code = "scope"


class InvalidFilter(UsageError):
    """A filter that cannot be honoured; it is never ignored."""

    code = "invalid_filter"


class InvalidInput(UsageError):
    """Text, metadata or a date that cannot be stored."""

    code = "invalid_input"


class TooLarge(UsageError):
    """Longer than a limit allows."""

    code = "too_large"


class DimensionMismatch(UsageError):
    """A vector of the wrong length, or one that is not finite."""

    code = "dimension_mismatch"


class ConfigError(UsageError):
    """A setting is unknown or out of range."""

    code = "config"


class NeedsEventLoop(UsageError):
    """An adapter waited for an event loop inside the blocking face."""

    code = "needs_event_loop"
    default_hint = "use AsyncMemory with this adapter"


class MissingExtra(UsageError, ImportError):
    """The feature needs a package that is not installed."""

    code = "missing_extra"


class NotFoundError(MemstoneError, KeyError):
    """No memory with that id."""

    code = "not_found"
    default_hint = "deleted memories keep their history: see history(id)"

    def __str__(self) -> str:
        return MemstoneError.__str__(self)  # that of KeyError would be the key in quotes


class AccessError(MemstoneError):
    """Who asks may not."""

    code = "access"


class Unauthenticated(AccessError):
    """No key, or one that is unknown, expired or revoked."""

    code = "unauthenticated"
    default_hint = "send Authorization: Bearer <key>; `memstone keys create` makes one"


class TokenExpired(Unauthenticated):
    """The token of somebody who is logged in has expired; the session goes on."""

    code = "token_expired"
    default_hint = "ask for another one with the refresh token: POST /v1/auth/refresh"


class Forbidden(AccessError):
    """The key does not reach so far."""

    code = "forbidden"


class TooManyRequests(AccessError):
    """A limit of this service; later it will do."""

    code = "too_many_requests"
    retryable = True

    def __init__(self, message: str, *, retry_after: float = 1.0, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class Conflict(MemstoneError):
    """The same thing is already stored, or the memory changed meanwhile."""

    code = "conflict"


class QuotaExceeded(MemstoneError):
    """As much is stored as may be; nothing was written. ``quota`` is the setting, ``limit`` its value."""

    code = "quota_exceeded"

    def __init__(self, message: str, *, quota: str = "", limit: int = 0, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.quota: str = quota
        self.limit: int = limit


class BackendError(MemstoneError):
    """A service Memstone was configured to use failed."""

    code = "backend"

    def __init__(self, message: str, *, kind: str = "", name: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.kind: str = kind
        self.name: str = name


class VectorStoreError(BackendError):
    """The vector store failed."""

    code = "vector_store"


class BackendUnavailable(BackendError):
    """The service cannot be reached now; ``retry_after`` is how many seconds it asks to be left alone, if it does."""

    code = "backend_unavailable"
    retryable = True
    retry_after: float | None = None


class BackendTimeout(BackendError, TimeoutError):
    """The service did not answer in time."""

    code = "backend_timeout"
    retryable = True


class BackendRejected(BackendError):
    """The service refused the request."""

    code = "backend_rejected"


class Unsupported(BackendError):
    """The backend lacks a capability the call needs."""

    code = "unsupported"


class ModelError(MemstoneError):
    """A language or embedding model failed."""

    code = "model"


class LLMError(ModelError):
    """The language model failed."""

    code = "llm"


class BadModelOutput(LLMError):
    """The model answered with something that cannot be used; ``raw`` is as much of it as there is."""

    code = "bad_model_output"

    def __init__(self, message: str, *, raw: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.raw = raw


class AnswerCutOff(BadModelOutput):
    """The answer reached the limit of tokens; ``raw`` is its beginning."""

    code = "answer_cut_off"
    default_hint = "give this model more max_tokens, or send fewer messages at once"


class ModelRefused(LLMError):
    """The model, or a filter before it, does not want to answer."""

    code = "model_refused"
    default_hint = "the same messages will be refused again; another model may answer"


class LlmUnavailable(LLMError):
    """The model is out of reach, or has failed so often in a row that it is not asked for a while."""

    code = "llm_unavailable"
    retryable = True


class LlmBudgetSpent(LLMError):
    """A language model may cost only so much in a day; the curator goes on without it."""

    code = "llm_budget_spent"
    default_hint = "the curator learns until tomorrow; server.llm_tokens_per_day changes that"


EmbeddingReason = Literal["no_key", "rate_limited", "timeout", "request_failed"]


class EmbeddingError(ModelError):
    """The embedding model failed; ``reason`` says in one word how."""

    code = "embedding"

    def __init__(self, message: str, *, reason: EmbeddingReason = "request_failed", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason: EmbeddingReason = reason


class RateLimited(ModelError):
    """The provider asked us to slow down."""

    code = "rate_limited"
    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class AuthenticationFailed(ModelError):
    """The provider refused the key."""

    code = "authentication_failed"
    default_hint = "check the api_key of this provider"


def embedding_reason(error: MemstoneError) -> EmbeddingReason:
    """Why a text has no vector, in one word, whichever error it met. A key that is refused is as good as none."""
    if isinstance(error, EmbeddingError):
        return error.reason
    if isinstance(error, AuthenticationFailed):
        return "no_key"
    if isinstance(error, RateLimited):
        return "rate_limited"
    return "timeout" if isinstance(error, BackendTimeout) else "request_failed"


class StorageError(MemstoneError):
    """The database file itself."""

    code = "storage"


class SchemaTooNew(StorageError):
    """The file was written by a newer Memstone."""

    code = "schema_too_new"
    default_hint = "upgrade Memstone, or restore the backup that was made before the upgrade"


class MigrationFailed(StorageError):
    """A schema migration did not apply; the database is unchanged."""

    code = "migration_failed"


class StorageReadOnly(StorageError):
    """The file or its directory cannot be written."""

    code = "storage_read_only"
    default_hint = "check the permissions of the file and of its directory"


class StorageFull(StorageError):
    """The disk is full; the write was rolled back."""

    code = "storage_full"
    default_hint = "free some space and try again; nothing that was acknowledged is lost"


class StorageBusy(StorageError):
    """Another process held the write lock for too long."""

    code = "storage_busy"
    retryable = True
    default_hint = "try again; if it stays so, look for a process that holds a transaction open"


class Corrupted(StorageError):
    """The file is damaged, or is not a Memstone database."""

    code = "corrupted"
    default_hint = "restore a backup; `memstone doctor` shows what is damaged"


MemoryError = MemstoneError  # noqa: A001 - the alias other libraries' callers look for; never exported
