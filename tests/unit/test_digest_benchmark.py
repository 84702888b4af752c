"""The measurement of digests measures what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.quality.digest import DigestedSession, capitals, digest, main, named, table
from memstone.model.digest import Digest
from memstone.model.message import Message

if TYPE_CHECKING:
    import pytest

TALK = [
    {"speaker": "Ada", "text": "I painted the harbour of Bergen for my sister Ida last weekend.", "dia_id": "D1:1"},
    {
        "speaker": "Tom",
        "text": "Wow, that is great! I sold my boat in Oslo and bought a small house.",
        "dia_id": "D1:2",
    },
]


def written(tmp_path: Path, summary: str) -> Path:
    """A file with one session and what somebody wrote about it."""
    path = tmp_path / "talk.json"
    conversation = {"session_1": TALK, "session_1_date_time": "1 May 2023"}
    case = {"sample_id": "x", "conversation": conversation, "session_summary": {"session_1_summary": summary}}
    path.write_text(json.dumps([case]), "utf-8")
    return path


def test_names_that_come_through_are_counted(tmp_path: Path) -> None:
    (row,) = table(written(tmp_path, "On 1 May 2023 Ada told Tom about Bergen and Madrid.")).rows

    assert row[0] == "1"
    assert row[1].startswith(".750 ")
    assert row[3] == "0"


def test_made_up_words_are_counted() -> None:
    turns = [Message("user", turn["text"], turn["speaker"]) for turn in TALK]
    lying = DigestedSession(turns, "", Digest("Ada: I painted Paris.", decisions=("They marry.",)))

    assert lying.invented == ["Paris", "They", "marry"]
    assert DigestedSession(turns, "", digest(turns)).invented == []


def test_names_are_counted_by_memstones_finder_and_without_it() -> None:
    assert named("Ada went to the harbour of Bergen.") == ["Ada", "Bergen"]
    assert capitals("Yesterday Ada met Tom in May.") == ["Ada", "Tom"]


def test_the_command_prints_a_table_and_refuses_other_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(written(tmp_path, "Ada told Tom about Bergen."))]) == 0
    assert "named entities kept" in capsys.readouterr().out
    (tmp_path / "other.json").write_text('[{"a": 1}]', "utf-8")
    assert main(["--data", str(tmp_path / "other.json")]) == 2
    assert "session summaries" in capsys.readouterr().err
