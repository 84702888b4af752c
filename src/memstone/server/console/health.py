"""``/health``: whether the service works, as JSON or as a page."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import memstone
from memstone.errors import MemstoneError
from memstone.server.console.visit import Visit, console_of
from memstone.server.process import failure_of
from memstone.server.state import ServiceState

PATH: Final = "/health"
_PATIENCE: Final = 2.0
HINTS: Final = {
    "starting": "wait a moment: the store is being opened",
    "unavailable": "look at the log of `memstone serve`, and run `memstone doctor` on the server",
}


async def read_health(state: ServiceState) -> dict[str, Any]:
    """Return whether the store is open, answers and can be written; nothing of the check is kept."""
    if not state.ready:
        return {"status": "starting", "reason": "not_open"}
    reason = await failure_of(asyncio.wait_for(state.ask_store(), _PATIENCE)) or await state.writable.reason()
    return {"status": "unavailable" if reason else "ok", "reason": reason}


async def _show_health(request: Request) -> Response:
    """Answer in the form that is asked for: a page for a browser, JSON for everybody else."""
    answer = await read_health(console_of(request).state)
    status = HTTPStatus.OK if answer["status"] == "ok" else HTTPStatus.SERVICE_UNAVAILABLE
    if "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({**answer, "version": memstone.__version__}, status, {"cache-control": "no-store"})
    visit = await _who_looks(request)
    values: dict[str, Any] = {"answer": answer, "hint": HINTS.get(answer["status"], ""), "details": None}
    if visit is not None and visit.sees_everybody and answer["status"] == "ok":
        values["details"] = await visit.memory.admin.health()
    return console_of(request).render(request, "health.html", int(status), title="Health", toast=None, **values)


async def _who_looks(request: Request) -> Visit | None:
    """Return the visit of somebody who is signed in; others see no more than whether it works."""
    try:
        return await console_of(request).admit(request)
    except MemstoneError:
        return None


ROUTES: Final = (Route(PATH, _show_health, methods=["GET"], name="console"),)
"""For everybody: a monitor has no session."""
