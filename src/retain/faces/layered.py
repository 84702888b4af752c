"""The layers above facts: identity and episodes."""

from __future__ import annotations

from retain.faces.base import Face


class Layered(Face):
    """The layers above facts: identity and episodes."""
