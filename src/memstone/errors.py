"""Every error that Memstone raises on purpose.

::

    MemstoneError(message, code, hint, retryable)
    ├─ UsageError(ValueError)        the call was wrong; nothing was written
    │  ├─ ScopeError                 no user, agent or run was given, or an id is malformed
    │  ├─ InvalidFilter              unknown operator, wrong value for an operator
    │  ├─ InvalidInput               text, metadata or a date that cannot be stored
    │  ├─ TooLarge                   over a size limit
    │  ├─ DimensionMismatch          a vector of the wrong length, or not finite
    │  ├─ ConfigError                a setting is unknown or out of range
    │  ├─ NeedsEventLoop             an adapter that only AsyncMemory can use
    │  └─ MissingExtra(ImportError)  the feature needs a package that is not installed
    ├─ NotFoundError(KeyError)       no such memory
    ├─ AccessError                   the caller is not allowed to do this
    │  ├─ Unauthenticated            no key, or an unknown, expired or revoked one
    │  │  └─ TokenExpired            the access token expired: refresh it
    │  ├─ Forbidden                  the key does not have access
    │  └─ TooManyRequests(retry_after)
    ├─ Conflict                      already stored, or changed in the meantime
    ├─ QuotaExceeded(quota, limit)   a quota is used up
    ├─ BackendError(kind, name)      a service that Memstone uses
    │  ├─ VectorStoreError
    │  ├─ GraphStoreError
    │  ├─ BackendUnavailable         (retryable)
    │  ├─ BackendTimeout(TimeoutError)
    │  ├─ BackendRejected
    │  └─ Unsupported                the backend lacks a capability
    ├─ ModelError                    a language or embedding model
    │  ├─ LLMError
    │  │  ├─ BadModelOutput(raw)     an unusable answer
    │  │  │  └─ AnswerCutOff         it reached the token limit
    │  │  ├─ ModelRefused
    │  │  ├─ LlmUnavailable          (retryable)
    │  │  └─ LlmBudgetSpent          today's tokens are used up
    │  ├─ EmbeddingError(reason)
    │  ├─ RateLimited(retry_after)   (retryable)
    │  └─ AuthenticationFailed
    └─ StorageError                  the database
       ├─ SchemaTooNew
       ├─ MigrationFailed
       ├─ StorageReadOnly
       ├─ StorageFull
       ├─ StorageBusy                (retryable)
       ├─ EncryptionError            the key is missing or wrong, or the store is not encrypted as configured
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
        """Return the form in which all interfaces report an error."""
        return {"code": self.code, "message": self.message, "hint": self.hint, "retryable": self.retryable}


class UsageError(MemstoneError, ValueError):
    """The call was wrong; nothing was written."""

    code = "usage"


class ScopeError(UsageError):
    """The call names no user, agent or run, or an id is malformed."""

    code = "scope"


class InvalidFilter(UsageError):
    """The filter cannot be applied; filters are never ignored."""

    code = "invalid_filter"


class InvalidInput(UsageError):
    """A text, metadata or a date cannot be stored."""

    code = "invalid_input"


class TooLarge(UsageError):
    """The value is over a size limit."""

    code = "too_large"


class DimensionMismatch(UsageError):
    """A vector has the wrong length, or contains NaN or infinity."""

    code = "dimension_mismatch"


class ConfigError(UsageError):
    """A setting is unknown or out of range."""

    code = "config"


class NeedsEventLoop(UsageError):
    """An adapter needs an event loop, which the blocking `Memory` does not have."""

    code = "needs_event_loop"
    default_hint = "use AsyncMemory with this adapter"


class MissingExtra(UsageError, ImportError):
    """The feature needs a package that is not installed."""

    code = "missing_extra"


def install_hint(extras: str) -> str:
    """Return how extras are installed, from an index or in a clone."""
    return f"pip install 'memstone[{extras}]', or '.[{extras}]' in a clone"


class NotFoundError(MemstoneError, KeyError):
    """No memory with that id."""

    code = "not_found"
    default_hint = "if the memory was deleted, history(id) still shows what it was"

    def __str__(self) -> str:
        return MemstoneError.__str__(self)  # that of KeyError would be the key in quotes


class AccessError(MemstoneError):
    """The caller is not allowed to do this."""

    code = "access"


class Unauthenticated(AccessError):
    """There is no key, or it is unknown, expired or revoked."""

    code = "unauthenticated"
    default_hint = "send Authorization: Bearer <key>; create a key with `memstone keys create`"


class TokenExpired(Unauthenticated):
    """The access token has expired; the login session is still valid."""

    code = "token_expired"
    default_hint = "use the refresh token to get another: POST /v1/auth/refresh"


class Forbidden(AccessError):
    """The key does not have access."""

    code = "forbidden"


class TooManyRequests(AccessError):
    """A rate limit of this service was reached."""

    code = "too_many_requests"
    retryable = True

    def __init__(self, message: str, *, retry_after: float = 1.0, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class Conflict(MemstoneError):
    """The same thing is already stored, or the memory changed in the meantime."""

    code = "conflict"


class QuotaExceeded(MemstoneError):
    """A quota is used up; nothing was written. ``quota`` is the setting, ``limit`` its value."""

    code = "quota_exceeded"

    def __init__(self, message: str, *, quota: str = "", limit: int = 0, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.quota: str = quota
        self.limit: int = limit


class BackendError(MemstoneError):
    """A service that Memstone uses failed."""

    code = "backend"

    def __init__(self, message: str, *, kind: str = "", name: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.kind: str = kind
        self.name: str = name


class VectorStoreError(BackendError):
    """The vector store failed."""

    code = "vector_store"


class GraphStoreError(BackendError):
    """The graph database failed."""

    code = "graph_store"


class BackendUnavailable(BackendError):
    """The service cannot be reached; ``retry_after`` is how many seconds it asks to wait, if it does."""

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
    """The model returned something unusable; ``raw`` is as much of it as there is."""

    code = "bad_model_output"

    def __init__(self, message: str, *, raw: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.raw = raw


class AnswerCutOff(BadModelOutput):
    """The answer reached the token limit; ``raw`` is its beginning."""

    code = "answer_cut_off"
    default_hint = "raise max_tokens for this model, or send fewer messages at once"


class ModelRefused(LLMError):
    """The model, or a filter in front of it, refused to answer."""

    code = "model_refused"
    default_hint = "the same messages will be refused again; another model may answer"


class LlmUnavailable(LLMError):
    """The model cannot be reached, or failed so often in a row that it is not called for a while."""

    code = "llm_unavailable"
    retryable = True


class LlmBudgetSpent(LLMError):
    """Today's language model tokens are used up; the curator learns without it."""

    code = "llm_budget_spent"
    default_hint = "the curator learns instead until tomorrow; server.llm_tokens_per_day sets the limit"


