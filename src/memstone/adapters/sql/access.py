"""Tables of accounts, keys, agents, stored settings and secrets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple
from typing import TYPE_CHECKING, Final

from memstone.adapters.sql.indexes import FullTextTable
from memstone.adapters.sql.rows import Row, SqlConnection, dump_json, load_json_object, placeholder_list, status_list
from memstone.model.access import Account, ApiKey, LoginSession, Role, StoredSecret, Subjects
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.memory import INDEXED
from memstone.model.scope import Scope
from memstone.ports.access_tables import AgentRow, Usage
from memstone.ports.erasure import WHOLE_STORE, ErasureRecord, KnownCopy

if TYPE_CHECKING:
    from memstone.results import RowCounts

# --- the people who log in, and their sessions ------------------------------------------------------------------------


_COLUMNS: Final = (
    "tenant_id, id, login, password, created_at, updated_at, name, role, user_id, agent_id, disabled, last_login_at"
)
_CHANGES: Final = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS.split(", ")[2:])
_OF_SESSIONS: Final = "tenant_id, id, account_id, family, current_hash, created_at, expires_at"
_ONE: Final = "tenant_id = ? AND id = ?"


class AccountsTable:
    """See ``memstone.ports.access_tables.Accounts``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def put(self, account: Account) -> None:
        *first, disabled, last = astuple(account)
        await self._sql.run(
            f"INSERT INTO accounts ({_COLUMNS}) VALUES ({placeholder_list(len(first) + 2)}) "
            f"ON CONFLICT (tenant_id, id) DO UPDATE SET {_CHANGES}",
            (*map(str, first), int(disabled), last),
        )

    async def find(self, tenant_id: str, account_id: str) -> Account | None:
        return await self._one(_ONE, (tenant_id, account_id))

    async def find_by_login(self, tenant_id: str, login: str) -> Account | None:
        return await self._one("tenant_id = ? AND login = ?", (tenant_id, login))

    async def _one(self, condition: str, values: tuple[str, ...]) -> Account | None:
        row = await self._sql.one(f"SELECT {_COLUMNS} FROM accounts WHERE {condition}", values)
        return None if row is None else _account_from_row(row)

    async def all(self, tenant_id: str) -> list[Account]:
        query = f"SELECT {_COLUMNS} FROM accounts WHERE tenant_id = ? ORDER BY created_at, id"
        return [_account_from_row(row) for row in await self._sql.rows(query, (tenant_id,))]

    async def every(self) -> list[Account]:
        return [_account_from_row(row) for row in await self._sql.rows(f"SELECT {_COLUMNS} FROM accounts")]

    async def remove(self, tenant_id: str, account_id: str) -> bool:
        return bool(await self._sql.run(f"DELETE FROM accounts WHERE {_ONE}", (tenant_id, account_id)))

    async def begin(self, session: LoginSession) -> None:
        query = f"INSERT INTO account_sessions ({_OF_SESSIONS}) VALUES ({placeholder_list(7)})"
        await self._sql.run(query, astuple(session))

    async def session(self, tenant_id: str, session_id: str) -> LoginSession | None:
        row = await self._sql.one(f"SELECT {_OF_SESSIONS} FROM account_sessions WHERE {_ONE}", (tenant_id, session_id))
        return None if row is None else LoginSession(*row)

    async def turn(self, old: LoginSession, new: LoginSession) -> bool:
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
        owner = "tenant_id = ? AND account_id = ?"
        await self._sql.run(
            f"DELETE FROM account_sessions WHERE {owner} AND expires_at <= ?", (tenant_id, account_id, now)
        )
        newest = f"SELECT id FROM account_sessions WHERE {owner} ORDER BY created_at DESC, id DESC LIMIT ?"
        remaining = [row[0] for row in await self._sql.rows(newest, (tenant_id, account_id, keep))]
        if len(remaining) == keep:
            query = f"DELETE FROM account_sessions WHERE {owner} AND id NOT IN ({placeholder_list(len(remaining))})"
            await self._sql.run(query, (tenant_id, account_id, *remaining))


def _account_from_row(row: Row) -> Account:
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    return Account(**{**values, "role": Role(values["role"]), "disabled": bool(values["disabled"])})


