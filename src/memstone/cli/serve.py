"""``serve`` and ``keys``: the service, and who may ask it."""

from __future__ import annotations

import json
import logging
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli.arguments import Arguments, for_store
from memstone.cli.fail import OK
from memstone.cli.terminal import print_line, print_note
from memstone.errors import MissingExtra

if TYPE_CHECKING:
    from memstone.config import Settings
    from memstone.engine.access.console_access import ConsoleLink
    from memstone.literals import VerbName
    from memstone.memory import Memory
    from memstone.results import KeyItem

_FIRST_KEY: Final = "first"
_DAY_MINUTES: Final = 24 * 60


@click.command()
@click.option("--host", help="Address to listen on. Default: server.host, or 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on. Default: server.port, or 8420.")
@click.option("--open", "open_browser", is_flag=True, help="Open the console in a browser, signed in.")
@for_store
def serve(arguments: Arguments, *, host: str | None, port: int | None, open_browser: bool) -> int:
    """Run the service: console, REST, gateway, MCP and metrics.

    The first start creates a key and shows it once. Every start prints a link that signs you in to the console.
    """
    try:
        from memstone.server import process
        from memstone.server.app import create_app
        from memstone.server.observe import configure_logging
        from memstone.server.stored_settings import with_stored
    except ModuleNotFoundError as error:
        raise MissingExtra("the service needs the extra 'server'", hint="pip install 'memstone[server]'") from error
    settings = _override_address(arguments.settings(), host, port)
    token, visible = _first_key(settings), _KeyPrinter()
    link = _console_link(settings)
    try:
        repeats = configure_logging(
            settings.server.log, logging.getLevelNamesMapping()[settings.server.log_level.upper()]
        )
        app = create_app(with_stored(settings))

        def say_hello(port: int) -> None:
            ours = _override_address(settings, None, port)
            _print_startup_help(ours, token, visible, arguments)
            _print_console_link(ours, link, open_browser=open_browser)

        process.serve_app(app, settings.server, say_hello, repeats)
    finally:
        visible(token)  # a start that failed or was interrupted: it is good for the next one
    return OK


def _override_address(settings: Settings, host: str | None, port: int | None) -> Settings:
    named = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    return settings.model_copy(update={"server": settings.server.model_copy(update=named)})


def _first_key(settings: Settings) -> str | None:
    """Return the operator's key, if there is none yet: it may do everything and ask for everybody."""
    from memstone.memory import Memory

    with Memory(settings) as memory:
        if memory.admin.keys.list():
            return None
        made = memory.admin.keys.create(_FIRST_KEY, verbs=["read", "write", "admin"], may_assert_user=True)
        token: str = made["key"]
        return token


def _console_link(settings: Settings) -> ConsoleLink | None:
    """Return a link that signs the operator in; None where no console is served."""
    from memstone.memory import Memory

    console = settings.server.console
    if not console.enabled:
        return None
    with Memory(settings) as memory:
        return make_link(memory, minutes=console.link_minutes, session_hours=console.session_hours)


def make_link(memory: Memory, **wanted: Any) -> ConsoleLink:
    """Return a new link to the console of a memory."""
    from memstone.drive import drive
    from memstone.engine.access.console_access import create_console_link

    return drive(memory.engine.run(create_console_link, **wanted))


@click.command()
@click.option("--for-user", help="Let this person see and correct their own memory, and nothing else.")
@click.option("--days", type=click.FloatRange(0, 365, min_open=True), help="Days a personal link is valid. Default: 7.")
@click.option("--read-only", is_flag=True, help="Allow reading only.")
@click.option("--url", help="Address of the service. Default: server.host and server.port.")
@click.option("--open", "open_browser", is_flag=True, help="Open the link in a browser.")
@click.option("--end-all", is_flag=True, help="End every link and session of the console instead.")
@for_store
def console(
    arguments: Arguments,
    *,
    for_user: str | None,
    days: float | None,
    read_only: bool,
    url: str | None,
    open_browser: bool,
    end_all: bool,
) -> int:
    """Print a link that signs you in to the console.

    With --for-user, it signs one person in to their own memory. The link works once.
    Start the service first: memstone serve.
    """
    settings = arguments.settings()
    limits = settings.server.console
    with arguments.memory(create=True) as memory:
        if end_all:
            return _end_console_access(arguments, memory)
        minutes = (7.0 if days is None else days) * _DAY_MINUTES if for_user else limits.link_minutes
        wanted = {"user_id": for_user, "minutes": minutes, "session_hours": limits.session_hours}
        link = make_link(memory, **wanted, read_only=read_only)
    address = f"{url.rstrip('/')}/console/sign-in" if url else console_address(settings)
    full = f"{address}#{link.token}"
    if not arguments.print_json({"url": full, "code": link.code or None, "expires_at": link.expires_at}):
        print_line(full)
        typed = f" Or open {address} and type the code {link.code}." if link.code else ""
        print_note(f"it works once, until {link.expires_at}.{typed}")
    if open_browser:
        _open_in_browser(full)
    return OK


