"""Every family of routes, in one list."""

from __future__ import annotations

from fastapi import FastAPI

from retain.server.gateway import routes as gateway
from retain.server.rest import health, keys, memories


def include_all(app: FastAPI) -> None:
    """Give an application all its routes."""
    for family in (health, memories, keys, gateway):
        app.include_router(family.router)
