"""What the parts of a client have in common: the way to the service."""

from __future__ import annotations

from memstone.remote.link import Link


class Remote:
    """A part of ``Client`` or ``AsyncClient``."""

    _link: Link