def _end_console_access(arguments: Arguments, memory: Memory) -> int:
    from memstone.drive import drive
    from memstone.engine.access.console_access import end_all_console_access

    ended = drive(memory.engine.run(end_all_console_access))
    if not arguments.print_json({"ended": ended}):
        print_line(f"{ended} links and sessions of the console have ended")
    return OK


def _open_in_browser(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        print_note("no browser was found; open the link yourself")


def _print_console_link(settings: Settings, link: ConsoleLink | None, *, open_browser: bool) -> None:
    """Print how to sign in to the console, and do it if asked to."""
    if link is None:
        return
    address = console_address(settings)
    minutes = f"{settings.server.console.link_minutes:g} minutes"
    print_line(f"Open the console, signed in, with this link. It works once, within {minutes}:")
    print_line(f"{address}#{link.token}")
    print_line(f"Or open {address} and type the code {link.code}. For another link, run `memstone console`.")
    print_line("")
    sys.stdout.flush()
    if open_browser:
        _open_in_browser(f"{address}#{link.token}")


def console_address(settings: Settings) -> str:
    """Return where people sign in to the console of a service with these settings."""
    return f"http://{_client_host(settings.server.host)}:{settings.server.port}/console/sign-in"


class _KeyPrinter:
    """Shows a key: once, however often it is asked to."""

    def __init__(self) -> None:
        self._done = False

    def __call__(self, token: str | None) -> None:
        if token is None or self._done:
            return
        self._done = True
        print_line("Your API key. It is shown only once: save it, and set it where you paste the lines below:")
        print_line(f"export MEMSTONE_KEY={token}")
        sys.stdout.flush()


def _print_startup_help(
    settings: Settings, token: str | None, visible: _KeyPrinter, arguments: Arguments | None = None
) -> None:
    """Print where it listens, and three lines to paste."""
    from memstone.config import store_place

    address = f"http://{_client_host(settings.server.host)}:{settings.server.port}"
    print_line(f"Memstone is listening on {address} and stores everything in {store_place(settings)}")
    print_line(f"The API is described at {address}/openapi.json")
    if token is None:
        print_note("a key already exists; create another with `memstone keys create`")
    visible(token)
    print_line("")
    print_line(  # the key itself is in none of these lines: a shell keeps what is pasted in its history
        f'curl {address}/v1/memories -H "Authorization: Bearer $MEMSTONE_KEY" '
        """-H 'Content-Type: application/json' -d '{"messages": "I live in Oslo", "user_id": "alice"}'"""
    )
    asked = 'search("Where does she live?", user_id="alice")'
    print_line(
        _python_command(
            f'import os; from memstone import Client; print(Client("{address}", os.environ["MEMSTONE_KEY"]).{asked})'
        )
    )
    if (named := _memory_arguments(settings, arguments or Arguments())) is not None:
        print_line(_python_command(f"from memstone import Memory, Settings; print(Memory({named}).{asked})"))
    print_line("")
    sys.stdout.flush()


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


def _client_host(host: str) -> str:
    """Return a host as an address has it; where it listens everywhere, the one that every machine has."""
    anywhere = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - it is what somebody chose
    name = anywhere.get(host, host)
    return f"[{name}]" if ":" in name else name


@click.command()
@click.option(
    "--for-user", default="me", show_default=True, help="Choose whose memory it is, unless a call names a user."
)
@for_store
def mcp(arguments: Arguments, *, for_user: str) -> int:
    """Serve memory tools to an assistant over stdin/stdout (MCP)."""
    try:
        from memstone.server.mcp.stdio import serve_stdio
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "this needs the extras 'mcp' and 'server'", hint="pip install 'memstone[mcp,server]'"
        ) from error
    serve_stdio(arguments.settings(), for_user)
    return OK


