"""The vector service: memories whose vectors a caller brings, at the root and under ``/vectors``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import APIRouter

from memstone.model.access import Verb
from memstone.server.access import AuthenticatedRoute, Reader, Writer, is_bound
from memstone.server.schemas.base import PROBLEMS, answer_form
from memstone.server.schemas.vectors import (
    VectorDeleteBody,
    VectorIdsBody,
    VectorQueryBody,
    VectorsBody,
    VectorUnlinkBody,
)

router = APIRouter(tags=["vectors"], responses=PROBLEMS, route_class=AuthenticatedRoute)
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


def _add_routes(path: str, answer: Any, **more: Any) -> Callable[[Endpoint], Endpoint]:
    """Return a route in both places."""

    def add(endpoint: Endpoint) -> Endpoint:
        for place in (path, f"/vectors{path}"):
            router.add_api_route(place, endpoint, methods=["POST"], response_model=answer, **more)
        return endpoint

    return add


@_add_routes("/insert", answer_form("VectorCount"))
async def insert_vectors(caller: Writer, brought: VectorsBody) -> Any:
    """Store vectors; an existing id is left as it is and shared with the user."""
    vectors = [one.model_dump() for one in brought.vectors]
    return await caller.memory.vectors.insert(vectors, user_id=brought.userId)


@_add_routes("/upsert", answer_form("VectorCount"))
async def upsert_vectors(caller: Writer, brought: VectorsBody) -> Any:
    """Store vectors; an existing id gets its next version."""
    vectors = [one.model_dump() for one in brought.vectors]
    return await caller.memory.vectors.upsert(vectors, user_id=brought.userId)


@_add_routes("/query", answer_form("VectorMatches"), response_model_exclude_none=True)
async def query_vectors(caller: Reader, asked: VectorQueryBody) -> Any:
    """Return the most similar vectors of a user, best first; without a user for administrators only."""
    return await caller.memory.vectors.query(
        asked.vector,
        user_id=asked.userId,
        limit=asked.topK,
        everybody=asked.userId is None and Verb.ADMIN in caller.key.verbs and not is_bound(caller),
        values=asked.returnValues,
        metadata=asked.returnMetadata,
    )


@_add_routes("/delete-memory", answer_form("VectorUnlink"))
async def unlink_vector(caller: Writer, wanted: VectorUnlinkBody) -> Any:
    """Take a vector away from a user; the others keep it."""
    return await caller.memory.vectors.unlink(
        wanted.vectorId, user_id=wanted.userId, reason=wanted.reason, dry_run=wanted.dryRun
    )


@_add_routes("/deleteByIds", answer_form("VectorCount"))
async def delete_vectors(caller: Writer, wanted: VectorDeleteBody) -> Any:
    """Delete vectors for everybody the key has access to."""
    return await caller.memory.vectors.delete(wanted.ids, dry_run=wanted.dryRun)


@_add_routes("/getByIds", answer_form("VectorList"))
async def get_vectors(caller: Reader, wanted: VectorIdsBody) -> Any:
    """Return vectors by their ids; missing ones are left out."""
    return await caller.memory.vectors.get(wanted.ids)
