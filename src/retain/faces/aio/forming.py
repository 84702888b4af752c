"""How memory forms in the background: sessions, jobs and the worker."""

from __future__ import annotations

from retain.faces.base import Face


class Forming(Face):
    """How memory forms in the background: sessions, jobs and the worker."""
