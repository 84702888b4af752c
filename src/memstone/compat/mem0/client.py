"""``MemoryClient`` and ``AsyncMemoryClient`` of mem0, over a service of Memstone.

mem0's clients speak to its hosted service; these speak to ``memstone serve``, so they need an address: ``host``, or
``MEMSTONE_URL`` in the environment.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from memstone import async_client, client
from memstone.compat.mem0 import arguments, verbs
from memstone.compat.mem0.verbs import UNSET
from memstone.drive import drive
from memstone.errors import ConfigError, InvalidInput


def _connection(api_key: str | None, host: str | None) -> tuple[str, str]:
    key = api_key or os.environ.get("MEM0_API_KEY") or os.environ.get("MEMSTONE_KEY")
    address = host or os.environ.get("MEMSTONE_URL")
    if not key:
        raise ConfigError("no key was given", hint="pass api_key, or set MEM0_API_KEY or MEMSTONE_KEY")
    if not address:
        raise ConfigError("no address was given", hint="pass host, such as http://127.0.0.1:8420, or set MEMSTONE_URL")
    return address, key


async def _list_page(native: verbs.Native, options: Mapping[str, Any], *, graph: bool) -> dict[str, Any]:
    """Return one page of memories, and how many there are."""
    made = arguments.get_all_options(options)
    counted = await native("get_all", **{**made, "limit": 1, "page": None, "counts": True})
    total, page, size = counted["total"], made.get("page") or 1, made["limit"]
    answer = await verbs.list_memories(native, {**options, "page": page}, graph=graph)
    following = page + 1 if page * size < total else None
    return {"count": total, "next": following, "previous": page - 1 if page > 1 else None, **answer}


async def _list_users(native: verbs.Native) -> dict[str, Any]:
    """Return everybody who has memories: users, agents and runs."""
    found: list[dict[str, Any]] = []
    for kind in ("user", "agent", "run"):
        answer = await native("admin.list_scopes", kind)
        found += [{"id": one["id"], "name": one["id"], "type": kind} for one in answer["results"]]
    return {"count": len(found), "next": None, "previous": None, "results": found}


async def _delete_users(native: verbs.Native, wanted: Mapping[str, str | None]) -> dict[str, str]:
    """Delete the memories of whoever is named, or of everybody."""
    scopes = [{name: value} for name, value in wanted.items() if value is not None]
    if not scopes:
        users = (await _list_users(native))["results"]
        scopes = [{f"{one['type']}_id": one["id"]} for one in users]
    if not scopes:
        raise InvalidInput("there is nobody to delete")
    for scope in scopes:
        await native("delete_all", **scope)
    return {"message": "Entity deleted successfully." if len(scopes) == 1 else "All users and memories deleted."}


def _updates_of(memories: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"memory_id": one.get("memory_id") or one.get("id"), "text": one.get("text"), "metadata": one.get("metadata")}
        for one in memories
    ]


async def _update_many(native: verbs.Native, memories: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    items = _updates_of(memories)
    for one in items:
        await verbs.update_memory(native, str(one["memory_id"]), one["text"], one["metadata"], UNSET)
    return {"message": f"Successfully updated {len(items)} memories"}


async def _delete_many(native: verbs.Native, memories: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    ids = [str(one["memory_id"]) for one in _updates_of(memories)]
    await native("delete_many", ids)
    return {"message": f"Successfully deleted {len(ids)} memories"}


class MemoryClient(client.Client):
    """A client with the methods, arguments and answers of mem0's, for a service of Memstone at ``host``."""

    def __init__(self, api_key: str | None = None, host: str | None = None, **options: Any) -> None:
        super().__init__(*_connection(api_key, host), **options)

    @property
    def _native(self) -> verbs.Native:
        return verbs.native_of(super())

    def add(self, messages: Any, options: Any = None, **more: Any) -> Any:
        """Learn from messages, or store them as they are with ``infer=False``."""
        made = arguments.options_of(options, more)
        graph = bool(made.get("enable_graph"))
        return drive(verbs.add_messages(self._native, messages, made, graph=graph))

    def search(self, query: Any, options: Any = None, **more: Any) -> Any:
        """Find memories, best first."""
        made = arguments.options_of(options, more)
        return drive(verbs.search_memories(self._native, query, made, graph=bool(made.get("enable_graph"))))

    def get_all(self, options: Any = None, **more: Any) -> Any:
        """List a page of memories, and how many there are."""
        made = arguments.options_of(options, more)
        return drive(_list_page(self._native, made, graph=bool(made.get("enable_graph"))))

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
        **_: Any,
    ) -> Any:
        """Change a memory; metadata is merged."""
        words = data if text is None else text
        return drive(verbs.update_memory(self._native, memory_id, words, metadata, expiration_date))

    def delete(self, memory_id: Any, **_: Any) -> Any:
        """Delete a memory; raise ``ValueError`` if there is none."""
        return drive(verbs.delete_memory(self._native, memory_id))

    def delete_all(self, options: Any = None, **more: Any) -> Any:
        """Delete all memories of a user, an agent or a run."""
        return drive(verbs.delete_memories(self._native, arguments.options_of(options, more)))

    def history(self, memory_id: Any) -> Any:
        """List everything that happened to a memory, oldest first."""
        return drive(verbs.list_history(self._native, memory_id))

    def users(self) -> dict[str, Any]:
        """List everybody who has memories."""
        return drive(_list_users(self._native))

    def delete_users(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Delete the memories of somebody, or of everybody if nobody is named."""
        wanted = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(_delete_users(self._native, wanted))

    def batch_update(self, memories: list[dict[str, Any]]) -> dict[str, str]:
        """Change several memories: each has a ``memory_id`` and ``text`` or ``metadata``."""
        return drive(_update_many(self._native, memories))

    def batch_delete(self, memories: list[dict[str, Any]]) -> dict[str, str]:
        """Delete several memories: each has a ``memory_id``."""
        return drive(_delete_many(self._native, memories))


class AsyncMemoryClient(async_client.AsyncClient):
    """The same for asyncio."""

    def __init__(self, api_key: str | None = None, host: str | None = None, **options: Any) -> None:
        super().__init__(*_connection(api_key, host), **options)

    @property
    def _native(self) -> verbs.Native:
        return verbs.native_of(super())

    async def add(self, messages: Any, options: Any = None, **more: Any) -> Any:
        """Learn from messages, or store them as they are with ``infer=False``."""
        made = arguments.options_of(options, more)
        graph = bool(made.get("enable_graph"))
        return await verbs.add_messages(self._native, messages, made, graph=graph)

    async def search(self, query: Any, options: Any = None, **more: Any) -> Any:
        """Find memories, best first."""
        made = arguments.options_of(options, more)
        return await verbs.search_memories(self._native, query, made, graph=bool(made.get("enable_graph")))

    async def get_all(self, options: Any = None, **more: Any) -> Any:
        """List a page of memories, and how many there are."""
        made = arguments.options_of(options, more)
        return await _list_page(self._native, made, graph=bool(made.get("enable_graph")))

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
        **_: Any,
    ) -> Any:
        """Change a memory; metadata is merged."""
        words = data if text is None else text
        return await verbs.update_memory(self._native, memory_id, words, metadata, expiration_date)

    async def delete(self, memory_id: Any, **_: Any) -> Any:
        """Delete a memory; raise ``ValueError`` if there is none."""
        return await verbs.delete_memory(self._native, memory_id)

    async def delete_all(self, options: Any = None, **more: Any) -> Any:
        """Delete all memories of a user, an agent or a run."""
        return await verbs.delete_memories(self._native, arguments.options_of(options, more))

    async def history(self, memory_id: Any) -> Any:
        """List everything that happened to a memory, oldest first."""
        return await verbs.list_history(self._native, memory_id)

    async def users(self) -> dict[str, Any]:
        """List everybody who has memories."""
        return await _list_users(self._native)

    async def delete_users(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Delete the memories of somebody, or of everybody if nobody is named."""
        wanted = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await _delete_users(self._native, wanted)

    async def batch_update(self, memories: list[dict[str, Any]]) -> dict[str, str]:
        """Change several memories: each has a ``memory_id`` and ``text`` or ``metadata``."""
        return await _update_many(self._native, memories)

    async def batch_delete(self, memories: list[dict[str, Any]]) -> dict[str, str]:
        """Delete several memories: each has a ``memory_id``."""
        return await _delete_many(self._native, memories)
