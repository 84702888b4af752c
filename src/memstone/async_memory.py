"""``Memory``, the blocking interface.

Made from ``memory.py`` by ``scripts/make_async_api.py``: do not edit, change the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from memstone.api.aio.verbs import AsyncMemoryVerbs
from memstone.compose import EmbedderLike, LlmLike, RerankerLike, Tokenizer, compose_engine
from memstone.config import Settings
from memstone.ports.io import Clock


class AsyncMemory(AsyncMemoryVerbs):
    """The memory of an application.

    ``AsyncMemory()`` stores everything in one SQLite file in your home directory and sends nothing anywhere.
    ``config`` is a dictionary or ``Settings``. ``embedder``, ``llm`` and ``reranker`` may be objects or plain functions
    (``list[str] -> 2-d array``, ``list[message] -> str``, ``(query, list[str]) -> scores``), which ``AsyncMemory`` also
    takes as async functions; ``clock`` returns the current time. ``tokenizer`` (``str -> int``) says how many tokens a
    text has; without it, that is a quarter of the characters.
    """

    def __init__(
        self,
        config: Settings | Mapping[str, Any] | None = None,
        *,
        embedder: EmbedderLike | None = None,
        llm: LlmLike | None = None,
        reranker: RerankerLike | None = None,
        clock: Clock | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self.engine = compose_engine(
            config,
            "asyncio",
            embedder=embedder,
            llm=llm,
            reranker=reranker,
            clock=clock,
            tokenizer=tokenizer,
        )

    @classmethod
    def from_config(cls, config: Settings | Mapping[str, Any]) -> Self:
        """Create a memory from settings, as ``AsyncMemory(config)`` does."""
        return cls(config)

    @classmethod
    def from_env(cls) -> Self:
        """Create a memory with providers chosen by keys in the environment, such as ``OPENAI_API_KEY``.

        Text is then sent to those providers.
        """
        return cls(Settings.from_env())

    def acting_for(self, tenant_id: str, *, user_id: str | None = None, agent_id: str | None = None) -> Self:
        """Return the same memory for one tenant, or for one user or agent of it.

        It shares everything with this one; close only this one. Anything outside is not found, and calls about a
        whole tenant are refused if you name a user or an agent. Use it in services with many callers.
        """
        other = object.__new__(type(self))
        other.engine = self.engine.acting_for(tenant_id, user_id, agent_id)
        return other

    async def close(self) -> None:
        """Close the store. A closed memory cannot be used again.

        It first learns from the sessions that wait in this process, as far as ``write.shutdown_seconds`` allow; the
        next start, or another worker, does the rest.
        """
        await self.engine.close()

    async def __aenter__(self) -> Self:
        await self.engine.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
