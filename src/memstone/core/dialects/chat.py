"""Chat completions: a list of messages with roles."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any, Final

from memstone.core.dialects.base import Block, Body, Heard, Said, is_chore, text_of
from memstone.core.dialects.chat_tools import ChatTools
from memstone.core.dialects.tooling import mappings, table
from memstone.core.showing.capability import SystemRole
from memstone.core.showing.inject import INSTRUCTING, Position, injected, instruction, last_user, prefixed

_MARK: Final = "[DONE]"


class Chat:
    """See ``memstone.core.dialects.base.Dialect``."""

    path: Final = "/chat/completions"
    tooling: Final = ChatTools()

    def spoken(self, body: Body) -> Any:
        """The messages."""
        return body.get("messages")

    def question(self, body: Body) -> str:
        """The words of the last user message."""
        last = self._last(body)
        return "" if last is None else text_of(last.get("content")).strip()

    def messages(self, body: Body) -> list[dict[str, Any]]:
        """The last user message, if it is not a chore of the application."""
        last = self._last(body)
        if last is None or not last.get("content"):
            return []
        return [{"role": "user", "content": last["content"]}]

    def goes_on(self, body: Body) -> bool:
        """A message of the role ``tool``, or ``function`` in the old way, after the last one of the user."""
        roles = (one.get("role") for one in reversed(mappings(body.get("messages"))))
        return any(role in ("tool", "function") for role in takewhile(lambda role: role != "user", roles))

    def _last(self, body: Body) -> Mapping[str, Any] | None:
        given = body.get("messages")
        if not isinstance(given, list):
            return None
        users = (one for one in reversed(given) if isinstance(one, Mapping) and one.get("role") == "user")
        last = next(users, None)
        return None if last is None or is_chore(text_of(last.get("content"))) else last

    def with_memory(self, body: Body, block: Block) -> dict[str, Any]:
        """The messages with the block in its place, as far as the model takes system messages."""
        given = body.get("messages")
        if not isinstance(given, list) or not block.whole:
            return dict(body)
        return {**body, "messages": _placed(given, block)}

    def whole(self, reply: Body) -> Heard:
        """The first choice's words."""
        heard = Heard(usage=dict(table(reply.get("usage"))), finished=True)
        for choice in mappings(reply.get("choices"))[:1]:
            heard.text.append(text_of(table(choice.get("message")).get("content")))
        return heard

    def piece(self, heard: Heard, event: Body) -> None:
        """Take the next chunk."""
        heard.usage = dict(table(event.get("usage")) or heard.usage)
        for choice in mappings(event.get("choices")):
            if choice.get("index", 0) == 0:
                heard.text.append(text_of(table(choice.get("delta")).get("content")))
                heard.finished = heard.finished or bool(choice.get("finish_reason"))

    def ends(self, name: str, data: str) -> bool:  # noqa: ARG002 - other dialects go by the name
        """The mark at the end of a stream."""
        return data.strip() == _MARK

    closes = ends

    def shown(self, memories: list[dict[str, Any]], closing: Body) -> Said:  # noqa: ARG002 - a mark holds nothing
        """A chunk without choices, as the one that tells the usage."""
        return "", {"id": "memstone", "object": "chat.completion.chunk", "choices": [], "memories": memories}

    def broken(self, message: str, error: Body) -> Said:
        """A chunk with an error."""
        return "", {"error": {"message": message, "type": "upstream_error", "code": "upstream_cut", **error}}


def _placed(messages: list[Any], block: Block) -> list[Any]:
    match block.system:
        case SystemRole.YES:
            return injected(messages, (block.whole, block.stable, block.volatile), block.position)
        case SystemRole.NO:
            return _no_system(messages, block)
        case _:
            return _first_only(messages, block)


def _no_system(messages: list[Any], block: Block) -> list[Any]:
    """What would stand in a system message is the first message of the user."""
    lead, beside = block.among_the_users() if last_user(messages) is not None else (block.whole, "")
    moved = prefixed(messages, beside) if beside else list(messages)
    return [{"role": "user", "content": lead}, *moved] if lead else moved


def _first_only(messages: list[Any], block: Block) -> list[Any]:
    """What is stable at the front of the one system message, what changes before the words of the last user message."""
    if block.position in (Position.SYSTEM_FIRST, Position.SYSTEM_MERGE) or last_user(messages) is None:
        return _fronted(messages, block.whole)
    if block.position is Position.PREFIX_LAST_USER:
        return prefixed(messages, block.whole)
    moved = prefixed(messages, block.volatile) if block.volatile else list(messages)
    return _fronted(moved, block.stable) if block.stable else moved


def _fronted(messages: list[Any], text: str) -> list[Any]:
    first = messages[0] if messages and isinstance(messages[0], Mapping) else {}
    if first.get("role") not in INSTRUCTING:
        return [instruction(text, messages), *messages]
    content = first.get("content")
    joined = [{"type": "text", "text": text}, *content] if isinstance(content, list) else f"{text}\n\n{content or ''}"
    return [{**first, "content": joined}, *messages[1:]]
