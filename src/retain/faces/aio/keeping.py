"""Erasing for good, backups, and taking in what other systems exported."""

from __future__ import annotations

from retain.faces.base import Face


class Keeping(Face):
    """Erasing for good, backups, and taking in what other systems exported."""
