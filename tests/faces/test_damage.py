"""Damage in the file of a store: bytes of single pages are flipped, and nothing wrong may be told without a word."""

from __future__ import annotations

import json
import logging
import random
import shutil
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from memstone import Memory
from memstone.adapters.sqlite import integrity
from memstone.engine.upkeep.passes import CHECK_HOURS, FIRST_SECONDS, Timetable, check_store
from memstone.errors import Corrupted, MemstoneError
from tests.faces import consolidate_steps as steps
from tests.faces.cli_runner import Cli
from tests.faces.harness import ON_DISK, Face, Opens

PAGE = 4096
DAMAGED_PAGES = 60
WORDS = ("red", "green", "blue", "oak")


def opened(path: Path, **store: Any) -> Memory:
    return Memory({"store": {"url": f"sqlite:///{path}", "durable": False, **store}, "embedder": {"provider": "hash"}})


def told(memory: Memory) -> dict[str, Any]:
    """Everything that the store says: lists, searches, histories and an export."""
    answer: dict[str, Any] = {"export": [json.dumps(line, sort_keys=True) for line in memory.export(everybody=True)]}
    for user in ("alice", "bob"):
        listed = memory.get_all(user_id=user, limit=1_000)["results"]
        answer[f"list {user}"] = sorted((one["id"], one["memory"]) for one in listed)
        found = memory.search("the green drawer of cabinet 3", user_id=user, limit=20)["results"]
        answer[f"search {user}"] = sorted(one["id"] for one in found)
        answer[f"history {user}"] = [memory.history(one["id"]) for one in listed[:20]]
    return answer


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with some history, closed."""
    path = tmp_path_factory.mktemp("sound") / "memstone.db"
    with opened(path) as memory:
        for user in ("alice", "bob"):
            memory.add_many(
                [
                    {"messages": f"{user} keeps thing {n} in the {word} drawer of cabinet {n % 17}", "infer": False}
                    | {"user_id": user}
                    for n, word in enumerate(WORDS * 40)
                ]
            )
        for one in memory.get_all(user_id="alice", limit=20)["results"]:
            memory.update(one["id"], one["memory"] + " again")
    return path


def flip(path: Path, seed: int, bits: int) -> None:
    """Flip bits of one page, but the first: a file whose header is damaged is no database."""
    chance = random.Random(seed)  # noqa: S311 - the same damage every time
    raw = bytearray(path.read_bytes())
    page = chance.randrange(1, len(raw) // PAGE)
    for _ in range(bits):
        raw[page * PAGE + chance.randrange(PAGE)] ^= 1 << chance.randrange(8)
    path.write_bytes(raw)


def outcome(path: Path, truth: dict[str, Any], target: Path) -> tuple[str, str]:
    """What becomes of reading everything, and of a backup."""
    try:
        with opened(path) as memory:
            try:
                read = "right" if told(memory) == truth else "WRONG"
            except Corrupted:
                read = "refused"
            try:
                memory.admin.backups.create(target)
            except Corrupted:
                return read, "refused"
            return read, "written"
    except Corrupted:
        return "refused", "refused"


@pytest.mark.slow
@pytest.mark.req("N-45")
def test_a_damaged_page_is_noticed_by_whoever_opens_reads_or_copies_the_file(sound: Path, tmp_path: Path) -> None:
    """What is not noticed are single values changed in place, which is what a very small part of all pages is about."""
    with opened(sound) as memory:
        truth = told(memory)
    path, target, counted = tmp_path / "m.db", tmp_path / "m.backup", Counter[tuple[str, str]]()
    for seed in range(DAMAGED_PAGES):
        shutil.copy(sound, path)
        flip(path, seed, bits=8)
        counted[outcome(path, truth, target)] += 1
        target.unlink(missing_ok=True)

    assert counted["WRONG", "written"] <= DAMAGED_PAGES // 20, counted
    assert sum(count for (read, _), count in counted.items() if read == "WRONG") <= DAMAGED_PAGES // 10, counted
    assert counted["refused", "written"] == 0, counted
    assert counted["right", "written"] < DAMAGED_PAGES // 2, "there was damage to be found"


@pytest.mark.req("N-45")
@pytest.mark.parametrize(("table", "index"), [("memories", "memories_versions"), ("links", "links_user")])
def test_an_index_that_lost_rows_is_noticed_when_the_file_is_opened(
    sound: Path, tmp_path: Path, table: str, index: str
) -> None:
    """Without the check those rows would be missing from every list, and nobody would know."""
    path = Path(shutil.copy(sound, tmp_path / "m.db"))
    with closing(sqlite3.connect(path)) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [index]).fetchone()
    raw = bytearray(path.read_bytes())
    raw[(root - 1) * PAGE : root * PAGE] = b"\x0a\0\0\0\0\x10\0\0" + bytes(PAGE - 8)  # a leaf without entries
    path.write_bytes(raw)

    with pytest.raises(Corrupted, match="is damaged") as caught:
        opened(path)

    assert "memstone export" in caught.value.hint
    with opened(path, check=False) as memory:
        assert table in memory.admin.check()["integrity"][0]


def change_text(path: Path, before: str, after: str) -> None:
    """Change a stored text in place, as a flipped bit does: nothing but the bytes of the row."""
    assert len(before) == len(after)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE memories SET text = replace(text, ?, ?)", [before, after])


@ON_DISK
@pytest.mark.req("X-30")
async def test_a_text_that_is_not_what_was_stored_is_refused_and_can_be_erased(
    face: Face, opens: Opens, tmp_path: Path
) -> None:
    assert opens.path is not None
    stored_text = await face.remember("The dose is 10 mg")
    damaged = await face.remember("The dose was 20 mg", user_id="bob")
    change_text(opens.path, "20 mg", "90 mg")

    reads: dict[str, dict[str, Any]] = {
        "get": {"memory_id": damaged},
        "get_all": {"user_id": "bob"},
        "search": {"query": "dose", "user_id": "bob"},
    }
    for verb, values in reads.items():
        with pytest.raises(Corrupted, match=damaged):
            await getattr(face, verb)(**values)
    with pytest.raises(Corrupted, match="no backup was written"):
        await face.admin.backups.create(tmp_path / "m.backup")
    assert not (tmp_path / "m.backup").exists()
    assert "90 mg" not in str((await face.admin.check())["integrity"])
    assert damaged in (await face.admin.check())["integrity"][0]

    await face.admin.erase(memory_id=damaged)

    assert (await face.admin.check())["integrity"] == ["ok"]
    assert [one["id"] for one in (await face.get_all(user_id="alice"))["results"]] == [stored_text]
    assert (await face.get_all(user_id="bob"))["results"] == []


@ON_DISK
async def test_a_text_that_cannot_be_read_is_named_without_its_words(face: Face, opens: Opens) -> None:
    assert opens.path is not None
    await face.remember("My password is hunter2")
    with opens.sql() as database:
        database.execute("UPDATE memories SET text = CAST(x'4d79ff' || CAST(text AS BLOB) AS TEXT)")

    with pytest.raises(Corrupted, match="cannot be read") as caught:
        await face.get_all(user_id="alice")
    assert "hunter2" not in str(caught.value)


@ON_DISK
@pytest.mark.parametrize("end", [b"\x7f" * 3, b"\xff\xff\x7f\x7f", b"\x00\x00\xc0\x7f"])
async def test_a_damaged_vector_is_found_by_a_check(face: Face, opens: Opens, end: bytes) -> None:
    await face.remember("I live in Oslo")
    with opens.sql() as database:
        (vector,) = database.execute("SELECT vector FROM vectors").fetchone()
        database.execute("UPDATE vectors SET vector = ?", [vector[:-4] + end])

    assert (await face.admin.check())["integrity"][0].startswith("vectors: the vector of version")


@ON_DISK
@pytest.mark.req("N-26")
async def test_a_worker_checks_the_store_once_a_day_and_health_tells_what_it_found(
    face: Face, opens: Opens, caplog: pytest.LogCaptureFixture
) -> None:
    assert opens.path is not None
    await face.remember("The dose is 10 mg")
    runtime = await steps.parts_of(face)
    table = Timetable.of(runtime)
    opens.clock.advance(seconds=FIRST_SECONDS)
    await table.tick(runtime)
    assert "damaged" not in (await face.admin.health())["reasons"]
    change_text(opens.path, "10 mg", "90 mg")

    opens.clock.advance(hours=CHECK_HOURS - 1)
    await table.tick(runtime)
    assert "damaged" not in (await face.admin.health())["reasons"], "not yet"
    opens.clock.advance(hours=1)
    with caplog.at_level(logging.ERROR, "memstone"), suppress(MemstoneError):
        await table.tick(runtime)

    assert "store.damaged" in caplog.text
    assert "damaged" in (await face.admin.health())["reasons"]
    change_text(opens.path, "90 mg", "10 mg")
    assert await check_store(runtime) == []
    assert "damaged" not in (await face.admin.health())["reasons"]


@ON_DISK
async def test_a_large_file_is_opened_without_a_check(
    face: Face, opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    await face.remember("I live in Oslo")
    await face.close()
    monkeypatch.setattr(integrity, "_find_problems", lambda *_: ["always"])
    with pytest.raises(Corrupted):
        await opens().stats()
    monkeypatch.setattr(integrity, "CHECKED_BYTES", PAGE)
    assert await opens().listed() == ["I live in Oslo"]


def test_a_damaged_store_is_looked_at_saved_and_replaced_at_a_terminal(cli: Cli, tmp_path: Path) -> None:
    cli.added("I live in Oslo")
    assert cli("backup", tmp_path / "good.backup").code == 0
    with closing(sqlite3.connect(cli.db)) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memories_kind'").fetchone()
    with cli.db.open("r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(b"\x0a\0\0\0\0\x10\0\0" + bytes(PAGE - 8))

    assert cli("list", "--user", "alice").code == 3
    assert cli("backup", tmp_path / "bad.backup").code == 3
    assert not (tmp_path / "bad.backup").exists()
    assert cli("doctor").code == 3
    assert cli("export", "--everybody", "--output", tmp_path / "saved.jsonl").code == 0
    assert "Oslo" in (tmp_path / "saved.jsonl").read_text()
    assert cli("restore", tmp_path / "good.backup", "--yes").code == 0
    assert cli("doctor").code == 0