@click.group()
def keys() -> None:
    """Create, list, change, rotate and revoke API keys."""


@keys.command("create")
@click.argument("name", default="")
@click.option(
    "--verb",
    "verbs",
    multiple=True,
    type=click.Choice(["read", "write", "admin"]),
    help="Permission of the key; may be repeated.",
)
@click.option("--for-user", help="Limit the key to this user.")
@click.option("--for-agent", help="Limit the key to this agent.")
@click.option("--may-assert-user", is_flag=True, help="Let the caller name the user in each request.")
@click.option("--expires", help="Expiry date or time.")
@for_store
def create(
    arguments: Arguments,
    *,
    name: str,
    verbs: tuple[VerbName, ...],
    for_user: str | None,
    for_agent: str | None,
    may_assert_user: bool,
    expires: str | None,
) -> int:
    """Create a key and show it, once."""
    with arguments.memory(create=True) as memory:
        made = memory.admin.keys.create(
            name,
            verbs=verbs or ("read", "write"),
            user_id=for_user,
            agent_id=for_agent,
            may_assert_user=may_assert_user,
            expires_at=expires,
        )
    if not arguments.print_json(made):
        print_line(made["key"])
        print_note(f"{_describe_key(made)}; it is shown only once")
    return OK


@keys.command("list")
@for_store
def list_keys(arguments: Arguments) -> int:
    """List the keys, without their secrets, which are not stored."""
    with arguments.memory() as memory:
        found = memory.admin.keys.list()
    if not arguments.print_json({"results": found}):
        for key in found:
            print_line(f"{key['prefix']}  {_describe_key(key)}")
    return OK


@keys.command("set")
@click.argument("key_id")
@click.option("--name", help="The new name.")
@click.option(
    "--verb",
    "verbs",
    multiple=True,
    type=click.Choice(["read", "write", "admin"]),
    help="Permission of the key; may be repeated.",
)
@click.option(
    "--may-assert-user/--no-may-assert-user", default=None, help="Whether the caller can name the user in each request."
)
@for_store
def change(
    arguments: Arguments, *, key_id: str, name: str | None, verbs: tuple[VerbName, ...], may_assert_user: bool | None
) -> int:
    """Change the name or permissions of a key, not its secret."""
    with arguments.memory() as memory:
        changed = memory.admin.keys.update(key_id, name=name, verbs=verbs or None, may_assert_user=may_assert_user)
    if not arguments.print_json(changed):
        print_line(f"{changed['prefix']}  {_describe_key(changed)}")
    return OK


@keys.command("rotate")
@click.argument("key_id")
@click.option("--grace", default=3_600.0, show_default=True, help="Seconds to keep accepting the old secret.")
@for_store
def rotate(arguments: Arguments, *, key_id: str, grace: float) -> int:
    """Give a key a new secret under the same id."""
    with arguments.memory() as memory:
        made = memory.admin.keys.rotate(key_id, grace_seconds=grace)
    if not arguments.print_json(made):
        print_line(made["key"])
    return OK


@keys.command("revoke")
@click.argument("key_id")
@for_store
def revoke(arguments: Arguments, *, key_id: str) -> int:
    """Revoke a key immediately."""
    with arguments.memory() as memory:
        ended = memory.admin.keys.revoke(key_id)
    if not arguments.print_json(ended):
        print_line(f"{ended['prefix']} is revoked")
    return OK


def _describe_reach(key: KeyItem) -> str:
    """Return whom a key reaches, in words."""
    who = "its own pools"
    if key["user_id"] or "admin" in key["verbs"]:
        who = key["user_id"] or "the whole tenant"
    elif key["may_assert_user"]:
        who = "every person it names"
    return f"{who}, with agent {key['agent_id']}" if key["agent_id"] else who


def _describe_key(key: KeyItem) -> str:
    who = _describe_reach(key)
    until = f", until {key['expires_at']}" if key["expires_at"] else ""
    ended = ", revoked" if key["revoked_at"] else ""
    return f"{key['name'] or 'no name'}: {', '.join(key['verbs'])} for {who}{until}{ended}"


COMMANDS: Final = (serve, console, mcp, keys)
