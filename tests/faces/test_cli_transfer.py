from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.faces.cli_runner import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


def lines(path: Path, *values: Any) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def story(cli: Cli) -> str:
    """A memory that was revised, one that was deleted, and one of somebody else."""
    stored_text = cli.added("I live in Oslo", "-m", "city=Oslo", "--name", "Alice", "--at", "2026-03-02")
    cli("update", stored_text, "I live in Bergen")
    cli("delete", cli.added("forget me"))
    cli("add", "I am Bob", "--no-infer", "--user", "bob", "--agent", "helper")
    return stored_text


@pytest.mark.req("X-37")
def test_export_and_restore_lose_nothing(cli: Cli) -> None:
    stored_text = story(cli)
    backup = cli.home / "backup.jsonl"
    assert cli("export", "--everybody", "--output", backup).out == f"4 versions and 5 events exported to {backup}\n"
    other = ("--db", cli.home / "other.db")
    assert cli("import", backup, "--restore", *other).out == "4 versions and 5 events restored, 0 already existed\n"
    assert cli("export", "--everybody", *other).out == cli("export", "--everybody").out == backup.read_text()
    assert cli("history", stored_text, "--json", *other).json == cli("history", stored_text, "--json").json
    assert cli("import", backup, "--restore", *other, "--json").json["already_there"] == 10


def test_export_may_be_of_one_person(cli: Cli) -> None:
    story(cli)
    exported = [json.loads(line) for line in cli("export", "--user", "bob").out.splitlines()]
    assert [one.get("text") for one in exported if one["type"] == "memory"] == ["I am Bob"]
    assert cli("export", "--user", "nobody").code == 1


