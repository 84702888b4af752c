"""What the parts of a client have in common: the way to the service."""

from __future__ import annotations

from memstone.core.checks.arguments import check_methods
from memstone.remote.link import Link


class Remote:
    """A part of ``Client`` or ``AsyncClient``."""

    _link: Link

    def __init_subclass__(cls) -> None:
        """Let the methods refuse arguments of the wrong type before anything is sent."""
        super().__init_subclass__()
        if cls.__module__.startswith("memstone."):
            check_methods(cls)
