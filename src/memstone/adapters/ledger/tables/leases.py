"""Who works on what."""

from __future__ import annotations

from typing import Final

from memstone.adapters.ledger.seam import Sql
from memstone.model.instant import Instant

_CLAIM: Final = """
INSERT INTO leases (tenant_id, name, owner, until) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant_id, name) DO UPDATE SET owner = excluded.owner, until = excluded.until WHERE leases.until <= ?"""


class LeasesTable:
    """See ``memstone.ports.work_tables.Leases``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def claim(self, tenant_id: str, name: str, owner: str, now: Instant, until: Instant) -> bool:
        return await self._sql.run(_CLAIM, (tenant_id, name, owner, until, now)) == 1

    async def renew(self, tenant_id: str, name: str, owner: str, until: Instant) -> bool:
        query = "UPDATE leases SET until = ? WHERE tenant_id = ? AND name = ? AND owner = ?"
        return await self._sql.run(query, (until, tenant_id, name, owner)) == 1

    async def release(self, tenant_id: str, name: str, owner: str) -> bool:
        query = "DELETE FROM leases WHERE tenant_id = ? AND name = ? AND owner = ?"
        return await self._sql.run(query, (tenant_id, name, owner)) == 1
