"""The table of events, which is append-only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from memstone.adapters.sql.rows import (
    SELECT_RECORD,
    Row,
    SqlConnection,
    dump_json,
    load_json_object,
    placeholder_list,
    split_chunks,
    to_record,
)
from memstone.model.age import MemoryAge, Older
from memstone.model.event import Event, EventFilter
from memstone.model.instant import Instant
from memstone.model.memory import Link, Record
from memstone.model.scope import Scope

# --- the append-only history ------------------------------------------------------------------------------------------


_COLUMNS: Final = (
    "id, memory_id, event, old_text, new_text, old_id, new_id, reason, before, after, actor, job_id, is_deleted, "
    "created_at, undoes, tenant_id, user_id, agent_id, run_id"
)
_INSERT: Final = f"INSERT INTO events ({_COLUMNS}) VALUES ({placeholder_list(19)})"
_SELECT: Final = f"SELECT {_COLUMNS}, seq FROM events WHERE tenant_id = ?"

# An index over ids would cost every write something for the rare undo: they are looked for from the end, where what is
# taken back mostly stands. tenant_id is hidden from the planner, which would begin elsewhere and sort.
_ONE: Final = f"""
SELECT {_COLUMNS}, seq FROM events WHERE tenant_id || '' = ? AND id = ? ORDER BY seq DESC LIMIT 1"""

# Who did it is told by the event; by what means something was learned, by the version that came of it.
_BY_SOURCE: Final = """(actor = ? OR job_id = ? OR EXISTS (
    SELECT 1 FROM memories m WHERE m.tenant_id = events.tenant_id AND m.id = events.memory_id AND m.source = ?))"""


# As the view memory_updates has it.
_REPLACED: Final = "(event IN ('REPLACE', 'UNLINK', 'DELETE') OR (event = 'UPDATE' AND old_text <> new_text))"


class EventsTable:
    """See ``memstone.ports.ledger.Events``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql
        self.recorder: list[Event] | None = None
        """Where events are noted as well, while somebody wants to tell of them."""

    async def append(self, events: Iterable[Event]) -> None:
        if self.recorder is not None:
            events = list(events)
            self.recorder += events
        await self._sql.many(_INSERT, (_event_params(event) for event in events))

    async def of(self, tenant_id: str, memory_id: str) -> list[Event]:
        rows = await self._sql.rows(f"{_SELECT} AND memory_id = ? ORDER BY seq", (tenant_id, memory_id))
        return [_event_from_row(row) for row in rows]

    async def after(self, tenant_id: str, cursor: int, limit: int) -> list[Event]:
        rows = await self._sql.rows(f"{_SELECT} AND seq > ? ORDER BY seq LIMIT ?", (tenant_id, cursor, limit))
        return [_event_from_row(row) for row in rows]

    async def one(self, tenant_id: str, event_id: str) -> Event | None:
        row = await self._sql.one(_ONE, (tenant_id, event_id))
        return None if row is None else _event_from_row(row)

    async def list_for_memory(self, tenant_id: str, memory_id: str) -> list[Event]:
        own = f"{_SELECT} AND memory_id = ?"
        split = f"{_SELECT} AND old_id = ? AND memory_id <> ?"
        rows = await self._sql.rows(f"{own} UNION ALL {split}", (tenant_id, memory_id, tenant_id, memory_id, memory_id))
        return sorted((_event_from_row(row) for row in rows), key=lambda event: event.seq)

    async def of_job(self, tenant_id: str, job_id: str) -> list[Event]:
        rows = await self._sql.rows(f"{_SELECT} AND job_id = ? ORDER BY seq", (tenant_id, job_id))
        return [_event_from_row(row) for row in rows]

    async def feed(self, scope: Scope, cursor: int, limit: int) -> list[Event]:
        narrowed, values = _scope_condition(scope)
        query = f"{_SELECT}{narrowed} AND seq > ? ORDER BY seq LIMIT ?"
        rows = await self._sql.rows(query, (scope.tenant_id, *values, cursor, limit))
        return [_event_from_row(row) for row in rows]

    async def newest(self, scope: Scope, done: EventFilter, below: int | None, limit: int) -> list[Event]:
        narrowed, values = _scope_condition(scope)
        if below is not None:
            narrowed, values = f"{narrowed} AND seq < ?", [*values, below]
        if done.since is not None:
            narrowed, values = f"{narrowed} AND created_at >= ?", [*values, done.since]
        if done.source is not None:
            narrowed, values = f"{narrowed} AND {_BY_SOURCE}", [*values, *[done.source] * 3]
        query = f"{_SELECT}{narrowed} ORDER BY seq DESC LIMIT ?"
        return [_event_from_row(row) for row in await self._sql.rows(query, (scope.tenant_id, *values, limit))]

    async def list_replacements(self, scope: Scope, limit: int, offset: int = 0) -> list[Event]:
        narrowed, values = _scope_condition(scope)
        query = f"{_SELECT}{narrowed} AND {_REPLACED} ORDER BY seq DESC LIMIT ? OFFSET ?"
        return [_event_from_row(row) for row in await self._sql.rows(query, (scope.tenant_id, *values, limit, offset))]

    async def find_known_ids(self, tenant_id: str, ids: Sequence[str], memory_id: str) -> set[str]:
        rows = await self._sql.rows(
            f"SELECT id FROM events WHERE tenant_id = ? AND memory_id = ? AND id IN ({placeholder_list(len(ids))})",
            (tenant_id, memory_id, *ids),
        )
        return {str(row[0]) for row in rows}


