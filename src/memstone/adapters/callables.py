"""Helpers for adapters of plain functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from memstone.errors import ConfigError
from memstone.model.functions import is_async
from memstone.ports.io import Io

T = TypeVar("T")


def checked_callable(function: object, what: str, io: Io) -> Any:
    """Return the function; raise ``ConfigError`` if it cannot be called here: an async one needs an event loop."""
    if not callable(function):
        raise ConfigError(f"{what} must be callable, not {type(function).__name__}")
    if is_async(function) and not io.on_loop:
        raise ConfigError(
            f"{what} is an async function", hint="use AsyncMemory, which awaits it, or pass a regular function"
        )
    return function


async def call_function(function: Callable[..., T], io: Io, *args: Any) -> T:
    """Call a function that a caller brought: an async one here, on the loop; any other as blocking work."""
    if is_async(function):
        answer: Any = function(*args)
        return cast("T", await answer)
    return await io.run(lambda: function(*args))


def name_of(function: object) -> str:
    """Return the qualified name of a function, or of the class of an object that can be called.

    Without its module: the same function is ``__main__.f`` in a script and ``app.f`` when imported,
    and a name that changes would make stored vectors look like those of another model.
    """
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__qualname__", type(function).__qualname__))
