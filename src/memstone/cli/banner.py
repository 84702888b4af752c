"""What ``serve`` prints when it starts: addresses, keys, and lines to paste into clients.

Every line works in a terminal that was just opened: it names the Python that has Memstone, and takes the key from a
file that only you can read, or from ``MEMSTONE_KEY`` where there is none.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memstone.cli.terminal import print_line, style_text
from memstone.cli.upstreams import describe_missing_key

if TYPE_CHECKING:
    from memstone.cli.arguments import Arguments
    from memstone.config import Settings
    from memstone.memory import Memory

LOCAL_KEY: Final = "local"
_LOOPBACK: Final = ("127.", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class BannerPart:
    """Some lines under a heading. ``commands`` can be pasted, one by one; ``notes`` say something."""

    heading: str
    commands: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def print_banner(parts: Iterable[BannerPart]) -> None:
    """Print each part that has something to say."""
    for part in parts:
        if not (part.commands or part.notes):
            continue
        print_line()
        print_line(style_text(part.heading, "title"))
        for note in part.notes:
            print_line(f"  {note}")
        for command in part.commands:
            print_line(command)
    sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """Where a service is, whose memory the lines are about, and the file with the key of that user."""

    url: str
    user: str
    key_file: Path | None = None

    def key_in_shell(self) -> str:
        """Return how a shell gets the key, for a place inside double quotes."""
        if self.key_file is None:
            return "$MEMSTONE_KEY"
        return f"$(cat {shlex.quote(str(self.key_file))})"

    def key_in_python(self) -> str:
        """Return how Python gets the key."""
        if self.key_file is None:
            return 'os.environ["MEMSTONE_KEY"]'
        return f"open({json.dumps(str(self.key_file))}).read().strip()"


# --- the parts --------------------------------------------------------------------------------------------------------


def describe_clients(settings: Settings, service: ServiceAddress) -> BannerPart:
    """Return the lines that make the clients of the configured upstreams remember, and what is not set."""
    heading = "To make a chat client remember, paste these lines where it runs:"
    dialects = list(dict.fromkeys(one.dialect for one in settings.gateway.upstreams))
    commands = [line for dialect in dialects for line in _client_lines(dialect, service)]
    notes = list(_missing_notes(settings))
    if not settings.gateway.upstreams:
        heading = "No upstream is set, so chat clients cannot use this service yet."
        notes.append("Start it with --upstream openai, anthropic, ollama or a URL, and you get two lines to paste.")
    elif service.key_file is None:
        notes.append("MEMSTONE_KEY must be set there: it is the key of this service.")
    else:
        later = ", and facts are learned when a session has ended" if settings.preset == "companion" else ""
        notes.append(f"What is said is remembered for the user {service.user}{later}.")
    return BannerPart(heading, tuple(commands), tuple(notes))


def _client_lines(dialect: str, service: ServiceAddress) -> Sequence[str]:
    if dialect == "anthropic":
        address = export_line("ANTHROPIC_BASE_URL", service.url)
        return (address, export_line("ANTHROPIC_API_KEY", service.key_in_shell()))
    address = export_line("OPENAI_BASE_URL", f"{service.url}/v1")
    return (address, export_line("OPENAI_API_KEY", service.key_in_shell()))


def _missing_notes(settings: Settings) -> Iterable[str]:
    for upstream in settings.gateway.upstreams:
        missing = describe_missing_key(upstream)
        if missing:
            yield (
                f"NOT SET: the key of {upstream.name}. Chats are refused until you set {missing} where you start "
                "this service (or gateway.upstreams[].api_key)."
            )


def export_line(name: str, value: str) -> str:
    """Return the line that sets a variable; ``value`` may contain what a shell replaces."""
    plain = value.replace("/", "").replace(":", "").replace(".", "").replace("[", "").replace("]", "").isalnum()
    return f"export {name}={value}" if plain else f'export {name}="{value}"'


def describe_first_lines(settings: Settings, service: ServiceAddress, arguments: Arguments) -> BannerPart:
    """Return one line each for a shell, for the client and for the library."""
    # A companion learns when a session has ended; stored as it is, the text is there at once.
    body = {"messages": "I live in Oslo", "user_id": service.user}
    sent = json.dumps(body if settings.preset != "companion" else {**body, "infer": False})
    asked = f'search("Where do I live?", user_id={json.dumps(service.user)})'
    key = f'-H "Authorization: Bearer {service.key_in_shell()}"'
    imported = "" if service.key_file else "import os; "
    commands = [
        f"curl {service.url}/v1/memories {key} -H 'Content-Type: application/json' -d {shlex.quote(sent)}",
        _python_command(
            f'{imported}from memstone import Client; print(Client("{service.url}", {service.key_in_python()}).{asked})'
        ),
    ]
    if (named := _memory_arguments(settings, arguments)) is not None:
        imported = "Memory, Settings" if named.startswith("Settings") else "Memory"
        commands.append(_python_command(f"from memstone import {imported}; print(Memory({named}).{asked})"))
    return BannerPart("Try it, in another terminal:", tuple(commands))


def _python_command(code: str) -> str:
    """Return a line for any terminal, with the Python that has Memstone: elsewhere another one is called so."""
    return f"{shlex.quote(sys.executable or 'python')} -c {shlex.quote(code)}"


def _memory_arguments(settings: Settings, arguments: Arguments) -> str | None:
    """Return what the library is told to be the same memory; None where a line cannot say it without telling a secret.

    A file of settings is named, with ``--db`` laid over it. Without one it is the preset and the store, as far as these
    are not what the library takes anyway.
    """
    from memstone.config import DEFAULT_PATH, store_path

    path, file = store_path(settings), arguments.config or os.environ.get("MEMSTONE_CONFIG")
    if path is None and (arguments.db or not file):
        return None
    if file:
        over = f", {json.dumps({'MEMSTONE_STORE__URL': _sqlite_url(path)})}" if arguments.db else ""
        return f"Settings.load({json.dumps(str(Path(file).expanduser().absolute()))}{over})"
    preset = {} if settings.preset == type(settings).model_fields["preset"].default else {"preset": settings.preset}
    store = {} if path == DEFAULT_PATH.expanduser() else {"store": {"url": _sqlite_url(path)}}
    return json.dumps({**preset, **store}) if preset or store else ""


def _sqlite_url(path: Path | None) -> str:
    return f"sqlite:///{path.absolute()}" if path is not None else ""


def client_host(host: str) -> str:
    """Return a host as an address has it; where it listens everywhere, the one that every machine has."""
    anywhere = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - it is what somebody chose
    name = anywhere.get(host, host)
    return f"[{name}]" if ":" in name else name


# --- the key of whoever sits at this machine --------------------------------------------------------------------------


def save_local_key(memory: Memory, settings: Settings, user: str) -> Path | None:
    """Return a file with a key for this user, which is made where there is none that still works.

    Only for a service that listens on this machine alone: whoever runs it can read the store anyway, and nobody else
    can read the file. None where it listens elsewhere, or the file cannot be written.
    """
    if not settings.server.host.startswith(_LOOPBACK) or settings.server.open_loopback:
        return None
    file = _key_path(settings, user)
    with suppress(OSError, UnicodeDecodeError):
        if _is_valid_key(memory, file.read_text("utf-8").strip(), user):
            return file
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        token = memory.admin.keys.create(LOCAL_KEY, verbs=["read", "write"], user_id=user)["key"]
        file.unlink(missing_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            stream.write(f"{token}\n")
    except OSError:
        return None
    return file


def _key_path(settings: Settings, user: str) -> Path:
    """Return where the key of a user is kept: beside a store that is a file, one for each store and tenant."""
    from memstone.config import DEFAULT_PATH, store_path, store_place

    named = f"{store_place(settings)}\n{settings.tenant}\n{user}"
    folder = (store_path(settings) or DEFAULT_PATH.expanduser()).absolute().parent / "client-keys"
    return folder / hashlib.sha256(named.encode()).hexdigest()[:12]


def _is_valid_key(memory: Memory, token: str, user: str) -> bool:
    now = memory_now()
    return any(
        token.startswith(f"{key['prefix']}_")
        and key["user_id"] == user
        and not key["revoked_at"]
        and (not key["expires_at"] or key["expires_at"] > now)
        for key in memory.admin.keys.list()
    )


def memory_now() -> str:
    """Return the time as keys write when they expire."""
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
