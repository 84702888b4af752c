"""``memstone import`` on what other systems exported."""

from __future__ import annotations

import io
import json
import re
import shlex
import zipfile
from pathlib import Path
from typing import Final

import pytest

from tests.faces.cli_runner import Cli

SAMPLES: Final = Path(__file__).resolve().parents[1] / "data" / "imports"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


def test_an_archive_is_recognised_and_counted(cli: Cli) -> None:
    current = io.BytesIO()
    with zipfile.ZipFile(current, "w") as made:
        made.writestr("conversations.json", (SAMPLES / "chatgpt.json").read_bytes())
    (cli.home / "export.zip").write_bytes(current.getvalue())
    ran = cli("import", cli.home / "export.zip", "--user", "alice")
    assert (ran.code, ran.out) == (0, "chatgpt: 3 turns and 2 facts stored, 2 of them waiting for approval\n")
    assert "left out: another branch (1), system or tool (2), tool call or reasoning (1)" in ran.err
    assert "run `" in ran.err.partition("to learn from the conversations")[0]
    assert cli("import", cli.home / "export.zip", "--user", "alice").out == "chatgpt: nothing stored, 5 already known\n"


@pytest.mark.parametrize("user", [["--user", "alice"], []])
def test_the_commands_that_the_hints_name_can_be_typed_as_they_are(cli: Cli, user: list[str]) -> None:
    file = SAMPLES / ("chatgpt.json" if user else "mem0.json")
    ran = cli("import", file, *user, "--db", cli.home / "a store.db")
    commands = [shlex.split(one)[1:] for one in re.findall(r"`([^`]*memstone'? [^`]*)`", ran.err)]
    assert [words[0] for words in commands] == [*(["flush"] if user else []), "inspect", "approve"]
    for words in commands:
        assert cli(*words, *(["--yes"] if words[0] == "approve" else [])).code == 0, words
    left = cli("inspect", "--everybody", "--status", "quarantined", "--layer", "fact", "--db", cli.home / "a store.db")
    assert left.code == 1, "all are approved"


def test_a_page_of_a_gateway_is_imported_with_counts_of_what_came_and_what_was_left_out(cli: Cli) -> None:
    page = json.loads((SAMPLES / "gateway.json").read_text())
    page["data"].append({"apiKeyId": "key-7", "content": " ", "type": "factual", "key": "k"})
    (cli.home / "page.json").write_text(json.dumps(page))
    answer = cli("import", cli.home / "page.json", "--user", "alice", "--mine", "--json").json
    assert (answer["format"], answer["stored"], answer["skipped"]) == ("gateway", 2, {"empty": 1})
    assert sorted(cli.texts("list", "--user", "alice")) == ["Chose PostgreSQL for the archive", "Drinks coffee black"]


def test_ones_own_notes_need_no_approval(cli: Cli) -> None:
    ran = cli("import", SAMPLES / "notes.md", "--user", "alice", "--mine")
    assert ran.out == "markdown: 5 facts stored\n"
    assert "I do not eat shellfish" in cli.texts("list", "--user", "alice")


def test_a_list_of_mem0_as_one_document_is_not_taken_for_lines(cli: Cli) -> None:
    small = json.dumps(json.loads((SAMPLES / "mem0.json").read_text()))
    (cli.home / "one-line.json").write_text(small)
    for file in (SAMPLES / "mem0.json", cli.home / "one-line.json"):
        ran = cli("import", file, "--user", "alice", "--from-user", "nora")
        assert ran.code == 0
        assert ran.out.startswith("mem0: ")


def test_a_format_may_be_named_and_standard_input_be_read(cli: Cli) -> None:
    raw = (SAMPLES / "openwebui.json").read_bytes()
    ran = cli("import", "-", "--format", "openwebui", "--user", "alice", stdin=raw)
    assert ran.out == "openwebui: 2 facts stored, 2 of them waiting for approval\n"
    assert cli("import", SAMPLES / "notes.md", "--format", "mem0", "--user", "a").code == 2
    assert cli("import", SAMPLES / "notes.md", "--format", "docx").code == 2


def test_nothing_to_import_and_contradictions_are_told(cli: Cli) -> None:
    (cli.home / "empty.json").write_text('{"results": []}')
    assert cli("import", cli.home / "empty.json", "--format", "mem0", "--user", "a").code == 1
    assert cli("import", SAMPLES / "notes.md", "--restore", "--mine").code == 2
    assert cli("import", SAMPLES / "notes.md").err.startswith("error: the source does not say whose memories these are")


def test_conversations_may_be_kept_without_learning_from_them(cli: Cli) -> None:
    ran = cli("import", SAMPLES / "claude.json", "--user", "alice", "--no-learn")
    assert (ran.out, "flush" in ran.err) == ("claude: 2 turns stored\n", False)