# --- the keys of callers, by what recognises them ---------------------------------------------------------------------


_KEYS_COLUMNS: Final = (
    "tenant_id, id, hash, created_at, name, subjects, verbs, expires_at, revoked_at, last_used_at, "
    "previous_hash, previous_until"
)
_KEYS_CHANGES: Final = ", ".join(f"{name} = excluded.{name}" for name in _KEYS_COLUMNS.split(", ")[2:])


class ApiKeysTable:
    """See ``memstone.ports.access_tables.ApiKeys``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def put(self, key: ApiKey) -> None:
        values = {**asdict(key), "subjects": dump_json(asdict(key.subjects)), "verbs": dump_json(list(key.verbs))}
        names = _KEYS_COLUMNS.split(", ")
        await self._sql.run(
            f"INSERT INTO api_keys ({_KEYS_COLUMNS}) VALUES ({placeholder_list(len(names))}) "
            f"ON CONFLICT (tenant_id, id) DO UPDATE SET {_KEYS_CHANGES}",
            tuple(values[name] for name in names),
        )

    async def find(self, key_id: str) -> ApiKey | None:
        row = await self._sql.one(f"SELECT {_KEYS_COLUMNS} FROM api_keys WHERE id = ?", (key_id,))
        return None if row is None else _api_key_from_row(row)

    async def all(self, tenant_id: str) -> list[ApiKey]:
        query = f"SELECT {_KEYS_COLUMNS} FROM api_keys WHERE tenant_id = ? ORDER BY created_at, id"
        return [_api_key_from_row(row) for row in await self._sql.rows(query, (tenant_id,))]

    async def every(self) -> list[ApiKey]:
        return [_api_key_from_row(row) for row in await self._sql.rows(f"SELECT {_KEYS_COLUMNS} FROM api_keys")]

    async def record_use(self, tenant_id: str, key_id: str, at: Instant) -> None:
        query = "UPDATE api_keys SET last_used_at = ? WHERE tenant_id = ? AND id = ?"
        await self._sql.run(query, (at, tenant_id, key_id))


def _api_key_from_row(row: Row) -> ApiKey:
    tenant_id, key_id, hash_, created_at, name, subjects, verbs, *rest = row
    may, who = tuple(json.loads(verbs)), Subjects(**load_json_object(subjects))
    return ApiKey(tenant_id, key_id, hash_, created_at, name, who, may, *rest)


# --- agents -----------------------------------------------------------------------------------------------------------


_AGENTS_COLUMNS: Final = "id, created_at, updated_at, name, model, system_prompt"
_INSERT: Final = (
    f"INSERT INTO agents (tenant_id, {_AGENTS_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, id) "
)


class AgentsTable:
    """See ``memstone.ports.access_tables.Agents``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def get(self, tenant_id: str, agent_id: str) -> AgentRow | None:
        query = f"SELECT {_AGENTS_COLUMNS} FROM agents WHERE tenant_id = ? AND id = ?"
        row = await self._sql.one(query, (tenant_id, agent_id))
        return None if row is None else _agent_from_row(row)

    async def put(self, tenant_id: str, agent: AgentRow) -> None:
        changed = ("updated_at", "name", "model", "system_prompt")
        update = "DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in changed)
        await self._sql.run(_INSERT + update, _agent_params(tenant_id, agent))

    async def meet(self, tenant_id: str, agent_id: str, at: Instant) -> bool:
        return await self._sql.run(_INSERT + "DO NOTHING", _agent_params(tenant_id, AgentRow(agent_id, at, at))) > 0

    async def list_agents(self, tenant_id: str, limit: int, offset: int) -> list[AgentRow]:
        query = f"SELECT {_AGENTS_COLUMNS} FROM agents WHERE tenant_id = ? ORDER BY id LIMIT ? OFFSET ?"
        return [_agent_from_row(row) for row in await self._sql.rows(query, (tenant_id, limit, offset))]

    async def count(self, tenant_id: str) -> int:
        row = await self._sql.one("SELECT count(*) FROM agents WHERE tenant_id = ?", (tenant_id,))
        return int(row[0]) if row else 0

    async def remove(self, tenant_id: str, agent_id: str) -> bool:
        return await self._sql.run("DELETE FROM agents WHERE tenant_id = ? AND id = ?", (tenant_id, agent_id)) > 0


