"""Every family of routes, in one list."""

from __future__ import annotations

from fastapi import FastAPI

from retain.server import journal
from retain.server.gateway import routes as gateway
from retain.server.rest import (
    agents,
    companion,
    console,
    feed,
    health,
    jobs,
    keys,
    memories,
    settings,
    transfer,
    vectors,
)

COMPANION = (companion, agents, vectors, console, jobs, feed, settings, transfer)


def include_all(app: FastAPI) -> None:
    """Give an application all its routes."""
    for family in (health, memories, keys, gateway, *COMPANION):
        app.include_router(family.router)
    journal.install(app)
