"""``serve`` and ``keys``: the service, and who may ask it."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli.arguments import Arguments, for_store
from memstone.cli.banner import (
    LOCAL_KEY,
    BannerPart,
    ServiceAddress,
    client_host,
    describe_clients,
    describe_first_lines,
    print_banner,
    save_local_key,
)
from memstone.cli.fail import OK
from memstone.cli.program import program_command, store_options
from memstone.cli.terminal import WaitNotes, print_line, print_note, style_text
from memstone.cli.upstreams import find_upstreams
from memstone.errors import MissingExtra, install_hint

if TYPE_CHECKING:
    from memstone.config import Settings
    from memstone.engine.access.console_access import ConsoleLink
    from memstone.literals import VerbName
    from memstone.memory import Memory
    from memstone.results import KeyItem

_FIRST_KEY: Final = "first"
_DAY_MINUTES: Final = 24 * 60
_KNOWN_EVERYWHERE: Final = frozenset({"MEMSTONE_CONFIG", "MEMSTONE_KEY", "MEMSTONE_URL"})
"""Variables that do not matter to another command, or that its line names."""


_UPSTREAM: Final = (
    "Service that runs the models: a URL, or a name such as openai, anthropic or ollama. May be repeated."
)
_KEY: Final = "Environment variable with the upstream's key. Default: the vendor's own, such as OPENAI_API_KEY."


@click.command()
@click.option("--host", help="Address to listen on. Default: server.host, or 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on. Default: server.port, or 8420.")
@click.option("--upstream", "named", metavar="URL", multiple=True, help=_UPSTREAM)
@click.option("--key-env", metavar="NAME", help=_KEY)
@click.option("--for-user", default="me", show_default=True, help="The user of the key that the printed lines use.")
@click.option("--open", "open_browser", is_flag=True, help="Open the console in a browser, signed in.")
@for_store
def serve(
    arguments: Arguments,
    *,
    host: str | None,
    port: int | None,
    named: Sequence[str],
    key_env: str | None,
    for_user: str,
    open_browser: bool,
) -> int:
    """Run the service: console, REST, gateway, MCP and metrics.

    With --upstream, it prints the lines that make an OpenAI or Anthropic client remember; the upstreams of the
    configuration are not used then. The first start creates a key for an administrator and shows it once. A service
    that only this machine can reach also keeps a key for one user in a file beside the store (client-keys), which the
    printed lines use. Every start prints a link that signs you in to the console.
    """
    asked = _override_upstreams(_override_address(arguments.settings(), host, port), named, key_env)
    waiting = WaitNotes("starting Memstone", always=asked.server.log == "console")
    with waiting, _stored_in_file(asked) as settings:
        serve_app = _load_service(settings)
        token, key_file = _prepare_keys(settings, for_user)
        visible, link = _KeyPrinter(), _console_link(settings)

        def announce(bound: int) -> None:
            waiting.finish()
            address = f"http://{client_host(asked.server.host)}:{bound}"
            _print_startup_help(asked, ServiceAddress(address, for_user, key_file), token, visible, arguments)
            again = _describe_new_link(arguments, address)
            _print_console_link(_override_address(asked, None, bound), link, again, open_browser=open_browser)

        try:
            serve_app(announce)
        finally:
            visible(token)  # a start that failed or was interrupted: it is good for the next one
    return OK


def _load_service(settings: Settings) -> Callable[[Callable[[int], None]], None]:
    """Return what serves until a signal comes; loading it takes a while, and needs an extra."""
    try:
        from memstone.server import process
        from memstone.server.app import create_app
        from memstone.server.observe import configure_logging
        from memstone.server.stored_settings import with_stored
    except ModuleNotFoundError as error:
        raise MissingExtra("the service needs the extra 'server'", hint=install_hint("server")) from error

    def serve_app(announce: Callable[[int], None]) -> None:
        repeats = configure_logging(
            settings.server.log, logging.getLevelNamesMapping()[settings.server.log_level.upper()]
        )
        process.serve_app(create_app(with_stored(settings)), settings.server, announce, repeats)

    return serve_app


@contextmanager
def _stored_in_file(settings: Settings) -> Iterator[Settings]:
    """Yield settings whose store several can open: a store in memory becomes a file that is removed at the end.

    Nobody else could open it otherwise, and the keys that are made before the service starts would not be in it.
    """
    from memstone.config import postgres_url, store_path

    if postgres_url(settings) is not None or store_path(settings) is not None:
        yield settings
        return
    with TemporaryDirectory(prefix="memstone-", ignore_cleanup_errors=True) as folder:
        store = settings.store.model_copy(update={"url": f"sqlite:///{Path(folder) / 'memory.db'}"})
        yield settings.model_copy(update={"store": store})


def _override_address(settings: Settings, host: str | None, port: int | None) -> Settings:
    named = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    return settings.model_copy(update={"server": settings.server.model_copy(update=named)})


def _override_upstreams(settings: Settings, named: Sequence[str], key_env: str | None) -> Settings:
    if key_env and not named:
        raise click.UsageError("--key-env belongs to --upstream")
    if not named:
        return settings
    upstreams = tuple(find_upstreams(named, key_env))
    return settings.model_copy(update={"gateway": settings.gateway.model_copy(update={"upstreams": upstreams})})


def _prepare_keys(settings: Settings, user: str) -> tuple[str | None, Path | None]:
    """Return the operator's key if there is none yet, and the file with the key of whoever sits at this machine.

    The operator's may do everything and ask for everybody.
    """
    from memstone.memory import Memory

    with Memory(settings) as memory:
        token = None
        if not any(one["name"] != LOCAL_KEY for one in memory.admin.keys.list()):
            token = memory.admin.keys.create(_FIRST_KEY, verbs=["read", "write", "admin"], may_assert_user=True)["key"]
        return token, save_local_key(memory, settings, user)


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


def _print_console_link(settings: Settings, link: ConsoleLink | None, again: str, *, open_browser: bool) -> None:
    """Print how to sign in to the console, and do it if asked to."""
    if link is None:
        return
    address = console_address(settings)
    minutes = f"{settings.server.console.link_minutes:g} minutes"
    typed = f"Or open {address} and type the code {link.code}."
    heading = f"Open the console, signed in, with this link. It works once, within {minutes}:"
    print_banner([BannerPart(heading, notes=(f"{address}#{link.token}", typed, again))])
    print_line()
    sys.stdout.flush()
    if open_browser:
        _open_in_browser(f"{address}#{link.token}")


def _describe_new_link(arguments: Arguments, address: str) -> str:
    """Return how to get another link: from any terminal, and to this service over this store."""
    elsewhere = [] if console_address(arguments.settings()).startswith(f"{address}/") else ["--url", address]
    named = shlex.join([*program_command(), "console", *store_options(arguments), *elsewhere])
    set_here = any(name.startswith("MEMSTONE_") and name not in _KNOWN_EVERYWHERE for name in os.environ)
    with_these = " with the MEMSTONE_ variables that are set here" if set_here else ""
    return f"For another link, run `{named}`{with_these}."


def console_address(settings: Settings) -> str:
    """Return where people sign in to the console of a service with these settings."""
    return f"http://{client_host(settings.server.host)}:{settings.server.port}/console/sign-in"


class _KeyPrinter:
    """Shows a key: once, however often it is asked to."""

    def __init__(self) -> None:
        self._done = False

    def __call__(self, token: str | None) -> None:
        if token is None or self._done:
            return
        self._done = True
        print_line("\nThe key of the administrator. It is shown only once, so save it:")
        print_line(f"export MEMSTONE_KEY={token}")
        sys.stdout.flush()


def _print_startup_help(
    settings: Settings,
    service: ServiceAddress,
    token: str | None,
    visible: _KeyPrinter,
    arguments: Arguments | None = None,
) -> None:
    """Print where it listens, the first key, and lines to paste."""
    from memstone.config import store_place

    place = store_place(settings)
    print_line(style_text(f"Memstone is listening on {service.url} and stores everything in {place}", "bold"))
    visible(token)
    described = BannerPart("The API is described at", notes=(f"{service.url}/openapi.json",))
    parts = [
        described,
        describe_clients(settings, service),
        describe_first_lines(settings, service, arguments or Arguments()),
    ]
    print_banner(parts)


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
            "this needs the extras 'mcp' and 'server'",
            hint=install_hint("mcp,server"),
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
