"""The roles that the compose file makes: the script is run as the image would run it, and then they are used."""

from __future__ import annotations

import os
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from memstone import Memory
from memstone.cli.run import run_command
from memstone.errors import MigrationFailed
from tests.postgres.server import Server

SCRIPT: Final = Path(__file__).resolve().parents[2] / "container" / "init-postgres.sh"


def _set_up(postgres: Server) -> str:
    """A database as the image leaves it; gives its name."""
    with postgres.superuser() as connection:
        for role in ("memstone", "memstone_owner"):
            connection.execute(f"DROP ROLE IF EXISTS {role}")
        connection.execute("CREATE DATABASE container")
    with psycopg.connect(postgres.url()) as connection:
        host = connection.info.host
    package: Any = import_module("pgserver")
    programs = Path(package.__file__).parent / "pginstall" / "bin"
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PGHOST": host,
        "POSTGRES_USER": "postgres",
        "POSTGRES_DB": "container",
        "OWNER_PASSWORD": "it's \\ the owner",
        "SERVICE_PASSWORD": '"$service"',
    }
    done = subprocess.run(["/bin/sh", SCRIPT], env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stderr) == (0, "")
    return "container"


def _memory(url: str, tenant: str) -> Memory:
    return Memory({"store": {"url": url, "durable": False}, "embedder": {"provider": "hash"}, "tenant": tenant})


@pytest.mark.req("N-42")
def test_the_services_role_is_bound_by_row_level_security(postgres: Server) -> None:
    name = _set_up(postgres)
    owner, service = postgres.url(name, "memstone_owner"), postgres.url(name, "memstone")
    with pytest.raises(MigrationFailed), _memory(service, "a") as memory:
        memory.stats()
    assert run_command(["migrate", "--db", owner, "--grant", "memstone"]) == 0
    for tenant in ("a", "b"):
        with _memory(service, tenant) as memory:
            memory.add(f"secret of {tenant}", user_id="u", infer=False)
    with psycopg.connect(service) as connection:
        above = "SELECT rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = %s"
        for role in ("memstone", "memstone_owner"):
            assert connection.execute(above, (role,)).fetchone() == (False,), role
        owned = "SELECT count(*) FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname = 'memstone'"
        assert connection.execute(owned).fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM memstone.memories").fetchone() == (0,)
        connection.execute("SELECT set_config('memstone.tenant', 'a', true)")
        assert connection.execute("SELECT text FROM memstone.memories").fetchall() == [("secret of a",)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("ALTER TABLE memstone.memories DISABLE ROW LEVEL SECURITY")
