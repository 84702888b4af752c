"""How often somebody may ask: a bucket of tokens for each key that fills by itself."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from retain.errors import TooManyRequests
from retain.sections_service import RateSettings
from retain.server.metrics import REFUSED

_KEYS: Final = 10_000


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
