"""Rerank with a cross-encoder in this process.

It is a BERT-like model in ONNX form, from a directory of your own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field

from memstone.adapters.embed.onnx_model import Crew, create_session, run_session, runs_of, usable_cpus
from memstone.adapters.embed.own_tokenizer import TokenizerFile, load_own_tokenizer
from memstone.adapters.embed.pairs import pad_pairs, pair_ids
from memstone.adapters.embed.verified_file import read_verified_file
from memstone.adapters.forks import ForkSafeLock
from memstone.errors import BackendError, ConfigError
from memstone.ports.io import Io

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_HINT: Final = "model_dir must contain model.onnx, and tokenizer.json or the vocab.txt of an uncased BERT cross-encoder"
_TWO_CLASSES: Final = 2


class LocalRerankerConfig(BaseModel):
    """``model_dir`` holds ``model.onnx`` (one file) and the ``vocab.txt`` of an uncased BERT, or a ``tokenizer.json``.

    The SHA-256 sums are checked when given. ``max_tokens`` is how much of a question and a document is read together.
    """

    # Without this pydantic claims names that begin with "model_" for itself.
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    model_dir: Path
    model_name: str | None = Field(default=None, min_length=1)
    model_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    vocab_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    tokenizer: TokenizerFile | None = None
    tokenizer_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    max_tokens: int = Field(default=256, ge=16, le=8192)
    threads: int = Field(default=2, ge=1, le=64)
    batch_size: int = Field(default=16, ge=1, le=1024)


class LocalReranker:
    """Reads the question and each document together; nothing leaves the machine."""

    Config: ClassVar = LocalRerankerConfig
    in_process = True
    destination = "this machine"

    def __init__(self, config: LocalRerankerConfig, io: Io) -> None:
        self._config = config
        self._io = io
        self._lock = ForkSafeLock()
        self._process = 0
        self._loaded: CrossEncoder | None = None

    @property
    def model(self) -> str:
        return self._config.model_name or self._config.model_dir.name

    async def rerank(self, query: str, documents: Sequence[str], top: int) -> list[tuple[int, float]]:
        read = [place for place, document in enumerate(documents) if document.strip()]
        if not read or top < 1:
            return []
        scores = await self._io.run(lambda: self._encoder().score(query, [documents[place] for place in read]))
        ranks = sorted(zip(read, scores, strict=True), key=lambda item: (-item[1], item[0]))
        return ranks[:top]

    def _encoder(self) -> CrossEncoder:
        """Return the model, loaded once a process: a fork copies a session without its threads."""
        loaded = self._loaded
        if loaded is None or self._process != os.getpid():
            with self._lock:
                loaded = self._loaded
                if loaded is None or self._process != os.getpid():
                    self._loaded = loaded = CrossEncoder(self._config)
                    self._process = os.getpid()
        return loaded


class CrossEncoder:
    """The model itself. Blocking; safe to use from many threads."""

    def __init__(self, config: LocalRerankerConfig) -> None:
        self._tokenizer = load_own_tokenizer(
            config.model_dir, config.tokenizer, config.vocab_sha256, config.tokenizer_sha256, config.max_tokens
        )
        content = read_verified_file(config.model_dir / "model.onnx", config.model_sha256)
        self._session: Any = create_session(content.content, as_it_is=False)
        self._crew = Crew(min(config.threads, usable_cpus()))
        self._config = config
        self._inputs = [node.name for node in self._session.get_inputs()]
        self._output = self._session.get_outputs()[0].name
        if "input_ids" not in self._inputs or not _INPUTS.issuperset(self._inputs):
            raise ConfigError(f"not a cross-encoder: its inputs are {', '.join(self._inputs)}", hint=_HINT)

    def score(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return a score between 0 and 1 for each document. What else is read with it does not change it."""
        import numpy as np

        asked = self._tokenizer.encode(query)
        joint, most = self._tokenizer.joint, self._config.max_tokens
        encoded = [pair_ids(asked, self._tokenizer.encode(one), most, joint) for one in documents]
        order = sorted(range(len(encoded)), key=lambda place: len(encoded[place][0]))
        runs = list(runs_of(order, [ids for ids, _ in encoded], self._config.batch_size))
        found = self._crew.map(self._run, [[encoded[place] for place in run] for run in runs])
        scores = np.empty(len(encoded), dtype=np.float64)
        scores[order] = np.concatenate(found)
        if not np.isfinite(scores).all():
            raise BackendError("the cross-encoder returned a score that is not finite", kind="reranker", name="local")
        return [float(score) for score in scores]

    def _run(self, encoded: Sequence[tuple[list[int], int]]) -> Floats:
        ids, part = pad_pairs(encoded, self._tokenizer.pad)
        feed = {"input_ids": ids, "attention_mask": (part >= 0).astype(ids.dtype), "token_type_ids": part * (part > 0)}
        output = run_session(self._session, self._output, {name: feed[name] for name in self._inputs})
        return _as_scores(output.reshape(len(encoded), -1))


def _as_scores(logits: Floats) -> Floats:
    """Return one score a pair: one number is the score, of two the second is, as against the first."""
    import numpy as np

    if logits.shape[1] not in (1, _TWO_CLASSES):
        raise ConfigError(f"not a cross-encoder: it gives {logits.shape[1]} numbers per pair", hint=_HINT)
    rest = logits[:, 0] if logits.shape[1] == _TWO_CLASSES else 0.0
    with np.errstate(over="ignore"):  # the limit is 0, as it should be
        scores: Floats = 1.0 / (1.0 + np.exp(rest - logits[:, -1]))
    return scores
