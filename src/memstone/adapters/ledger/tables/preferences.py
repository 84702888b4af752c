"""Settings by tenant, user, agent and session, and how much is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from memstone.adapters.ledger.seam import Sql, marks
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.ports.access_tables import Usage

_PUT: Final = (
    "INSERT INTO settings (tenant_id, scope_key, key, value, updated_at) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (tenant_id, scope_key, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at"
)
_LIVE: Final = "m.valid_to IS NULL AND m.status IN ('active', 'disabled', 'quarantined')"
_SUMS: Final = (
    "SELECT coalesce(sum(CASE WHEN m.layer <> 'turn' THEN 1 ELSE 0 END), 0), "
    "coalesce(sum(CASE WHEN m.layer = 'turn' THEN 1 ELSE 0 END), 0), coalesce(sum(length(m.text)), 0) "
)
# Somebody may be linked to a memory more than once, in several sessions; it counts once.
_OF_USER: Final = (
    f"{_SUMS} FROM (SELECT DISTINCT tenant_id, memory_seq FROM links WHERE tenant_id = ? AND user_id = ?) l "
    f"JOIN memories m ON m.tenant_id = l.tenant_id AND m.seq = l.memory_seq WHERE {_LIVE}"
)
_OF_TENANT: Final = f"{_SUMS} FROM memories m WHERE {_LIVE} AND m.tenant_id = ?"


class PreferencesTable:
    """See ``memstone.ports.access_tables.Preferences``. The row without a name holds the version."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def version(self, tenant_id: str) -> str:
        query = "SELECT value FROM settings WHERE tenant_id = ? AND scope_key = '' AND key = ''"
        row = await self._sql.one(query, (tenant_id,))
        return "" if row is None else str(row[0])

    async def of(self, tenant_id: str, scope_keys: Sequence[str]) -> dict[str, dict[str, str]]:
        query = (
            "SELECT scope_key, key, value FROM settings "
            f"WHERE tenant_id = ? AND scope_key IN ({marks(len(scope_keys))}) AND key <> ''"
        )
        found: dict[str, dict[str, str]] = {}
        for scope_key, key, value in await self._sql.rows(query, (tenant_id, *scope_keys)):
            found.setdefault(scope_key, {})[key] = value
        return found

    async def put(self, tenant_id: str, scope_key: str, values: Mapping[str, str], at: Instant) -> None:
        await self._sql.many(_PUT, ((tenant_id, scope_key, name, value, at) for name, value in values.items()))
        await self._changed(tenant_id, at)

    async def drop(self, tenant_id: str, scope_key: str, names: Sequence[str] | None, at: Instant) -> int:
        if names is not None and not names:
            return 0
        query = "DELETE FROM settings WHERE tenant_id = ? AND scope_key = ? AND key <> ''"
        if names is not None:
            query += f" AND key IN ({marks(len(names))})"
        dropped = await self._sql.run(query, (tenant_id, scope_key, *(names or ())))
        if dropped:
            await self._changed(tenant_id, at)
        return dropped

    async def _changed(self, tenant_id: str, at: Instant) -> None:
        await self._sql.run(_PUT, (tenant_id, "", "", new_id(), at))

    async def named(self, tenant_id: str, name: str, limit: int) -> list[tuple[str, str]]:
        query = "SELECT scope_key, value FROM settings WHERE tenant_id = ? AND key = ? ORDER BY scope_key LIMIT ?"
        return [(str(row[0]), str(row[1])) for row in await self._sql.rows(query, (tenant_id, name, limit))]

    async def usage(self, tenant_id: str, user_id: str | None) -> Usage:
        if user_id is None:
            row = await self._sql.one(_OF_TENANT, (tenant_id,))
        else:
            row = await self._sql.one(_OF_USER, (tenant_id, user_id))
        return Usage(*row) if row is not None else Usage()
