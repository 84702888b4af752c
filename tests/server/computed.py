"""An embedder whose vectors were worked out beforehand, so that a test knows every cosine.

A text that the table does not name is at right angles to all that it names.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import BaseModel, ConfigDict

TABLE: Final = Path(__file__).parents[1] / "data" / "computed_vectors.json"


class ComputedConfig(BaseModel):
    """Nothing can be set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ComputedEmbedder:
    """Looks vectors up."""

    Config = ComputedConfig
    provider = "computed"
    model = "v1"
    destination = "this machine"

    def __init__(self, config: ComputedConfig, io: Any) -> None:
        self._config, self._io = config, io
        self._table: dict[str, list[float]] = json.loads(TABLE.read_text(encoding="utf-8"))

    async def dimension(self) -> int:
        """As many numbers as the table has."""
        return len(next(iter(self._table.values())))

    async def embed(self, texts: Sequence[str]) -> Any:
        """One vector for each text."""
        return await self._io.run(lambda: np.array([self._vector(text) for text in texts], dtype=np.float32))

    def _vector(self, text: str) -> list[float]:
        other = [0.0] * (len(next(iter(self._table.values()))) - 1) + [1.0]
        return self._table.get(text, other)
