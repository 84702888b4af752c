"""One list of scenarios through every way to ask a memory: the outcome is the same."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from mcp import Client as McpClient
from mcp import StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from memstone import AsyncClient, AsyncMemory, Client, Memory
from memstone.drive import drive
from memstone.server.app import create_app
from memstone.testing.clock import FakeClock
from tests.faces.harness import Face
from tests.faces.scenarios import SCENARIOS, Scenario
from tests.faces.ways import Rest, Tools
from tests.patience import LONG
from tests.postgres.server import APP
from tests.server.upstream import served

if TYPE_CHECKING:
    from fastapi import FastAPI

    from tests.postgres.server import Server

TOOLS = [one for one in SCENARIOS if one.tools]


@dataclass
class Stage:
    """One store, a service over it, and a new tenant for every scenario."""

    config: dict[str, Any]
    clock: FakeClock
    memory: Memory
    url: str
    numbers: Iterator[int]

    def tenant(self) -> tuple[str, str]:
        """The name of a new tenant, and a key for all of it."""
        name = f"tenant-{next(self.numbers)}"
        made = self.memory.acting_for(name).admin.keys.create(verbs=["read", "write", "admin"])
        return name, made["key"]

    def key(self, **key: Any) -> str:
        """A key of a new tenant."""
        made: str = self.memory.acting_for(f"tenant-{next(self.numbers)}").admin.keys.create(**key)["key"]
        return made


class Stages:
    """The stages of this module by the kind of their store, each made when it is first asked for."""

    def __init__(self, request: pytest.FixtureRequest, folder: Path) -> None:
        self._request, self._folder = request, folder
        self._made: dict[str, Stage] = {}
        self._open = ExitStack()

    def close(self) -> None:
        """Close them all."""
        self._open.close()

    def __getitem__(self, kind: str) -> Stage:
        if kind not in self._made:
            self._made[kind] = self._open.enter_context(_staged(self._url(kind)))
        return self._made[kind]

    def _url(self, kind: str) -> str:
        """A database of its own: the one that all tests use is wiped by the next of them."""
        if kind == "sqlite":
            return f"sqlite:///{self._folder}/memstone.db"
        server: Server = self._request.getfixturevalue("postgres")
        return server.url(server.database(server.pattern), APP)


@contextmanager
def _staged(url: str) -> Iterator[Stage]:
    config = {"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}}
    clock = FakeClock()
    with Memory(config, clock=clock) as memory, served(_service(config, clock)) as address:
        yield Stage(config, clock, memory, address, count(1))


@pytest.fixture(scope="module")
def stages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stages]:
    """Everything that the scenarios share, in whatever order they come."""
    made = Stages(request, tmp_path_factory.mktemp("faces"))
    yield made
    made.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def stage(request: pytest.FixtureRequest, stages: Stages) -> Stage:
    """What the scenarios of one kind of store share."""
    return stages[request.param]


def _service(config: dict[str, Any], clock: FakeClock) -> FastAPI:
    """A service with a clock of ours. It leaves a memory that it was given open, so it is closed where it is used."""
    memory = AsyncMemory(config, clock=clock)
    service = create_app(config, memory=memory)
    serves = service.router.lifespan_context

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[Any]:
        async with serves(app) as state:
            yield state
        await memory.close()

    service.router.lifespan_context = life
    return service


def through_memory(stage: Stage, scenario: Scenario) -> None:
    tenant, _ = stage.tenant()
    drive(_coroutine(scenario, Face(stage.memory.acting_for(tenant)), stage.clock))


def through_async_memory(stage: Stage, scenario: Scenario) -> None:
    tenant, _ = stage.tenant()

    async def run() -> None:
        async with AsyncMemory(stage.config, clock=stage.clock) as memory:
            await scenario.run(Face(memory.acting_for(tenant)), stage.clock)

    asyncio.run(run())


def through_client(stage: Stage, scenario: Scenario) -> None:
    with Client(stage.url, stage.tenant()[1], timeout=LONG) as client:
        drive(_coroutine(scenario, Face(client), stage.clock))


def through_async_client(stage: Stage, scenario: Scenario) -> None:
    async def run() -> None:
        async with AsyncClient(stage.url, stage.tenant()[1], timeout=LONG) as client:
            await scenario.run(Face(client), stage.clock)

    asyncio.run(run())


def through_rest(stage: Stage, scenario: Scenario) -> None:
    rest = Rest(stage.url, stage.tenant()[1])
    try:
        drive(_coroutine(scenario, rest, stage.clock))
    finally:
        drive(rest.close())


def through_a_plain_key(stage: Stage, scenario: Scenario) -> None:
    """With a key that reaches its own pools only, everything is as it is with any other."""
    with Client(stage.url, stage.key(), timeout=LONG) as client:
        drive(_coroutine(scenario, Face(client), stage.clock))


def through_a_trusted_key(stage: Stage, scenario: Scenario) -> None:
    with Client(stage.url, stage.key(may_assert_user=True), timeout=LONG) as client:
        drive(_coroutine(scenario, Face(client), stage.clock))


WAYS: list[Callable[[Stage, Scenario], None]] = [
    through_memory,
    through_async_memory,
    through_client,
    through_async_client,
    through_rest,
]


def cases() -> Iterator[Any]:
    """All ways over SQLite. A service asks PostgreSQL in one way whoever asks it, so each scenario has one of these."""
    for number, scenario in enumerate(SCENARIOS):
        asked = WAYS[2 + number % 3]
        for way in WAYS:
            title = f"{scenario.title}-{way.__name__}"
            yield pytest.param("sqlite", scenario, way, id=f"sqlite-{title}")
            if way in (through_memory, through_async_memory, asked):
                yield pytest.param("postgres", scenario, way, id=f"postgres-{title}", marks=pytest.mark.postgres)


CASES = list(cases())


async def _coroutine(scenario: Scenario, face: Face, clock: FakeClock) -> None:
    await scenario.run(face, clock)


@pytest.mark.req(
    "X-22",
    "C-50",
    "D-22",
    "X-31",
    "N-49",
    "N-38",
    "R-4",
    "N-47",
    "C-58.1",
    "C-58.3",
    "C-58.5",
    "C-58.6",
    "C-58.7",
    "C-58.8",
    "C-58.9",
    "C-58.10",
    "C-58.11",
    "C-58.12",
    "C-58.13",
    "C-58.14",
    "C-58.15",
    "C-58.17",
    "C-58.18",
    "C-58.19",
    "C-58.20",
    "C-58.21",
    "C-58.22",
    "C-58.23",
    "C-58.24",
    "C-58.25",
    "C-58.26",
    "C-58.27",
    "C-58.28",
    "C-58.29",
    "C-58.30",
    "C-58.31",
    "C-58.32",
    "C-58.33",
    "C-58.34",
    "C-58.38",
)
@pytest.mark.parametrize(("stage", "scenario", "way"), CASES, indirect=["stage"])
def test_a_scenario_ends_the_same_way_through_every_face(
    stage: Stage, scenario: Scenario, way: Callable[[Stage, Scenario], None]
) -> None:
    way(stage, scenario)


def with_tools(stage: Stage, transport: Any, scenarios: list[Scenario]) -> Coroutine[Any, Any, None]:
    """Every scenario in one session, each with users of its own."""

    async def run() -> None:
        session: AbstractAsyncContextManager[McpClient] = McpClient(transport)
        async with session as client:
            for number, scenario in enumerate(scenarios):
                await scenario.run(Tools(client, f"s{number}-"), stage.clock)

    return run()


@pytest.mark.req("O-83", "O-86", "X-22")
def test_the_tools_give_the_same_over_http(stage: Stage) -> None:
    async def run() -> None:
        headers = {"Authorization": f"Bearer {stage.tenant()[1]}"}
        async with httpx2.AsyncClient(headers=headers, timeout=LONG) as http:
            await with_tools(stage, streamable_http_client(f"{stage.url}/mcp", http_client=http), TOOLS)

    asyncio.run(run())


@pytest.mark.req("O-83", "O-86", "X-22")
@pytest.mark.parametrize("stage", ["sqlite"], indirect=True)
def test_the_tools_give_the_same_over_sse(stage: Stage) -> None:
    headers = {"Authorization": f"Bearer {stage.tenant()[1]}"}
    asyncio.run(with_tools(stage, sse_client(f"{stage.url}/mcp/sse", headers, timeout=LONG), TOOLS))


@pytest.mark.req("O-83", "O-86", "X-22")
@pytest.mark.parametrize("stage", ["sqlite"], indirect=True)
def test_the_tools_give_the_same_over_standard_input_and_output(stage: Stage, tmp_path: Any) -> None:
    # The clock of another process goes its own way, and by it the days between two messages do not pass.
    command = ["-m", "memstone.cli", "--db", str(tmp_path / "tools.db"), "mcp"]
    environment = {"MEMSTONE_EMBEDDER__PROVIDER": "hash", "PYTHONWARNINGS": "ignore"}
    environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    transport = StdioServerParameters(command=sys.executable, args=command, env=environment)
    asyncio.run(with_tools(stage, transport, TOOLS))


@pytest.mark.req("X-39", "X-1", "X-22")
@pytest.mark.parametrize(
    ("stage", "way"),
    [
        ("sqlite", through_a_plain_key),
        ("sqlite", through_a_trusted_key),
        pytest.param("postgres", through_a_plain_key, marks=pytest.mark.postgres),
    ],
    indirect=["stage"],
)
@pytest.mark.parametrize("one", [one for one in SCENARIOS if not one.whole], ids=lambda one: one.title)
def test_a_scenario_comes_out_alike_with_a_key_that_is_no_administrators(
    stage: Stage, one: Scenario, way: Callable[[Stage, Scenario], None]
) -> None:
    way(stage, one)
