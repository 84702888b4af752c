from __future__ import annotations

import re
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from memstone.cli.upkeep import PACKAGES
from tests.faces.cli_runner import ROOT, Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


def found(cli: Cli, section: str, name: str, *options: object, code: int = 0) -> tuple[str, str]:
    """The state and detail of one check."""
    ran = cli("doctor", "--json", *options)
    assert ran.code == code, ran
    assert ran.json["ok"] is (code == 0)
    (check,) = [one for one in ran.json["checks"] if (one["section"], one["name"]) == (section, name)]
    return check["state"], check["detail"]


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def test_a_healthy_store_has_only_ok_lines(cli: Cli) -> None:
    cli.added("I live in Oslo")
    ran = cli("doctor")
    states = [line.split()[0] for line in ran.out.splitlines() if line.startswith("  ")]
    assert (ran.code, set(states), ran.err) == (0, {"ok"}, "")
    for heading in ("installed", "configured", "store", "embedder", "where text is sent"):
        assert heading in ran.out.splitlines()


@pytest.mark.req("X-38", "N-16.1")
def test_it_says_that_text_stays_here_by_default(cli: Cli) -> None:
    cli.environ("MEMSTONE_EMBEDDER__PROVIDER", "local")
    assert found(cli, "where text is sent", "embedder") == ("ok", "this machine")
    assert found(cli, "where text is sent", "llm") == ("ok", "nowhere: none is configured")
    assert found(cli, "embedder", "model")[1] == "local:all-minilm-l6-v2-int8:384 returns vectors of length 384"


@pytest.mark.req("X-38")
def test_without_an_embedder_text_goes_nowhere(cli: Cli) -> None:
    cli.environ("MEMSTONE_EMBEDDER__PROVIDER", "none")
    cli.added("x")
    assert found(cli, "where text is sent", "embedder") == ("ok", "nowhere")
    assert found(cli, "embedder", "model")[0] == "warn"


def test_every_dependency_is_looked_at() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert sorted(PACKAGES) == sorted(re.split(r"[><=~!\[; ]", line)[0] for line in project["dependencies"])


def test_a_store_that_is_not_there_is_a_warning_and_is_not_made(cli: Cli) -> None:
    assert found(cli, "store", "file") == ("warn", f"there is no store at {cli.db}")
    assert not cli.db.exists()


def test_a_file_that_is_no_database_is_a_failure_and_not_a_crash(cli: Cli) -> None:
    broken = cli.home / "broken.db"
    broken.write_bytes(b"garbage" * 1000)
    state, detail = found(cli, "store", "file", "--db", broken, code=3)
    assert state == "fail"
    assert "not a database" in detail


def test_a_database_from_the_future_is_a_failure(cli: Cli) -> None:
    cli.added("x")
    change(cli.db, "PRAGMA user_version = 99")
    assert found(cli, "store", "file", code=3)[0] == "fail"


def test_damage_inside_the_file_is_found(cli: Cli) -> None:
    for number in range(3):
        cli.added(f"fact {number} " + "with some length " * 20)
    size = cli.db.stat().st_size
    with cli.db.open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\xff" * 8192)
    ran = cli("doctor", "--json")
    assert ran.code == 3
    assert [one["section"] for one in ran.json["checks"] if one["state"] == "fail"] == ["store"]


@pytest.mark.parametrize("table", ["events", "vectors"])
def test_it_says_which_table_is_damaged(cli: Cli, table: str) -> None:
    cli.added("I live in Oslo")
    with closing(sqlite3.connect(cli.db)) as connection:
        size, root = connection.execute(
            "SELECT page_size, rootpage FROM pragma_page_size, sqlite_master WHERE name = ?", [table]
        ).fetchone()
    with cli.db.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    state, detail = found(cli, "store", "integrity", code=3)
    assert (state, detail.partition(":")[0]) == ("fail", table)


def test_a_full_text_that_lost_a_row_is_a_failure(cli: Cli) -> None:
    cli.added("x")
    change(cli.db, "DELETE FROM words")
    assert found(cli, "store", "full text", code=3) == ("fail", "0 rows for 1 memories")


def test_missing_vectors_are_a_warning_with_the_way_out(cli: Cli) -> None:
    cli.added("x")
    change(cli.db, "DELETE FROM vectors")
    assert found(cli, "store", "vectors") == ("warn", "0 vectors for 1 memories")
    cli("reindex")
    assert found(cli, "store", "vectors") == ("ok", "agree with the ledger")


