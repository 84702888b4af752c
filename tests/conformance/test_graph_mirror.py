"""What becomes of a memory whose graph database fails, is killed, lost, or filled by several at once: a real one."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from memstone import Memory
from memstone.adapters.graph.falkordb import FalkorDbConfig, FalkorDbStore
from memstone.adapters.graph.neo4j import Neo4jConfig, Neo4jStore
from memstone.adapters.io.blocking import BlockingIo
from memstone.config import Settings
from memstone.drive import drive
from memstone.engine.transfer import graph_mirror
from memstone.errors import BackendUnavailable, ConfigError, GraphStoreError
from memstone.ports.graph import GraphMirror
from memstone.testing.graph_store import GraphScene
from tests.faces.cli_runner import Cli
from tests.patience import until
from tests.ports import free_port
from tests.stores.falkordb_server import FalkorDbServer, run_falkordb

PEOPLE = ("Anna", "Felix", "Mirela", "Oskar", "Ines")
TOWNS = ("Oslo", "Rome", "Lima", "Kyoto")


@pytest.fixture
def server() -> Iterator[FalkorDbServer]:
    with run_falkordb() as running:
        yield running


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for changes, and for a database that is back, more often than anybody needs."""
    monkeypatch.setattr(graph_mirror, "_POLL_SECONDS", 0.02)
    monkeypatch.setattr(graph_mirror, "_PROBE_SECONDS", 0.05)


def configured(path: Path, server: FalkorDbServer | None, **options: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "store": {"url": f"sqlite:///{path / 'memories.db'}", "durable": False},
        "embedder": {"provider": "none"},
    }
    if server is not None:
        settings["graph_store"] = {"provider": "falkordb", "config": {"url": server.url, **options}}
    return settings


def mirror_of(memory: Memory) -> GraphMirror:
    graph = memory.engine.runtime.graph
    assert graph is not None
    return graph


def position_of(server: FalkorDbServer) -> int:
    store = FalkorDbStore(FalkorDbConfig(url=server.url), BlockingIo())
    graphs = drive(store.graphs())
    drive(store.close())
    return graphs[0].position if graphs else 0


def said(number: int) -> str:
    chance = random.Random(number)  # noqa: S311 - test data
    return f"{chance.choice(PEOPLE)} moved to {chance.choice(TOWNS)} with {chance.choice(PEOPLE)} and box {number}."


def assert_agreement(memory: Memory) -> None:
    drive(GraphScene(memory).agree("alice"))


@pytest.mark.req("C-57", "D-19")
def test_a_server_that_is_killed_in_the_middle_of_a_fill_loses_and_doubles_nothing(
    tmp_path: Path, server: FalkorDbServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_mirror, "_PAGE", 4)
    with Memory(configured(tmp_path, None)) as memory:
        memory.add_many([{"messages": said(one), "user_id": "alice", "infer": False} for one in range(300)])
    with Memory(configured(tmp_path, server)) as memory:
        memory.stats()  # which opens it, and the fill begins
        for reached in (30, 120, 200):
            until(lambda at=reached: position_of(server) >= at)  # type: ignore[misc]
            server.kill()
            memory.add(said(1_000 + reached), user_id="alice", infer=False)
            server.start()
        until(lambda: mirror_of(memory).outage is None)
        drive(mirror_of(memory).catch_up("default"))
        assert_agreement(memory)
        report = memory.graph.check()
    assert report["agrees"]
    assert report["mirror"] == report["ledger"]
    assert report["ledger"]["entities"] == len(PEOPLE) + len(TOWNS)


@pytest.mark.req("C-57", "C-29")
def test_while_the_graph_is_down_it_is_said_and_everything_else_works(tmp_path: Path, server: FalkorDbServer) -> None:
    with Memory(configured(tmp_path, server)) as memory:
        memory.add("My sister Anna works at Contoso.", user_id="alice", infer=False)
        before = memory.search("What does my sister do?", user_id="alice")
        assert "degraded" not in before
        server.kill()

        down = memory.search("What does my sister do?", user_id="alice")
        assert [one["id"] for one in down["results"]] == [one["id"] for one in before["results"]]
        assert [(one["channel"], one["code"]) for one in down["degraded"]] == [("graph_store", "backend_unavailable")]
        part = memory.admin.status()["graph_store"]
        assert (part["available"], part["backend"]) == (False, "external")
        assert part["reason"] == "FalkorDB does not answer; the ledger answers meanwhile"
        added = memory.add("Contoso repairs lighthouses.", user_id="alice", infer=False)
        assert added["results"][0]["event"] == "ADD"
        assert {one["name"] for one in memory.graph.entities(user_id="alice")["results"]} == {"Anna", "Contoso"}

        server.start()
        until(lambda: memory.admin.status()["graph_store"] == {
            "available": True, "reason": None, "backend": "external", "pending": 0
        })  # fmt: skip
        assert "degraded" not in memory.search("What does my sister do?", user_id="alice")
        assert_agreement(memory)


