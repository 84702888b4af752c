"""Run a sentence model in ONNX form: texts in, unit vectors out. Blocks; many threads may use it."""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache, lru_cache
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from memstone.errors import ConfigError, EmbeddingError, MissingExtra
from memstone.model.unicode_forms import normalize_unicode

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Numbers = npt.NDArray[np.int64]


# --- bERT's uncased WordPiece -----------------------------------------------------------------------------------------


DATA = Path(__file__).parent / "data"
MAX_TOKENS = 256  # what sentence-transformers allows this model
_CAPITAL_SIGMA, _SMALL_SIGMA = "\u03a3", "\u03c3"
_LONGEST_WORD = 100  # the reference gives up on longer ones
_LONGEST_CACHED = 40
_CACHED_WORDS = 16_384  # about 4 MB when full


class WordPiece:
    """Encodes text with a vocabulary, in which a token's place is its id; safe to use from many threads."""

    pad = 0

    def __init__(self, vocabulary: Sequence[str], *, max_tokens: int = MAX_TOKENS) -> None:
        self.max_tokens = max_tokens
        self._room = max_tokens - 2
        self._first = {token: number for number, token in enumerate(vocabulary)}
        self._rest = {token[2:]: number for token, number in self._first.items() if token.startswith("##")}
        self._longest_token = max(map(len, vocabulary), default=0)
        self._begin, self._end, self._unknown = (self._special(name) for name in ("[CLS]", "[SEP]", "[UNK]"))
        self._patterns = _compile_patterns()
        self._cached = lru_cache(_CACHED_WORDS)(lambda word: tuple(self._ids_of(word)))

    @classmethod
    def from_text(cls, text: str, *, max_tokens: int = MAX_TOKENS) -> WordPiece:
        """Read the content of a ``vocab.txt``: one token a line."""
        return cls(text.replace("\r\n", "\n").removesuffix("\n").split("\n"), max_tokens=max_tokens)

    @property
    def joint(self) -> list[int]:
        """What stands between two texts that are read together."""
        return [self._end]

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text between ``[CLS]`` and ``[SEP]``; what goes beyond ``max_tokens`` is left out."""
        words = (match.group() for match in self._patterns.word.finditer(text))
        ids = chain.from_iterable(map(self._ids, words))
        return [self._begin, *islice(ids, self._room), self._end]

    def words(self, text: str) -> list[str]:
        """Return, for each id of a text, the word or sign it is a piece of, in lower case."""
        plain = (self._plain(match.group()) for match in self._patterns.word.finditer(text))
        parts = (match.group() for word in plain for match in self._patterns.part.finditer(word))
        return list(islice((part for part in parts for _ in self._pieces(part)), self._room))

    def _ids(self, word: str) -> Iterator[int] | tuple[int, ...]:
        return self._cached(word) if len(word) <= _LONGEST_CACHED else self._ids_of(word)

    def _ids_of(self, word: str) -> Iterator[int]:
        for match in self._patterns.part.finditer(self._plain(word)):
            yield from self._pieces(match.group())

    def _plain(self, word: str) -> str:
        """Return the text in lower case, without accents and control characters."""
        if not word.isascii():
            # The reference lowers letter by letter and so knows no final sigma, unlike str.lower().
            word = normalize_unicode("NFD", word).replace(_CAPITAL_SIGMA, _SMALL_SIGMA)
        return self._patterns.drop.sub("", word.lower())

    def _pieces(self, part: str) -> list[int]:
        """Take, greedily from the left, the longest piece the vocabulary has each time; all or ``[UNK]``."""
        if len(part) > _LONGEST_WORD:
            return [self._unknown]
        ids: list[int] = []
        known, start = self._first, 0
        while start < len(part):
            for end in range(min(len(part), start + self._longest_token), start, -1):
                found = known.get(part[start:end])
                if found is not None:
                    break
            else:
                return [self._unknown]
            ids.append(found)
            known, start = self._rest, end
        return ids

    def _special(self, name: str) -> int:
        try:
            return self._first[name]
        except KeyError:
            raise ConfigError(
                f"the vocabulary has no {name}", hint="vocab.txt must come from an uncased BERT model"
            ) from None


class _Patterns(NamedTuple):
    word: re.Pattern[str]
    drop: re.Pattern[str]
    part: re.Pattern[str]


@cache
def _compile_patterns() -> _Patterns:
    classes = _character_classes()
    space, single = classes["space"], classes["punctuation"] + classes["ideograph"]
    return _Patterns(
        word=re.compile(f"[^{space}]+"),
        drop=re.compile(f"[{classes['drop']}]+"),
        part=re.compile(f"[{single}]|[^{single}]+"),
    )


def _character_classes() -> dict[str, str]:
    """Return each class of ``characters.txt`` as the inside of a regular expression's brackets."""
    classes: dict[str, str] = {}
    for line in (DATA / "characters.txt").read_text("ascii").splitlines():
        if not line.startswith("#"):
            name, *ranges = line.split()
            classes[name] = classes.get(name, "") + "".join(map(_bracket_range, ranges))
    return classes


