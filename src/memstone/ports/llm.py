"""A language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool that the model asked for."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked."""

    messages: Sequence[dict[str, str]]
    temperature: float = 0.0
    max_tokens: int = 2000
    response_format: Literal["text", "json"] = "text"
    schema: dict[str, Any] | None = None
    tools: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What it answered and what that cost."""

    text: str
    tool_calls: Sequence[ToolCall] = field(default_factory=tuple)
    input_tokens: int = 0
    output_tokens: int = 0


class Llm(Protocol):
    """Answers prompts; raises ``LLMError`` or a finer error."""

    @property
    def model(self) -> str:
        """Which model."""
        ...

    @property
    def destination(self) -> str:
        """Where text goes."""
        ...

    async def generate(self, prompt: Prompt) -> Reply:
        """One answer."""
        ...


@runtime_checkable
class SharedLlm(Llm, Protocol):
    """A language model that several tenants share, and that tells them apart."""

    def of(self, tenant_id: str) -> Llm:
        """The same model, asked by one tenant."""
        ...
