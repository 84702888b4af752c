"""Another vector store, or another embedder, under a memory that people go on searching."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from memstone.cli.fail import FAILED
from memstone.engine.transfer import mirror
from memstone.testing.wire import WireServer
from tests.faces.cli_runner import Cli
from tests.stores.fake_qdrant import FakeQdrant

COUNT = 60


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.fixture
def servers() -> Iterator[list[WireServer]]:
    with ExitStack() as stack:
        yield [stack.enter_context(WireServer(FakeQdrant())) for _ in range(2)]


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_PAGE": 16, "_FAR": 20, "_NOTE_EVERY": 1_000_000}.items():
        monkeypatch.setattr(mirror, name, value)


def write_config(path: Path, server: WireServer, dimensions: int = 64) -> Path:
    path.write_text(
        f"""
[embedder]
provider = "hash"
[embedder.config]
dim = {dimensions}
[vector_store]
provider = "qdrant"
[vector_store.config]
url = "{server.url}"
""",
        "utf-8",
    )
    return path


def settings(place: Path, server: WireServer, dimensions: int = 64) -> dict[str, Any]:
    return {
        "store": {"url": f"sqlite:///{place}"},
        "embedder": {"provider": "hash", "config": {"dim": dimensions}},
        "vector_store": {"provider": "qdrant", "config": {"url": server.url}},
    }


def count_points(server: WireServer) -> list[int]:
    fake = server.handler
    assert isinstance(fake, FakeQdrant)
    return [len(one.points) for one in fake.collections.values()]


def fill_memory(place: Path, server: WireServer) -> None:
    with Memory(settings(place, server)) as memory:
        memory.add_many([{"messages": f"note {n} about tea", "user_id": "u", "infer": False} for n in range(COUNT)])
        assert memory.search("tea", user_id="u")["results"]
        memory.admin.reindex()


@pytest.mark.req("R-6", "X-20")
def test_a_new_store_is_filled_and_the_former_one_emptied(cli: Cli, servers: list[WireServer], tmp_path: Path) -> None:
    place = tmp_path / "switched.db"
    old, new = servers
    fill_memory(place, old)
    assert count_points(old) == [COUNT]
    former = write_config(tmp_path / "old.toml", old)
    current = write_config(tmp_path / "new.toml", new)

    with Memory(settings(place, new)) as memory:  # the service, before anybody has run a command
        for _ in range(3):
            answer = memory.search("tea", user_id="u")
            assert (bool(answer["results"]), answer.get("degraded", [])) == (True, [])
        ran = cli("--config", current, "--db", place, "reindex", "--drop-from", former, "--json")
        assert (ran.code, ran.json["dropped_collections"]) == (0, 1), ran
        assert memory.search("tea", user_id="u")["results"]
    assert (count_points(old), count_points(new)) == ([], [COUNT])

    checked = cli("--config", current, "--db", place, "doctor", "--json")
    states = {one["name"]: (one["state"], one["detail"]) for one in checked.json["checks"] if one["section"] == "store"}
    assert states["vector store"] == ("ok", f"{COUNT} points, as the ledger says")


@pytest.mark.req("X-20")
def test_a_new_embedder_has_a_collection_of_its_own_and_the_old_one_is_dropped(
    cli: Cli, servers: list[WireServer], tmp_path: Path
) -> None:
    place = tmp_path / "switched.db"
    server = servers[0]
    fill_memory(place, server)
    current = write_config(tmp_path / "new.toml", server, dimensions=32)
    with Memory(settings(place, server)) as memory:
        assert memory.search("tea", user_id="u")["results"]
        ran = cli("--config", current, "--db", place, "reindex")
        assert ran.code == 0, ran
        assert f"{COUNT} vectors built for hash" in ran.out
        assert memory.search("tea", user_id="u")["results"], "a search by the old embedder failed"
    with Memory(settings(place, server, 32)) as memory:
        answer = memory.search("tea", user_id="u")
        assert (bool(answer["results"]), answer.get("degraded", [])) == (True, [])
    assert count_points(server) == [COUNT]


@pytest.mark.req("R-18", "N-29")
def test_the_doctor_finds_and_repairs_what_is_wrong_in_the_store(
    cli: Cli, servers: list[WireServer], tmp_path: Path
) -> None:
    place = tmp_path / "switched.db"
    server = servers[0]
    fill_memory(place, server)
    current = write_config(tmp_path / "memstone.toml", server)
    fake = server.handler
    assert isinstance(fake, FakeQdrant)
    (collection,) = fake.collections.values()
    for point in list(collection.points)[:3]:
        del collection.points[point]

    asked = ("--config", current, "--db", place, "doctor")
    sick = cli(*asked)
    assert "warn  vector store" in sick.out
    assert "57 points for 60: 3 missing" in sick.out
    assert "memstone doctor --repair" in sick.out
    healed = cli(*asked, "--repair")
    assert (healed.code, "repaired; there were 57 points" in healed.out) == (0, True)
    assert count_points(server) == [COUNT]
    assert "60 points, as the ledger says" in cli(*asked).out


def test_the_doctor_names_a_store_that_does_not_answer(cli: Cli, servers: list[WireServer], tmp_path: Path) -> None:
    place = tmp_path / "switched.db"
    fill_memory(place, servers[0])
    with WireServer() as gone:
        current = write_config(tmp_path / "memstone.toml", gone)
    ran = cli("--config", current, "--db", place, "doctor", "--json")
    assert ran.code == FAILED
    (found,) = [one for one in ran.json["checks"] if (one["section"], one["name"]) == ("store", "vector store")]
    assert found["state"] == "fail"


def test_the_store_in_use_is_never_dropped(cli: Cli, servers: list[WireServer], tmp_path: Path) -> None:
    place = tmp_path / "switched.db"
    fill_memory(place, servers[0])
    current = write_config(tmp_path / "memstone.toml", servers[0])
    local = tmp_path / "local.toml"
    local.write_text('[embedder]\nprovider = "hash"\n', "utf-8")
    with_text = tmp_path / "with_text.toml"
    with_text.write_text(
        Path(current).read_text("utf-8").replace("[vector_store]", "[vector_store]\npayload_text = true"), "utf-8"
    )
    for file, words in ((current, "in use"), (with_text, "in use"), (local, "no separate vector store")):
        ran = cli("--config", current, "--db", place, "reindex", "--drop-from", file)
        assert ran.code != 0
        assert words in ran.err
    assert count_points(servers[0]) == [COUNT]
