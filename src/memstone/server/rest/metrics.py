"""``/metrics``: the figures of this process, and of the tenant whose administrator asks."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from memstone.server import metrics
from memstone.server.access import Admin, AuthenticatedRoute
from memstone.server.schemas.base import PROBLEMS
from memstone.server.state import ServiceState

router = APIRouter(tags=["health"], responses=PROBLEMS, route_class=AuthenticatedRoute)
_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "metrics in the text format of Prometheus", "content": {"text/plain": {}}}
}


@router.get("/metrics", response_class=PlainTextResponse, responses=_TEXT)
async def get_metrics(request: Request, caller: Admin) -> PlainTextResponse:
    """Return latencies, counts and rates.

    Metrics of the whole process are for administrators of the tenant that runs it; others see their own store.
    """
    caller.needs_tenant()
    state: ServiceState = request.app.state.memstone
    status = await caller.memory.admin.status()
    figures = {
        "rates": await caller.memory.admin.metrics(everybody=True),
        "counts": await caller.memory.stats(),
        "lag": status["vector_store"]["pending"],
        "llm_tokens_today": await state.spent_today(caller.key.tenant_id),
        "receipts_lost": state.receipts_lost,
    }
    is_complete = caller.key.tenant_id == state.settings.tenant
    return PlainTextResponse(metrics.format_metrics(figures, process=is_complete), media_type=metrics.CONTENT_TYPE)
