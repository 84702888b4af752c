"""Convert Memstone's answers into those of mem0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from memstone.compat.mem0.arguments import PROCEDURAL, SCOPE

UPDATED: Final = {"message": "Memory updated successfully!"}
DELETED: Final = {"message": "Memory deleted successfully!"}
ALL_DELETED: Final = {"message": "Memories deleted successfully!"}
_SHOWN_EVENTS: Final = {"REPLACE": "UPDATE"}


class MemoryNotFound(ValueError):
    """There is no such memory; mem0 raises a ``ValueError`` where Memstone raises ``NotFoundError``."""

    def __init__(self, memory_id: str) -> None:
        super().__init__(f"memory with id {memory_id} not found")


# --- a memory ---------------------------------------------------------------------------------------------------------


def memory_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a memory as mem0 shows it; ids, speaker and expiry are in it only where they are set."""
    metadata = dict(item.get("metadata") or {})
    if item.get("kind") == "procedural":
        metadata["memory_type"] = PROCEDURAL
    made = {"id": item["id"], "memory": item["memory"], "hash": item.get("hash"), "metadata": metadata or None}
    if "score" in item:
        made["score"] = item["score"]
    made |= {name: _with_offset(item.get(name)) for name in ("created_at", "updated_at")}
    role, actor = item.get("role"), item.get("actor")
    more = {name: item.get(name) for name in SCOPE}
    more |= {"actor_id": actor if actor != role else None, "role": role, "attributed_to": role}
    more["expiration_date"] = expiration_date(item.get("expires_at"))
    return made | {name: value for name, value in more.items() if value}


def searched_item(item: Mapping[str, Any], threshold: float) -> dict[str, Any]:
    """Return a hit; with ``explain`` the parts of its score under mem0's names."""
    made = memory_item(item)
    parts = item.get("score_parts")
    if parts is not None:
        made["score_details"] = {
            "semantic_score": parts.get("semantic", 0.0),
            "bm25_score": parts.get("keyword", 0.0),
            "entity_boost": parts.get("entity", 0.0),
            "final_score": item["score"],
            "threshold": threshold,
        }
    return made


def expiration_date(value: str | None) -> str | None:
    """Return the last day on which a memory is shown."""
    if value is None:
        return None
    return (datetime.fromisoformat(value) - timedelta(microseconds=1)).date().isoformat()


def _with_offset(value: str | None) -> str | None:
    """Return a time as mem0 writes it: UTC as an offset."""
    return None if value is None else value.removesuffix("Z") + ("+00:00" if value.endswith("Z") else "")


# --- what became of messages ------------------------------------------------------------------------------------------


def added_items(answer: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], *, infer: bool) -> list[Any]:
    """Return what an ``add`` did; with ``infer=False`` every message that is stored, with its speaker."""
    results = answer["results"]
    if infer:
        return [_change_item(one) for one in results if one["event"] != "NONE"]
    spoken = [one for one in messages if one["role"] in ("user", "assistant")]
    speakers = spoken if len(spoken) == len(results) else [{}] * len(results)
    return [
        {**_change_item(one), "actor_id": speaker.get("name") or None, "role": speaker.get("role")}
        for one, speaker in zip(results, speakers, strict=True)
    ]


def _change_item(one: Mapping[str, Any]) -> dict[str, Any]:
    event = _SHOWN_EVENTS.get(one["event"], one["event"])
    made = {"id": one["id"], "memory": one["memory"], "event": event}
    return {**made, "previous_memory": one.get("old_memory")} if event == "UPDATE" else made


def history_items(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the history of a memory in mem0's columns: since when it is there, and when each change was."""
    created = _with_offset(events[0]["timestamp"]) if events else None
    role, actor = _speaker_of(events)
    return [
        {
            "id": one["id"],
            "memory_id": one["memory_id"],
            "old_memory": one["old_value"],
            "new_memory": one["new_value"],
            "event": _SHOWN_EVENTS.get(one["event"], one["event"]),
            "created_at": created,
            "updated_at": _with_offset(one["timestamp"]),
            "is_deleted": one["is_deleted"],
            "actor_id": actor,
            "role": role,
        }
        for one in events
    ]


def _speaker_of(events: Iterable[Mapping[str, Any]]) -> tuple[str | None, str | None]:
    """Return the role and the name of the speaker, as far as the history tells them."""
    states = [state for one in events for state in (one.get("before"), one.get("after")) if state]
    role = next((state["source_role"] for state in states if state.get("source_role")), None)
    name = next((data["speaker"] for state in states if (data := state.get("data") or {}).get("speaker")), None)
    return role, name if name != role else None


# --- relations --------------------------------------------------------------------------------------------------------


def related_items(relations: Iterable[Mapping[str, Any]], texts: Sequence[str], target: str) -> list[dict[str, Any]]:
    """Return the relations that still hold and that some text mentions; all of them if there are no texts."""
    heard = " ".join(texts).casefold()
    return [
        {"source": one["source"], "relationship": one["relation"], target: one["target"]}
        for one in relations
        if one["valid_to"] is None
        and (not texts or one["source"].casefold() in heard or one["target"].casefold() in heard)
    ]
