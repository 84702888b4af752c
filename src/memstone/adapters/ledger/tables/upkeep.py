"""What is old, and what nobody needs any more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from memstone.adapters.ledger.codec import SELECT_RECORD, dump, to_record
from memstone.adapters.ledger.seam import Sql, chunks, marks
from memstone.model.ageing import Aged, Older
from memstone.model.instant import Instant
from memstone.model.memory import Link, Record
from memstone.model.scope import Scope

_OWNERS: Final = """
SELECT DISTINCT l.user_id, l.agent_id
FROM memories m JOIN links l ON l.tenant_id = m.tenant_id AND l.memory_seq = m.seq
WHERE m.tenant_id = ? AND m.layer = ? AND m.valid_to IS NULL AND m.status = 'active'{narrowed}
ORDER BY l.user_id, l.agent_id"""
_USED: Final = "FROM links u WHERE u.tenant_id = m.tenant_id AND u.memory_seq = m.seq"
_USES: Final = f"(SELECT coalesce(sum(u.use_count), 0) {_USED})"
# Page by page in the order of their numbers: an index by anything else would be read to its end and sorted each time.
_OLDER: Final = f"""
SELECT {SELECT_RECORD}, (SELECT max(u.last_used_at) {_USED}), {_USES}
FROM memories m
WHERE m.tenant_id || '' = ? AND m.seq > ? AND m.valid_to IS NULL AND m.{{since}} < ?{{more}}
ORDER BY m.seq LIMIT ?"""
_IDLE: Final = f" AND m.anchor_at < ? AND NOT EXISTS (SELECT 1 {_USED} AND u.last_used_at >= ?)"
_LINKED: Final = " AND m.seq IN (SELECT l.memory_seq FROM links l WHERE l.tenant_id = ?{narrowed})"
_RESTATE: Final = "UPDATE memories SET salience = ?, anchor_at = ?, source_count = ?, data = ? WHERE seq = ?"
_RECOUNT: Final = """
UPDATE links SET use_count = ?, last_used_at = ?
WHERE tenant_id = ? AND memory_seq = ? AND user_id = ? AND agent_id = ? AND run_id = ?"""
_OLD_ROWS: Final = {
    "jobs": "jobs WHERE tenant_id = ? AND created_at < ?",
    "signals": "signals WHERE tenant_id = ? AND created_at < ? AND status = 'processed'",
    "receipts": "receipts WHERE tenant_id = ? AND created_at < ?",
    "idempotency": "idempotency WHERE tenant_id = ? AND created_at < ?",
    "llm_cache": "llm_cache WHERE tenant_id = ? AND created_at < ?",
    "continuations": "continuations WHERE tenant_id = ? AND created_at < ?",
}
# A memory whose words are gone has no hash, and has left the index this begins with. What was deleted, brought back and
# deleted again is as old as its last version.
_BURIED: Final = """
SELECT DISTINCT m.id FROM memories m
WHERE m.tenant_id = ? AND m.status = 'deleted' AND m.hash <> '' AND m.valid_to < ?
  AND NOT EXISTS (SELECT 1 FROM memories n WHERE n.tenant_id = m.tenant_id AND n.id = m.id
                  AND (n.valid_to IS NULL OR n.valid_to >= ?))
ORDER BY m.id LIMIT ?"""
_BLANK: Final = (
    "UPDATE memories SET text = '', hash = '', tokens = 0, key = NULL, data = '{}', metadata = '{}' "
    "WHERE tenant_id = ? AND id = ?"
)
_BLANK_EVENTS: Final = (
    "UPDATE events SET old_text = NULL, new_text = NULL, reason = NULL, before = NULL, after = NULL "
    "WHERE tenant_id = ? AND memory_id = ?"
)
# tenant_id is hidden from the planner, so that it begins at the entry by the primary key.
_CHANGED_USERS: Final = "SELECT DISTINCT user_id FROM changes WHERE id > ? AND tenant_id || '' = ? ORDER BY user_id"
_STALE: Final = """
SELECT id FROM (SELECT id, max(id) OVER (PARTITION BY user_id, memory_seq) AS newest
                FROM changes WHERE tenant_id = ?) c
