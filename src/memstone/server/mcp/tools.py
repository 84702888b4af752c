"""The seven MCP tools.

They take the argument names of the gateway's own clients (``apiKeyId``, ``type``, ``sessionId`` …) as well as those of
this product (``user_id``, ``kind``, ``session_id`` …). Both are in the schema, and in ``docs/guides/mcp.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from memstone.engine.access.admission import key_of
from memstone.engine.add_request import AddRequest
from memstone.engine.preview import count_tokens
from memstone.engine.recall.gate import asks_about_user
from memstone.errors import Conflict, InvalidInput
from memstone.model.access import Verb
from memstone.model.instant import parse_when
from memstone.model.query import And, Condition, Op, ScoreParts, Where
from memstone.server.mcp.spec import STRING, Argument, Json, ToolSpec, ToolUse

if TYPE_CHECKING:
    from memstone.literals import LayerName
    from memstone.results import AddResult

# --- what the tools do to the memory a caller reaches, and what they answer -------------------------------------------


LAYERS: Final[dict[str, LayerName]] = {"pinned": "fact", "episodes": "episode", "transcript": "turn"}
"""The parts of a memory as a model names them."""

BREADTHS: Final = {"session": "session", "apiKey": "owner", "owner": "owner", "global": "global"}
"""Whose memories are searched: of the session, of its owner, or also what belongs to everybody."""

MOST_TOKENS: Final = 8_000
FOUND: Final = 10
LISTED: Final = 50
"""How much a call gets that does not say how much it wants."""


def entry_of(item: Mapping[str, Any]) -> Json:
    """Return a memory in the names of the gateway's clients."""
    output: Json = {
        "id": item["id"],
        "apiKeyId": key_of(item["user_id"]),
        "sessionId": item["run_id"] or "",
        "type": item["kind"] or "",
        "layer": item["layer"],
        "key": item["key"] or "",
        "content": item["memory"],
        "metadata": item["metadata"],
        "date": item["occurred_at"][:10],
        "createdAt": item["created_at"],
        "updatedAt": item["updated_at"],
        "expiresAt": item["expires_at"],
    }
    shared = {"sharedBy": item["shared_by"]} if "shared_by" in item else {}
    return {**output, **shared, **({"score": item["score"]} if isinstance(item.get("score"), float) else {})}


async def _visible_results(call: ToolUse, answer: Any) -> list[Json]:
    """Return what was found, in whichever form a memory is configured to answer, without what no model is to see."""
    from memstone.engine.recall.provenance import private_turns  # it brings numpy, which nobody asked for at the start

    found: list[Json] = answer["results"] if isinstance(answer, dict) else answer
    turns = [one["id"] for one in found if one["layer"] == "turn"]
    private = await call.memory.engine.run(private_turns, turns)
    return [one for one in found if one.get("visibility") != "private" and one["id"] not in private]


# --- search and list --------------------------------------------------------------------------------------------------


async def search_memories(call: ToolUse) -> Json:
    """Return what is alike, or the newest, within a budget of tokens."""
    values, owner = call.arguments, await call.owner()
    policy = await call.policy(owner)
    wanted = {**_search_scope(call), "user_id": owner, "limit": values.get("limit", FOUND)}
    if not policy.retrieval.token_budget:  # no budget, no memory: the caller
        return {"memories": [], "count": 0, "totalTokens": 0}
    if "query" not in values:
        found = await _visible_results(call, await call.memory.search("", strategy="recent", **wanted))
    else:
        found = await _visible_results(call, await call.memory.search(values["query"], explain=True, **wanted))
        found = found if policy.strategy == "recent" else await _select_similar(call, values["query"], found)
    costs = await call.memory.engine.run(count_tokens, [one["memory"] for one in found])
    return _cut_to_budget(found, costs, values.get("max_tokens", min(policy.retrieval.token_budget, MOST_TOKENS)))


