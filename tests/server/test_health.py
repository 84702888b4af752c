from __future__ import annotations

import asyncio
import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
import uvicorn

from memstone import Memory
from memstone.adapters.sqlite import ledger
from memstone.adapters.sqlite.ledger import SqliteLedger
from memstone.errors import Corrupted, StorageBusy
from memstone.server.app import create_app
from memstone.server.gateway.chat import Tasks
from memstone.server.process import Service, WriteCheck
from tests.patience import LONG, until
from tests.ports import free_port
from tests.server.conftest import CONFIG
from tests.server.world import World


def counted(world: World) -> dict[str, Any]:
    stats = world.run(world.app.state.memstone.memory.stats)
    return {name: value for name, value in stats.items() if isinstance(value, int)}


@pytest.mark.req("N-26", "R-33")
def test_health_needs_no_key_and_writes_nothing(world: World) -> None:
    world.client.post("/v1/memories", json={"messages": "I live in Oslo", "user_id": "alice"})
    before = counted(world)
    client = world.anonymous()
    for _ in range(3):
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/readyz").json() == {"status": "ok", "reason": None}
        assert world.run(world.app.state.memstone.memory.admin.health)["level"] == "healthy"
    assert counted(world) == before


def test_a_service_that_is_not_open_is_not_ready() -> None:
    from starlette.testclient import TestClient

    from memstone.server.app import create_app

    client = TestClient(create_app(CONFIG))  # its life has not begun
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "starting", "reason": "not_open"})
    assert client.get("/healthz").status_code == 200


def test_a_balancer_may_ask_without_wanting_an_answer(world: World) -> None:
    for path in ("/healthz", "/readyz"):
        answer = world.anonymous().head(path)
        assert (answer.status_code, answer.content) == (200, b"")


def test_a_service_starts_without_reading_its_whole_store(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(SqliteLedger, "check", check)
    with World.of(CONFIG) as world:
        assert world.client.get("/readyz").status_code == 200


@pytest.mark.req("N-26")
def test_a_store_that_does_not_answer_is_told_with_a_reason(world: World) -> None:
    class Broken:
        async def peek(self, _: Any) -> Any:
            raise Corrupted("the file is not a database: /secret/place")

    parts = world.app.state.memstone.memory.engine.runtime
    full = parts.ledger
    object.__setattr__(parts, "ledger", Broken())
    answer = world.anonymous().get("/readyz")
    object.__setattr__(parts, "ledger", full)
    assert (answer.status_code, answer.json()) == (503, {"status": "unavailable", "reason": Corrupted.code})
    assert world.anonymous().get("/readyz").status_code == 200


def alone(path: Path, **store: Any) -> dict[str, Any]:
    return {**CONFIG, "store": {"url": f"sqlite:///{path}/h.db", **store}}


def recheck(world: World) -> Any:
    """Ask whether the service is ready, as if the last try were long ago."""
    world.app.state.memstone.writable._next = 0.0
    return world.anonymous().get("/readyz")


@pytest.mark.req("N-26", "N-50")
def test_a_disk_without_room_is_told_and_nothing_is_added_until_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = [65_000_000]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free[0]))
    texts = {"messages": "likes tea", "user_id": "alice", "infer": False}
    with World.of(alone(tmp_path)) as world:
        stored = world.client.post("/v1/memories", json=texts).json()["results"][0]["id"]
        assert recheck(world).json() == {"status": "ok", "reason": None}
        free[0] = 63_000_000
        answer = world.client.post("/v1/memories", json={**texts, "messages": "likes coffee"})
        assert (answer.status_code, answer.json()["code"]) == (507, "storage_full")
        assert "store.reserve_mb" in answer.json()["hint"]
        assert str(tmp_path) not in answer.text
        assert (recheck(world).status_code, recheck(world).json()["reason"]) == (503, "storage_full")
        assert world.anonymous().get("/healthz").status_code == 200
        assert world.client.get("/v1/memories?user_id=alice").json()["results"]
        assert world.client.delete(f"/v1/memories/{stored}").status_code == 200
        free[0] = 65_000_000
        assert recheck(world).status_code == 200
        assert world.client.post("/v1/memories", json=texts).status_code == 200
    with World.of(alone(tmp_path, reserve_mb=0)) as world:
        free[0] = 0
        assert world.client.post("/v1/memories", json={**texts, "messages": "likes coffee"}).status_code == 200


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "storage_full"),
        (errno.EDQUOT, "storage_full"),
        (errno.EROFS, "storage_read_only"),
        (errno.EACCES, "storage_read_only"),
        (errno.EIO, "storage_read_only"),
    ],
)
def test_a_folder_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    def broken(**_: Any) -> Any:
        raise OSError(number, os.strerror(number))

    with World.of(alone(tmp_path)) as world:
        with monkeypatch.context() as patched:
            patched.setattr(ledger, "TemporaryFile", broken)
            assert (recheck(world).status_code, recheck(world).json()["reason"]) == (503, reason)
            assert world.run(world.app.state.memstone.memory.admin.health)["level"] == "unavailable"
        assert recheck(world).status_code == 200


