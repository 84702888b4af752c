"""The append-only history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from memstone.adapters.ledger.codec import dump, load
from memstone.adapters.ledger.seam import Row, Sql, marks
from memstone.model.event import Done, Event
from memstone.model.scope import Scope

_COLUMNS: Final = (
    "id, memory_id, event, old_text, new_text, old_id, new_id, reason, before, after, actor, job_id, is_deleted, "
    "created_at, undoes, tenant_id, user_id, agent_id, run_id"
)
_INSERT: Final = f"INSERT INTO events ({_COLUMNS}) VALUES ({marks(19)})"
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

    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self.heard: list[Event] | None = None
        """Where events are noted as well, while somebody wants to tell of them."""

    async def append(self, events: Iterable[Event]) -> None:
        if self.heard is not None:
            events = list(events)
            self.heard += events
        await self._sql.many(_INSERT, (_params(event) for event in events))

    async def of(self, tenant_id: str, memory_id: str) -> list[Event]:
        rows = await self._sql.rows(f"{_SELECT} AND memory_id = ? ORDER BY seq", (tenant_id, memory_id))
        return [_event(row) for row in rows]

    async def after(self, tenant_id: str, cursor: int, limit: int) -> list[Event]:
        rows = await self._sql.rows(f"{_SELECT} AND seq > ? ORDER BY seq LIMIT ?", (tenant_id, cursor, limit))
        return [_event(row) for row in rows]

    async def one(self, tenant_id: str, event_id: str) -> Event | None:
        row = await self._sql.one(_ONE, (tenant_id, event_id))
        return None if row is None else _event(row)

    async def touching(self, tenant_id: str, memory_id: str) -> list[Event]:
        own = f"{_SELECT} AND memory_id = ?"
        split = f"{_SELECT} AND old_id = ? AND memory_id <> ?"
        rows = await self._sql.rows(f"{own} UNION ALL {split}", (tenant_id, memory_id, tenant_id, memory_id, memory_id))
        return sorted((_event(row) for row in rows), key=lambda event: event.seq)

    async def of_job(self, tenant_id: str, job_id: str) -> list[Event]:
        rows = await self._sql.rows(f"{_SELECT} AND job_id = ? ORDER BY seq", (tenant_id, job_id))
        return [_event(row) for row in rows]

    async def feed(self, scope: Scope, cursor: int, limit: int) -> list[Event]:
        narrowed, values = _narrowed(scope)
        query = f"{_SELECT}{narrowed} AND seq > ? ORDER BY seq LIMIT ?"
        rows = await self._sql.rows(query, (scope.tenant_id, *values, cursor, limit))
        return [_event(row) for row in rows]

    async def newest(self, scope: Scope, done: Done, below: int | None, limit: int) -> list[Event]:
        narrowed, values = _narrowed(scope)
        if below is not None:
            narrowed, values = f"{narrowed} AND seq < ?", [*values, below]
        if done.since is not None:
            narrowed, values = f"{narrowed} AND created_at >= ?", [*values, done.since]
        if done.source is not None:
            narrowed, values = f"{narrowed} AND {_BY_SOURCE}", [*values, *[done.source] * 3]
        query = f"{_SELECT}{narrowed} ORDER BY seq DESC LIMIT ?"
        return [_event(row) for row in await self._sql.rows(query, (scope.tenant_id, *values, limit))]

    async def replaced(self, scope: Scope, limit: int, offset: int = 0) -> list[Event]:
        narrowed, values = _narrowed(scope)
        query = f"{_SELECT}{narrowed} AND {_REPLACED} ORDER BY seq DESC LIMIT ? OFFSET ?"
        return [_event(row) for row in await self._sql.rows(query, (scope.tenant_id, *values, limit, offset))]

    async def known(self, tenant_id: str, ids: Sequence[str], memory_id: str) -> set[str]:
        rows = await self._sql.rows(
            f"SELECT id FROM events WHERE tenant_id = ? AND memory_id = ? AND id IN ({marks(len(ids))})",
            (tenant_id, memory_id, *ids),
        )
        return {str(row[0]) for row in rows}


def _narrowed(scope: Scope) -> tuple[str, list[Any]]:
    """The part of a condition that says whose events, and its values."""
    given = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
    return "".join(f" AND {name} = ?" for name, _ in given), [value for _, value in given]


def _params(event: Event) -> tuple[Any, ...]:
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
        None if event.before is None else dump(event.before),
        None if event.after is None else dump(event.after),
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


def _event(row: Row) -> Event:
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
        None if before is None else load(before),
        None if after is None else load(after),
        actor,
        job_id,
        bool(is_deleted),
        seq,
        undoes,
    )