def _search_scope(call: ToolUse) -> Json:
    """Return where a search looks: in which layers, in which session, and whether beyond the owner's memories."""
    values, scope = call.arguments, call.arguments.get("scope")
    layer, breadth, kind = LAYERS.get(scope or ""), BREADTHS.get(scope or ""), values.get("kind")
    if layer not in (None, "fact") and kind:
        raise InvalidInput("kind applies to facts, that is the scope pinned", hint="leave it out")
    session = call.session or (call.session_id if breadth == "session" else None)
    if breadth == "session" and session is None:
        raise InvalidInput("the scope session needs session_id", hint="name the session, or leave out the scope")
    return {
        "layers": [layer] if layer else None,
        "scope": breadth,
        "run_id": session,
        "filters": Condition("kind", Op.EQ, kind) if kind else None,
    }


async def _select_similar(call: ToolUse, query: str, found: list[Json]) -> list[Json]:
    """Return the hits that have something to do with a query; a question about the user is about all of them."""
    alike = [one for one in found if ScoreParts(**one["score_parts"]).is_alike]
    if alike or not found:
        return alike
    about_user = await call.memory.engine.run(asks_about_user, query)
    return found if about_user else []


def _cut_to_budget(found: Sequence[Json], costs: Sequence[int], most: int) -> Json:
    """Return the hits within a budget of tokens, in their order; the first is always there."""
    memories, total = list[Json](), 0
    for one, cost in zip(found, costs, strict=True):
        if memories and total + cost > most:
            break
        memories.append(entry_of(one))
        total += cost
    return {"memories": memories, "count": len(memories), "totalTokens": total}


async def list_memories(call: ToolUse) -> Json:
    """Return a page of memories, the newest first."""
    values, layer = call.arguments, LAYERS.get(call.arguments.get("scope", ""))
    answer = await call.memory.get_all(
        user_id=await call.owner(),
        run_id=call.session,
        kind=values.get("kind"),
        layers=[layer] if layer else None,
        limit=values.get("limit", LISTED),
        offset=values.get("offset", 0),
        counts=True,
    )
    memories = [entry_of(one) for one in await _visible_results(call, answer)]
    return {"memories": memories, "count": len(memories), "total": answer["total"]}


# --- add --------------------------------------------------------------------------------------------------------------


async def add_memory(call: ToolUse) -> Json:
    """Remember something; ``Conflict`` when nothing comes of it."""
    from memstone.engine.add_note import add_note

    values = call.arguments
    request = AddRequest(values["content"], await call.owner(), run_id=call.session, metadata=values.get("metadata"))
    request.key, request.kind = values.get("key"), values.get("kind")
    answer = await call.memory.engine.run(add_note, request)
    changes = [{"id": one["id"], "event": one["event"], "content": one["memory"]} for one in answer["results"]]
    if not changes and answer["status"] != "deferred":
        raise Conflict(f"nothing was stored: {_why_nothing(answer)}", hint=answer.get("hint", ""))
    there = next((one["id"] for one in changes if one["id"] and one["event"] != "DELETE"), None)
    stored = await call.memory.get(there) if there else None
    return {
        "memory": None if stored is None else entry_of(stored),
        "message": _describe_changes(changes),
        "changes": changes,
    }


def _why_nothing(answer: AddResult) -> str:
    if answer.get("left_out"):
        return "the user has deleted or changed it, or it asks to forget something unknown"
    return str(answer.get("reason") or next(iter(answer.get("warnings") or ()), "there is nothing to remember in it"))


def _describe_changes(changes: Sequence[Json]) -> str:
    """Return what became of it, in words a model understands."""
    if not changes:
        return "it is stored, and Memstone will learn from it when the model is available again"
    events = [one["event"] for one in changes if one["event"] != "NONE"]
    if not events:
        return "it was already known"
    words = {"ADD": "stored", "UPDATE": "updated", "DELETE": "deleted"}
    counted = [f"{events.count(event)} {words.get(event, event.lower())}" for event in dict.fromkeys(events)]
    return "memories: " + ", ".join(counted)


# --- delete and clear -------------------------------------------------------------------------------------------------


async def delete_memory(call: ToolUse) -> Json:
    """Delete one memory."""
    await call.memory.delete(call.arguments["id"])
    return _deletion_answer(1)


