"""Memstone in agent frameworks: one module each, which imports its framework when needed."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from memstone.async_client import AsyncClient
from memstone.async_memory import AsyncMemory
from memstone.client import Client
from memstone.memory import Memory

AnyMemory: TypeAlias = AsyncMemory | AsyncClient | Memory | Client
"""A memory in this process or in a service, for asyncio or blocking."""


async def call_method(method: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a method of any memory from a coroutine: a blocking one runs in a thread."""
    if inspect.iscoroutinefunction(method):
        return await method(*args, **options)
    return await asyncio.to_thread(method, *args, **options)