EmbeddingReason = Literal["no_key", "rate_limited", "timeout", "request_failed"]


class EmbeddingError(ModelError):
    """The embedding model failed; ``reason`` says why, in one word."""

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
    """Return why a text has no vector, in one word, whichever error it met.

    A key that is refused is as good as none.
    """
    if isinstance(error, EmbeddingError):
        return error.reason
    if isinstance(error, AuthenticationFailed):
        return "no_key"
    if isinstance(error, RateLimited):
        return "rate_limited"
    return "timeout" if isinstance(error, BackendTimeout) else "request_failed"


class StorageError(MemstoneError):
    """The database failed."""

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
    default_hint = "check the permissions of the file and its directory"


class StorageFull(StorageError):
    """The disk is full; the write was rolled back."""

    code = "storage_full"
    default_hint = "free some space and try again; nothing that was acknowledged is lost"


class StorageBusy(StorageError):
    """Another process held the write lock for too long."""

    code = "storage_busy"
    retryable = True
    default_hint = "try again; if it keeps happening, look for a process with a long transaction"


class EncryptionError(StorageError):
    """The key of an encrypted store is missing or wrong, or the store is not encrypted as configured."""

    code = "encryption"
    default_hint = "restore the key from your copy of it; nothing was changed"


class Corrupted(StorageError):
    """The file is damaged, or is not a Memstone database."""

    code = "corrupted"
    default_hint = "restore a backup; `memstone doctor` shows what is damaged"


MemoryError = MemstoneError  # noqa: A001 - the alias other libraries' callers look for; never exported
