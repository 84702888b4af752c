"""Retain: the memory of AI applications.

>>> from retain import Memory
>>> memory = Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}})
>>> _ = memory.add("I live in Oslo", user_id="alice")
>>> memory.search("Where does she live? Oslo?", user_id="alice")["results"][0]["memory"]
'User lives in Oslo.'

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from retain.errors import (
    BackendError,
    Conflict,
    EmbeddingError,
    LLMError,
    NotFoundError,
    RetainError,
    ScopeError,
    StorageError,
    UsageError,
    VectorStoreError,
)

if TYPE_CHECKING:
    from retain.async_client import AsyncClient
    from retain.async_memory import AsyncMemory
    from retain.client import Client
    from retain.config import Settings
    from retain.core.showing.inject import inject
    from retain.core.text.tokens import estimate_tokens
    from retain.memory import Memory

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "AsyncMemory",
    "BackendError",
    "Client",
    "Conflict",
    "EmbeddingError",
    "LLMError",
    "Memory",
    "NotFoundError",
    "RetainError",
    "ScopeError",
    "Settings",
    "StorageError",
    "UsageError",
    "VectorStoreError",
    "__version__",
    "estimate_tokens",
    "inject",
]

_LAZY = {
    "AsyncClient": "retain.async_client",
    "AsyncMemory": "retain.async_memory",
    "Client": "retain.client",
    "Memory": "retain.memory",
    "Settings": "retain.config",
    "estimate_tokens": "retain.core.text.tokens",
    "inject": "retain.core.showing.inject",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'retain' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
