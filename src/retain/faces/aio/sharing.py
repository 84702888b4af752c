"""Who holds a memory: sharing, moving, feedback and the figures about it."""

from __future__ import annotations

from retain.faces.base import Face


class Sharing(Face):
    """Who holds a memory: sharing, moving, feedback and the figures about it."""
