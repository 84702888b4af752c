"""Connecting tools: the entry each of them documents, nothing else changed, and a way back."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters

from memstone.cli.config_files import BACKUP, change_entry, write_file
from memstone.cli.connect import TOOLS
from memstone.cli.program import program_command, program_in_shell
from memstone.errors import Conflict
from tests.faces.cli_runner import Cli

PLACES = {
    "claude-code": (".claude.json", ".mcp.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", None, "mcpServers"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", ".vscode/mcp.json", "servers"),
    "codex": (".codex/config.toml", ".codex/config.toml", "mcp_servers"),
}
"""Where each tool documents its file for a user and for a project, and the name of the servers in it, on Linux."""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    for name in ("CODEX_HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Cli(tmp_path, monkeypatch, capsys)


def servers(file: Path, name: str) -> dict[str, Any]:
    """The servers a tool would find in its file."""
    text = file.read_text("utf-8")
    found = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    listed: dict[str, Any] = found[name]
    return listed


@pytest.mark.parametrize("tool", PLACES)
@pytest.mark.parametrize("project", [False, True])
def test_a_tool_gets_the_entry_it_documents_and_loses_it_again(cli: Cli, tool: str, *, project: bool) -> None:
    home, own, name = PLACES[tool]
    more = ["--project"] if project else []
    if project and own is None:
        assert cli("connect", tool, "--project", "--yes").code == 2
        return
    file = cli.home / "work" / str(own) if project else cli.home / home
    ran = cli("connect", tool, *more, "--yes", "--for-user", "nora")
    assert ran.code == 0, ran
    assert f"This is the change to {file}:" in ran.out
    entry = servers(file, name)["memstone"]
    assert [entry["command"], *entry["args"]] == [*program_command(), "mcp", "--for-user", "nora"]
    assert Path(entry["command"]).is_absolute()
    assert entry.get("type") == ("stdio" if TOOLS[tool].typed else None)
    written = file.read_text()
    again = cli("connect", tool, *more, "--yes", "--for-user", "nora")
    assert (again.code, "already uses" in again.out, file.read_text()) == (0, True, written)
    assert cli("connect", tool, *more, "--remove", "--yes").code == 0
    assert "memstone" not in file.read_text()
    assert cli("connect", tool, *more, "--remove", "--yes").code == 1, "there is nothing left to remove"


def test_what_else_is_in_a_file_stays_with_its_comments(cli: Cli) -> None:
    file = cli.home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{\n  // mine\n  "mcpServers": {\n    "other": {"url": "http://a//b"}, // a remark\n  },\n}\n')
    before = file.read_text()
    file.chmod(0o600)
    assert cli("connect", "cursor", "--yes").code == 0
    text = file.read_text()
    assert "// mine\n" in text
    assert '"other": {"url": "http://a//b"}, // a remark\n    "memstone": {' in text
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.with_name(file.name + BACKUP).read_text() == before
    assert cli("connect", "cursor", "--remove", "--yes").code == 0
    assert file.read_text().replace(",", "") == before.replace(",", "")


def test_a_table_of_toml_is_replaced_and_everything_else_stays(cli: Cli) -> None:
    file = cli.home / ".codex" / "config.toml"
    file.parent.mkdir()
    other = '# my model\nmodel = "gpt-5" # fast\n\n[mcp_servers.docs]\ncommand = "docs"\n'
    file.write_text(other + '\n[mcp_servers.memstone]\ncommand = "old"\n[mcp_servers.memstone.env]\nA = "b"\n')
    assert cli("connect", "codex", "--yes").code == 0
    assert file.read_text().startswith(other)
    assert servers(file, "mcp_servers")["memstone"].keys() == {"command", "args"}
    assert cli("connect", "codex", "--remove", "--yes").code == 0
    assert file.read_text() == other


def test_nothing_is_written_without_a_yes_or_where_the_file_is_not_what_it_should_be(cli: Cli) -> None:
    file = cli.home / ".cursor" / "mcp.json"
    ran = cli("connect", "cursor", "--print")
    assert (ran.code, '+  "mcpServers": {' in ran.out.replace("  +", "+"), file.exists()) == (0, True, False)
    assert (cli("connect", "cursor").code, file.exists()) == (2, False), "nobody is there to ask"
    file.parent.mkdir()
    for wrong in ("{", "[1]", '{"mcpServers": 3}', '{"mcpServers": {"memstone": 1, "memstone": 2}} x'):
        file.write_text(wrong)
        assert cli("connect", "cursor", "--yes").code == 1, wrong
        assert file.read_text() == wrong
    codex = cli.home / ".codex" / "config.toml"
    codex.parent.mkdir()
    codex.write_text('mcp_servers = { memstone = { command = "old" } }\n')
    assert cli("connect", "codex", "--yes").code == 1
    assert "old" in codex.read_text()


def test_the_store_that_was_named_is_the_one_the_tool_uses(cli: Cli) -> None:
    answer = cli("connect", "cursor", "--db", "notes.db", "--print", "--json").json
    assert answer["entry"]["args"][-2:] == ["--db", str(cli.home / "work" / "notes.db")]
    assert (answer["written"], answer["changed"]) == (False, True)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    write_file(tmp_path / "link.json", '{"a": 1}')
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == '{"a": 1}'
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "real.json", f"real.json{BACKUP}"]


def test_a_program_that_uvx_runs_is_started_by_it_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", "/home/me/.cache/uv/archive-v0/x1y2")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("UV", "/opt/uv")
    for origin, requirement in (
        (None, "memstone[mcp,server]"),
        ({"url": "file:///w/m.whl", "archive_info": {}}, "memstone[mcp,server] @ file:///w/m.whl"),
        (
            {"url": "https://h/m.git", "vcs_info": {"vcs": "git", "commit_id": "a1"}},
            "memstone[mcp,server] @ git+https://h/m.git@a1",
        ),
    ):
        folder = tmp_path / requirement.replace("/", "_") / "memstone-0.2.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: memstone\nVersion: 0.2.0\n")
        if origin:
            (folder / "direct_url.json").write_text(json.dumps(origin))
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(folder.parent))
            assert program_command() == ["/opt/uv", "tool", "run", "--from", requirement, "memstone"]


def test_a_hint_names_the_program_as_this_terminal_finds_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    programs = tmp_path / "my env" / "bin"
    programs.mkdir(parents=True)
    (programs / "memstone").touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("PATH", "/usr/bin")
    assert program_in_shell() == f"'{programs}/memstone'"
    monkeypatch.chdir(tmp_path)
    assert program_in_shell() == "'my env/bin/memstone'"
    monkeypatch.setenv("PATH", str(programs))
    assert program_in_shell() == "memstone"


def test_the_written_command_is_a_server_that_answers(cli: Cli) -> None:
    cli("connect", "claude-code", "--db", cli.home / "tool.db", "--yes")
    entry = servers(cli.home / ".claude.json", "mcpServers")["memstone"]
    environ = {
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "HOME": str(cli.home),
        "MEMSTONE_EMBEDDER__PROVIDER": "hash",
    }

    async def ask() -> str:
        async with Client(StdioServerParameters(command=entry["command"], args=entry["args"], env=environ)) as client:
            await client.call_tool("memory_add", {"content": "I live in Oslo."})
            return str(await client.call_tool("memory_search", {"query": "Oslo"}))

    assert "User lives in Oslo." in asyncio.run(ask())


def test_open_webui_and_librechat_get_a_key_of_their_own(cli: Cli) -> None:
    cli.added("something")
    shown = cli("connect", "open-webui", "--print").out
    assert "OPENAI_API_BASE_URLS=http://127.0.0.1:8420/v1" in shown
    assert "ENABLE_FORWARD_USER_INFO_HEADERS=true" in shown
    assert cli("keys", "list", "--json").json["results"] == []
    answer = cli("connect", "librechat", "--yes", "--json").json
    (key,) = cli("keys", "list", "--json").json["results"]
    assert (key["name"], key["may_assert_user"], key["verbs"]) == ("librechat", True, ["read", "write"])
    env, _, text = answer["settings"].partition("# librechat.yaml\n")
    assert f"MEMSTONE_KEY={answer['key']}" in env
    (endpoint,) = yaml.safe_load(text)["endpoints"]["custom"]
    assert {"name", "apiKey", "baseURL", "models"} <= endpoint.keys()
    assert endpoint["headers"]["X-Memstone-User"] == "{{LIBRECHAT_USER_ID}}"
    assert cli("connect", "librechat", "--remove").code == 0
    assert cli("keys", "list", "--json").json["results"][0]["revoked_at"]
    assert (cli("connect", "librechat", "--remove").code, cli("connect", "librechat", "--project").code) == (1, 2)


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(names, values, max_size=4),
    st.dictionaries(names, values, max_size=3),
    st.sampled_from([None, 2, "\t"]),
)
def test_any_file_keeps_everything_but_the_entry(rest: dict[str, Any], inner: dict[str, Any], indent: Any) -> None:
    inner.pop("memstone", None)
    start = {**rest, "mcpServers": inner}
    text = json.dumps(start, indent=indent, ensure_ascii=False)
    entry = {"command": "memstone", "args": ["mcp"]}
    there = change_entry(text, "json", ("mcpServers", "memstone"), entry)
    assert json.loads(there) == {**start, "mcpServers": {**inner, "memstone": entry}}
    assert json.loads(change_entry(there, "json", ("mcpServers", "memstone"), None)) == start


def test_a_file_of_toml_that_is_broken_is_refused() -> None:
    with pytest.raises(Conflict):
        change_entry("a = ", "toml", ("mcp_servers", "memstone"), {"command": "x"})