def test_another_embedder_than_the_index_has_is_a_warning(cli: Cli) -> None:
    cli.added("x")
    cli.environ("MEMSTONE_EMBEDDER__CONFIG__DIM", "64")
    assert found(cli, "store", "index") == ("warn", "built with hash:bow-v1:256, but the embedder is hash:bow-v1:64")


def test_what_waits_is_a_warning(cli: Cli) -> None:
    cli.environ("MEMSTONE_EMBEDDER__PROVIDER", "local")
    cli.environ("MEMSTONE_EMBEDDER__CONFIG", f'{{model_dir = "{cli.home}", model_name = "absent"}}')
    assert cli("add", "x", "--user", "alice").code == 3
    assert found(cli, "store", "waiting", code=3) == ("warn", "1 texts could not be stored yet")
    assert found(cli, "embedder", "model", code=3)[0] == "fail"


def test_a_broken_setting_is_a_failure_and_the_rest_is_still_said(cli: Cli) -> None:
    cli.environ("MEMSTONE_STORE__BOGUS", "1")
    state, detail = found(cli, "configured", "settings", code=3)
    assert (state, "store.bogus (MEMSTONE_STORE__BOGUS)" in detail) == ("fail", True)
    assert found(cli, "installed", "sqlite", code=3)[0] == "ok"


def test_variables_that_are_no_settings_stop_nothing_and_are_listed(cli: Cli) -> None:
    for name in ("MEMSTONE_SERVICE_HOST", "MEMSTONE_PORT", "MEMSTONE_STORE_URL", "MEMSTONE_KEY"):
        cli.environ(name, "tcp://10.0.0.1:80")
    cli.added("x")
    text = "not settings, ignored: MEMSTONE_PORT, MEMSTONE_SERVICE_HOST, MEMSTONE_STORE_URL"
    assert found(cli, "configured", "variables") == ("warn", text), "MEMSTONE_KEY is for callers of the service"
    assert "MEMSTONE_STORE__URL" in cli("doctor").out, "how it is spelled"


def test_a_store_url_with_a_password_is_refused_without_showing_it(cli: Cli) -> None:
    cli.environ("MEMSTONE_STORE__URL", "postgres://me:secret@host/db")
    ran = cli("doctor")
    assert ran.code == 3
    assert "secret" not in ran.out + ran.err


def test_unknown_providers_are_failures(cli: Cli) -> None:
    cli.environ("MEMSTONE_LLM__PROVIDER", "nobody")
    assert found(cli, "where text is sent", "llm", code=3)[0] == "fail"
    cli.environ("MEMSTONE_EMBEDDER__PROVIDER", "nobody")
    assert found(cli, "embedder", "model", code=3)[0] == "fail"


@pytest.mark.req("X-38")
def test_it_says_where_a_reranker_and_a_vector_store_are(cli: Cli) -> None:
    cli.environ("MEMSTONE_RERANKER__PROVIDER", "cohere")
    cli.environ("MEMSTONE_RERANKER__CONFIG__API_KEY", "none-of-yours")
    assert found(cli, "where text is sent", "reranker") == ("ok", "api.cohere.com")
    for provider, url in (("qdrant", "http://vectors.example:6333"), ("redis", "redis://:secret@vectors.example/0")):
        cli.environ("MEMSTONE_VECTOR_STORE__PROVIDER", provider)
        cli.environ("MEMSTONE_VECTOR_STORE__CONFIG__URL", url)
        told = ("ok", "vectors.example (vectors, ids and times, no text)")
        assert found(cli, "where text is sent", "vector store") == told
    cli.environ("MEMSTONE_VECTOR_STORE__PAYLOAD_TEXT", "true")
    told = ("ok", "vectors.example (vectors, ids, times and texts)")
    assert found(cli, "where text is sent", "vector store") == told


@pytest.mark.req("C-39")
def test_a_wrong_option_of_a_vector_store_is_a_failure_before_there_is_a_store(cli: Cli) -> None:
    cli.environ("MEMSTONE_VECTOR_STORE__PROVIDER", "qdrant")
    cli.environ("MEMSTONE_VECTOR_STORE__CONFIG__HST", "vectors.example")
    state, detail = found(cli, "where text is sent", "vector store", code=3)
    assert (state, "hst" in detail) == ("fail", True)
