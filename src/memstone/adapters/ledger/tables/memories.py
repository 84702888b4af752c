"""Versions of remembered things."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

from memstone.adapters.ledger.codec import (
    INSERT_NUMBERED,
    INSERT_RECORD,
    SELECT_LINK,
    SELECT_RECORD,
    link_part,
    record_params,
    to_link,
    to_record,
)
from memstone.adapters.ledger.seam import Row, Sql, chunks, marks
from memstone.model.instant import Instant
from memstone.model.memory import MIRROR, Found, Record
from memstone.model.query import And, Condition, Op, Where
from memstone.model.scope import Scope

Compile: TypeAlias = Callable[[Where], tuple[str, list[Any]]]

# Where to begin is said here, not left to the planner: SQLite keeps no statistics of its own accord and then takes a
# tenant for as small as a user, so that it would read a whole tenant's links for one user's list. It joins CROSS JOIN
# from left to right; elsewhere that is a join like any other. "|| ''" and "+" hide a column from it: memories that are
# given by number would be looked for among all of the tenant, the links of one among all that a condition leaves.
_LINKS_FIRST = "links l CROSS JOIN memories m WHERE m.tenant_id = l.tenant_id AND m.seq = l.memory_seq"
_MEMORIES_FIRST = "memories m CROSS JOIN links l WHERE l.tenant_id = m.tenant_id AND l.memory_seq = +m.seq"
_BY_NUMBER = "memories m CROSS JOIN links l WHERE l.tenant_id = m.tenant_id || '' AND l.memory_seq = +m.seq"
_EITHER_FIRST = "memories m, links l WHERE l.tenant_id = m.tenant_id AND l.memory_seq = m.seq"
_NAMES_MEMORIES = frozenset({"id", "origin_id"})
_FOUND = f"SELECT {SELECT_RECORD}, {SELECT_LINK} FROM {_BY_NUMBER} AND "
_IDS = f"SELECT m.seq, m.id FROM {_BY_NUMBER} AND "
_PAGE = f"""
SELECT {SELECT_RECORD}, {SELECT_LINK}
FROM (SELECT l.tenant_id AS tenant, l.memory_seq AS seq, l.user_id AS one, l.agent_id AS other, l.run_id AS run
      FROM %s GROUP BY l.memory_seq ORDER BY l.memory_seq %s LIMIT ? OFFSET ?) p
CROSS JOIN memories m CROSS JOIN links l
WHERE m.seq = p.seq AND l.tenant_id = p.tenant AND l.memory_seq = p.seq
  AND l.user_id = p.one AND l.agent_id = p.other AND l.run_id = p.run
ORDER BY p.seq %s"""
_SEEN = f"""
SELECT {SELECT_RECORD}, {SELECT_LINK}
FROM {_MEMORIES_FIRST} AND m.tenant_id = ? AND m.id = ? AND m.valid_to IS NULL LIMIT 1"""
_SEEN_OWN = _SEEN.replace("LIMIT", "AND l.origin <> 'mirror' LIMIT")
_CURRENT = f"SELECT {SELECT_RECORD} FROM memories m WHERE m.tenant_id = ? AND m.id = ? AND m.valid_to IS NULL LIMIT 1"
# Only what stands near the end is looked at: a user without turns may have any number of facts.
_LATEST = """
SELECT m.text, m.occurred_at
FROM (SELECT memory_seq FROM links INDEXED BY {index}
      WHERE tenant_id = ? AND user_id = ? AND agent_id = ? AND run_id = ? AND run_id {which} '' AND memory_seq < ?
      ORDER BY memory_seq DESC LIMIT 50) l
