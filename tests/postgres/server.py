"""A PostgreSQL server for the tests: started once, and wiped for every test that asks for a store."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import psycopg

from memstone.adapters.postgres import migrations
from tests.patience import LONG

APP: Final = "app"
"""The role the product logs in as: it owns nothing, and row-level security binds it."""

_SETTINGS: Final = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "autovacuum": "off"}
_WIPE: Final = """
CREATE OR REPLACE FUNCTION public.wipe() RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    name TEXT;
BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'memstone' AND tablename <> 'schema_version' LOOP
        EXECUTE format('DELETE FROM memstone.%I', name);
    END LOOP;
    FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'memstone' AND last_value IS NOT NULL LOOP
        EXECUTE format('ALTER SEQUENCE memstone.%I RESTART', name);
    END LOOP;
END $$"""


@contextmanager
def _unhurried() -> Iterator[Any]:
    """The package that brings the server, which gives it ten seconds to start; a busy machine may take more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package's own, about folders of this machine
        package: Any = import_module("pgserver.postgres_server")
        start = package.pg_ctl

        def patient(args: list[str], **rest: Any) -> str:
            return str(start(["-t", f"{LONG:.0f}", *args], **{**rest, "timeout": LONG}))

        with patch.object(package, "pg_ctl", patient):
            yield package


class Server:
    """One server with one database that has the schema; ``database`` makes others.

    ``pattern`` has the schema too and nobody works in it: a database can only be copied while nobody is connected.
    """

    def __init__(self, folder: Path) -> None:
        with _unhurried() as package:
            self._server: Any = package.get_server(folder / "data", cleanup_mode=None)
        self._made = 0
        self._wiper: psycopg.Connection[Any] | None = None
        with self.superuser() as connection:
            for name, value in _SETTINGS.items():
                connection.execute(f"ALTER SYSTEM SET {name} = {value}")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute(f"CREATE ROLE {APP} LOGIN")
        self.pattern = self.database()
        with self.superuser(self.pattern) as connection:
            migrations.migrate_schema(connection)
            migrations.grant_to_role(connection, APP)
            connection.execute(_WIPE)
        self.name = self.database(self.pattern)

    def url(self, name: str = "postgres", role: str = "postgres") -> str:
        """Where a database is, for a role."""
        return str(self._server.get_uri(name)).replace("postgres:@", f"{role}@", 1)

    @contextmanager
    def superuser(self, name: str = "postgres") -> Iterator[psycopg.Connection[Any]]:
        """A connection that may do anything."""
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            yield connection

    def fresh(self) -> str:
        """An empty store, for the product's role."""
        if self._wiper is None or self._wiper.closed:
            self._wiper = psycopg.connect(self.url(self.name), autocommit=True)
            self._wiper.execute("SET session_replication_role = replica")
        self._wiper.execute("SELECT public.wipe()")
        return self.url(self.name, APP)

    def database(self, template: str = "template0") -> str:
        """A new database: an empty one, or a copy of ``pattern``."""
        self._made += 1
        name = f"memstone_{self._made}"
        with self.superuser() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def _rest(self) -> None:
        if self._wiper is not None:
            self._wiper.close()

    def restart(self) -> None:
        """Stop at once, as a crash would, and start again."""
        self.stop()
        with _unhurried():
            self._server.ensure_postgres_running()

    def stop(self) -> None:
        """Stop at once."""
        self._rest()
        commands: Any = import_module("pgserver._commands")
        commands.pg_ctl(["-w", "-m", "immediate", "stop"], pgdata=self._server.pgdata, user=self._server.system_user)


def _end_orphans() -> None:
    """Stop servers whose test run was killed: they outlive it."""
    for folder in Path(tempfile.gettempdir()).glob("memstone-pg-*-*"):
        owner = folder.name.split("-")[2]
        if not owner.isdigit() or Path(f"/proc/{owner}").exists() or not Path("/proc/self").exists():
            continue
        with suppress(OSError, ValueError, IndexError):
            os.kill(int((folder / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running() -> Iterator[Server]:
    """A server in a folder of its own, gone afterwards."""
    _end_orphans()
    folder = Path(tempfile.mkdtemp(prefix=f"memstone-pg-{os.getpid()}-"))
    server = Server(folder)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
