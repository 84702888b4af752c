"""Who may see what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memstone.adapters.ledger.codec import LINK_COLUMNS, SELECT_LINK, to_link
from memstone.adapters.ledger.seam import Sql, chunks, marks
from memstone.model.instant import Instant
from memstone.model.memory import Link
from memstone.model.scope import Scope

_INSERT = f"INSERT INTO links ({', '.join(LINK_COLUMNS)}, memory_seq) VALUES ({marks(len(LINK_COLUMNS) + 1)})"
_USED = (
    "UPDATE links SET use_count = use_count + 1, last_used_at = ? "
    "WHERE tenant_id = ? AND user_id = ? AND agent_id = ? AND run_id = ?"
)
_OWN_FIRST = "ORDER BY l.origin = 'mirror', l.user_id, l.agent_id, l.run_id"


class LinksTable:
    """See ``memstone.ports.ledger.Links``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def add(self, tenant_id: str, seq: int, links: Iterable[Link]) -> None:
        await self.add_many(tenant_id, ((seq, link) for link in links))

    async def add_many(self, tenant_id: str, links: Iterable[tuple[int, Link]]) -> None:
        await self._sql.many(_INSERT, (_params(tenant_id, seq, link) for seq, link in links))

    async def of(self, tenant_id: str, seq: int) -> list[Link]:
        query = f"SELECT {SELECT_LINK} FROM links l WHERE l.tenant_id = ? AND l.memory_seq = ? {_OWN_FIRST}"
        return [to_link(row) for row in await self._sql.rows(query, (tenant_id, seq))]

    async def holder(self, tenant_id: str, dedupe: str) -> int | None:
        row = await self._sql.one(
            "SELECT memory_seq FROM links WHERE tenant_id = ? AND dedupe = ?", (tenant_id, dedupe)
        )
        return None if row is None else int(row[0])

    async def held(self, tenant_id: str, dedupes: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for part in chunks(dedupes):
            query = f"SELECT dedupe FROM links WHERE tenant_id = ? AND dedupe IN ({marks(len(part))})"
            found.update(row[0] for row in await self._sql.rows(query, (tenant_id, *part)))
        return found

    async def release(self, tenant_id: str, seq: int) -> None:
        query = "UPDATE links SET dedupe = NULL WHERE tenant_id = ? AND memory_seq = ?"
        await self._sql.many(query, [(tenant_id, seq)])

    async def remove(self, seq: int, scope: Scope) -> None:
        await self._sql.many(
            "DELETE FROM links WHERE tenant_id = ? AND memory_seq = ? AND user_id = ? AND agent_id = ? AND run_id = ?",
            [(scope.tenant_id, seq, scope.user_id, scope.agent_id, scope.run_id)],
        )

    async def used(self, links: Iterable[tuple[int, Scope]], at: Instant) -> None:
        by_scope: dict[Scope, list[int]] = {}
        for seq, who in links:
            by_scope.setdefault(who, []).append(seq)
        for who, seqs in by_scope.items():
            for part in chunks(seqs):
                ids = (who.tenant_id, who.user_id, who.agent_id, who.run_id)
                await self._sql.many(f"{_USED} AND memory_seq IN ({marks(len(part))})", [(at, *ids, *part)])


def _params(tenant_id: str, seq: int, link: Link) -> tuple[Any, ...]:
    who = link.scope
    values = (tenant_id, who.user_id, who.agent_id, who.run_id, link.created_at, link.dedupe, link.origin)
    return (*values, link.use_count, link.last_used_at, seq)
