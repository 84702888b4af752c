"""Memstone: long-term memory for AI applications.

>>> from memstone import Memory
>>> memory = Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}})
>>> _ = memory.add("I live in Oslo", user_id="alice")
>>> memory.search("Where does she live? Oslo?", user_id="alice")["results"][0]["memory"]
'User lives in Oslo.'

Names are loaded when they are first used, so that importing the package costs next to nothing. The types of answers
(``AddResult``, ``SearchHit`` and so on) are in ``memstone.results``, the words of arguments in ``memstone.literals``;
the types are found here as well.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memstone.async_client import AsyncClient
    from memstone.async_memory import AsyncMemory
    from memstone.client import Client
    from memstone.config import Settings
    from memstone.core.checks.filters import Filters
    from memstone.core.prompt.inject import inject
    from memstone.errors import (
        AccessError,
        AnswerCutOff,
        AuthenticationFailed,
        BackendError,
        BackendRejected,
        BackendTimeout,
        BackendUnavailable,
        BadModelOutput,
        ConfigError,
        Conflict,
        Corrupted,
        DimensionMismatch,
        EmbeddingError,
        EncryptionError,
        Forbidden,
        GraphStoreError,
        InvalidFilter,
        InvalidInput,
        LlmBudgetSpent,
        LLMError,
        LlmUnavailable,
        MemstoneError,
        MigrationFailed,
        MissingExtra,
        ModelError,
        ModelRefused,
        NeedsEventLoop,
        NotFoundError,
        QuotaExceeded,
        RateLimited,
        SchemaTooNew,
        ScopeError,
        StorageBusy,
        StorageError,
        StorageFull,
        StorageReadOnly,
        TokenExpired,
        TooLarge,
        TooManyRequests,
        Unauthenticated,
        Unsupported,
        UsageError,
        VectorStoreError,
    )
    from memstone.language.text.normal import estimate_tokens
    from memstone.memory import Memory
    from memstone.model.context import ContextPack
    from memstone.results import *  # noqa: F403 - every type of an answer

__version__ = "0.2.0"

__all__ = [
    "AccessError",
    "AnswerCutOff",
    "AsyncClient",
    "AsyncMemory",
    "AuthenticationFailed",
    "BackendError",
    "BackendRejected",
    "BackendTimeout",
    "BackendUnavailable",
    "BadModelOutput",
    "Client",
    "ConfigError",
    "Conflict",
    "ContextPack",
    "Corrupted",
    "DimensionMismatch",
    "EmbeddingError",
    "EncryptionError",
    "Filters",
    "Forbidden",
    "GraphStoreError",
    "InvalidFilter",
    "InvalidInput",
    "LLMError",
    "LlmBudgetSpent",
    "LlmUnavailable",
    "Memory",
    "MemstoneError",
    "MigrationFailed",
    "MissingExtra",
    "ModelError",
    "ModelRefused",
    "NeedsEventLoop",
    "NotFoundError",
    "QuotaExceeded",
    "RateLimited",
    "SchemaTooNew",
    "ScopeError",
    "Settings",
    "StorageBusy",
    "StorageError",
    "StorageFull",
    "StorageReadOnly",
    "TokenExpired",
    "TooLarge",
    "TooManyRequests",
    "Unauthenticated",
    "Unsupported",
    "UsageError",
    "VectorStoreError",
    "__version__",
    "estimate_tokens",
    "inject",
]

_HOMES = {
    "AsyncClient": "memstone.async_client",
    "AsyncMemory": "memstone.async_memory",
    "Client": "memstone.client",
    "ContextPack": "memstone.model.context",
    "Filters": "memstone.core.checks.filters",
    "Memory": "memstone.memory",
    "Settings": "memstone.config",
    "estimate_tokens": "memstone.language.text.normal",
    "inject": "memstone.core.prompt.inject",
}
"""Where names stand that are no errors."""


def __getattr__(name: str) -> Any:
    if name in __all__:
        value = getattr(import_module(_HOMES.get(name, "memstone.errors")), name)
    elif name[0].isupper() and name in (results := import_module("memstone.results")).__all__:
        value = getattr(results, name)
    else:
        raise AttributeError(f"module 'memstone' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
