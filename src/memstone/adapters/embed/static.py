"""Sentence vectors from a table: each token has one vector, and a text is their mean. WordLlama, 256 dimensions.

A package carries the table and the tokenizer. Both are checked against their SHA-256 and read here: the package's code
is not run, because its loader asks a hub.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from memstone.adapters.embed.verified_file import read_verified_file
from memstone.adapters.tokenizers import read_tokenizer
from memstone.errors import MissingExtra, install_hint

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memstone.ports.io import Io

MODEL_PACKAGE: Final = "wordllama==0.4.0.post1"
MODEL_NAME: Final = "wordllama-l2-supercat"
MODEL_DIMENSION: Final = 256
_MODULE: Final = "wordllama"
_WEIGHTS: Final = (
    "weights/l2_supercat_256.safetensors",
    "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
)
_TOKENIZER: Final = (
    "tokenizers/l2_supercat_tokenizer_config.json",
    "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
)
_TENSOR: Final = "embedding.weight"


class StaticEmbedderConfig(BaseModel):
    """How much of a text is read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_chars: int = Field(default=4000, ge=100, le=100_000)


class StaticEmbedder:
    """A small English model without a network of neurons: much faster than the built-in one, and finds less."""

    Config: ClassVar = StaticEmbedderConfig
    provider = "static"
    in_process = True
    model = MODEL_NAME
    destination = "this machine"

    def __init__(self, config: StaticEmbedderConfig, io: Io) -> None:
        self.check_installed()
        self._config, self._io = config, io

    @staticmethod
    def check_installed() -> None:
        """Raise ``MissingExtra`` unless the packages are there."""
        _find_package()
        if find_spec("tokenizers") is None:
            raise MissingExtra("the static model needs the package tokenizers", hint=install_hint("static"))

    async def dimension(self) -> int:
        """Return the length of every vector."""
        return MODEL_DIMENSION

    async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one unit vector per text, as a 2-d float32 array; a text without content gives a zero row."""
        return await self._io.run(lambda: self._embed(texts))

    def _embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import numpy as np

        rows = np.zeros((len(texts), MODEL_DIMENSION), dtype=np.float32)
        for place, text in enumerate(texts):
            if text.strip():
                rows[place] = _load_model().mean_of(text[: self._config.max_chars])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units: npt.NDArray[np.float32] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        return units


class _Model(NamedTuple):
    table: Any
    tokenizer: Any

    def mean_of(self, text: str) -> Any:
        # One text at a time: the tokenizer then starts no threads, which a fork would lose. Half of a surrogate pair
        # has no UTF-8, in which it reads.
        plain = text.encode("utf-8", "replace").decode()
        ids = self.tokenizer.encode(plain, add_special_tokens=False).ids
        return self.table[ids].astype("f4").mean(axis=0)


@cache
def _load_model() -> _Model:
    """Return the one model of this process; loaded now if it is the first time."""
    folder = _find_package()
    weights, tokenizer = (
        read_verified_file(folder / name, expected, MODEL_PACKAGE).content for name, expected in (_WEIGHTS, _TOKENIZER)
    )
    return _Model(_read_table(weights), read_tokenizer(tokenizer))


def _read_table(content: bytes) -> Any:
    """Return the one table in a safetensors file: eight bytes of length, a header in JSON, then the numbers."""
    import numpy as np

    (length,) = struct.unpack_from("<Q", content)
    about = json.loads(content[8 : 8 + length])[_TENSOR]
    start, end = about["data_offsets"]
    return np.frombuffer(content[8 + length + start : 8 + length + end], dtype="<f2").reshape(about["shape"])


def _find_package() -> Path:
    spec = find_spec(_MODULE)
    if spec is None or spec.origin is None:
        raise MissingExtra("the package with the static model is not installed", hint=install_hint("static"))
    return Path(spec.origin).parent
