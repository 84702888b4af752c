"""Convert mem0's arguments; what mem0 refuses is a ``ValueError`` here, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from memstone.compat.mem0.settings import LOG
from memstone.core.checks.arguments import resolve_argument_alias
from memstone.errors import InvalidInput, ScopeError

TOP_K: Final = 20
THRESHOLD: Final = 0.1
PROCEDURAL: Final = "procedural_memory"
SCOPE: Final = ("user_id", "agent_id", "run_id")
IDENTITY: Final = frozenset({*SCOPE, "actor_id"})
_IGNORED: Final = frozenset(
    """async_mode batch_size custom_categories enable_graph excludes fields immutable includes keyword_search org_id
    output_format rerank source version""".split()
)
"""Arguments of mem0, or of its hosted service, that change nothing here."""

_RENAMED: Final = {"actor_id": "memory.actor", "role": "memory.role", "hash": "memory.hash", "data": "memory.text"}
_FIELDS: Final = frozenset({*SCOPE, "created_at", "updated_at"})
_LOGIC: Final = {"AND": "AND", "OR": "OR", "NOT": "NOT", "$and": "AND", "$or": "OR", "$not": "NOT"}


def drop_ignored(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments without those that change nothing here, and without those that are not set."""
    return {name: value for name, value in options.items() if name not in _IGNORED and value is not None}


# --- add --------------------------------------------------------------------------------------------------------------


def add_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``add`` under our names; a model that fails is an error, as in mem0."""
    made = drop_ignored(options)
    if "timestamp" in made:
        made["occurred_at"] = _occurred_at(made.pop("timestamp"))
    if "expiration_date" in made:
        made["expires_at"] = expires_at(made.pop("expiration_date"))
    memory_type = made.pop("memory_type", None)
    if memory_type not in (None, PROCEDURAL):
        raise InvalidInput(f"unknown memory_type {memory_type!r}", hint=f"leave it out, or use {PROCEDURAL!r}")
    if not any(made.get(name) not in (None, "") for name in SCOPE) and "project_id" not in made:
        raise ScopeError("name at least one of user_id, agent_id and run_id")
    return {"strict": True, **made} if made.get("infer", True) else made


def _occurred_at(value: Any) -> Any:
    """Return when something was said; the hosted service of mem0 counts seconds since 1970."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return datetime.fromtimestamp(value, UTC) if is_number else value


def usable_messages(messages: Any) -> list[Any]:
    """Return messages as a list without those that have no role or no content, which mem0 skips."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if isinstance(messages, Mapping):
        return [messages]
    if not isinstance(messages, list):
        raise InvalidInput(f"messages must be text, a message or a list of messages, not {type(messages).__name__}")
    usable = [one for one in messages if _is_message(one)]
    if len(usable) < len(messages):
        LOG.warning("mem0_messages_skipped", extra={"count": len(messages) - len(usable)})
    return usable


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("role") is not None and value.get("content") is not None


def expires_at(value: Any) -> datetime | None:
    """Return when a memory is hidden: mem0 shows it until its day is over, in UTC."""
    if value is None:
        return None
    if isinstance(value, datetime):
        value = value.date()
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value)
        except ValueError as error:
            raise InvalidInput(f"expiration_date must be a date such as 2026-05-07, not {value!r}") from error
    if not isinstance(value, date):
        raise InvalidInput(f"expiration_date must be a date, not {type(value).__name__}")
    return datetime.combine(value, time(), UTC) + timedelta(days=1)


# --- search and get_all -----------------------------------------------------------------------------------------------


def search_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``search`` under our names, with mem0's defaults."""
    made = _list_options(options)
    threshold = made.pop("threshold", None)
    if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, (int, float))):
        raise InvalidInput(f"threshold must be a number, not {type(threshold).__name__}")
    made["min_score"] = resolve_argument_alias("min_score", made.get("min_score"), "threshold", threshold)
    if made["min_score"] is None:
        made["min_score"] = THRESHOLD
    return made


def get_all_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``get_all`` under our names, with mem0's defaults."""
    made = _list_options(options)
    size = made.pop("page_size", None)
    return {**made, "limit": size} if size is not None else made


def _list_options(options: Mapping[str, Any]) -> dict[str, Any]:
    made = drop_ignored(options)
    top_k = made.pop("top_k", None)
    if top_k is not None and (isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 0):
        raise InvalidInput(f"top_k must be a whole number, at least 0, not {top_k!r}")
    limit = resolve_argument_alias("limit", made.get("limit"), "top_k", top_k)
    made["limit"] = TOP_K if limit is None else limit
    filters = made.pop("filters", None)
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInput(f"filters must be a mapping, not {type(filters).__name__}")
    if not any(name in made for name in SCOPE) and not _names_scope(filters or {}):
        raise ScopeError(
            "filters must name at least one of user_id, agent_id and run_id", hint='filters={"user_id": "alice"}'
        )
    if filters:
        made["filters"] = translate_filters(filters)
    return made


def _names_scope(filters: Mapping[str, Any]) -> bool:
    if any(name in filters for name in SCOPE):
        return True
    parts = filters.get("AND")
    return isinstance(parts, list) and any(isinstance(part, Mapping) and _names_scope(part) for part in parts)


def translate_filters(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a filter of mem0 as one of ours: plain names are metadata, and ``NOT`` means none of its parts."""
    made: dict[str, Any] = {}
    for name, value in filters.items():
        if name not in _LOGIC:
            made[_field_name(name)] = {"in": value} if isinstance(value, list) else value
        elif not isinstance(value, list) or not value:
            raise InvalidInput(f"{name} needs a list of conditions")
        elif _LOGIC[name] == "NOT":
            made["NOT"] = {"OR": _translate_parts(name, value)}
        else:
            made[_LOGIC[name]] = _translate_parts(name, value)
    return made


def _translate_parts(name: str, parts: Iterable[Any]) -> list[dict[str, Any]]:
    made = []
    for part in parts:
        if not isinstance(part, Mapping):
            raise InvalidInput(f"{name} needs a list of conditions, and one of its parts is {type(part).__name__}")
        made.append(translate_filters(part))
    return made


def _field_name(name: str) -> str:
    if name in _FIELDS or name.startswith(("metadata.", "memory.")):
        return name
    return _RENAMED.get(name, f"metadata.{name}")


# --- update -----------------------------------------------------------------------------------------------------------


def merge_metadata(known: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a memory with changes; who it belongs to is no metadata, and cannot be changed so."""
    left_out = sorted(IDENTITY & set(changes))
    if left_out:
        LOG.warning("mem0_identity_in_metadata_ignored", extra={"names": left_out})
    return {**known, **{name: value for name, value in changes.items() if name not in IDENTITY}}


def options_of(options: Any, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a client's call: mem0's option objects, a mapping, or plain keywords."""
    dump: Callable[..., dict[str, Any]] | None = getattr(options, "model_dump", None)
    return {**(dump(exclude_unset=True) if dump else dict(options or {})), **more}
