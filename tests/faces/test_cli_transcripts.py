"""``memstone ingest`` and ``memstone redact``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.faces.cli_runner import Cli

KEY = "sk-proj-abcdefghij0123456789"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.mark.req("S-8")
def test_a_transcript_of_lines_is_kept_and_known_the_second_time(cli: Cli) -> None:
    file = cli.home / "chat.jsonl"
    texts = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "I live in Oslo.", "timestamp": "2026-03-02T09:00:00Z"},
        {"role": "assistant", "content": "Noted."},
    ]
    file.write_text("\n\n".join(json.dumps(one) for one in texts))

    ran = cli("ingest", file, "--user", "alice", "--run", "monday", "-m", "from=chat")
    assert (ran.code, ran.out) == (0, "2 turns stored, 1 not from a user or an assistant\n")
    assert cli("ingest", file, "--user", "alice", "--run", "monday", "--json").json["known"] == 2
    assert cli.texts("list", "--user", "alice", "--layer", "turn") == ["Noted.", "I live in Oslo."]
    assert cli.texts("list", "--user", "alice") == []


def test_only_line_feeds_end_the_lines_of_a_file(cli: Cli) -> None:
    texts = ["I live in Oslo.\u2028And I like it.", "Noted.\x85 And why?"]
    lines = "\r\n".join(json.dumps({"content": one}, ensure_ascii=False) for one in texts)

    assert cli("ingest", "-", "--user", "alice", stdin=lines.encode()).out == "2 turns stored\n"
    assert sorted(cli.texts("list", "--user", "alice", "--layer", "turn")) == sorted(texts)


def test_a_turn_that_was_found_says_what_holds_now(cli: Cli) -> None:
    for message in ("I live in Oslo.", "I now live in Rome."):
        assert cli("add", message, "--user", "alice").code == 0

    found = cli("search", "Oslo", "--user", "alice", "--layer", "turn").out

    assert "I live in Oslo. (this has changed since: User now lives in Rome.)" in found
    assert found.count("changed since") == 1


def test_a_list_from_standard_input_is_learned_from_by_flush(cli: Cli) -> None:
    ran = cli("ingest", "-", "--user", "alice", "--learn", stdin=b' [{"text": "I live in Oslo."}, "I have two cats."]')

    assert ran.out == "2 turns stored\n"
    assert "memstone flush" in ran.err
    assert cli.texts("list", "--user", "alice") == []
    assert cli("flush", "--everybody").out == "1 stored, 0 still waiting\n"
    assert "User lives in Oslo." in cli.texts("list", "--user", "alice")


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (b'{"content": "fine"}\nnot json\n', "line 2 is not JSON"),
        (b'[{"content": "fine"}', "not a JSON list"),
        (b"\xff\xfe", "not UTF-8"),
        (b"", "turns is empty"),
        (b'{"content": "fine"}\n{"role": "robot", "content": "x"}', "turns[1].role"),
    ],
)
def test_a_file_that_is_wrong_stores_nothing(cli: Cli, given: bytes, wrong: str) -> None:
    ran = cli("ingest", "-", "--user", "alice", "--json", stdin=given)

    assert ran.code == 2
    assert wrong in ran.error["message"]
    assert not cli.db.exists() or cli("stats", "--json").json["memories"] == 0


@pytest.mark.req("R-38")
def test_secrets_in_a_transcript_are_masked_and_said(cli: Cli) -> None:
    ran = cli("ingest", "-", "--user", "alice", stdin=json.dumps([f"My key is {KEY}"]).encode())

    assert ran.out == "1 turns stored, 1 masked\n"
    assert ran.err == "warning: turns[0] was masked before it was stored: api_key\n"


@pytest.mark.req("R-38")
def test_redact_counts_first_and_masks_when_it_is_told_to(cli: Cli) -> None:
    cli.environ("MEMSTONE_EXTRACT__REDACT", "off")
    memory_id = cli.added(f"My key is {KEY}")
    cli.environ("MEMSTONE_EXTRACT__REDACT", "mask")

    looked = cli("redact")
    assert looked.code == 0
    assert looked.out.splitlines() == ["KIND     ROWS", "api_key     2", "2 of 2 rows contain a secret"]
    assert "--apply" in looked.err
    assert "no terminal" in cli("redact", "--apply").err
    masked = cli("redact", "--apply", "--yes", "--json").json
    assert (masked["found"], masked["by_kind"], masked["dry_run"]) == (2, {"api_key": 2}, False)
    assert cli("get", memory_id, "--json").json["memory"] == "My key is [redacted:api_key]"
    assert cli("redact").out == "0 of 2 rows contain a secret\n"
    assert KEY not in cli("export", "--everybody").out
    assert cli("redact", "--user", "alice").code == 2


def test_redact_asks_before_it_masks(cli: Cli) -> None:
    cli.added("Nothing to hide")
    assert cli("redact", "--apply", stdin=b"n\n").code == 1
    assert "0 of 2 rows contained a secret and are now masked" in cli("redact", "--apply", stdin=b"y\n").out
