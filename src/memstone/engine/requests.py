"""What callers ask for, apart from the code that answers: a face can be loaded without it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Protocol, TypeAlias, runtime_checkable

from memstone.core.talk.transcript import TranscriptInput
from memstone.model.instant import When

Progress: TypeAlias = Callable[[int, int], object]
"""Called with how many are done and how many there are; ``AsyncMemory`` awaits one that is async."""


async def report_progress(progress: Progress | None, done: int, total: int) -> object:
    """Say how far something has come, where somebody wants to know; return what they answer."""
    answer = None if progress is None else progress(done, total)
    return await answer if isawaitable(answer) else answer


@runtime_checkable
class Readable(Protocol):
    """Something open to read bytes from."""

    def read(self, size: int = -1, /) -> Any:
        """The next bytes, so many at most."""
        ...


Source: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | Readable"
"""What is imported: a path, the bytes themselves, or something to read them from."""

ExportLines: TypeAlias = "Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]]"
"""The lines of an export, as either face gives them."""


@dataclass(slots=True)
class ContextRequest:
    """One call of ``context``; ``route`` does without the gate, ``as_of`` tells what would have been shown then.

    ``scope`` says how far is looked: ``session``, ``owner`` or ``global``.
    """

    query: str
    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    budget: int | None = None
    gate: str | None = None
    route: str | None = None
    project_id: Any = None
    as_of: When | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """A chat whose model may call tools of its caller; ``goes_on`` when one has answered since the user spoke."""

    session: str | None
    goes_on: bool


@dataclass(slots=True)
class IngestRequest:
    """One call of ``ingest``."""

    turns: TranscriptInput
    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    metadata: Mapping[str, Any] | None = None
    occurred_at: When | None = None
    expires_at: When | None = None
    learn: bool = False
    progress: Progress | None = None
