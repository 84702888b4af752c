"""The service: one ASGI application over one ``AsyncMemory``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

import memstone
from memstone.async_memory import AsyncMemory
from memstone.config import Settings
from memstone.engine.preload import preload_models
from memstone.server import description, errors
from memstone.server.access import Authenticator
from memstone.server.connections import ProxyAddresses
from memstone.server.console.routes import install_console
from memstone.server.gateway import routes as gateway
from memstone.server.gateway.upstream import Upstreams
from memstone.server.limits import Failures, Governor, Rate, SharedCounts, create_governor
from memstone.server.mcp.http import McpMount
from memstone.server.metrics import OBSERVED, Journal
from memstone.server.middleware import ErrorMiddleware, RequestIdMiddleware, RequestLimitsMiddleware, cors_options
from memstone.server.observe import Watcher, speak_softly
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
from memstone.server.state import ServiceState
from memstone.server.urls import UrlGuard

# --- every family of routes, in one list ------------------------------------------------------------------------------


COMPANION = (companion, agents, vectors, console, jobs, feed, settings, transfer)

PEOPLE = (auth, accounts, instructions)

GATEWAY_STYLE = (api_engine, api_memory, api_settings, api_qdrant)  # fixed paths before /api/memory/{id}


def include_all(app: FastAPI) -> None:
    """Give an application all its routes."""
    for family in (health, metrics, memories, keys, *PEOPLE, verbs, gateway, *GATEWAY_STYLE, *COMPANION):
        app.router.routes.extend(family.router.routes)  # as they are: including a router builds each route again


# --- the service ------------------------------------------------------------------------------------------------------


_SHUTDOWN_SECONDS: Final = 5.0


def create_app(config: Settings | Mapping[str, Any] | None = None, *, memory: AsyncMemory | None = None) -> FastAPI:
    """Return the application for some settings; a ``memory`` that is passed is closed by its owner."""
    settings = Settings.of(config).for_service()
    speak_softly()
    ours = AsyncMemory(settings) if memory is None else memory
    doorkeeper = Authenticator(ours, open_loopback=settings.server.open_loopback)
    governor = attach_governor(ours, settings)
    runtime = ours.engine.runtime
    counts = SharedCounts(runtime.ledger, runtime.tenant_id, runtime.now)
    rate = Rate(settings.server.rate, shared=counts)
    failures = Failures(settings.server.failed_logins, shared=counts)
    guard = UrlGuard(settings.server.private_urls)
    upstreams = Upstreams(settings.gateway)
    state = ServiceState(settings, ours, doorkeeper, rate, failures, counts, upstreams, governor, guard)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await ours.engine.open()
        await state.ask_store()
        state.ready = True
        warming = state.tasks.start(ours.engine.run(preload_models))
        yield
        warming.cancel()
        state.ready = False
        await mcp.close()
        await state.tasks.finish(_SHUTDOWN_SECONDS)
        await state.upstreams.close()
        if memory is None:
            await ours.close()

    app = FastAPI(
        title="Memstone",
        version=memstone.__version__,
        description="A memory for AI applications.",
        lifespan=life,
        redirect_slashes=False,
        openapi_url=None,  # see memstone.server.description; the usual pages load their scripts from elsewhere
        docs_url=None,
        redoc_url=None,
    )
    app.state.memstone = state
    app.state.journal = Journal(settings.server.request_log, settings.server.request_log_hours)
    mcp = McpMount(state)
    app.router.routes.extend(mcp.routes)
    errors.install_error_handlers(app)
    include_all(app)
    if settings.server.console.enabled:
        install_console(app, state)
    description.install_openapi_route(app)
    server = settings.server
    app.add_middleware(ErrorMiddleware)
    if server.origins:
        app.add_middleware(CORSMiddleware, **cors_options(server.origins))
    app.add_middleware(RequestLimitsMiddleware, server=server, model_bytes=settings.gateway.body_bytes)
    app.add_middleware(Watcher, journal=app.state.journal)
    app.add_middleware(ProxyAddresses, proxies=server.proxies, header=server.proxy_header)
    app.add_middleware(RequestIdMiddleware)
    return app


def attach_governor(memory: AsyncMemory, settings: Settings) -> Governor:
    """Let a memory tell its figures, and hold its language model to the budget of a day."""
    engine = memory.engine
    engine.runtime.watch.add(OBSERVED)
    governor, changed = create_governor(engine.runtime, settings.server.llm_tokens_per_day)
    engine.runtime = replace(engine.runtime, **changed)
    if engine.runtime.worker_state.home is not None:  # a memory that was open already works in the background as well
        engine.runtime.worker_state.home = engine.runtime
    return governor
