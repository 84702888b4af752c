"""mem0's methods over Memstone's, once for blocking, asyncio and HTTP.

Each method is a coroutine over ``Native``, which calls the method of Memstone that has the same name or is in a
group. With blocking methods nothing ever waits, so ``drive`` carries the coroutine from its first line to its last.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from memstone.compat.mem0 import answers, arguments
from memstone.errors import InvalidInput, NotFoundError

Native: TypeAlias = Callable[..., Awaitable[Any]]
"""Calls a method of Memstone by its name: ``await native("graph.relations", user_id="alice")``."""

"""Asks a model what a procedure was; None where there is no model."""

UNSET: Final[Any] = object()
"""Stands for an argument that was left out, where None has a meaning of its own."""

RELATIONS: Final = 100


def native_of(target: Any) -> Native:
    """Return what calls the methods of an object, which may be plain functions or coroutines."""

    async def call(name: str, *args: Any, **options: Any) -> Any:
        found: Any = target
        for part in name.split("."):
            found = getattr(found, part)
        answer = found(*args, **options)
        return await answer if inspect.isawaitable(answer) else answer

    return call


async def add_messages(native: Native, messages: Any, options: Mapping[str, Any], *, graph: bool) -> dict[str, Any]:
    """Add messages; a procedure is one memory of its own."""
    made = arguments.add_options(options)
    usable = arguments.usable_messages(messages)
    if options.get("memory_type") == arguments.PROCEDURAL and options.get("agent_id") is not None:
        return await _add_procedure(native, usable, made)
    if not usable:
        return {"results": []}
    answer = await native("add", usable, **made)
    made_answer: dict[str, Any] = {"results": answers.added_items(answer, usable, infer=made.get("infer", True))}
    if graph:
        texts = [str(one["memory"]) for one in made_answer["results"]]
        found = await _list_relations(native, made, texts, "target") if texts else []
        made_answer["relations"] = {"added_entities": found, "deleted_entities": []}
    return made_answer


async def _add_procedure(native: Native, messages: list[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Store one memory of how something was done: in a model's words if there is one, else as it was said."""
    kept = {name: value for name, value in options.items() if name != "infer"}
    answer = await native("add", messages, kind="procedural", **kept)
    return {"results": [{name: one[name] for name in ("id", "memory", "event")} for one in answer["results"]]}


async def search_memories(native: Native, query: Any, options: Mapping[str, Any], *, graph: bool) -> dict[str, Any]:
    """Find memories; with a graph also the relations of what was found."""
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("query is blank", hint="give a query; get_all lists everything")
    made = arguments.search_options(options)
    limit = made["limit"]
    answer = await native("search", query.strip(), **{**made, "limit": max(limit, 1)})
    hits = [answers.searched_item(one, made["min_score"]) for one in answer["results"][:limit]]
    if not graph:
        return {"results": hits}
    texts = [query, *(hit["memory"] for hit in hits)]
    return {"results": hits, "relations": await _list_relations(native, made, texts, "destination")}


async def list_memories(native: Native, options: Mapping[str, Any], *, graph: bool) -> dict[str, Any]:
    """List memories; with a graph also all relations."""
    made = arguments.get_all_options(options)
    limit = made["limit"]
    answer = await native("get_all", **{**made, "limit": max(limit, 1)})
    items = [answers.memory_item(one) for one in answer["results"][:limit]]
    if not graph:
        return {"results": items}
    return {"results": items, "relations": await _list_relations(native, made, [], "target")}


async def _list_relations(
    native: Native, options: Mapping[str, Any], texts: list[str], target: str
) -> list[dict[str, Any]]:
    filters = options.get("filters") or {}
    scope = {name: options.get(name) or filters.get(name) for name in arguments.SCOPE}
    found = await native("graph.relations", **scope, limit=RELATIONS)
    return answers.related_items(found["results"], texts, target)


async def get_memory(native: Native, memory_id: str) -> dict[str, Any] | None:
    """Return one memory, or None."""
    item = await native("get", memory_id)
    return None if item is None else {**answers.memory_item(item), "score": None}


async def update_memory(
    native: Native, memory_id: str, text: str | None, metadata: Mapping[str, Any] | None, expiration_date: Any
) -> dict[str, str]:
    """Change a memory; new metadata is merged into what is there."""
    changes: dict[str, Any] = {}
    if text is not None:
        changes["text"] = text
    if expiration_date is not UNSET:
        changes["expires_at"] = arguments.expires_at(expiration_date)
    if metadata is not None:
        item = await native("get", memory_id)
        if item is None:
            raise answers.MemoryNotFound(memory_id)
        changes["metadata"] = arguments.merge_metadata(item["metadata"], metadata)
    if not changes:
        raise InvalidInput("nothing to change", hint="give text, metadata or expiration_date")
    await _find_or_fail(native("update", memory_id, **changes), memory_id)
    return dict(answers.UPDATED)


async def delete_memory(native: Native, memory_id: str) -> dict[str, str]:
    """Delete a memory."""
    await _find_or_fail(native("delete", memory_id), memory_id)
    return dict(answers.DELETED)


async def _find_or_fail(call: Awaitable[Any], memory_id: str) -> None:
    try:
        await call
    except NotFoundError as error:
        raise answers.MemoryNotFound(memory_id) from error


async def delete_memories(native: Native, options: Mapping[str, Any]) -> dict[str, str]:
    """Delete all memories of somebody."""
    made = arguments.drop_ignored(options)
    if made.get("filters"):
        made["filters"] = arguments.translate_filters(made["filters"])
    await native("delete_all", **made)
    return dict(answers.ALL_DELETED)


async def list_history(native: Native, memory_id: str) -> list[dict[str, Any]]:
    """List what happened to a memory."""
    return answers.history_items(await native("history", memory_id))
