from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faces.cli_runner import Cli
from tests.patience import LONG
from tests.server.upstream import Upstream, served


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.fixture
def upstream() -> Iterator[tuple[Upstream, str]]:
    stand_in = Upstream()
    with served(stand_in.app) as url:
        yield stand_in, url


def lines(out: str) -> list[str]:
    """What stands in the rows, with single blanks."""
    return [" ".join(line.split()) for line in out.splitlines() if line.strip()]


def test_without_a_model_it_shows_what_memory_does(cli: Cli) -> None:
    ran = cli("chat", stdin=b"I live in Oslo.\nI moved to Bergen.\nWhere is my home?\n")
    assert (ran.code, ran.err) == (0, "")
    shown = lines(ran.out)
    assert shown[0].startswith("Memory of the user me, in ")
    assert "No model answers here" in shown[1]
    assert 'learned User lives in Oslo. (from "I live in Oslo.")' in shown
    assert "changed User lives in Oslo. -> User moved to Bergen. (home: 'oslo' becomes 'bergen')" in shown
    asked = shown[shown.index("you> Where is my home?") :]
    assert asked[1:] == [
        "shown User moved to Bergen. (always shown)",
        "learned nothing (it states no fact; it is stored as a turn)",
    ]
    assert cli.texts("list", "--user", "me") == ["User moved to Bergen."]


@pytest.mark.parametrize("preset", ["facts", "gateway", "companion", "shared"])
def test_every_preset_shows_at_once_what_it_learns(cli: Cli, preset: str) -> None:
    cli.environ("MEMSTONE_PRESET", preset)
    assert "learned User lives in Oslo." in " ".join(lines(cli("chat", stdin=b"I live in Oslo.\n").out))


def test_a_model_answers_with_what_is_known_and_is_remembered(cli: Cli, upstream: tuple[Upstream, str]) -> None:
    stand_in, url = upstream
    cli("add", "I am allergic to hazelnuts.", "--user", "ann")
    stand_in.reply = "Then no nut cake.\nPasta?"
    ran = cli("chat", "--user", "ann", "--upstream", url, stdin=b"What should I cook?\nAnd on Friday?\n")
    assert (ran.code, ran.err) == (0, "")
    assert "ai> Then no nut cake. Pasta?" in " ".join(lines(ran.out))
    first, second = stand_in.seen
    assert (first["model"], first["stream"]) == ("m", True)
    assert "User is allergic to hazelnuts." in first["messages"][0]["content"]
    said = [one["content"] for one in second["messages"][1:]]
    assert said == ["What should I cook?", stand_in.reply, "And on Friday?"]
    turns = cli("list", "--user", "ann", "--layer", "turn", "--json").json["results"]
    assert {one["memory"] for one in turns} >= {"What should I cook?", stand_in.reply}


def test_the_dialect_of_anthropic_gets_its_key_and_the_memory_apart(cli: Cli, upstream: tuple[Upstream, str]) -> None:
    stand_in, url = upstream
    cli.environ("ANTHROPIC_API_KEY", "sk-ant-1")
    cli("add", "I live in Oslo.", "--user", "me")
    ran = cli("chat", "--upstream", f"anthropic={url}", "--model", "claude-x", stdin=b"Where do I live?\n")
    assert (ran.code, "ai> Noted." in ran.out.replace("  ", " ")) == (0, True)
    assert stand_in.headers[0]["x-api-key"] == "sk-ant-1"
    assert "User lives in Oslo." in stand_in.seen[0]["system"]
    assert [one["role"] for one in stand_in.seen[0]["messages"]] == ["user"]


def test_an_upstream_that_does_not_stream_is_heard_too(cli: Cli, upstream: tuple[Upstream, str]) -> None:
    stand_in, url = upstream
    stand_in.streams = False
    cli.environ("ANTHROPIC_API_KEY", "sk-ant-1")
    for named in (url, f"anthropic={url}"):
        ran = cli("chat", "--upstream", named, "--model", "m", stdin=b"Hello\n")
        assert (ran.code, "ai> Noted." in ran.out.replace("  ", " ")) == (0, True), named
    stand_in.reply = ""
    assert "the model said nothing" in cli("chat", "--upstream", url, "--model", "m", stdin=b"Hello\n").out
    stand_in.cut_after = 1
    ran = cli("chat", "--upstream", url, "--model", "m", stdin=b"Hello\n")
    assert (ran.code, "error: " in ran.err) == (0, True), "half an answer"


