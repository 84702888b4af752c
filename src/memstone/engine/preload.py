"""Load models and modules before the first question needs them."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Final

from memstone.engine.runtime import Runtime
from memstone.errors import MemstoneError
from memstone.language.language import Language

_ANYTHING: Final = "What did I say about that?"


async def preload_models(runtime: Runtime) -> None:
    """Load the models of this process and the modules of recall.

    One that cannot be loaded is reported when it is needed.

    A recall that has to be ready in a fraction of a second would else come too late for the first chat. What learning
    needs is left for when it is needed: nobody waits for that, and it would take up room where nothing is learned.
    """
    judge = await runtime.io.run(partial(_load_modules, runtime.language))
    if not runtime.embedding.in_process:
        return
    with suppress(MemstoneError):
        await runtime.embedding.many([_ANYTHING])
        if runtime.reader is not None and runtime.reader.reads(judge.TASK):
            await runtime.reader.read([(_ANYTHING, _ANYTHING)], judge.TASK)


def _load_modules(language: Language) -> ModuleType:
    """Load also the modules that are loaded when first needed: most of their time goes into patterns."""
    from memstone.engine import context  # noqa: F401 - loaded for its own sake
    from memstone.engine.recall import judge

    language.load()
    judge.load_weights()
    return judge
