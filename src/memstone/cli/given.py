"""The options every command takes, before its name or after it, and the memory they lead to."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from memstone.cli.output import as_json, say
from memstone.errors import NotFoundError

if TYPE_CHECKING:
    from memstone.config import Settings
    from memstone.memory import Memory

Function: TypeAlias = Callable[..., Any]


@dataclass(slots=True)
class Given:
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
        """Whose memory it is, as ``Memory`` takes it."""
        return {"user_id": self.user, "agent_id": self.agent, "run_id": self.run}

    def scope_or_everybody(self) -> dict[str, Any]:
        """The same for a command that may be about everybody, if whoever gives it says so."""
        return {**self.scope(), "everybody": self.everybody}

    def settings(self) -> Settings:
        """The settings: the configuration file, over it the environment, over that ``--db``."""
        from memstone.config import Settings
        from memstone.sections import HistorySettings

        settings = Settings.load(self.config or os.environ.get("MEMSTONE_CONFIG") or None)
        if self.db is None:
            return settings
        store = settings.store.model_copy(update={"url": store_url(self.db)})
        return settings.model_copy(update={"store": store, "history": HistorySettings()})

    @contextmanager
    def memory(self, *, create: bool = False, damaged: bool = False) -> Iterator[Memory]:
        """The memory, open. Only a command that stores something makes a store where there is none.

        ``damaged`` opens a damaged file, too: to look at it, to save what can be read, or to put a backup in its place.
        """
        from memstone.config import store_path
        from memstone.memory import Memory

        with self.logging():
            settings = self.settings()
            if damaged:
                settings = settings.model_copy(update={"store": settings.store.model_copy(update={"check": False})})
            path = store_path(settings)
            if not create and path is not None and not path.exists():
                raise NotFoundError(
                    f"there is no store at {path}", hint="the first `memstone add` makes it; --db names another"
                )
            with Memory(settings) as memory:
                yield memory

    @contextmanager
    def logging(self) -> Iterator[None]:
        """Show the library's warnings, and with ``--verbose`` everything it logs."""
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Plain())
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

    def answered(self, value: Any) -> bool:
        """Print a value as the one JSON document, if that is wanted."""
        if self.json:
            say(as_json(value))
        return self.json


class _Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"{record.levelname.lower()}: {record.getMessage()}"


def store_url(db: str) -> str:
    """``--db`` as the store's URL: a path, ``memory:`` or a URL, which the settings refuse if they do not know it."""
    if db in ("memory:", ":memory:") or db.startswith("sqlite:") or "://" in db:
        return db
    return f"sqlite:///{Path(db).expanduser().absolute()}"


def _keep(context: click.Context, option: click.Parameter, value: Any) -> Any:
    if value not in (None, False):
        setattr(context.ensure_object(Given), str(option.name), value)
    return value


def _shared(*names: str, **more: Any) -> Function:
    return click.option(*names, expose_value=False, callback=_keep, **more)


_STORE: Final = (
    _shared(
        "--db",
        metavar="PATH",
        help="The SQLite file of the memory, or the URL of its database, instead of the configured one.",
    ),
    _shared("--config", metavar="FILE", help="A TOML file with settings; MEMSTONE_CONFIG names it as well."),
)
_TALK: Final = (
    _shared("--json", is_flag=True, help="Print one JSON document; errors are JSON on standard error."),
    _shared("--verbose", is_flag=True, help="Print what the library logs, and tracebacks of errors."),
)
_SCOPE: Final = (
    _shared("--user", metavar="ID", help="Whose memory it is."),
    _shared("--agent", metavar="ID", help="Which agent's memory it is."),
    _shared("--run", metavar="ID", help="Which conversation's memory it is."),
)


_EVERYBODY: Final = _shared("--everybody", is_flag=True, help="All users, agents and conversations.")


def _all(function: Function, options: tuple[Function, ...]) -> Function:
    for option in reversed(options):
        function = option(function)
    return function


def everywhere(function: Function) -> Function:
    """The options of the whole program, for its group."""
    return _all(function, (*_SCOPE, *_STORE, *_TALK))


def for_scope(function: Function) -> Function:
    """The shared options of a command that works in a scope."""
    return click.pass_obj(_all(function, (*_SCOPE, *_STORE, *_TALK)))


def for_scope_or_everybody(function: Function) -> Function:
    """The shared options of a command that works in a scope, or on everything there is."""
    return click.pass_obj(_all(function, (*_SCOPE, _EVERYBODY, *_STORE, *_TALK)))


def for_store(function: Function) -> Function:
    """The shared options of a command about one memory or the whole store; a scope would change nothing."""

    @click.pass_context
    def checked(context: click.Context, /, *args: Any, **options: Any) -> Any:
        given = context.ensure_object(Given)
        if any(given.scope().values()):
            raise click.UsageError(f"{context.info_name} takes no --user, --agent or --run", context)
        return function(given, *args, **options)

    return _all(_named(checked, function), (*_STORE, *_TALK))


def _named(wrapper: Function, function: Function) -> Function:
    """The wrapper with the name, help and options of what it wraps."""
    from functools import update_wrapper

    return update_wrapper(wrapper, function)
