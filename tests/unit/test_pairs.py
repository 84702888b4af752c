"""The built-in model reading two texts together."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memstone.adapters.embed import local, pairs
from memstone.adapters.embed.local import LocalEmbedder, LocalEmbedderConfig
from memstone.adapters.embed.minilm import PARTS, Network, of_rows
from memstone.adapters.embed.onnx_model import DATA, WordPiece, create_session, run_session
from memstone.adapters.embed.pairs import LONGEST, PairModel, deltas_in, pair_ids
from memstone.adapters.embed.verified_file import read_verified_file
from memstone.adapters.io.blocking import BlockingIo
from memstone.drive import drive
from memstone.ports.models import PairReader

WIDTH = 384
TOKENIZER = WordPiece.from_text((DATA / "vocab.txt").read_text("utf-8"))
TEXTS = [
    ("When is my motorbike due for a service?", "My motorbike is serviced every May."),
    ("my IBAN?", "User is allergic to cashews and always carries a pen against it"),
    ("Where do I park?", "tea"),
    ("", ""),
    ("long " * 300, "short"),
    ("Which day does the choir meet, and who is to bring the scores this time?", "also long " * 60),
]


def network() -> Network:
    return Network(read_verified_file(local._installed_model(), local.MODEL_SHA256).content)


def head(outputs: int = 2, **more: Any) -> dict[str, Any]:
    """Deltas that change nothing, and a head that takes something of everything."""
    chance = np.random.default_rng(3)
    values = {
        "types": np.zeros((2, WIDTH)) + network().types()[0],
        "inner.weight": chance.normal(0, 0.05, (8, 5 * WIDTH)),
        "inner.bias": np.zeros(8),
        "outer.weight": chance.normal(0, 0.3, (outputs, 8)),
        "outer.bias": np.array([0.5] * outputs),
        "direct.weight": chance.normal(0, 0.05, (outputs, 5 * WIDTH)),
        **more,
    }
    return {name: np.asarray(value, np.float32) for name, value in values.items()}


@pytest.fixture(scope="module")
def plain() -> PairModel:
    return PairModel(network(), head(), TOKENIZER, threads=2)


# --- two texts as one -------------------------------------------------------------------------------------------------


def test_both_texts_stand_between_their_marks() -> None:
    assert pair_ids([101, 7, 8, 102], [101, 9, 102]) == ([101, 7, 8, 102, 9, 102], 4)
    assert pair_ids([101, 102], [101, 102]) == ([101, 102, 102], 2)


@pytest.mark.parametrize(("one", "other"), [(5, 500), (500, 5), (500, 500), (47, 46), (0, 500)])
def test_a_short_text_is_never_cut_for_a_long_one(one: int, other: int) -> None:
    ids, first = pair_ids([1, *[7] * one, 2], [1, *[8] * other, 2])
    assert len(ids) == min(LONGEST, one + other + 3)
    assert ids.count(7) == first - 2 >= min(one, LONGEST // 2 - 2)
    assert ids.count(8) >= min(other, LONGEST // 2 - 2)
    assert ids[first - 1] == ids[-1] == 2


# --- what is computed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("once", "near"), [(False, 0.9999), (True, 0.98)])
def test_without_deltas_the_model_sees_what_it_sees_of_one_text(once: bool, near: float) -> None:  # noqa: FBT001
    sentence, known = local._shared_model(LocalEmbedderConfig()), network()
    by_rows = create_session(of_rows(known, once=once), as_it_is=True)
    for pair in TEXTS[:3]:
        ids = np.array([pair_ids(TOKENIZER.encode(pair[0]), TOKENIZER.encode(pair[1]))[0]])
        mask = np.ones_like(ids)
        words, scales = known.words()
        rows = words[ids] * scales[ids] + known.places()[: ids.shape[1]] + known.types()[0]
        found = run_session(by_rows, "last_hidden_state", {"rows": rows, "attention_mask": mask})[0]
        expected = sentence._output_of({"input_ids": ids, "attention_mask": mask})[0]
        lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
        assert ((found * expected).sum(axis=1) / lengths).min() > near


def test_the_head_looks_at_both_texts_and_how_they_differ() -> None:
    states = np.random.default_rng(5).normal(0, 0.3, (2, 6, WIDTH)).astype(np.float32)
    part = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, -1, -1]])
    by = head()
    for row, (first, end) in enumerate([(3, 6), (2, 4)]):
        one, other = states[row, :first].mean(axis=0), states[row, first:end].mean(axis=0)
        seen = np.concatenate([states[row, 0], one, other, 4 * one * other, 2 * np.abs(one - other)])
        inner = by["inner.weight"] @ seen
        inner = 0.5 * inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        expected = by["outer.weight"] @ inner + by["outer.bias"] + by["direct.weight"] @ seen
        np.testing.assert_allclose(pairs._apply_head(states, part, by)[row], expected, atol=1e-5)


def test_a_pair_gives_the_same_alone_and_among_others(plain: PairModel) -> None:
    together = plain.read(TEXTS)
    assert together.shape == (len(TEXTS), 2)
    assert np.isfinite(together).all()
    for pair, row in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(plain.read([pair])[0], row, atol=1e-4)


def test_deltas_are_added_to_the_weights() -> None:
    chance = np.random.default_rng(4)
    for place in range(len(PARTS)):
        own = network().linear(5, place)
        values = {
            f"5.{place}.a": chance.normal(0, 0.05, (own.weights.shape[0], 4)).astype(np.float32),
            f"5.{place}.b": chance.normal(0, 0.05, (4, own.weights.shape[1])).astype(np.float32),
        }
        changed = pairs.AdaptedNetwork(network(), values)
        full = own.weights * own.scale + values[f"5.{place}.a"] @ values[f"5.{place}.b"]
        found = changed.linear(5, place)
        assert np.abs(found.weights * found.scale - full).max() <= found.scale.max() / 2 * 1.001
        assert np.array_equal(changed.linear(4, place).weights, network().linear(4, place).weights)


def test_the_second_text_has_a_mark_of_its_own() -> None:
    own = network().types().copy()
    own[1, ::2] += 0.05
    marked, unmarked = (PairModel(network(), head(types=types), TOKENIZER) for types in (own, network().types()))
    assert np.abs(marked.read(TEXTS[:1]) - unmarked.read(TEXTS[:1])).max() > 1e-3


def test_a_file_of_deltas_reads_back() -> None:
    written = BytesIO()
    np.savez(written, **{name: value.astype(np.float16) for name, value in head(3).items()})
    read = deltas_in(written.getvalue())
    assert {name: value.dtype for name, value in read.items()} == dict.fromkeys(head(3), np.dtype(np.float32))
    np.testing.assert_allclose(read["outer.weight"], head(3)["outer.weight"], atol=1e-3)


# --- who has it -------------------------------------------------------------------------------------------------------


def test_a_task_is_known_by_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(local, "file_of", lambda task: tmp_path / f"{task}.npz")
    np.savez(tmp_path / "weather.npz", **head(3))
    built_in = LocalEmbedder(LocalEmbedderConfig(), BlockingIo())
    assert isinstance(built_in, PairReader)
    assert (built_in.reads("weather"), built_in.reads("cooking")) == (True, False)
    assert drive(built_in.read(TEXTS, "weather")).shape == (len(TEXTS), 3)


def test_a_model_of_ones_own_reads_no_pairs(tmp_path: Path) -> None:
    own = LocalEmbedder(LocalEmbedderConfig(model_dir=tmp_path, model_name="own"), BlockingIo())
    assert not own.reads("relevance")
