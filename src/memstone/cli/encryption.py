"""``encryption``: encrypt a store, decrypt it, change its key, and show what is encrypted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli.arguments import Arguments, ask_confirmation, for_store
from memstone.cli.fail import FAILED, NOTHING, OK
from memstone.cli.terminal import print_line, print_note, show_pairs
from memstone.errors import ConfigError, EncryptionError, Unsupported, UsageError

if TYPE_CHECKING:
    from memstone.config import Settings
    from memstone.ports.storage import EncryptionKeys
    from memstone.results import EncryptionStatus

_KEY: Final = "Use this as store.encryption_key: file:PATH, keyring:SERVICE/NAME, command:PROGRAM or env:NAME."
_LEAVE: Final = "Leave backups as they are."


def describe_encryption(status: EncryptionStatus) -> str:
    """Return in one line what is encrypted."""
    files = "backups and exports are encrypted" if status["files"] else "backups and exports are not encrypted"
    match status["state"]:
        case "memory":
            return "the store is never on disk"
        case "server":
            return f"the database is encrypted only if its server does that; {files}"
        case "plain":
            return "nothing is encrypted: store.encryption_key is not set"
        case _:
            return f"{status.get('cipher')}, key {status.get('key')} in {status.get('key_place')}; {files}"


@click.group()
def encryption() -> None:
    """Encrypt the store and everything beside it."""


@encryption.command("status")
@for_store
def show_status(arguments: Arguments) -> int:
    """Show what is encrypted, and with which key."""
    with arguments.memory() as memory:
        status = memory.admin.check()["encryption"]
    if arguments.print_json(status):
        return OK
    print_line(describe_encryption(status))
    if status["files"]:
        names = {"key": "key", "kept in": "key_place", "former keys there": "former_keys"}
        show_pairs([(label, str(dict(status).get(name))) for label, name in names.items()])
    if status.get("rotation_due"):
        print_note("the store still has a former key: run `memstone encryption rotate`", "warn")
    return OK


@encryption.command("enable")
@click.option("--key", metavar="PLACE", help=_KEY)
@click.option("--leave-backups", is_flag=True, help=_LEAVE)
@for_store
def enable(arguments: Arguments, *, key: str | None, leave_backups: bool) -> int:
    """Encrypt a store that is not encrypted yet.

    Stop every program that uses the store first. Memstone creates the key if there is none in a file or a keyring, and
    also encrypts the copies beside the store and the backups that it knows. Keep a copy of the key: without it, nobody
    can read the store. Afterwards, every program needs store.encryption_key. A new store is encrypted from the start if
    store.encryption_key is set.
    """
    settings = _with_key(arguments.settings(), key)
    keys = _require_keys(settings)
    for path in _files(settings):
        _adapter("encrypt")(path, keys)
    _encrypt_store_key(settings)
    copies = [] if leave_backups else _rewrite_backups(settings)
    answer = {"store": str(_require_path(settings)), "key_place": keys.place, "backups": copies}
    if not arguments.print_json(answer):
        print_line(f"encrypted with the key in {keys.place}: keep a copy of it elsewhere")
        if arguments.settings().store.encryption_key is None:
            print_note(f'set store.encryption_key = "{key}", or no program can open the store', "warn")
        _show_copies(copies)
    return _exit_code(copies)


@encryption.command("disable")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@for_store
def disable(arguments: Arguments, *, yes: bool) -> int:
    """Write the store as a plain file again.

    Stop every program that uses the store first. Backups stay encrypted: to restore one, store.encryption_key must say
    where its key is.
    """
    settings = arguments.settings()
    keys = _require_keys(settings)
    if not (yes or ask_confirmation(arguments, "Store everything in plain text?", without="disable")):
        print_note("nothing was changed")
        return NOTHING
    _decrypt_store_key(settings)
    for path in _files(settings):
        _adapter("decrypt")(path, keys)
    if not arguments.print_json({"store": str(_require_path(settings))}):
        print_line("the store is not encrypted any more: remove store.encryption_key from your configuration")
    return OK


@encryption.command("rotate")
@click.option("--leave-backups", is_flag=True, help=_LEAVE)
@click.option("--drop-former", is_flag=True, help="Remove former keys, once nothing that Memstone knows needs them.")
@for_store
def rotate(arguments: Arguments, *, leave_backups: bool, drop_former: bool) -> int:
    """Encrypt the store with a new key while it is in use.

    In a file or a keyring, Memstone puts a new key before the former ones. Where a command or a variable provides the
    key, put the new key in the first line and the former one below it, for every program that uses the store, and then
    run this. Programs that have the store open look for the new key when they next need it.
    """
    settings = arguments.settings()
    keys = _require_keys(settings)
    if keys.is_writable:
        keys.add()
    for path in _files(settings):
        _adapter("rotate")(path, keys)
    _encrypt_store_key(settings)
    copies = [] if leave_backups else _rewrite_backups(settings)
    dropped = _drop_former(keys, copies, asked=drop_former, complete=not leave_backups)
    answer = {"key": _key_name(settings), "key_place": keys.place, "backups": copies, "dropped": dropped}
    if not arguments.print_json(answer):
        print_line(f"encrypted with the key {answer['key']} in {keys.place}: keep a copy of it elsewhere")
        _show_copies(copies)
        if not dropped and len(keys.read()) > 1:
            print_note("former keys stay there for older backups; --drop-former removes them", "dim")
    return _exit_code(copies)


@encryption.command("save-key")
@click.argument("file", type=click.Path(dir_okay=False))
@for_store
def save_key(arguments: Arguments, file: str) -> int:
    """Write a copy of the keys into FILE, which only you can read.

    Keep FILE away from the store and its backups.
    """
    keys = _require_keys(arguments.settings())
    found = keys.read()
    if not found:
        raise EncryptionError(f"there is no key in {keys.place}", hint="the first use of the store creates it")
    if Path(file).exists():
        raise UsageError(f"{file} already exists", hint="choose another name")
    _adapter("save")(found, Path(file))
    if not arguments.print_json({"file": file, "keys": len(found)}):
        print_line(f"{len(found):,} {'key' if len(found) == 1 else 'keys'} written to {file}")
    return OK


# --- steps ------------------------------------------------------------------------------------------------------------


def _adapter(name: str) -> Any:
    from memstone.registry import load_adapter

    return load_adapter("encryption", name)


def _with_key(settings: Settings, key: str | None) -> Settings:
    if key is None:
        return settings
    from memstone.config import Settings

    store = {**settings.store.model_dump(), "encryption_key": key}
    return Settings.of({**settings.model_dump(exclude={"store"}, exclude_unset=True), "store": store})


def _require_keys(settings: Settings) -> EncryptionKeys:
    from memstone.compose import encryption_keys_of
    from memstone.registry import load_adapter

    keys = encryption_keys_of(settings, load_adapter("io", "blocking")())
    if keys is None:
        raise ConfigError(
            "store.encryption_key is not set",
            hint="set it, for example to keyring:memstone/people; `memstone encryption enable` also takes --key",
        )
    return keys


def _require_path(settings: Settings) -> Path:
    from memstone.config import store_path

    path = store_path(settings)
    if path is None:
        raise Unsupported(
            "only a store in an SQLite file can be encrypted by Memstone",
            kind="ledger",
            name="postgres",
            hint="let PostgreSQL or its disk encrypt the database; store.encryption_key encrypts backups and exports",
        )
    return path


def _files(settings: Settings) -> list[Path]:
    """Return the databases that belong to a store: its own, and that of a vector store in this process."""
    files = [_require_path(settings)]
    folder = settings.vector_store.config.get("path")
    if settings.vector_store.provider == "faiss" and folder:
        points = Path(folder).expanduser() / "points.sqlite"
        files += [points] if points.exists() else []
    return files


def _encrypt_store_key(settings: Settings) -> None:
    """Encrypt the file of ``store.key`` with the current key, if it is in a file that is there."""
    from memstone.compose import store_key_of
    from memstone.registry import load_adapter

    key = store_key_of(settings, load_adapter("io", "blocking")())
    if isinstance(key, load_adapter("key", "file")):
        key.encrypt_again()


def _decrypt_store_key(settings: Settings) -> None:
    from memstone.compose import store_key_of
    from memstone.registry import load_adapter

    key = store_key_of(settings, load_adapter("io", "blocking")())
    if isinstance(key, load_adapter("key", "file")):
        key.decrypt()


def _rewrite_backups(settings: Settings) -> list[dict[str, str]]:
    """Encrypt every backup that the store knows with the current key."""
    from memstone.compose import compose_engine
    from memstone.drive import drive
    from memstone.engine.transfer.backup import rewrite_backups

    engine = compose_engine(settings, "blocking")
    try:
        copies = drive(rewrite_backups(engine.runtime))
    finally:
        drive(engine.close())
    return [{"path": one.path, "state": one.state, "reason": one.reason} for one in copies]


def _key_name(settings: Settings) -> str | None:
    from memstone.compose import encrypted_files_of
    from memstone.registry import load_adapter

    name: str | None = encrypted_files_of(settings, load_adapter("io", "blocking")()).key_name
    return name


def _drop_former(keys: EncryptionKeys, copies: list[dict[str, str]], *, asked: bool, complete: bool) -> int:
    if not asked:
        return 0
    if not complete or _list_unchanged(copies):
        raise EncryptionError(
            "the store has its new key, but former keys stay: some backups may still need them",
            hint="remove or move those backups and run it again, or remove the keys yourself",
        )
    return keys.drop_former()


def _list_unchanged(copies: list[dict[str, str]]) -> list[dict[str, str]]:
    return [one for one in copies if one["state"] not in ("rewritten", "clean", "deleted", "missing")]


def _show_copies(copies: list[dict[str, str]]) -> None:
    rewritten = sum(one["state"] == "rewritten" for one in copies)
    if rewritten:
        print_line(f"{rewritten:,} {'backup was' if rewritten == 1 else 'backups were'} encrypted with it too")
    for one in _list_unchanged(copies):
        print_note(f"not changed: {one['path']}: {one['reason']}", "warn")


def _exit_code(copies: list[dict[str, str]]) -> int:
    return FAILED if _list_unchanged(copies) else OK


COMMANDS: Final = (encryption,)
