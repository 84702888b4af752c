"""Read two texts with the built-in model (``[CLS] first [SEP] second [SEP]``) and rate the pair.

For each task there is a file of deltas of low rank (``language/models/pairs_<task>.npz``): what is added to the weights
of the model, and a small head over what it then makes of both texts. ``scripts/pair_net.py`` is the same network as it
is fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memstone.adapters.embed.minilm import Linear, Network, of_rows
from memstone.adapters.embed.onnx_model import Crew, create_session, run_session, runs_of, usable_cpus
from memstone.language.models import FOLDER
from memstone.products import multiply_matrices

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memstone.adapters.embed.onnx_model import WordPiece

    Floats = npt.NDArray[np.float32]
    Numbers = npt.NDArray[np.int64]
    Deltas = Mapping[str, Floats]

LONGEST: Final = 96
"""How many tokens of a pair are read."""

AGREE, DIFFER = 4.0, 2.0  # so that all that goes into the head is of like size
_LARGEST: Final = 127
_MOST_AT_ONCE: Final = 32


def file_of(task: str) -> Path:
    """Return where the deltas of a task are."""
    return FOLDER / f"pairs_{task}.npz"


def pair_ids(
    first: Sequence[int], second: Sequence[int], longest: int = LONGEST, joint: Sequence[int] = ()
) -> tuple[list[int], int]:
    """Return both texts as one, and how many tokens are the first's. Of two too long, the longer loses its end.

    ``joint`` stands between them; without one, what ends a text.
    """
    between = joint or first[-1:]
    room = longest - 2 - len(between)
    own, other = list(first[1:-1]), list(second[1:-1])
    most = max(room - len(other), min(len(own), room // 2))
    own = own[:most]
    other = other[: room - len(own)]
    return [first[0], *own, *between, *other, first[-1]], len(own) + 1 + len(between)


class PairModel:
    """One task's network. Blocking; safe to use from many threads."""

    def __init__(self, network: Network, deltas: Deltas, tokenizer: WordPiece, *, threads: int = 1) -> None:
        import numpy as np

        self._head, self._tokenizer = deltas, tokenizer
        self._session = create_session(of_rows(AdaptedNetwork(network, deltas), once=True), as_it_is=True)
        # Copies: what they are views of is the whole file.
        words, scales = network.words()
        self._words, self._scales = np.array(words), np.array(scales)
        self._places, self._types = network.places(), deltas["types"]
        self._crew = Crew(min(threads, usable_cpus()))

    def read(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Return a row for each pair. What else is read with it does not change it."""
        import numpy as np

        encode = self._tokenizer.encode
        encoded = [pair_ids(encode(one), encode(other)) for one, other in pairs]
        order = sorted(range(len(encoded)), key=lambda place: len(encoded[place][0]))
        runs = list(runs_of(order, [ids for ids, _ in encoded], _MOST_AT_ONCE))
        found = self._crew.map(self._run, [[encoded[place] for place in run] for run in runs])
        rows = np.concatenate(found)
        value = np.empty_like(rows)
        value[order] = rows
        return value

    def _run(self, encoded: Sequence[tuple[list[int], int]]) -> Floats:
        ids, part = pad_pairs(encoded)
        rows = self._words[ids] * self._scales[ids] + self._places[: ids.shape[1]] + self._types[part * (part > 0)]
        feed = {"rows": rows, "attention_mask": (part >= 0).astype(ids.dtype)}
        return _apply_head(run_session(self._session, "last_hidden_state", feed), part, self._head)


def pad_pairs(encoded: Sequence[tuple[list[int], int]], pad: int = 0) -> tuple[Numbers, Numbers]:
    """Return the ids of several pairs, and the text each token belongs to: 0 and 1, and -1 where there is none."""
    import numpy as np

    width = max(len(ids) for ids, _ in encoded)
    ids, part = np.full((len(encoded), width), pad, np.int64), np.full((len(encoded), width), -1, np.int64)
    for row, (tokens, first) in enumerate(encoded):
        ids[row, : len(tokens)] = tokens
        part[row, : len(tokens)] = 1
        part[row, :first] = 0
    return ids, part


def _apply_head(states: Floats, part: Numbers, head: Deltas) -> Floats:
    """Return the head: first token, mean, agreement and difference of both texts."""
    import numpy as np

    one, other = (_masked_mean(states, part == which) for which in (0, 1))
    both = np.concatenate([states[:, 0], one, other, one * other * AGREE, np.abs(one - other) * DIFFER], axis=1)
    inner: Floats = _apply_gelu(multiply_matrices(both, head["inner.weight"].T) + head["inner.bias"])
    found: Floats = (
        inner @ head["outer.weight"].T + head["outer.bias"] + multiply_matrices(both, head["direct.weight"].T)
    )
    return found.astype(np.float32)


def _masked_mean(states: Floats, which: npt.NDArray[np.bool_]) -> Floats:
    weight = which[..., None].astype(states.dtype)
    mean: Floats = (states * weight).sum(axis=1) / weight.sum(axis=1)
    return mean


def _apply_gelu(values: Floats) -> Floats:
    import numpy as np

    # By its approximation with tanh, which is what it was fitted with: numpy has no error function.
    passed: Floats = 0.5 * values * (1 + np.tanh(0.7978845608 * (values + 0.044715 * values**3)))
    return passed


class AdaptedNetwork(Network):
    """The network with what a task adds to its weights."""

    def __init__(self, network: Network, deltas: Deltas) -> None:
        self._known, self._products, self._deltas = network._known, network._products, deltas  # noqa: SLF001 - its own kind

    def linear(self, layer: int, place: int) -> Linear:
        """Return the weights at a place, again in 8 bits."""
        import numpy as np

        own = super().linear(layer, place)
        if f"{layer}.{place}.a" not in self._deltas:
            return own
        full = own.weights * own.scale  # in place from here: fresh memory for each step would take half of the time
        full += multiply_matrices(self._deltas[f"{layer}.{place}.a"], self._deltas[f"{layer}.{place}.b"])
        scale = np.maximum(full.max(axis=0), -full.min(axis=0)) / _LARGEST
        full /= scale
        np.rint(full, out=full)
        return Linear(full.astype(np.int8), scale.astype(np.float32), own.bias)


def deltas_in(content: bytes) -> dict[str, Floats]:
    """Return what a file of deltas holds, as 32-bit numbers."""
    import numpy as np

    with np.load(BytesIO(content)) as found:
        return {name: found[name].astype(np.float32) for name in found.files}
