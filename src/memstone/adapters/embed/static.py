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
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from memstone.adapters.embed.verified_file import ModelPackage, clean_texts
from memstone.adapters.tokenizers import read_tokenizer
from memstone.errors import MissingExtra, install_hint

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memstone.ports.io import Io

MODEL_NAME: Final = "wordllama-l2-supercat"
MODEL_DIMENSION: Final = 256
_WEIGHTS: Final = "weights/l2_supercat_256.safetensors"
_TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_PACKAGE: Final = ModelPackage(
    "wordllama==0.4.0.post1",
    "wordllama",
    "static",
    {
        _WEIGHTS: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
        _TOKENIZER: "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
    },
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
        _PACKAGE.find_folder()
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
        for place, text in clean_texts(texts, self._config.max_chars).items():
            rows[place] = _load_model().mean_of(text)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units: npt.NDArray[np.float32] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        return units


class _Model(NamedTuple):
    table: Any
    tokenizer: Any

    def mean_of(self, text: str) -> Any:
        # One text at a time: the tokenizer then starts no threads, which a fork would lose.
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        return self.table[ids].astype("f4").mean(axis=0)


@cache
def _load_model() -> _Model:
    """Return the one model of this process; loaded now if it is the first time."""
    return _Model(_read_table(_PACKAGE.read_file(_WEIGHTS)), read_tokenizer(_PACKAGE.read_file(_TOKENIZER)))


def _read_table(content: bytes) -> Any:
    """Return the one table in a safetensors file: eight bytes of length, a header in JSON, then the numbers."""
    import numpy as np

    (length,) = struct.unpack_from("<Q", content)
    about = json.loads(content[8 : 8 + length])[_TENSOR]
    start, end = about["data_offsets"]
    return np.frombuffer(content[8 + length + start : 8 + length + end], dtype="<f2").reshape(about["shape"])
