"""A look at every byte that an encrypted store ever has on disk: no plain text after anything, not even a crash."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from memstone import Memory
from tests.encryption.vault import (
    SECRETS,
    fill,
    holds,
    in_another_process,
    key_file,
    opened,
    plain_text,
    run_json,
    settings,
    write_config,
)

pytestmark = pytest.mark.req("N-30", "S-53.1")

_ERASED: Final = SECRETS[0]
_PAUSE: Final = 0.002
"""Between two looks: without one, whoever looks takes half the time of whoever writes."""


class Probe:
    """Reads, again and again, every file in a folder and every file without a name that this process has open."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._stop = folder, threading.Event()
        self.found: set[str] = set()
        self.unnamed = 0
        self.rounds = 0

    def run(self) -> None:
        """Look until told to stop."""
        while not self._stop.wait(_PAUSE):
            self.look()

    def look(self) -> None:
        """Look once."""
        for path in [*self._folder.rglob("*"), *self._unnamed_files()]:
            try:
                content = path.read_bytes() if path.is_file() else b""
            except OSError:  # gone meanwhile
                continue
            self.found |= {f"{path.name}: {word}" for word in SECRETS if holds(content, word)}
        self.rounds += 1

    def _unnamed_files(self) -> Iterator[Path]:
        """SQLite removes the name of a temporary file as soon as it is open; its content is there all the same."""
        for path in Path("/proc/self/fd").glob("*"):
            try:
                target = str(path.readlink())
            except OSError:
                continue
            if "etilqs" in target or "(deleted)" in target:
                self.unnamed += 1
                yield path

    def stop(self) -> None:
        """Let ``run`` end."""
        self._stop.set()


@contextmanager
def _probe(folder: Path) -> Iterator[Probe]:
    probe = Probe(folder)
    thread = threading.Thread(target=probe.run)
    thread.start()
    try:
        yield probe
    finally:
        probe.stop()
        thread.join()
        probe.look()


def _bulk(memory: Memory, count: int) -> None:
    texts = [f"{SECRETS[at % 4]} {at} is near {SECRETS[(at + 1) % 4]} number {at}" for at in range(count)]
    for start in range(0, count, 500):
        memory.add_many(
            [{"messages": text, "user_id": f"bulk{at % 7}", "infer": False} for at, text in enumerate(texts)][
                start : start + 500
            ]
        )


def test_no_file_holds_plain_text_whatever_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMPDIR", "SQLITE_TMPDIR"):
        (tmp_path / "tmp").mkdir(exist_ok=True)
        monkeypatch.setenv(name, str(tmp_path / "tmp"))
    path = tmp_path / "people.db"
    with _probe(tmp_path) as probe:
        with opened(path) as memory:
            fill(memory)
            _bulk(memory, 1_000)
            memory.admin.backups.create(tmp_path / "a.backup")
            report = memory.admin.erase(user_id=f"user-{_ERASED}")
            assert report["complete"]
            memory.admin.backups.verify(tmp_path / "a.backup")
            memory.admin.backups.restore(tmp_path / "a.backup")
            memory.admin.backups.restore(tmp_path / "a.backup", foreign=True)
            memory.search(SECRETS[1], user_id="bulk1")
        config = write_config(path, key_file(path))
        for words in (
            ("encryption", "rotate"),
            ("export", "--everybody", "--output", str(tmp_path / "all.jsonl")),
            ("import", "--restore", str(tmp_path / "all.jsonl")),
            ("backup", str(tmp_path / "b.backup")),
            ("encryption", "rotate", "--drop-former"),
            ("doctor",),
        ):
            assert run_json(config, *words).code == 0, words
    assert probe.found == set()
    assert probe.rounds > 3


def test_the_probe_sees_a_plain_store(tmp_path: Path) -> None:
    with _probe(tmp_path) as probe, Memory(settings(tmp_path / "people.db", None)) as memory:
        _bulk(memory, 200)
        probe.look()  # at the log, which goes when the store is closed
    assert {found.partition(":")[0] for found in probe.found} >= {"people.db-wal"}


def test_an_upgrade_leaves_an_encrypted_copy(tmp_path: Path) -> None:
    from memstone.adapters.encryption_keys import EncryptionKeysConfig, SourcedKeys
    from memstone.adapters.io.blocking import BlockingIo
    from memstone.adapters.sqlite.connection import open_connection
    from memstone.adapters.sqlite.driver import ENCRYPTED_MARK, CipherDriver
    from memstone.adapters.sqlite.migrations import latest_schema_version, make_schema

    path = tmp_path / "people.db"
    keys = SourcedKeys(EncryptionKeysConfig(source=key_file(path)), BlockingIo())
    old = open_connection(str(path), uri=False, writable=True, durable=True, driver=CipherDriver(keys))
    make_schema(old, latest_schema_version() - 1)
    old.close()
    with opened(path) as memory:
        fill(memory)
    copy = tmp_path / f"people.db.before-{latest_schema_version():04d}"
    assert copy.read_bytes().startswith(ENCRYPTED_MARK)
    assert run_json(write_config(path, key_file(path)), "encryption", "rotate", "--drop-former").code == 0
    CipherDriver(keys).connect(str(copy)).close()  # with the new key, the only one there is
    assert plain_text(tmp_path) == {}


_VICTIM: Final = """
import json, sys
from memstone import Memory
from tests.encryption.test_probe import _bulk
from tests.encryption.vault import fill
memory = Memory(json.loads(sys.argv[1]))
fill(memory)
print("ready", flush=True)
while True:
    _bulk(memory, 500)
    memory.admin.backups.create(sys.argv[2])
    memory.admin.erase(user_id="bulk3")
"""


@pytest.mark.system
def test_a_crash_leaves_no_plain_text_and_a_store_that_opens(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    for delay in (0.05, 0.2, 0.4, 0.6, 0.9, 1.3):
        command = [
            sys.executable,
            "-c",
            _VICTIM,
            json.dumps(settings(path, key_file(path))),
            str(tmp_path / "a.backup"),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as victim:  # noqa: S603 - our own program
            assert victim.stdout is not None
            assert victim.stdout.readline() == "ready\n"
            time.sleep(delay)
            victim.send_signal(signal.SIGKILL)
        assert plain_text(tmp_path) == {}
        with opened(path) as memory:
            assert memory.admin.check()["integrity"] == ["ok"]
            assert memory.search(SECRETS[1], user_id=f"user-{SECRETS[1]}")["results"]
    assert plain_text(tmp_path) == {}


@pytest.mark.system
def test_a_crash_in_a_rotation_leaves_a_store_that_opens(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with opened(path) as memory:
        _bulk(memory, 3_000)
    config = write_config(path, key_file(path))
    command = [sys.executable, "-m", "memstone.cli", "encryption", "rotate", "--config", str(config)]
    for delay in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as victim:  # noqa: S603
            time.sleep(delay)
            victim.send_signal(signal.SIGKILL)
        with opened(path) as memory:
            assert memory.admin.check()["integrity"] == ["ok"]
            assert memory.stats()["memories"] == 3_000
        assert plain_text(tmp_path) == {}


@pytest.mark.system
def test_other_processes_go_on_through_a_rotation(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with (
        in_another_process(path, key_file(path)) as first,
        in_another_process(path, key_file(path)) as second,
    ):
        for number in range(4):
            assert run_json(write_config(path, key_file(path)), "encryption", "rotate", "--drop-former").code == 0
            assert [first(f"first {number}"), second(f"second {number}")] == ["stored", "stored"]
    with opened(path) as memory:
        assert len(memory.get_all(user_id="child")["results"]) == 8
