"""The curator: the built-in model with weight deltas that read messages and judge memories.

A message stands behind the last words before it: ``[CLS] before [SEP] message [SEP]``, and a row of numbers tells of
each word what it begins and belongs to. Beside memories it is ``[CLS] message [SEP] memory [SEP] memory [SEP] ...``, so
that each memory is seen next to the message and to those named with it; two numbers tell what becomes of each. A memory
by itself is ``[CLS] memory [SEP]``: numbers tell what a reader finds of it who has not seen the conversation. All use
one network: the deltas in ``language/models/curator.npz`` change its weights. ``scripts/fit_curator.py`` is the same
as it is fitted.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from memstone.adapters.embed.minilm import Network, of_rows
from memstone.adapters.embed.onnx_model import create_session, run_session
from memstone.adapters.embed.pairs import AdaptedNetwork, deltas_in
from memstone.language.models import FOLDER

if TYPE_CHECKING:
    from memstone.adapters.embed.onnx_model import WordPiece
    from memstone.adapters.embed.pairs import Deltas, Floats

FILE: Final = FOLDER / "curator.npz"
LONGEST, LONGEST_BEFORE, LONGEST_WORD = 400, 40, 12
"""How many tokens are read in all, of what was said before, and of one word."""

LONGEST_TEXT, LONGEST_MEMORY = 80, 32
"""How many tokens are read of a message that stands beside memories, and of each of them."""

LONGEST_JUDGED: Final = 96
"""How many tokens are read of a memory that is judged by itself."""

LENGTH, AGREE = 8.0, 0.5  # so that all that goes into a head is of like size
_LEAST: Final = 1e-9


class LaidOut(NamedTuple):
    """A message as the network reads it; ``places`` are those of the first token of each word."""

    ids: list[int]
    parts: list[int]
    places: list[int]


def lay_out(before: str, words: Sequence[str], encode: Callable[[str], list[int]]) -> LaidOut:
    """Lay out a message behind the end of what was said before it; words that are too many are left out."""
    first, *texts, last = encode(before)
    ids = [first, *texts[-LONGEST_BEFORE:], last]
    parts = [0] * len(ids)
    places: list[int] = []
    for word in words:
        own = encode(word)[1:-1][:LONGEST_WORD] or [last]
        if len(ids) + len(own) >= LONGEST:
            break
        places.append(len(ids))
        ids += own
    ids.append(last)
    return LaidOut(ids, parts + [1] * (len(ids) - len(parts)), places)


def list_ids(text: Sequence[int], others: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Join all texts into one list of ids, and return where each text ends."""
    first, last = text[0], text[-1]
    ids = [first, *text[1:-1][:LONGEST_TEXT], last]
    ends = [len(ids)]
    for other in others:
        ids += [*other[1:-1][:LONGEST_MEMORY], last]
        ends.append(len(ids))
    return ids, ends


class CuratorModel:
    """The network, loaded. Blocking; safe to use from many threads."""

    def __init__(self, network: Network, deltas: Deltas, tokenizer: WordPiece) -> None:
        import numpy as np

        self._head, self._encode = deltas, tokenizer.encode
        self._session = create_session(of_rows(AdaptedNetwork(network, deltas)), as_it_is=True)
        # Copies: what they are views of is the whole file.
        words, scales = network.words()
        self._words, self._scales = np.array(words), np.array(scales)
        self._places, self._types = network.places(), deltas["types"]

    def read_words(self, before: str, words: Sequence[str]) -> Floats:
        """Return a row of numbers for each word of a message, as far as it is read."""
        laid = lay_out(before, words, self._encode)
        states = self._states(laid.ids, laid.parts)[laid.places]
        return _apply_head(states, self._head, "word")

    def read_list(self, text: str, others: Sequence[str]) -> Floats:
        """Return two log odds for each of the others: that the text changes it, and that it says the same."""
        import numpy as np

        ids, ends = list_ids(self._encode(text), [self._encode(one) for one in others])
        states = self._states(ids, [0] * ends[0] + [1] * (ends[-1] - ends[0]))
        own = np.repeat(_scaled_mean(states[: ends[0]])[None], len(ends) - 1, axis=0)
        near = np.stack([_scaled_mean(states[start:end]) for start, end in pairwise(ends)])
        both = np.concatenate([own, near, own * near * AGREE, np.abs(own - near)], axis=1)
        return _apply_head(both, self._head, "list")

    def judge(self, text: str) -> Floats:
        """Return a number for each thing that a reader of this memory alone may find of it."""
        ids = self._encode(text)[:LONGEST_JUDGED]
        row: Floats = _apply_head(_scaled_mean(self._states(ids, [0] * len(ids)))[None], self._head, "judge")[0]
        return row

    def _states(self, ids: Sequence[int], parts: Sequence[int]) -> Floats:
        import numpy as np

        at = list(ids)
        rows = self._words[at] * self._scales[at] + self._places[: len(at)] + self._types[list(parts)]
        feed = {"rows": rows[None].astype(np.float32), "attention_mask": np.ones((1, len(at)), np.int64)}
        states: Floats = run_session(self._session, "last_hidden_state", feed)[0]
        return states


def _apply_head(rows: Floats, head: Deltas, name: str) -> Floats:
    import numpy as np

    # Not by "@": for so little it wakes threads that then wait for more, and cost more than the product.
    inner = np.einsum("ij,kj->ik", rows, head[f"{name}_inner.weight"]) + head[f"{name}_inner.bias"]
    # By its approximation with tanh, which is what it was fitted with: numpy has no error function.
    passed = 0.5 * inner * (1 + np.tanh(0.7978845608 * (inner + 0.044715 * inner**3)))
    found = np.einsum("ij,kj->ik", passed, head[f"{name}_outer.weight"]) + head[f"{name}_outer.bias"]
    value: Floats = found.astype(np.float32)
    return value


def _scaled_mean(states: Floats) -> Floats:
    import numpy as np

    mean: Floats = states.mean(axis=0)
    scaled: Floats = mean * (LENGTH / max(float(np.linalg.norm(mean)), _LEAST))
    return scaled


class LocalCurator:
    """Reads in this process; the network is loaded with the first text, and shared by all of the process."""

    def read_words(self, before: str, words: Sequence[str]) -> Floats:
        """Return a row of numbers for each word of a message, as far as it is read."""
        return _read_words(before, tuple(words))

    def read_list(self, text: str, others: Sequence[str]) -> Floats:
        """Return two log odds for each of the others: that the text changes it, and that it says the same."""
        return _shared_model().read_list(text, others)

    def judge(self, text: str) -> Floats:
        """Return a number for each thing that a reader of this memory alone may find of it."""
        return _shared_model().judge(text)


@lru_cache(maxsize=32)  # a message is read once to learn from it, and once more to tell whether it is idle
def _read_words(before: str, words: tuple[str, ...]) -> Floats:
    return _shared_model().read_words(before, words)


_lock, _models = threading.Lock(), list[CuratorModel]()


def _shared_model() -> CuratorModel:
    if not _models:
        with _lock:
            if not _models:
                _models.append(_load_curator())
    return _models[0]


def _load_curator() -> CuratorModel:
    from memstone.adapters.embed.local import built_in_files

    vocabulary, model = built_in_files()
    return CuratorModel(Network(model), deltas_in(FILE.read_bytes()), vocabulary)


def _start_afresh_in_child() -> None:
    """Begin again: a fork copies a session without its threads, neither used nor freed there (see ``local``)."""
    global _lock, _models
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_models))
    _lock, _models = threading.Lock(), []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh_in_child)
