"""The activity page: changes, shown memories, background work and failures."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import RedirectResponse, Response, StreamingResponse

from memstone.engine import activity
from memstone.engine.access.console_access import authenticate_console
from memstone.errors import AccessError, MemstoneError, NotFoundError
from memstone.model.access import Verb
from memstone.server.console.activity_feed import (
    KINDS,
    ActivityItem,
    ActivityReader,
    Subscription,
    event_item,
    feeds_of,
    is_listed,
    job_item,
    receipt_item,
    request_item,
)
from memstone.server.console.visit import PAGE_HEADERS, Pages, Visit
from memstone.server.errors import log_server_fault

if TYPE_CHECKING:
    from memstone.results import JobItem

pages = Pages()

PATH: Final = "/console/activity"
SESSION_CHECK: Final = 5.0
"""How often a stream looks whether its session still holds, in seconds."""

_HEARTBEAT: Final = 15.0
_LONGEST: Final = 3_600.0
_PAGE: Final = 60


@pages.page(PATH)
async def show_activity(visit: Visit) -> Response:
    """Show what happened last, newest first."""
    kind, scope = visit.query("kind"), visit.scope()
    wanted = (kind,) if kind in KINDS else KINDS
    items = await read_items(visit, scope, wanted)
    named = {"user": visit.query("user"), "agent": visit.query("agent")}
    values: dict[str, Any] = {"items": items, "kind": kind if kind in KINDS else "", "named": named}
    return visit.render("activity.html", title="Activity", **values)


async def read_items(visit: Visit, scope: dict[str, Any], kinds: tuple[str, ...]) -> list[ActivityItem]:
    """Return the last of every kind, in one row by time."""
    engine, found = visit.caller.engine, list[ActivityItem]()
    named = {name: value for name, value in scope.items() if name != "everybody"}
    everybody = scope["everybody"]
    if "change" in kinds:
        events = await engine.run(activity.list_newest_events, named, everybody=everybody, limit=_PAGE)
        found += [event_item(event) for event in events if is_listed(event)]
    if "recall" in kinds:
        receipts = await engine.run(activity.list_receipts, named, everybody=everybody, limit=_PAGE)
        found += [receipt_item(receipt) for receipt in receipts]
    if {"job", "failure"} & set(kinds):
        jobs = [job_item(job) for job in (await visit.memory.admin.jobs(**scope, limit=_PAGE))["results"]]
        found += [item for item in jobs if item.kind in kinds]
    if "failure" in kinds and visit.sees_everybody:
        lines = visit.request.app.state.journal.of(visit.caller.key.tenant_id, time.time())
        found += islice((item for line in lines if (item := request_item(line)) is not None), _PAGE)
    return sorted(found, key=lambda item: item.at, reverse=True)[:_PAGE]


@pages.page(f"{PATH}/stream")
async def stream_activity(visit: Visit) -> Response:
    """Send what happens from now on, as server-sent events that hold rows of the page."""
    scope = visit.scope()
    if "text/event-stream" not in visit.request.headers.get("accept", ""):  # somebody opened it as a page
        return RedirectResponse(PATH, HTTPStatus.SEE_OTHER, headers=PAGE_HEADERS)
    headers = {**PAGE_HEADERS, "x-accel-buffering": "no"}
    return StreamingResponse(_send_rows(visit, scope), media_type="text/event-stream", headers=headers)


async def _subscribe(visit: Visit, scope: dict[str, Any]) -> Subscription:
    """Begin to watch, together with everybody who may see the same."""
    journal = visit.request.app.state.journal if visit.sees_everybody else None
    reader = ActivityReader(visit.memory, scope, visit.caller.key.tenant_id, journal)
    who = (visit.caller.bounds, visit.sees_everybody, *sorted((name, str(value)) for name, value in scope.items()))
    last = visit.request.headers.get("last-event-id", "")
    cursor = int(last) if last.isascii() and last.isdigit() and len(last) < 16 else None  # noqa: PLR2004 - 2**53
    return await feeds_of(visit.request).subscribe(who, reader, visit.console.templates, cursor)


async def _send_rows(visit: Visit, scope: dict[str, Any]) -> AsyncIterator[str]:
    """Yield rows as they come, a heartbeat when there are none, and an end when the session is over."""
    subscription: Subscription | None = None
    try:
        yield "retry: 2000\n\n"
        subscription = await _subscribe(visit, scope)
        async for text in _watch(visit, subscription):
            yield text
    except AccessError:
        yield "event: over\ndata: signed out\n\n"
    except MemstoneError as error:  # whoever listens comes back, and goes on where it stopped
        log_server_fault(error)
        yield f"event: trouble\ndata: {error.code}\n\n"
    finally:
        if subscription is not None:
            subscription.close()


async def _watch(visit: Visit, subscription: Subscription) -> AsyncIterator[str]:
    state = visit.console.state
    began = spoken = checked = time.monotonic()
    while state.ready and time.monotonic() - began < _LONGEST:
        if rows := await subscription.wait(1.0):
            spoken = time.monotonic()
            yield "".join(rows)  # in one piece: each passes through all that stands around the application
        now = time.monotonic()
        if now - checked >= SESSION_CHECK:
            checked = now
            await state.memory.engine.ask(authenticate_console, visit.token)
        if now - spoken >= _HEARTBEAT:
            spoken = now
            yield ": still here\n\n"


# --- the causes -------------------------------------------------------------------------------------------------------


@pages.page(f"{PATH}/jobs/{{job_id}}")
async def show_job(visit: Visit, job_id: str) -> Response:
    """Show one piece of background work: what came of it, and what it cost."""
    job = await _find_job(visit, job_id)
    return visit.render("job.html", title="Background work", job=job, item=job_item(job))


async def _find_job(visit: Visit, job_id: str) -> JobItem:
    listed = (await visit.memory.admin.jobs(**visit.scope(), limit=1_000))["results"]
    job = next((one for one in listed if one["id"] == job_id), None)
    if job is None:
        raise NotFoundError("there is no such job among the last thousand", hint="see Activity for the newest ones")
    return job


@pages.act(f"{PATH}/jobs/{{job_id}}/undo", Verb.WRITE)
async def undo_job(visit: Visit, job_id: str) -> Response:
    """Take back everything that a job did."""
    undone = await visit.memory.undo(job_id=job_id)
    return visit.done(f"Undone: {undone['undone']} changes", PATH, job_id=undone.get("job_id", ""))
