"""``/api/memory/…``: health, state, search previews and long work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request

from memstone.api.aio.verbs import AsyncMemoryVerbs
from memstone.engine import status
from memstone.engine.upkeep.summarize import summarize_old
from memstone.errors import MemstoneError
from memstone.registry import builtin_names
from memstone.server.access import Admin, AuthenticatedRoute, Reader
from memstone.server.observe import log
from memstone.server.rest.api_memory import owner_of
from memstone.server.schemas.api import (
    EmbeddingProviders,
    EngineStatus,
    EntryPreview,
    EntryPreviewBody,
    EntrySelfTest,
    EntrySummary,
    EntrySummaryBody,
    ReindexBody,
    ReindexState,
    entry_from_memory,
)
from memstone.server.schemas.base import PROBLEMS
from memstone.server.state import ServiceState
from memstone.server.stored_settings import LOCAL_EMBEDDERS, OWN_SERVERS

if TYPE_CHECKING:
    from memstone.results import PreviewHit

router = APIRouter(prefix="/api/memory", tags=["entries"], responses=PROBLEMS, route_class=AuthenticatedRoute)

_HIDDEN: Final = frozenset({"hash", "callable"})
_MODELS: Final[dict[str, tuple[tuple[str, int], ...]]] = {
    "openai": (("text-embedding-3-small", 1_536), ("text-embedding-3-large", 3_072), ("text-embedding-ada-002", 1_536)),
    "ollama": (("nomic-embed-text", 768), ("mxbai-embed-large", 1_024), ("all-minilm", 384)),
}


@router.get("/health", response_model=EntrySelfTest, response_model_exclude_none=True)
async def verify_memory(caller: Reader) -> Any:
    """Test memory: create, list and delete an entry in one transaction that is rolled back."""
    return await caller.engine.run(status.verify_memory)


@router.post("/retrieve-preview", response_model=EntryPreview, response_model_exclude_unset=True)
async def retrieve_preview(caller: Reader, question: EntryPreviewBody) -> Any:
    """Show what a search would find and what would fit; nothing counts as used."""
    found = await caller.memory.profile.preview_search(
        question.query,
        user_id=await owner_of(caller, question.api_key_id, question.user_id),
        run_id=question.session_id or None,
        scope=question.scope,
        strategy=question.strategy,
        limit=question.limit,
        max_tokens=question.max_tokens,
    )
    return {**found, "items": [{**entry_from_memory(one), **_score_fields(one)} for one in found["items"]]}


def _score_fields(item: PreviewHit) -> dict[str, Any]:
    return {name: item[name] for name in ("score", "tier", "tokens", "vec_score", "fts_score", "injected")}


@router.get("/engine-status", response_model=EngineStatus, response_model_exclude_unset=True)
async def engine_status(request: Request, caller: Reader) -> Any:
    """List the parts of the engine, whether each is available, and if not, why."""
    state: ServiceState = request.app.state.memstone
    return {**await caller.memory.admin.status(), "qdrant": qdrant_part(state)}


def qdrant_part(state: ServiceState) -> dict[str, Any]:
    """Return whether Qdrant is the store that is used."""
    if state.settings.vector_store.provider == "qdrant":
        return {"available": True, "reason": None}
    return {"available": False, "reason": "not_configured"}


@router.get("/embedding-providers", response_model=EmbeddingProviders)
async def embedding_providers(request: Request, caller: Reader) -> Any:
    """List the available embedders, and the one in use."""
    state: ServiceState = request.app.state.memstone
    active = (await caller.memory.admin.status())["embedding"].get("provider")
    return {
        "providers": [
            _describe_provider(state, name, active) for name in builtin_names("embedder") if name not in _HIDDEN
        ]
    }


def _describe_provider(state: ServiceState, name: str, active: str | None) -> dict[str, Any]:
    local = name in LOCAL_EMBEDDERS
    embedder = state.settings.embedder
    configured = [one for one in (embedder, embedder.remote, state.settings.llm) if one is not None]
    # A server of your own needs no key; who asks for one is there when the configuration has it.
    ready = (
        local or name == active or name in OWN_SERVERS or any(one.provider == name and one.config for one in configured)
    )
    reason = None if ready else "no_key"
    return {
        "id": name,
        "available": ready,
        "active": name == active,
        "local": local,
        "reason": reason,
        "models": known_embedding_models(name),
    }


def known_embedding_models(provider: str | None = None) -> list[dict[str, Any]]:
    """Return the models of a provider that are known by name, or of all."""
    chosen = _MODELS if provider is None else {provider: _MODELS.get(provider, ())}
    return [
        {"id": f"{name}/{model}", "provider": name, "model": model, "dimension": dimension}
        for name, known in chosen.items()
        for model, dimension in known
    ]


@router.post("/summarize", response_model=EntrySummary)
async def summarize_old_memories(caller: Admin, wanted: EntrySummaryBody) -> Any:
    """Shorten old memories to their first sentences; the originals stay in the history."""
    user = await owner_of(caller, wanted.api_key_id, None) if wanted.api_key_id else None
    options = {"everybody": user is None, "dry_run": wanted.dry_run}
    done = await caller.engine.run(summarize_old, {"user_id": user}, wanted.older_than_days, **options)
    return {
        "original_count": done["originalCount"],
        "summarized_count": done["summarizedCount"],
        "tokens_saved": done["tokensSaved"],
        "dry_run": done["dry_run"],
        "job_ids": done["job_ids"],
    }


@router.post("/reindex", response_model=ReindexState)
async def start_reindex(request: Request, caller: Admin, wanted: ReindexBody) -> Any:
    """Build the missing vectors in the background."""
    caller.needs_tenant()
    state: ServiceState = request.app.state.memstone
    pending = await caller.memory.admin.pending_vectors()
    busy: set[str] = _reindexing_tenants(request)
    if caller.key.tenant_id in busy or not (pending or wanted.force):
        return {"started": False, "pending": pending}
    busy.add(caller.key.tenant_id)
    state.tasks.start(_run_reindex(caller.memory, caller.key.tenant_id, busy, force=wanted.force))
    return {"started": True, "pending": pending}


def _reindexing_tenants(request: Request) -> set[str]:
    """Return the tenants whose vectors are being made."""
    if not hasattr(request.app.state, "reindexing"):
        request.app.state.reindexing = set()
    found: set[str] = request.app.state.reindexing
    return found


async def _run_reindex(memory: AsyncMemoryVerbs, tenant_id: str, busy: set[str], *, force: bool) -> None:
    try:
        await (memory.admin.refresh_vectors() if force else memory.admin.reindex())
    except MemstoneError as error:
        log.warning("memory.reindex.failed", code=error.code)
    else:
        log.info("memory.reindex.complete")
    finally:
        busy.discard(tenant_id)
