"""The text channel: rank by the words of a user, which are kept in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from memstone.adapters.partition_cache import Name, PartitionCache
from memstone.model.query import WordsQuery
from memstone.model.scope import Scope
from memstone.ports.index import Around, TextHit
from memstone.ports.io import Io
from memstone.ports.ledger import Ledger, TextRow, Tx

if TYPE_CHECKING:  # both compute with numpy, and whoever reads one memory does not
    from memstone.adapters.text.partition import TextPartition


class LocalTextConfig(BaseModel):
    """``memory_mb`` bounds what is held; the least recently used users go first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_mb: int = Field(default=256, ge=1)


class LocalText:
    """See ``memstone.ports.index.TextIndex``."""

    Config = LocalTextConfig

    def __init__(self, config: LocalTextConfig, io: Io, ledger: Ledger) -> None:
        self._ledger, self._io = ledger, io
        self._partition_cache: PartitionCache[TextPartition, TextRow] = PartitionCache(
            ledger, config.memory_mb * 1_000_000, _load_rows, _build_partition
        )

    async def search(self, query: WordsQuery) -> Sequence[TextHit]:
        """Return the best of a user; without a user, of every user whose links name the agent or run."""
        from memstone.adapters.text import ranking

        partitions = await self._partitions(query.scope)
        parts = [await self._io.run(lambda one=one: ranking.search_partition(one, query)) for one in partitions]  # type: ignore[misc]
        return parts[0] if len(parts) == 1 else _merge_hits([hit for part in parts for hit in part], query.limit)

    async def around(self, scope: Scope, seqs: Sequence[int], words: Sequence[str]) -> Around:
        """Return what was said around these, and how much each of ``words`` tells in this scope."""
        from memstone.adapters.text import ranking

        found = Around()
        for partition in await self._partitions(scope):
            found.near |= ranking.find_adjacent(partition, seqs)
            for word in words:
                score = ranking.word_rarity(partition, word)
                found.rarity[word] = min(found.rarity.get(word, score), score)
        return found

    async def speakers(self, scope: Scope) -> frozenset[str]:
        """Return the names of those who spoke, in lower case."""
        return frozenset(name for one in await self._partitions(scope) for name in list(one.shared.names.numbers))

    async def knows_day(self, scope: Scope, days: Sequence[str]) -> bool:
        """Return whether anything was said on, or mentions, one of these days."""
        return any(one.shared.days.with_word(day) for one in await self._partitions(scope) for day in days)

    async def forget(self, tenant_id: str) -> None:
        """Drop what is held of a tenant."""
        self._partition_cache.forget(tenant_id)

    async def _partitions(self, scope: Scope) -> list[TextPartition]:
        users = [scope.user_id] if scope.user_id else await self._users(scope)
        return [await self._partition_cache.fresh((scope.tenant_id, user, "")) for user in users]

    async def _users(self, scope: Scope) -> list[str]:
        return await self._ledger.of(scope.tenant_id).read(lambda tx: tx.admin.users_of(scope))


async def _load_rows(tx: Tx, name: Name, since: int | None) -> list[TextRow]:
    return await tx.text.partition(name[0], name[1], since)


def _build_partition(rows: list[TextRow], stamp: int, _: Name) -> TextPartition:
    from memstone.adapters.text.partition import TextPartition

    return TextPartition.of(rows, stamp)


def _merge_hits(hits: list[TextHit], limit: int) -> list[TextHit]:
    """Return the best of several users' hits; a memory linked to two of them counts once."""
    by_seq: dict[int, TextHit] = {}
    for hit in sorted(hits, key=lambda hit: -hit.score):
        by_seq.setdefault(hit.seq, hit)
    found = list(by_seq.values())
    return [hit for hit in found if hit.score > 0][:limit] + [hit for hit in found if hit.score <= 0]
