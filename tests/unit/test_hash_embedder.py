from __future__ import annotations

import asyncio
import subprocess
import sys

import numpy as np
import pytest
from pydantic import ValidationError

from memstone.adapters.embed.hash_embedder import HashConfig, HashEmbedder
from memstone.adapters.io.blocking import BlockingIo
from memstone.drive import drive
from memstone.ports.models import Embedder


def similarity(first: str, second: str, *, dim: int = 256) -> float:
    one, other = drive(HashEmbedder.make(dim).embed([first, second]))
    return float(one @ other)


def test_it_names_itself_and_its_dimension() -> None:
    embedder: Embedder = HashEmbedder(HashConfig(dim=64), BlockingIo())

    assert (embedder.provider, embedder.model, embedder.destination) == ("hash", "bow-v1", "this machine")
    assert drive(embedder.dimension()) == 64


@pytest.mark.req("C-47")
def test_each_text_gets_one_unit_vector() -> None:
    vectors = drive(HashEmbedder.make().embed(["likes tea", "lives in Rome", "likes tea"]))

    assert vectors.shape == (3, 256)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.array_equal(vectors[0], vectors[2])
    assert not np.array_equal(vectors[0], vectors[1])


def test_no_texts_give_no_rows() -> None:
    assert drive(HashEmbedder.make(32).embed([])).shape == (0, 32)


def test_a_text_without_words_gives_a_zero_row() -> None:
    vectors = drive(HashEmbedder.make().embed(["", "?! …", "word"]))

    assert [bool(row.any()) for row in vectors] == [False, False, True]


def test_texts_that_share_words_are_nearer_than_texts_that_do_not() -> None:
    shared = similarity("Anna lives in Berlin", "Where does Anna live?")
    unrelated = similarity("Anna lives in Berlin", "The invoice is overdue")

    assert shared > 0.3
    assert abs(unrelated) < 0.2


def test_words_of_one_stem_are_near() -> None:
    assert similarity("gardening", "gardens") > 0.2 > abs(similarity("gardening", "invoice"))


def test_case_does_not_matter() -> None:
    assert similarity("STRASSE Ärger", "straße ärger") == pytest.approx(1)


def test_word_order_does_not_matter() -> None:
    assert similarity("green tea", "tea green") == pytest.approx(1)


def test_it_runs_the_same_on_an_event_loop() -> None:
    embedder = HashEmbedder.make()

    assert np.array_equal(asyncio.run(embedder.embed(["tea"])), drive(embedder.embed(["tea"])))


def test_another_process_gives_the_same_vector() -> None:
    script = (
        "from memstone.adapters.embed.hash_embedder import HashEmbedder as H; from memstone.drive import drive;"
        "print(drive(H.make(64).embed(['Anna lives in Berlin'])).tobytes().hex())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603

    assert done.stdout.strip() == drive(HashEmbedder.make(64).embed(["Anna lives in Berlin"])).tobytes().hex()


@pytest.mark.parametrize("dim", [0, 7, 4097])
def test_an_unusable_dimension_is_refused(dim: int) -> None:
    with pytest.raises(ValidationError):
        HashConfig(dim=dim)
