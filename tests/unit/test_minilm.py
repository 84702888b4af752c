from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from memstone.adapters.embed import local, minilm
from memstone.adapters.embed.local import LocalEmbedder, LocalEmbedderConfig
from memstone.adapters.embed.minilm import Linear, Norm, OnnxGraph, read_weights
from memstone.adapters.embed.onnx_model import DATA, OnnxSentenceModel, WordPiece
from memstone.adapters.embed.verified_file import read_verified_file
from memstone.adapters.io.blocking import BlockingIo
from memstone.drive import drive

VOCABULARY = (DATA / "vocab.txt").read_text("utf-8").splitlines()
ODD = [
    "",
    "?",
    "a",
    "你好世界",
    "😀" * 30,
    "1 2 3 4",
    "SELECT * FROM t WHERE x = 1;",
    "ÀÉÎÕÜ ñ ß",
    "?" * 400,
    "long " * 300,
]


def original() -> bytes:
    return read_verified_file(local._installed_model(), local.MODEL_SHA256).content


@pytest.fixture(scope="module")
def as_published() -> OnnxSentenceModel:
    return OnnxSentenceModel(original(), WordPiece.from_text("\n".join(VOCABULARY)), threads=1)


@pytest.fixture(scope="module")
def rewritten() -> OnnxSentenceModel:
    return local._shared_model(LocalEmbedderConfig())


def varied_texts() -> list[str]:
    """Words, phrases and nonsense of every length, the same in every run."""
    words = VOCABULARY[1000:29_000:175]
    phrases = [" ".join(VOCABULARY[2000 + 97 * place : 29_000 : 1900 - 8 * place]) for place in range(40)]
    return [*words, *phrases, *(f"I told {word} about the {other}." for word, other in zip(words, words[7:])), *ODD]  # noqa: B905


def cosines(some: Any, others: Any) -> Any:
    return (some * others).sum(axis=1) / np.linalg.norm(some, axis=1) / np.linalg.norm(others, axis=1)


@pytest.fixture
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        local, "_shared", local._SharedModels(threading.Lock(), *({} for _ in local._SharedModels._fields[1:]))
    )


# --- the same vectors -------------------------------------------------------------------------------------------------


def test_every_vector_is_that_of_the_published_network(
    as_published: OnnxSentenceModel, rewritten: OnnxSentenceModel
) -> None:
    texts = varied_texts()
    near = cosines(rewritten.embed(texts, batch_size=32), as_published.embed(texts, batch_size=32))

    assert len(texts) > 300
    assert near.min() > 0.9995


def test_the_words_of_a_text_have_the_vectors_of_the_published_network(
    as_published: OnnxSentenceModel, rewritten: OnnxSentenceModel
) -> None:
    pairs = [("We spoke about tea.", text) for text in varied_texts()[::12]]
    read = [
        (reading.words, other.words)
        for reading, other in zip(rewritten.read(pairs), as_published.read(pairs), strict=True)
    ]
    near = np.concatenate([cosines(*words) for words in read if len(words[0])])

    assert near.mean() > 0.9998
    assert np.quantile(near, 0.01) > 0.999


def test_a_text_has_the_same_vector_to_the_last_bit_alone_and_among_others(rewritten: OnnxSentenceModel) -> None:
    texts = varied_texts()[::9]

    together = rewritten.embed(texts, batch_size=32)
    alone = np.concatenate([rewritten.embed([text]) for text in texts])
    assert np.array_equal(together, alone)


def test_readings_come_in_the_order_of_their_texts(rewritten: OnnxSentenceModel) -> None:
    pairs = [("", text) for text in varied_texts()[::9]]
    together = rewritten.read(pairs, batch_size=8)

    assert all(
        np.array_equal(one.states, rewritten.read([pair])[0].states) for one, pair in zip(together, pairs, strict=True)
    )


# --- what the file holds ----------------------------------------------------------------------------------------------


def test_no_weight_is_expanded() -> None:
    before, after = read_weights(original()), read_weights(minilm.rewrite_model(original()))
    small = [array for array in after.values() if array.dtype == np.int8]

    assert sum(array.size for array in small) == sum(
        array.size for name, array in before.items() if array.dtype == np.int8 and "position" not in name
    )
    assert sum(array.nbytes for array in after.values() if array.dtype == np.float32) < 2_000_000


def test_a_written_graph_reads_back() -> None:
    graph = OnnxGraph()
    constants: dict[str, npt.NDArray[Any]] = {
        "matrix": np.arange(600, dtype=np.float32).reshape(20, 30),
        "numbers": np.array([-1, 2**40], dtype=np.int64),
        "one": np.array(7, dtype=np.uint8),
        "transposed": np.arange(6, dtype=np.int8).reshape(2, 3).T,
    }
    for name, value in constants.items():
        graph.constant(name, value)
    read = read_weights(graph.model({"x": ["n"]}, {"y": ["n"]}))

    assert list(read) == list(constants)
    assert all(np.array_equal(read[name], value) for name, value in constants.items())


# --- nothing can fall outside the range -------------------------------------------------------------------------------


def normed(rows: Any, norm: Norm) -> Any:
    rows = rows - rows.mean(axis=1, keepdims=True)
    return rows / rows.std(axis=1, keepdims=True) * norm.gain + norm.bias


def some_norm() -> tuple[Norm, Linear, Any]:
    chance = np.random.default_rng(5)
    norm = Norm(chance.normal(1, 0.5, 48).astype(np.float32), chance.normal(0, 1, 48).astype(np.float32))
    layer = Linear(
        chance.integers(-127, 128, (48, 20)).astype(np.int8),
        chance.uniform(0.001, 0.02, 20).astype(np.float32),
        chance.normal(0, 1, 20).astype(np.float32),
    )
    spikes = np.concatenate([np.eye(48), -np.eye(48)])
    slopes = norm.gain[:, None] * (layer.weights * layer.scale)
    return norm, layer, np.concatenate([chance.normal(size=(500, 48)), spikes, slopes.T, -slopes.T])


def test_the_reach_of_a_norm_is_attained_and_never_exceeded() -> None:
    norm, _, rows = some_norm()
    furthest = np.abs(normed(rows, norm)).max()

    assert furthest < norm.reach() < 1.01 * furthest


def test_the_range_behind_a_layer_is_attained_and_never_exceeded() -> None:
    norm, layer, rows = some_norm()
    out = normed(rows, norm) @ (layer.weights * layer.scale) + layer.bias
    lowest, highest = norm.range_through(layer)

    assert 1.01 * out.min() < lowest < out.min()
    assert out.max() < highest < 1.01 * out.max()


# --- which network runs -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_loaded")
def test_a_runtime_that_refuses_the_rewritten_network_gets_the_published_one(
    monkeypatch: pytest.MonkeyPatch, as_published: OnnxSentenceModel
) -> None:
    monkeypatch.setattr(local, "rewrite_model", lambda _: b"an operator that is not known")
    (vector,) = drive(LocalEmbedder(LocalEmbedderConfig(), BlockingIo()).embed(["tea"]))

    assert np.array_equal(vector, as_published.embed(["tea"])[0])


@pytest.mark.usefixtures("nothing_loaded")
def test_only_the_built_in_model_is_rewritten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(local, "rewrite_model")
    (tmp_path / "model.onnx").write_bytes(original() + b"\x32\x00")  # the same model, with an empty remark
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY), "utf-8")
    own = LocalEmbedderConfig(model_dir=tmp_path, model_name="own")

    assert drive(LocalEmbedder(own, BlockingIo()).embed(["tea"])).shape == (1, 384)
