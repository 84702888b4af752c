"""The vector store is chosen by name, and which one it is makes no difference to an answer."""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memstone import AsyncMemory, Memory
from memstone.drive import drive
from memstone.errors import ConfigError
from memstone.model.memory import Link
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.testing.wire import WireServer
from tests.stores.fake_qdrant import FakeQdrant
from tests.stores.redis_server import run_redis

DIM = 12
WORDS = ("oslo", "bergen", "coffee", "tea", "train", "boat", "red", "blue", "monday", "friday")
AGENTS, RUNS = (None, "bot", "cat"), (None, "r1")
NOW = "2026-01-01T00:00:00.000000Z"


def embed(texts: Sequence[str]) -> Any:
    """A direction of its own for every text: half of all pairs have a negative cosine."""
    return [np.random.default_rng(list(text.encode())).normal(size=DIM) for text in texts]


class Pair:
    """Two memories over one file: the index in this process, and a store that is filled from the ledger."""

    def __init__(
        self, face: type[Memory | AsyncMemory], path: Path, seed: int, vector_store: dict[str, Any] | None = None
    ) -> None:
        config = {"store": {"url": f"sqlite:///{path}", "durable": False}, "policy": {"strategy": "hybrid"}}
        self.local = face({**config, "vector_store": {"provider": "local"}}, embedder=embed)
        self.mirrored = face({**config, "vector_store": vector_store or {"provider": "memory"}}, embedder=embed)
        self.chance = random.Random(seed)  # noqa: S311 - test data
        self.ids: list[str] = []

    async def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Ask one of the two, whichever."""
        return await ask(self.chance.choice((self.local, self.mirrored)), name, *args, **kwargs)

    def scope(self) -> dict[str, Any]:
        """A random one."""
        return {
            "user_id": self.chance.choice(("alice", "bob")),
            "agent_id": self.chance.choice(AGENTS),
            "run_id": self.chance.choice(RUNS),
        }

    def text(self) -> str:
        """Some words that others have as well, and one that nobody has."""
        return " ".join(self.chance.sample(WORDS, 3)) + f" {self.chance.random()}"

    async def change(self) -> None:
        """Do something at random, mostly add."""
        what = self.chance.random()
        if what < 0.6 or not self.ids:
            metadata = {"n": self.chance.randrange(5), "city": self.chance.choice(WORDS)}
            added = await self.call("add", self.text(), **self.scope(), metadata=metadata, infer=False)
            self.ids.append(added["results"][0]["id"])
        elif what < 0.75:
            await self.call("update", self.chance.choice(self.ids), self.text())
        elif what < 0.85:
            await self.call("update", self.chance.choice(self.ids), metadata={"n": self.chance.randrange(5)})
        elif what < 0.95:
            gone = self.chance.choice(self.ids)
            self.ids.remove(gone)
            await self.call("delete", gone)
        else:
            await self.share(self.chance.choice(self.ids))

    async def share(self, memory_id: str) -> None:
        """Link a memory to somebody else as well."""

        async def work(tx: Tx) -> None:
            record = await tx.memories.current("default", memory_id)
            assert record is not None
            link = Link(Scope(user_id=f"friend{self.chance.randrange(10**9)}", agent_id="bot"), NOW)
            await tx.links.add("default", record.seq, [link])
            await tx.vectors.touch("default", [record.seq])

        await self.local.engine.runtime.ledger.write(work)

    async def compare(self) -> int:
        """Ask both the same; gives how many results there were."""
        wanted: dict[str, Any] = {
            **self.scope(),
            "limit": self.chance.choice((1, 5, 20, 100)),
            "strategy": self.chance.choice(("hybrid", "vector")),
            "min_score": self.chance.choice((None, 0.1)),
            "filters": self.chance.choice((None, {"n": {"gte": 2}}, {"OR": [{"n": 1}, {"city": "oslo"}]})),
        }
        if self.chance.random() < 0.2:
            wanted |= {"user_id": None, "agent_id": "bot"}
        query = self.text()
        one, other = [await ask(memory, "search", query, **wanted) for memory in (self.local, self.mirrored)]
        assert set(one) == set(other) == {"results"}
        assert len(one["results"]) == len(other["results"]), wanted
        # A store cuts cosines off at 0 and cannot order what is equally far: the last score of a page is left out.
        last = one["results"][-1]["score"] if one["results"] else 0.0
        near, twins = [_ordered(answer["results"], last) for answer in (one, other)]
        assert [hit["id"] for hit in near] == [hit["id"] for hit in twins], wanted
        for hit, twin in zip(near, twins, strict=True):
            assert hit.pop("score") == pytest.approx(twin.pop("score"), abs=1e-5)
            assert hit == twin
        return len(one["results"])

    async def close(self) -> None:
        """Close both."""
        for memory in (self.local, self.mirrored):
            await ask(memory, "close")


def _ordered(hits: list[dict[str, Any]], last: float) -> list[dict[str, Any]]:
    above = [hit for hit in hits if hit["score"] > last + 1e-5]
    return sorted(above, key=lambda hit: (-round(hit["score"], 4), hit["id"]))


async def ask(memory: Memory | AsyncMemory, name: str, *args: Any, **kwargs: Any) -> Any:
    result = getattr(memory, name)(*args, **kwargs)
    return await result if inspect.isawaitable(result) else result


def finished(face: type[Memory | AsyncMemory], work: Coroutine[Any, Any, None]) -> None:
    if face is Memory:
        drive(work)
    else:
        asyncio.run(work)


faces = pytest.mark.parametrize("face", [Memory, AsyncMemory])


async def played(pair: Pair, steps: int, each: Callable[[Pair], Awaitable[None]]) -> int:
    found = 0
    for _ in range(steps):
        await pair.change()
        await each(pair)
        found += await pair.compare()
    await pair.close()
    return found


@faces
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.req("C-39", "R-5", "R-6", "R-18", "R-27")
def test_answers_are_the_same_whichever_store_is_configured(
    face: type[Memory | AsyncMemory], seed: int, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async def each(_: Pair) -> None:
            return

        assert await played(Pair(face, tmp_path / "memories.db", seed), 120, each) > 100

    finished(face, scenario())


@faces
@pytest.mark.req("C-39", "R-6")
def test_answers_stay_the_same_when_the_store_is_lost_or_the_memory_reset(
    face: type[Memory | AsyncMemory], tmp_path: Path
) -> None:
    async def scenario() -> None:
        async def each(pair: Pair) -> None:
            what = pair.chance.random()
            if what < 0.1:
                index: Any = pair.mirrored.engine.runtime.index
                await index._store.reset()
            elif what < 0.13:
                pair.ids.clear()
                await pair.call("reset")

        assert await played(Pair(face, tmp_path / "memories.db", 11), 120, each) > 50

    finished(face, scenario())


@faces
@pytest.mark.req("O-12")
def test_a_deleted_memory_leaves_the_store_with_the_next_search(
    face: type[Memory | AsyncMemory], tmp_path: Path
) -> None:
    async def scenario() -> None:
        pair = Pair(face, tmp_path / "memories.db", 5)
        index: Any = pair.mirrored.engine.runtime.index
        for _ in range(30):
            await pair.change()
        await pair.compare()
        await ask(pair.mirrored, "search", "oslo", user_id="alice")
        (current,) = await index._store.collections()
        assert current.count > 0
        for user in ("alice", "bob"):
            await ask(pair.mirrored, "delete_all", user_id=user)
        for memory_id in pair.ids:  # what was shared is left to the friends
            if await ask(pair.mirrored, "get", memory_id):
                await ask(pair.mirrored, "delete", memory_id)
        await ask(pair.mirrored, "search", "oslo", user_id="alice")
        assert [info.count for info in await index._store.collections()] == [0]
        await pair.close()

    finished(face, scenario())


@pytest.mark.req("C-39")
def test_a_store_nobody_knows_is_refused_with_the_names_that_are_known() -> None:
    with pytest.raises(ConfigError, match="memory"):
        Memory({"store": {"url": "memory:"}, "vector_store": {"provider": "nosuch"}})
    with pytest.raises(ConfigError, match="path"):
        Memory({"store": {"url": "memory:"}, "vector_store": {"provider": "memory", "config": {"path": "x"}}})


@pytest.mark.req("C-39", "C-39.1")
@pytest.mark.parametrize(
    ("provider", "config", "hint"),
    [
        ("qdrant", {"hots": "db"}, "did you mean host?"),
        ("qdrant", {"apikey": "k"}, "did you mean api_key?"),
        ("chroma", {"databse": "d"}, "did you mean database?"),
        ("redis", {"zzz": 1}, "zzz is unknown; options are url, password, prefix, index, ef_search, timeout"),
        ("faiss", {"folder": "x"}, "folder is unknown; options are "),
    ],
)
def test_an_option_that_there_is_not_is_refused_with_the_one_that_was_meant(
    provider: str, config: dict[str, Any], hint: str
) -> None:
    with pytest.raises(ConfigError, match=next(iter(config))) as refused:
        Memory({"store": {"url": "memory:"}, "vector_store": {"provider": provider, "config": config}})
    assert hint in (refused.value.hint or "")


@faces
@pytest.mark.parametrize("provider", ["faiss", "qdrant", "redis"])
@pytest.mark.req("C-39.1", "C-58.41", "R-5", "R-6", "R-18", "R-27")
def test_answers_are_the_same_with_stores_that_others_make(
    face: type[Memory | AsyncMemory], provider: str, tmp_path: Path
) -> None:
    async def each(_: Pair) -> None:
        return

    async def scenario(config: dict[str, Any]) -> None:
        pair = Pair(face, tmp_path / "memories.db", 3, {"provider": provider, "config": config})
        assert await played(pair, 60, each) > 50

    with ExitStack() as stack:
        config: dict[str, Any] = {"path": str(tmp_path / "faiss")}
        if provider == "qdrant":
            config = {"url": stack.enter_context(WireServer(FakeQdrant())).url}
        elif provider == "redis":
            config = {"url": stack.enter_context(run_redis())}
        finished(face, scenario(config))
