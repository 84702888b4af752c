"""What the parts of a face have in common: the engine they speak to."""

from __future__ import annotations

from memstone.core.checks.arguments import check_methods
from memstone.engine.engine import Engine


class Face:
    """A part of ``Memory`` or ``AsyncMemory``."""

    _engine: Engine

    def __init_subclass__(cls) -> None:
        """Let the methods refuse arguments of the wrong type; methods of somebody's own class are theirs."""
        super().__init_subclass__()
        if cls.__module__.startswith("memstone."):
            check_methods(cls)