async def clear_memories(call: ToolUse) -> Json:
    """Delete what is named, and everything only when that is confirmed."""
    values, wanted = call.arguments, list[Where]()
    if "kind" in values:
        wanted.append(Condition("kind", Op.EQ, values["kind"]))
    if "older_than" in values:
        wanted.append(Condition("created_at", Op.LT, parse_when(values["older_than"], "older_than")))
    if not (wanted or call.session or values.get("confirm")):
        hint = "give kind, older_than or session_id; use confirm: true to delete everything of the owner"
        raise InvalidInput("you did not say what to delete", hint=hint)
    filters = And(tuple(wanted)) if wanted else None
    gone = await call.memory.delete_all(user_id=await call.owner(), run_id=call.session, filters=filters)
    return _deletion_answer(gone["deleted"])


def _deletion_answer(count: int) -> Json:
    return {"deletedCount": count, "message": f"{count} {'memory' if count == 1 else 'memories'} deleted"}


# --- context ----------------------------------------------------------------------------------------------------------


async def recall_context(call: ToolUse) -> Json:
    """Return what is worth knowing before a message is answered."""
    values = call.arguments
    pack = await call.memory.context(values["query"], user_id=await call.owner(), budget=values.get("budget"))
    return {"text": pack.text, "tokens": pack.tokens, "receipt_id": pack.receipt_id}


# --- the tools a model may use ----------------------------------------------------------------------------------------


_KINDS: Final = ["factual", "episodic", "procedural", "semantic"]


def _text_schema(most: int = 256) -> Json:
    return {"type": "string", "minLength": 1, "maxLength": most}


def _integer_schema(least: int, most: int, default: int | None = None) -> Json:
    form: Json = {"type": "integer", "minimum": least, "maximum": most}
    return form if default is None else {**form, "default": default}


_OWNER: Final = (
    Argument("user_id", _text_schema(), "The user whose memory to use; leave it out if there is only one user."),
    Argument(
        "apiKeyId", _text_schema(), "The same, by the id of a key: the user it is bound to, or the pool of the key."
    ),
)
_KIND: Final = Argument("kind", {"type": "string", "enum": _KINDS}, "Only memories of this kind.", "type")
_SESSION: Final = Argument("session_id", _text_schema(), "Only what belongs to this session.", "sessionId")
_QUERY: Final = Argument("query", _text_schema(50_000), "What to look for, in your own words.")
_PART: Final = Argument(
    "scope",
    {"type": "string", "enum": list(LAYERS)},
    "Which part: facts (pinned), sessions (episodes) or what was said (transcript).",
)
_WHERE: Final = Argument(
    "scope",
    {"type": "string", "enum": [*LAYERS, *BREADTHS]},
    "Which part: facts (pinned), sessions (episodes) or what was said (transcript); or whose: of one session, of the "
    "owner (apiKey or owner, which is the default), or also what belongs to everybody (global).",
)
_ID: Final = Argument("id", _text_schema(), "The id of a memory, as returned by the other tools.", "memoryId")

# --- what they answer -------------------------------------------------------------------------------------------------

_COUNT: Final = {"type": "integer", "minimum": 0}
_ENTRY: Final = {
    "type": "object",
    "properties": {
        "id": STRING,
        "apiKeyId": {**STRING, "description": "The owner: the id of a key for its pool, otherwise the id of the user."},
        "sessionId": STRING,
        "type": STRING,
        "layer": {**STRING, "description": "fact, episode, turn (what was said) or identity"},
        "key": STRING,
        "content": STRING,
        "metadata": {"type": "object"},
        "date": {**STRING, "description": "The day it was said."},
        "createdAt": STRING,
        "updatedAt": STRING,
        "expiresAt": {"type": ["string", "null"]},
        "sharedBy": {**STRING, "description": "The owner, if another user shared it: it is not about the user."},
        "score": {"type": "number"},
    },
    "required": ["id", "type", "key", "content"],
}
_MEMORIES: Final = {"type": "array", "items": _ENTRY}

# --- all of them ------------------------------------------------------------------------------------------------------

_READS: Final = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
# What an add replaces stays in the history, and the same again changes nothing.
_ADDS: Final = {**_READS, "readOnlyHint": False}
_DELETES: Final = {**_ADDS, "destructiveHint": True}
_DELETED: Final = {"deletedCount": _COUNT, "message": STRING}
_HITS: Final = {"memories": _MEMORIES, "count": _COUNT, "totalTokens": _COUNT}

