"""Options that every command takes, and opening the memory they name."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, TypeVar, get_args

import click

from memstone.cli.fail import NOTHING, OK
from memstone.cli.terminal import Column, TextTable, as_json, day_time, print_line, print_note, print_table
from memstone.errors import NotFoundError, UsageError
from memstone.literals import CallerKind, LayerName, Strategy

if TYPE_CHECKING:
    from memstone.config import Settings
    from memstone.memory import Memory
    from memstone.results import EntityList, RelationList


# --- the options every command takes, before its name or after it, and the memory they lead to ------------------------


Function: TypeAlias = Callable[..., Any]


@dataclass(slots=True)
class Arguments:
    """What was given, wherever it stood."""

    db: str | None = None
    config: str | None = None
    user: str | None = None
    agent: str | None = None
    run: str | None = None
    everybody: bool = False
    json: bool = False
    verbose: bool = False

    def scope(self) -> dict[str, Any]:
        """Return whose memory it is, as ``Memory`` takes it."""
        return {"user_id": self.user, "agent_id": self.agent, "run_id": self.run}

    def scope_or_everybody(self) -> dict[str, Any]:
        """Return the same for a command that may be about everybody, if whoever gives it says so."""
        return {**self.scope(), "everybody": self.everybody}

    def settings(self) -> Settings:
        """Return the settings: the configuration file, over it the environment, over that ``--db``."""
        from memstone.config import Settings
        from memstone.sections import HistorySettings

        settings = Settings.load(self.config or os.environ.get("MEMSTONE_CONFIG") or None)
        if self.db is None:
            return settings
        store = settings.store.model_copy(update={"url": store_url(self.db)})
        return settings.model_copy(update={"store": store, "history": HistorySettings()})

    @contextmanager
    def memory(self, *, create: bool = False, damaged: bool = False) -> Iterator[Memory]:
        """Yield the memory, open. Only a command that stores something makes a store where there is none.

        ``damaged`` opens a damaged file, too: to look at it, to save what can be read, or to put a backup in its place.
        """
        from memstone.config import store_path
        from memstone.memory import Memory

        with self.configure_logging():
            settings = self.settings()
            if damaged:
                settings = settings.model_copy(update={"store": settings.store.model_copy(update={"check": False})})
            path = store_path(settings)
            if not create and path is not None and not path.exists():
                raise NotFoundError(
                    f"there is no store at {path}", hint="the first `memstone add` creates it; use --db for another one"
                )
            with Memory(settings) as memory:
                yield memory

    @contextmanager
    def configure_logging(self) -> Iterator[None]:
        """Show the library's warnings, and with ``--verbose`` everything it logs."""
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_PlainFormatter())
        handler.addFilter(lambda record: self.verbose or not hasattr(record, "event"))  # events are for machines
        log = logging.getLogger("memstone")
        before = log.level
        log.addHandler(handler)
        log.setLevel(logging.DEBUG if self.verbose else logging.WARNING)
        try:
            yield
        finally:
            log.removeHandler(handler)
            log.setLevel(before)

    def print_json(self, value: Any) -> bool:
        """Print a value as the one JSON document, if that is wanted."""
        if self.json:
            print_line(as_json(value))
        return self.json


class _PlainFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"{record.levelname.lower()}: {record.getMessage()}"


def store_url(db: str) -> str:
    """Return ``--db`` as the store's URL.

    It is a path, ``memory:`` or a URL, which the settings refuse if they do not know it.
    """
    if db in ("memory:", ":memory:") or db.startswith("sqlite:") or "://" in db:
        return db
    return f"sqlite:///{Path(db).expanduser().absolute()}"


def _store_option(context: click.Context, option: click.Parameter, value: Any) -> Any:
    if value not in (None, False):
        setattr(context.ensure_object(Arguments), str(option.name), value)
    return value


def _shared_option(*names: str, **more: Any) -> Function:
    return click.option(*names, expose_value=False, callback=_store_option, **more)


