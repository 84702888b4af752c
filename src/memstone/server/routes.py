"""Every family of routes, in one list."""

from __future__ import annotations

from fastapi import FastAPI

from memstone.server.gateway import routes as gateway
from memstone.server.rest import (
    accounts,
    agents,
    api_engine,
    api_memory,
    api_qdrant,
    api_settings,
    auth,
    companion,
    console,
    feed,
    health,
    instructions,
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

PEOPLE = (auth, accounts, instructions)

GATEWAY_STYLE = (api_engine, api_memory, api_settings, api_qdrant)  # fixed paths before /api/memory/{id}


def include_all(app: FastAPI) -> None:
    """Give an application all its routes."""
    for family in (health, metrics, memories, keys, *PEOPLE, verbs, gateway, *GATEWAY_STYLE, *COMPANION):
        app.router.routes.extend(family.router.routes)  # as they are: including a router builds each route again