@pytest.mark.req("C-57")
def test_a_frozen_server_is_waited_for_once(tmp_path: Path, server: FalkorDbServer) -> None:
    with Memory(configured(tmp_path, server, timeout=0.5)) as memory:
        memory.add("Anna works at Contoso.", user_id="alice", infer=False)
        memory.search("Where does Anna work?", user_id="alice")
        assert server.process is not None
        server.process.send_signal(signal.SIGSTOP)
        try:
            for _ in range(3):
                answer = memory.search("Where does Anna work?", user_id="alice")
                assert [one["channel"] for one in answer["degraded"]] == ["graph_store"]
                assert len(answer["results"]) == 1
        finally:
            server.process.send_signal(signal.SIGCONT)
        until(lambda: mirror_of(memory).outage is None)
        assert_agreement(memory)


@pytest.mark.req("D-19")
def test_two_processes_worth_of_memories_fill_one_graph(
    tmp_path: Path, server: FalkorDbServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_mirror, "_PAGE", 4)
    with Memory(configured(tmp_path, server)) as first, Memory(configured(tmp_path, server)) as second:

        def change(number: int) -> None:
            memory = (first, second)[number % 2]
            added = memory.add(said(number), user_id="alice", infer=False)["results"][0]["id"]
            if number % 3 == 0:
                memory.update(added, said(number + 1_000))
            elif number % 5 == 0:
                memory.delete(added)
            memory.search("Where is Anna?", user_id="alice")

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(change, range(80)))
        assert_agreement(first)
        assert_agreement(second)


@pytest.mark.req("D-19", "C-57")
def test_an_erasure_reaches_the_graph_or_says_that_it_will(tmp_path: Path, server: FalkorDbServer) -> None:
    with Memory(configured(tmp_path, server)) as memory:
        for user in ("alice", "bob"):
            memory.add("Anna works at Contoso.", user_id=user, infer=False)
        assert_agreement(memory)
        report = memory.admin.erase(user_id="alice")
        assert report["checks"][1] == {"check": "graph", "entities_left": 0, "ok": True}
        assert report["complete"]
        assert memory.graph.check()["mirror"] == {"entities": 2, "mentions": 2, "relations": 1}

        server.kill()
        report = memory.admin.erase(user_id="bob")
        (check,) = (one for one in report["checks"] if one["check"] == "graph")
        assert (check["ok"], check["pending"], check["error"]["code"]) == (False, True, "backend_unavailable")
        assert not report["complete"]
        assert not memory.admin.verify_erasure(report)["ok"]
        server.start()
        until(lambda: memory.admin.status()["graph_store"]["available"])
        until(lambda: memory.graph.check()["mirror"] == {"entities": 0, "mentions": 0, "relations": 0})
        assert memory.admin.verify_erasure(report)["ok"]


def test_a_restored_store_has_its_own_graph_again(tmp_path: Path, server: FalkorDbServer) -> None:
    with Memory(configured(tmp_path, server)) as memory:
        memory.add("Anna works at Contoso.", user_id="alice", infer=False)
        assert_agreement(memory)
        backup = memory.admin.backups.create(str(tmp_path / "copy.db"))
        memory.add("Felix moved to Oslo.", user_id="alice", infer=False)
        assert_agreement(memory)
        memory.admin.backups.restore(backup["path"])
        assert_agreement(memory)
        assert {one["name"] for one in memory.graph.entities(user_id="alice")["results"]} == {"Anna", "Contoso"}


