"""Erasing in PostgreSQL: the report says what the server keeps, and its commands remove that from the raw files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memstone import Memory
from tests.postgres.server import Server, running

pytestmark = [pytest.mark.req("X-30"), pytest.mark.slow]

SAID = "the zinfandelic lockpick hangs behind the boiler"


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of its own: what other tests left in its files is nobody's business here."""
    with running() as started:
        yield started


def files_with(folder: Path, word: bytes) -> list[str]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(str(path.relative_to(folder)) for path in found if word in path.read_bytes())


def test_the_commands_of_the_report_remove_the_words_from_the_raw_files(server: Server) -> None:
    name = server.database()
    folder = Path(server._server.pgdata)
    with Memory({"store": {"url": server.url(name)}, "embedder": {"provider": "hash"}}) as memory:
        first = memory.add(SAID, user_id="alice", infer=False)["results"][0]["id"]
        memory.update(first, f"{SAID}, and so does the key")
        memory.add(f"I told you: {SAID}", user_id="alice")
        memory.context(f"Where is it? {SAID}", user_id="alice")
        memory.settings.set({"context.budget": 700}, user_id="alice")
        memory.add("bob keeps nothing", user_id="bob", infer=False)

        report = memory.admin.erase(user_id="alice")

        with server.superuser(name) as connection:
            connection.execute("CHECKPOINT")
        before = files_with(folder, b"zinfandelic lockpick")
        assert any(path.startswith("base/") for path in before), "they are in the files of tables"
        assert any(path.startswith("pg_wal/") for path in before), "and in the log"
        assert not report["complete"]
        assert report["not_looked_at"]
        checked = memory.admin.verify_erasure(report)
        assert (checked["ok"], checked["complete"]) == (True, False)

        with server.superuser(name) as connection:
            for command in report["to_finish"]:
                connection.execute(command.encode())

        assert files_with(folder, b"zinfandelic") == []
        assert [one["memory"] for one in memory.get_all(user_id="bob")["results"]] == ["bob keeps nothing"]
        assert memory.add("it goes on", user_id="bob", infer=False)["results"]


def test_every_table_that_holds_something_of_somebody_is_written_anew(server: Server) -> None:
    name = server.database()
    with Memory({"store": {"url": server.url(name)}, "embedder": {"provider": "hash"}}) as memory:
        report = memory.admin.erase(user_id="nobody")
    named = set(report["to_finish"][0].removeprefix("VACUUM (FULL) ").removesuffix(";").split(", "))
    with server.superuser(name) as connection:
        query = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'memstone'"
        tables = {f"memstone.{row[0]}" for row in connection.execute(query)}
    about_the_store = {"agents", "api_keys", "backups", "erasures", "indexes", "leases", "schema_version", "secrets"}
    assert tables - named == {f"memstone.{one}" for one in about_the_store}, "a table is new: what does it hold?"
    assert named <= tables
