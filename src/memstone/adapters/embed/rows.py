"""From what a model answered to the rows the engine is promised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from memstone.errors import EmbeddingError, MemstoneError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Rows = npt.NDArray[np.float32]

_UNIT: Final = 1e-6
"""As near to one as the squares of a vector of length one add up to in float32."""


def unit_rows(
    answer: Any, count: int, dimension: int | None, *, source: str, wrong_length: type[MemstoneError] = EmbeddingError
) -> Rows:
    """``count`` float32 rows of length one; a row of zeros stays one.

    Anything else that a model may answer (ragged, too few, not finite, of another length than
    ``dimension``) is an error that names its ``source``.
    """
    import numpy as np

    if (ready := _ready(answer, count, dimension)) is not None:
        return ready
    rows = _as_matrix(answer, count, source)
    if dimension is not None and rows.shape[1] != dimension:
        raise wrong_length(
            f"{source} gave vectors of length {rows.shape[1]}, expected {dimension}",
            hint="a model has one length: correct the configured dimensions, or reindex for the new model",
        )
    if not np.isfinite(rows).all():
        raise EmbeddingError(f"{source} gave a vector that is not finite (NaN or infinity)")
    # Scaled by its largest value first: the square of a large float would be infinite.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit: Rows = np.divide(scaled, norms, out=scaled, where=norms > 0).astype(np.float32)
    return unit


def _ready(answer: Any, count: int, dimension: int | None) -> Rows | None:
    """An answer that is as it should be already; whatever else it may be is looked at closely."""
    import numpy as np

    if not isinstance(answer, np.ndarray) or answer.dtype != np.float32 or answer.ndim != 2:  # noqa: PLR2004
        return None
    fits = answer.shape[0] == count and answer.shape[1] == dimension
    is_unit = fits and all(-_UNIT < one - 1.0 < _UNIT for one in np.vecdot(answer, answer).tolist())
    return answer if is_unit else None


def _as_matrix(answer: Any, count: int, source: str) -> npt.NDArray[np.float64]:
    import numpy as np

    try:
        rows = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{source} gave something that is not a table of numbers: {error}") from error
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:  # noqa: PLR2004 - a table has two dimensions
        raise EmbeddingError(
            f"{source} gave an answer of shape {rows.shape} for {count} texts",
            hint="an embedding model answers with one row of numbers per text, all of one length",
        )
    return rows
