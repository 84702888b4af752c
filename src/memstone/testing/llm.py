"""A language model that returns prepared answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TypeAlias

from memstone.errors import LLMError
from memstone.ports.models import Prompt, Reply

Answer: TypeAlias = "str | Reply | Exception | dict[str, object] | list[object]"
"""Text, a whole reply, an error to raise, or data that is answered as JSON."""


class ScriptedLlm:
    """A language model that returns prepared answers in order, or calls a function; ``prompts`` records its input.

    When the script has come to its end, every further prompt is an ``LLMError``: a test sees a call it
    did not expect.
    """

    destination = "this machine"

    def __init__(self, answers: Iterable[Answer] | Callable[[Prompt], Answer], *, model: str = "scripted") -> None:
        self.model = model
        self.prompts: list[Prompt] = []
        self._answer = answers if callable(answers) else _in_order(answers)

    async def generate(self, prompt: Prompt) -> Reply:
        """Return the next answer."""
        self.prompts.append(prompt)
        answer = self._answer(prompt)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Reply):
            return answer
        return Reply(answer if isinstance(answer, str) else json.dumps(answer))


def _in_order(answers: Iterable[Answer]) -> Callable[[Prompt], Answer]:
    left = iter(tuple(answers))
    return lambda _: next(left, LLMError("the script has no more answers"))
