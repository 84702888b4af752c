"""Whether the service lives and can answer; neither leaves anything behind, and neither needs a key."""

from __future__ import annotations

import asyncio
from typing import Final, Literal

from fastapi import APIRouter, Request, Response

from memstone.server.schemas.base import Answer
from memstone.server.serving import failure_of
from memstone.server.state import State
from memstone.server.strict import StrictRoute

router = APIRouter(tags=["health"], route_class=StrictRoute)

_PATIENCE: Final = 2.0


class Alive(Answer):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Ready(Answer):
    """Whether requests can be answered, and if not, why."""

    status: Literal["ok", "starting", "unavailable"]
    reason: str | None = None


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", response_model=Alive)
async def check_liveness() -> Alive:
    """Say that the process answers."""
    return Alive()


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", response_model=Ready, responses={503: {"model": Ready, "description": "not ready"}})
async def check_readiness(request: Request, response: Response) -> Ready:
    """Check that the store is open, answers, and can be written. Nothing that is written for this is kept."""
    state: State = request.app.state.memstone
    answer = await _read_readiness(state)
    if answer.status != "ok":
        response.status_code = 503
    return answer


async def _read_readiness(state: State) -> Ready:
    if not state.ready:
        return Ready(status="starting", reason="not_open")
    reason = await failure_of(asyncio.wait_for(state.ask_store(), _PATIENCE)) or await state.writable.reason()
    return Ready(status="ok") if reason is None else Ready(status="unavailable", reason=reason)
