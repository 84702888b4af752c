"""The built-in model reading a message together with memories: in one sequence, each with its own answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from memstone.adapters.embed.hashing import HashEmbedder
from memstone.adapters.embed.lists import LONGEST, LONGEST_OTHER, file_of, list_ids
from memstone.adapters.embed.local import LocalConfig, LocalEmbedder
from memstone.adapters.io.blocking import BlockingIo
from memstone.drive import drive
from memstone.ports.list_reader import ListReader

MOST_BYTES = 1_600_000
MEMORIES = ["User lives in a flat in Ghent.", "User has two cats.", "User plays the cello."]


@pytest.mark.req("P-17")
def test_the_deltas_are_small() -> None:
    assert file_of("changes").stat().st_size < MOST_BYTES


@pytest.mark.req("P-17")
def test_texts_stand_in_one_sequence_and_long_ones_lose_their_end() -> None:
    ids, ends = list_ids([101, 7, 8, 102], [[101, 9, 102], [101, *[5] * 99, 102]])
    assert ids[:6] == [101, 7, 8, 102, 9, 102]
    assert ends == [4, 6, 6 + LONGEST_OTHER + 1]
    assert list_ids([101, *[5] * 99, 102], [])[1] == [LONGEST + 2]


@pytest.mark.req("P-17")
def test_each_memory_has_its_own_answer_and_the_changed_one_stands_out() -> None:
    reader = LocalEmbedder(LocalConfig(), BlockingIo())
    assert isinstance(reader, ListReader)
    rows = drive(reader.read_list("We moved to a small house in Ostend last week", MEMORIES, "changes"))
    assert rows.shape == (3, 2)
    assert rows[:, 0].argmax() == 0
    assert rows[0, 0] > rows[0, 1]


@pytest.mark.req("P-17")
def test_only_the_built_in_model_reads_and_only_what_it_was_fitted_to(tmp_path: Path) -> None:
    own = LocalEmbedder(LocalConfig(model_dir=tmp_path, model_name="mine"), BlockingIo())
    assert not own.reads_lists("changes")
    built_in = LocalEmbedder(LocalConfig(), BlockingIo())
    assert built_in.reads_lists("changes")
    assert not built_in.reads_lists("something else")
    assert not isinstance(HashEmbedder.make(), ListReader)
