"""The tools a model may use.

They take the argument names of the gateway's own clients (``apiKeyId``, ``type``, ``sessionId`` …) as well as those of
this product (``user_id``, ``kind``, ``session_id`` …). Both stand in the schema, and in ``docs/guides/mcp.md``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from memstone.model.access import Verb
from memstone.server.mcp.actions import (
    BREADTHS,
    FOUND,
    LAYERS,
    LISTED,
    MOST_TOKENS,
    add_memory,
    clear_memories,
    delete_memory,
    list_memories,
    recall_context,
    search_memories,
)
from memstone.server.mcp.spec import STRING, Argument, Json, ToolSpec

_KINDS: Final = ["factual", "episodic", "procedural", "semantic"]


def _text(most: int = 256) -> Json:
    return {"type": "string", "minLength": 1, "maxLength": most}


def _number(least: int, most: int, default: int | None = None) -> Json:
    form: Json = {"type": "integer", "minimum": least, "maximum": most}
    return form if default is None else {**form, "default": default}


_OWNER: Final = (
    Argument("user_id", _text(), "Whose memory; leave it out if there is only one user."),
    Argument("apiKeyId", _text(), "The same by the id of a key: the user it is bound to, or the pool of the key."),
)
_KIND: Final = Argument("kind", {"type": "string", "enum": _KINDS}, "Only memories of this kind.", "type")
_SESSION: Final = Argument("session_id", _text(), "Only what belongs to this session.", "sessionId")
_QUERY: Final = Argument("query", _text(50_000), "What to look for, in words of your own.")
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
_ID: Final = Argument("id", _text(), "The id of a memory, as the other tools tell it.", "memoryId")

# --- what they answer -------------------------------------------------------------------------------------------------

_COUNT: Final = {"type": "integer", "minimum": 0}
_ENTRY: Final = {
    "type": "object",
    "properties": {
        "id": STRING,
        "apiKeyId": {**STRING, "description": "Whose it is: the id of a key for its pool, else of the user."},
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
        "sharedBy": {**STRING, "description": "Whose it is, where another user shared it: it is not about the user."},
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
        "Find what is remembered about the user, by words and meaning; nothing when nothing is alike. Without a query "
        "the newest memories.",
        (
            _QUERY,
            _WHERE,
            _KIND,
            _SESSION,
            Argument("limit", _number(1, 100, FOUND), "At most so many memories."),
            Argument("max_tokens", _number(1, MOST_TOKENS), "At most so many tokens of text.", "maxTokens"),
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
        "Remember something: what it teaches, else its words. With a key or a kind it is stored as it is, once; the "
        "same key again replaces it. Works also where memory is switched off for chats.",
        (
            Argument("content", _text(50_000), "What to remember."),
            Argument("key", _text(512), "A name of your own for it."),
            Argument("kind", {"type": "string", "enum": _KINDS}, "What kind of memory it is.", "type"),
            Argument("metadata", {"type": "object"}, "Whatever belongs to it."),
            Argument("session_id", _text(), "The session it was said in.", "sessionId"),
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
        "List memories, the newest first.",
        (
            _PART,
            _KIND,
            _SESSION,
            Argument("limit", _number(1, 100, LISTED), "At most so many memories."),
            Argument("offset", _number(0, 1_000_000, 0), "How many to pass over."),
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
        "Delete all memories of a kind, of a session, or created before a time. It has to be told which: all of them "
        "only with confirm.",
        (
            _KIND,
            Argument("older_than", _text(40), "Only what was created before this date or time.", "olderThan"),
            _SESSION,
            Argument("confirm", {"type": "boolean"}, "True deletes everything of the owner, if nothing else is named."),
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
        "What is worth knowing before answering a message, within a budget of tokens; empty if nothing helps.",
        (
            Argument("query", _text(50_000), "The message."),
            Argument("budget", _number(0, 16_000), "At most so many tokens.", "maxTokens"),
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


def tools(prefix: str = "") -> dict[str, ToolSpec]:
    """Return every tool by its name."""
    named = (one if one.name == _FIXED else replace(one, name=prefix + one.name) for one in _SPECS)
    return {one.name: one for one in named}
