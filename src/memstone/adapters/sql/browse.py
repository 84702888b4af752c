"""Queries for people who browse memories. See ``memstone.ports.browse``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from memstone.adapters.sql.memories import Compile, MemoriesTable
from memstone.adapters.sql.rows import SqlConnection, load_json_object
from memstone.model.event import EventType
from memstone.model.instant import Instant
from memstone.model.memory import INDEXED, FoundMemory, Status
from memstone.model.query import And, Condition, Op, Or, Where
from memstone.ports.browse import BrowseOrder, DayCount, LayerCount, WordPattern

_MATCHING: Final = """
SELECT DISTINCT f.rowid FROM fulltext f CROSS JOIN memories m CROSS JOIN links l
WHERE f.fulltext MATCH ? AND m.seq = f.rowid AND l.tenant_id = m.tenant_id || '' AND l.memory_seq = +m.seq AND {}
ORDER BY f.rowid {} LIMIT ?"""
_BEHIND: Final = """
SELECT seq, body, key FROM words WHERE seq > (SELECT coalesce(max(id), 0) FROM fulltext_docsize)"""
_COUNT: Final = "SELECT count(*) FROM (SELECT DISTINCT m.seq FROM {} AND {} LIMIT ?) AS matching"
_BY_DAY: Final = """
SELECT day, (SELECT count(*) FROM events WHERE tenant_id = ? AND created_at >= day AND created_at < until{})
FROM ({}) AS days"""
_CHANGES: Final = """
SELECT event, count(*) FROM events
WHERE tenant_id = ? AND created_at >= ? AND created_at < ? AND event <> 'ADD'{} GROUP BY event"""
"""Most events are of the kind left out: what is not sorted takes half the time."""
_RECEIPTS: Final = """
SELECT substr(created_at, 1, 10), 'RECALL', count(*) FROM receipts
WHERE tenant_id = ? AND created_at >= ?{} GROUP BY substr(created_at, 1, 10)"""
_LAYERS: Final = """
SELECT layer, {} FROM memories WHERE tenant_id = ? AND valid_to IS NULL GROUP BY layer"""
"""Grouped in the order of an index: sorting all memories by status as well takes longer than reading them."""
_EACH_STATUS: Final = ", ".join(
    [
        *(f"count(*) FILTER (WHERE status = '{status}')" for status in INDEXED),
        f"sum(tokens) FILTER (WHERE status = '{Status.ACTIVE}')",
    ]
)
_NO_END: Final = "9999"
"""Later than every time there is, which are texts."""
_WAITING: Final = """
SELECT status, count(*) FROM signals WHERE tenant_id = ? AND status IN ('pending', 'dead') GROUP BY status"""
_PEOPLE: Final = """
WITH RECURSIVE people (user_id) AS (
    SELECT min(user_id) FROM links WHERE tenant_id = ? AND user_id > ''
    UNION ALL
    SELECT (SELECT min(l.user_id) FROM links l WHERE l.tenant_id = ? AND l.user_id > p.user_id)
    FROM people p WHERE p.user_id IS NOT NULL)
