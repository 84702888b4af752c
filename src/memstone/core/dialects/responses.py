"""The responses API: instructions, and an input of text or items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memstone.core.dialects.base import Block, Body, Heard, Said, text_of
from memstone.core.dialects.responses_tools import ResponseTools
from memstone.core.dialects.tooling import listed, mappings, table
from memstone.core.showing.capability import SystemRole
from memstone.core.showing.inject import Position

_ENDS: Final = frozenset({"response.completed", "response.failed", "response.incomplete"})


class Responses:
    """See ``memstone.core.dialects.base.Dialect``."""

    path: Final = "/responses"
    tooling: Final = ResponseTools()

    def spoken(self, body: Body) -> Any:
        """The input; a text is one message."""
        given = body.get("input")
        return [given] if isinstance(given, str) else given

    def question(self, body: Body) -> str:
        """The newest words of the user; calls of tools, what they gave back and reasoning are skipped."""
        given = body.get("input")
        if isinstance(given, str):
            return given.strip()
        at = _last_user(given)
        return "" if at is None else text_of(given[at].get("content")).strip()  # type: ignore[index]  # it has a place

    def messages(self, body: Body) -> list[dict[str, Any]]:
        """What the user said last."""
        given = body.get("input")
        if isinstance(given, str):
            return [{"role": "user", "content": given}] if given.strip() else []
        at = _last_user(given)
        content = None if at is None else given[at].get("content")  # type: ignore[index]  # it has a place
        return [{"role": "user", "content": content}] if content else []

    def goes_on(self, body: Body) -> bool:
        """What a tool gave back, after the last words of the user."""
        given = body.get("input")
        at = _last_user(given)
        since = mappings(listed(given)[0 if at is None else at + 1 :])
        return any(str(one.get("type")).endswith("_output") for one in since)

    def with_memory(self, body: Body, block: Block) -> dict[str, Any]:
        """What is stable in the instructions, what changes before the last words of the user."""
        if not block.whole:
            return dict(body)
        if block.system is SystemRole.NO or not isinstance(body.get("instructions"), str | None):
            return _no_system(body, block)
        if block.position in (Position.SYSTEM_FIRST, Position.SYSTEM_MERGE):
            first = block.position is Position.SYSTEM_FIRST
            return {**body, "instructions": _joined(body.get("instructions"), block.whole, first=first)}
        stable = "" if block.position is Position.PREFIX_LAST_USER else block.stable
        volatile = block.whole if block.position is Position.PREFIX_LAST_USER else block.volatile
        changed = {**body, "input": _prefixed(body.get("input"), volatile)} if volatile else dict(body)
        if stable:
            changed["instructions"] = _joined(body.get("instructions"), stable, first=True)
        return changed

    def whole(self, reply: Body) -> Heard:
        """The text of an answer's messages."""
        heard = Heard(usage=dict(table(reply.get("usage"))), finished=True, id=str(reply.get("id") or ""))
        for item in mappings(reply.get("output")):
            if item.get("type") == "message":
                heard.text.append(text_of(item.get("content")))
        return heard

    def piece(self, heard: Heard, event: Body) -> None:
        """Take the next event."""
        kind = str(event.get("type") or "")
        if kind == "response.output_text.delta":
            heard.text.append(text_of(event.get("delta")))
        elif kind in _ENDS:
            whole = table(event.get("response"))
            heard.finished, heard.id = kind == "response.completed", str(whole.get("id") or "")
            heard.usage = dict(table(whole.get("usage")))

    def ends(self, name: str, data: str) -> bool:  # noqa: ARG002 - other dialects go by what it holds
        """The event at the end of a stream."""
        return name in _ENDS

    closes = ends

    def shown(self, memories: list[dict[str, Any]], closing: Body) -> Said:
        """An event with a name of our own, and the number of the one it stands before."""
        number = closing.get("sequence_number", 0)
        return "memstone.memories", {"type": "memstone.memories", "sequence_number": number, "memories": memories}

    def broken(self, message: str, error: Body) -> Said:
        """An error, whose type is a word for the event."""
        told = {"code": "upstream_cut", "message": message, "param": None, **error}
        return "error", {**told, "type": "error", "sequence_number": 0}


def _no_system(body: Body, block: Block) -> dict[str, Any]:
    """For a model without instructions: what would stand there is the first item of the user."""
    lead, beside = block.among_the_users()
    given = _prefixed(body.get("input"), beside) if beside else body.get("input")
    if lead:
        items = given if isinstance(given, list) else [{"role": "user", "content": given or ""}]
        given = [{"role": "user", "content": lead}, *items]
    return {**body, "input": given}


def _last_user(given: Any) -> int | None:
    if not isinstance(given, list):
        return None
    places = range(len(given) - 1, -1, -1)
    return next((at for at in places if isinstance(given[at], Mapping) and given[at].get("role") == "user"), None)


def _prefixed(given: Any, text: str) -> Any:
    if not isinstance(given, list):
        return f"{text}\n\n{given or ''}"
    at = _last_user(given)
    if at is None:
        return [{"role": "user", "content": text}, *given]
    content = given[at].get("content")
    part = {"type": "input_text", "text": text}
    joined = [part, *content] if isinstance(content, list) else f"{text}\n\n{content or ''}"
    return [*given[:at], {**given[at], "content": joined}, *given[at + 1 :]]


def _joined(given: str | None, text: str, *, first: bool) -> str:
    said = given or ""
    return "\n\n".join(part for part in ((text, said) if first else (said, text)) if part)