_STORE: Final = (
    _shared_option(
        "--db",
        metavar="PATH",
        help="SQLite file or database URL to use instead of the configured store.",
    ),
    _shared_option("--config", metavar="FILE", help="TOML file with settings; you can also set MEMSTONE_CONFIG."),
)
_TALK: Final = (
    _shared_option("--json", is_flag=True, help="Print one JSON document; errors are JSON on standard error."),
    _shared_option("--verbose", is_flag=True, help="Print log messages, and tracebacks of errors."),
)
_SCOPE: Final = (
    _shared_option("--user", metavar="ID", help="The user whose memory to use."),
    _shared_option("--agent", metavar="ID", help="The agent whose memory to use."),
    _shared_option("--run", metavar="ID", help="The conversation (run) whose memory to use."),
)


_EVERYBODY: Final = _shared_option("--everybody", is_flag=True, help="All users, agents and conversations.")


def _apply_options(function: Function, options: tuple[Function, ...]) -> Function:
    for option in reversed(options):
        function = option(function)
    return function


def add_program_options(function: Function) -> Function:
    """Return the options of the whole program, for its group."""
    return _apply_options(function, (*_SCOPE, *_STORE, *_TALK))


def for_scope(function: Function) -> Function:
    """Return the shared options of a command that works in a scope."""
    return click.pass_obj(_apply_options(function, (*_SCOPE, *_STORE, *_TALK)))


def for_scope_or_everybody(function: Function) -> Function:
    """Return the shared options of a command that works in a scope, or on everything there is."""
    return click.pass_obj(_apply_options(function, (*_SCOPE, _EVERYBODY, *_STORE, *_TALK)))


def for_store(function: Function) -> Function:
    """Return the shared options of a command about one memory or the whole store; a scope would change nothing."""

    @click.pass_context
    def call_without_scope(context: click.Context, /, *args: Any, **options: Any) -> Any:
        arguments = context.ensure_object(Arguments)
        if any(arguments.scope().values()):
            raise click.UsageError(f"{context.info_name} does not take --user, --agent or --run", context)
        return function(arguments, *args, **options)

    return _apply_options(_copy_function_details(call_without_scope, function), (*_STORE, *_TALK))


def _copy_function_details(wrapper: Function, function: Function) -> Function:
    """Return the wrapper with the name, help and options of what it wraps."""
    from functools import update_wrapper

    return update_wrapper(wrapper, function)


# --- from what is typed to what ``Memory`` takes ----------------------------------------------------------------------


KINDS: Final[tuple[CallerKind, ...]] = get_args(CallerKind)
LAYERS: Final[tuple[LayerName, ...]] = get_args(LayerName)
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)
SCOPES: Final = ["session", "owner", "global"]
_CONDITION: Final = re.compile(r"\s*([^=<>!\s]+)\s*(>=|<=|!=|==?|>|<)(?![=<>])(.*)", re.DOTALL)
FILTER_HINT: Final = 'write city=Oslo, age>=18 or JSON such as {"city": "Oslo"}'


def read_text_argument(value: str) -> str:
    """Return the argument itself, or standard input for ``-``."""
    if value != "-":
        return value
    try:
        return sys.stdin.buffer.read().decode("utf-8").rstrip("\n")
    except UnicodeDecodeError:
        raise click.UsageError("standard input is not UTF-8 text") from None


def parse_metadata(items: Sequence[str]) -> dict[str, Any] | None:
    """Return ``k=v`` pairs and JSON objects as one mapping; None when nothing was given."""
    merged: dict[str, Any] = {}
    for one in items:
        for name, value in _parse_metadata_item(one).items():
            if name in merged:
                raise click.BadParameter(f"{name!r} appears twice", param_hint="--metadata")
            merged[name] = value
    return merged if items else None


def _parse_metadata_item(one: str) -> dict[str, Any]:
    if one.lstrip().startswith("{"):
        return _json_object(one, "--metadata")
    name, separator, value = one.partition("=")
    if not separator or not name.strip():
        raise click.BadParameter(f"{one!r} is not name=value", param_hint="--metadata")
    return {name.strip(): parse_scalar(value)}


def parse_filter_options(items: Sequence[str]) -> list[Any] | None:
    """Return every ``--filter``, all of which must hold; what they mean is for the library to say."""
    return [_parse_filter(one) for one in items] or None


