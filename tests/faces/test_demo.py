from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from tests.faces.cli_runner import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


def steps(out: str) -> list[str]:
    """The text of each step."""
    return re.split(r"\n\n\d  ", out.partition("\nTry next\n")[0])[1:]


def test_the_demo_tells_its_story(cli: Cli) -> None:
    ran = cli("demo")
    assert (ran.code, ran.err) == (0, "")
    learn, evidence, find, change, look_back, apart, note, delete, stats = steps(ran.out)
    assert (learn.count("  ADD  "), learn.count("  NONE  ")) == (7, 1)
    for text in ("User lives in Oslo.", "User's sister Ingrid", "User's daughter Ella"):
        assert text in learn
    assert len(re.findall(r"Could you book a table.* -$|Done: the Harbour Grill.* -$", learn, re.MULTILINE)) == 2
    assert re.findall(r"^   (\w+) +(.*)$", evidence, re.MULTILINE)[-3:] == [
        ("fact", "User is allergic to hazelnuts."),
        ("quote", "I'm allergic to hazelnuts."),
        ("turn", "I'm allergic to hazelnuts. My sister Ingrid is vegan."),
    ]
    words, meaning = find.split("memory.search(")[1:]
    assert "████████ 1.00  ██████░░ 0.76  User is allergic to hazelnuts." in words
    assert "░░░░░░░░ 0.00" in meaning.splitlines()[2]
    assert "User's sister Ingrid is vegan." in meaning.splitlines()[2]
    sentence, history = change.split("memory.history(")
    assert sentence.count("  UPDATE  ") == 2
    assert [line.split()[0] for line in history.splitlines()[2:]] == ["ADD", "UPDATE"]
    assert re.search(r"User lives in Oslo\. +User moved to Bergen\.", history)
    amended = 'blue room. On 2026-03-05: "The standup is at 10:15 now.".'
    now, then = look_back.split("memory.search(")[1:]
    assert amended in " ".join(now.split())
    assert ("10:15" in then, "9:30" in then) == (False, True)
    maya, jonas = apart.split("memory.search(")[1:]
    assert "User is planning a surprise party" in maya
    assert jonas.splitlines()[-1].strip() == "nothing"
    friday, saturday = note.split("memory.search(")[1:]
    assert "4711" in friday
    assert saturday.splitlines()[-1].strip() == "nothing"
    history, left = delete.split("memory.get_all(")
    assert "DELETE  Sun 11:00  User is planning a surprise party" in history
    assert ("party" in left, amended in " ".join(left.split()), "Oslo" in left) == (False, True, False)
    assert "memories  17\n   turns     10\n" in stats
    assert ran.out.split("Try next\n")[1].count("memstone ") == 3


def test_the_demo_says_the_same_every_time_and_leaves_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = cli.home / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    first = cli("demo", "--slow")  # nobody looks, so there are no pauses
    cli.environ("MEMSTONE_EMBEDDER__PROVIDER", "nobody")  # nor does any setting change it
    assert cli("demo").out == first.out
    assert "\x1b" not in first.out
    assert list(folder.iterdir()) == []
    assert not cli.db.exists()


def test_the_demo_may_be_kept_but_never_in_a_file_that_is_there(cli: Cli) -> None:
    stored = cli.home / "kept.db"
    assert f"memstone list --user maya --db {stored}" in cli("demo", "--db", stored).out
    assert len(cli.texts("list", "--user", "maya", "--expired", "--db", stored)) == 6
    again = cli("demo", "--db", stored)
    assert (again.code, again.err.splitlines()[0]) == (2, f"error: {stored} already exists")


def test_the_demo_as_json_is_one_document(cli: Cli) -> None:
    answer = cli("demo", "--json").json["steps"]
    assert len(answer) == 9
    assert answer[-1]["calls"][0]["result"]["memories"] == 17


def test_the_demo_takes_no_configuration(cli: Cli) -> None:
    assert cli("demo", "--config", "some.toml").code == 2
