from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from scripts import foreign_sentences

SAID = "My neighbour's heron always steals goldfish from our pond."


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with a few files, and room for a collection beside it."""
    root = tmp_path / "repository"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)  # noqa: S603, S607 - our own command
    (root / "clean.py").write_text('"""Nothing but our own words stand in this file."""\n')
    (root / "picture.bin").write_bytes(b"\x00\xff" + SAID.encode())
    return root


def run(
    tree: Path, texts: object, capsys: pytest.CaptureFixture[str], *more: str, name: str = "texts.json"
) -> list[str]:
    collection = tree.parent / name
    collection.write_text(texts if isinstance(texts, str) else json.dumps(texts))
    ended = foreign_sentences.main([str(collection), "--root", str(tree), *more])
    *found, summary = capsys.readouterr().out.splitlines()
    assert ended == bool(found)
    assert summary.endswith(f" {len(found)} found")
    return found


def test_nothing_is_found_where_nothing_was_copied(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tree, [{"text": SAID}], capsys) == []


@pytest.mark.parametrize(
    "copied",
    [
        SAID,
        SAID.upper(),
        "my neighbours heron always steals goldfish from our pond",
        '    "My neighbour\\u2019s heron always "\n    "steals goldfish from our pond",\n',
        "> My neighbour\u2019s heron: always steals goldfish\n> from our\tpond!",
    ],
)
def test_a_copied_sentence_is_found_however_it_is_written(
    tree: Path, copied: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "test_it.py").write_text(f"first line\n{copied}\n")
    texts = {"conversation": [{"turns": ["Well. " + SAID + " Is that so?"]}]}
    assert run(tree, texts, capsys) == ["test_it.py:2: my neighbours heron always steals goldfish from our pond"]


@pytest.mark.parametrize(
    ("name", "texts"), [("a.jsonl", f'{{"x": "{SAID}"}}\n\n["other"]\n'), ("a.txt", f"Hm.\n{SAID}\n")]
)
def test_lines_and_plain_texts_are_read(tree: Path, name: str, texts: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "notes.md").write_text(SAID)
    assert len(run(tree, texts, capsys, name=name)) == 1


def test_short_sentences_are_everybodys(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "notes.md").write_text("I like green tea.")
    assert run(tree, ["I like green tea."], capsys) == []
    assert len(run(tree, ["I like green tea."], capsys, "--words", "4")) == 1


def test_part_of_a_sentence_is_found_on_request(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "notes.md").write_text("The heron always steals goldfish from the tank.")
    assert run(tree, [SAID], capsys) == []
    assert run(tree, [SAID], capsys, "--runs", "5") == ["notes.md:1: heron always steals goldfish from"]


def test_folders_are_read_and_what_is_no_text_is_named(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tree.parent / "texts"
    texts.mkdir()
    (texts / "sealed.bin").write_bytes(b"\x00\xff\xfe")
    (texts / "more.txt").write_text(SAID)
    (tree / "notes.md").write_text(SAID)
    assert foreign_sentences.main([str(texts), "--root", str(tree)]) == 1
    lines = capsys.readouterr()
    assert "sealed.bin is not text: left out" in lines.err
    assert "notes.md:1: " in lines.out
