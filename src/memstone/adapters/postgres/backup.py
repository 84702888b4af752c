"""Back up, verify, restore and rewrite copies of a PostgreSQL store.

A backup contains what the role may see: everything if row-level security does not apply to it, else its tenant. Rows of
a backup are read into temporary tables first, which have the names of the real ones, so units of work can run on them
before anybody sees the data. Then they replace the real rows, in the same transaction.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import psycopg
from psycopg import RawCursor, sql

from memstone.adapters.encrypted_files import CIPHER, EncryptedFiles
from memstone.adapters.postgres import migrations as schema
from memstone.adapters.postgres.connection import connect_options, register_vector_type, translate_postgres_errors
from memstone.adapters.postgres.notify import tenant_key
from memstone.adapters.postgres.pools import BlockingConnection
from memstone.adapters.sql.backup_archive import (
    extract_archive,
    is_backup,
    left_over,
    manifest_for,
    open_staging_folder,
    remove_path,
    unfinished_beside,
    write_archive,
)
from memstone.adapters.sql.memories import FIRST
from memstone.drive import drive
from memstone.errors import Corrupted, Forbidden, InvalidInput, MemstoneError
from memstone.model.instant import Instant
from memstone.ports.erasure import KnownCopy
from memstone.ports.io import Io
from memstone.ports.ledger import Work
from memstone.ports.storage import (
    ACCESS_TABLES,
    OWN_TABLES,
    SERVICE_SETTINGS,
    Admit,
    Beyond,
    Copy,
    Look,
    Progress,
    Signer,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


# --- copies of a PostgreSQL store -------------------------------------------------------------------------------------


STORE: Final = "postgresql"
_BLOCK: Final = 1 << 20
_FOLLOWED: Final = "changes"
"""Written again when a copy is put back, under numbers that nobody has seen: every index begins again."""

_SNAPSHOT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_TABLES: Final = """
SELECT c.relname::text, array_agg(a.attname::text ORDER BY a.attname COLLATE "C"),
       max(a.attname::text) FILTER (WHERE a.attidentity <> ''),
       (SELECT array_agg(pg_get_indexdef(i.indexrelid)) FROM pg_index i
         JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
        WHERE i.indrelid = c.oid AND m.amname = 'btree')
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
WHERE c.relnamespace = 'memstone'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND EXISTS (SELECT 1 FROM pg_attribute t WHERE t.attrelid = c.oid AND t.attname = 'tenant_id')
GROUP BY c.oid, c.relname ORDER BY c.relname COLLATE "C\""""
_INDEX: Final = re.compile(r"^CREATE (UNIQUE )?INDEX \S+ ON (?:ONLY )?\S+ USING")


@dataclass(frozen=True, slots=True)
class BackupTable:
    """A table, the columns that somebody writes, and the one that the database numbers."""

    name: str
    columns: tuple[str, ...]
    numbered: str | None
    indexes: tuple[str, ...]

    @property
    def live(self) -> sql.Identifier:
        """The real one."""
        return sql.Identifier("memstone", self.name)

    @property
    def copy(self) -> sql.Identifier:
        """The temporary one."""
        return sql.Identifier("pg_temp", self.name)

    @property
    def sequence(self) -> str:
        """What numbers its rows."""
        return f"memstone.{self.name}_{self.numbered}_seq"


class BackupSession:
    """A connection of its own for one copy, with the tables over it."""

    def __init__(self, connection: BlockingConnection, tenant: str, files: EncryptedFiles) -> None:
        self.connection, self.tenant, self.files = connection, tenant, files
        state = schema.read_state(_plain_cursor(connection))
        schema.refuse_upgraded(state.version)
        self.sees_everything = state.superuser or state.bypasses
        self.version, self.vectors = state.version, state.vector_schema or "public"
        found = _plain_cursor(connection).execute(_TABLES).fetchall()
        tables = [
            BackupTable(name, tuple(columns), numbered, tuple(indexes or ()))
            for name, columns, numbered, indexes in found
        ]
        self.tables = sorted(tables, key=lambda one: FIRST.index(one.name) if one.name in FIRST else len(FIRST))

    @property
    def tenants(self) -> str | None:
        """The one tenant that can be seen; None when all can."""
        return None if self.sees_everything else self.tenant

    def run(self, query: sql.Composed | sql.SQL) -> psycopg.Cursor[Any]:
        """Run a statement that is put together from names."""
        return psycopg.ClientCursor(self.connection).execute(query)

    def begin(self, how: str, path: Sequence[str]) -> None:
        """Begin a transaction that speaks for the tenant and looks for tables here, one place after the other."""
        places = sql.SQL(", ").join(sql.Identifier(name) for name in (*path, self.vectors))
        self.connection.execute(how.encode())
        self.run(sql.SQL("SET LOCAL search_path = {}").format(places))
        self.run(sql.SQL("SELECT set_config('memstone.tenant', {}, true)").format(sql.Literal(self.tenant)))
        self.connection.execute(b"SET LOCAL statement_timeout = 0")  # however large a table is


