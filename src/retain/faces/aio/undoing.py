"""Undo and time travel: every change can be taken back."""

from __future__ import annotations

from retain.faces.base import Face


class Undoing(Face):
    """Undo and time travel: every change can be taken back."""
