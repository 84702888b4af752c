"""``Memory`` and ``AsyncMemory`` of mem0, over those of Memstone.

Everything else that a memory of Memstone has (``context``, ``sessions``, ``undo``, …) is there as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from memstone import async_memory, memory
from memstone.compat.mem0 import verbs
from memstone.compat.mem0.settings import translate_config, wants_graph
from memstone.compat.mem0.verbs import UNSET
from memstone.config import Settings
from memstone.drive import drive


def _settings_of(config: Any) -> Settings | dict[str, Any]:
    return config if isinstance(config, Settings) else translate_config(config)


class Memory(memory.Memory):
    """A memory with the methods, arguments and answers of mem0's ``Memory``.

    ``config`` is mem0's configuration, as a dictionary or as its ``MemoryConfig``, or Memstone's own.
    """

    def __init__(self, config: Any = None, **adapters: Any) -> None:
        super().__init__(_settings_of(config), **adapters)
        self.with_graph = not isinstance(config, Settings) and wants_graph(config)

    @classmethod
    def from_config(cls, config_dict: Any) -> Self:
        """Create a memory from mem0's configuration."""
        return cls(config_dict)

    def acting_for(self, tenant_id: str, *, user_id: str | None = None, agent_id: str | None = None) -> Self:
        """Return the same memory for one tenant, or for one user or agent of it."""
        other = super().acting_for(tenant_id, user_id=user_id, agent_id=agent_id)
        other.with_graph = self.with_graph
        return other

    @property
    def _native(self) -> verbs.Native:
        return verbs.native_of(super())

    def _tells_graph(self, options: Mapping[str, Any]) -> bool:
        wanted = options.get("enable_graph")
        return self.with_graph if wanted is None else bool(wanted)

    def add(self, messages: Any, *, metadata: Any = None, **options: Any) -> Any:
        """Learn from messages, or store them as they are with ``infer=False``."""
        options["metadata"] = metadata
        graph = self._tells_graph(options)
        return drive(verbs.add_messages(self._native, messages, options, graph=graph))

    def search(self, query: Any, **options: Any) -> Any:
        """Find memories, best first: at most ``top_k``, with a score of at least ``threshold``."""
        return drive(verbs.search_memories(self._native, query, options, graph=self._tells_graph(options)))

    def get_all(self, **options: Any) -> Any:
        """List memories, the newest first."""
        return drive(verbs.list_memories(self._native, options, graph=self._tells_graph(options)))

    def get(self, memory_id: Any) -> Any:
        """Return one memory by its id, or ``None``."""
        return drive(verbs.get_memory(self._native, memory_id))

    def update(
        self,
        memory_id: Any,
        text: Any = None,
        metadata: Any = None,
        expiration_date: Any = UNSET,
        data: Any = None,
        **options: Any,
    ) -> Any:
        """Change a memory; ``data`` is an older name of ``text``. Metadata is merged."""
        if options:
            return super().update(memory_id, text, metadata=metadata, **options)
        words = data if text is None else text
        return drive(verbs.update_memory(self._native, memory_id, words, metadata, expiration_date))

    def delete(self, memory_id: Any, **options: Any) -> Any:
        """Delete a memory; raise ``ValueError`` if there is none."""
        if options:
            return super().delete(memory_id, **options)
        return drive(verbs.delete_memory(self._native, memory_id))

    def delete_all(self, user_id: Any = None, agent_id: Any = None, run_id: Any = None, **options: Any) -> Any:
        """Delete all memories of a user, an agent or a run."""
        scope = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(verbs.delete_memories(self._native, {**scope, **options}))

    def history(self, memory_id: Any) -> Any:
        """List everything that happened to a memory, oldest first."""
        return drive(verbs.list_history(self._native, memory_id))


class AsyncMemory(async_memory.AsyncMemory):
    """The same for asyncio."""

    def __init__(self, config: Any = None, **adapters: Any) -> None:
        super().__init__(_settings_of(config), **adapters)
        self.with_graph = not isinstance(config, Settings) and wants_graph(config)

    @classmethod
    def from_config(cls, config_dict: Any) -> Self:
        """Create a memory from mem0's configuration."""
        return cls(config_dict)

    def acting_for(self, tenant_id: str, *, user_id: str | None = None, agent_id: str | None = None) -> Self:
        """Return the same memory for one tenant, or for one user or agent of it."""
        other = super().acting_for(tenant_id, user_id=user_id, agent_id=agent_id)
        other.with_graph = self.with_graph
        return other

    @property
    def _native(self) -> verbs.Native:
        return verbs.native_of(super())

    def _tells_graph(self, options: Mapping[str, Any]) -> bool:
        wanted = options.get("enable_graph")
        return self.with_graph if wanted is None else bool(wanted)

    async def add(self, messages: Any, *, metadata: Any = None, **options: Any) -> Any:
        """Learn from messages, or store them as they are with ``infer=False``."""
        options["metadata"] = metadata
        graph = self._tells_graph(options)
        return await verbs.add_messages(self._native, messages, options, graph=graph)

    async def search(self, query: Any, **options: Any) -> Any:
        """Find memories, best first: at most ``top_k``, with a score of at least ``threshold``."""
        return await verbs.search_memories(self._native, query, options, graph=self._tells_graph(options))

    async def get_all(self, **options: Any) -> Any:
        """List memories, the newest first."""
        return await verbs.list_memories(self._native, options, graph=self._tells_graph(options))

    async def get(self, memory_id: Any) -> Any:
        """Return one memory by its id, or ``None``."""
        return await verbs.get_memory(self._native, memory_id)

    async def update(
        self,
        memory_id: Any,
        text: Any = None,
        metadata: Any = None,
        expiration_date: Any = UNSET,
        data: Any = None,
        **options: Any,
    ) -> Any:
        """Change a memory; ``data`` is an older name of ``text``. Metadata is merged."""
        if options:
            return await super().update(memory_id, text, metadata=metadata, **options)
        words = data if text is None else text
        return await verbs.update_memory(self._native, memory_id, words, metadata, expiration_date)

    async def delete(self, memory_id: Any, **options: Any) -> Any:
        """Delete a memory; raise ``ValueError`` if there is none."""
        if options:
            return await super().delete(memory_id, **options)
        return await verbs.delete_memory(self._native, memory_id)

    async def delete_all(self, user_id: Any = None, agent_id: Any = None, run_id: Any = None, **options: Any) -> Any:
        """Delete all memories of a user, an agent or a run."""
        scope = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await verbs.delete_memories(self._native, {**scope, **options})

    async def history(self, memory_id: Any) -> Any:
        """List everything that happened to a memory, oldest first."""
        return await verbs.list_history(self._native, memory_id)
