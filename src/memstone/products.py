"""Matrix products that stay on the calling thread.

BLAS shares a larger product between threads, which afterwards keep their processors busy for some 20 ms waiting for
more. For the small products of one message that costs many times what the product does.
"""

from __future__ import annotations

from typing import Any, Final

ALONE: Final = 262_144
"""Up to so many multiplications a product is not shared."""


def multiply_matrices(rows: Any, matrix: Any) -> Any:
    """Return ``rows @ matrix``, made of products that are each too small to be shared between threads."""
    import numpy as np

    step = max(1, ALONE // max(1, matrix.size))
    if len(rows) <= step:
        return rows @ matrix
    return np.concatenate([rows[at : at + step] @ matrix for at in range(0, len(rows), step)])
