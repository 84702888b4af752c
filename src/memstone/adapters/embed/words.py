"""Vectors of single words, made small enough to keep: 128 signed bytes each.

Compared word by word, a question finds what the one vector of a whole text blurs. The basis holds the main directions
of the built-in model's words (``scripts/word_basis.py``); in it, little is lost to a third of the size.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memstone.products import multiply

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

WIDTH: Final = 128
BASIS: Final = Path(__file__).with_name("data") / "word_basis.npy"
_ONE: Final = 127.0


def packed(hidden: npt.NDArray[np.float32]) -> bytes:
    """The hidden states of a text's words, as they are stored."""
    import numpy as np

    small = multiply(hidden, _basis())
    lengths = np.linalg.norm(small, axis=1, keepdims=True)
    unit = np.divide(small, lengths, out=np.zeros_like(small), where=lengths > 0)
    stored: bytes = np.rint(unit * _ONE).astype(np.int8).tobytes()
    return stored


@cache
def _basis() -> npt.NDArray[np.float32]:
    import numpy as np

    basis: npt.NDArray[np.float32] = np.load(BASIS).astype(np.float32)
    return basis
