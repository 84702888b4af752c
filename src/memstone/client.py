"""The blocking client: the methods of ``Memory``, answered by a service.

``async_client.py`` is made from this file by ``scripts/make_client.py``, and so are the methods of both from those of
``Memory``; a test keeps all of them in step.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from memstone.drive import drive
from memstone.remote.blocking.verbs import Verbs
from memstone.remote.link import Link


class Client(Verbs):
    """A memory that a service keeps: ``memstone serve`` at ``base_url``, asked with a ``key``.

    Every method takes and gives what the same method of ``Memory`` does, and raises the same errors; these then also
    have a ``request_id`` and ``details``. What fails for a moment is tried ``max_retries`` times more, where trying
    again can do no harm. ``timeout`` is for one request, in seconds; calls with much to do may take ten minutes.
    """

    def __init__(self, base_url: str, key: str, *, timeout: float = 30.0, max_retries: int = 2) -> None:
        self._link = Link("blocking", base_url, key, timeout=timeout, max_retries=max_retries)

    def __repr__(self) -> str:
        return f"<memstone.Client of {self._link.host}>"

    def close(self) -> None:
        """Give the connections back. A closed client cannot be used again."""
        drive(self._link.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