WHERE id < newest AND id <= ? ORDER BY id LIMIT ?"""


class UpkeepTable:
    """See ``memstone.ports.tables.Upkeep``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def owners(self, scope: Scope, layer: str) -> list[tuple[str, str]]:
        narrowed, values = _narrowed(scope)
        rows = await self._sql.rows(_OWNERS.format(narrowed=narrowed), (scope.tenant_id, layer, *values))
        return [(user, agent) for user, agent in rows]

    async def older(self, wanted: Older, after: int, limit: int) -> list[Aged]:
        more, values = _more(wanted)
        params = (wanted.scope.tenant_id, after, wanted.before, *values, limit)
        rows = await self._sql.rows(_OLDER.format(since=wanted.since, more=more), params)
        return [Aged(to_record(row), row[-2], row[-1]) for row in rows]

    async def restate(self, record: Record) -> None:
        values = (record.salience, record.anchor_at, record.source_count, dump(record.data))
        await self._sql.run(_RESTATE, (*values, record.seq))

    async def recount(self, record: Record, links: Iterable[Link]) -> None:
        await self._sql.many(_RECOUNT, (_uses(record, link) for link in links))

    async def purge(self, tenant_id: str, log: str, before: Instant, *, dry_run: bool) -> int:
        rows, params = _OLD_ROWS[log], (tenant_id, before)
        if not dry_run:
            return await self._sql.run(f"DELETE FROM {rows}", params)
        counted = await self._sql.one(f"SELECT count(*) FROM {rows}", params)
        return int(counted[0]) if counted else 0

    async def buried(self, tenant_id: str, before: Instant, limit: int) -> list[str]:
        rows = await self._sql.rows(_BURIED, (tenant_id, before, before, limit))
        return [str(row[0]) for row in rows]

    async def blank(self, tenant_id: str, ids: Sequence[str]) -> None:
        await self._sql.many(_BLANK, ((tenant_id, one) for one in ids))
        await self._sql.many(_BLANK_EVENTS, ((tenant_id, one) for one in ids))

    async def newest_change(self, tenant_id: str) -> int:
        row = await self._sql.one("SELECT max(id) FROM changes WHERE tenant_id = ?", (tenant_id,))
        return int(row[0]) if row and row[0] is not None else 0

    async def changed_users(self, tenant_id: str, since: int) -> list[str]:
        return [str(row[0]) for row in await self._sql.rows(_CHANGED_USERS, (since, tenant_id))]

    async def stale_changes(self, tenant_id: str, until: int, limit: int) -> list[int]:
        return [int(row[0]) for row in await self._sql.rows(_STALE, (tenant_id, until, limit))]

    async def forget_changes(self, ids: Sequence[int]) -> None:
        for part in chunks(ids):
            await self._sql.run(f"DELETE FROM changes WHERE id IN ({marks(len(part))})", part)


def _more(wanted: Older) -> tuple[str, list[object]]:
    """What else is asked of them, and its values."""
    more, values = "", list[object]()
    for name, given in (("layer", wanted.layers), ("status", wanted.statuses), ("kind", wanted.kinds)):
        if given:
            more, values = f"{more} AND m.{name} IN ({marks(len(given))})", [*values, *given]
    if wanted.idle:
        more, values = more + _IDLE, [*values, wanted.before, wanted.before]
    if wanted.uses_below is not None:
        more, values = f"{more} AND {_USES} < ?", [*values, wanted.uses_below]
    if not wanted.scope.is_open:
        narrowed, who = _narrowed(wanted.scope)
        more, values = more + _LINKED.format(narrowed=narrowed), [*values, wanted.scope.tenant_id, *who]
    return more, values


def _uses(record: Record, link: Link) -> tuple[object, ...]:
    who = link.scope
    return (link.use_count, link.last_used_at, record.tenant_id, record.seq, who.user_id, who.agent_id, who.run_id)


def _narrowed(scope: Scope) -> tuple[str, list[str]]:
    """The part of a condition that says through whose links, and its values."""
    given = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
    return "".join(f" AND l.{name} = ?" for name, _ in given), [value for _, value in given]