@pytest.mark.req("C-57")
def test_the_doctor_says_what_is_wrong_with_the_graph_and_repairs_it(
    tmp_path: Path, server: FalkorDbServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cli = Cli(tmp_path, monkeypatch, capsys)
    cli.environ("MEMSTONE_GRAPH_STORE__PROVIDER", "falkordb")
    cli.environ("FALKORDB_URL", server.url)

    def look(*options: str, code: int = 0) -> tuple[str, str]:
        ran = cli("doctor", "--json", *options)
        assert ran.code == code, ran
        (check,) = (one for one in ran.json["checks"] if (one["section"], one["name"]) == ("store", "graph"))
        return check["state"], check["detail"]

    cli.added("Anna works at Contoso.")
    assert look("--repair")[0] == "ok"
    assert look() == ("ok", "agrees with the ledger: 2 entities, 1 relations")
    watcher = FalkorDbStore(FalkorDbConfig(url=server.url), BlockingIo())
    (info,) = drive(watcher.graphs())
    drive(watcher.read(info.name, "RETURN 1", {}))
    watcher._graph(info.name).query("MATCH (n:MemstoneEntity {norm: 'anna'}) DETACH DELETE n")
    assert look() == ("warn", "it does not agree with the ledger")
    assert look("--repair") == ("ok", "agrees with the ledger after building it again: 2 entities, 1 relations")
    assert look()[0] == "ok"
    server.kill()
    assert look(code=3) == ("fail", "FalkorDB does not answer")


@pytest.mark.req("C-42", "X-38", "C-46")
def test_a_named_graph_store_reads_its_variables_and_no_other_setting_does(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "NEO4J_URL": "bolt://graph.example:7687",
        "NEO4J_USER": "someone",
        "NEO4J_PASSWORD": "secret",
        "FALKORDB_URL": "redis://falkor.example:6379",
    }.items():
        monkeypatch.setenv(name, value)
    assert Settings.from_env().graph_store.provider == "local"
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "none"}}) as memory:
        assert memory.engine.runtime.graph is None

    read = Neo4jStore.read_environment
    assert read({}, {"NEO4J_URL": "bolt://a", "NEO4J_USER": "b", "NEO4J_PASSWORD": "c"}) == {
        "url": "bolt://a",
        "username": "b",
        "password": "c",
    }
    assert read({"url": "bolt://own"}, {"NEO4J_URI": "bolt://a", "NEO4J_USERNAME": "b"}) == {
        "url": "bolt://own",
        "username": "b",
    }
    assert FalkorDbStore.read_environment({}, {"FALKORDB_URL": "redis://a"}) == {"url": "redis://a"}


@pytest.mark.req("C-42")
def test_the_graph_store_of_the_base_text_is_taken_as_it_is_written() -> None:
    config = {"url": f"bolt://127.0.0.1:{free_port()}", "username": "neo4j", "password": "password"}
    settings = {"store": {"url": "memory:"}, "embedder": {"provider": "none"}}
    with Memory({**settings, "graph_store": {"provider": "neo4j", "config": config}}) as memory:
        memory.add("Anna works at Contoso.", user_id="alice", infer=False)
        answer = memory.search("Where does Anna work?", user_id="alice")
        assert [one["channel"] for one in answer["degraded"]] == ["graph_store"]
        assert "password" not in repr(memory) + str(answer["degraded"])


@pytest.mark.req("C-42")
@pytest.mark.parametrize(
    ("graph_store", "says"),
    [
        ({"provider": "neo4jj"}, "unknown graph store 'neo4jj'"),
        ({"provider": "neo4j", "config": {"uri": "bolt://localhost"}}, "uri"),
        ({"provider": "neo4j", "config": {"url": "http://localhost:7474"}}, "bolt://host:7687"),
        ({"config": {"url": "bolt://localhost:7687"}}, "graph_store.provider is local"),
    ],
)
def test_a_graph_store_that_cannot_be_is_refused_with_a_hint(graph_store: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as refused:
        Memory({"store": {"url": "memory:"}, "graph_store": graph_store})
    assert refused.value.hint


def test_who_is_refused_by_the_server_is_told_what_to_check(server: FalkorDbServer) -> None:
    io = BlockingIo()
    store = FalkorDbStore(FalkorDbConfig(url=server.url, username="who", password=SecretStr("wrong")), io)
    with pytest.raises(GraphStoreError, match="refused the name or the password") as refused:
        drive(store.check_health())
    assert "FALKORDB_PASSWORD" in refused.value.hint
    nobody = Neo4jStore(Neo4jConfig(url=f"bolt://127.0.0.1:{free_port()}"), io)
    with pytest.raises(BackendUnavailable, match="Neo4j does not answer"):
        drive(nobody.check_health())
    for one in (store, nobody):
        drive(one.close())
    drive(io.close())
