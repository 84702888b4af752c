"""``/api/settings/qdrant``: configure Qdrant, and test it."""

from __future__ import annotations

import time
from typing import Any, Final

from fastapi import APIRouter, Request

from memstone.core.settings.backends import QDRANT_KEY, qdrant_url
from memstone.engine import backends, status
from memstone.engine.access.admission import resolve_owner
from memstone.errors import BackendError, MemstoneError
from memstone.server.access import Admin, AuthenticatedRoute, Caller
from memstone.server.rest.api_engine import known_embedding_models
from memstone.server.rest.api_settings import Guarded, read_connections, runs_it, validate_backends
from memstone.server.schemas.api import entry_from_memory
from memstone.server.schemas.api_settings import (
    EmbeddingModels,
    QdrantBody,
    QdrantCleanup,
    QdrantCleanupBody,
    QdrantHealth,
    QdrantHits,
    QdrantSearchBody,
    QdrantSettings,
)
from memstone.server.schemas.base import PROBLEMS
from memstone.server.state import ServiceState
from memstone.server.urls import fetch_url

router = APIRouter(
    prefix="/api/settings/qdrant", tags=["memory settings"], responses=PROBLEMS, route_class=AuthenticatedRoute
)

_NAMES: Final = {
    "enabled": "qdrantEnabled",
    "host": "qdrantHost",
    "port": "qdrantPort",
    "api_key": QDRANT_KEY,
    "collection": "qdrantCollection",
    "embedding_model": "qdrantEmbeddingModel",
}
_OK: Final = 200
_ABSENT: Final = 404
_HEALTH_CHARS: Final = 200
_ERROR_CHARS: Final = 300
"""How much of an error is shown."""
_MOST_FOUND: Final = 20


@router.get("", response_model=QdrantSettings)
async def get_qdrant_settings(request: Request, caller: Admin) -> Any:
    """Return the settings of Qdrant, and whether it is used."""
    state = runs_it(request, caller)
    return _format_settings(state, (await caller.engine.run(backends.get_backends))["settings"])


@router.put("", response_model=QdrantSettings)
async def set_qdrant(request: Request, caller: Admin, guard: Guarded, change: QdrantBody) -> Any:
    """Change the settings of Qdrant; enabling it also selects it as the vector store, from the next start."""
    state = runs_it(request, caller)
    values = {_NAMES[name]: value for name, value in change.model_dump(exclude_unset=True).items()}
    if "qdrantEnabled" in values:
        values["vectorStore"] = "qdrant" if values["qdrantEnabled"] else "auto"
    await validate_backends(request, caller, guard, values)
    answer = await caller.engine.run(backends.set_backends, values)
    return {**_format_settings(state, answer["settings"]), "cleared": answer["cleared"]}


def _format_settings(state: ServiceState, values: dict[str, Any]) -> dict[str, Any]:
    reason = _unusable_reason(values)
    active = state.settings.vector_store.provider == "qdrant"
    mode = "active" if active else "not_configured" if reason else "restart_required"
    output = {name: values[stored] for name, stored in _NAMES.items()}
    return {**output, "has_api_key": bool(values[QDRANT_KEY]), "status": mode, "reason": None if active else reason}


def _unusable_reason(values: dict[str, Any]) -> str | None:
    """Return what keeps Qdrant from being used."""
    if not values.get("qdrantHost"):
        return "no host is set"
    if not values.get("qdrantEnabled"):
        return "it is not enabled"
    return None


@router.get("/health", response_model=QdrantHealth, response_model_exclude_none=True)
async def check_qdrant(request: Request, caller: Admin, guard: Guarded) -> Any:
    """Check Qdrant within five seconds; the answer contains the host and nothing else."""
    runs_it(request, caller)
    values, secrets = await read_connections(caller)
    if not values.get("qdrantHost") or not values.get("qdrantEnabled"):
        return {"ok": False, "status": "not_configured", "latency_ms": 0.0, "error": "not_configured"}
    began = time.perf_counter()
    try:
        error = await _check_server(guard, values, secrets.get(QDRANT_KEY, ""))
    except MemstoneError as failed:
        error = failed.message[:_HEALTH_CHARS]
    latency = _milliseconds_since(began)
    return {"ok": error is None, "status": "error" if error else "ok", "latency_ms": latency, "error": error}


async def _check_server(guard: Guarded, values: dict[str, Any], key: str) -> str | None:
    """Return what is wrong with the server, or with the collection: to be ready it asks for no key.

    A collection that is not there yet is made when it is needed; a server before version 1.4 has no ``/readyz``.
    """
    collection = values.get("qdrantCollection", "omniroute_memory")
    url = await guard.check(qdrant_url(values))
    for path in ("/readyz", f"/collections/{collection}"):
        answer = await fetch_url(url, path=path, headers={"api-key": key} if key else {})
        if answer.status_code not in (_OK, _ABSENT):
            return f"{url.host} answered {answer.status_code}"
    return None


def _milliseconds_since(began: float) -> float:
    return round((time.perf_counter() - began) * 1_000, 3)


@router.post("/search", response_model=QdrantHits)
async def search_qdrant(request: Request, caller: Admin, question: QdrantSearchBody) -> Any:
    """Search Qdrant by meaning alone, among the memories of this key."""
    if (missing := await _answer_if_inactive(request, caller)) is not None:
        return {**missing, "results": []}
    owner = await caller.engine.run(resolve_owner, None, caller.key.id)
    found = await caller.memory.profile.preview_search(
        question.query, user_id=owner, strategy="vector", limit=min(question.top_k, _MOST_FOUND), max_tokens=16_000
    )
    results = [{**entry_from_memory(one), "score": one["score"]} for one in found["items"]]
    return {"ok": True, "status": "ok", "results": results}


@router.post("/cleanup", response_model=QdrantCleanup)
async def clean_up_qdrant(request: Request, caller: Admin, wanted: QdrantCleanupBody | None = None) -> Any:
    """Bring Qdrant in line with the ledger: delete what is unknown, has expired or is too old, and count it first."""
    if (missing := await _answer_if_inactive(request, caller)) is not None:
        return missing
    dry_run = wanted is not None and wanted.dry_run
    days = None if wanted is None else wanted.retention_days
    began = time.perf_counter()
    try:
        count = await caller.engine.run(status.clean_up_vectors, dry_run=dry_run, days=days)
    except BackendError as error:
        shown = {"error": error.message[:_ERROR_CHARS], "latency_ms": _milliseconds_since(began)}
        return {"ok": False, "status": "error", **shown}
    state = "dry_run" if dry_run else "ok"
    return {"ok": True, "status": state, "deleted_count": count, "latency_ms": _milliseconds_since(began)}


async def _answer_if_inactive(request: Request, caller: Caller) -> dict[str, Any] | None:
    state = runs_it(request, caller)
    if state.settings.vector_store.provider == "qdrant":
        return None
    reason = _unusable_reason((await caller.engine.run(backends.get_backends))["settings"])
    return {"ok": False, "status": "not_configured", "reason": reason or "takes effect at the next start"}


@router.get("/embedding-models", response_model=EmbeddingModels)
async def embedding_models(request: Request, caller: Admin) -> Any:
    """List the models whose vectors Qdrant could store."""
    runs_it(request, caller)
    return {"models": known_embedding_models()}
