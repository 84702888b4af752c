"""The people who log in, and their sessions."""

from __future__ import annotations

from dataclasses import astuple
from typing import Final

from memstone.adapters.ledger.seam import Row, Sql, marks
from memstone.model.account import Account, Role, Session
from memstone.model.instant import Instant

_COLUMNS: Final = (
    "tenant_id, id, login, password, created_at, updated_at, name, role, user_id, agent_id, disabled, last_login_at"
)
_CHANGES: Final = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS.split(", ")[2:])
_OF_SESSIONS: Final = "tenant_id, id, account_id, family, current_hash, created_at, expires_at"
_ONE: Final = "tenant_id = ? AND id = ?"


class AccountsTable:
    """See ``memstone.ports.access_tables.Accounts``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def put(self, account: Account) -> None:
        *first, disabled, last = astuple(account)
        await self._sql.run(
            f"INSERT INTO accounts ({_COLUMNS}) VALUES ({marks(len(first) + 2)}) "
            f"ON CONFLICT (tenant_id, id) DO UPDATE SET {_CHANGES}",
            (*map(str, first), int(disabled), last),
        )

    async def find(self, tenant_id: str, account_id: str) -> Account | None:
        return await self._one(_ONE, (tenant_id, account_id))

    async def named(self, tenant_id: str, login: str) -> Account | None:
        return await self._one("tenant_id = ? AND login = ?", (tenant_id, login))

    async def _one(self, condition: str, values: tuple[str, ...]) -> Account | None:
        row = await self._sql.one(f"SELECT {_COLUMNS} FROM accounts WHERE {condition}", values)
        return None if row is None else _account(row)

    async def all(self, tenant_id: str) -> list[Account]:
        query = f"SELECT {_COLUMNS} FROM accounts WHERE tenant_id = ? ORDER BY created_at, id"
        return [_account(row) for row in await self._sql.rows(query, (tenant_id,))]

    async def every(self) -> list[Account]:
        return [_account(row) for row in await self._sql.rows(f"SELECT {_COLUMNS} FROM accounts")]

    async def remove(self, tenant_id: str, account_id: str) -> bool:
        return bool(await self._sql.run(f"DELETE FROM accounts WHERE {_ONE}", (tenant_id, account_id)))

    async def begin(self, session: Session) -> None:
        query = f"INSERT INTO account_sessions ({_OF_SESSIONS}) VALUES ({marks(7)})"
        await self._sql.run(query, astuple(session))

    async def session(self, tenant_id: str, session_id: str) -> Session | None:
        row = await self._sql.one(f"SELECT {_OF_SESSIONS} FROM account_sessions WHERE {_ONE}", (tenant_id, session_id))
        return None if row is None else Session(*row)

    async def turn(self, old: Session, new: Session) -> bool:
        query = f"UPDATE account_sessions SET current_hash = ?, expires_at = ? WHERE {_ONE} AND current_hash = ?"
        return bool(await self._sql.run(query, (new.current, new.expires_at, old.tenant_id, old.id, old.current)))

    async def end(self, tenant_id: str, session_id: str) -> bool:
        return bool(await self._sql.run(f"DELETE FROM account_sessions WHERE {_ONE}", (tenant_id, session_id)))

    async def end_all(self, tenant_id: str, account_id: str, but: str = "") -> int:
        query = "DELETE FROM account_sessions WHERE tenant_id = ? AND account_id = ? AND id <> ?"
        return await self._sql.run(query, (tenant_id, account_id, but))

    async def end_every(self) -> None:
        await self._sql.run("DELETE FROM account_sessions")

    async def tidy(self, tenant_id: str, account_id: str, now: Instant, keep: int) -> None:
        whose = "tenant_id = ? AND account_id = ?"
        await self._sql.run(
            f"DELETE FROM account_sessions WHERE {whose} AND expires_at <= ?", (tenant_id, account_id, now)
        )
        newest = f"SELECT id FROM account_sessions WHERE {whose} ORDER BY created_at DESC, id DESC LIMIT ?"
        kept = [row[0] for row in await self._sql.rows(newest, (tenant_id, account_id, keep))]
        if len(kept) == keep:
            query = f"DELETE FROM account_sessions WHERE {whose} AND id NOT IN ({marks(len(kept))})"
            await self._sql.run(query, (tenant_id, account_id, *kept))


def _account(row: Row) -> Account:
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    return Account(**{**values, "role": Role(values["role"]), "disabled": bool(values["disabled"])})