def _plain_cursor(connection: BlockingConnection) -> Any:
    """Return the connection for statements with plain placeholders."""
    return psycopg.ClientCursor(connection)


@contextmanager
def open_session(url: str, tenant: str, files: EncryptedFiles) -> Iterator[BackupSession]:
    """Open one; what is left open in the end is rolled back."""
    made = BlockingConnection.connect(url, cursor_factory=RawCursor, **connect_options(url))
    with closing(made):
        opened = BackupSession(made, tenant, files)
        kind = psycopg.types.TypeInfo.fetch(made, sql.Identifier(opened.vectors, "vector"))
        register_vector_type(made, kind.oid if kind else 0)
        yield opened


# --- writing ----------------------------------------------------------------------------------------------------------


def write_backup(
    session: BackupSession, target: Path, created_at: Instant, signer: Signer, progress: Progress | None
) -> dict[str, Any]:
    """Copy what can be seen at one moment into one file; others go on writing."""
    for path in left_over(target.parent, target.name):
        remove_path(path)
    session.begin(_SNAPSHOT, ("pg_catalog", "memstone"))
    try:
        with open_staging_folder(target) as folder:
            parts, counts = _dump_tables(session, folder, progress, live=True)
            about = {**_manifest_fields(session, counts), "tenant": session.tenants, "created_at": created_at}
            return write_archive(target, parts, about, signer)
    finally:
        session.connection.execute(b"ROLLBACK")


def _manifest_fields(session: BackupSession, counts: Mapping[str, int]) -> dict[str, Any]:
    columns = {table.name: list(table.columns) for table in session.tables}
    fields = {"store": STORE, "schema": session.version, "tables": dict(counts), "columns": columns}
    name = session.files.key_name
    return fields if name is None else {**fields, "encryption": {"cipher": CIPHER, "key": name}}


def _dump_tables(
    session: BackupSession, folder: Path, progress: Progress | None, *, live: bool
) -> tuple[dict[str, Path], dict[str, int]]:
    """Write all tables to files; return these by name, and how many rows each has."""
    total = sum(_count_rows(session, table, live=live) for table in session.tables) if progress else 0
    parts, counts, done = dict[str, Path](), dict[str, int](), 0
    for table in session.tables:
        parts[_part_file_name(table.name)] = file = folder / _part_file_name(table.name)
        counts[table.name] = 0
        with (
            file.open("wb") as plain,
            session.files.open_writer(plain) as out,
            session.connection.cursor().copy(_copy_out_query(session, table, live=live)) as rows,
        ):
            for block in rows:
                out.write(bytes(block))
                counts[table.name] += bytes(block).count(b"\n")  # a row is a line: line breaks in it are escaped
                _report_progress(progress, done + counts[table.name], total)
        done += counts[table.name]
    _report_progress(progress, total, total)
    return parts, counts


def _report_progress(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)


def _part_file_name(table: str) -> str:
    return f"{table}.copy"


def _from_clause(session: BackupSession, table: BackupTable, *, live: bool) -> sql.Composed:
    """Return the rows that belong into a copy.

    Row-level security hides the others already; the condition is a cheap second check.
    """
    if not live:
        return sql.SQL("FROM {}").format(table.copy)
    if session.tenants is None:
        return sql.SQL("FROM {}").format(table.live)
    return sql.SQL("FROM {} WHERE tenant_id = {}").format(table.live, sql.Literal(session.tenant))


def _count_rows(session: BackupSession, table: BackupTable, *, live: bool) -> int:
    row = session.run(sql.SQL("SELECT count(*) {}").format(_from_clause(session, table, live=live))).fetchone()
    return int(row[0]) if row else 0


def _copy_out_query(session: BackupSession, table: BackupTable, *, live: bool) -> sql.Composed:
    query = sql.SQL("SELECT {} {}").format(_join_column_names(table.columns), _from_clause(session, table, live=live))
    return sql.SQL("COPY ({}) TO STDOUT").format(query)


def _join_column_names(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(name) for name in columns)


# --- reading ----------------------------------------------------------------------------------------------------------


