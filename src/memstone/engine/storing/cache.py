"""A cache for anything: so many entries, each for so long, and what was not used lately goes first."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Generic, TypeVar

Held = TypeVar("Held")


class Cache(Generic[Held]):
    """What was needed recently, by a key. Safe to share between threads: each step is one atomic dictionary operation.

    ``seconds`` is how long an entry is kept unless ``set`` says otherwise; a cache of no ``entries`` keeps nothing.
    """

    def __init__(self, entries: int = 1000, seconds: float = 300.0, now: Callable[[], float] = time.monotonic) -> None:
        self._entries, self._seconds, self._now = entries, seconds, now
        self._held: OrderedDict[str, tuple[float, Held]] = OrderedDict()
        self._hits = self._misses = 0

    def get(self, key: str) -> Held | None:
        """What stands under a key, unless it is too old; it counts as used."""
        held = self._held.get(key)
        if held is None or held[0] < self._now():
            self._misses += 1
            if held is not None:
                self._held.pop(key, None)
            return None
        self._hits += 1
        self._used(key)
        return held[1]

    def set(self, key: str, value: Held, seconds: float | None = None) -> None:
        """Keep something for a while; what was not used for longest goes when there is too much."""
        self._held[key] = (self._now() + (self._seconds if seconds is None else seconds), value)
        self._used(key)
        while len(self._held) > self._entries:
            try:
                self._held.popitem(last=False)
            except KeyError:
                return

    def invalidate(self, pattern: str) -> int:
        """Forget what stands under keys of a pattern (``*`` is any text, ``?`` any character); how many there were."""
        gone = [key for key in tuple(self._held) if fnmatchcase(key, pattern)]
        return sum(self._held.pop(key, None) is not None for key in gone)

    def clear(self) -> None:
        """Forget all; the figures go on."""
        self._held.clear()

    def stats(self) -> dict[str, int]:
        """How much is held, how much may be, and how often something was found or not."""
        return {"size": len(self._held), "max_size": self._entries, "hits": self._hits, "misses": self._misses}

    def _used(self, key: str) -> None:
        try:
            self._held.move_to_end(key)
        except KeyError:  # somebody else has forgotten it meanwhile
            return