_SPECS: Final = (
    ToolSpec(
        "memory_search",
        "Search memory",
        "Find memories about the user by words and meaning; nothing if nothing is similar. Without a query, "
        "return the newest memories.",
        (
            _QUERY,
            _WHERE,
            _KIND,
            _SESSION,
            Argument("limit", _integer_schema(1, 100, FOUND), "Maximum number of memories."),
            Argument("max_tokens", _integer_schema(1, MOST_TOKENS), "Maximum number of tokens of text.", "maxTokens"),
            *_OWNER,
        ),
        (),
        Verb.READ,
        search_memories,
        _HITS,
        _READS,
    ),
    ToolSpec(
        "memory_add",
        "Remember something",
        "Remember something: the facts it states, or else its words. With a key or a kind it is stored as it is, once; "
        "the same key again replaces it. Also works if memory is switched off for chats.",
        (
            Argument("content", _text_schema(50_000), "What to remember."),
            Argument("key", _text_schema(512), "Your own name for it."),
            Argument("kind", {"type": "string", "enum": _KINDS}, "What kind of memory it is.", "type"),
            Argument("metadata", {"type": "object"}, "Additional data to store with it."),
            Argument("session_id", _text_schema(), "The session it was said in.", "sessionId"),
            *_OWNER,
        ),
        ("content",),
        Verb.WRITE,
        add_memory,
        {
            "memory": {"anyOf": [_ENTRY, {"type": "null"}]},
            "message": STRING,
            "changes": {"type": "array", "items": {"type": "object"}},
        },
        _ADDS,
    ),
    ToolSpec(
        "memory_list",
        "List memories",
        "List memories, newest first.",
        (
            _PART,
            _KIND,
            _SESSION,
            Argument("limit", _integer_schema(1, 100, LISTED), "Maximum number of memories."),
            Argument("offset", _integer_schema(0, 1_000_000, 0), "How many to skip."),
            *_OWNER,
        ),
        (),
        Verb.READ,
        list_memories,
        {"memories": _MEMORIES, "count": _COUNT, "total": _COUNT},
        _READS,
    ),
    ToolSpec(
        "memory_delete",
        "Delete a memory",
        "Delete one memory by its id.",
        (_ID,),
        ("id",),
        Verb.WRITE,
        delete_memory,
        _DELETED,
        _DELETES,
    ),
    ToolSpec(
        "memory_clear",
        "Delete memories",
        "Delete all memories of a kind, of a session, or created before a time. Say which; everything is deleted "
        "only with confirm.",
        (
            _KIND,
            Argument("older_than", _text_schema(40), "Only what was created before this date or time.", "olderThan"),
            _SESSION,
            Argument(
                "confirm",
                {"type": "boolean"},
                "True deletes everything of the owner, if nothing else is given.",
            ),
            *_OWNER,
        ),
        (),
        Verb.WRITE,
        clear_memories,
        _DELETED,
        _DELETES,
    ),
    ToolSpec(
        "memory_context",
        "Recall for a message",
        "Return what is worth knowing before answering a message, within a token budget; empty if nothing helps.",
        (
            Argument("query", _text_schema(50_000), "The message."),
            Argument("budget", _integer_schema(0, 16_000), "Maximum number of tokens.", "maxTokens"),
            *_OWNER,
        ),
        ("query",),
        Verb.READ,
        recall_context,
        {"text": STRING, "tokens": _COUNT, "receipt_id": STRING},
        _READS,
        fenced=True,
    ),
    ToolSpec(
        "search_memory",
        "Search a part of memory",
        "Search one part of the memory: pinned, episodes or transcript.",
        (_PART, _QUERY, *_OWNER),
        ("scope", "query"),
        Verb.READ,
        search_memories,
        _HITS,
        _READS,
    ),
)
_FIXED: Final = "search_memory"
"""Another name of the search, which stays as it is whatever the others begin with."""


def tools_by_name(prefix: str = "") -> dict[str, ToolSpec]:
    """Return every tool by its name."""
    named = (one if one.name == _FIXED else replace(one, name=prefix + one.name) for one in _SPECS)
    return {one.name: one for one in named}
