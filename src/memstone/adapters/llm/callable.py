"""A language model from a function that the caller passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memstone.adapters.callables import call_function, checked_callable, name_of
from memstone.errors import LLMError, MemstoneError, Unsupported
from memstone.ports.io import Io
from memstone.ports.models import Prompt, Reply


class CallableLlm:
    """Wraps ``function(messages) -> text``; messages are dicts with ``role`` and ``content``.

    The function runs through ``io.run`` and may block; an async one is awaited on the loop. It is told
    neither temperature nor format; what the format has to be is in the messages. Tools cannot be
    passed and are refused.
    """

    destination = "your own function"

    def __init__(self, function: Callable[[list[dict[str, str]]], Any], io: Io) -> None:
        self._function = checked_callable(function, "the language model", io)
        self._io = io
        self.model = name_of(function)

    async def generate(self, prompt: Prompt) -> Reply:
        """Return one answer."""
        if prompt.tools:
            raise Unsupported("a plain callable cannot use tools", kind="llm", name=self.model)
        text = await self._ask([dict(message) for message in prompt.messages])
        if not isinstance(text, str):
            raise LLMError(f"the language model {self.model} must return text, not {type(text).__name__}")
        return Reply(text)

    async def _ask(self, messages: list[dict[str, str]]) -> object:
        try:
            return await call_function(self._function, self._io, messages)
        except MemstoneError:
            raise
        except Exception as error:
            raise LLMError(f"the language model {self.model} failed: {type(error).__name__}: {error}") from error
