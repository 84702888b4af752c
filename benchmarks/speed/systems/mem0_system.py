"""The peer: ``mem0ai`` with what it installs and chooses by default, except the embedder.

Its vector store is the embedded Qdrant it uses when nothing is configured. An LLM must be named but is
never asked, because texts are stored as they are (``infer=False``). Its embedder is replaced after it
is built, by the same vectors every system gets. Telemetry is switched off by the parent process.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.speed.corpus import Item
from benchmarks.speed.systems import LIMIT
from benchmarks.speed.vectors import DIMENSIONS, VectorTable


class GivenVectors:
    """The embedder interface of the peer over vectors made in advance."""

    def __init__(self, vectors: VectorTable, config: Any) -> None:
        """Keep the table."""
        self._vectors = vectors
        self.config = config

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - the peer's signature
        """Return a list of floats, as the peer's own embedders give."""
        vector: list[float] = self._vectors[text].tolist()
        return vector

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        """Return the same for several."""
        return [self.embed(text, memory_action) for text in texts]


class Mem0:
    """The peer as a system."""

    def __init__(self, directory: Path, vectors: VectorTable) -> None:
        """Open its two stores under ``directory``."""
        self._memory = import_module("mem0").Memory.from_config(_config(directory))
        self._memory.embedding_model = GivenVectors(vectors, self._memory.embedding_model.config)

    def add(self, item: Item) -> str:
        """Add one text."""
        answer = self._memory.add(item.text, user_id=item.user, infer=False)
        return str(answer["results"][0]["id"])

    def add_many(self, items: Sequence[Item]) -> None:
        """Add with one call per user for all of the user's texts: the only batch it has."""
        by_user: dict[str, list[dict[str, str]]] = {}
        for item in items:
            by_user.setdefault(item.user, []).append({"role": "user", "content": item.text})
        for user, messages in by_user.items():
            self._memory.add(messages, user_id=user, infer=False)

    def search(self, query: Item) -> list[str]:
        """Search with its own defaults, ten results."""
        answer = self._memory.search(query.text, filters={"user_id": query.user}, top_k=LIMIT)
        return [result["memory"] for result in answer["results"]]

    def nearest(self, query: Item) -> list[str] | None:  # noqa: ARG002 - the shared face
        """Return None: it has no such question of its own."""
        return None

    def get(self, memory_id: str) -> object:
        """Return one memory."""
        return self._memory.get(memory_id)

    def history(self, memory_id: str) -> object:
        """Return its events."""
        return self._memory.history(memory_id)

    def close(self) -> None:
        """Release the lock on its directory."""
        self._memory.vector_store.client.close()
        self._memory.db.close()


def _config(directory: Path) -> dict[str, Any]:
    unused = {"api_key": "unused", "openai_base_url": "http://127.0.0.1:9/v1"}
    return {
        "vector_store": {
            "provider": "qdrant",
            "config": {"path": str(directory / "qdrant"), "embedding_model_dims": DIMENSIONS},
        },
        "embedder": {"provider": "openai", "config": {**unused, "embedding_dims": DIMENSIONS}},
        "llm": {"provider": "openai", "config": unused},
        "history_db_path": str(directory / "history.db"),
    }


def open_system(directory: Path, vectors: VectorTable) -> Mem0:
    """Open the peer."""
    return Mem0(directory, vectors)
