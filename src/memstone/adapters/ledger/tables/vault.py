"""A store's own keys, its list of erasures, and the copies that were made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from memstone.adapters.ledger.seam import Sql
from memstone.model.account import StoredSecret
from memstone.model.instant import Instant
from memstone.ports.erasure import WHOLE_STORE, Erased, KnownCopy

_KEY: Final = "store"
_PUT_KEY: Final = "INSERT INTO secrets (tenant_id, name, value, created_at) VALUES (?, ?, ?, ?) "
_ERASED: Final = (
    "INSERT INTO erasures (tenant_id, id, created_at, user_digest, agent_digest, run_digest, memory_digest) "
    "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, id) DO NOTHING"
)
_COPY: Final = (
    "INSERT INTO backups (tenant_id, path, created_at, whole) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (tenant_id, path) DO UPDATE SET created_at = excluded.created_at, whole = excluded.whole"
)


class VaultTable:
    """See ``memstone.ports.erasure.Vault``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def key(self, tenant_id: str, fresh: bytes, at: Instant) -> bytes:
        query = f"{_PUT_KEY}ON CONFLICT (tenant_id, name) DO NOTHING"
        await self._sql.run(query, (tenant_id, _KEY, fresh.hex(), at))
        return (await self.keys())[tenant_id]

    async def known_key(self, tenant_id: str) -> bytes | None:
        known = await self.secret(tenant_id, _KEY)
        return None if known is None else known.value

    async def keys(self) -> Mapping[str, bytes]:
        rows = await self._sql.rows("SELECT tenant_id, value FROM secrets WHERE name = ?", (_KEY,))
        return {str(tenant): bytes.fromhex(value) for tenant, value in rows}

    async def secrets(self) -> list[tuple[str, str, StoredSecret]]:
        rows = await self._sql.rows("SELECT tenant_id, name, value, created_at FROM secrets")
        return [(tenant, name, StoredSecret(bytes.fromhex(value), at)) for tenant, name, value, at in rows]

    async def put_secrets(self, secrets: Sequence[tuple[str, str, StoredSecret]]) -> None:
        for tenant in {tenant for tenant, _, _ in secrets}:
            await self._sql.run("DELETE FROM secrets WHERE tenant_id = ?", (tenant,))
        rows = ((tenant, name, one.value.hex(), one.created_at) for tenant, name, one in secrets)
        await self._sql.many(_PUT_KEY, rows)

    async def secret(self, tenant_id: str, name: str) -> StoredSecret | None:
        query = "SELECT value, created_at FROM secrets WHERE tenant_id = ? AND name = ?"
        row = await self._sql.one(query, (tenant_id, name))
        return None if row is None else StoredSecret(bytes.fromhex(row[0]), row[1])

    async def put_secret(self, tenant_id: str, name: str, secret: StoredSecret | None) -> None:
        if secret is None:
            await self._sql.run("DELETE FROM secrets WHERE tenant_id = ? AND name = ?", (tenant_id, name))
            return
        changed = "ON CONFLICT (tenant_id, name) DO UPDATE SET value = excluded.value, created_at = excluded.created_at"
        await self._sql.run(f"{_PUT_KEY}{changed}", (tenant_id, name, secret.value.hex(), secret.created_at))

    async def erasures(self) -> list[Erased]:
        query = (
            "SELECT tenant_id, id, created_at, user_digest, agent_digest, run_digest, memory_digest "
            "FROM erasures ORDER BY seq"
        )
        return [Erased(*row) for row in await self._sql.rows(query)]

    async def note_erasures(self, erased: Iterable[Erased]) -> None:
        await self._sql.many(
            _ERASED,
            (
                (one.tenant_id, one.id, one.created_at, one.user_id, one.agent_id, one.run_id, one.memory_id)
                for one in erased
            ),
        )

    async def copies(self, tenant_id: str) -> list[KnownCopy]:
        query = "SELECT path, created_at, whole FROM backups WHERE tenant_id IN (?, ?) ORDER BY created_at, path"
        rows = await self._sql.rows(query, (WHOLE_STORE, tenant_id))
        return [KnownCopy(path, created_at, bool(whole)) for path, created_at, whole in rows]

    async def note_copies(self, tenant_id: str, copies: Iterable[KnownCopy]) -> None:
        await self._sql.many(_COPY, ((tenant_id, one.path, one.created_at, int(one.whole)) for one in copies))

    async def forget_copy(self, tenant_id: str, path: str) -> None:
        await self._sql.run("DELETE FROM backups WHERE tenant_id = ? AND path = ?", (tenant_id, path))
