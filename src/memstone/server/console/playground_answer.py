"""Ask a model in the playground, as the gateway does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import httpx2

from memstone.core.dialects.anthropic import Messages
from memstone.core.dialects.base import Dialect, ParsedAnswer, PromptBlock
from memstone.core.dialects.chat import Chat
from memstone.core.prompt.inject import Position, SystemRole, system_role
from memstone.errors import BackendRejected, BackendUnavailable, InvalidInput
from memstone.server.gateway.sse import SseParser
from memstone.server.gateway.upstream import Target

if TYPE_CHECKING:
    from memstone.results import ContextBlock
    from memstone.server.state import ServiceState

_OK: Final = 200
_MOST_TOKENS: Final = 1_024
_ERROR_CHARS: Final = 300
_DIALECTS: Final[dict[str, Dialect]] = {"openai": Chat(), "anthropic": Messages()}


async def stream_answer(
    state: ServiceState, model: str, before: Sequence[tuple[str, str]], message: str, block: ContextBlock | None
) -> AsyncIterator[str]:
    """Yield the answer piece by piece, as the upstream of a model writes it."""
    if not model:
        raise InvalidInput("no model is named", hint="choose the model that should answer, above the conversation")
    targets = state.upstreams.targets(model)
    kind = targets[0].upstream.dialect
    asked = [target for target in targets if target.upstream.dialect == kind]
    dialect = _DIALECTS[kind]
    body = _plain_request(kind, model, before, message)

    def build_request(target: Target) -> dict[str, Any]:
        return _with_block(dialect, body, target, block, state.settings.as_policy().inject.position)

    async with state.upstreams.request_first(asked, dialect.path, build_request, {}) as response:
        if response.status_code != _OK:
            raise await _refusal(response, asked[0])
        async for piece in _read_pieces(dialect, response):
            yield piece


def _plain_request(kind: str, model: str, before: Sequence[tuple[str, str]], message: str) -> dict[str, Any]:
    messages: list[dict[str, str]] = []
    for said, answered in before:
        messages.append({"role": "user", "content": said})
        messages.append({"role": "assistant", "content": answered or "(no answer)"})
    messages.append({"role": "user", "content": message})
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True}
    return {**body, "max_tokens": _MOST_TOKENS} if kind == "anthropic" else body


def _with_block(
    dialect: Dialect, body: dict[str, Any], target: Target, block: ContextBlock | None, position: str
) -> dict[str, Any]:
    if block is None or block["empty"]:
        return dict(body)
    known = SystemRole(target.upstream.system_role) if target.upstream.system_role else None
    role = known or system_role(target.upstream.name, target.model, str(body["model"]))
    return dialect.with_memory(
        body, PromptBlock(block["text"], block["stable"], block["volatile"], Position(position), role)
    )


async def _refusal(response: httpx2.Response, target: Target) -> BackendRejected:
    text = (await response.aread()).decode("utf-8", "replace")[:_ERROR_CHARS]
    name = target.upstream.name
    hint = "check its key and the name of the model: Settings, Connections has a test"
    return BackendRejected(f"{name} answered {response.status_code}: {text}", kind="upstream", name=name, hint=hint)


async def _read_pieces(dialect: Dialect, response: httpx2.Response) -> AsyncIterator[str]:
    """Yield the words of an answer, whether it comes as a stream or in one piece."""
    if "event-stream" not in response.headers.get("content-type", ""):
        reply = response.json() if await response.aread() else {}
        yield dialect.parse_reply(reply).full_text
        return
    parser, answer, sent = SseParser(), ParsedAnswer(), 0
    async for raw in response.aiter_raw():
        for event in parser.feed(raw):
            if (data := event.json()) is not None:
                dialect.piece(answer, data)
        if new := "".join(answer.text[sent:]):
            sent = len(answer.text)
            yield new
    if not answer.text:
        raise BackendUnavailable("the upstream sent an answer without words", kind="upstream", name="")