def _bracket_range(ends: str) -> str:
    first, _, last = ends.partition("-")
    return f"\\U{first:0>8}-\\U{last or first:0>8}"


# --- pieces of one job done at the same time, by the caller and a few threads that are kept for it --------------------


T = TypeVar("T")
R = TypeVar("R")


class Crew:
    """At most ``size`` threads for one job, with the caller as one of them.

    The threads start with the first job that needs them.

    The caller never waits for a thread that is busy elsewhere: what nobody takes, it does itself.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None

    def map(self, work: Callable[[T], R], pieces: Sequence[T]) -> list[R]:
        """Return what ``work`` makes of each piece, in their order.

        Where one fails, those not begun are left undone.
        """
        if self._size == 1 or len(pieces) == 1:
            return [work(piece) for piece in pieces]
        done: dict[int, R] = {}
        # The last first: where pieces grow, the large ones then do not come when the others have nothing left to do.
        todo = deque(enumerate(pieces))

        def take() -> None:
            try:
                while (taken := _pop_last(todo)) is not None:
                    place, piece = taken
                    done[place] = work(piece)
            except BaseException:
                todo.clear()
                raise

        helpers = self._helpers(take, min(self._size, len(pieces)) - 1)
        try:
            take()
        finally:
            begun = [helper for helper in helpers if not helper.cancel()]
        for helper in begun:
            helper.result()
        return [done[place] for place in range(len(pieces))]

    def _helpers(self, work: Callable[[], None], count: int) -> list[Future[None]]:
        """Start helpers; fewer or none while the interpreter shuts down, which starts no threads any more."""
        helpers: list[Future[None]] = []
        with suppress(RuntimeError):
            for _ in range(count):
                helpers.append(self._pool().submit(work))  # noqa: PERF401 - those begun count if a later one fails
        return helpers

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._size - 1, thread_name_prefix="memstone-embed")
            return self._threads


def _pop_last(todo: deque[T]) -> T | None:
    """Take the last one, or return None; others take from there too, so to ask first would be too early."""
    try:
        return todo.pop()
    except IndexError:
        return None


# --- a sentence model in ONNX form ------------------------------------------------------------------------------------


OWN_MODEL_HINT = (
    "model_dir must contain model.onnx, and tokenizer.json or the vocab.txt of an uncased BERT sentence model"
)
# Beyond this a run is not faster, only larger: 32 texts of 256 tokens at once grew the process by 1.3 GB.
TOKENS_PER_RUN = 256
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_PER_TOKEN, _PER_TEXT = 3, 2  # ranks of the output: a vector for each token, or one for the whole text


class Tokenizer(Protocol):
    """What a sentence model reads with."""

    max_tokens: int
    pad: int

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, with one that begins and one that ends it."""
        ...

    def words(self, text: str) -> list[str]:
        """Return, for each id of a text, the word it is a piece of."""
        ...


class TokenStates(NamedTuple):
    """The hidden states of all tokens: the last closes the text, and ``own`` tokens before it are the text itself."""

    states: Floats
    own: int

    @property
    def words(self) -> Floats:
        """The states of the text's own tokens."""
        words: Floats = self.states[len(self.states) - 1 - self.own : len(self.states) - 1]
        return words

    def vector(self) -> Floats:
        """Return the text as one unit vector; what was said before shows only in how its own words are understood."""
        alone = len(self.states) == self.own + 2 or not self.own
        rows = self.states if alone else _normalize_rows(self.words)
        vector: Floats = _normalize_rows(rows.sum(axis=0, keepdims=True) / rows.dtype.type(len(rows)))[0]
        return vector


