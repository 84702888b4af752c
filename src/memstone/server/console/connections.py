"""The page of embedder, vector store and language models, with a test of each."""

from __future__ import annotations

import time
from typing import Any, Final

import httpx2
from pydantic import ValidationError
from starlette.responses import Response

from memstone.core.redact import preview_text
from memstone.engine import backends, status
from memstone.errors import InvalidInput, MemstoneError
from memstone.model.access import Verb
from memstone.sections_service import UpstreamSettings
from memstone.server.background_jobs import Progress, works_of
from memstone.server.console.templates import link_to
from memstone.server.console.visit import Pages, Toast, Visit
from memstone.server.gateway.upstream import Target
from memstone.server.rest import api_qdrant, api_settings
from memstone.server.schemas.api_settings import QdrantBody
from memstone.server.state import ServiceState

pages = Pages()

PATH: Final = "/console/settings/connections"
_OK: Final = 200
_SECONDS: Final = 10.0
_FOUND: Final = 5
_ERROR_CHARS: Final = 300


@pages.page(PATH, Verb.ADMIN, tenant=True)
async def show_connections(visit: Visit) -> Response:
    """Show every part, whether it works, and how far the vectors are."""
    state = visit.console.state
    engine = await visit.memory.admin.status()
    stats = await visit.memory.stats()
    values: dict[str, Any] = {
        "engine": engine,
        "stats": stats,
        "provider": state.settings.vector_store.provider,
        "upstreams": state.settings.gateway.upstreams,
        "qdrant": None,
        "restart": False,
        "found": None,
        "query": visit.query("q"),
        "tested": visit.query("tested"),
    }
    if _runs_service(visit):
        values["qdrant"] = await api_qdrant.get_qdrant_settings(visit.request, visit.caller)
        values["restart"] = await api_settings.restart_required(state, visit.caller, state.guard)
    if values["query"]:
        values["found"] = await _search_vectors(visit, values["query"])
    return visit.render("connections.html", title="Connections", **values)


def _runs_service(visit: Visit) -> bool:
    return visit.caller.key.tenant_id == visit.console.state.settings.tenant


async def _search_vectors(visit: Visit, query: str) -> dict[str, Any]:
    """Try the search by meaning alone, for one person; nothing counts as used."""
    user = visit.query("user")
    if not user:
        raise InvalidInput("name a person whose memories are searched", hint="fill in both fields of the search test")
    began = time.perf_counter()
    found = await visit.memory.profile.preview_search(
        query, user_id=user, strategy="vector", limit=_FOUND, max_tokens=16_000
    )
    hits = [{"id": one["id"], "text": preview_text(one["memory"]), "score": one["score"]} for one in found["items"]]
    took = (time.perf_counter() - began) * 1_000
    return {"hits": hits, "ms": took, "resolution": found["resolution"], "user": user}


# --- the vector store -------------------------------------------------------------------------------------------------


@pages.act(f"{PATH}/store", Verb.ADMIN, tenant=True)
async def save_store(visit: Visit) -> Response:
    """Store where the external vector store is; it is used from the next start."""
    host, port, key = (visit.field(name).strip() for name in ("host", "port", "key"))
    if port and not (port.isascii() and port.isdigit() and len(port) < 6):  # noqa: PLR2004 - 65,535 at most
        raise InvalidInput("the port must be a number", hint="Qdrant's default port is 6333")
    wanted: dict[str, Any] = {"enabled": visit.field("enabled") == "on", "host": host, "port": int(port or 6_333)}
    wanted["collection"] = visit.field("collection").strip() or "omniroute_memory"
    if key:
        wanted["apiKey"] = key
    try:
        body = QdrantBody.model_validate(wanted)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"{field}: {first['msg']}", hint="correct it, and save again") from None
    saved = await api_qdrant.set_qdrant(visit.request, visit.caller, visit.console.state.guard, body)
    text = "Saved. Restart the service to use it" if saved["status"] == "restart_required" else "Saved"
    return visit.done(text, PATH)


@pages.act(f"{PATH}/store/test", Verb.ADMIN, tenant=True)
async def test_store(visit: Visit) -> Response:
    """Ask the vector store whether it is there."""
    state, began = visit.console.state, time.perf_counter()
    if _runs_service(visit) and (await visit.caller.engine.run(backends.get_backends))["settings"]["qdrantHost"]:
        answer = await api_qdrant.check_qdrant(visit.request, visit.caller, state.guard)
        works, why, took = answer["ok"], answer["error"] or "", answer["latency_ms"]
    else:
        part = (await visit.memory.admin.status())["vector_store"]
        works, why, took = part["available"], part["reason"] or "", (time.perf_counter() - began) * 1_000
    text = f"The vector store answers, in {took:.0f} ms" if works else f"The vector store does not work: {why}"
    return visit.leave(PATH, Toast(text, "ok" if works else "danger"))


@pages.act(f"{PATH}/store/cleanup", Verb.ADMIN, tenant=True)
async def clean_up_store(visit: Visit) -> Response:
    """Remove what the vector store holds in vain; first only say how much that is."""
    dry_run = visit.field("really") != "yes"
    count = await visit.caller.engine.run(status.clean_up_vectors, dry_run=dry_run)
    if dry_run:
        text = f"{count} vectors could be removed" if count else "Nothing to clean up"
        return visit.leave(link_to(PATH, tested="cleanup" if count else ""), Toast(text))
    return visit.done(f"Removed {count} vectors that nothing refers to", PATH)


@pages.act(f"{PATH}/reindex", Verb.ADMIN, tenant=True)
async def start_reindex(visit: Visit) -> Response:
    """Build the vectors that are missing, as work that shows its progress."""

    async def work(progress: Progress) -> Any:
        return await visit.memory.admin.reindex(progress)

    job = works_of(visit.request).start(visit.caller.key.tenant_id, "reindex", work)
    return visit.leave(link_to(f"/console/work/{job.id}", then=PATH))


# --- upstreams --------------------------------------------------------------------------------------------------------


@pages.act(f"{PATH}/upstream/test", Verb.ADMIN, tenant=True)
async def test_upstream(visit: Visit) -> Response:
    """Ask one upstream for its models."""
    state, name = visit.console.state, visit.field("name")
    upstream = next((one for one in state.settings.gateway.upstreams if one.name == name), None)
    if upstream is None:
        raise InvalidInput(f"there is no upstream {name!r}", hint="reload the page: the configuration has changed")
    text, works = await _ask_upstream(state, upstream)
    return visit.leave(PATH, Toast(text, "ok" if works else "danger"))


async def _ask_upstream(state: ServiceState, upstream: UpstreamSettings) -> tuple[str, bool]:
    began, name = time.perf_counter(), upstream.name
    once = upstream.model_copy(update={"retries": 0, "timeout": min(upstream.timeout, _SECONDS)})
    try:
        async with state.upstreams.request_first([Target(once, "")], "/models", lambda _: None, {}) as response:
            body = (await response.aread()).decode("utf-8", "replace")
            took = (time.perf_counter() - began) * 1_000
            if response.status_code == _OK:
                return f"{name} answers, in {took:.0f} ms", True
            hint = "check its key" if response.status_code in (401, 403) else "check its address"
            return f"{name} answered {response.status_code}: {body[:_ERROR_CHARS]}; {hint}", False
    except (MemstoneError, httpx2.HTTPError) as error:
        reason = error.message if isinstance(error, MemstoneError) else type(error).__name__
        return f"{name} does not answer: {reason}. Is {upstream.base_url} right, and does the service run?", False