JOIN memories m ON m.seq = l.memory_seq
WHERE m.layer = ? AND m.valid_to IS NULL AND m.status = 'active' AND (m.layer = 'turn' OR m.source = 'manual')
ORDER BY m.seq DESC LIMIT 1"""
_LATEST_OF_RUN = _LATEST.format(index="links_run", which="<>")
_LATEST_OF_USER = _LATEST.format(index="links_user", which="=")


class MemoriesTable:
    """See ``memstone.ports.ledger.Memories``."""

    page: ClassVar[str] = _PAGE
    """One page of what matches; databases differ in how they pick one link of several."""

    def __init__(self, sql: Sql, compile_where: Compile) -> None:
        self._sql, self._where = sql, compile_where

    async def insert(self, record: Record) -> int:
        record.seq = await self._sql.insert(INSERT_RECORD, record_params(record))
        return record.seq

    async def insert_all(self, records: Sequence[Record]) -> None:
        # Nobody else writes meanwhile, so the numbers after the last one that was ever given are free.
        row = await self._sql.one("SELECT seq FROM sqlite_sequence WHERE name = 'memories'")
        for seq, record in enumerate(records, start=int(row[0]) + 1 if row else 1):
            record.seq = seq
        await self._sql.many(INSERT_NUMBERED, ((*record_params(record), record.seq) for record in records))

    async def close(self, seq: int, status: str, at: Instant) -> bool:
        # A version never ends before it began, even when clocks or backdated revisions disagree.
        changed = await self._sql.run(
            "UPDATE memories SET status = ?, valid_to = CASE WHEN valid_from > ? THEN valid_from ELSE ? END "
            "WHERE seq = ? AND valid_to IS NULL",
            (status, at, at, seq),
        )
        return changed == 1

    async def bury(self, tenant_id: str, memory_id: str) -> None:
        await self._sql.run(
            "UPDATE memories SET status = 'deleted' WHERE tenant_id = ? AND id = ? AND status = 'superseded'",
            (tenant_id, memory_id),
        )

    async def unbury(self, tenant_id: str, memory_id: str, version: int, status: str) -> None:
        await self._sql.run(
            "UPDATE memories SET status = CASE WHEN version = ? THEN ? ELSE 'superseded' END "
            "WHERE tenant_id = ? AND id = ? AND status = 'deleted'",
            (version, status, tenant_id, memory_id),
        )

    async def is_taken(self, tenant_id: str, memory_id: str) -> bool:
        query = "SELECT 1 FROM memories WHERE tenant_id = ? AND id = ? LIMIT 1"
        return await self._sql.one(query, (tenant_id, memory_id)) is not None

    async def last(self, tenant_id: str, memory_id: str) -> Record | None:
        query = f"SELECT {SELECT_RECORD} FROM memories m WHERE m.tenant_id = ? AND m.id = ?"
        row = await self._sql.one(f"{query} ORDER BY m.version DESC LIMIT 1", (tenant_id, memory_id))
        return None if row is None else to_record(row)

    async def find(self, where: Where, *, limit: int, offset: int = 0, oldest_first: bool = False) -> list[Found]:
        condition, params = self._where(where)
        order = "ASC" if oldest_first else "DESC"
        # First the links of one page, which their indexes hold in order, then what is shown of them. A memory may be
        # seen through several links of one scope; it is listed once.
        query = self.page % (f"{_from(where)} AND {condition}", order, order)
        return [_found(row) for row in await self._sql.rows(query, [*params, limit, offset])]

    async def list_newest(self, where: Where, *, limit: int, offset: int = 0) -> list[Found]:
        return await self._ranked("created_at", where, limit, offset)

    async def salient(self, where: Where, *, limit: int) -> list[Found]:
        return await self._ranked("salience", where, limit, 0)

    async def _ranked(self, column: str, where: Where, limit: int, offset: int) -> list[Found]:
        """One page of what matches, by a column; of equals the newest version first."""
        condition, params = self._where(where)
        order = f"ORDER BY m.{column} DESC, m.seq DESC LIMIT ? OFFSET ?"
        query = f"SELECT DISTINCT m.{column}, m.seq FROM {_from(where)} AND {condition} {order}"
        seqs = [row[1] for row in await self._sql.rows(query, [*params, limit, offset])]
        found = {one.record.seq: one for one in await self.among(seqs, where)}
        return [found[seq] for seq in seqs if seq in found]

    async def sourced(self, seqs: Iterable[int], by: int) -> None:
        counted = "CASE WHEN source_count + ? < 0 THEN 0 ELSE source_count + ? END"
        await self._sql.many(
            f"UPDATE memories SET source_count = {counted} WHERE seq = ?", ((by, by, seq) for seq in seqs)
        )

    async def latest(self, scope: Scope, layer: str, below: int | None = None) -> tuple[str, Instant] | None:
        ids = (scope.tenant_id, scope.user_id, scope.agent_id, scope.run_id)
        query = _LATEST_OF_RUN if scope.run_id else _LATEST_OF_USER
        row = await self._sql.one(query, (*ids, 1 << 62 if below is None else below, layer))
        return None if row is None else (row[0], row[1])

    async def count(self, where: Where) -> dict[str, int]:
        condition, params = self._where(where)
        query = f"SELECT m.kind, count(DISTINCT m.seq) FROM {_from(where)} AND {condition} GROUP BY m.kind"
        return dict(await self._sql.rows(query, params))

    async def tokens(self, where: Where) -> int:
        condition, params = self._where(where)
        each = f"SELECT DISTINCT m.seq, m.tokens FROM {_from(where)} AND {condition}"
        row = await self._sql.one(f"SELECT coalesce(sum(tokens), 0) FROM ({each}) AS matching", params)
        return 0 if row is None else int(row[0])

    async def current(self, tenant_id: str, memory_id: str) -> Record | None:
        row = await self._sql.one(_CURRENT, (tenant_id, memory_id))
        return None if row is None else to_record(row)

    async def seen(self, tenant_id: str, memory_id: str) -> Found | None:
        row = await self._sql.one(_SEEN, (tenant_id, memory_id))
        if row is None:
            return None
        found = _found(row)
        if found.link.origin == MIRROR:  # rarely; to sort the links would cost every other look
            own = await self._sql.one(_SEEN_OWN, (tenant_id, memory_id))
            return found if own is None else _found(own)
        return found

    async def at(self, seq: int) -> Record | None:
        row = await self._sql.one(f"SELECT {SELECT_RECORD} FROM memories m WHERE m.seq = ?", (seq,))
        return None if row is None else to_record(row)

    async def version(self, tenant_id: str, memory_id: str, version: int) -> Record | None:
        query = f"SELECT {SELECT_RECORD} FROM memories m WHERE m.tenant_id = ? AND m.id = ? AND m.version = ?"
        row = await self._sql.one(query, (tenant_id, memory_id, version))
        return None if row is None else to_record(row)

    async def strengthen(self, seq: int, salience: float, anchor_at: Instant) -> None:
        await self._sql.run("UPDATE memories SET salience = ?, anchor_at = ? WHERE seq = ?", (salience, anchor_at, seq))

    async def seqs(self, where: Where) -> list[int]:
        condition, params = self._where(where)
        query = f"SELECT DISTINCT l.memory_seq FROM {_from(where)} AND {condition}"
        return [row[0] for row in await self._sql.rows(query, params)]

    async def hashes(self, where: Where) -> dict[int, str]:
        condition, params = self._where(where)
        query = f"SELECT DISTINCT l.memory_seq, m.hash FROM {_from(where)} AND {condition}"
        return dict(await self._sql.rows(query, params))

    async def among(self, seqs: Sequence[int], where: Where) -> list[Found]:
        condition, params = self._where(where)
        found: dict[int, Found] = {}
        for part in chunks(seqs):
            query = f"{_FOUND}m.seq IN ({marks(len(part))}) AND {condition}"
            for row in await self._sql.rows(query, [*part, *params]):
                item = _found(row)
                found.setdefault(item.record.seq, item)
        return list(found.values())

    async def ids_among(self, seqs: Sequence[int], where: Where) -> dict[int, str]:
        condition, params = self._where(where)
        found: dict[int, str] = {}
        for part in chunks(seqs):
            query = f"{_IDS}m.seq IN ({marks(len(part))}) AND {condition}"
            found.update(await self._sql.rows(query, [*part, *params]))
        return found


def _from(where: Where) -> str:
    """Both tables, beginning with the one of which the conditions name few rows."""
    named = _named(where)
    if "seq" in named:
        return _BY_NUMBER
    if named & _NAMES_MEMORIES:
        return _MEMORIES_FIRST
    narrowest = next((name for name in ("run_id", "user_id", "agent_id") if name in named), "")
    if not narrowest:
        return _EITHER_FIRST
    # The indexes of runs and agents leave out '' and are used only where it stands that '' is not meant.
    return _LINKS_FIRST if narrowest == "user_id" else f"{_LINKS_FIRST} AND l.{narrowest} <> ''"


def _named(where: Where) -> set[str]:
    """The fields that must equal something given; that a field is absent names nothing."""
    if isinstance(where, And):
        return {name for part in where.parts for name in _named(part)}
    if not isinstance(where, Condition) or where.op not in {Op.EQ, Op.IN}:
        return set()
    return set() if None in ((where.value,) if where.op is Op.EQ else where.value) else {where.field}


def _found(row: Row) -> Found:
    return Found(to_record(row), to_link(link_part(row)))