def _scope_condition(scope: Scope) -> tuple[str, list[Any]]:
    """Return the part of a condition that says whose events, and its values."""
    items = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
    return "".join(f" AND {name} = ?" for name, _ in items), [value for _, value in items]


def _event_params(event: Event) -> tuple[Any, ...]:
    who = event.scope
    return (
        event.id,
        event.memory_id,
        str(event.event),  # see ``codec``: plain text is bound faster
        event.old_text,
        event.new_text,
        event.old_id,
        event.new_id,
        event.reason,
        None if event.before is None else dump_json(event.before),
        None if event.after is None else dump_json(event.after),
        event.actor,
        event.job_id,
        int(event.is_deleted),
        event.created_at,
        event.undoes,
        who.tenant_id,
        who.user_id,
        who.agent_id,
        who.run_id,
    )


def _event_from_row(row: Row) -> Event:
    (id_, memory_id, event, old_text, new_text, old_id, new_id, reason, before, after, actor, job_id) = row[:12]
    is_deleted, created_at, undoes, *scope, seq = row[12:]
    return Event(
        id_,
        memory_id,
        event,
        Scope(*scope),
        created_at,
        old_text,
        new_text,
        old_id,
        new_id,
        reason,
        None if before is None else load_json_object(before),
        None if after is None else load_json_object(after),
        actor,
        job_id,
        bool(is_deleted),
        seq,
        undoes,
    )


# --- counters, and figures that the history tells ---------------------------------------------------------------------


_ADD: Final = """
INSERT INTO counters (tenant_id, user_id, day, name, value) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, user_id, day, name) DO UPDATE SET value = counters.value + excluded.value"""
_HAND_OVER: Final = """
INSERT INTO counters (tenant_id, user_id, day, name, value)
SELECT tenant_id, ?, day, name, value FROM counters WHERE tenant_id = ? AND user_id = ?
ON CONFLICT (tenant_id, user_id, day, name) DO UPDATE SET value = counters.value + excluded.value"""
# "|| ''" hides the layer from a planner without statistics, which would look for each memory among all facts.
_HAPPENED: Final = """
SELECT e.event, count(*) FROM events e
WHERE {whose} AND e.created_at >= ? AND e.undoes IS NULL AND (e.event <> 'UPDATE' OR e.old_text <> e.new_text)
  AND EXISTS (SELECT 1 FROM memories m
              WHERE m.tenant_id = e.tenant_id AND m.id = e.memory_id AND m.layer || '' = 'fact')
GROUP BY e.event"""
_DAY: Final = 10
"""An instant begins with its day."""


class MetricsTable:
    """See ``memstone.ports.tables.Metrics``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def count(self, tenant_id: str, user_id: str, at: Instant, counts: Mapping[str, int]) -> None:
        rows = ((tenant_id, user_id, at[:_DAY], name, more) for name, more in counts.items() if more)
        await self._sql.many(_ADD, rows)

    async def sum_counts(self, tenant_id: str, user_id: str, since: Instant) -> dict[str, int]:
        owner, values = _user_condition(tenant_id, user_id)
        query = f"SELECT name, sum(value) FROM counters WHERE {owner} AND day >= ? GROUP BY name"
        return {str(name): int(total) for name, total in await self._sql.rows(query, (*values, since[:_DAY]))}

    async def drop_counts(self, tenant_id: str, user_id: str, before: Instant) -> None:
        query = "DELETE FROM counters WHERE tenant_id = ? AND user_id = ? AND day < ?"
        await self._sql.run(query, (tenant_id, user_id, before[:_DAY]))

    async def count_events(self, tenant_id: str, user_id: str, since: Instant) -> dict[str, int]:
        owner, values = _user_condition(tenant_id, user_id, "e.")
        rows = await self._sql.rows(_HAPPENED.format(whose=owner), (*values, since))
        return {str(event): int(total) for event, total in rows}

    async def uses(self, tenant_id: str, user_id: str) -> int:
        owner, values = _user_condition(tenant_id, user_id, "l.")
        current = "SELECT 1 FROM memories m WHERE m.seq = l.memory_seq AND m.valid_to IS NULL"
        query = f"SELECT sum(l.use_count) FROM links l WHERE {owner} AND EXISTS ({current})"
        row = await self._sql.one(query, values)
        return int(row[0] or 0) if row else 0

    async def hand_over(self, tenant_id: str, old_user: str, new_user: str) -> None:
        await self._sql.run(_HAND_OVER, (new_user, tenant_id, old_user))
        await self._sql.run("DELETE FROM counters WHERE tenant_id = ? AND user_id = ?", (tenant_id, old_user))


def _user_condition(tenant_id: str, user_id: str, row: str = "") -> tuple[str, tuple[str, ...]]:
    if not user_id:
        return f"{row}tenant_id = ?", (tenant_id,)
    return f"{row}tenant_id = ? AND {row}user_id = ?", (tenant_id, user_id)


# --- what is old, and what nobody needs any more ----------------------------------------------------------------------


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
_USER_CHANGED: Final = "SELECT 1 FROM changes WHERE tenant_id = ? AND user_id = ? AND id > ? LIMIT 1"
_STALE: Final = """
SELECT id FROM (SELECT id, max(id) OVER (PARTITION BY user_id, memory_seq) AS newest
                FROM changes WHERE tenant_id = ?) c