def test_a_failed_export_leaves_the_older_file(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from memstone.memory import Memory

    def breaks_off(memory: Memory, **scope: Any) -> Any:
        yield {"type": "header"}
        raise OSError(28, "No space left on device")

    cli.added("x")
    backup = cli.home / "backup.jsonl"
    backup.write_text("the older backup")
    monkeypatch.setattr(Memory, "export", breaks_off)
    ran = cli("export", "--everybody", "-o", backup)
    assert (ran.code, ran.err.splitlines()[0]) == (3, "error: No space left on device")
    assert [path.name for path in cli.home.glob("backup*")] == ["backup.jsonl"]
    assert backup.read_text() == "the older backup"


def test_an_export_is_not_taken_in_by_accident(cli: Cli) -> None:
    story(cli)
    backup = cli.home / "backup.jsonl"
    cli("export", "--everybody", "-o", backup)
    ran = cli("import", backup, "--db", cli.home / "other.db")
    assert ran.code == 2
    assert ran.err.startswith("error: this file is a Memstone export\nhint: use --restore to put it back as it was")
    assert not (cli.home / "other.db").exists()


def test_an_export_as_new_takes_what_its_live_memories_say(cli: Cli) -> None:
    stored_text = story(cli)
    backup, other = cli.home / "backup.jsonl", ("--db", cli.home / "other.db")
    cli("export", "--everybody", "-o", backup)
    assert cli("import", backup, "--as-new", *other).out == "2 added\n"
    (taken,) = cli("list", "--user", "alice", "--json", *other).json["results"]
    assert (taken["memory"], taken["metadata"], taken["actor"]) == ("I live in Bergen", {"city": "Oslo"}, "Alice")
    assert (taken["version"], taken["occurred_at"][:10]) == (1, "2026-03-02")
    assert taken["id"] != stored_text
    assert cli.texts("list", "--agent", "helper", *other) == ["I am Bob"]


def test_restore_and_as_new_want_an_export(cli: Cli) -> None:
    plain = lines(cli.home / "plain.jsonl", {"text": "x", "user_id": "a"})
    for option in ("--restore", "--as-new"):
        assert cli("import", plain, option).err.startswith("error: this file is not a Memstone export")
    assert cli("import", plain, "--restore", "--user", "a").code == 2


def test_a_damaged_export_names_the_line(cli: Cli) -> None:
    story(cli)
    backup = cli.home / "backup.jsonl"
    cli("export", "--everybody", "-o", backup)
    backup.write_text(backup.read_text().replace('{"type": "event"', "{broken", 1))
    ran = cli("import", backup, "--restore", "--db", cli.home / "other.db")
    assert ran.code == 2
    assert ran.err.startswith("error: line 6: not JSON")


def test_import_understands_the_usual_names_of_fields(cli: Cli) -> None:
    file = lines(
        cli.home / "in.jsonl",
        {"text": "one", "speaker": "Alice", "occurred_at": "2026-03-02", "metadata": {"a": 1}},
        {"memory": "two", "name": "Alice", "created_at": "2026-03-03T10:00:00Z", "user_id": "alice"},
        {"content": "three", "role": "assistant", "user_id": None, "kind": "episodic", "key": "k"},
        {"text": "four", "agent_id": "helper"},
    )
    assert cli("import", file, "--user", "alice").out == "4 added\n"
    taken = {one["memory"]: one for one in cli("list", "--user", "alice", "--json").json["results"]}
    assert sorted(taken) == ["one", "three", "two"]
    assert (taken["one"]["actor"], taken["one"]["occurred_at"][:10], taken["one"]["metadata"]) == (
        "Alice",
        "2026-03-02",
        {"a": 1},
    )
    assert (taken["two"]["actor"], taken["two"]["occurred_at"][:13]) == ("Alice", "2026-03-03T10")
    assert (taken["three"]["role"], taken["three"]["kind"], taken["three"]["key"]) == ("assistant", "episodic", "k")
    assert cli.texts("list", "--agent", "helper") == ["four"]
    assert cli("import", file, "--user", "alice").out == "0 added, 4 already known\n"


@pytest.mark.req("N-49")
def test_a_wrong_line_is_named_and_does_not_hold_the_others_up(cli: Cli) -> None:
    good = '{"text": "good", "user_id": "a", "score": 0.5}\n'
    tool = b'{"text": "t", "role": "tool", "user_id": "a"}\n'
    bad = b'no json\n[1]\n{"text": 3, "user_id": "a"}\n{"text": "whose?"}\n\xff\n' + tool
    (cli.home / "in.jsonl").write_bytes(good.encode() + b"\n" + bad)
    ran = cli("import", cli.home / "in.jsonl")
    assert (ran.code, ran.out) == (1, "1 added, 6 failed\n")
    named = [line.split(":")[0] for line in ran.err.splitlines()]
    assert named[:6] == ["line 3", "line 4", "line 5", "line 6", "line 7", "line 8"]
    assert ran.err.splitlines()[-1] == "ignored fields: score (1)"
    answer = cli("import", cli.home / "in.jsonl", "--json").json
    assert (answer["already_known"], answer["failed"], answer["ignored_fields"]) == (1, 6, {"score": 1})


def test_a_line_without_text_says_where_text_is_looked_for(cli: Cli) -> None:
    (cli.home / "in.jsonl").write_text('{"messages": [{"role": "user", "content": "hi"}], "user_id": "a"}\n')
    ran = cli("import", cli.home / "in.jsonl")
    assert (ran.code, ran.out) == (1, "0 added, 1 failed\n")
    assert ran.err.startswith(
        "line 1: it has no text (put the text in text, memory or content; for conversations, use `memstone ingest`"
    )


def test_only_the_first_wrong_lines_are_shown(cli: Cli) -> None:
    (cli.home / "in.jsonl").write_text('{"text": "good", "user_id": "a"}\n' + "bad\n" * 50)
    ran = cli("import", cli.home / "in.jsonl")
    assert ran.out == "1 added, 50 failed\n"
    assert len(ran.err.splitlines()) == 11
    assert ran.err.splitlines()[-1] == "and 40 more lines"


def test_import_works_in_batches_and_from_standard_input(cli: Cli) -> None:
    cli.environ("MEMSTONE_LIMITS__BATCH", "7")
    value = "".join(json.dumps({"text": f"fact {number}"}) + "\n" for number in range(50)).encode()
    assert cli("import", "-", "--user", "alice", stdin=b"\xef\xbb\xbf" + value).out == "50 added\n"
    assert cli("stats", "--json").json["memories"] == 50


def test_a_json_array_is_read_as_if_each_object_stood_on_a_line(cli: Cli) -> None:
    (cli.home / "array.json").write_text('[\n  {"text": "x"},\n  {"text": "y", "score": 1},\n  3\n]\n')
    ran = cli("import", cli.home / "array.json", "--user", "a")
    assert (ran.code, ran.out) == (1, "2 added, 1 failed\n")
    assert ran.err.splitlines()[0].startswith("line 3: expected an object, not int")
    assert sorted(cli.texts("list", "--user", "a")) == ["x", "y"]


def test_an_empty_file_brings_nothing(cli: Cli) -> None:
    (cli.home / "empty.jsonl").write_text("\n")
    ran = cli("import", cli.home / "empty.jsonl")
    assert (ran.code, ran.out) == (1, "0 added\n")


@pytest.mark.skipif(os.name != "posix", reason="permissions of another kind")
def test_an_export_is_for_its_owner_alone(cli: Cli) -> None:
    cli.added("I am diabetic")
    stale, before = cli.home / "e.jsonl.part", os.umask(0o022)
    stale.write_text("of an export that was cut off")
    try:
        assert cli("export", "--everybody", "-o", cli.home / "e.jsonl").code == 0
    finally:
        os.umask(before)
    assert (cli.home / "e.jsonl").stat().st_mode & 0o777 == 0o600
    assert not stale.exists()


def test_an_export_to_a_folder_that_is_missing_names_the_file_that_was_asked_for(cli: Cli) -> None:
    cli.added("x")
    target = cli.home / "missing" / "e.jsonl"
    ran = cli("export", "--everybody", "-o", target)
    assert ran.code == 3
    assert ran.err.splitlines()[0] == f"error: {target}: No such file or directory"
