"""Verbs asked for by their names, over whichever route each has."""

from __future__ import annotations

from typing import Any

from memstone.remote.link import address_of
from memstone.remote.routes import ROUTES

ACTS = ("disable", "enable", "quarantine")


def operation_of(verb: str) -> str:
    """The method and the path of a verb, as the description of a service names them."""
    route = ROUTES[verb]
    act = verb.rpartition(".")[2]
    path = route.path.removesuffix(act) + "{act}" if verb.startswith("review.") and act in ACTS else route.path
    return f"{route.method} {path}"


def call_verb(client: Any, verb: str, values: dict[str, Any] | None = None, **rest: Any) -> Any:
    """What a service answers to a verb."""
    path, body = address_of(ROUTES[verb], dict(values or {}))
    return client.request(ROUTES[verb].method, path, json=body, **rest)
