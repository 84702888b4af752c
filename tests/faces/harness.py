"""Both faces behind one: a scenario is written once, as a coroutine, and run through each.

The methods of a ``Face`` are awaited whether a ``Memory`` or an ``AsyncMemory`` stands behind it. A test that is an
``async def`` is run by ``conftest.py``: on an event loop for the asyncio face, by ``drive`` for the blocking one, where
it must never suspend.
"""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import reduce
from pathlib import Path
from typing import Any, Final, cast, get_type_hints

import pytest

from memstone import AsyncClient, AsyncMemory, Client, Memory
from memstone.api.base import Group
from memstone.api.verbs import MemoryVerbs
from memstone.drive import drive
from memstone.remote.methods import RemoteGroup
from memstone.testing.clock import FakeClock

FACES: Final[dict[str, type[Memory | AsyncMemory]]] = {"memory": Memory, "async_memory": AsyncMemory}
ON_DISK: Final = pytest.mark.parametrize("store", ["file"], indirect=True)
"""For tests that look into the file, or open it twice."""

ANYWHERE: Final = pytest.mark.parametrize("store", ["in_memory"], indirect=True)
"""For long tests of what no store decides."""


class FaceGroup:
    """A group of verbs; every method is awaited."""

    def __init__(self, group: Group | RemoteGroup) -> None:
        self._group = group

    def __getattr__(self, name: str) -> Any:
        return awaited(getattr(self._group, name))


def awaited(member: Any) -> Any:
    """A method that is awaited whichever face it is of, or a group of such methods."""
    if isinstance(member, (Group, RemoteGroup)):
        return FaceGroup(member)

    async def call(*args: Any, **kwargs: Any) -> Any:
        result = member(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    return call


def list_verbs(group: type[Group] = MemoryVerbs, prefix: str = "") -> list[str]:
    """Every verb there is, by its group and its name."""
    found = list[str]()
    for name, member in vars(group).items():
        if isinstance(member, property):
            found += list_verbs(get_type_hints(member.fget)["return"], f"{prefix}{name}.")
        elif inspect.isfunction(member) and not name.startswith("_"):
            found.append(f"{prefix}{name}")
    return sorted(found)


def verb_of(owner: Any, name: str) -> Any:
    """A method by the name of its verb, such as ``review.restore``."""
    return reduce(getattr, name.split("."), owner)


class Face:
    """One memory; every method is awaited."""

    def __init__(self, memory: Memory | AsyncMemory | Client | AsyncClient) -> None:
        self.memory = cast("Memory | AsyncMemory", memory)  # a client has the same methods

    def __getattr__(self, name: str) -> Any:
        return awaited(getattr(self.memory, name))

    async def run(self, function: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        """What a function of the engine answers that is no verb."""
        return await self.memory.engine.run(function, *args, **kwargs)

    async def export(self, **scope: Any) -> list[dict[str, Any]]:
        """All lines of an export."""
        lines = self.memory.export(**scope)
        if isinstance(lines, AsyncIterator):
            return [line async for line in lines]
        return list(lines)

    # Short forms of what nearly every scenario does. Those about the store itself say what to store, word for word.

    async def store(self, messages: Any, **rest: Any) -> dict[str, Any]:
        """Add something as it is, without learning from it."""
        answer: dict[str, Any] = await self.add(messages, infer=False, **rest)
        return answer

    async def store_many(self, items: Any, **rest: Any) -> dict[str, Any]:
        """Add a batch as it is."""
        if isinstance(items, list):
            items = [{**item, "infer": False} if isinstance(item, Mapping) else item for item in items]
        answer: dict[str, Any] = await self.add_many(items, **rest)
        return answer

    async def remember(self, text: str, **rest: Any) -> str:
        """Store one text for alice (or whoever is named) as it is; gives its id."""
        if not rest.keys() & {"user_id", "agent_id", "run_id"}:
            rest["user_id"] = "alice"
        added = await self.store(text, **rest)
        assert added["status"] == "ok", added
        memory_id: str = added["results"][0]["id"]
        return memory_id

    async def found(self, query: str, **rest: Any) -> list[str]:
        """The texts a search of alice (or whoever is named) finds, best first."""
        if not rest.keys() & {"user_id", "agent_id", "run_id"}:
            rest["user_id"] = "alice"
        return texts(await self.search(query, **rest))

    async def listed(self, **rest: Any) -> list[str]:
        """The texts alice (or whoever is named) sees, newest first."""
        if not rest.keys() & {"user_id", "agent_id", "run_id"}:
            rest["user_id"] = "alice"
        return texts(await self.get_all(**rest))


class Opens:
    """Opens faces over one store and closes them when the test ends."""

    def __init__(self, kind: str, store: Path | str | None) -> None:
        self.kind, self.path = kind, store if isinstance(store, Path) else None
        self._database = store if isinstance(store, str) else ""
        self.clock = FakeClock()
        self._open: list[Face] = []

    @property
    def url(self) -> str:
        """Where the store is."""
        return self._database or (f"sqlite:///{self.path}" if self.path else "memory:")

    def __call__(self, config: Mapping[str, Any] | None = None, **ports: Any) -> Face:
        """A face over this store, with the hash embedder and a clock that stands still unless told otherwise."""
        settings = {"store": {"url": self.url, "durable": False}, "embedder": {"provider": "hash"}, **(config or {})}
        face = Face(FACES[self.kind](settings, **{"clock": self.clock, **ports}))
        self._open.append(face)
        return face

    def run(self, scenario: Coroutine[Any, Any, None]) -> None:
        """Run a scenario the way its face is used, and close what it opened."""
        if self.kind == "memory":
            drive(self._closing(scenario))
        else:
            asyncio.run(self._closing(scenario))

    async def _closing(self, scenario: Coroutine[Any, Any, None]) -> None:
        try:
            await scenario
        finally:
            for face in self._open:
                await face.close()

    def rows(self, query: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What a statement of one's own reads from the file."""
        with self.sql() as database:
            return database.execute(query, params).fetchall()

    @contextmanager
    def sql(self) -> Iterator[sqlite3.Connection]:
        """The file as anybody may open it, without Memstone."""
        assert self.path is not None, "only a store on disk can be looked into"
        with closing(sqlite3.connect(self.path, isolation_level=None)) as database:
            database.execute("PRAGMA foreign_keys = ON")
            yield database


def passed(report: Mapping[str, Any]) -> bool:
    """Whether an erasure passed every check; of a database that is not all there is to look at."""
    return all(check["ok"] for check in report["checks"])


def texts(answer: Mapping[str, Any]) -> list[str]:
    """The texts of an answer, in its order."""
    return [item["memory"] for item in answer["results"]]


def ids(answer: Mapping[str, Any]) -> list[str]:
    """The ids of an answer, in its order."""
    return [item["id"] for item in answer["results"]]
