"""Bring a PostgreSQL database's schema up to date.

The same numbered steps as on SQLite, one transaction each, under an advisory lock, so that of many processes that start
together one migrates and the others wait. Whoever migrates owns the tables; the product then works as ``memstone_app``,
a role that owns nothing and that row-level security binds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, LiteralString

import psycopg
from psycopg import sql

from memstone.adapters.postgres.connection import setting_up
from memstone.adapters.sqlite.migrations import Migration, schema_upgraded_error
from memstone.errors import MigrationFailed, SchemaTooNew
from memstone.model.former_name import FORMER_NAME

APP_ROLE: Final = "memstone_app"
OLDEST_SERVER: Final = 150000
_VERSIONS: Final = """
CREATE TABLE IF NOT EXISTS memstone.schema_version (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"""
_VERSION: Final = "SELECT max(number) FROM memstone.schema_version"
CURRENT: Final = f"({_VERSION})"
"""What a transaction that writes asks for as it begins. Until it ends, it holds up whoever upgrades the schema."""

# Waits for all who write and keeps others from beginning: they see the new version before they write anything.
_STOP_WRITERS: Final = "LOCK TABLE memstone.schema_version IN ACCESS EXCLUSIVE MODE"
_STATE: Final = """
SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
       current_setting('synchronous_commit') = 'off', to_regclass('memstone.schema_version') IS NOT NULL,
       (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'),
       r.rolsuper, r.rolbypassrls,
       coalesce((SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c
                  WHERE c.oid = to_regclass('memstone.memories')), false),
       (SELECT pg_has_role(a.oid, 'MEMBER') AND has_schema_privilege(a.oid, 'memstone', 'USAGE') FROM pg_roles a
         WHERE a.rolname = %s AND to_regnamespace('memstone') IS NOT NULL)
FROM pg_roles r WHERE r.rolname = current_user"""
_VECTOR: Final = """
SELECT n.nspname, string_to_array(e.extversion, '.')::int[] >= ARRAY[0, 8]
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"""
_GRANTS: Final = """
GRANT USAGE ON SCHEMA memstone, memstone_views TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA memstone TO {role};
REVOKE INSERT, UPDATE, DELETE ON memstone.schema_version FROM {role};
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA memstone TO {role};
GRANT SELECT ON ALL TABLES IN SCHEMA memstone_views TO {role}"""
_GRANTED: Final = """
SELECT has_schema_privilege(%(role)s, 'memstone', 'USAGE') AND bool_and(has_table_privilege(%(role)s, oid, 'SELECT'))
FROM pg_class WHERE relnamespace = 'memstone'::regnamespace AND relkind = 'r'"""


# A database of the former name. Policies, views and grants go along with what they are about; only what names a setting
# of the session is written again. The former role stays, because other databases of the server may use it, and whoever
# was its member becomes one of the new role.
_FORMER: Final = "SELECT to_regclass('retain.schema_version') IS NOT NULL AND to_regnamespace('memstone') IS NULL"
_RENAME: Final = """
ALTER SCHEMA retain RENAME TO memstone;
ALTER SCHEMA retain_views RENAME TO memstone_views;
CREATE OR REPLACE FUNCTION memstone.tenant_spoken_for() RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('memstone.tenant', true), '') COLLATE "C";
ALTER TABLE memstone.words ALTER COLUMN tenant_id SET DEFAULT current_setting('memstone.tenant');
ALTER POLICY shown ON memstone.api_keys USING (id = nullif(current_setting('memstone.key', true), ''));
ALTER POLICY queue ON memstone.signals USING (current_setting('memstone.queue', true) = 'all')"""
_FORMER_ROLE: Final = "retain_app"


@dataclass(frozen=True, slots=True)
class SchemaState:
    """What a look at the database tells."""

    server: int
    encoding: str
    lazy: bool
    """Whether the server does not wait for the disk unless it is told to."""

    version: int
    vector_schema: str | None
    superuser: bool
    bypasses: bool
    owner: bool
    may_be_app: bool

    @property
    def acts_as(self) -> str | None:
        """The role to change to, because the one that connected is above the wall."""
        return APP_ROLE if self.may_be_app and (self.superuser or self.bypasses or self.owner) else None

    @property
    def has_row_security(self) -> bool:
        """Whether row-level security binds what the product does."""
        return self.acts_as is not None or not (self.superuser or self.bypasses)


@cache
def list_migrations() -> tuple[Migration, ...]:
    """Return all steps, in order."""
    folder = files("memstone.adapters.postgres") / "sql"
    scripts = sorted((item for item in folder.iterdir() if item.name.endswith(".sql")), key=lambda item: item.name)
    return tuple(Migration(int(item.name[:4]), item.name, item.read_text("utf-8")) for item in scripts)


def latest_schema_version() -> int:
    """Return the schema version this Memstone writes."""
    return list_migrations()[-1].number


def read_state(connection: psycopg.Connection[Any]) -> SchemaState:
    """Return what is there, and what the role that connected may do."""
    row = connection.execute(_STATE, (APP_ROLE,)).fetchone()
    assert row is not None, "every role can see itself"  # noqa: S101 - tells the type checker what is so
    server, encoding, lazy, known, schema, superuser, bypasses, owner, may = row
    version = _fetch_first_value(connection, _VERSION) or 0 if known else 0
    return SchemaState(server, encoding, lazy, int(version), schema, superuser, bypasses, owner, bool(may))


def ensure_migrated(connection: psycopg.Connection[Any]) -> SchemaState:
    """Return the state of a database that is up to date; brings it there if need be."""
    state = read_state(connection)
    if state.version == latest_schema_version():
        return state
    migrate_schema(connection)
    return read_state(connection)


def refuse_upgraded(version: int) -> None:
    """Raise ``SchemaTooNew`` if a database has been upgraded since this process opened it."""
    if version > latest_schema_version():
        raise schema_upgraded_error(version, latest_schema_version())


def migrate_schema(connection: psycopg.Connection[Any]) -> int:
    """Apply what is missing; return the version the database had before."""
    if _fetch_first_value(connection, _FORMER):
        _rename_former(connection)
    state = read_state(connection)
    _refuse_unsupported(state)
    for step in list_migrations():
        if step.number > state.version:
            _apply_migration(connection, step)
    return state.version


def grant_to_role(connection: psycopg.Connection[Any], role: str) -> None:
    """Let a role run the product: read and write rows, own nothing."""
    connection.execute(_script_for_role(_GRANTS, role))
    row = connection.execute(_GRANTED, {"role": role}).fetchone()
    if row != (True,):  # whoever may not grant is only warned by the server
        raise MigrationFailed(
            f"could not grant access to {role}", hint="run `memstone migrate` as the role that owns the tables"
        )


def _refuse_unsupported(state: SchemaState) -> None:
    if state.server < OLDEST_SERVER:
        raise MigrationFailed(
            "Memstone needs PostgreSQL 15 or newer",
            hint="older versions have no views that check the caller's permissions",
        )
    if state.encoding != "UTF8":
        raise MigrationFailed(
            f"the database uses the encoding {state.encoding}", hint="create the database with ENCODING 'UTF8'"
        )
    if state.version > latest_schema_version():
        raise SchemaTooNew(
            f"the database has schema {state.version}, this version of Memstone knows up to {latest_schema_version()}"
        )


def _apply_migration(connection: psycopg.Connection[Any], step: Migration) -> None:
    try:
        with setting_up(connection):
            if read_state(connection).version >= step.number:
                return  # another process was faster
            schema = _prepare_schemas(connection)
            connection.execute(_STOP_WRITERS)
            path = sql.SQL("SET LOCAL search_path = memstone, pg_catalog, {}").format(sql.Identifier(schema))
            connection.execute(path)
            connection.execute(step.script)  # our own file
            connection.execute(
                "INSERT INTO memstone.schema_version (number, name) VALUES (%s, %s)", (step.number, step.name)
            )
            _with_app_role(connection)
    except psycopg.errors.InsufficientPrivilege as error:
        raise MigrationFailed(
            f"{step.name}: {error.diag.message_primary}",
            hint="run `memstone migrate` as a role that may create schemas (and extensions, if pgvector is missing)",
        ) from error
    except psycopg.Error as error:
        raise MigrationFailed(
            f"{step.name}: {error.diag.message_primary or error}", hint="the database was not changed"
        ) from error


def _rename_former(connection: psycopg.Connection[Any]) -> None:
    """Give the schemas of a database that was made under the former name the new one, with everything in them."""
    try:
        with setting_up(connection):
            if _fetch_first_value(connection, _FORMER):  # else another process was faster
                connection.execute(_RENAME)
    except psycopg.errors.InsufficientPrivilege as error:
        raise MigrationFailed(
            f"the schema {FORMER_NAME} could not be renamed: {error.diag.message_primary}",
            hint="run `memstone migrate` as the role that owns it",
        ) from error


def _prepare_schemas(connection: psycopg.Connection[Any]) -> str:
    """Prepare the schemas and pgvector; return the schema pgvector is in."""
    connection.execute("CREATE SCHEMA IF NOT EXISTS memstone")
    connection.execute("CREATE SCHEMA IF NOT EXISTS memstone_views")
    connection.execute(_VERSIONS)
    try:
        with connection.transaction():
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.errors.FeatureNotSupported as error:
        raise MigrationFailed(
            "pgvector is not installed on this server", hint="install the package pgvector"
        ) from error
    row = connection.execute(_VECTOR).fetchone()
    assert row is not None, "it was just made"  # noqa: S101 - tells the type checker what is so
    if not row[1]:
        raise MigrationFailed(
            "Memstone needs pgvector 0.8 or newer", hint="run ALTER EXTENSION vector UPDATE as its owner"
        )
    return str(row[0])


def _with_app_role(connection: psycopg.Connection[Any]) -> None:
    """Make the role the product works as, where this is allowed; where it is not, the wall binds the owner too."""
    try:
        with connection.transaction():
            if _fetch_first_value(connection, f"SELECT to_regrole('{APP_ROLE}') IS NULL"):
                connection.execute(f"CREATE ROLE {APP_ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS")
            connection.execute(f"GRANT {APP_ROLE} TO CURRENT_USER")
            if _fetch_first_value(connection, f"SELECT to_regrole('{_FORMER_ROLE}') IS NOT NULL"):
                connection.execute(f"GRANT {APP_ROLE} TO {_FORMER_ROLE}")
            grant_to_role(connection, APP_ROLE)
    except psycopg.errors.InsufficientPrivilege:
        return


def _script_for_role(text: LiteralString, role: str) -> sql.Composed:
    return sql.SQL(text).format(role=sql.Identifier(role))


def _fetch_first_value(connection: psycopg.Connection[Any], query: LiteralString) -> Any:
    row = connection.execute(query).fetchone()
    return None if row is None else row[0]
