"""Rerank with the language model that is configured: one question with all documents, one answer with all scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from memstone.core.llm.parse import UnreadableAnswer
from memstone.core.llm.questions import safe_messages
from memstone.core.llm.rerank import answer_tokens, parse_scores, rerank_question
from memstone.errors import BackendUnavailable, BadModelOutput
from memstone.ports.io import Io, limit_model_calls
from memstone.ports.models import Llm, Prompt


class LlmRerankerConfig(BaseModel):
    """How much the language model reads, and how long a search waits for it. The rest keeps its order, after them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_documents: int = Field(default=20, ge=1, le=200)
    max_chars: int = Field(default=500, ge=50, le=10_000)
    timeout: float = Field(default=10.0, gt=0, le=600)


class LlmReranker:
    """The options. Each search asks the model that it may use: a tenant's, or none where text must not leave."""

    Config: ClassVar = LlmRerankerConfig
    model = "the language model"
    destination = "the language model"

    def __init__(self, config: LlmRerankerConfig, io: Io) -> None:  # noqa: ARG002 - as every adapter is made
        self._config = config

    def bind(self, llm: Llm | None) -> BoundLlmReranker:
        """Return a reranker that asks this model."""
        return BoundLlmReranker(self._config, llm)

    async def rerank(self, query: str, documents: Sequence[str], top: int) -> list[tuple[int, float]]:
        """Raise, as no model is bound: see ``memstone.ports.models.Reranker``."""
        return await self.bind(None).rerank(query, documents, top)


@dataclass(frozen=True, slots=True)
class BoundLlmReranker:
    """See ``memstone.ports.models.Reranker``."""

    config: LlmRerankerConfig
    llm: Llm | None

    @property
    def model(self) -> str:
        """Which model."""
        return LlmReranker.model if self.llm is None else self.llm.model

    @property
    def destination(self) -> str:
        """Where text goes."""
        return LlmReranker.destination if self.llm is None else self.llm.destination

    async def rerank(self, query: str, documents: Sequence[str], top: int) -> list[tuple[int, float]]:
        """Return the places of the best documents with their scores; of equal ones, the first stays first."""
        read = [place for place, text in enumerate(documents) if text.strip()][: self.config.max_documents]
        if not read or top < 1:
            return []
        if self.llm is None:
            raise BackendUnavailable("no language model may be asked to rerank", kind="reranker", name="llm")
        question = rerank_question(query, [documents[place] for place in read], self.config.max_chars)
        prompt = Prompt(
            safe_messages(question),
            max_tokens=answer_tokens(len(read)),
            response_format="json",
            schema=question.schema,
        )
        with limit_model_calls(self.config.timeout):
            text = (await self.llm.generate(prompt)).text
        try:
            scores = parse_scores(text, len(read))
        except UnreadableAnswer as error:
            raise BadModelOutput(f"the language model did not rerank: {error}", raw=text) from error
        ranks = sorted(((read[place], score) for place, score in scores), key=lambda rank: (-rank[1], rank[0]))
        return ranks[:top]
