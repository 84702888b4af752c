"""Types of functions that callers pass."""

from __future__ import annotations

from inspect import iscoroutinefunction


def is_async(function: object) -> bool:
    """Return whether a call has to be awaited: an async function, or an object whose call is one."""
    return iscoroutinefunction(function) or (callable(function) and iscoroutinefunction(type(function).__call__))
