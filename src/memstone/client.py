"""The blocking client: the methods of ``Memory``, carried out by a service.

``async_client.py`` is made from this file by ``scripts/make_async_api.py``; a test keeps the two in step.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from memstone.api.verbs import MemoryVerbs
from memstone.drive import drive
from memstone.remote.link import ServiceConnection
from memstone.remote.methods import client_class

# For whoever reads the types a client is a set of verbs like any other; at run time each verb asks the service.
if TYPE_CHECKING:
    RemoteVerbs = MemoryVerbs
else:
    RemoteVerbs = client_class(MemoryVerbs)


class Client(RemoteVerbs):
    """A memory in a service: ``memstone serve`` at ``base_url``, used with a ``key``.

    Every method takes and returns what the same method of ``Memory`` does, and raises the same errors; these then also
    have a ``request_id`` and ``details``. Temporary failures are retried up to ``max_retries`` times, where that is
    safe. ``timeout`` is for one request, in seconds; long calls may take ten minutes.
    """

    def __init__(self, base_url: str, key: str, *, timeout: float = 30.0, max_retries: int = 2) -> None:
        self._link = ServiceConnection("blocking", base_url, key, timeout=timeout, max_retries=max_retries)

    def __repr__(self) -> str:
        return f"<memstone.Client of {self._link.host}>"

    def close(self) -> None:
        """Close the connections. A closed client cannot be used again."""
        drive(self._link.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
