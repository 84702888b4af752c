"""The ledger in PostgreSQL: transactions, retries after a lost connection, and their outcome.

If the connection is lost during a COMMIT, the outcome has to be found out. The number of the transaction shows it,
unless the server has crashed since: it then reuses numbers that were not on disk yet, and a number may belong to
another transaction. A row that only this transaction can have written is more reliable, and most transactions have one:
their event or their signal, whose id is unique.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import InvalidParameterValue
from pydantic import BaseModel, ConfigDict, Field

from memstone.adapters.encrypted_files import CIPHER, EncryptedFiles, describe_keys
from memstone.adapters.forks import ForkSafeLock
from memstone.adapters.io.aio import AsyncIo
from memstone.adapters.postgres import migrations as schema
from memstone.adapters.postgres.backup import PostgresCopies
from memstone.adapters.postgres.connection import is_passing, open_connection, translate_postgres_errors
from memstone.adapters.postgres.notify import Listener, NotifySender, tenant_key
from memstone.adapters.postgres.pools import PATIENCE, AsyncPool, BlockingPool, Options, Pool, PooledConnection
from memstone.adapters.postgres.statements import Statement
from memstone.adapters.postgres.tx import Witness
from memstone.adapters.sql.rows import run_and_log
from memstone.errors import StorageBusy, StorageError
from memstone.ports.io import Io
from memstone.ports.ledger import Tenants, Work
from memstone.ports.storage import EncryptionKeys

if TYPE_CHECKING:
    from memstone.results import StoreCheck

# --- what became of a transaction whose COMMIT got no answer ----------------------------------------------------------


NUMBER: Final = "pg_postmaster_start_time()::text, pg_current_xact_id()::text"
"""What a transaction that writes asks for as it begins."""

_STATE: Final = "SELECT pg_xact_status($1::text::xid8), pg_postmaster_start_time()::text = $2::text"


class Fate(Enum):
    """``OPEN``: it is not over. ``UNKNOWN``: nobody can tell any more."""

    STORED = auto()
    LOST = auto()
    OPEN = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class PendingCommit:
    """A transaction whose COMMIT was sent: its number, since when its server runs, and a row that it wrote."""

    number: str
    started: str
    witness: Witness | None = None


async def read_commit_fate(lent: PooledConnection, sent: PendingCommit) -> Fate:
    """Look once, over a connection that peeks on behalf of the same tenant."""
    try:
        ((state, same),) = await lent.wire.fetch(_STATE, (sent.number, sent.started))
    except InvalidParameterValue:
        return Fate.LOST  # the server started again and has not come to this number again: it never wrote it down
    if state == "in progress" and same:
        return Fate.OPEN
    if sent.witness is not None:
        return Fate.STORED if await lent.peeked.saw(sent.witness) else Fate.LOST
    if state is not None and (same or state != "committed"):
        return Fate.STORED if state == "committed" else Fate.LOST
    return Fate.UNKNOWN


# --- the ledger in a PostgreSQL database ------------------------------------------------------------------------------


T = TypeVar("T")
_log: Final = logging.getLogger("memstone.ledger")
_TIMES: Final = 8
"""How often a unit is run at most, while its connection is lost or another one is in its way."""

_FATE_SECONDS: Final = 80.0
"""How long it is asked what became of a commit."""

_Kind: TypeAlias = Literal["read", "peek", "write", "aside"]
_BEGIN: Final[dict[_Kind, str]] = {
    "read": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    # Whoever waited for the turn has to see what was written meanwhile, whatever the role's own default is.
    "write": "BEGIN ISOLATION LEVEL READ COMMITTED",
    "aside": "BEGIN ISOLATION LEVEL READ COMMITTED",
}
"""A unit that peeks is a transaction which the server begins by itself."""


class PostgresConfig(BaseModel):
    """``url`` of the database; ``durable`` waits for the disk on every commit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field(repr=False)
    tenant: str = "default"
    durable: bool = True
    pool_size: int = Field(default=10, ge=1)
    statement_seconds: float = Field(default=60.0, gt=0)


@dataclass(slots=True)
class _Store:
    """What the ledgers of all tenants share."""

    config: PostgresConfig
    io: Io
    where: str
    caller: NotifySender
    pool: Pool | None = None
    state: schema.SchemaState | None = None
    guard: ForkSafeLock = field(default_factory=ForkSafeLock)
    units: set[asyncio.Task[Any]] = field(default_factory=set)
    closed: bool = False