def extract_copy(path: Path, folder: Path) -> dict[str, Any]:
    """Put the parts of a copy into a folder, each checked; return the manifest."""
    manifest = manifest_for(path, STORE, schema.latest_schema_version())
    tables = manifest.get("tables")
    if not isinstance(tables, dict) or not isinstance(manifest.get("columns"), dict):
        raise Corrupted(f"{path} does not list its tables", hint="use another backup")
    return extract_archive(path, folder, frozenset(_part_file_name(name) for name in tables))


def verify_copy(path: Path, folder: Path, files: EncryptedFiles) -> dict[str, Any]:
    """Return the manifest, after everything in the file was compared with it."""
    manifest = extract_copy(path, folder)
    for name, count in manifest["tables"].items():
        with (folder / _part_file_name(name)).open("rb") as file:
            content = files.open_reader(file, str(path))
            lines = sum(block.count(b"\n") for block in iter(partial(content.read, _BLOCK), b""))
        if lines != count:
            raise Corrupted(f"{path} does not match its manifest: {name}", hint="use another backup")
    return manifest


def stage_copy(session: BackupSession, path: Path, folder: Path, admit: Admit | None = None) -> dict[str, Any]:
    """Begin a transaction in which the rows of a copy are in temporary tables; return the manifest.

    With ``admit``, rows of a foreign copy that would open a door are left out, and the manifest says which.
    """
    manifest = verify_copy(path, folder, session.files)
    foreign = admit is not None and admit(manifest) == "foreign"
    barred = frozenset((*ACCESS_TABLES, *OWN_TABLES)) if foreign else frozenset[str]()
    session.begin("BEGIN ISOLATION LEVEL READ COMMITTED", ("pg_temp", "pg_catalog", "memstone"))
    try:
        for table in session.tables:
            _stage_table(session, table, manifest, folder if table.name not in barred else None)
        if foreign:
            manifest = {**manifest, "left_out": _left_out(session, manifest, barred)}
        for table in session.tables:
            if table.numbered:
                _raise_numbers(session, table)
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.UndefinedColumn) as error:
        raise Corrupted(f"{path} is damaged: {error.diag.message_primary}", hint="use another backup") from error
    return manifest


def _left_out(session: BackupSession, manifest: Mapping[str, Any], barred: frozenset[str]) -> dict[str, Any]:
    """Take out settings of a service that a foreign copy holds; return all that is not taken from it, in rows."""
    query = sql.SQL("DELETE FROM pg_temp.settings WHERE starts_with(scope_key, {})")
    service = session.run(query.format(sql.Literal(SERVICE_SETTINGS))).rowcount
    taken = {table.name for table in session.tables} - barred
    rows = {name: count for name, count in manifest["tables"].items() if count and name not in taken}
    return {"rows": {**rows, **({"settings": service} if service else {})}, "objects": []}


def _stage_table(session: BackupSession, table: BackupTable, manifest: Mapping[str, Any], folder: Path | None) -> None:
    like = "CREATE TEMP TABLE {} (LIKE {} INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING STORAGE) ON COMMIT DROP"
    session.run(sql.SQL(like).format(sql.Identifier(table.name), table.live))
    columns = manifest["columns"].get(table.name)
    # A later schema may have tables that the copy does not know.
    if columns and folder is not None and table.name in manifest["tables"]:
        query = sql.SQL("COPY {} ({}) FROM STDIN").format(table.copy, _join_column_names(columns))
        with (folder / _part_file_name(table.name)).open("rb") as file, session.connection.cursor().copy(query) as rows:
            content = session.files.open_reader(file, table.name)
            while block := content.read(_BLOCK):
                rows.write(block)
    for index in table.indexes:
        made = _INDEX.sub(lambda found: f"CREATE {found[1] or ''}INDEX ON pg_temp.{table.name} USING", index)
        session.connection.execute(made.encode())
    if table.numbered:
        default = sql.SQL("ALTER TABLE {} ALTER COLUMN {} SET DEFAULT nextval({})")
        session.run(default.format(table.copy, sql.Identifier(table.numbered), sql.Literal(table.sequence)))


def _raise_numbers(session: BackupSession, table: BackupTable) -> None:
    """Give out no number twice. Whoever may not set the counter of a table may still count."""
    column = sql.Identifier(table.numbered or "")
    highest = session.run(sql.SQL("SELECT coalesce(max({}), 0) FROM {}").format(column, table.copy)).fetchone()
    name = sql.Literal(table.sequence)
    last = session.run(sql.SQL("SELECT nextval({0}), has_sequence_privilege({0}, 'UPDATE')").format(name)).fetchone()
    missing = highest[0] - last[0] if highest and last else 0
    if missing <= 0 or last is None or highest is None:
        return
    if last[1]:
        session.run(sql.SQL("SELECT setval({}, {})").format(name, sql.Literal(highest[0])))
    else:
        count = "SELECT max(nextval({})) FROM generate_series(1, {})"
        session.run(sql.SQL(count).format(name, sql.Literal(missing)))


