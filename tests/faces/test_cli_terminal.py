from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memstone.cli import terminal
from memstone.cli.terminal import Column, TextTable, display_width, escape_control_chars, wrap_text
from tests.patience import LONG

pty = pytest.importorskip("pty")
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def plain(text: str, style: str) -> str:
    return text


def on_terminal(home: Path, *args: str, both: bool = False, environ: dict[str, str] | None = None) -> str:
    """What a command writes to a terminal of 60 columns; ``both``: with standard error."""
    reader, writer = pty.openpty()
    known = {
        "HOME": str(home),
        "MEMSTONE_EMBEDDER__PROVIDER": "hash",
        "COLUMNS": "60",
        "TERM": "xterm",
        **(environ or {}),
    }
    stored = {
        name: value for name, value in os.environ.items() if name != "NO_COLOR" and not name.startswith("MEMSTONE_")
    }
    command = [sys.executable, "-m", "memstone.cli", *args]
    errors = writer if both else subprocess.DEVNULL
    program = subprocess.Popen(command, stdout=writer, stderr=errors, env=stored | known)  # noqa: S603
    os.close(writer)
    seen = b""
    try:
        while part := os.read(reader, 65536):
            seen += part
    except OSError:  # how Linux says that the other side is closed
        pass
    finally:
        os.close(reader)
        program.wait()
    return seen.decode().replace("\r\n", "\n")


def test_on_a_terminal_there_are_colours_and_no_line_is_too_long(tmp_path: Path) -> None:
    text = "a rather long text about the harbour project " * 3
    output = on_terminal(tmp_path, "add", text, "--no-infer", "--user", "alice")
    assert "\x1b[32mADD" in output
    assert max(len(ANSI.sub("", line)) for line in output.splitlines()) <= 60


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_for_those_who_want_none(tmp_path: Path, environ: dict[str, str]) -> None:
    assert "\x1b" not in on_terminal(tmp_path, "add", "x", "--no-infer", "--user", "alice", environ=environ)


def test_json_on_a_terminal_is_indented(tmp_path: Path) -> None:
    output = on_terminal(tmp_path, "add", "x", "--no-infer", "--user", "alice", "--json")
    assert output.startswith('{\n  "results": [\n')


def test_progress_is_drawn_and_taken_away_again(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "x", "user_id": "alice"}\n')
    output = on_terminal(tmp_path, "import", str(tmp_path / "in.jsonl"), both=True)
    assert "importing ████" in output
    assert output.rsplit("\x1b[K", 1)[1] == "1 added\n"


def test_columns_give_way_before_the_text_gets_too_narrow() -> None:
    table = TextTable([Column("ID"), Column("SAID", spare=1), Column("KIND", spare=2), Column("MEMORY", grows=True)])
    table.add("x" * 20, "2026-03-02", "factual", "a text of some length that has to be wrapped")
    titles = {wide: next(iter(table.lines(wide, plain))).split() for wide in (100, 70, 60, 46)}
    assert titles == {
        100: ["ID", "SAID", "KIND", "MEMORY"],
        70: ["ID", "SAID", "KIND", "MEMORY"],
        60: ["ID", "SAID", "MEMORY"],
        46: ["ID", "MEMORY"],
    }


@pytest.mark.parametrize("wide", [30, 41, 60, 100])
def test_a_table_is_never_wider_than_asked_whatever_the_script(wide: int) -> None:
    table = TextTable([Column("N", right=True), Column("BEFORE", grows=True), Column("AFTER", grows=True)])
    table.add(1, None, "日本語のテキストはとても長いことがあります " * 3)
    table.add(20, "combining e\u0301 and emoji 👩‍👧 here", "x" * 200)
    assert max(display_width(line) for line in table.lines(wide, plain)) <= wide


def test_a_long_cell_ends_with_an_ellipsis_only_where_the_width_is_limited() -> None:
    table = TextTable([Column("MEMORY", grows=True)])
    table.add("word " * 100)
    assert len(list(table.lines(20, plain))) == 5
    assert list(table.lines(20, plain))[-1].endswith("…")
    assert list(table.lines(None, plain))[1] == " ".join(["word"] * 100)


def test_wrapping_keeps_every_character() -> None:
    text = "a bb ccc dddd eeeee ffffff ggggggg hhhhhhhh " + "z" * 25
    assert "".join(wrap_text(text, 10)).replace(" ", "") == text.replace(" ", "")
    assert all(display_width(line) <= 10 for line in wrap_text(text, 10))
    assert wrap_text("", 10) == [""]


def test_harmless_text_stays_and_harmful_characters_are_shown() -> None:
    assert escape_control_chars("Grüße aus 東京 👩‍👧") == "Grüße aus 東京 👩‍👧"
    assert escape_control_chars("a\tb\nc\u2028d") == "a b c d"
    assert escape_control_chars("\x1b]0;title\x07") == r"\x1b]0;title\x07"


def test_what_takes_long_says_so_until_it_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "_QUIET_SECONDS", 0.01)
    shown = ""
    with terminal.WaitNotes("starting", always=True):
        end = time.monotonic() + LONG
        while "starting, 0 s ..." not in shown and time.monotonic() < end:
            shown += capsys.readouterr().err
    assert shown.startswith("starting, 0 s ...\n")
    with terminal.WaitNotes("working"):
        time.sleep(0.1)
    assert "working" not in capsys.readouterr().err, "nobody looks"


def test_ids_are_short_on_a_terminal_and_whole_elsewhere() -> None:
    table = TextTable([Column("ID", is_id=True), Column("MEMORY", grows=True)])
    table.add("3f2a91c0-77de-4a1b-8c00-0123456789ab", "User lives in Oslo.")
    assert list(table.lines(60, plain))[1] == "3f2a91c0-77de  User lives in Oslo."
    assert "0123456789ab" in list(table.lines(None, plain))[1]
