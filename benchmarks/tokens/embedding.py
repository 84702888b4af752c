"""The vectors both systems get, made in the process that counts and asked for over HTTP.

Which memories are near a fact decides what a model is asked, so that a real sentence model is the default; ``words``
is the arithmetic of the speed benchmark, in which a text is the sum of its words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

Embeds = Callable[[Sequence[str]], Any]

MINILM: Final = "minilm"
WORDS: Final = "words"
KINDS: Final = (MINILM, WORDS)


def embedder(kind: str) -> Embeds:
    """Return what makes one row per text, 384 columns."""
    if kind == WORDS:
        from benchmarks.speed.vectors import stack

        return stack
    return _sentence_model()


def _sentence_model() -> Embeds:
    """Return the model that Memstone brings."""
    from memstone.adapters.embed.local import LocalEmbedder, LocalEmbedderConfig
    from memstone.adapters.io.blocking import BlockingIo
    from memstone.drive import drive

    model = LocalEmbedder(LocalEmbedderConfig(), BlockingIo())
    return lambda texts: drive(model.embed(texts))
