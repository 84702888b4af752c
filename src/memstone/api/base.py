"""The base class of all groups of methods."""

from __future__ import annotations

from memstone.core.checks.arguments import check_methods
from memstone.engine.engine import Engine


class Group:
    """Verbs that speak to one engine.

    Each is one line over the engine, and is written once: ``api/aio`` holds its translation for asyncio, made by
    ``scripts/make_async_api.py``, and a client takes its methods from the same classes (``remote/methods.py``).
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __init_subclass__(cls) -> None:
        """Let the methods refuse arguments of the wrong type; methods of somebody's own class are theirs."""
        super().__init_subclass__()
        if cls.__module__.startswith("memstone."):
            check_methods(cls)
