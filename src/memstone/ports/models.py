"""Embedders, language models, rerankers and readers of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, Protocol, runtime_checkable

from memstone.model.memory import Vector

# --- text to vectors --------------------------------------------------------------------------------------------------


class Embedder(Protocol):
    """An embedder: it turns texts into unit vectors.

    ``embed`` returns one row per text (a 2-d float32 array), normalised to length one; a text without
    content may give a zero row. It raises ``EmbeddingError`` (or a finer error) when a text cannot be
    embedded. ``dimension`` may have to ask the model once. ``signature`` names the vector space,
    ``provider:model:dim``; vectors of two signatures are never compared.
    """

    @property
    def provider(self) -> str:
        """Who runs the model, e.g. ``local``."""
        ...

    @property
    def model(self) -> str:
        """The name of the model."""
        ...

    @property
    def destination(self) -> str:
        """Where text is sent."""
        ...

    async def dimension(self) -> int:
        """Return the length of every vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Any:
        """Return one unit vector per text, as a 2-d float32 array."""
        ...


class QueryEmbedder(Embedder, Protocol):
    """An embedder whose model embeds questions in another way than texts.

    One that has this surface is asked for it in a search; both kinds of vectors are of one space.
    """

    async def embed_queries(self, texts: Sequence[str]) -> Any:
        """Embed texts as queries, as ``embed`` does for documents."""
        ...


class WordEmbedder(Embedder, Protocol):
    """An embedder that also returns a vector per word, and embeds a text in context.

    One that has this surface and says so by ``tells_words`` is asked for words; vectors of texts that stand alone are
    the same as those of ``embed``.
    """

    @property
    def tells_words(self) -> bool:
        """Whether the configured model provides word vectors."""
        ...

    async def embed_words(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Vector]:
        """Embed the second text of each pair in the context of the first ('': alone), with its words."""
        ...

    def words(self, text: str) -> Sequence[str]:
        """Return the words of a text, one entry per vector."""
        ...


# --- a language model -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that a model requested."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt for a language model."""

    messages: Sequence[dict[str, str]]
    temperature: float = 0.0
    max_tokens: int = 2000
    response_format: Literal["text", "json"] = "text"
    schema: dict[str, Any] | None = None
    tools: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a language model, and its cost."""

    text: str
    tool_calls: Sequence[ToolCall] = field(default_factory=tuple)
    input_tokens: int = 0
    output_tokens: int = 0


class Llm(Protocol):
    """A language model: it answers prompts, and raises ``LLMError`` or a subclass."""

    @property
    def model(self) -> str:
        """Which model."""
        ...

    @property
    def destination(self) -> str:
        """Where text goes."""
        ...

    async def generate(self, prompt: Prompt) -> Reply:
        """Return one answer."""
        ...


@runtime_checkable
class SharedLlm(Llm, Protocol):
    """A language model that several tenants share, and that counts for each of them."""

    def of(self, tenant_id: str) -> Llm:
        """Return the same model, asked by one tenant."""
        ...


# --- a second, closer look at what a search found ---------------------------------------------------------------------


class Reranker(Protocol):
    """A reranker: it rates how well documents answer a query, by reading both together.

    ``rerank`` gives (place in ``documents``, score) for at most ``top`` documents, best first. A higher score is
    better, whatever its range; a document may be left out, none may be named twice. It raises a ``MemstoneError`` when
    it cannot say; a search then keeps the order it had.
    """

    @property
    def model(self) -> str:
        """Which model."""
        ...

    @property
    def destination(self) -> str:
        """Where text goes: ``this machine`` or the host it is sent to."""
        ...

    async def rerank(self, query: str, documents: Sequence[str], top: int) -> Sequence[tuple[int, float]]:
        """Return the places of the best documents with their scores."""
        ...


# --- two texts read together ------------------------------------------------------------------------------------------


@runtime_checkable
class PairReader(Protocol):
    """A model that was fitted to rate pairs of texts, for one or several tasks.

    An embedder that has this surface is asked for it: see ``Runtime.reader``.
    """

    def reads(self, task: str) -> bool:
        """Return whether this task is known here."""
        ...

    async def read(self, pairs: Sequence[tuple[str, str]], task: str) -> Any:
        """Return a row of numbers for each pair, as a 2-d float32 array; what they mean is the task's own."""
        ...


# --- what models without a name of their own are told apart by --------------------------------------------------------


NUMBER: Final = "~"
"""Stands before the number of a second model of the same name."""


class Sample(NamedTuple):
    """A stored text with its vector under a model's name; '' if there is none."""

    model: str
    dim: int
    text: str = ""
    vector: bytes = b""


@runtime_checkable
class UnnamedEmbedder(Protocol):
    """An embedder that cannot name its model, such as a function."""

    model: str

    def known_as(self, samples: Sequence[Sample]) -> None:
        """Be shown what was made in a store under names like its own, the one in use first, before it is asked."""
        ...
