"""Where the key of an encrypted store is, and what is said when it is not there or does not fit."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from memstone import Memory
from memstone.adapters.sqlite import driver
from memstone.errors import ConfigError, EncryptionError, MissingExtra
from tests.encryption.vault import SECRETS, fill, key_file, opened, plain_text, settings

pytestmark = pytest.mark.req("N-30", "S-53.1")


class _KeyringInProcess(KeyringBackend):
    """A keyring that can be locked."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.entries: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise KeyringLocked
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password


@pytest.fixture
def own_keyring() -> Any:
    before, made = keyring.get_keyring(), _KeyringInProcess()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


def _digest(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def _stored_texts(path: Path, key: str) -> list[str]:
    with opened(path, key) as memory:
        return sorted(one["memory"] for one in memory.get_all(user_id=f"user-{SECRETS[1]}")["results"])


def test_a_store_is_encrypted_from_its_first_byte(tmp_path: Path) -> None:
    path = tmp_path / "store" / "people.db"
    with opened(path, key_file(tmp_path / "people.db")) as memory:
        fill(memory)
        assert plain_text(tmp_path) == {}
        assert memory.admin.check()["encryption"]["state"] == "encrypted"
    assert path.read_bytes().startswith(driver.ENCRYPTED_MARK)
    assert plain_text(tmp_path) == {}


def test_the_same_words_are_found_in_a_plain_store(tmp_path: Path) -> None:
    with Memory(settings(tmp_path / "people.db", None)) as memory:
        fill(memory)
    assert set(plain_text(tmp_path)["people.db"]) == set(SECRETS)


def test_a_key_may_come_from_a_file_a_command_a_variable_or_the_keyring(
    tmp_path: Path, own_keyring: _KeyringInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "a secret of more than thirty-two characters"  # noqa: S105 - for a test
    monkeypatch.setenv("PEOPLE_KEY", secret)
    (tmp_path / "given.txt").write_text(secret)
    command = f'command:{sys.executable} -c "print({secret!r})"'
    places = [f"file:{tmp_path / 'given.txt'}", command, "env:PEOPLE_KEY"]
    path = tmp_path / "people.db"
    with opened(path, places[0]) as memory:
        fill(memory)
    texts = [_stored_texts(path, place) for place in places]
    assert texts[0] == texts[1] == texts[2] != []
    with opened(tmp_path / "other.db", "keyring:memstone/people") as memory:
        fill(memory)
    assert list(own_keyring.entries) == [("memstone", "people")]
    assert _stored_texts(tmp_path / "other.db", "keyring:memstone/people") == texts[0]


def test_a_lost_key_is_an_error_that_touches_nothing(tmp_path: Path) -> None:
    path, key = tmp_path / "people.db", tmp_path / "keys" / "encryption.key"
    with opened(path) as memory:
        fill(memory)
    key.rename(tmp_path / "keys" / "elsewhere")
    before = _digest(tmp_path)
    with pytest.raises(EncryptionError, match="there is no key in") as caught, opened(path) as memory:
        memory.stats()
    assert "copy" in caught.value.hint
    assert caught.value.code == "encryption"
    assert _digest(tmp_path) == before  # above all, no new key was made
    (tmp_path / "keys" / "elsewhere").rename(key)
    assert _stored_texts(path, key_file(path)) != []


@pytest.mark.parametrize("text", ["memstone-key-1 " + "00" * 32, "quite another secret, of forty characters"])
def test_a_wrong_key_is_an_error_that_touches_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "people.db"
    with opened(path) as memory:
        fill(memory)
    (tmp_path / "wrong").write_text(text)
    before = _digest(tmp_path)
    with (
        pytest.raises(EncryptionError, match=r"no key in .*wrong opens") as caught,
        opened(path, f"file:{tmp_path / 'wrong'}") as memory,
    ):
        memory.add("something", user_id="u", infer=False)
    assert "Nothing was changed" in caught.value.hint
    assert _digest(tmp_path) == before


def test_half_a_key_is_said_to_be_incomplete(tmp_path: Path) -> None:
    (tmp_path / "half").write_text("memstone-key-1 00ff")
    with (
        pytest.raises(ConfigError, match="incomplete"),
        opened(tmp_path / "p.db", f"file:{tmp_path / 'half'}") as memory,
    ):
        memory.stats()


def test_an_encrypted_store_without_the_setting_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with opened(path) as memory:
        fill(memory)
    before = _digest(tmp_path)
    with pytest.raises(EncryptionError, match=r"is encrypted, but store\.encryption_key is not set") as caught:
        Memory(settings(path, None)).stats()
    assert "keyring:" in caught.value.hint
    assert _digest(tmp_path) == before


def test_a_plain_store_with_the_setting_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with Memory(settings(path, None)) as memory:
        fill(memory)
    with pytest.raises(EncryptionError, match="is not encrypted, but") as caught, opened(path) as memory:
        memory.stats()
    assert "memstone encryption enable" in caught.value.hint
    with Memory(settings(path, None)) as memory:  # and can still be used as it was
        assert memory.stats()["memories"] > 0


def test_a_locked_keyring_is_said_and_disables_nothing(tmp_path: Path, own_keyring: _KeyringInProcess) -> None:
    path = tmp_path / "people.db"
    with opened(path, "keyring:memstone/people") as memory:
        fill(memory)
    own_keyring.is_locked = True
    with pytest.raises(EncryptionError, match=r"keyring.*cannot be read") as caught:
        opened(path, "keyring:memstone/people").stats()
    assert "unlock" in caught.value.hint
    own_keyring.is_locked = False
    assert _stored_texts(path, "keyring:memstone/people") != []


def test_a_variable_that_is_not_set_creates_no_store(tmp_path: Path) -> None:
    with pytest.raises(EncryptionError, match="no key in the environment variable NOT_THERE"):
        opened(tmp_path / "people.db", "env:NOT_THERE").stats()
    assert not (tmp_path / "people.db").exists() or (tmp_path / "people.db").stat().st_size == 0


def test_a_command_that_fails_is_said_without_its_arguments(tmp_path: Path) -> None:
    with pytest.raises(EncryptionError, match="returned no key") as caught:
        opened(tmp_path / "people.db", f"command:{sys.executable} -c 'raise SystemExit(3)  # hush'").stats()
    assert "hush" not in str(caught.value)


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.import_cipher.cache_clear()
    driver._cipher_connection_class.cache_clear()
    monkeypatch.setitem(sys.modules, "sqlcipher3", None)
    try:
        with pytest.raises(MissingExtra, match="sqlcipher3") as caught:
            opened(tmp_path / "people.db").stats()
        assert "memstone[encryption]" in caught.value.hint
    finally:
        driver.import_cipher.cache_clear()
        driver._cipher_connection_class.cache_clear()


def test_one_file_cannot_hold_both_keys(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"store\.key"):
        opened(tmp_path / "people.db", f"file:{tmp_path / 'people.db.key'}")


def test_the_key_of_the_store_is_encrypted_too(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with opened(path) as memory:
        memory.admin.backups.create(tmp_path / "a.backup")
        assert memory.admin.backups.verify(tmp_path / "a.backup")["origin"] == "ours"
    sealed = (tmp_path / "people.db.key").read_text()
    assert sealed.startswith("sealed:")
    if os.name == "posix":
        assert (tmp_path / "people.db.key").stat().st_mode & 0o077 == 0
        assert (tmp_path / "keys" / "encryption.key").stat().st_mode & 0o077 == 0
    with opened(path) as memory:
        assert memory.admin.backups.verify(tmp_path / "a.backup")["origin"] == "ours"


def test_a_store_in_memory_has_nothing_at_rest(tmp_path: Path) -> None:
    store = {"url": "memory:", "encryption_key": f"file:{tmp_path / 'never'}"}
    with Memory({"store": store, "embedder": {"provider": "hash"}}) as memory:
        memory.add("I am here", user_id="u", infer=False)
        assert memory.admin.check()["encryption"] == {"state": "memory", "files": False}
        with pytest.raises(EncryptionError, match="in memory"):  # rather than a plain one
            memory.admin.backups.create(tmp_path / "a.backup")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_page_is_damage_and_no_wrong_key(tmp_path: Path) -> None:
    from memstone.errors import Corrupted

    path = tmp_path / "people.db"
    with opened(path) as memory:
        fill(memory)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(Corrupted), opened(path) as memory:
        memory.stats()
