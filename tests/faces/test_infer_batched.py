"""What many facts of one call cost: one batch of vectors, searches side by side, answers that are remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final
from zlib import crc32

import numpy as np
import pytest

from memstone import AsyncMemory
from memstone.model.query import VectorQuery
from memstone.ports.index import VectorIndex
from memstone.testing.wire import WireServer
from tests.faces.harness import Face, Opens
from tests.faces.infer_model import Model, configured

_CITIES: Final = "Rome Paris Oslo Lima Cairo Delhi Tokyo Quito Accra Dakar Sofia Tunis".split()
_SAID: Final = [f"I visited {city}." for city in _CITIES]


class Counting:
    """An embedding function over bags of words that counts how often it is asked."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, items: list[str]) -> Any:
        """A row of counted words for each text."""
        self.batches.append(list(items))
        rows = np.zeros((len(items), 64))
        for row, text in zip(rows, items, strict=True):
            for word in text.lower().strip(".").split():
                row[crc32(word.encode()) % 64] += 1
        return rows


@pytest.fixture
def vectors() -> Counting:
    return Counting()


@pytest.fixture
def model() -> Model:
    made = Model()
    made.knows = {f"visited {city}": f"User visited {city}." for city in _CITIES}
    return made


@pytest.fixture
def server(model: Model) -> Iterator[WireServer]:
    with WireServer(model) as running:
        yield running


@pytest.fixture
def face(opens: Opens, server: WireServer, vectors: Counting) -> Face:
    return opens(configured(server.url, embedding_cache={"entries": 0}), embedder=vectors)


async def learned(face: Face, texts: list[str]) -> list[str]:
    answer = await face.add(texts, user_id="alice", infer=True)
    assert answer["status"] == "ok"
    return [one["event"] for one in answer["results"]]


@pytest.mark.req("D-20")
async def test_the_turns_of_a_call_are_embedded_at_once_and_so_are_its_facts(face: Face, vectors: Counting) -> None:
    await face.add("Hello.", user_id="alice", infer=True)  # the dimension is asked for once, with the first text
    vectors.batches.clear()

    assert await learned(face, _SAID) == ["ADD"] * len(_CITIES)

    assert vectors.batches == [_SAID, [f"User visited {city}." for city in _CITIES]]


@pytest.mark.req("D-20")
async def test_the_new_texts_of_all_revisions_are_embedded_at_once(
    face: Face, vectors: Counting, model: Model, opens: Opens
) -> None:
    await learned(face, _SAID[:5])
    again = {f"again to {city}": f"User visited {city} again." for city in _CITIES[:5]}
    model.knows = again
    model.decides = {
        fact: {"operation": "UPDATE", "target": fact[:-7], "text": fact.replace("again", "twice again")}
        for fact in again.values()
    }
    opens.clock.advance(days=1)
    vectors.batches.clear()

    assert await learned(face, [f"I went again to {city}." for city in _CITIES[:5]]) == ["UPDATE"] * 5

    texts, revised = vectors.batches
    assert len(texts) == 5
    assert revised == [f"User visited {city} twice again." for city in _CITIES[:5]]


@pytest.mark.req("D-20")
async def test_a_conversation_is_paid_for_once(face: Face, model: Model) -> None:
    await learned(face, _SAID)
    asked = len(model.asked)

    assert await learned(face, _SAID) == ["NONE"] * len(_CITIES)

    assert len(model.asked) == asked


class Waiting:
    """An index that answers when enough searches wait at once, as one behind a network would answer them together."""

    def __init__(self, inner: VectorIndex, enough: int) -> None:
        self._inner, self._enough = inner, enough
        self._all_here = asyncio.Event()
        self.here = self.most = 0

    async def search(self, query: VectorQuery) -> Any:
        """Wait for the others."""
        self.here += 1
        self.most = max(self.most, self.here)
        if self.here >= self._enough:
            self._all_here.set()
        await asyncio.wait_for(self._all_here.wait(), 120)
        self.here -= 1
        return await self._inner.search(query)


@pytest.mark.req("D-20")
async def test_the_neighbours_of_all_turns_are_searched_side_by_side_and_not_too_many_at_once(
    opens: Opens, server: WireServer, vectors: Counting
) -> None:
    if opens.kind == "memory":
        return  # the blocking face has one thread: its searches follow each other
    face = opens(configured(server.url), embedder=vectors)
    assert isinstance(face.memory, AsyncMemory)
    engine = face.memory.engine
    index = Waiting(engine.runtime.index, enough=8)
    engine.runtime = replace(engine.runtime, index=index)  # type: ignore[arg-type]

    assert await learned(face, _SAID) == ["ADD"] * len(_CITIES)

    assert index.most == 8
