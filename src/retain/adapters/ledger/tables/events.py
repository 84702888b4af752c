"""The append-only history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from retain.adapters.ledger.codec import dump, load
from retain.adapters.ledger.seam import Row, Sql, marks
from retain.model.event import Event
from retain.model.scope import Scope

_COLUMNS: Final = (
    "id, memory_id, event, old_text, new_text, old_id, new_id, reason, before, after, actor, job_id, is_deleted, "
    "created_at, tenant_id, user_id, agent_id, run_id"
)
_INSERT: Final = f"INSERT INTO events ({_COLUMNS}) VALUES ({marks(18)})"
_SELECT: Final = f"SELECT {_COLUMNS}, seq FROM events WHERE tenant_id = ?"


class EventsTable:
    """See ``retain.ports.ledger.Events``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def append(self, events: Iterable[Event]) -> None:
        await self._sql.many(_INSERT, (_params(event) for event in events))

    async def of(self, tenant_id: str, memory_id: str) -> list[Event]:
        rows = await self._sql.rows(f"{_SELECT} AND memory_id = ? ORDER BY seq", (tenant_id, memory_id))
        return [_event(row) for row in rows]

    async def after(self, tenant_id: str, cursor: int, limit: int) -> list[Event]:
        rows = await self._sql.rows(f"{_SELECT} AND seq > ? ORDER BY seq LIMIT ?", (tenant_id, cursor, limit))
        return [_event(row) for row in rows]

    async def known(self, tenant_id: str, ids: Sequence[str], memory_id: str) -> set[str]:
        rows = await self._sql.rows(
            f"SELECT id FROM events WHERE tenant_id = ? AND memory_id = ? AND id IN ({marks(len(ids))})",
            (tenant_id, memory_id, *ids),
        )
        return {str(row[0]) for row in rows}


def _params(event: Event) -> tuple[Any, ...]:
    who = event.scope
    return (
        event.id,
        event.memory_id,
        event.event,
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
        who.tenant_id,
        who.user_id,
        who.agent_id,
        who.run_id,
    )


def _event(row: Row) -> Event:
    (id_, memory_id, event, old_text, new_text, old_id, new_id, reason, before, after, actor, job_id) = row[:12]
    is_deleted, created_at, *scope, seq = row[12:]
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
    )
