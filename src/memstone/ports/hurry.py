"""Somebody waits for an answer that can be given without a model: a question is sent to one once, and not again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_hurried: Final[ContextVar[bool]] = ContextVar("memstone_hurried", default=False)


@contextmanager
def hurried() -> Iterator[None]:
    """What is asked of models inside is worth one attempt."""
    token = _hurried.set(True)
    try:
        yield
    finally:
        _hurried.reset(token)


def is_hurried() -> bool:
    """Whether one attempt is all that this call is worth."""
    return _hurried.get()