SELECT count(*) FROM people p
WHERE p.user_id IS NOT NULL AND EXISTS (
    SELECT 1 FROM links l JOIN memories m ON m.tenant_id = l.tenant_id AND m.seq = l.memory_seq
    WHERE l.tenant_id = ? AND l.user_id = p.user_id AND m.valid_to IS NULL AND m.status = 'active')"""
"""From one person to the next in the index of links: what is read grows with people, not with memories."""
_MENTIONED: Final = """
SELECT DISTINCT e.id FROM entities e
JOIN mentions n ON n.tenant_id = e.tenant_id AND n.entity_id = e.id
JOIN memories m ON m.tenant_id = n.tenant_id AND m.seq = n.memory_seq
WHERE e.tenant_id = ? AND e.user_id = ? AND m.valid_from <= ?"""
_NAMING_RECEIPTS: Final = """
SELECT body FROM receipts WHERE tenant_id = ?{} AND {} ORDER BY created_at DESC LIMIT ?"""


class BrowseTable:
    """See ``memstone.ports.browse.Browse``."""

    def __init__(self, sql: SqlConnection, compile_where: Compile, memories: MemoriesTable) -> None:
        self._sql, self._where, self._memories = sql, compile_where, memories

    async def page(self, where: Where, order: BrowseOrder, limit: int) -> list[FoundMemory]:
        wanted = where_after(where, order)
        if order.column == "seq":  # the indexes of links are in this order
            return await self._memories.find(wanted, limit=limit, oldest_first=not order.descending)
        return await self._memories.find_by_column(order.column, wanted, limit, descending=order.descending)

    async def match(
        self, where: Where, words: Sequence[WordPattern], scope: Sequence[str], order: BrowseOrder, limit: int
    ) -> list[FoundMemory]:
        wanted = where_after(where, order)
        condition, params = self._where(wanted)
        query = _MATCHING.format(condition, "DESC" if order.descending else "ASC")
        rows = await self._sql.rows(query, [_match_expression(words, scope), *params, limit])
        # The newest rows are not in the index yet; there are a few hundred of them at most.
        behind = await self._sql.rows(_BEHIND)
        fresh = [int(seq) for seq, body, key in behind if _fits(words, f"{body} {key}".split())]
        return await self._hydrate([*(int(row[0]) for row in rows), *fresh], wanted, order, limit)

    async def _hydrate(self, seqs: Sequence[int], where: Where, order: BrowseOrder, limit: int) -> list[FoundMemory]:
        found = await self._memories.among(sorted(set(seqs)), where) if seqs else []
        return sorted(found, key=lambda one: one.record.seq, reverse=order.descending)[:limit]

    async def count(self, where: Where, most: int) -> int:
        condition, params = self._where(where)
        row = await self._sql.one(_COUNT.format(self._memories.from_clause(where), condition), [*params, most])
        return int(row[0]) if row else 0

    async def count_events(
        self, tenant_id: str, user_id: str, days: Sequence[str], known: Sequence[DayCount] = ()
    ) -> list[DayCount]:
        owner, values = _owner_condition(user_id)
        spans = list(zip(days, [*days[1:], _NO_END], strict=True))
        table = " UNION ALL SELECT ?, ?".join(["SELECT ? AS day, ? AS until", *[""] * (len(spans) - 1)])
        bound = [tenant_id, *values, *(value for span in spans for value in span)]
        totals = {str(day): int(count) for day, count in await self._sql.rows(_BY_DAY.format(owner, table), bound)}
        found: list[DayCount] = []
        for day, until in spans:
            before = [one for one in known if one.day == day]
            if sum(one.times for one in before) != totals[day]:
                rows = await self._sql.rows(_CHANGES.format(owner), [tenant_id, day, until, *values])
                changes = [DayCount(day, str(name), int(count)) for name, count in rows]
                added = totals[day] - sum(one.times for one in changes)
                before = [DayCount(day, EventType.ADD, added), *changes]
            found += before
        return [one for one in found if one.times]

    async def count_receipts(self, tenant_id: str, user_id: str, since: Instant) -> list[DayCount]:
        owner, values = _owner_condition(user_id)
        rows = await self._sql.rows(_RECEIPTS.format(owner), [tenant_id, since, *values])
        return [DayCount(str(day), str(name), int(count)) for day, name, count in rows]

    async def count_layers(self, tenant_id: str) -> dict[tuple[str, str], LayerCount]:
        rows = await self._sql.rows(_LAYERS.format(_EACH_STATUS), (tenant_id,))
        counts = {
            (str(layer), str(status)): LayerCount(int(count), int(tokens or 0) if status == Status.ACTIVE else 0)
            for layer, *sums, tokens in rows
            for status, count in zip(INDEXED, sums, strict=True)
        }
        return {key: one for key, one in counts.items() if one.memories}

    async def count_waiting(self, tenant_id: str) -> dict[str, int]:
        rows = await self._sql.rows(_WAITING, (tenant_id,))
        return {"pending": 0, "dead": 0} | {str(status): int(count) for status, count in rows}

    async def count_people(self, tenant_id: str) -> int:
        row = await self._sql.one(_PEOPLE, (tenant_id,) * 3)
        return int(row[0]) if row else 0

    async def mentioned_until(self, tenant_id: str, user_id: str, moment: Instant) -> set[str]:
        return {str(row[0]) for row in await self._sql.rows(_MENTIONED, (tenant_id, user_id, moment))}

    async def receipts_with(self, tenant_id: str, user_id: str, memory_id: str, limit: int) -> list[dict[str, Any]]:
        owner, values = _owner_condition(user_id)
        query = _NAMING_RECEIPTS.format(owner, self.contains("body"))
        rows = await self._sql.rows(query, [tenant_id, *values, f'["{memory_id}",', limit])
        return [load_json_object(row[0]) for row in rows]

    def contains(self, text: str) -> str:
        """Return a test that a text has the bound value in it."""
        return f"instr({text}, ?) > 0"


def _owner_condition(user_id: str) -> tuple[str, list[str]]:
    return (" AND user_id = ?", [user_id]) if user_id else ("", [])


def where_after(where: Where, order: BrowseOrder) -> Where:
    """Choose what stands after a row in an order; equal values are told apart by number."""
    if order.after is None:
        return where
    value, seq = order.after
    sign = Op.LT if order.descending else Op.GT
    further = Condition("seq", sign, seq)
    if order.column == "seq":
        return And((where, further))
    beyond = Condition(order.column, sign, value)
    return And((where, Or((beyond, And((Condition(order.column, Op.EQ, value), further))))))


def _match_expression(words: Sequence[WordPattern], scope: Sequence[str]) -> str:
    """Quote every word, so that no text of a caller is ever read as query syntax."""
    scoped = [f"scope : {_quote_word(token)}" for token in scope]
    asked = [f"{{body key}} : ({_any_of(one)})" for one in words]
    return " AND ".join([*scoped, *asked])


def _any_of(pattern: WordPattern) -> str:
    begins = [f"{_quote_word(pattern.prefix)} *"] if pattern.prefix else []
    return " OR ".join([*map(_quote_word, pattern.terms), *begins])


def _quote_word(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _fits(patterns: Sequence[WordPattern], words: Sequence[str]) -> bool:
    return all(pattern.matches(words) for pattern in patterns)
