"""An existing store is encrypted, decrypted, and gets another key while others use it."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from memstone import AsyncMemory, Memory
from memstone.adapters.sqlite.driver import ENCRYPTED_MARK, PLAIN_MARK
from memstone.errors import EncryptionError
from tests.encryption.vault import (
    SECRETS,
    fill,
    in_another_process,
    key_file,
    opened,
    plain_text,
    run_json,
    settings,
    write_config,
)

pytestmark = pytest.mark.req("N-30", "S-53.1")


def _cli(path: Path, *words: str, code: int = 0) -> Any:
    """Run a command against a store in this process; gives its JSON answer."""
    ran = run_json(write_config(path, key_file(path)), *words)
    assert ran.code == code, ran.answer
    return ran.answer


def _export(memory: Memory) -> list[str]:
    return [json.dumps(line, sort_keys=True) for line in memory.export(everybody=True) if line["type"] != "header"]


def _plain_store(path: Path) -> list[str]:
    with Memory(settings(path, None)) as memory:
        fill(memory)
        memory.admin.backups.create(path.with_name("old.backup"))
        return _export(memory)


def test_enable_encrypts_the_store_its_key_and_its_backups(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    before = _plain_store(path)
    assert set(plain_text(tmp_path)) == {"people.db", "old.backup"}
    answer = _cli(path, "encryption", "enable")
    assert [one["state"] for one in answer["backups"]] == ["rewritten"]
    assert plain_text(tmp_path) == {}
    assert path.read_bytes().startswith(ENCRYPTED_MARK)
    assert (tmp_path / "people.db.key").read_text().startswith("sealed:")
    with opened(path) as memory:
        assert _export(memory) == before
        assert memory.search(SECRETS[1], user_id=f"user-{SECRETS[1]}")["results"]
        assert memory.admin.backups.restore(tmp_path / "old.backup")["origin"] == "ours"
        assert _export(memory) == before


def test_enable_refuses_a_store_in_use_and_one_that_is_encrypted(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    _plain_store(path)
    with in_another_process(path, None) as user:
        assert _cli(path, "encryption", "enable", code=3)["code"] == "storage_busy"
        assert user("still here") == "stored"
    assert path.read_bytes().startswith(PLAIN_MARK)
    _cli(path, "encryption", "enable")
    assert _cli(path, "encryption", "enable", code=1)["code"] == "conflict"


def test_disable_writes_a_plain_file_again(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with opened(path) as memory:
        fill(memory)
        memory.admin.backups.create(tmp_path / "a.backup")
        before = _export(memory)
    _cli(path, "encryption", "disable", "--yes")
    assert path.read_bytes().startswith(PLAIN_MARK)
    with Memory(settings(path, None)) as memory:
        assert _export(memory) == before
        with pytest.raises(EncryptionError, match=r"a\.backup is encrypted") as caught:
            memory.admin.backups.restore(tmp_path / "a.backup")
        assert "store.encryption_key" in caught.value.message


def test_rotate_changes_every_file_and_forgets_former_keys_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with opened(path) as memory:
        fill(memory)
        memory.admin.backups.create(tmp_path / "a.backup")
        before = _export(memory)
    first = (tmp_path / "keys" / "encryption.key").read_text()
    answer = _cli(path, "encryption", "rotate")
    both = (tmp_path / "keys" / "encryption.key").read_text()
    assert both.endswith(first)
    assert len(both.splitlines()) == 2
    (tmp_path / "first.key").write_text(first)
    with pytest.raises(EncryptionError):
        opened(path, f"file:{tmp_path / 'first.key'}").stats()
    again = _cli(path, "encryption", "rotate", "--drop-former")
    assert again["key"] != answer["key"]
    assert again["dropped"] == 2
    assert len((tmp_path / "keys" / "encryption.key").read_text().splitlines()) == 1
    with opened(path) as memory:
        assert _export(memory) == before
        assert memory.admin.backups.verify(tmp_path / "a.backup")["encryption"]["key"] == again["key"]
    assert plain_text(tmp_path) == {}


def test_nobody_who_uses_a_store_notices_a_rotation(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    added: list[str] = []
    with opened(path) as memory, opened(path) as other:
        stop, failures = threading.Event(), list[BaseException]()

        def work(who: Memory, name: str) -> None:
            number = 0
            try:
                while not stop.is_set():
                    text = f"{name} says thing number {number}"
                    who.add(text, user_id=name, infer=False)
                    added.append(text)
                    assert who.search(text, user_id=name)["results"]
                    number += 1
            except BaseException as error:  # noqa: BLE001 - the test raises it
                failures.append(error)

        threads = [
            threading.Thread(target=work, args=pair) for pair in ((memory, "ann"), (other, "bob"), (other, "cyd"))
        ]
        for thread in threads:
            thread.start()
        for _ in range(5):
            _cli(path, "encryption", "rotate")
        stop.set()
        for thread in threads:
            thread.join()
        assert failures == []
        stored = [one["memory"] for name in ("ann", "bob", "cyd") for one in _all(memory, name)]
        assert sorted(stored) == sorted(added)
        assert memory.admin.check()["encryption"]["former_keys"] == 5


def _all(memory: Memory, user: str) -> list[Any]:
    return list(memory.get_all(user_id=user, limit=10_000)["results"])


async def _one_more(path: Path) -> int:
    async with AsyncMemory(settings(path, key_file(path))) as memory:
        await memory.add("first", user_id="u", infer=False)
        _cli(path, "encryption", "rotate")
        await memory.add("second", user_id="u", infer=False)
        return len((await memory.get_all(user_id="u"))["results"])


def test_asyncio_finds_the_new_key_too(tmp_path: Path) -> None:
    import asyncio

    assert asyncio.run(_one_more(tmp_path / "people.db")) == 2


def test_keys_of_a_variable_are_rotated_by_whoever_sets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, old, new = (
        tmp_path / "people.db",
        "the old secret, quite long enough to be one",
        "a new secret of many characters",
    )
    new += " more"
    monkeypatch.setenv("PEOPLE_KEY", old)
    with opened(path, "env:PEOPLE_KEY") as memory:
        fill(memory)
        monkeypatch.setenv("PEOPLE_KEY", f"{new}\n{old}")
        assert memory.admin.check()["encryption"]["rotation_due"] is True
        assert run_json(write_config(path, "env:PEOPLE_KEY"), "encryption", "rotate").code == 0
        assert memory.admin.check()["encryption"]["rotation_due"] is False
    monkeypatch.setenv("PEOPLE_KEY", new)
    with opened(path, "env:PEOPLE_KEY") as memory:
        assert memory.stats()["memories"] > 0


def test_a_backup_of_a_plain_store_is_restored_encrypted(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    plain = tmp_path / "plain" / "people.db"
    before = _plain_store(plain)
    (tmp_path / "new").mkdir()
    path = tmp_path / "new" / "people.db"
    with opened(path) as memory:
        memory.admin.backups.restore(plain.with_name("old.backup"), foreign=True)
        assert _export(memory) == before
    assert plain_text(tmp_path / "new") == {}


def test_a_backup_needs_its_key_and_says_which(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with opened(path) as memory:
        fill(memory)
        name = memory.admin.backups.create(tmp_path / "a.backup")["encryption"]["key"]
    (tmp_path / "other").mkdir()
    with (
        opened(tmp_path / "other" / "people.db") as memory,
        pytest.raises(EncryptionError, match=f"encrypted with the key {name}"),
    ):
        memory.admin.backups.restore(tmp_path / "a.backup", foreign=True)


def test_an_export_is_encrypted_unless_plain_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with opened(path) as memory:
        fill(memory)
        before = _export(memory)
    _cli(path, "export", "--everybody", "--output", str(tmp_path / "all.jsonl"))
    assert plain_text(tmp_path) == {}
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "keys").symlink_to(tmp_path / "keys")
    other = tmp_path / "copy" / "people.db"
    assert _cli(other, "import", "--restore", str(tmp_path / "all.jsonl"))["memories"] > 0
    with opened(other) as memory:
        assert _export(memory) == before
    _cli(path, "export", "--everybody", "--plain", "--output", str(tmp_path / "plain.jsonl"))
    assert set(plain_text(tmp_path)) == {"plain.jsonl"}
    ran = run_json(write_config(tmp_path / "no.db", None), "import", "--restore", str(tmp_path / "all.jsonl"))
    assert (ran.code, ran.answer["code"]) == (3, "encryption")


def test_an_export_that_was_cut_off_or_changed_is_refused(tmp_path: Path) -> None:
    path, file = tmp_path / "people.db", tmp_path / "all.jsonl"
    with opened(path) as memory:
        fill(memory)
    _cli(path, "export", "--everybody", "--output", str(file))
    whole = file.read_bytes()
    for damaged in (whole[:-20], whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]):
        file.write_bytes(damaged)
        (tmp_path / "into.db").unlink(missing_ok=True)
        assert _cli(path, "import", "--restore", str(file), code=3)["code"] == "corrupted"


def test_a_copy_of_the_keys_opens_the_store(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with opened(path) as memory:
        fill(memory)
    _cli(path, "encryption", "save-key", str(tmp_path / "copy.key"))
    with opened(path, f"file:{tmp_path / 'copy.key'}") as memory:
        assert memory.stats()["memories"] > 0
    assert _cli(path, "encryption", "save-key", str(tmp_path / "copy.key"), code=2)["code"] == "usage"


def test_doctor_and_status_say_what_is_encrypted(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with opened(path) as memory:
        fill(memory)
    checks = {one["name"]: one for one in _cli(path, "doctor")["checks"]}
    assert "sqlcipher" in checks["encryption"]["detail"]
    status = _cli(path, "encryption", "status")
    assert (status["state"], status["files"], status["former_keys"]) == ("encrypted", True, 0)
    config = write_config(path, key_file(path))
    config.write_text('vector_store = {provider = "qdrant"}\n' + config.read_text())
    assert "encryption of vectors" in {one["name"] for one in run_json(config, "doctor").answer["checks"]}
    (tmp_path / "plain").mkdir()
    _plain_store(tmp_path / "plain" / "people.db")
    plain = run_json(write_config(tmp_path / "plain" / "people.db", None), "doctor").answer
    assert "nothing is encrypted" in {one["name"]: one["detail"] for one in plain["checks"]}["encryption"]


def test_faiss_encrypts_its_own_file(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    chosen = {"vector_store": {"provider": "faiss", "config": {"path": str(tmp_path / "faiss")}}}
    with Memory({**settings(path, key_file(path)), **chosen}) as memory:
        fill(memory)
        assert memory.search(SECRETS[2], user_id=f"user-{SECRETS[2]}")["results"]
    assert (tmp_path / "faiss" / "points.sqlite").read_bytes().startswith(ENCRYPTED_MARK)
    assert plain_text(tmp_path) == {}
