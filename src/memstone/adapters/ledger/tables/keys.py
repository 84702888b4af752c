"""The keys of callers, by what recognises them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Final

from memstone.adapters.ledger.codec import dump, load
from memstone.adapters.ledger.seam import Row, Sql, marks
from memstone.model.access import ApiKey, Subjects
from memstone.model.instant import Instant

_COLUMNS: Final = (
    "tenant_id, id, hash, created_at, name, subjects, verbs, expires_at, revoked_at, last_used_at, "
    "previous_hash, previous_until"
)
_CHANGES: Final = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS.split(", ")[2:])


class ApiKeysTable:
    """See ``memstone.ports.access_tables.ApiKeys``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def put(self, key: ApiKey) -> None:
        values = {**asdict(key), "subjects": dump(asdict(key.subjects)), "verbs": dump(list(key.verbs))}
        names = _COLUMNS.split(", ")
        await self._sql.run(
            f"INSERT INTO api_keys ({_COLUMNS}) VALUES ({marks(len(names))}) "
            f"ON CONFLICT (tenant_id, id) DO UPDATE SET {_CHANGES}",
            tuple(values[name] for name in names),
        )

    async def find(self, key_id: str) -> ApiKey | None:
        row = await self._sql.one(f"SELECT {_COLUMNS} FROM api_keys WHERE id = ?", (key_id,))
        return None if row is None else _key(row)

    async def all(self, tenant_id: str) -> list[ApiKey]:
        query = f"SELECT {_COLUMNS} FROM api_keys WHERE tenant_id = ? ORDER BY created_at, id"
        return [_key(row) for row in await self._sql.rows(query, (tenant_id,))]

    async def every(self) -> list[ApiKey]:
        return [_key(row) for row in await self._sql.rows(f"SELECT {_COLUMNS} FROM api_keys")]

    async def used(self, tenant_id: str, key_id: str, at: Instant) -> None:
        query = "UPDATE api_keys SET last_used_at = ? WHERE tenant_id = ? AND id = ?"
        await self._sql.run(query, (at, tenant_id, key_id))


def _key(row: Row) -> ApiKey:
    tenant_id, key_id, hash_, created_at, name, subjects, verbs, *rest = row
    may, who = tuple(json.loads(verbs)), Subjects(**load(subjects))
    return ApiKey(tenant_id, key_id, hash_, created_at, name, who, may, *rest)