def refuse_wider(session: BackupSession, manifest: Mapping[str, Any]) -> None:
    """Refuse a copy whose maker saw more than whoever puts it back."""
    tenant = manifest.get("tenant")
    if tenant is None and not session.sees_everything:
        raise Forbidden(
            "this backup contains all tenants", hint="connect as a role that can see all of them, such as a superuser"
        )
    if tenant is not None and tenant != session.tenant:
        raise Forbidden("this backup belongs to another tenant", hint=f"open the store for the tenant {tenant!r}")


def put_back(session: BackupSession, manifest: Mapping[str, Any], progress: Progress | None) -> None:
    """Replace the tables by the staged ones, and commit.

    Readers see one or the other, nothing between.
    """
    tenant = manifest.get("tenant")
    owner = sql.SQL("") if tenant is None else sql.SQL(" WHERE tenant_id = {}").format(sql.Literal(tenant))
    _stop_writers(session, tenant)
    for table in reversed(session.tables):
        session.run(sql.SQL("DELETE FROM {}{}").format(table.live, owner))
    counts = [_count_rows(session, table, live=False) for table in session.tables]
    done = 0
    for table, count in zip(session.tables, counts, strict=True):
        if table.name != _FOLLOWED:
            put = sql.SQL("INSERT INTO {0} ({1}) SELECT {1} FROM {2}")
            session.run(put.format(table.live, _join_column_names(table.columns), table.copy))
        done += count
        _report_progress(progress, done, sum(counts))
    again = "INSERT INTO memstone.changes (tenant_id, user_id, memory_seq) SELECT tenant_id, user_id, memory_seq "
    session.run(sql.SQL(again + "FROM memstone.links{} ORDER BY memory_seq").format(owner))
    session.connection.execute(b"COMMIT")


def _stop_writers(session: BackupSession, tenant: str | None) -> None:
    if tenant is None:
        tables = sql.SQL(", ").join(table.live for table in session.tables)
        session.run(sql.SQL("LOCK TABLE {} IN EXCLUSIVE MODE").format(tables))
    else:
        session.run(sql.SQL("SELECT pg_advisory_xact_lock({})").format(sql.Literal(tenant_key(tenant))))


def write_again(
    session: BackupSession, target: Path, manifest: Mapping[str, Any], signer: Signer | None
) -> dict[str, Any]:
    """Write what is staged in place of the copy it came from."""
    with open_staging_folder(target) as folder:
        parts, counts = _dump_tables(session, folder, None, live=False)
        stored = {name: manifest.get(name) for name in ("tenant", "created_at")}
        return write_archive(target, parts, {**_manifest_fields(session, counts), **stored, "rewritten": True}, signer)


# --- the part of the PostgreSQL ledger that copies itself. Its files belong to the server, and so ---------------------


T = TypeVar("T")
_HOLDING: Final = (
    *("account_sessions", "accounts", "calibration", "changes", "continuations", "counters", "entities", "events"),
    *("idempotency", "jobs", "links", "llm_cache", "memories", "mentions", "receipts", "relations", "settings"),
    *("signals", "suppressed", "vectors", "words"),
)
"""The tables that may hold something of somebody."""


