"""Who was erased does not come back by a backup."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faces.harness import Face, passed

pytestmark = [pytest.mark.parametrize("store", ["in_memory", "file"], indirect=True), pytest.mark.req("N-45")]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "one.backup"


def raw(path: Path) -> bytes:
    return path.read_bytes()


def cut_short(path: Path, to: int | None = -200) -> None:
    """Leave only the beginning of a file, or nothing at all."""
    if to is None:
        path.unlink()
    else:
        path.write_bytes(raw(path)[:to])


@pytest.mark.req("X-30")
async def test_who_is_erased_goes_from_the_backups_too(face: Face, target: Path) -> None:
    await face.remember("alice keeps kerosene in the basement")
    await face.remember("bob keeps nothing", user_id="bob")
    await face.admin.backups.create(target)
    assert b"kerosene" in raw(target)

    report = await face.admin.erase(user_id="alice")

    assert report["checks"][2] == {
        "check": "backups",
        "copies": [{"path": str(target), "state": "rewritten"}],
        "ok": True,
    }
    for word in (b"kerosene", b"keros", b"basement", b"alice"):
        assert word not in raw(target)
    checked = await face.admin.backups.verify(target)
    assert (checked["rewritten"], checked["tables"]["memories"]) == (True, 1)
    await face.admin.backups.restore(target)
    assert await face.listed(user_id="bob") == ["bob keeps nothing"]
    assert (await face.admin.verify_erasure(report))["ok"]


@pytest.mark.req("X-30")
async def test_a_backup_that_could_not_be_reached_is_named_and_its_restore_erases_again(
    face: Face, target: Path, tmp_path: Path
) -> None:
    await face.remember("alice keeps kerosene in the basement", run_id="r1", user_id="alice")
    gone = await face.remember("bob will think better of this", user_id="bob")
    await face.remember("bob keeps nothing", user_id="bob")
    await face.admin.backups.create(target)
    away = tmp_path / "away.backup"
    shutil.move(target, away)

    report = await face.admin.erase(user_id="alice")
    await face.admin.erase(memory_id=gone)

    assert report["checks"][2]["copies"] == [{"path": str(target), "state": "missing"}]
    assert b"kerosene" in raw(away)
    answer = await face.admin.backups.restore(away)
    assert answer["erased_again"] == 2
    assert await face.listed() == []
    assert await face.listed(user_id="bob") == ["bob keeps nothing"]
    assert await face.found("kerosene") == []
    assert (await face.admin.verify_erasure(report))["ok"], "the key and the list of erasures have outlived the restore"
    assert (await face.admin.backups.restore(away))["erased_again"] == 2, "as often as it is restored"


async def test_who_came_back_is_not_erased_by_a_later_backup(face: Face, target: Path) -> None:
    await face.remember("I live in Oslo")
    await face.admin.erase(user_id="alice")
    await face.remember("I am back")
    await face.admin.backups.create(target)
    await face.reset()
    assert (await face.admin.backups.restore(target))["erased_again"] == 0
    assert await face.listed() == ["I am back"]


@pytest.mark.req("X-30")
async def test_a_backup_that_cannot_be_rewritten_makes_the_report_incomplete(face: Face, target: Path) -> None:
    await face.remember("alice keeps kerosene in the basement")
    await face.admin.backups.create(target)
    cut_short(target)
    report = await face.admin.erase(user_id="alice")
    (copy,) = report["checks"][2]["copies"]
    assert (copy["state"], passed(report)) == ("unreachable", False)
    assert "not a complete backup" in copy["reason"]
    assert not (await face.admin.verify_erasure(report))["ok"]
    cut_short(target, to=None)
    assert passed(await face.admin.erase(user_id="alice"))
