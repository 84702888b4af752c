"""Every command line that a page or a message shows exists, with the options it is shown with.

Snippets that the tests run prove themselves; these are the others: blocks that are only shown, commands within a
sentence, and hints in the source.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click import Command, Group

from memstone.cli.run import memstone

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*.*")),
    *sorted((ROOT / "clients").glob("*/README.md")),
    *sorted((ROOT / "src").rglob("*.py")),
]
IN_A_SENTENCE = re.compile(r"(?<!`)`(?:\$ )?memstone ([^`\n.][^`\n]*)`")
ON_A_LINE = re.compile(r"^(?:\$ |[A-Z_]+=\S+ )*memstone ([a-z-]+(?: .*)?)$", re.MULTILINE)
FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown_commands(text: str, *, is_page: bool) -> Iterator[str]:
    """What is shown after the name of the program."""
    yield from IN_A_SENTENCE.findall(FENCE.sub("", text) if is_page else text)
    for block in FENCE.findall(text) if is_page else ():
        yield from ON_A_LINE.findall(block)


def options_of(command: Command) -> dict[str, bool]:
    """The names of its options, and whether each takes a value."""
    found = [(option, name) for option in command.params for name in (*option.opts, *option.secondary_opts)]
    return {name: not getattr(option, "is_flag", False) for option, name in found if name.startswith("-")}


def unknown_words(words: Sequence[str]) -> list[str]:
    """The command or the options that do not exist."""
    command: Command = memstone
    known, missing, left = {"--help": False, **options_of(memstone)}, [], list(words)
    while left:
        word = left.pop(0)
        if word.startswith("-"):
            name, _, value = word.partition("=")
            missing += [] if name in known or not name.startswith("--") else [word]
            left = left[1:] if known.get(name) and not value else left
        elif isinstance(command, Group):
            if word not in command.commands:
                return missing if command is not memstone else [*missing, word]
            command = command.commands[word]
            known |= options_of(command)
    return missing


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_command_that_is_shown_exists(file: Path) -> None:
    for line in shown_commands(file.read_text("utf-8"), is_page=file.suffix == ".md"):
        typed = re.split(r"\s[|>#&]|\)|\{|…|\\$", line)[0]
        try:
            words = shlex.split(typed)
        except ValueError:
            words = typed.split()
        assert unknown_words(words) == [], f"{file.relative_to(ROOT)}: memstone {line}"


def test_a_wrong_command_and_a_wrong_option_are_noticed() -> None:
    assert unknown_words(["serach", "Oslo"]) == ["serach"]
    assert unknown_words(["keys", "create", "--verbs", "read"]) == ["--verbs"]
    assert unknown_words(["--db", "a.db", "keys", "create", "--verb=read", "--may-assert-user"]) == []
    assert list(shown_commands("`memstone add X`\n```text\n$ memstone list\n```\n", is_page=True)) == ["add X", "list"]