def test_an_upstream_that_refuses_or_breaks_off_ends_neither_chat_nor_memory(
    cli: Cli, upstream: tuple[Upstream, str]
) -> None:
    stand_in, url = upstream
    stand_in.broken = [401]
    ran = cli("chat", "--upstream", url, "--model", "m", stdin=b"I live in Oslo.\nThanks.\n")
    assert ran.code == 0
    assert "refused its key: no" in ran.err
    assert cli.texts("list", "--user", "me") == ["User lives in Oslo."]
    stand_in.cut_after = 1
    assert "broke off its answer" in cli("chat", "--upstream", url, "--model", "m", stdin=b"Hello\n").err


def test_what_is_wrong_with_an_upstream_is_said_before_the_chat_begins(cli: Cli) -> None:
    assert cli("chat", "--upstream", "openia", "--json").error["hint"] == "did you mean openai?"
    assert cli("chat", "--upstream", "openai", "--json").error["hint"] == "export OPENAI_API_KEY=..."
    cli.environ("OPENAI_API_KEY", "rt_ours")
    assert cli("chat", "--upstream", "openai", "--json").error["message"].endswith("OPENAI_API_KEY is not set")
    assert cli("chat", "--upstream", "http://127.0.0.1:9", "--json").error["code"] == "backend_unavailable"
    assert cli("chat", "--model", "m").code == 2


def test_json_is_one_document_a_message(cli: Cli) -> None:
    ran = cli("chat", "--json", stdin=b"I live in Oslo.\nHello\n")
    first, second = map(json.loads, ran.out.splitlines())
    assert (first["message"], first["answer"]) == ("I live in Oslo.", None)
    assert [one["memory"] for one in first["learned"]] == ["User lives in Oslo."]
    assert [one["memory"] for one in second["shown"]] == ["User lives in Oslo."]


def test_commands_of_the_chat_look_and_undo(cli: Cli) -> None:
    said = b"I live in Oslo.\n/block\n/profile\n/undo\n/memories\n/nonsense\n/quit\nI live in Rome.\n"
    shown = lines(cli("chat", stdin=said).out)
    assert "it was shown nothing" in shown
    assert "undone User lives in Oslo. (deleted)" in shown
    assert shown[shown.index("you> /memories") + 1] == "nothing yet"
    assert "/undo undo what your last message changed" in shown
    assert "you> I live in Rome." not in shown


def test_a_person_at_a_terminal_is_asked_and_leaves_with_ctrl_d(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    environ = {"HOME": str(tmp_path), "MEMSTONE_EMBEDDER__PROVIDER": "hash", "TERM": "xterm", "COLUMNS": "60"}
    reader, writer = pty.openpty()
    chat = subprocess.Popen(
        [sys.executable, "-m", "memstone", "chat"],
        stdin=writer,
        stdout=writer,
        stderr=writer,
        env={**os.environ, **environ},
        start_new_session=True,
    )
    os.close(writer)
    try:
        read_until(reader, "you> ")
        os.write(reader, b"I live in Oslo.\n")
        shown = read_until(reader, "you> ")
        assert "\x1b[32mlearned" in shown
        assert all(len(line) <= 60 for line in re.sub(r"\x1b\[[0-9;?]*[a-z]", "", shown).splitlines())
        os.write(reader, b"\x04")
        assert chat.wait(LONG) == 0
    finally:
        chat.kill()
        chat.wait()
        os.close(reader)


def read_until(reader: int, wanted: str) -> str:
    """What a terminal shows until the program waits for the next message."""
    shown, end = "", time.monotonic() + LONG
    while wanted not in shown[-40:]:
        assert time.monotonic() < end, shown
        if select.select([reader], [], [], 1)[0]:
            shown += os.read(reader, 65_536).decode()
    return shown
