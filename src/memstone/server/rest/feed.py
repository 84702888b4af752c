"""The change feed: by cursor, and as a stream of events that goes on where it stopped."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from memstone.errors import AccessError, InvalidInput, MemstoneError, Unauthenticated
from memstone.server.access import AuthenticatedRoute, Caller, Reach, Reader, resolve_scope, with_own_names
from memstone.server.errors import log_server_fault
from memstone.server.schemas.base import PROBLEMS, answer_form

if TYPE_CHECKING:
    from memstone.results import EventFeed

router = APIRouter(prefix="/v1/events", tags=["changes"], responses=PROBLEMS, route_class=AuthenticatedRoute)

After = Annotated[int, Query(ge=0, lt=2**53)]
EVERY: Final = 0.5
"""How often a stream looks for news, in seconds."""

CHECK: Final = 1.0
"""How often a stream looks whether its key is still good for it, in seconds; with ``EVERY`` it is over in two."""

HEARTBEAT: Final = 15.0
LONGEST: Final = 3_600.0
_PAGE: Final = 100
_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "server-sent events: `id` is the cursor, `event` what was done, `data` one line of the feed",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router.get("", response_model=answer_form("EventFeed"))
async def list_events(
    caller: Reader,
    named: Reach,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    newest_first: Annotated[bool, Query(description="the latest first; a cursor leads further into the past")] = False,
) -> Any:
    """List what happened after a cursor, oldest first; without a user, for everybody the key has access to."""
    scope = resolve_scope(caller, named.as_dict())
    return await caller.memory.review.events(after, limit=limit, newest_first=newest_first, **scope)


@router.get("/stream", responses=_STREAM, response_class=StreamingResponse)
async def stream_events(
    request: Request,
    caller: Reader,
    named: Reach,
    after: After = 0,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", max_length=20)] = None,
) -> StreamingResponse:
    """Stream the same as server-sent events. ``Last-Event-ID`` is where a broken stream continues."""
    cursor = after if last_event_id is None else _parse_cursor(last_event_id)
    scope = resolve_scope(caller, named.as_dict())
    first = await caller.memory.review.events(cursor, limit=_PAGE, **scope)
    headers = {"x-accel-buffering": "no"}
    lines = _event_lines(request, caller, scope, first)
    return StreamingResponse(lines, media_type="text/event-stream", headers=headers)


def _parse_cursor(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise InvalidInput("Last-Event-ID must be an id from this stream")
    return int(text)


async def _event_lines(request: Request, caller: Caller, scope: dict[str, Any], page: EventFeed) -> AsyncIterator[str]:
    """Yield events as they come, a heartbeat when there are none, and an end when the key is no longer valid."""
    yield "retry: 1000\n\n"
    began = spoken = checked = time.monotonic()
    try:
        while request.app.state.memstone.ready and time.monotonic() - began < LONGEST:
            for one in with_own_names(page["results"], caller.bounds):
                yield f"id: {one['seq']}\nevent: {one['event']}\ndata: {json.dumps(one, ensure_ascii=False)}\n\n"
                spoken = time.monotonic()
            now = time.monotonic()
            if now - checked >= CHECK:
                checked = now
                await _check_key(request, caller)
            if now - spoken >= HEARTBEAT:
                spoken = now
                yield ": still here\n\n"
            if not page["results"]:
                await asyncio.sleep(EVERY)
            page = await caller.memory.review.events(page["cursor"], limit=_PAGE, **scope)
    except MemstoneError as error:  # whoever listens comes back, and goes on where it stopped
        log_server_fault(error)
        yield f'event: error\ndata: {{"code": "{error.code}"}}\n\n'


async def _check_key(request: Request, caller: Caller) -> None:
    """Raise ``Unauthenticated`` when the key that opened a stream is no longer good for it."""
    try:
        now = await request.app.state.memstone.doorkeeper.admit_anew(request)
    except AccessError as error:
        raise Unauthenticated(error.message) from error
    then = caller.key
    if now.key.id != then.id or now.key.subjects != then.subjects or not set(then.verbs) <= set(now.key.verbs):
        raise Unauthenticated("the key was changed or revoked")
