"""``conversations.json`` and ``memories.json`` of a Claude data export.

A message is its blocks of text; what tools gave, reasoning and attachments are no words of anybody and stay out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from memstone.core.importers import markdown
from memstone.core.importers.items import Item, Reading, Sort, id_of, mapping_of, text_of, word_of
from memstone.core.importers.times import first
from memstone.model.instant import Instant

_ROLES: Final = {"human": "user", "user": "user", "assistant": "assistant"}
_MEMORIES: Final = ("conversations_memory", "project_memories")


def read(given: Sequence[Any], into: Reading) -> None:
    """All conversations, in the order of the file; and what Claude wrote down by itself, where the file holds that."""
    for at, one in enumerate(given):
        told = mapping_of(one)
        if isinstance(told.get("chat_messages"), list):
            _conversation(told, at, into)
        elif told.keys() & set(_MEMORIES):
            _memories(told, into)
        else:
            into.skip("not a conversation")


def is_memories(one: Mapping[str, Any]) -> bool:
    """Whether an object is of ``memories.json``."""
    return bool(one.keys() & set(_MEMORIES))


def _conversation(told: Mapping[str, Any], at: int, into: Reading) -> None:
    last = first(told.get("created_at"), told.get("updated_at"))
    name = id_of(told.get("uuid")) or f"{last}:{at}"
    for one in told["chat_messages"]:
        message = mapping_of(one)
        last = first(message.get("created_at")) or last
        role = _ROLES.get(str(message.get("sender")).lower(), "")
        attached = message.get("attachments")
        into.skip("attachment", len(attached) if isinstance(attached, list) else 0)
        if role:
            into.add(_turn(message, role, last, name, word_of(told.get("name"))))
        else:
            into.skip("system or tool")


def _turn(message: Mapping[str, Any], role: str, when: Instant | None, name: str, title: str) -> Item:
    return Item(_text(message), Sort.TURN, role, occurred_at=when, conversation=name, title=title)


def _text(message: Mapping[str, Any]) -> str:
    """The blocks that are text; older exports have one text for all."""
    blocks = message.get("content")
    found = [mapping_of(block) for block in blocks] if isinstance(blocks, list) else []
    words = [text_of(block.get("text")) for block in found if block.get("type") == "text"]
    return "\n".join(filter(None, words)) or text_of(message.get("text"))


def _memories(told: Mapping[str, Any], into: Reading) -> None:
    """What the assistant has noted about the user is a note of somebody else's, line by line."""
    inside = Reading(into.most)
    for text in _noted(told):
        markdown.read(text, inside)
    for item in inside.items:
        into.add(replace(item, role="assistant"))
    into.skipped.update(inside.skipped)


def _noted(told: Mapping[str, Any]) -> Iterator[str]:
    projects = mapping_of(told.get("project_memories"))
    for value in (told.get("conversations_memory"), *projects.values()):
        if isinstance(value, str):
            yield value