class PostgresCopies:
    """See ``memstone.ports.storage.CopyableLedger``."""

    holds_files: Final = False
    beyond: Final = Beyond(
        places=(
            "base: deleted rows stay in the table files until the server rewrites them",
            "pg_wal: the write-ahead log contains what was written until its segments are removed",
            "replicas and archives of the write-ahead log",
            "copies made with pg_dump or pg_basebackup, and disk snapshots",
            "the server's own log, if it logs statements",
        ),
        commands=(
            f"VACUUM (FULL) {', '.join(f'memstone.{name}' for name in _HOLDING)};",
            "ALTER SYSTEM SET wal_recycle = off;",
            "SELECT pg_reload_conf();",
            "SELECT pg_switch_wal();",
            "CHECKPOINT;",
            "ALTER SYSTEM RESET wal_recycle;",
            "SELECT pg_reload_conf();",
        ),
    )
    _io: Io

    def is_own(self, path: Path) -> bool:
        """Return False: no file is."""
        del path
        return False

    @property
    def _place(self) -> tuple[str, str]:
        """The URL, and the tenant to speak for."""
        raise NotImplementedError

    @property
    def _where(self) -> str:
        raise NotImplementedError

    @property
    def _files(self) -> EncryptedFiles:
        """What writes and reads the parts of a backup."""
        raise NotImplementedError

    async def open(self) -> None:
        """Connect."""
        raise NotImplementedError

    async def write(self, work: Work[T]) -> T:
        """Run a unit as one transaction."""
        raise NotImplementedError

    async def backup(
        self, path: Path, created_at: Instant, signer: Signer, progress: Progress | None
    ) -> dict[str, Any]:
        """Copy everything that can be seen into one file."""
        await self.open()
        return await self._io.run(lambda: self._backup(path, created_at, signer, progress))

    async def inspect(self, path: Path) -> dict[str, Any]:
        """Return the manifest of a backup, checked against all that is in it."""
        return await self._io.run(lambda: self._inspect(path))

    async def restore(self, path: Path, admit: Admit, prepare: Work[bool], progress: Progress | None) -> dict[str, Any]:
        """Put a backup in place of what is there."""
        await self.open()
        return await self._io.run(lambda: self._restore(path, admit, prepare, progress))

    async def rewrite(
        self, known: Sequence[KnownCopy], work: Work[Look | None], signer: Signer, *, own: bool = True
    ) -> list[Copy]:
        """Erase in every copy; there are none of the ledger's ``own``."""
        del own
        await self.open()
        return await self._io.run(lambda: [self._rewrite(one, work, signer) for one in known])

    async def remove(self, work: Work[T]) -> T:
        """Run a unit that removes rows and all that refers to them."""
        return await self.write(work)

    async def drop_settings_beside(self, tenant_id: str, scope_key: str) -> None:
        """Do nothing: there are no copies beside a database."""

    async def empty_log(self) -> bool:
        """Return True: there is nothing that the product may do."""
        return True

    async def wipe(self) -> bool:
        """Return True: there is nothing that the product may do, as vacuuming and its logs are the server's."""
        return True

    async def traces(self, look: Look) -> dict[str, int]:  # noqa: ARG002 - there is nothing to look at
        """Return nothing: the store has no files of its own."""
        return {}

    def _session(self) -> AbstractContextManager[BackupSession]:
        return open_session(*self._place, self._files)

    def _backup(self, path: Path, created_at: Instant, signer: Signer, progress: Progress | None) -> dict[str, Any]:
        if path.exists() and not is_backup(path):
            raise InvalidInput(f"{path} already exists and is not a backup", hint="choose another name")
        if not path.parent.is_dir():
            raise InvalidInput(f"the folder {path.parent} does not exist", hint="create it first")
        with translate_postgres_errors(self._where), self._session() as session:
            return write_backup(session, path, created_at, signer, progress)

    def _inspect(self, path: Path) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="memstone-") as folder:
            return verify_copy(path, Path(folder), self._files)

    def _restore(self, path: Path, admit: Admit, prepare: Work[bool], progress: Progress | None) -> dict[str, Any]:
        with (
            translate_postgres_errors(self._where),
            tempfile.TemporaryDirectory(prefix="memstone-") as folder,
            self._session() as session,
        ):
            manifest = stage_copy(session, path, Path(folder), admit)
            refuse_wider(session, manifest)
            drive(prepare(session.connection.pooled_connection.tx))
            put_back(session, manifest, progress)
        return manifest

    def _rewrite(self, known: KnownCopy, work: Work[Look | None], signer: Signer) -> Copy:
        """Erase in a backup; what stays in the way is told, not raised."""
        path = Path(known.path)
        try:
            for unfinished in left_over(path.parent, path.name):
                remove_path(unfinished)
            if not known.is_complete and unfinished_beside(path):
                return Copy(known.path, "unreachable", "it is being written")
            if not path.is_file():
                return Copy(known.path, "missing", "" if known.is_complete else "it was started but not finished")
            return Copy(known.path, "rewritten" if self._erase_in_copy(path, work, signer) else "clean")
        except (OSError, MemstoneError, psycopg.Error) as error:
            return Copy(known.path, "unreachable", str(error))

    def _erase_in_copy(self, path: Path, work: Work[Look | None], signer: Signer) -> bool:
        """Return whether there was anything to erase. A copy is its rows, so nothing else of them can be in it."""
        with tempfile.TemporaryDirectory(prefix="memstone-") as folder, self._session() as session:
            manifest = stage_copy(session, path, Path(folder))
            if drive(work(session.connection.pooled_connection.tx)) is None:
                return False
            write_again(session, path, manifest, signer if signer.origin(manifest) == "ours" else None)
        return True
