"""What belongs to somebody besides memories."""

from __future__ import annotations

from memstone.adapters.ledger.seam import Sql
from memstone.model.scope import Scope


class OwnedRows:
    """See ``memstone.ports.tables.Owned``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def hand_over(self, table: str, old: Scope, new: Scope) -> list[str]:
        given = _given(old)
        narrowed = "".join(f" AND {name} = ?" for name in given)
        query = f"SELECT id FROM {table} WHERE tenant_id = ?{narrowed}"
        ids = [str(row[0]) for row in await self._sql.rows(query, (old.tenant_id, *given.values()))]
        await self.hand_back(table, ids, new)
        return ids

    async def hand_back(self, table: str, ids: list[str], old: Scope) -> None:
        given = _given(old)
        named = ", ".join(f"{name} = ?" for name in given)
        query = f"UPDATE {table} SET {named} WHERE tenant_id = ? AND id = ?"
        await self._sql.many(query, ((*given.values(), old.tenant_id, one) for one in ids))


def _given(scope: Scope) -> dict[str, str]:
    named = {name: getattr(scope, name) for name in ("user_id", "agent_id", "run_id")}
    return {name: value for name, value in named.items() if value}