class OnnxSentenceModel:
    """Averages the token vectors of a BERT-like model (its first output) and scales them to length one.

    A graph ``as_it_is`` is not rearranged by onnxruntime beyond the simplest: it was written for speed already.
    """

    def __init__(self, content: bytes, tokenizer: Tokenizer, *, threads: int, as_it_is: bool = False) -> None:
        self._session = create_session(content, as_it_is=as_it_is)
        self._tokenizer = tokenizer
        self._crew = Crew(min(threads, usable_cpus()))
        self._inputs = [node.name for node in self._session.get_inputs()]
        self._output = self._session.get_outputs()[0]
        if "input_ids" not in self._inputs or not _INPUTS.issuperset(self._inputs):
            raise ConfigError(f"not a sentence model: its inputs are {',  '.join(self._inputs)}", hint=OWN_MODEL_HINT)
        if len(self._output.shape) not in {_PER_TOKEN, _PER_TEXT}:
            raise ConfigError(f"not a sentence model: its output is {self._output.name}", hint=OWN_MODEL_HINT)

    def dimension(self) -> int:
        """Return the declared length of the vectors; a model that leaves it open is tried."""
        declared = self._output.shape[-1]
        return declared if isinstance(declared, int) else int(self.embed([""]).shape[1])

    def embed(self, texts: Sequence[str], *, batch_size: int = 1) -> Floats:
        """Return one unit vector per text. What else is in the batch does not change a text's vector."""
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

    def read(self, pairs: Sequence[tuple[str, str]], *, batch_size: int = 1) -> list[TokenStates]:
        """Return each second text as it is understood right after the first."""
        encoded = [self._in_context(*pair) for pair in pairs]
        order = sorted(range(len(encoded)), key=lambda place: len(encoded[place][0]))
        batches = [
            [encoded[place] for place in batch] for batch in runs_of(order, [ids for ids, _ in encoded], batch_size)
        ]
        readings = [reading for batch in self._crew.map(self._read_batch, batches) for reading in batch]
        return [reading for _, reading in sorted(zip(order, readings, strict=True), key=itemgetter(0))]

    def words(self, text: str) -> list[str]:
        """Return the words of a text, as often as the model has pieces for each."""
        return self._tokenizer.words(text)

    def _in_context(self, before: str, text: str) -> tuple[list[int], int]:
        """Return the ids of both texts, and how many at the end are the second one's; it is never cut for the first."""
        own = self._tokenizer.encode(text)
        room = self._tokenizer.max_tokens - len(own)
        lead = self._tokenizer.encode(before)[1:-1] if before and room > 0 else []
        return [own[0], *lead[len(lead) - min(room, len(lead)) :], *own[1:]], len(own) - 2

    def _read_batch(self, batch: list[tuple[list[int], int]]) -> list[TokenStates]:
        output = self._output_of(_pad_batch([ids for ids, _ in batch], self._tokenizer.pad))
        return [TokenStates(states[: len(ids)], own) for states, (ids, own) in zip(output, batch, strict=True)]

    def _run(self, batch: list[list[int]]) -> Floats:
        feed = _pad_batch(batch, self._tokenizer.pad)
        output = self._output_of(feed)
        return _normalize_rows(_average_tokens(output, feed["attention_mask"]) if output.ndim == _PER_TOKEN else output)

    def _output_of(self, feed: dict[str, Numbers]) -> Floats:
        return run_session(self._session, self._output.name, {name: feed[name] for name in self._inputs})


def run_session(ready: Any, output: str, feed: dict[str, Any]) -> Floats:
    """Return what a model gives by that name."""
    try:
        (found,) = ready.run([output], feed)
    except Exception as error:  # onnxruntime's errors have no base of their own
        raise EmbeddingError(f"the embedding model failed: {error}") from error
    value: Floats = found
    return value


def create_session(content: bytes, *, as_it_is: bool) -> Any:  # onnxruntime publishes no types
    """Return a model made ready to run, on one thread."""
    ort = _import_onnxruntime()
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


def _import_onnxruntime() -> Any:
    """Return the module, told to keep to itself.

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
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def runs_of(order: list[int], encoded: list[list[int]], batch_size: int) -> Iterator[list[int]]:
    """Run of texts, shortest first, that stay within both limits."""
    batch: list[int] = []
    for place in order:
        if batch and (len(batch) == batch_size or (len(batch) + 1) * len(encoded[place]) > TOKENS_PER_RUN):
            yield batch
            batch = []
        batch.append(place)
    yield batch


def _pad_batch(batch: list[list[int]], pad: int) -> dict[str, Numbers]:
    import numpy as np

    ids = np.full((len(batch), max(map(len, batch))), pad, dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def _average_tokens(hidden: Floats, mask: Numbers) -> Floats:
    """Average the tokens of each text; padding does not count."""
    weights = mask.astype(hidden.dtype)[:, :, None]
    means: Floats = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return means


def _normalize_rows(vectors: Floats) -> Floats:
    import numpy as np

    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    if not np.isfinite(lengths).all():
        raise EmbeddingError("the embedding model returned a vector with NaN or infinity")
    units: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units
