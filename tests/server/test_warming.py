"""A service loads its models before anybody asks: the first chat has a deadline like any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from memstone.async_memory import AsyncMemory
from memstone.server.app import create_app
from tests.patience import until
from tests.server.world import World


class Reading:
    """An embedder that also reads pairs and lists, and notes what it was asked."""

    provider, model, destination = "own", "noting", "this machine"

    def __init__(self, *, in_process: bool = True) -> None:
        self.in_process = in_process
        self.asked: list[str] = []

    async def dimension(self) -> int:
        """As short as it gets."""
        return 4

    async def embed(self, texts: Sequence[str]) -> Any:
        """All the same."""
        self.asked.append("embed")
        return np.tile(np.array([1, 0, 0, 0], np.float32), (len(texts), 1))

    def reads(self, task: str) -> bool:
        """As the built-in model."""
        return task == "relevance"

    async def read(self, pairs: Sequence[tuple[str, str]], task: str) -> Any:
        """Nothing to say."""
        self.asked.append(f"read {task}")
        return np.zeros((len(pairs), 1), np.float32)

    def reads_lists(self, task: str) -> bool:
        """As the built-in model."""
        return task == "changes"

    async def read_list(self, text: str, others: Sequence[str], task: str) -> Any:
        """Nothing to say."""
        self.asked.append(f"list {task} {bool(text)}")
        return np.zeros((len(others), 1), np.float32)


def test_what_runs_in_this_process_is_loaded_at_once_and_what_does_not_is_not_asked() -> None:
    near, far = Reading(), Reading(in_process=False)
    for embedder in (near, far):
        memory = AsyncMemory({"store": {"url": "memory:"}}, embedder=embedder)
        with World.over(create_app(memory=memory)) as world:
            until(lambda: not len(world.app.state.memstone.tasks))

    assert near.asked == ["embed", "read relevance"]  # learning has time
    assert far.asked == []


class Broken(Reading):
    """One whose model is not there."""

    async def embed(self, texts: Sequence[str]) -> Any:
        """Fail."""
        raise OSError(f"no file to embed {len(texts)} texts with")


def test_a_model_that_cannot_be_loaded_does_not_keep_a_service_from_starting() -> None:
    memory = AsyncMemory({"store": {"url": "memory:"}}, embedder=Broken())
    with World.over(create_app(memory=memory)) as world:
        until(lambda: not len(world.app.state.memstone.tasks))

        assert world.client.get("/readyz").status_code == 200
