"""A LangGraph ``BaseStore`` over a memory: its items are memories like any other.

```python
store = MemstoneStore(Memory())
graph = builder.compile(store=store)
```

An item is one fact of the user ``user_id``. Its value, namespace and key are metadata; the texts of its indexed fields
are what a query is compared with. History, undo, export and expiry work as for every other memory.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    validate_op_namespace,
)

from memstone.errors import NotFoundError
from memstone.memory import Memory

PAGE: Final = 1_000
EVERYTHING: Final = "$"
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "$eq": lambda value, wanted: bool(value == wanted),
    "$ne": lambda value, wanted: bool(value != wanted),
    "$gt": lambda value, wanted: value is not None and float(value) > float(wanted),
    "$gte": lambda value, wanted: value is not None and float(value) >= float(wanted),
    "$lt": lambda value, wanted: value is not None and float(value) < float(wanted),
    "$lte": lambda value, wanted: value is not None and float(value) <= float(wanted),
}


class MemstoneStore(BaseStore):
    """A store of LangGraph in a memory of Memstone.

    ``fields`` are the paths of a value that a query is compared with; by default the whole value. ``ttl`` is
    LangGraph's configuration of expiry, in minutes. Secrets are masked before they are stored, as in every memory.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: str = "langgraph",
        fields: Sequence[str] = (EVERYTHING,),
        ttl: TTLConfig | None = None,
    ) -> None:
        self.memory = memory
        self.user_id = user_id
        self.fields = tuple(fields)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: all reads see the state before, and of several writes of one item the last counts."""
        wanted = list(ops)
        for op in wanted:
            validate_op_namespace(op)
        results = [None if isinstance(op, PutOp) else self._read(op) for op in wanted]
        for put in {(op.namespace, op.key): op for op in wanted if isinstance(op, PutOp)}.values():
            self._put(put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same without blocking the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list_namespaces(op)
        raise ValueError(f"unknown operation {type(op).__name__}")

    # --- one item -----------------------------------------------------------------------------------------------------

    def _get(self, op: GetOp) -> Item | None:
        found = self._find(op.namespace, op.key)
        if found is None:
            return None
        if op.refresh_ttl:
            self._refresh([found])
        return Item(**_item_fields(found))

    def _find(self, namespace: tuple[str, ...], key: str) -> Mapping[str, Any] | None:
        filters = {"memory.key": _item_key(namespace, key)}
        found = self.memory.get_all(user_id=self.user_id, filters=filters, limit=1)["results"]
        return found[0] if found else None

    def _put(self, op: PutOp) -> None:
        if op.value is None:
            self._delete(op)
            return
        ttl = op.ttl if op.ttl is not None else (self.ttl_config or {}).get("default_ttl")
        until = None if ttl is None else _now() + timedelta(minutes=ttl)
        name, (text, *more) = _item_key(op.namespace, op.key), self._texts(op)
        prefixes = [_join(op.namespace[:size]) for size in range(1, len(op.namespace) + 1)]
        metadata = {
            "namespace": list(op.namespace),
            "prefixes": prefixes,
            "key": op.key,
            "value": dict(op.value),
            "indexed": op.index is not False,
            **({"ttl": ttl} if ttl is not None else {}),
        }
        known = self._store(name, text, metadata, until)
        part = {"part_of": name, "prefixes": prefixes, "indexed": True}
        for number, one in enumerate(more, 1):
            self._store(f"{name}:{number}", one, part, until)
        if known:
            wanted = {f"{name}:{number}" for number in range(1, len(more) + 1)}
            self._remove(row for row in self._parts(name) if row["key"] not in wanted)

    def _store(self, name: str, text: str, metadata: dict[str, Any], until: datetime | None) -> bool:
        """Store a text under a key, in place of what is there; return whether something was."""
        answer = self.memory.add(text, user_id=self.user_id, infer=False, key=name, metadata=metadata, expires_at=until)
        (result,) = answer["results"]
        if result["event"] == "NONE":  # the text was known, but the value or the expiry may be other ones
            self.memory.update(result["id"], text, metadata=metadata, expires_at=until)
        elif result["event"] == "UPDATE" and until is None:
            stored = self.memory.get(result["id"])
            if stored is not None and stored["expires_at"] is not None:
                self.memory.update(result["id"], expires_at=None)
        return result["event"] != "ADD"

    def _parts(self, name: str) -> list[Mapping[str, Any]]:
        """Return the further texts of an item: one for each indexed field after the first."""
        filters = {"metadata.part_of": name}
        return list(self.memory.get_all(user_id=self.user_id, filters=filters, limit=PAGE)["results"])

    def _delete(self, op: PutOp) -> None:
        found = self._find(op.namespace, op.key)
        if found is not None:
            self._remove([found, *self._parts(str(found["key"]))])

    def _remove(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            with suppress(NotFoundError):  # somebody else was quicker
                self.memory.delete(row["id"])

    def _texts(self, op: PutOp) -> list[str]:
        """Return what a query is compared with: the text of each indexed field, and at least one."""
        paths = op.index if isinstance(op.index, list) else self.fields
        texts = [text for path in paths for text in get_text_at_path(op.value, path)] if op.index is not False else []
        return [text for text in texts if text.strip()] or [op.key or _join(op.namespace)]

    def _refresh(self, found: Iterable[Mapping[str, Any]]) -> None:
        """Let items live as long again as they were meant to, because somebody has read them."""
        for item in found:
            ttl = item["metadata"].get("ttl")
            if ttl is not None:
                until = _now() + timedelta(minutes=ttl)
                for row in (item, *self._parts(str(item["key"]))):
                    self.memory.update(row["id"], expires_at=until)

    # --- many items ---------------------------------------------------------------------------------------------------

    def _search(self, op: SearchOp) -> list[SearchItem]:
        rows = self._rank_items(op) if op.query else self._all_items(op.namespace_prefix)
        matching = [row for row in rows if _matches(row["metadata"]["value"], op.filter or {})]
        found = matching[op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            self._refresh(found)
        return [SearchItem(**_item_fields(row), score=row.get("score")) for row in found]

    def _rank_items(self, op: SearchOp) -> list[Mapping[str, Any]]:
        """Return the items of a namespace, those that answer the query first; what is not indexed comes last.

        An item with several texts counts with the best of them.
        """
        rows = {str(row["key"]): row for row in self._all_items(op.namespace_prefix)}
        filters = {**_within(op.namespace_prefix), "metadata.indexed": True}
        hits = self.memory.search(
            str(op.query), user_id=self.user_id, filters=filters, limit=PAGE, layers="fact", min_score=0.0
        )["results"]
        ranked: dict[str, Mapping[str, Any]] = {}
        for hit in hits:
            name = str(hit["metadata"].get("part_of") or hit["key"])
            if name in rows:
                ranked.setdefault(name, {**rows[name], "score": hit["score"]})
        return [*ranked.values(), *(row for name, row in rows.items() if name not in ranked)]

    def _all_items(self, prefix: tuple[str, ...]) -> list[Mapping[str, Any]]:
        rows: list[Mapping[str, Any]] = []
        while True:
            filters = {**_within(prefix), "metadata.namespace": {"exists": True}}
            page = self.memory.get_all(
                user_id=self.user_id, filters=filters, limit=PAGE, offset=len(rows), layers="fact"
            )["results"]
            rows += page
            if len(page) < PAGE:
                return rows

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {tuple(row["metadata"]["namespace"]) for row in self._all_items(())}
        chosen = (one for one in found if all(_fits(one, condition) for condition in op.match_conditions or ()))
        names = sorted({one[: op.max_depth] if op.max_depth is not None else one for one in chosen})
        return names[op.offset : op.offset + op.limit]


# --- names ------------------------------------------------------------------------------------------------------------


def _now() -> datetime:
    return datetime.now(UTC)


def _join(labels: Sequence[str]) -> str:
    """Return labels as one text; labels hold no period, so no two lists give the same."""
    return ".".join(labels)


def _item_key(namespace: tuple[str, ...], key: str) -> str:
    """Return the key of an item's memory: of bounded length, and the same for the same item only."""
    return "langgraph:" + hashlib.sha256(json.dumps([*namespace, None, key]).encode()).hexdigest()


