"""How often somebody may ask, and how often they may be wrong: buckets that fill by themselves.

There is one for each key, and one for each address from which wrong keys or passwords come. They live in this process.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from starlette.requests import HTTPConnection

from memstone.errors import TooManyRequests
from memstone.sections_service import RateSettings
from memstone.server.metrics import FAILED_LOGINS, REFUSED
from memstone.server.proxies import parse_address

_KEYS: Final = 10_000
_NEIGHBOURS: Final = 64


class Rate:
    """Requests a minute, with a burst; each key has its own bucket, in this process."""

    def __init__(self, settings: RateSettings, now: Callable[[], float] = time.monotonic) -> None:
        self._per_second = settings.per_minute / 60
        self._burst = float(settings.burst or settings.per_minute)
        self._now = now
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> None:
        """Count a request, or ``TooManyRequests`` with the time to wait."""
        if not self._per_second:
            return
        now = self._now()
        tokens, since = self._buckets.pop(name, (self._burst, now))
        tokens = min(self._burst, tokens + (now - since) * self._per_second)
        enough = tokens >= 1
        self._buckets[name] = (tokens - 1 if enough else tokens, now)
        if len(self._buckets) > _KEYS:
            self._buckets.popitem(last=False)
        if not enough:
            REFUSED.inc()
            raise TooManyRequests(
                "too many requests with this key",
                retry_after=(1 - tokens) / self._per_second,
                hint="wait as long as Retry-After says",
            )


class Failures:
    """Wrong keys and passwords by address: who was wrong too often has to wait, whatever they send next.

    Whoever comes from elsewhere does not notice. Asking costs a look into a table, and is done before anything is
    looked up or hashed; the table holds the addresses that were wrong most recently.
    """

    def __init__(self, settings: RateSettings, now: Callable[[], float] = time.monotonic) -> None:
        self._per_second = settings.per_minute / 60
        self._burst = float(settings.burst or settings.per_minute)
        self._now = now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, request: HTTPConnection) -> None:
        """``TooManyRequests`` with the time to wait, if too much of what came from this address was wrong."""
        left = self._of(address_of(request))
        if self._per_second and left < 1:
            REFUSED.inc()
            raise TooManyRequests(
                "too many failed attempts from this address",
                retry_after=(1 - left) / self._per_second,
                hint="wait as long as Retry-After says, and check the key or the password",
            )

    def note(self, request: HTTPConnection) -> None:
        """Something that came from this address was wrong."""
        FAILED_LOGINS.inc()
        if not self._per_second:
            return
        name = address_of(request)
        # Those who try many at once run into debt: all of them were let in before the first was found to be wrong.
        self._left[name] = max(self._of(name) - 1, -self._burst), self._now()
        self._left.move_to_end(name)
        if len(self._left) > _KEYS:
            self._left.popitem(last=False)

    def _of(self, name: str) -> float:
        held = self._left.get(name)
        if held is None:
            return self._burst
        left, since = held
        return min(self._burst, left + (self._now() - since) * self._per_second)


def address_of(request: HTTPConnection) -> str:
    """Where a request comes from; of version 6 the network: one machine has as many of its addresses as it likes."""
    host = request.client.host if request.client is not None else ""
    address = parse_address(host)
    if address is None:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((address, _NEIGHBOURS), strict=False))
