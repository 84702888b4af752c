"""Connections are lost; what was acknowledged is not, and nothing is done twice."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from memstone import AsyncMemory, Memory
from memstone.adapters.postgres.statements import BlockingWire
from memstone.drive import drive
from memstone.errors import StorageBusy
from memstone.ports.ledger import Tx
from tests.patience import until, until_awaited
from tests.postgres.server import Server, running

_CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app' AND pid <> pg_backend_pid()"


def _config(url: str, **store: Any) -> dict[str, Any]:
    return {"store": {"url": url, "durable": False, **store}, "embedder": {"provider": "hash"}}


@pytest.fixture
def memory(postgres: Server) -> Iterator[Memory]:
    with Memory(_config(postgres.fresh())) as memory:
        memory.add("I live in Oslo", user_id="alice", infer=False)
        yield memory


def _cut(postgres: Server) -> None:
    with postgres.superuser(postgres.name) as connection:
        connection.execute(_CUT)


def _texts(memory: Memory) -> list[str]:
    return sorted(one["memory"] for one in memory.get_all(user_id="alice")["results"])


def test_after_a_cut_everything_goes_on(memory: Memory, postgres: Server) -> None:
    _cut(postgres)
    assert memory.search("Oslo", user_id="alice")["results"]

    _cut(postgres)
    memory.add("I live in Rome", user_id="alice", infer=False)

    assert _texts(memory) == ["I live in Oslo", "I live in Rome"]


def test_the_asyncio_face_goes_on_too(postgres: Server) -> None:
    async def story() -> list[str]:
        async with AsyncMemory(_config(postgres.fresh())) as memory:
            await memory.add("I live in Oslo", user_id="alice", infer=False)
            await asyncio.to_thread(_cut, postgres)
            await memory.add("I live in Rome", user_id="alice", infer=False)
            found = await memory.get_all(user_id="alice")
            return sorted(one["memory"] for one in found["results"])

    assert asyncio.run(story()) == ["I live in Oslo", "I live in Rome"]


def test_a_unit_that_lost_its_connection_is_run_again(memory: Memory, postgres: Server) -> None:
    runs: list[int] = []

    async def unit(tx: Tx) -> int:
        runs.append(1)
        counted = await tx.admin.counts("default")
        await tx.agents.meet("default", f"agent{len(runs)}", "")
        if len(runs) == 1:
            _cut(postgres)
        return counted["memories"]

    ledger = memory.engine.runtime.ledger
    assert drive(ledger.write(unit)) == 1

    assert len(runs) == 2
    assert [one["id"] for one in memory.agents.list()["agents"]] == ["agent2"]


@pytest.mark.parametrize("reached", [True, False])
def test_what_became_of_a_commit_without_an_answer_is_found_out(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, *, reached: bool
) -> None:
    """Whether the COMMIT reached the server or not, the fact is there once, and the caller is told so."""
    commit, calls = BlockingWire.commit, iter(range(100))
    armed = threading.Event()

    async def cut_off(wire: BlockingWire) -> None:
        if armed.is_set() and next(calls) == 0:
            if reached:
                await commit(wire)
            wire._connection.pgconn.finish()
            raise psycopg.OperationalError("the connection is gone")
        await commit(wire)

    runs: list[int] = []

    async def unit(tx: Tx) -> str:
        runs.append(1)
        armed.set()
        await tx.agents.meet("default", f"agent{len(runs)}", "")
        return f"agent{len(runs)}"

    monkeypatch.setattr(BlockingWire, "commit", cut_off)
    text = drive(memory.engine.runtime.ledger.write(unit))

    assert text == ("agent1" if reached else "agent2")
    assert [one["id"] for one in memory.agents.list()["agents"]] == [text]


def test_a_statement_that_takes_too_long_is_given_up(postgres: Server) -> None:
    async def unit(tx: Tx) -> None:
        await tx.agents._sql.rows("SELECT pg_sleep(600)")  # type: ignore[attr-defined]

    with Memory(_config(postgres.fresh(), statement_seconds=2)) as memory:
        memory.stats()
        with pytest.raises(StorageBusy, match="statement timeout") as caught:
            drive(memory.engine.runtime.ledger.read(unit))

        assert caught.value.retryable
        assert memory.stats()["memories"] == 0


def test_writers_of_one_tenant_take_turns_and_those_of_another_do_not_wait(postgres: Server) -> None:
    """A cursor over ``seq`` misses nothing, because numbers are committed in the order in which they are given."""
    url, begun, goes_on = postgres.fresh(), threading.Event(), threading.Event()

    async def slow(tx: Tx) -> None:
        await tx.agents.meet("a", "slow", "")
        begun.set()
        goes_on.wait(120)

    with (
        Memory({**_config(url), "tenant": "a"}) as one,
        Memory({**_config(url), "tenant": "b"}) as other,
        ThreadPoolExecutor(2) as pool,
    ):
        one.stats()
        first = pool.submit(lambda: drive(one.engine.runtime.ledger.write(slow)))
        assert begun.wait(120)
        second = pool.submit(one.add, "I live in Oslo", user_id="alice", infer=False)
        other.add("I live in Rome", user_id="alice", infer=False)  # comes back although the other one waits
        with pytest.raises(TimeoutError):
            second.result(0.3)
        goes_on.set()
        first.result(120)

        assert second.result(120)["status"] == "ok"


def test_a_cancelled_call_is_carried_out_whole(postgres: Server) -> None:
    async def story() -> None:
        async with AsyncMemory(_config(postgres.fresh())) as memory:
            await memory.stats()
            ledger = memory.engine.runtime.ledger
            begun = asyncio.Event()

            async def unit(tx: Tx) -> None:
                await tx.agents.meet("default", "one", "")
                begun.set()
                await asyncio.sleep(0.1)
                await tx.agents.meet("default", "two", "")

            task = asyncio.create_task(ledger.write(unit))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until_awaited(lambda: _met(memory))

    asyncio.run(story())


async def _met(memory: AsyncMemory) -> bool:
    """Whether both are there: nobody ever sees one without the other."""
    found = (await memory.agents.list())["total"]
    assert found in (0, 2)
    return bool(found)


def test_one_memory_serves_one_event_loop_after_the_other(postgres: Server) -> None:
    memory = AsyncMemory(_config(postgres.fresh()))
    asyncio.run(memory.add("I live in Oslo", user_id="alice", infer=False))

    found = asyncio.run(memory.search("Oslo", user_id="alice"))

    asyncio.run(memory.close())
    assert [one["memory"] for one in found["results"]] == ["I live in Oslo"]


@pytest.mark.slow
def test_a_restart_of_the_server_loses_nothing_that_was_acknowledged() -> None:
    with running() as server, Memory(_config(server.fresh(), durable=True)) as memory:
        acknowledged: list[str] = []
        stopped = threading.Event()

        def write(writer: int) -> None:
            for number in range(1000):
                if stopped.is_set():
                    return
                text = f"fact {number} of {writer}"
                memory.add(text, user_id="alice", infer=False)
                acknowledged.append(text)

        with ThreadPoolExecutor(3) as pool:
            writers = [pool.submit(write, number) for number in range(3)]
            until(lambda: len(acknowledged) > 20)
            server.restart()
            before = len(acknowledged)
            until(lambda: len(acknowledged) > before + 20)
            stopped.set()
            for writer in writers:
                writer.result(120)

        stored = [one["memory"] for one in memory.get_all(user_id="alice", limit=10_000)["results"]]

    assert sorted(stored) == sorted(set(stored))
    assert set(acknowledged) <= set(stored)
    assert len(stored) - len(acknowledged) <= 0
