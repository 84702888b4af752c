"""How memory is kept small: consolidation, summaries and sweeps."""

from __future__ import annotations

from retain.faces.base import Face


class Consolidating(Face):
    """How memory is kept small: consolidation, summaries and sweeps."""
