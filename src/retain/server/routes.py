"""Every family of routes, in one list."""

from __future__ import annotations

from fastapi import FastAPI

from retain.server import journal
from retain.server.gateway import routes as gateway
from retain.server.rest import (
    agents,
    api_engine,
    api_memory,
    api_qdrant,
    api_settings,
    companion,
    console,
    feed,
    health,
    jobs,
    keys,
    memories,
    metrics,
    settings,
    transfer,
    vectors,
    verbs,
)

COMPANION = (companion, agents, vectors, console, jobs, feed, settings, transfer)

GATEWAY_STYLE = (api_engine, api_memory, api_settings, api_qdrant)  # fixed paths before /api/memory/{id}


def include_all(app: FastAPI) -> None:
    """Give an application all its routes."""
    for family in (health, metrics, memories, keys, verbs, gateway, *GATEWAY_STYLE, *COMPANION):
        app.include_router(family.router)
    journal.install(app)
