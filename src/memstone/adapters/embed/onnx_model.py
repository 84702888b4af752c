"""A sentence model in ONNX form: texts in, unit vectors out. Blocking; safe to use from many threads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from memstone.adapters.embed.crew import Crew
from memstone.adapters.embed.wordpiece import WordPiece
from memstone.errors import ConfigError, EmbeddingError, MissingExtra

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Numbers = npt.NDArray[np.int64]

OWN_MODEL_HINT = "model_dir must hold the model.onnx and vocab.txt of an uncased BERT sentence model"
# Beyond this a run is not faster, only larger: 32 texts of 256 tokens at once grew the process by 1.3 GB.
TOKENS_PER_RUN = 256
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_PER_TOKEN, _PER_TEXT = 3, 2  # ranks of the output: a vector for each token, or one for the whole text


class Reading(NamedTuple):
    """The hidden states of all tokens: the last closes the text, and ``own`` tokens before it are the text itself."""

    states: Floats
    own: int

    @property
    def words(self) -> Floats:
        """The states of the text's own tokens."""
        words: Floats = self.states[len(self.states) - 1 - self.own : len(self.states) - 1]
        return words

    def vector(self) -> Floats:
        """The text as one unit vector; what was said before shows only in how its own words are understood."""
        alone = len(self.states) == self.own + 2 or not self.own
        rows = self.states if alone else _unit(self.words)
        vector: Floats = _unit(rows.sum(axis=0, keepdims=True) / rows.dtype.type(len(rows)))[0]
        return vector


class OnnxSentenceModel:
    """Averages the token vectors of a BERT-like model (its first output) and scales them to length one.

    A graph ``as_it_is`` is not rearranged by onnxruntime beyond the simplest: it was written for speed already.
    """

    def __init__(self, content: bytes, tokenizer: WordPiece, *, threads: int, as_it_is: bool = False) -> None:
        self._session = session(content, as_it_is=as_it_is)
        self._tokenizer = tokenizer
        self._crew = Crew(min(threads, usable_cpus()))
        self._inputs = [node.name for node in self._session.get_inputs()]
        self._output = self._session.get_outputs()[0]
        if "input_ids" not in self._inputs or not _INPUTS.issuperset(self._inputs):
            raise ConfigError(f"not a sentence model: it wants {', '.join(self._inputs)}", hint=OWN_MODEL_HINT)
        if len(self._output.shape) not in {_PER_TOKEN, _PER_TEXT}:
            raise ConfigError(f"not a sentence model: it gives {self._output.name}", hint=OWN_MODEL_HINT)

    def dimension(self) -> int:
        """The declared length of the vectors; a model that leaves it open is tried."""
        declared = self._output.shape[-1]
        return declared if isinstance(declared, int) else int(self.embed([""]).shape[1])

    def embed(self, texts: Sequence[str], *, batch_size: int = 1) -> Floats:
        """One unit vector per text. What else is in the batch does not change a text's vector."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimension()), dtype=np.float32)
        encoded = [self._tokenizer.encode(text) for text in texts]
        # Texts of like length together, so that little work goes into padding.
        order = sorted(range(len(encoded)), key=lambda place: len(encoded[place]))
        batches = [[encoded[place] for place in batch] for batch in runs_of(order, encoded, batch_size)]
        rows = np.concatenate(self._crew.map(self._run, batches))
        vectors = np.empty_like(rows)
        vectors[order] = rows
        return vectors

    @property
    def tells_words(self) -> bool:
        """Whether the model gives a vector for each word, and not only one for the text."""
        return len(self._output.shape) == _PER_TOKEN

    def read(self, pairs: Sequence[tuple[str, str]], *, batch_size: int = 1) -> list[Reading]:
        """Each second text as it is understood right after the first."""
        encoded = [self._in_context(*pair) for pair in pairs]
        order = sorted(range(len(encoded)), key=lambda place: len(encoded[place][0]))
        batches = [
            [encoded[place] for place in batch] for batch in runs_of(order, [ids for ids, _ in encoded], batch_size)
        ]
        readings = [reading for batch in self._crew.map(self._read, batches) for reading in batch]
        return [reading for _, reading in sorted(zip(order, readings, strict=True), key=itemgetter(0))]

    def words(self, text: str) -> list[str]:
        """The words of a text, as often as the model has pieces for each."""
        return self._tokenizer.words(text)

    def _in_context(self, before: str, text: str) -> tuple[list[int], int]:
        """The ids of both texts, and how many at the end are the second one's; it is never cut for the first."""
        own = self._tokenizer.encode(text)
        room = self._tokenizer.max_tokens - len(own)
        lead = self._tokenizer.encode(before)[1:-1] if before and room > 0 else []
        return [own[0], *lead[len(lead) - min(room, len(lead)) :], *own[1:]], len(own) - 2

    def _read(self, batch: list[tuple[list[int], int]]) -> list[Reading]:
        output = self._output_of(_padded([ids for ids, _ in batch]))
        return [Reading(states[: len(ids)], own) for states, (ids, own) in zip(output, batch, strict=True)]

    def _run(self, batch: list[list[int]]) -> Floats:
        feed = _padded(batch)
        output = self._output_of(feed)
        return _unit(_mean(output, feed["attention_mask"]) if output.ndim == _PER_TOKEN else output)

    def _output_of(self, feed: dict[str, Numbers]) -> Floats:
        return run(self._session, self._output.name, {name: feed[name] for name in self._inputs})


def run(ready: Any, output: str, feed: dict[str, Any]) -> Floats:
    """What a model gives by that name."""
    try:
        (found,) = ready.run([output], feed)
    except Exception as error:  # onnxruntime's errors have no base of their own
        raise EmbeddingError(f"the embedding model failed: {error}") from error
    given: Floats = found
    return given


def session(content: bytes, *, as_it_is: bool) -> Any:  # onnxruntime publishes no types
    """A model made ready to run, on one thread."""
    ort = _onnxruntime()
    options = ort.SessionOptions()
    # Several runs at once make more of several processors than several threads in one run.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors; its warnings about the machine would end up on the user's screen
    if as_it_is:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    try:
        return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # as above
        raise ConfigError(f"the embedding model cannot be loaded: {error}", hint=OWN_MODEL_HINT) from error


def _onnxruntime() -> Any:
    """The module, told to keep to itself.

    From 1.29 on its import starts a thread that reports to its maker and keeps a database in the home directory,
    unless this variable stands when it is imported; the call is for Windows and for an application that came first.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime as ort
    except ImportError as error:
        raise MissingExtra("the local model needs onnxruntime", hint="pip install onnxruntime") from error
    ort.disable_telemetry_events()
    return ort


def usable_cpus() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def runs_of(order: list[int], encoded: list[list[int]], batch_size: int) -> Iterator[list[int]]:
    """Runs of texts, shortest first, that stay within both limits."""
    batch: list[int] = []
    for place in order:
        if batch and (len(batch) == batch_size or (len(batch) + 1) * len(encoded[place]) > TOKENS_PER_RUN):
            yield batch
            batch = []
        batch.append(place)
    yield batch


def _padded(batch: list[list[int]]) -> dict[str, Numbers]:
    import numpy as np

    ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def _mean(hidden: Floats, mask: Numbers) -> Floats:
    """Over the tokens of each text; padding does not count."""
    weights = mask.astype(hidden.dtype)[:, :, None]
    means: Floats = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return means


def _unit(vectors: Floats) -> Floats:
    import numpy as np

    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    if not np.isfinite(lengths).all():
        raise EmbeddingError("the embedding model gave a vector that is not finite")
    units: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units
