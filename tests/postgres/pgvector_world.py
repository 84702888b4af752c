"""Texts with directions of their own, told by two users."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from memstone import Memory

DIM = 24
USER, OTHER = "u", "o"


def embed(texts: Sequence[str]) -> Any:
    """A direction of its own for every text."""
    return [np.random.default_rng(list(text.encode())).normal(size=DIM) for text in texts]


def opened(url: str, tenant: str = "default", **config: Any) -> Memory:
    """A memory over a database."""
    settings = {"store": {"url": url, "durable": False}, "tenant": tenant, "policy": {"strategy": "vector"}}
    return Memory({**settings, "vector_store": {"config": config}}, embedder=embed)


def told(memory: Memory, count: int, seed: int = 0) -> None:
    """Tell it things, of two users in several places."""
    chance = random.Random(seed)  # noqa: S311 - test data
    scopes = [
        {"user_id": chance.choice((USER, USER, OTHER)), "agent_id": chance.choice((None, "a")), "run_id": run}
        for run in (None, "r")
        for _ in range(count // 2)
    ]
    memory.add_many(
        [{"messages": f"thing {seed} {n}", "infer": False, **scope} for n, scope in enumerate(scopes)],
    )
