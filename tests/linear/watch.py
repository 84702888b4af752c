"""Notice when rules read a long text in a thread in which an event loop runs."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import memstone

_PACKAGE: Final = Path(memstone.__file__).parent
_RULES: Final = (f"{_PACKAGE / 'core'}/", f"{_PACKAGE / 'language'}/")
_LOOKS_ONLY: Final = (f"{_RULES[0]}checks/", f"{_RULES[0]}dialects/")
"""What looks at kinds and lengths, or takes a request apart."""

_LINE: Final = "I like tea. My dog is called Bob.\n"
TEXT: Final = _LINE * 80
"""A long text that states facts, and is like nothing that rules are made of."""

_LONG: Final = len(TEXT) // 2


@contextmanager
def watched() -> Iterator[set[str]]:
    """Give the rules that were handed ``TEXT`` where everybody else waits, in this thread and in new ones."""
    found: set[str] = set()

    def look(frame: FrameType, event: str, _: Any) -> None:
        where = frame.f_code.co_filename
        if event != "call" or not where.startswith(_RULES) or where.startswith(_LOOKS_ONLY):
            return
        if asyncio._get_running_loop() is not None and any(_chars(one) > _LONG for one in _given(frame)):
            found.add(f"{Path(where).relative_to(_PACKAGE)}: {frame.f_code.co_name}")

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _given(frame: FrameType) -> Iterator[Any]:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    yield from (frame.f_locals[name] for name in names if name in frame.f_locals)


def _chars(value: Any) -> int:
    if isinstance(value, (list, tuple)):
        return sum(map(_chars, value))
    text = getattr(value, "text", value)
    return len(text) if isinstance(text, str) and _LINE.strip() in text else 0