def _agent_from_row(row: Row) -> AgentRow:
    return AgentRow(*row)


def _agent_params(tenant_id: str, agent: AgentRow) -> tuple[object, ...]:
    times = (agent.created_at, agent.updated_at)
    return (tenant_id, agent.id, *times, agent.name, agent.model, agent.system_prompt)


# --- settings by tenant, user, agent and session, and how much is stored ----------------------------------------------


_PUT: Final = (
    "INSERT INTO settings (tenant_id, scope_key, key, value, updated_at) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (tenant_id, scope_key, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at"
)
_LIVE: Final = f"m.valid_to IS NULL AND m.status IN ({status_list(INDEXED)})"
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

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def version(self, tenant_id: str) -> str:
        query = "SELECT value FROM settings WHERE tenant_id = ? AND scope_key = '' AND key = ''"
        row = await self._sql.one(query, (tenant_id,))
        return "" if row is None else str(row[0])

    async def of(self, tenant_id: str, scope_keys: Sequence[str]) -> dict[str, dict[str, str]]:
        query = (
            "SELECT scope_key, key, value FROM settings "
            f"WHERE tenant_id = ? AND scope_key IN ({placeholder_list(len(scope_keys))}) AND key <> ''"
        )
        found: dict[str, dict[str, str]] = {}
        for scope_key, key, value in await self._sql.rows(query, (tenant_id, *scope_keys)):
            found.setdefault(scope_key, {})[key] = value
        return found

    async def put(self, tenant_id: str, scope_key: str, values: Mapping[str, str], at: Instant) -> None:
        await self._sql.many(_PUT, ((tenant_id, scope_key, name, value, at) for name, value in values.items()))
        await self._renew_version(tenant_id, at)

    async def drop(self, tenant_id: str, scope_key: str, names: Sequence[str] | None, at: Instant) -> int:
        if names is not None and not names:
            return 0
        query = "DELETE FROM settings WHERE tenant_id = ? AND scope_key = ? AND key <> ''"
        if names is not None:
            query += f" AND key IN ({placeholder_list(len(names))})"
        dropped = await self._sql.run(query, (tenant_id, scope_key, *(names or ())))
        if dropped:
            await self._renew_version(tenant_id, at)
        return dropped

    async def _renew_version(self, tenant_id: str, at: Instant) -> None:
        await self._sql.run(_PUT, (tenant_id, "", "", new_id(), at))

    async def list_by_name(self, tenant_id: str, name: str, limit: int) -> list[tuple[str, str]]:
        query = "SELECT scope_key, value FROM settings WHERE tenant_id = ? AND key = ? ORDER BY scope_key LIMIT ?"
        return [(str(row[0]), str(row[1])) for row in await self._sql.rows(query, (tenant_id, name, limit))]

    async def usage(self, tenant_id: str, user_id: str | None) -> Usage:
        if user_id is None:
            row = await self._sql.one(_OF_TENANT, (tenant_id,))
        else:
            row = await self._sql.one(_OF_USER, (tenant_id, user_id))
        return Usage(*row) if row is not None else Usage()


# --- a store's own keys, its list of erasures, and the copies that were made of it ------------------------------------


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

    def __init__(self, sql: SqlConnection) -> None:
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

    async def erasures(self) -> list[ErasureRecord]:
        query = (
            "SELECT tenant_id, id, created_at, user_digest, agent_digest, run_digest, memory_digest "
            "FROM erasures ORDER BY seq"
        )
        return [ErasureRecord(*row) for row in await self._sql.rows(query)]

    async def note_erasures(self, erased: Iterable[ErasureRecord]) -> None:
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
        return [KnownCopy(path, created_at, bool(full)) for path, created_at, full in rows]

    async def note_copies(self, tenant_id: str, copies: Iterable[KnownCopy]) -> None:
        await self._sql.many(_COPY, ((tenant_id, one.path, one.created_at, int(one.is_complete)) for one in copies))

    async def forget_copy(self, tenant_id: str, path: str) -> None:
        await self._sql.run("DELETE FROM backups WHERE tenant_id = ? AND path = ?", (tenant_id, path))


