"""The built-in model reading a text together with several others: ``[CLS] text [SEP] other [SEP] other [SEP] ...``.

All stand in one sequence, so each of the others is seen beside the text and beside those that are named with it, and
the text is read once. For each task there is a file of deltas (``data/lists_<task>.npz``) as for pairs, with a head
that says a few numbers about each of the others. ``scripts/fit_change_reader.py`` is the same network as it is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from memstone.adapters.embed.minilm import Network, of_rows
from memstone.adapters.embed.onnx_model import run, session
from memstone.adapters.embed.pairs import Changed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memstone.adapters.embed.pairs import Deltas, Floats
    from memstone.adapters.embed.wordpiece import WordPiece

    Numbers = npt.NDArray[np.int64]

LONGEST, LONGEST_OTHER = 64, 40
"""How many tokens are read of the text, and of each of the others."""

_LEAST = 1e-9
LENGTH, AGREE = 8.0, 0.5  # so that all that goes into the head is of like size


def file_of(task: str) -> Path:
    """Where the deltas of a task are."""
    return Path(__file__).with_name("data") / f"lists_{task}.npz"


def list_ids(text: Sequence[int], others: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """All texts as one, and where each of them ends; each comes between the marks a single text has."""
    first, last = text[0], text[-1]
    ids = [first, *text[1:-1][:LONGEST], last]
    ends = [len(ids)]
    for other in others:
        ids += [*other[1:-1][:LONGEST_OTHER], last]
        ends.append(len(ids))
    return ids, ends


class ListModel:
    """One task's network. Blocking; safe to use from many threads."""

    def __init__(self, network: Network, deltas: Deltas, tokenizer: WordPiece) -> None:
        import numpy as np

        self._head, self._encode = deltas, tokenizer.encode
        self._session = session(of_rows(Changed(network, deltas)), as_it_is=True)
        # Copies: what they are views of is the whole file.
        words, scales = network.words()
        self._words, self._scales = np.array(words), np.array(scales)
        self._places, self._types = network.places(), deltas["types"]

    def read(self, text: str, others: Sequence[str]) -> Floats:
        """A row of numbers for each of the others."""
        import numpy as np

        ids, ends = list_ids(self._encode(text), [self._encode(one) for one in others])
        part = np.array([0] * ends[0] + [1] * (ends[-1] - ends[0]))
        rows = self._words[ids] * self._scales[ids] + self._places[: len(ids)] + self._types[part]
        feed = {"rows": rows[None].astype(np.float32), "attention_mask": np.ones((1, len(ids)), np.int64)}
        return _headed(run(self._session, "last_hidden_state", feed)[0], ends, self._head)


def _headed(states: Floats, ends: Sequence[int], head: Deltas) -> Floats:
    """The head: the text and one of the others in the mean, where they agree and where they differ."""
    import numpy as np

    own = np.repeat(_mean(states[: ends[0]])[None], len(ends) - 1, axis=0)
    others = np.stack([_mean(states[start:end]) for start, end in pairwise(ends)])
    both = np.concatenate([own, others, own * others * AGREE, np.abs(own - others)], axis=1)
    inner = both @ head["inner.weight"].T + head["inner.bias"]
    found = _gelu(inner) @ head["outer.weight"].T + head["outer.bias"]
    return found.astype(np.float32)


def _mean(states: Floats) -> Floats:
    import numpy as np

    mean: Floats = states.mean(axis=0)
    scaled: Floats = mean * (LENGTH / max(float(np.linalg.norm(mean)), _LEAST))
    return scaled


def _gelu(values: Floats) -> Floats:
    import numpy as np

    # By its approximation with tanh, which is what it was fitted with: numpy has no error function.
    passed: Floats = 0.5 * values * (1 + np.tanh(0.7978845608 * (values + 0.044715 * values**3)))
    return passed
