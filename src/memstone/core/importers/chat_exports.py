"""``conversations.json`` of a ChatGPT data export: a tree of messages for each conversation.

Taken is the branch that was open last. What tools and systems wrote, tool calls, reasoning and hidden messages are no
words of anybody and stay out; custom instructions are what the user wrote about themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from memstone.core.importers import tables
from memstone.core.importers.items import (
    Sort,
    SourceItem,
    SourceReader,
    first_time,
    id_of,
    mapping_of,
    text_of,
    word_of,
)
from memstone.model.instant import Instant

# --- ``conversations.json`` of a ChatGPT data export ------------------------------------------------------------------


_SPOKEN: Final = ("user", "assistant")
_WORDS: Final = ("text", "multimodal_text")
_INSTRUCTIONS: Final = ("about_user_message", "about_model_message")


def read_chatgpt(conversations: Sequence[Any], into: SourceReader) -> None:
    """Read all conversations, in the order of the file."""
    for at, one in enumerate(conversations):
        if isinstance(one, Mapping) and isinstance(one.get("mapping"), Mapping):
            _read_conversation(one, at, into)
        else:
            into.skip("not a conversation")


def _read_conversation(answer: Mapping[str, Any], at: int, into: SourceReader) -> None:
    nodes: Mapping[str, Any] = answer["mapping"]
    begun = first_time(answer.get("create_time"), answer.get("update_time"))
    name = id_of(answer.get("conversation_id") or answer.get("id")) or f"{begun}:{at}"
    branch = _current_branch(nodes, answer.get("current_node"))
    current = [key for key, node in nodes.items() if mapping_of(mapping_of(node).get("message"))]
    into.skip("another branch", sum(_is_spoken(nodes[key]) for key in current if key not in branch))
    last = begun
    for key in branch:
        message = mapping_of(mapping_of(nodes[key]).get("message"))
        if message:
            last = first_time(message.get("create_time")) or last
            _read_message(
                message, SourceItem("", Sort.TURN, conversation=name, title=word_of(answer.get("title"))), last, into
            )


def _is_spoken(node: Any) -> bool:
    message = mapping_of(mapping_of(node).get("message"))
    return mapping_of(message.get("author")).get("role") in _SPOKEN


def _current_branch(nodes: Mapping[str, Any], current: object) -> dict[str, None]:
    """Return the ids from the first message to the one that was shown last."""
    leaf = current if isinstance(current, str) and current in nodes else _last_leaf(nodes)
    return dict.fromkeys(reversed(list(_walk_to_root(nodes, leaf))))


def _walk_to_root(nodes: Mapping[str, Any], leaf: str | None) -> Iterator[str]:
    seen: set[str] = set()
    while leaf is not None and leaf in nodes and leaf not in seen:
        seen.add(leaf)
        yield leaf
        parent = mapping_of(nodes[leaf]).get("parent")
        leaf = parent if isinstance(parent, str) else None


def _last_leaf(nodes: Mapping[str, Any]) -> str | None:
    """Return the newest message that nothing follows, where there is no word on what was open last."""
    leaves = [key for key, node in nodes.items() if not mapping_of(node).get("children")]
    return max(leaves or list(nodes), key=lambda key: _told_at(nodes[key]), default=None)


def _told_at(node: Any) -> str:
    return first_time(mapping_of(mapping_of(node).get("message")).get("create_time")) or ""


def _read_message(message: Mapping[str, Any], shape: SourceItem, when: Instant | None, into: SourceReader) -> None:
    author, content = mapping_of(message.get("author")), mapping_of(message.get("content"))
    about, role = mapping_of(message.get("metadata")), str(author.get("role"))
    if content.get("content_type") == "user_editable_context" or about.get("is_user_system_message"):
        _read_instructions(about, when, into)
    elif role not in _SPOKEN:
        into.skip("system or tool")
    elif about.get("is_visually_hidden_from_conversation"):
        into.skip("hidden")
    elif content.get("content_type") not in _WORDS or message.get("recipient", "all") != "all":
        into.skip("tool call or reasoning")
    else:
        name = word_of(author.get("name"))
        into.add(replace(shape, text=_join_parts(content), role=role, name=name, occurred_at=when))


def _read_instructions(about: Mapping[str, Any], when: Instant | None, into: SourceReader) -> None:
    answer = mapping_of(about.get("user_context_message_data"))
    for name in _INSTRUCTIONS:
        if text := text_of(answer.get(name)):
            kind = "procedural" if name == _INSTRUCTIONS[1] else None
            into.add(SourceItem(text, occurred_at=when, kind=kind, metadata={"from": "custom instructions"}))


def _join_parts(content: Mapping[str, Any]) -> str:
    parts = content.get("parts")
    return "\n".join(filter(None, map(_part_text, parts if isinstance(parts, list) else [])))


def _part_text(part: Any) -> str:
    """Return a part that is words, or what was spoken; pictures and files are not taken along."""
    if isinstance(part, Mapping):
        return text_of(part.get("text")) if part.get("content_type") == "audio_transcription" else ""
    return text_of(part)


# --- ``conversations.json`` and ``memories.json`` of a Claude data export ---------------------------------------------


_ROLES: Final = {"human": "user", "user": "user", "assistant": "assistant"}
_MEMORIES: Final = ("conversations_memory", "project_memories")


def claude_read(items: Sequence[Any], into: SourceReader) -> None:
    """Read all conversations, in the order of the file, and what Claude wrote down by itself, if the file has it."""
    for at, one in enumerate(items):
        answer = mapping_of(one)
        if isinstance(answer.get("chat_messages"), list):
            _claude_conversation(answer, at, into)
        elif answer.keys() & set(_MEMORIES):
            _read_memories(answer, into)
        else:
            into.skip("not a conversation")


def is_memories(one: Mapping[str, Any]) -> bool:
    """Return whether an object is of ``memories.json``."""
    return bool(one.keys() & set(_MEMORIES))


def _claude_conversation(answer: Mapping[str, Any], at: int, into: SourceReader) -> None:
    last = first_time(answer.get("created_at"), answer.get("updated_at"))
    name = id_of(answer.get("uuid")) or f"{last}:{at}"
    for one in answer["chat_messages"]:
        message = mapping_of(one)
        last = first_time(message.get("created_at")) or last
        role = _ROLES.get(str(message.get("sender")).lower(), "")
        attached = message.get("attachments")
        into.skip("attachment", len(attached) if isinstance(attached, list) else 0)
        if role:
            into.add(_build_turn(message, role, last, name, word_of(answer.get("name"))))
        else:
            into.skip("system or tool")


def _build_turn(message: Mapping[str, Any], role: str, when: Instant | None, name: str, title: str) -> SourceItem:
    return SourceItem(_claude_text(message), Sort.TURN, role, occurred_at=when, conversation=name, title=title)


def _claude_text(message: Mapping[str, Any]) -> str:
    """Return the blocks that are text; older exports have one text for all."""
    blocks = message.get("content")
    found = [mapping_of(block) for block in blocks] if isinstance(blocks, list) else []
    words = [text_of(block.get("text")) for block in found if block.get("type") == "text"]
    return "\n".join(filter(None, words)) or text_of(message.get("text"))


def _read_memories(answer: Mapping[str, Any], into: SourceReader) -> None:
    """Read what the assistant has noted about the user as notes of somebody else, line by line."""
    inside = SourceReader(into.most)
    for text in _memory_texts(answer):
        tables.markdown_read(text, inside)
    for item in inside.items:
        into.add(replace(item, role="assistant"))
    into.skipped.update(inside.skipped)


def _memory_texts(answer: Mapping[str, Any]) -> Iterator[str]:
    projects = mapping_of(answer.get("project_memories"))
    for value in (answer.get("conversations_memory"), *projects.values()):
        if isinstance(value, str):
            yield value
