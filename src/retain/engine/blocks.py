"""Blocks that were just made: the same question within seconds gets the same answer, unless anything was written."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, TypeAlias

from retain.model.context import ContextPack
from retain.model.instant import Instant

Key: TypeAlias = tuple[object, ...]
"""Everything a block depends on: whose it is, the whole question, the policy, the day, and the state of the store."""

_ENTRIES: Final = 256


class BlockCache:
    """Recent blocks. Safe to share between threads: each step is one atomic dictionary operation."""

    def __init__(self) -> None:
        self._held: OrderedDict[Key, tuple[Instant, Instant, ContextPack]] = OrderedDict()

    def get(self, key: Key, now: Instant) -> ContextPack | None:
        """The block under a key, if this is its time."""
        held = self._held.get(key)
        return held[2] if held is not None and held[0] <= now < held[1] else None

    def put(self, key: Key, pack: ContextPack, now: Instant, until: Instant) -> None:
        """Keep a block until a moment; the oldest go when there are too many."""
        self._held.pop(key, None)
        self._held[key] = (now, until, pack)
        while len(self._held) > _ENTRIES:
            try:
                self._held.popitem(last=False)
            except KeyError:
                return

    def clear(self) -> None:
        """Forget all."""
        self._held.clear()
