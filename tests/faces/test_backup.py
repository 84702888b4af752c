"""``backup``, ``verify_backup``, ``restore_backup`` through both faces, over a file and in memory."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memstone.adapters.sqlite import migrations as runner
from memstone.errors import Corrupted, Forbidden, InvalidInput, SchemaTooNew, StorageError, Unsupported
from memstone.ports.storage import require_copying
from tests.faces.harness import Face, Opens

pytestmark = [
    pytest.mark.parametrize("store", ["in_memory", "file"], indirect=True),
    pytest.mark.req("N-45"),
]


async def lived(face: Face) -> None:
    await face.add("I live in Reykjavik and my cat is called Snorri", user_id="alice", run_id="r1")
    stored_text = await face.remember("The harbour smells of kerosene", metadata={"mood": "calm"})
    await face.update(stored_text, "The harbour smells of fresh paint")
    await face.delete(await face.remember("The lighthouse keeper owes me money"))
    await face.remember("Bob is somebody else", user_id="bob")
    await face.context("What does the harbour smell of?", user_id="alice")
    await face.settings.set({"context.budget": 700}, user_id="alice")


def written(manifest: dict[str, Any]) -> dict[str, Any]:
    """What a backup says of itself, and where it is."""
    return {name: value for name, value in manifest.items() if name != "key_place"}


async def exported(face: Face) -> list[str]:
    return [json.dumps(line, sort_keys=True) for line in await face.export(everybody=True)]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "copies" / "one.backup"


@pytest.fixture(autouse=True)
def _folder(target: Path) -> None:
    target.parent.mkdir()


async def test_what_is_restored_is_what_was_there(face: Face, target: Path) -> None:
    await lived(face)
    before, stats = await exported(face), await face.stats()
    found = await face.search("harbour", user_id="alice", explain=True)
    manifest = await face.admin.backups.create(target)

    await face.reset()
    await face.remember("this is overwritten")
    restored = await face.admin.backups.restore(target)

    assert restored == {**written(manifest), "origin": "ours", "erased_again": 0}
    assert await exported(face) == before
    assert await face.search("harbour", user_id="alice", explain=True) == found
    assert {**await face.stats(), "embedding_cache": 0} == {**stats, "embedding_cache": 0}
    assert (await face.settings.get(user_id="alice"))["settings"]["context.budget"] == 700
    assert await face.found("overwritten", strategy="text") == []


async def test_a_restored_store_goes_on(face: Face, target: Path) -> None:
    await lived(face)
    await face.admin.backups.create(target)
    await face.remember("said after the backup")
    assert await face.found("backup", strategy="text") == ["said after the backup"]
    await face.admin.backups.restore(target)
    assert await face.found("backup", strategy="text") == []
    new = await face.remember("said after the restore")
    assert await face.found("restore", strategy="text") == ["said after the restore"]
    assert (await face.found("said after the restore", strategy="vector"))[0] == "said after the restore"
    await face.update(new, "said long after the restore")
    assert len(await face.history(new)) == 2


async def test_a_backup_moves_to_another_store(face: Face, target: Path) -> None:
    await lived(face)
    before = await exported(face)
    await face.admin.backups.create(target)
    fresh = Face(type(face.memory)({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}))
    try:
        await fresh.admin.backups.restore(target, foreign=True)
        assert await exported(fresh) == before
        assert await fresh.found("fresh paint", strategy="vector")
    finally:
        await fresh.close()


async def test_the_manifest_says_what_is_in_it(face: Face, opens: Opens, target: Path) -> None:
    await lived(face)
    steps: list[tuple[int, int]] = []
    manifest = await face.admin.backups.create(target, progress=lambda done, total: steps.append((done, total)))

    assert manifest["path"] == str(target)
    assert (manifest["format"], manifest["version"], manifest["store"]) == ("memstone-backup", 1, "sqlite")
    assert manifest["schema"] == runner.latest_schema_version()
    assert manifest["tables"]["memories"] == len(
        [line for line in await face.export(everybody=True) if line["type"] == "memory"]
    )
    assert set(manifest["files"]) == {"memstone.db"}
    assert steps[-1][0] == steps[-1][1] > 0
    assert await face.admin.backups.verify(target) == {**written(manifest), "ok": True, "origin": "ours"}
    assert [path.name for path in target.parent.iterdir()] == [target.name], "nothing is left beside it"
    (mode,) = [path.stat().st_mode for path in target.parent.iterdir()]
    assert mode & 0o077 == 0, "a backup contains everybody's memories"
    assert manifest["created_at"] == opens.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


async def test_a_folder_gets_a_file_of_its_own(face: Face, target: Path) -> None:
    await face.remember("I live in Oslo")
    manifest = await face.admin.backups.create(str(target.parent))
    (made,) = target.parent.iterdir()
    assert manifest["path"] == str(made)
    assert made.name.startswith("memstone-2026")


async def test_an_older_backup_is_replaced_and_any_other_file_is_not(face: Face, target: Path) -> None:
    await face.remember("I live in Oslo")
    await face.admin.backups.create(target)
    await face.remember("I live in Rome")
    await face.admin.backups.create(target)
    assert (await face.admin.backups.verify(target))["tables"]["memories"] == 2
    other = target.with_name("letters.txt")
    other.write_text("dear Bob")
    with pytest.raises(InvalidInput, match="is not a backup"):
        await face.admin.backups.create(other)
    assert other.read_text() == "dear Bob"
    with pytest.raises(InvalidInput, match="does not exist"):
        await face.admin.backups.create(target.parent / "nowhere" / "x.backup")
    report = await face.admin.erase(user_id="bob")
    assert [copy["path"] for copy in report["checks"][2]["copies"]] == [str(target)], "what was refused is no copy"


# --- what is not whole ------------------------------------------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def begun(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    path.write_bytes(raw)


def another(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", '{"format": "something"}')


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def swapped(path: Path) -> None:
    """The manifest is right about a file, which is not what it says of the rows."""
    _with_manifest(path, lambda manifest: manifest["tables"].update(memories=999))


def climbing(path: Path) -> None:
    """A name that leads out of the folder."""
    _with_manifest(path, lambda manifest: manifest["files"].update({"../evil.db": manifest["files"]["memstone.db"]}))


def _with_manifest(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    with zipfile.ZipFile(path) as archive:
        manifest, database = json.loads(archive.read("manifest.json")), archive.read("memstone.db")
    change(manifest)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("memstone.db", database)
        archive.writestr("manifest.json", json.dumps(manifest))


@pytest.mark.parametrize("damage", [cut, begun, flipped, another, emptied, swapped, climbing])
async def test_a_damaged_backup_is_refused_and_changes_nothing(
    face: Face, target: Path, damage: Callable[[Path], None]
) -> None:
    await lived(face)
    await face.admin.backups.create(target)
    damage(target)
    before = await exported(face)
    with pytest.raises(Corrupted):
        await face.admin.backups.verify(target)
    with pytest.raises(Corrupted):
        await face.admin.backups.restore(target)
    assert await exported(face) == before
    assert [path.name for path in target.parent.iterdir()] == [target.name]


async def test_a_backup_of_a_newer_schema_is_refused(face: Face, target: Path) -> None:
    await face.remember("I live in Oslo")
    await face.admin.backups.create(target)
    _with_manifest(target, lambda manifest: manifest.update(schema=manifest["schema"] + 1))
    with pytest.raises(SchemaTooNew):
        await face.admin.backups.restore(target)
    _with_manifest(target, lambda manifest: manifest.update(version=2))
    with pytest.raises(StorageError, match="newer format"):
        await face.admin.backups.restore(target)
    assert await face.listed() == ["I live in Oslo"]


async def test_a_backup_of_an_older_schema_is_brought_up_to_date(
    face: Face, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lived(face)
    before = await exported(face)
    await face.admin.backups.create(target)
    number = runner.latest_schema_version() + 1
    wider = runner.Migration(number, f"{number:04d}_wider.sql", "ALTER TABLE memories ADD COLUMN colour TEXT;\n")
    steps = (*runner.list_migrations(), wider)
    monkeypatch.setattr(runner, "list_migrations", lambda: steps)
    url = f"sqlite:///{tmp_path / 'later.db'}"
    later = Face(type(face.memory)({"store": {"url": url}, "embedder": {"provider": "hash"}}))
    try:
        assert (await later.admin.backups.restore(target, foreign=True))["schema"] == number - 1
        assert (await later.admin.check())["schema"] == number
        assert await exported(later) == before
        assert await later.remember("and it goes on")
    finally:
        await later.close()


@pytest.mark.parametrize("path", ["", None, 7, b"x", "a\0b"])
async def test_a_path_that_is_none_is_refused(face: Face, path: Any) -> None:
    for verb in (face.admin.backups.create, face.admin.backups.verify, face.admin.backups.restore):
        with pytest.raises(InvalidInput):
            await verb(path)


async def test_a_file_that_is_not_there_is_refused(face: Face, target: Path) -> None:
    for verb in (face.admin.backups.verify, face.admin.backups.restore):
        with pytest.raises(InvalidInput, match="no backup"):
            await verb(target)


async def test_who_reaches_only_a_part_of_the_store_cannot_copy_it(face: Face, target: Path) -> None:
    await face.remember("I live in Oslo")
    bound = Face(face.memory.acting_for("default", user_id="alice"))
    for call in (
        bound.admin.backups.create(target),
        bound.admin.backups.restore(target),
        bound.admin.erase(user_id="alice"),
    ):
        with pytest.raises(Forbidden):
            await call
    assert list(target.parent.iterdir()) == []


def test_a_ledger_that_cannot_copy_itself_says_so(store: object, kind: str) -> None:
    with pytest.raises(Unsupported) as caught:
        require_copying(object())  # type: ignore[arg-type]
    assert "export" in caught.value.hint
    assert store is None or kind


async def test_a_vector_store_of_its_own_is_filled_anew(opens: Opens, target: Path) -> None:
    face = opens({"vector_store": {"provider": "memory"}})
    await face.remember("I live in Oslo")
    await face.admin.backups.create(target)
    await face.remember("I live in Rome")
    assert len(await face.found("I live", strategy="vector")) == 2
    await face.admin.backups.restore(target)
    assert await face.found("I live", strategy="vector") == ["I live in Oslo"]
