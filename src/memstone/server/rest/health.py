"""Whether the service lives and can answer; neither writes anything, and neither needs a key."""

from __future__ import annotations

import asyncio
from typing import Final, Literal

from fastapi import APIRouter, Request, Response

from memstone.errors import MemstoneError
from memstone.server.observe import log
from memstone.server.schemas.base import Answer
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
async def healthz() -> Alive:
    """Whether the process answers at all."""
    return Alive()


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", response_model=Ready, responses={503: {"model": Ready, "description": "not ready"}})
async def readyz(request: Request, response: Response) -> Ready:
    """Whether the store is open and answers. It is asked, and nothing is written."""
    state: State = request.app.state.memstone
    answer = await _ready(state)
    if answer.status != "ok":
        response.status_code = 503
    return answer


async def _ready(state: State) -> Ready:
    if not state.ready:
        return Ready(status="starting", reason="not_open")
    try:
        await asyncio.wait_for(state.ask_store(), _PATIENCE)
    except TimeoutError:
        return Ready(status="unavailable", reason="store_timeout")
    except MemstoneError as error:
        return Ready(status="unavailable", reason=error.code)
    except Exception as error:  # noqa: BLE001 - whatever it is, the store does not answer
        log.warning("ready.failed", kind=type(error).__name__)
        return Ready(status="unavailable", reason="store")
    return Ready(status="ok")
