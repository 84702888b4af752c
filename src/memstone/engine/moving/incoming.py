"""Lines from whoever has them: a list, a file, or an export that comes over an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from memstone.errors import InvalidInput

if TYPE_CHECKING:
    from memstone.engine.requests import ExportLines

_END: Final = object()


class Incoming:
    """Takes lines when they are asked for, and numbers them from 1: never more than a page of them is held."""

    def __init__(self, lines: ExportLines) -> None:
        if not isinstance(lines, (Iterable, AsyncIterable)):
            raise InvalidInput(
                f"records must be the lines of an export, not {type(lines).__name__}", hint="pass what export gives"
            )
        self._later = aiter(lines) if isinstance(lines, AsyncIterable) else None
        self._now = iter(()) if isinstance(lines, AsyncIterable) else iter(lines)
        self._taken = 0

    async def page(self, size: int) -> list[tuple[int, Any]]:
        """The next lines with their numbers, at most so many; none at the end."""
        page = list(islice(self._now, size)) if self._later is None else await self._awaited(size)
        numbered = list(enumerate(page, self._taken + 1))
        self._taken += len(page)
        return numbered

    async def _awaited(self, size: int) -> list[Any]:
        page: list[Any] = []
        while self._later and len(page) < size and (line := await anext(self._later, _END)) is not _END:
            page.append(line)
        return page
