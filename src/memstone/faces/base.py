"""What the parts of a face have in common: the engine they speak to."""

from __future__ import annotations

from memstone.engine.engine import Engine


class Face:
    """A part of ``Memory`` or ``AsyncMemory``."""

    _engine: Engine
