"""A pytest plugin that lets LangGraph's own tests of its in-memory store run against ours.

The tests come out of the source distribution of ``langgraph-checkpoint``; nothing in them is changed. Only the class
that they import is replaced, by one with the same arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from langgraph.store import memory as target
from langgraph.store.base import ensure_embeddings

from memstone import Memory
from memstone.integrations.langgraph import EVERYTHING, MemstoneStore


class SuiteStore(MemstoneStore):
    """Our store with the constructor of LangGraph's: an index has a function that embeds, and fields."""

    def __init__(self, *, index: Any = None, ttl: Any = None) -> None:
        config: dict[str, Any] = {"store": {"url": "memory:"}}
        options: dict[str, Any] = {}
        if index:
            embeddings = ensure_embeddings(index["embed"])
            options["embedder"] = lambda texts: np.asarray(embeddings.embed_documents(list(texts)), dtype=np.float32)
        else:
            config["embedder"] = {"provider": "none"}
        super().__init__(Memory(config, **options), fields=(index or {}).get("fields") or (EVERYTHING,), ttl=ttl)
        self.index_config = index


target.InMemoryStore = SuiteStore  # type: ignore[misc, assignment]