# --- whole-tenant questions and acts ----------------------------------------------------------------------------------


# Children first, so that no foreign key is in the way. Keys, agents and settings are configuration, not memory.
_MEMORY_TABLES: Final = (
    "mentions",
    "relations",
    "entities",
    "vectors",
    "links",
    "indexes",
    "changes",
    "events",
    "signals",
    "jobs",
    "leases",
    "receipts",
    "suppressed",
    "llm_cache",
    "continuations",
    "calibration",
    "idempotency",
    "counters",
)
_COUNTS: Final = f"""
SELECT (SELECT count(*) FROM memories WHERE tenant_id = :t AND valid_to IS NULL
          AND status IN ({status_list(INDEXED)})),
       (SELECT count(*) FROM memories WHERE tenant_id = :t AND valid_to IS NULL
          AND status IN ({status_list(INDEXED)}) AND layer = 'turn'),
       (SELECT count(*) FROM events WHERE tenant_id = :t),
       (SELECT count(*) FROM words f JOIN memories m ON m.seq = f.seq WHERE m.tenant_id = :t),
       (SELECT count(*) FROM vectors v JOIN indexes i ON i.tenant_id = v.tenant_id AND i.signature = v.signature
         WHERE v.tenant_id = :t AND i.state = 'active'),
       (SELECT count(*) FROM signals WHERE tenant_id = :t AND status = 'pending'),
       (SELECT count(*) FROM signals WHERE tenant_id = :t AND status = 'dead')"""


class AdminTable:
    """See ``memstone.ports.access_tables.Admin``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def counts(self, tenant_id: str) -> RowCounts:
        row = await self._sql.one(_COUNTS.replace(":t", "?"), (tenant_id,) * _COUNTS.count(":t"))
        memories, turns, events, fulltext, vectors, pending, dead = row or (0,) * 7
        return {
            "memories": memories,
            "turns": turns,
            "events": events,
            "fulltext": fulltext,
            "vectors": vectors,
            "pending": pending,
            "dead": dead,
        }

    async def reset(self, tenant_id: str) -> None:
        await self.clear_texts(tenant_id)
        for table in (*_MEMORY_TABLES, "memories"):
            await self._sql.run(f"DELETE FROM {table} WHERE tenant_id = ?", (tenant_id,))

    async def clear_texts(self, tenant_id: str) -> None:
        await FullTextTable(self._sql).clear(tenant_id)

    async def cursor(self) -> int:
        row = await self._sql.one("SELECT max(seq) FROM memories")
        return int(row[0]) if row and row[0] is not None else 0

    async def scopes(self, tenant_id: str, field: str, limit: int, offset: int) -> list[tuple[str, int, Instant]]:
        query = (
            f"SELECT l.{field}, count(DISTINCT m.seq), max(m.updated_at) FROM links l "
            "JOIN memories m ON m.seq = l.memory_seq AND m.tenant_id = l.tenant_id "
            f"WHERE l.tenant_id = ? AND l.{field} <> '' AND m.valid_to IS NULL AND m.status = 'active' "
            f"GROUP BY l.{field} ORDER BY count(DISTINCT m.seq) DESC, l.{field} LIMIT ? OFFSET ?"
        )
        rows = await self._sql.rows(query, (tenant_id, limit, offset))
        return [(str(name), int(count), str(last)) for name, count, last in rows]

    async def users_of(self, scope: Scope) -> list[str]:
        items = [(name, getattr(scope, name)) for name in ("agent_id", "run_id") if getattr(scope, name)]
        # "<> ''" repeats the condition of the partial indexes, which the planner needs to see to use them.
        narrowed = "".join(f" AND {name} = ? AND {name} <> ''" for name, _ in items)
        query = f"SELECT DISTINCT user_id FROM links WHERE tenant_id = ?{narrowed}"
        rows = await self._sql.rows(query, (scope.tenant_id, *(value for _, value in items)))
        return [str(row[0]) for row in rows]
