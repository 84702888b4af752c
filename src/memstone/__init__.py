"""Memstone: the memory of AI applications.

>>> from memstone import Memory
>>> memory = Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}})
>>> _ = memory.add("I live in Oslo", user_id="alice")
>>> memory.search("Where does she live? Oslo?", user_id="alice")["results"][0]["memory"]
'User lives in Oslo.'

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memstone.errors import (
    BackendError,
    Conflict,
    EmbeddingError,
    LLMError,
    MemstoneError,
    NotFoundError,
    ScopeError,
    StorageError,
    UsageError,
    VectorStoreError,
)

if TYPE_CHECKING:
    from memstone.async_client import AsyncClient
    from memstone.async_memory import AsyncMemory
    from memstone.client import Client
    from memstone.config import Settings
    from memstone.core.showing.inject import inject
    from memstone.language.text.normal import estimate_tokens
    from memstone.memory import Memory

__version__ = "0.2.0"

__all__ = [
    "AsyncClient",
    "AsyncMemory",
    "BackendError",
    "Client",
    "Conflict",
    "EmbeddingError",
    "LLMError",
    "Memory",
    "MemstoneError",
    "NotFoundError",
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
    "AsyncClient": "memstone.async_client",
    "AsyncMemory": "memstone.async_memory",
    "Client": "memstone.client",
    "Memory": "memstone.memory",
    "Settings": "memstone.config",
    "estimate_tokens": "memstone.language.text.normal",
    "inject": "memstone.core.showing.inject",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'memstone' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
