"""The names that mem0 has for arguments: ``top_k`` is ``limit``, ``threshold`` is ``min_score``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memstone import async_memory, memory
from memstone.core.checks.arguments import resolve_argument_alias

if TYPE_CHECKING:
    from collections.abc import Mapping


def _rename_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments under our names; raise ``InvalidInput`` where one is given under both."""
    values = dict(options)
    for name, alias in (("limit", "top_k"), ("min_score", "threshold")):
        if alias in values:
            values[name] = resolve_argument_alias(name, values.get(name), alias, values.pop(alias))
    return values


class Memory(memory.Memory):
    """A memory that takes mem0's names as well."""

    def search(self, query: str, **options: Any) -> Any:
        """Find memories, as ``memstone.Memory.search`` does."""
        return super().search(query, **_rename_arguments(options))

    def get_all(self, **options: Any) -> Any:
        """List memories, as ``memstone.Memory.get_all`` does."""
        return super().get_all(**_rename_arguments(options))


class AsyncMemory(async_memory.AsyncMemory):
    """The same for asyncio."""

    async def search(self, query: str, **options: Any) -> Any:
        """Find memories, as ``memstone.AsyncMemory.search`` does."""
        return await super().search(query, **_rename_arguments(options))

    async def get_all(self, **options: Any) -> Any:
        """List memories, as ``memstone.AsyncMemory.get_all`` does."""
        return await super().get_all(**_rename_arguments(options))
