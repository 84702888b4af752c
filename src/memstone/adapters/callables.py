"""What the adapters of plain callables share."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from memstone.errors import ConfigError


def checked_callable(function: object, what: str) -> Any:
    """The function, or ``ConfigError`` when it cannot be called from a thread."""
    if not callable(function):
        raise ConfigError(f"{what} must be callable, not {type(function).__name__}")
    if any(inspect.iscoroutinefunction(part) for part in (function, type(function).__call__)):
        raise ConfigError(
            f"{what} is an async function",
            hint="pass a plain one: it runs on a thread, where it may block; or write an adapter class",
        )
    return function


def name_of(function: object) -> str:
    """The qualified name of a function, or of the class of an object that can be called.

    Without its module: the same function is ``__main__.f`` in a script and ``app.f`` when imported,
    and a name that changes would make stored vectors look like those of another model.
    """
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__qualname__", type(function).__qualname__))
