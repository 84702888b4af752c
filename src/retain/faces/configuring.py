"""Settings that live in the store, for a tenant, a user or an agent."""

from __future__ import annotations

from retain.faces.base import Face


class Configuring(Face):
    """Settings that live in the store, for a tenant, a user or an agent."""
