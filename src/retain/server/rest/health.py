"""Whether the service lives and can answer; neither writes anything."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Whether the process answers at all."""
    return {"status": "ok"}


@router.get("/readyz", responses={503: {"description": "not ready"}})
async def readyz(request: Request, response: Response) -> dict[str, Any]:
    """Whether the store is open and answers."""
    state = request.app.state.retain
    if not state.ready:
        response.status_code = 503
    return {"status": "ok" if state.ready else "starting"}
