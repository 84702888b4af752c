"""Cache blocks and profiles for seconds, until something is written for the user."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from memstone.core.prompt.profile import EndedFacts, Profile, ProfileFact
from memstone.model.access import Bounds
from memstone.model.context import ContextPack
from memstone.model.instant import Instant
from memstone.model.scope import Scope

Key: TypeAlias = tuple[object, ...]
"""Everything a block depends on: whose it is, the whole question, the policy, the day, and the state of the store."""

BoundScope: TypeAlias = tuple[Scope, Bounds | None]
"""A scope, and the bounds of whoever asks about it: who reaches less finds less."""

_ENTRIES: Final = 256
_LOOPS: Final = 1_024
_SCOPES: Final = 1_024
_FACTS: Final = 20_000
_PROFILES: Final = 512


class Blocks:
    """So many blocks at most. Safe to share between threads: each step is one atomic dictionary operation."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[Key, tuple[Instant, Instant, ContextPack]] = OrderedDict()

    def get(self, key: Key, now: Instant) -> ContextPack | None:
        """Return the block under a key, if this is its time."""
        packs = self._entries.get(key)
        return packs[2] if packs is not None and packs[0] <= now < packs[1] else None

    def put(self, key: Key, pack: ContextPack, now: Instant, until: Instant) -> None:
        """Keep a block until a moment; the oldest go when there are too many."""
        self._entries.pop(key, None)
        self._entries[key] = (now, until, pack)
        while len(self._entries) > self._most:
            try:
                self._entries.popitem(last=False)
            except KeyError:
                return

    def clear(self) -> None:
        """Forget all."""
        self._entries.clear()


class BlockCache(Blocks):
    """Recent blocks, and beside them those of tool loops, which are held for as long as the loop goes on."""

    def __init__(self) -> None:
        super().__init__(_ENTRIES)
        self.loops: Blocks = Blocks(_LOOPS)
        self._known: OrderedDict[tuple[str, BoundScope], tuple[int, frozenset[str]]] = OrderedDict()
        self._facts: OrderedDict[tuple[str, int], ProfileFact] = OrderedDict()
        self._profiles: OrderedDict[Hashable, Profile] = OrderedDict()
        self._ended: OrderedDict[Hashable, EndedFacts] = OrderedDict()

    def find_in_scope(self, what: str, bound_scope: BoundScope, stamp: int) -> frozenset[str] | None:
        """Return what was found out about a scope, unless the user's memories have changed since."""
        current = self._known.get((what, bound_scope))
        return current[1] if current is not None and current[0] == stamp else None

    def learn(self, what: str, bound_scope: BoundScope, stamp: int, found: frozenset[str]) -> None:
        """Keep what was found out, with the state of the user's memories it was found in."""
        self._known[what, bound_scope] = (stamp, found)
        while len(self._known) > _SCOPES:
            with suppress(KeyError):
                self._known.popitem(last=False)

    def profile_facts(self, tenant_id: str, seqs: Sequence[int]) -> dict[int, ProfileFact]:
        """Return those of these versions that were read for a profile before."""
        return {seq: fact for seq in seqs if (fact := self._facts.get((tenant_id, seq))) is not None}

    def keep_profile_facts(self, tenant_id: str, facts: Mapping[int, ProfileFact]) -> None:
        """Keep versions that were read for a profile; the oldest go when there are too many."""
        for seq, fact in facts.items():
            self._facts[tenant_id, seq] = fact
        while len(self._facts) > _FACTS:
            with suppress(KeyError):
                self._facts.popitem(last=False)

    def profile(self, owner: Hashable, now: Instant) -> Profile | None:
        """Return a profile that was made before, unless something in it has ended."""
        profile = self._profiles.get(owner)
        ends = profile.expires_at if profile is not None else None
        return profile if ends is None or ends > now else None

    def keep_profile(self, owner: Hashable, made: Profile) -> None:
        """Keep a profile under what it was made of; the oldest go when there are too many."""
        self._profiles[owner] = made
        while len(self._profiles) > _PROFILES:
            with suppress(KeyError):
                self._profiles.popitem(last=False)

    def ended_facts(self, owner: Hashable) -> EndedFacts | None:
        """Return what is not to be told of somebody, in a state of their memories."""
        return self._ended.get(owner)

    def keep_ended_facts(self, owner: Hashable, found: EndedFacts) -> None:
        """Keep what is not to be told; the oldest go when there are too many."""
        self._ended[owner] = found
        while len(self._ended) > _PROFILES:
            with suppress(KeyError):
                self._ended.popitem(last=False)

    def clear(self) -> None:
        """Forget all."""
        super().clear()
        self._ended.clear()
        self._profiles.clear()
        self.loops.clear()
        self._known.clear()
        self._facts.clear()
