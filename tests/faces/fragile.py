"""An embedding function that can be told to fail."""

from __future__ import annotations

from typing import Any

import numpy as np


class Fragile:
    """Fails altogether while it is ``down``, or for some texts; counts how often it was asked."""

    def __init__(self) -> None:
        self.down = False
        self.bad: set[str] = set()
        self.calls = 0

    def __call__(self, items: list[str]) -> Any:
        """One row per text."""
        self.calls += 1
        if self.down or self.bad & set(items):
            raise OSError("no route to host")
        return [self.row(text) for text in items]

    def row(self, text: str) -> Any:
        """A vector that is near to no other."""
        return np.random.default_rng(list(text.encode())).standard_normal(32)
