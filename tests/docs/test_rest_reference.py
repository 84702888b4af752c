from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memstone.remote.routes import ROUTES
from scripts import rest_reference

GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "mcp.md"


def test_the_reference_of_the_routes_is_what_the_service_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert rest_reference.main(["--check"]) == 0, capsys.readouterr().out


def test_a_reference_that_is_out_of_date_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "rest.md"
    page.write_text("before\n<!-- routes: made by a script -->\nold\n<!-- end -->\nafter\n", "utf-8")
    monkeypatch.setattr(rest_reference, "DOCUMENT", page)
    assert rest_reference.main(["--check"]) == 1
    assert "out of date" in capsys.readouterr().out
    assert rest_reference.main([]) == 0
    text = page.read_text("utf-8")
    assert "| `GET /v1/memories/{memory_id}` | read | Return one memory. |" in text
    assert "| `GET /v1/me` | any |" in text
    assert "| `GET /healthz` | none |" in text
    assert text.endswith("<!-- end -->\nafter\n")


@pytest.mark.req("C-50")
def test_the_examples_walk_every_route_about_memories() -> None:
    text = rest_reference.DOCUMENT.read_text("utf-8")
    commands = re.findall(r"^\$ curl (.+)$", text, re.MULTILINE)
    walked = {(_method(one), re.sub(r"\$ID|no-such-id|Anna", "{}", _path(one))) for one in commands}
    listed = re.findall(r"^\| `(\w+) (/v1/(?:memories|entities|context|ingest|flush|keys)[^`]*)`", text, re.MULTILINE)
    wanted = {(method, re.sub(r"{\w+}", "{}", path)) for method, path in listed}
    left = {("PUT", "/v1/memories/batch"), ("DELETE", "/v1/memories/batch"), ("DELETE", "/v1/memories")}
    made = {
        (one.method, re.sub(r"{\w+}", "{}", one.path)) for one in ROUTES.values() if one.made
    }  # on a page of their own
    assert wanted - walked - left - made == {("GET", "/v1/keys")}


def _method(command: str) -> str:
    named = re.search(r"-X (\w+)", command)
    return named[1] if named else "POST" if " -d " in command else "GET"


def _path(command: str) -> str:
    found = re.search(r"127\.0\.0\.1:8420([^\s?\"]+)", command)
    assert found is not None
    return found[1]


@pytest.mark.req("O-86")
def test_the_guide_for_assistants_shows_settings_they_can_read() -> None:
    text = GUIDE.read_text("utf-8")
    visible = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]
    started = [one.get("mcpServers", one.get("servers"))["memstone"] for one in visible]
    assert [one.get("command", one.get("url")) for one in started] == [
        "memstone",
        "memstone",
        "https://memory.example.org/mcp",
        "https://memory.example.org/mcp",
    ]
    for host in ("Claude Code", "Claude Desktop", "Cursor", "VS Code"):
        assert f"**{host}" in text