def _within(prefix: tuple[str, ...]) -> dict[str, Any]:
    return {"metadata.prefixes": {"contains": _join(prefix)}} if prefix else {"metadata.prefixes": {"exists": True}}


def _item_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    metadata = row["metadata"]
    times = {name: datetime.fromisoformat(row[name]) for name in ("created_at", "updated_at")}
    return {"namespace": tuple(metadata["namespace"]), "key": metadata["key"], "value": metadata["value"], **times}


# --- conditions -------------------------------------------------------------------------------------------------------


def _matches(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(_compare(value.get(name), condition) for name, condition in wanted.items())


def _compare(value: Any, wanted: Any) -> bool:
    """Return whether a field is as it is wanted: an equal value, or operators such as ``$gt``."""
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_operator(name)(value, one) for name, one in wanted.items())
        return isinstance(value, Mapping) and _matches(value, wanted)
    if isinstance(wanted, (list, tuple)):
        pairs = zip(value, wanted, strict=False) if isinstance(value, (list, tuple)) else ()
        return isinstance(value, (list, tuple)) and len(value) == len(wanted) and all(_compare(*one) for one in pairs)
    return bool(value == wanted)


def _operator(name: str) -> Callable[[Any, Any], bool]:
    if name not in _COMPARE:
        raise ValueError(f"unknown operator {name}: use one of {', '.join(_COMPARE)}")
    return _COMPARE[name]


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Return whether a namespace begins or ends like a path, in which ``*`` stands for any label."""
    path = condition.path
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