WHERE id < newest AND id <= ? ORDER BY id LIMIT ?"""


class UpkeepTable:
    """See ``memstone.ports.tables.UpkeepRows``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def owners(self, scope: Scope, layer: str) -> list[tuple[str, str]]:
        narrowed, values = _upkeep_narrowed(scope)
        rows = await self._sql.rows(_OWNERS.format(narrowed=narrowed), (scope.tenant_id, layer, *values))
        return [(user, agent) for user, agent in rows]

    async def older(self, wanted: Older, after: int, limit: int) -> list[MemoryAge]:
        more, values = _older_conditions(wanted)
        params = (wanted.scope.tenant_id, after, wanted.before, *values, limit)
        rows = await self._sql.rows(_OLDER.format(since=wanted.since, more=more), params)
        return [MemoryAge(to_record(row), row[-2], row[-1]) for row in rows]

    async def restate(self, record: Record) -> None:
        values = (record.salience, record.anchor_at, record.source_count, dump_json(record.data))
        await self._sql.run(_RESTATE, (*values, record.seq))

    async def recount(self, record: Record, links: Iterable[Link]) -> None:
        await self._sql.many(_RECOUNT, (_use_params(record, link) for link in links))

    async def purge(self, tenant_id: str, log: str, before: Instant, *, dry_run: bool) -> int:
        rows, params = _OLD_ROWS[log], (tenant_id, before)
        if not dry_run:
            return await self._sql.run(f"DELETE FROM {rows}", params)
        counted = await self._sql.one(f"SELECT count(*) FROM {rows}", params)
        return int(counted[0]) if counted else 0

    async def list_deleted(self, tenant_id: str, before: Instant, limit: int) -> list[str]:
        rows = await self._sql.rows(_BURIED, (tenant_id, before, before, limit))
        return [str(row[0]) for row in rows]

    async def blank(self, tenant_id: str, ids: Sequence[str]) -> None:
        await self._sql.many(_BLANK, ((tenant_id, one) for one in ids))
        await self._sql.many(_BLANK_EVENTS, ((tenant_id, one) for one in ids))

    async def newest_change(self, tenant_id: str) -> int:
        row = await self._sql.one("SELECT max(id) FROM changes WHERE tenant_id = ?", (tenant_id,))
        return int(row[0]) if row and row[0] is not None else 0

    async def changed_users(self, tenant_id: str, since: int, user_id: str = "") -> list[str]:
        if user_id:  # one look into an index, however many others have changed something
            return [user_id] if await self._sql.one(_USER_CHANGED, (tenant_id, user_id, since)) else []
        return [str(row[0]) for row in await self._sql.rows(_CHANGED_USERS, (since, tenant_id))]

    async def stale_changes(self, tenant_id: str, until: int, limit: int) -> list[int]:
        return [int(row[0]) for row in await self._sql.rows(_STALE, (tenant_id, until, limit))]

    async def forget_changes(self, ids: Sequence[int]) -> None:
        for part in split_chunks(ids):
            await self._sql.run(f"DELETE FROM changes WHERE id IN ({placeholder_list(len(part))})", part)


def _older_conditions(wanted: Older) -> tuple[str, list[object]]:
    """Return what else is asked of them, and its values."""
    more, values = "", list[object]()
    for name, items in (("layer", wanted.layers), ("status", wanted.statuses), ("kind", wanted.kinds)):
        if items:
            more, values = f"{more} AND m.{name} IN ({placeholder_list(len(items))})", [*values, *items]
    if wanted.idle:
        more, values = more + _IDLE, [*values, wanted.before, wanted.before]
    if wanted.uses_below is not None:
        more, values = f"{more} AND {_USES} < ?", [*values, wanted.uses_below]
    if not wanted.scope.is_open:
        narrowed, who = _upkeep_narrowed(wanted.scope)
        more, values = more + _LINKED.format(narrowed=narrowed), [*values, wanted.scope.tenant_id, *who]
    return more, values


def _use_params(record: Record, link: Link) -> tuple[object, ...]:
    who = link.scope
    return (link.use_count, link.last_used_at, record.tenant_id, record.seq, who.user_id, who.agent_id, who.run_id)


def _upkeep_narrowed(scope: Scope) -> tuple[str, list[str]]:
    """Return the part of a condition that says through whose links, and its values."""
    items = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
    return "".join(f" AND l.{name} = ?" for name, _ in items), [value for _, value in items]
