"""Products of matrices: the same numbers, whatever pieces they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memstone.products import ALONE, multiply_matrices


@pytest.mark.parametrize("rows", [0, 1, 5, 6, 41, 1_000])
def test_a_product_is_the_same_in_pieces(rows: int) -> None:
    draw = np.random.default_rng(rows)
    left, right = draw.random((rows, 384), dtype=np.float32), draw.random((384, 128), dtype=np.float32)
    assert np.allclose(multiply_matrices(left, right), left @ right, rtol=1e-5)


def test_no_piece_is_large_enough_to_be_shared_between_threads() -> None:
    sizes = list[int]()

    class Watched(np.ndarray):
        def __matmul__(self, other: Any) -> Any:
            sizes.append(self.size * other.shape[1])
            return np.asarray(self) @ other

    multiply_matrices(np.ones((100, 384), np.float32).view(Watched), np.ones((384, 128), np.float32))
    assert len(sizes) > 1
    assert max(sizes) <= ALONE
