"""What a point of an external vector store is: its id, its payload, its collection."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final
from uuid import UUID, uuid5

import numpy as np

from memstone.core.checks.filters import where_in_scope
from memstone.model.query import And, Condition, Op, VectorQuery, Where
from memstone.model.scope import Scope
from memstone.ports.index import Point
from memstone.ports.ledger import LinkedVector

_POINTS: Final = UUID("7d3b6f0e-3f0c-5a53-9a55-2f6f4d1c8e21")
NOTE: Final = str(uuid5(_POINTS, "how far this collection follows"))
"""The id of the point that notes how far a collection follows. It has no tenant, so no search finds it."""


def build_filter(query: VectorQuery) -> Where:
    """Return the filter for the scope and the layers of a question."""
    if not query.layers:
        return where_in_scope(query.scope)
    return And((where_in_scope(query.scope), Condition("layer", Op.IN, query.layers)))


def is_in_scope(row: LinkedVector, scope: Scope) -> bool:
    """Return whether a link has everything that a scope names."""
    pairs = ((row.user_id, scope.user_id), (row.agent_id, scope.agent_id), (row.run_id, scope.run_id))
    return all(not wanted or have == wanted for have, wanted in pairs)


def build_point(tenant_id: str, row: LinkedVector, *, with_text: bool = False) -> Point:
    """Return one link of one version; its id depends on nothing else."""
    payload: dict[str, Any] = {
        "tenant_id": tenant_id,
        "id": row.id,
        "seq": row.seq,
        "layer": row.layer,
        "status": row.status,
        "user_id": row.user_id,
        "agent_id": row.agent_id,
        "run_id": row.run_id,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
    }
    if with_text:
        payload["text"] = row.text
    name = "\0".join((str(row.seq), row.user_id, row.agent_id, row.run_id))
    return Point(str(uuid5(_POINTS, name)), np.frombuffer(row.vector, dtype="<f4").tolist(), payload)


def collection_prefix(collection_name: str, tenant_id: str) -> str:
    """Return how the names of a tenant's collections begin.

    They have letters, digits and underscores, which every store takes.
    """
    readable = re.sub("[^a-z0-9]+", "_", collection_name.lower()).strip("_")[:32]
    return f"{readable or 'memories'}_{digest_texts(collection_name, tenant_id)}_"


def digest_texts(*texts: str) -> str:
    """Return twelve hexadecimal digits for some texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
