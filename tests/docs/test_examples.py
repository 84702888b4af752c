"""The programs in examples/ run, and say what they are there to show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.testclient import TestClient

from tests.server.upstream import Upstream, served

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {path.name for path in (ROOT / "examples").glob("*.py")} - {"__init__.py"}
ROUTER = "tenant_router.py"  # a part for whoever runs many databases; its tests are in tests/postgres


def run(name: str, place: Path, *args: str, stdin: str = "", **environ: str) -> str:
    """What an example prints, in a folder and a home of its own."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSTONE_", "OPENAI_"))}
    ran = subprocess.run(  # noqa: S603 - our own example
        [sys.executable, str(ROOT / "examples" / name), *args],
        cwd=place,
        env={**known, "HOME": str(place), **environ},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_there_are_six_and_each_is_short() -> None:
    examples = PROGRAMS - {ROUTER}
    assert len(examples) == 6
    lines = {name: (ROOT / "examples" / name).read_text("utf-8").count("\n") for name in examples}
    assert {name: count for name, count in lines.items() if count > 60} == {}


def test_the_page_of_the_examples_lists_every_program() -> None:
    page = (ROOT / "examples" / "README.md").read_text("utf-8")
    assert set(re.findall(r"\]\((\w+\.py)\)", page)) == PROGRAMS


def test_a_chat_loop_remembers_in_its_next_run(tmp_path: Path) -> None:
    stand_in = Upstream()
    with served(stand_in.app) as url:
        how = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "sk-1", "MODEL": "m"}
        said = run("chat_loop.py", tmp_path, stdin="I live in Oslo.\n", **how)
        assert said.splitlines() == ["Noted.", "  [ADD] User lives in Oslo."]
        run("chat_loop.py", tmp_path, stdin="\nWhere do I live?\n", **how)
    assert "User lives in Oslo." in str(stand_in.seen[-1]["messages"])


def test_tenants_of_a_web_application_do_not_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.syspath_prepend(str(ROOT))
    from examples.fastapi_tenants import app

    with TestClient(app) as client:
        acme, other = ({"X-Tenant": name, "X-User": "ann"} for name in ("acme", "other"))
        assert client.post("/messages", headers=acme, json="I prefer email.").json() == ["User prefers email."]
        assert client.get("/memories?q=email", headers=acme).json() == ["User prefers email."]
        assert client.get("/memories?q=email", headers=other).json() == []
        assert client.get("/memories?q=email", headers={"X-Tenant": "acme"}).status_code == 422


def test_a_coding_assistant_knows_the_newest_decision_of_its_project(tmp_path: Path) -> None:
    said = run("coding_assistant.py", tmp_path)
    assert "changed: UPDATE ['The service uses SQLite.', 'The service uses PostgreSQL 17.']" in said
    assert said.partition("carol is shown:")[2].strip().splitlines()[0] == "The service uses PostgreSQL 17."


def test_a_support_agent_keeps_solutions_for_all_and_customers_apart(tmp_path: Path) -> None:
    said = run("support_agent.py", tmp_path)
    assert "known solution: Fjord 3000 drops the connection at night: turn off its power saving mode." in said
    assert "Fjord 3000" in said.partition("about ann:")[2].partition("about ben:")[0]
    assert said.partition("about ben:")[2].split() == ["nothing"]


def test_an_export_of_chatgpt_moves_in_once(tmp_path: Path) -> None:
    sample = str(ROOT / "tests" / "data" / "imports" / "chatgpt.json")
    said = run("import_chatgpt.py", tmp_path, sample, "Where do I teach?")
    assert said.startswith("chatgpt: 3 turns and 2 facts, 0 known before\n")
    assert "I teach chemistry in Trondheim." in said.partition("Where do I teach?")[2].splitlines()[1]
    assert run("import_chatgpt.py", tmp_path, sample).startswith("chatgpt: 0 turns and 0 facts, 5 known before\n")


def test_privacy_shows_exports_corrects_and_erases(tmp_path: Path) -> None:
    lines = run("privacy.py", tmp_path).splitlines()
    assert 'User lives in Oslo.  (from: "I live in Oslo,")' in lines
    assert lines[-5].endswith("lines, Ben in them: False")
    assert lines[-4:] == [
        "corrected: User lives in Bergen.",
        "erased: True and verified: True",
        "words left in the file: []",
        "Ben still there: ['User lives in Rome.']",
    ]