def _parse_filter(one: str) -> Any:
    if one.lstrip().startswith("{"):
        return _json_object(one, "--filter")
    found = _CONDITION.fullmatch(one)
    if found is None:
        raise click.BadParameter(f"{one!r} is not a filter: {FILTER_HINT}", param_hint="--filter")
    name, operator, value = found.groups()
    wanted = parse_scalar(value.strip())
    return {name: wanted} if operator in ("=", "==") else {name: {operator: wanted}}


def parse_scalar(value: str) -> Any:
    """Return a value that reads as JSON is that value, everything else is text."""
    try:
        return json.loads(value, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return value


def _no_constant(name: str) -> NoReturn:
    """Refuse ``NaN`` and ``Infinity``, which JSON does not know: here they are words."""
    raise ValueError(name)


def _json_object(one: str, option: str) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(one, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint=option) from None
    return value


# --- questions before something that cannot simply be done again ------------------------------------------------------


T = TypeVar("T")


def ask_confirmation(arguments: Arguments, question: str, *, without: str) -> bool:
    """Ask, and return whether somebody says yes; ``without`` is what ``--yes`` does without asking."""
    return _ask_user(arguments, without, lambda: click.confirm(question, err=True))


def confirm_by_typing(arguments: Arguments, wanted: str, question: str, *, without: str) -> bool:
    """Return whether somebody types a word: a yes is given too quickly for some things."""
    text: str = _ask_user(arguments, without, lambda: click.prompt(question, err=True, default="", show_default=False))
    return text.strip() == wanted


def _ask_user(arguments: Arguments, without: str, ask: Callable[[], T]) -> T:
    hint = f"use --yes to {without} without asking"
    if arguments.json:  # a program reads what is said, and would read the question
        raise UsageError("with --json, Memstone does not ask questions", hint=hint)
    try:
        return ask()
    except click.Abort as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise
        raise UsageError("cannot ask for confirmation: there is no terminal", hint=hint) from None


# --- ``entities``, ``relations`` --------------------------------------------------------------------------------------


_SKIP: Final = "Skip this many."


@click.command()
@click.option("--limit", "-n", type=int, default=20, show_default=True, help="Maximum number of results.")
@click.option("--offset", type=int, default=0, help=_SKIP)
@for_scope
def entities(arguments: Arguments, *, limit: int, offset: int) -> int:
    """List people, places and things, most mentioned first."""
    with arguments.memory() as memory:
        answer = memory.graph.entities(**arguments.scope(), limit=limit, offset=offset)
    if not arguments.print_json(answer):
        _show_entities(answer)
    return OK if answer["results"] else NOTHING


def _show_entities(answer: EntityList) -> None:
    if not answer["results"]:
        print_note("no entities found")
        return
    table = TextTable(
        [
            Column("MENTIONS", right=True),
            Column("TYPE"),
            Column("NAME", grows=True),
            Column("DESCRIPTION", grows=True, spare=1),
            Column("ID", spare=2),
        ]
    )
    for one in answer["results"]:
        table.add(f"{one['mentions']:,}", one["type"], one["name"], one["description"], one["id"])
    print_table(table)


@click.command()
@click.option("--limit", "-n", type=int, default=20, show_default=True, help="Maximum number of results.")
@click.option("--offset", type=int, default=0, help=_SKIP)
@for_scope
def relations(arguments: Arguments, *, limit: int, offset: int) -> int:
    """List how people and things are related, newest first.

    UNTIL shows since when a relation no longer holds.
    """
    with arguments.memory() as memory:
        answer = memory.graph.relations(**arguments.scope(), limit=limit, offset=offset)
    if not arguments.print_json(answer):
        _show_relations(answer)
    return OK if answer["results"] else NOTHING


def _show_relations(answer: RelationList) -> None:
    if not answer["results"]:
        print_note("no relations found")
        return
    table = TextTable(
        [
            Column("SOURCE", grows=True),
            Column("RELATION"),
            Column("TARGET", grows=True),
            Column("SINCE", spare=2),
            Column("UNTIL", spare=1),
            Column("MEMORIES", right=True, spare=3),
        ]
    )
    for one in answer["results"]:
        since, until = day_time(one["valid_from"]), day_time(one["valid_to"])
        table.add(one["source"], one["relation"], one["target"], since, until, f"{one['memories']:,}")
    print_table(table)


COMMANDS: Final = (entities, relations)