@pytest.mark.req("R-33")
def test_whether_the_store_can_be_written_is_tried_rarely_and_leaves_nothing(tmp_path: Path) -> None:
    with World.of(alone(tmp_path)) as world:
        state, tries = world.app.state.memstone, list[int]()
        attempt = state.writable._attempt

        async def counted_attempt() -> None:
            tries.append(1)
            await attempt()

        state.writable._attempt = counted_attempt
        before, rows = sorted(tmp_path.iterdir()), all_rows(tmp_path)
        for _ in range(50):
            assert world.anonymous().get("/readyz").status_code == 200
        assert len(tries) == 1
        assert recheck(world).status_code == 200
        assert len(tries) == 2
        assert (sorted(tmp_path.iterdir()), all_rows(tmp_path)) == (before, rows)


def all_rows(folder: Path) -> dict[str, int]:
    """How many rows there are in every table."""
    with closing(sqlite3.connect(folder / "h.db")) as raw:
        names = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: raw.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}  # noqa: S608


def test_a_store_that_others_hold_is_an_outage_only_if_they_hold_it_for_long() -> None:
    now, outcome = [0.0], list[Exception]()

    async def attempt() -> None:
        if outcome:
            raise outcome[0]

    async def asked(check: WriteCheck, after: float) -> str | None:
        now[0] += after
        return await check.reason()

    async def answer() -> list[str | None]:
        check = WriteCheck(attempt, Tasks(), lambda: now[0])
        first = [await asked(check, 0)]
        outcome.append(StorageBusy("another process writes"))
        current = [await asked(check, 20) for _ in range(5)]
        outcome.clear()
        return [*first, *current, await asked(check, 20)]

    assert asyncio.run(answer()) == [None, None, None, None, None, "storage_busy", None]


def test_what_waits_is_learned_before_the_service_ends(tmp_path: Any) -> None:
    from memstone import Memory

    store = {**CONFIG, "store": {"url": f"sqlite:///{tmp_path}/s.db"}}
    config = {**store, "write": {"mode": "background", "debounce_seconds": 0, "shutdown_seconds": 120}}
    with World.of(config) as world:
        assert world.run(world.app.state.memstone.memory.stats)["formation"]["worker"]
        texts = {"messages": "I live in Oslo", "user_id": "alice", "run_id": "s"}
        assert world.client.post("/v1/memories", json=texts).status_code == 200
    with Memory(store) as memory:
        assert memory.stats()["pending"] == 0
        assert [one["memory"] for one in memory.get_all(user_id="alice")["results"]] == ["User lives in Oslo."]


def test_a_service_that_ends_does_not_wait_for_those_who_listen_to_its_feed(tmp_path: Path) -> None:
    config = {**CONFIG, "store": {"url": f"sqlite:///{tmp_path}/h.db"}}
    with Memory(config) as memory:
        key = memory.admin.keys.create(verbs=["admin"])["key"]
    app = create_app(config)
    service = Service(uvicorn.Config(app, port=0, log_config=None, timeout_graceful_shutdown=600))
    thread = threading.Thread(target=service.run)
    thread.start()
    while not service.started:
        assert thread.is_alive()
        time.sleep(0.01)
    port = service.servers[0].sockets[0].getsockname()[1]
    with httpx2.stream(
        "GET", f"http://127.0.0.1:{port}/v1/events/stream", headers={"X-API-Key": key}, timeout=120
    ) as feed:
        lines = feed.iter_lines()
        assert next(lines) == "retry: 1000"
        service.should_exit = True
        assert "".join(lines) == ""
    thread.join(120)
    assert not thread.is_alive()


@pytest.mark.system
@pytest.mark.req("N-26")
def test_a_process_that_cannot_write_its_files_lives_and_is_not_ready(tmp_path: Path) -> None:
    port = free_port()
    program = [sys.executable, "-m", "memstone.cli", "--db", f"{tmp_path}/h.db", "serve", "--port", str(port)]
    limited = [
        "/bin/sh",
        "-c",
        'ulimit -f 96 && exec "$@"',
        "sh",
        *program,
    ]  # of 512 bytes: no file may grow beyond 48 KiB
    with Memory(alone(tmp_path)) as memory:
        memory.admin.keys.create("one")
    environment = {**os.environ, "MEMSTONE_EMBEDDER__PROVIDER": "hash"}
    with subprocess.Popen(limited, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # noqa: S603
        try:
            until(lambda: _status(port, "/healthz") == 200)
            assert _status(port, "/readyz") == 503
            assert httpx2.get(f"http://127.0.0.1:{port}/readyz").json()["reason"] == "storage_full"
            assert _status(port, "/healthz") == 200
        finally:
            process.terminate()


def _status(port: int, path: str) -> int:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}{path}", timeout=LONG).status_code
    except httpx2.HTTPError:
        return 0
