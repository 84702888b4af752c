"""What asking a language model costs, added up over the questions of one piece of work."""

from __future__ import annotations

from dataclasses import replace

from memstone.engine.parts import Parts
from memstone.ports.models import Llm, Prompt, Reply


class Metered:
    """A language model that counts; see ``memstone.ports.models.Llm``."""

    def __init__(self, llm: Llm) -> None:
        self._llm = llm
        self.calls = 0
        self.input_tokens = 0
        self.output_tokens = 0

    @property
    def model(self) -> str:
        """Which model."""
        return self._llm.model

    @property
    def destination(self) -> str:
        """Where text goes."""
        return self._llm.destination

    async def generate(self, prompt: Prompt) -> Reply:
        """One answer, counted."""
        self.calls += 1
        reply = await self._llm.generate(prompt)
        self.input_tokens += reply.input_tokens
        self.output_tokens += reply.output_tokens
        return reply


def metered(parts: Parts) -> tuple[Parts, Metered | None]:
    """The same parts with a model that counts; None without a model."""
    if parts.llm is None:
        return parts, None
    meter = Metered(parts.llm)
    return replace(parts, llm=meter), meter