class PostgresLedger(PostgresCopies):
    """See ``memstone.ports.ledger.Ledger``."""

    Config = PostgresConfig
    in_process = False

    def __init__(
        self, config: PostgresConfig, io: Io, keys: EncryptionKeys | None = None, store: _Store | None = None
    ) -> None:
        """With ``keys``, backups are encrypted; what the server has on its disks is up to the server."""
        self._config, self._io, self._keys = config, io, keys
        self._store = store or _Store(config, io, _redact_url(config.url), NotifySender(config.url))
        self._beginnings: dict[_Kind, list[Statement]] = {}

    @property
    def _place(self) -> tuple[str, str]:
        return self._config.url, self._config.tenant

    @property
    def _where(self) -> str:
        return self._store.where

    def of(self, tenant_id: str) -> PostgresLedger:
        """Return the same store for the units of another tenant."""
        if tenant_id == self._config.tenant:
            return self
        config = self._config.model_copy(update={"tenant": tenant_id})
        return PostgresLedger(config, self._io, self._keys, self._store)

    @property
    def _files(self) -> EncryptedFiles:
        return EncryptedFiles(self._keys)

    async def open(self) -> None:
        """Connect once, and bring the schema up to date."""
        if self._store.closed:
            raise StorageError("this memory is closed", hint="create a new one")
        if self._store.pool is None:
            await self._io.run(self._open)

    def _open(self) -> None:
        with translate_postgres_errors(self._store.where), open_connection(self._config.url) as connection:
            state = schema.ensure_migrated(connection)
            info = psycopg.types.TypeInfo.fetch(connection, sql.Identifier(state.vector_schema or "public", "vector"))
        if info is None:
            raise StorageError(
                f"{self._store.where}: the pgvector extension is missing", hint="CREATE EXTENSION vector"
            )
        options = Options(self._config.url, self._config.pool_size, 30.0, info.oid)
        with self._store.guard:  # of those who open it at the same moment, the first
            if self._store.pool is None:
                self._store.state = state
                self._store.pool = AsyncPool(options) if isinstance(self._io, AsyncIo) else BlockingPool(options)

    async def migrate(self, grant: Sequence[str] = ()) -> dict[str, Any]:
        """Bring the schema up to date as the role that connects, which then owns the tables."""
        return await self._io.run(lambda: self._migrate(grant))

    def _migrate(self, grant: Sequence[str]) -> dict[str, Any]:
        with translate_postgres_errors(self._store.where), open_connection(self._config.url) as connection:
            before = schema.migrate_schema(connection)
            for role in grant:
                schema.grant_to_role(connection, role)
        return {
            "location": self._store.where,
            "before": before,
            "schema": schema.latest_schema_version(),
            "granted": list(grant),
        }

    async def index_vectors(self, *, half: bool, progress: Callable[[int, int], None] | None) -> list[dict[str, Any]]:
        """Build the HNSW indexes that are missing, as the role that owns the tables."""
        from memstone.adapters.vectors.postgres import Build, build_indexes

        with translate_postgres_errors(self._store.where):
            return await self._io.run(
                lambda: build_indexes(self._config.url, [self._config.tenant], Build(half), progress)
            )

    async def read(self, work: Work[T]) -> T:
        """Run a unit on one snapshot."""
        return await self._run_to_end(self._run_read(work, self._read_once))

    async def peek(self, work: Work[T]) -> T:
        """Run a unit of one statement."""
        return await self._run_to_end(self._run_read(work, self._peek_once))

    async def write(self, work: Work[T]) -> T:
        """Run a unit as one transaction."""
        return await run_and_log(work, lambda unit: self._run_to_end(self._run_write(unit)))

    async def aside(self, work: Work[T]) -> T:
        """Run a unit that numbers nothing, and so need not wait for the tenant's turn."""
        return await self._run_to_end(self._run_write(work, "aside"))

    async def note(self, work: Work[T]) -> T:
        """Return the same: what is noted numbers nothing."""
        return await self.aside(work)

    async def ensure_room(self, *, by_writing: bool = False) -> None:
        """Do nothing: a server whose disk is full refuses what is written, and says so."""

    async def listen(self, ring: Callable[[], None], tenants: Tenants | None) -> Listener:
        """Ring when something becomes due."""
        await self.open()
        return Listener(self._config.url, ring, tenants)

    async def _run_to_end(self, unit: Coroutine[Any, Any, T]) -> T:
        """Run a unit to its end, even when whoever asked for it is cancelled."""
        if not isinstance(self._io, AsyncIo):
            return await unit
        task = asyncio.get_running_loop().create_task(unit)
        self._store.units.add(task)
        task.add_done_callback(self._store.units.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_log_unread_error)
            raise

    async def _run_read(self, work: Work[T], once: Callable[[PooledConnection, Work[T]], Awaitable[T]]) -> T:
        with translate_postgres_errors(self._store.where):
            for run in range(_TIMES):
                lent = await self._take_connection()
                try:
                    return await once(lent, work)
                except psycopg.ProgrammingError:  # a table or column may be gone by an upgrade
                    await self._refuse_upgraded(lent)
                    raise
                except psycopg.Error as error:
                    if run == _TIMES - 1 or not (lent.wire.is_lost or is_passing(error)):
                        raise
                finally:
                    await self._back(lent)
                await self._pause(run)
        raise AssertionError  # the last run returns or raises

    async def _read_once(self, lent: PooledConnection, work: Work[T]) -> T:
        await lent.wire.begin(self._begin_statements("read"))
        value = await work(lent.tx)
        await lent.wire.commit()
        return value

    async def _peek_once(self, lent: PooledConnection, work: Work[T]) -> T:
        lent.peeking.statements = self._begin_statements("peek")
        return await work(lent.peeked)

    async def _run_write(self, work: Work[T], kind: _Kind = "write") -> T:
        with translate_postgres_errors(self._store.where):
            for run in range(_TIMES):
                lent = await self._take_connection()
                try:
                    lent.tx.begin()
                    await lent.wire.begin(self._begin_statements(kind))
                    value = await work(lent.tx)
                    if await self._commit_unit(lent):
                        self._call(lent.tx.names_to_wake)
                        return value
                except psycopg.ProgrammingError:  # a table or column may be gone by an upgrade
                    await self._refuse_upgraded(lent)
                    raise
                except psycopg.Error as error:
                    if run == _TIMES - 1 or not (lent.wire.is_lost or is_passing(error)):
                        raise
                finally:
                    await self._back(lent)
                await self._pause(run)
        raise StorageBusy(f"{self._store.where}: the connection was lost too often")

    async def _refuse_upgraded(self, lent: PooledConnection) -> None:
        """Raise ``SchemaTooNew`` if that is why a statement failed."""
        await lent.wire.abandon()
        rows = await lent.wire.alone(self._begin_statements("peek"), f"SELECT {schema.CURRENT}", ())
        schema.refuse_upgraded(rows[0][0])

    def _call(self, texts: list[str]) -> None:
        if texts:
            self._store.caller.call(texts)

    async def _commit_unit(self, lent: PooledConnection) -> bool:
        """Commit; when the connection is lost meanwhile, find out what became of it. False: it was rolled back."""
        lines = await lent.wire.read_last_row()
        assert lines is not None, "a SELECT gives a row"  # noqa: S101 - tells the type checker what is so
        schema.refuse_upgraded(lines[0])
        try:
            await lent.wire.commit()
        except psycopg.Error:
            if lent.wire.is_lost:
                return await self._fate(PendingCommit(str(lines[-1]), str(lines[-2]), lent.tx.witness))
            raise
        return True

    async def _fate(self, sent: PendingCommit) -> bool:
        """Return whether a transaction whose COMMIT got no answer is in the database."""
        run, end, fate = 0, monotonic() + _FATE_SECONDS, Fate.OPEN
        while fate is Fate.OPEN and monotonic() < end:
            await self._pause(run)
            run += 1
            try:
                lent = await self._take_connection()
            except psycopg.Error:
                continue
            try:
                lent.peeking.statements = self._begin_statements("peek")
                fate = await read_commit_fate(lent, sent)
            except psycopg.Error as error:
                if not lent.wire.is_lost and not is_passing(error):
                    raise
            finally:
                await self._back(lent)
        if fate in (Fate.OPEN, Fate.UNKNOWN):
            raise StorageBusy(
                f"{self._store.where}: the connection was lost during a commit, and its outcome is unknown",
                hint="check what was stored before you repeat the call",
            )
        return fate is Fate.STORED

    async def _take_connection(self) -> PooledConnection:
        await self.open()
        assert self._store.pool is not None  # noqa: S101 - opening sets it or raises
        return await self._store.pool.take()

    async def _back(self, lent: PooledConnection) -> None:
        """Give a connection back; whatever a failed unit left open is rolled back first."""
        await lent.wire.abandon()
        assert self._store.pool is not None  # noqa: S101 - it lent the connection
        await self._store.pool.give(lent)

    async def _pause(self, run: int) -> None:
        await self._io.sleep(random.uniform(0.5, 1.0) * min(0.02 * 2**run, 2.0))  # noqa: S311 - jitter, not a secret

    def _begin_statements(self, kind: _Kind) -> list[Statement]:
        """Return what a transaction begins with.

        All of it ends with the transaction, so that connections may be shared.
        """
        known = self._beginnings.get(kind)
        if known is not None:
            return known
        state = self._store.state
        assert state is not None  # noqa: S101 - opening sets it or raises
        vectors = sql.Identifier(state.vector_schema or "public").as_string()
        settings = {
            "search_path": f"pg_catalog, memstone, {vectors}, pg_temp",
            "statement_timeout": str(_to_milliseconds(self._config.statement_seconds)),
            "memstone.tenant": self._config.tenant,
            # What lets more through is said by the statement that needs it, never by a session.
            "memstone.queue": "",
            "memstone.key": "",
        }
        if state.acts_as:
            settings["role"] = state.acts_as
        if kind in ("write", "aside") and (state.lazy or not self._config.durable):
            settings["synchronous_commit"] = "on" if self._config.durable else "off"
        if kind == "peek":
            settings["transaction_read_only"] = "on"
        made: list[Statement] = [*([(_BEGIN[kind], ())] if kind in _BEGIN else []), _set_config_statement(settings)]
        if kind == "write":
            # Turn after turn, tenant by tenant. The number tells later what became of the commit.
            turn = f"pg_advisory_xact_lock({tenant_key(self._config.tenant)})"
            made.append((f"SELECT {schema.CURRENT}, {turn}, {NUMBER}", ()))
        elif kind == "aside":
            made.append((f"SELECT {schema.CURRENT}, {NUMBER}", ()))
        self._beginnings[kind] = made
        return made

    async def check(self) -> StoreCheck:
        """Report location, schema, size, and whether row-level security binds the role."""
        await self.open()
        return await self._io.run(self._check)

    def _check(self) -> StoreCheck:
        with translate_postgres_errors(self._store.where), open_connection(self._config.url) as connection:
            state = schema.read_state(connection)
            row = connection.execute(
                "SELECT current_setting('server_version'), pg_database_size(current_database()), current_user, "
                "(SELECT extversion FROM pg_extension WHERE extname = 'vector')"
            ).fetchone()
        server, size, role, vector = row or ("", 0, "", "")
        return {
            "location": self._store.where,
            "postgresql": server,
            "pgvector": vector,
            "schema": state.version,
            "latest_schema": schema.latest_schema_version(),
            "role": role,
            "acts_as": state.acts_as or role,
            "walled": state.has_row_security,
            "bytes": size,
            "encryption": describe_keys("server", CIPHER, self._keys),
        }

    async def close(self) -> None:
        """Close every connection."""
        self._store.closed = True
        if self._store.units:
            await asyncio.wait(self._store.units, timeout=PATIENCE)
        if self._store.pool is not None:
            await self._store.pool.close()
        await self._io.run(self._store.caller.close)


def _log_unread_error(task: asyncio.Task[Any]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.error("a task failed after its caller was cancelled", exc_info=error)


def _redact_url(url: str) -> str:
    """Return the place without anything secret."""
    hint = "percent-encode special characters in a name or password: %40 for @, %2F for /"
    try:
        answer = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        why = str(error).partition('"')[0].rstrip(" :")  # in quotes stands what may be secret
        raise StorageError(f"store.url cannot be read: {why}", hint=hint) from None
    if "@" in str(answer.get("dbname", "")):  # behind a slash in a password all the rest of it counts as the database
        raise StorageError("store.url cannot be read: the name of the database contains an @", hint=hint)
    return f"postgresql://{answer.get('host', '')}/{answer.get('dbname', '')}"


def _to_milliseconds(seconds: float) -> int:
    """Return milliseconds as PostgreSQL takes them: 0 would be no limit, and there is a largest one."""
    return max(1, round(min(seconds, 2_000_000) * 1000))


def _set_config_statement(settings: dict[str, str]) -> Statement:
    asked = (f"set_config('{name}', ${place}, true)" for place, name in enumerate(settings, start=1))
    return f"SELECT {', '.join(asked)}", tuple(settings.values())
