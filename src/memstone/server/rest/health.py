"""Whether the service lives and can answer; neither leaves anything behind, and neither needs a key."""

from __future__ import annotations

import asyncio
from typing import Final, Literal

from fastapi import APIRouter, Request, Response

from memstone.server.process import failure_of
from memstone.server.schemas.base import AnswerModel
from memstone.server.state import ServiceState
from memstone.server.strict import StrictRoute

router = APIRouter(tags=["health"], route_class=StrictRoute)

_PATIENCE: Final = 2.0


class Liveness(AnswerModel):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Readiness(AnswerModel):
    """Whether requests can be answered, and if not, why."""

    status: Literal["ok", "starting", "unavailable"]
    reason: str | None = None


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", response_model=Liveness)
async def check_liveness() -> Liveness:
    """Say that the process answers."""
    return Liveness()


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", response_model=Readiness, responses={503: {"model": Readiness, "description": "not ready"}})
async def check_readiness(request: Request, response: Response) -> Readiness:
    """Check that the store is open, answers, and can be written. Nothing that is written for this is kept."""
    state: ServiceState = request.app.state.memstone
    answer = await _read_readiness(state)
    if answer.status != "ok":
        response.status_code = 503
    return answer


async def _read_readiness(state: ServiceState) -> Readiness:
    if not state.ready:
        return Readiness(status="starting", reason="not_open")
    reason = await failure_of(asyncio.wait_for(state.ask_store(), _PATIENCE)) or await state.writable.reason()
    return Readiness(status="ok") if reason is None else Readiness(status="unavailable", reason=reason)
