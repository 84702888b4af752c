"""A chat server on this machine that counts what it is asked: calls and tokens, per ``add``.

A token is a quarter of the characters of a text, rounded up, message by message: the messages in, the answer out. The
JSON schema that some requests carry is counted apart, since it is no message, though vendors charge for it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from benchmarks.tokens.child import MARK_PATH, VECTORS_PATH
from benchmarks.tokens.embedding import Embeds
from benchmarks.tokens.model import Answer, ScriptedModel
from memstone.language.text.normal import estimate_tokens
from memstone.testing.wire import FakeChat, WireReply, WireRequest, completion_reply


@dataclass(frozen=True, slots=True)
class Call:
    """One question and what it cost."""

    shape: str
    system: int
    conversation: int
    context: int
    schema: int
    out: int

    @property
    def tokens_in(self) -> int:
        """All messages."""
        return self.system + self.conversation + self.context


@dataclass(slots=True)
class Add:
    """One ``add`` and the calls it made."""

    title: str
    resend: bool
    calls: list[Call] = field(default_factory=list)


class Meter:
    """The server's side; ``adds`` fills while a child works."""

    def __init__(self, model: ScriptedModel, embeds: Embeds) -> None:
        self.adds: list[Add] = []
        self._model = model
        self._embeds = embeds
        self._checks = FakeChat("{}")

    def __call__(self, request: WireRequest) -> WireReply:
        """Take a mark, give vectors, or answer a chat request."""
        if request.path == MARK_PATH:
            self.adds.append(Add(**request.json))
            return WireReply(json={})
        if request.path == VECTORS_PATH:
            return WireReply(json=self._embeds(request.json).tolist())
        return self._chat(request)

    def _chat(self, request: WireRequest) -> WireReply:
        """Check, answer and count."""
        checked = self._checks(request)
        if checked.status != 200:
            return checked
        asked = request.json
        answer = self._model.answer(asked)
        call = _call(asked, answer)
        self.adds[-1].calls.append(call)
        return completion_reply(answer.text, model=asked["model"], usage=(call.tokens_in, call.out))


def _call(asked: dict[str, Any], answer: Answer) -> Call:
    texts = [(message["role"], estimate_tokens(message["content"])) for message in asked["messages"]]
    system = sum(tokens for role, tokens in texts if role == "system")
    conversation = estimate_tokens(answer.conversation)
    context = sum(tokens for _, tokens in texts) - system - conversation
    schema = asked.get("response_format", {}).get("json_schema", {}).get("schema")
    schema_tokens = estimate_tokens(json.dumps(schema)) if schema else 0
    return Call(answer.shape, system, conversation, context, schema_tokens, estimate_tokens(answer.text))
