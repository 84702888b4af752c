"""A memory as a FastAPI dependency: opened with the application, bound to one user.

memories = MemoryProvider({"store": {"url": "sqlite:///app.db"}})
app = FastAPI(lifespan=memories.lifespan)

@app.post("/chat")
async def chat(text: str, memory: Annotated[AsyncMemory, Depends(memories.for_user(current_user))]) -> str: ...
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends

from memstone.async_memory import AsyncMemory
from memstone.config import Settings
from memstone.errors import UsageError


class MemoryProvider:
    """Opens one memory for an application, and hands it to routes.

    The provider itself is a dependency that gives the whole memory; ``for_user`` makes one for a user.
    """

    def __init__(self, config: Settings | Mapping[str, Any] | None = None, **adapters: Any) -> None:
        self._config = config
        self._adapters = adapters
        self._memory: AsyncMemory | None = None

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:  # noqa: ARG002 - the framework hands it over
        """Open the memory when the application starts, and close it at the end."""
        async with AsyncMemory(self._config, **self._adapters) as memory:
            self._memory = memory
            try:
                yield
            finally:
                self._memory = None

    async def __call__(self) -> AsyncMemory:
        """Return the memory of the application."""
        if self._memory is None:
            raise UsageError("the memory is not open", hint="pass the provider's lifespan to FastAPI(lifespan=...)")
        return self._memory

    def for_user(self, user: Callable[..., Any], *, tenant_id: str = "default") -> Callable[..., Any]:
        """Return a dependency that gives the memory of one user, whom another dependency names.

        Whatever belongs to somebody else is not found through it.
        """

        async def memory_of_user(user_id: Annotated[str, Depends(user)]) -> AsyncMemory:
            return (await self()).acting_for(tenant_id, user_id=user_id)

        memory_of_user.__annotations__["user_id"] = Annotated[str, Depends(user)]
        return memory_of_user
