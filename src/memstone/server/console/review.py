"""The review page: quarantined and doubtful facts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

from starlette.responses import Response

from memstone.engine.activity import QUEUES, Queue, read_review_queue
from memstone.engine.store.status import confirm_memory
from memstone.errors import InvalidInput, MemstoneError
from memstone.model.access import Verb
from memstone.server.console.templates import plural
from memstone.server.console.visit import Pages, Toast, Visit

pages = Pages()

PATH: Final = "/console/review"
_PAGE: Final = 25
_MOST: Final = 100

Decision: TypeAlias = Callable[[Visit, str, Queue, str], Awaitable[object]]


@pages.page(PATH, Verb.ADMIN)
async def show_review(visit: Visit) -> Response:
    """Show what waits, newest first."""
    queue, page = _read_queue(visit.query("queue")), visit.number("page", 1, 1, 10_000)
    scope = visit.scope()
    everybody = scope.pop("everybody")
    found = await visit.caller.engine.run(
        read_review_queue, scope, queue, everybody=everybody, limit=_PAGE, offset=_PAGE * (page - 1)
    )
    values: dict[str, Any] = {"queue": queue, "found": found, "page": page, "user": visit.query("user")}
    return visit.render("review.html", title="Review", **values)


def _read_queue(text: str) -> Queue:
    return next((queue for queue in QUEUES if queue == text), QUEUES[0])


@pages.act(f"{PATH}/decide", Verb.ADMIN)
async def decide_many(visit: Visit) -> Response:
    """Approve or reject every memory that was chosen; what cannot be decided is said, the rest is done."""
    queue, ids, reason = _read_queue(visit.field("queue")), visit.fields("id")[:_MOST], visit.field("reason").strip()
    word = visit.field("decision")
    if word not in _DECISIONS:
        raise InvalidInput("say whether to approve or to reject", hint="press one of the two buttons")
    if not ids:
        raise InvalidInput("nothing was chosen", hint="tick the memories that you have decided about")
    decide, past = _DECISIONS[word]
    events, failures = await _decide_each(visit, decide, ids, queue, reason)
    done = len(ids) - len(failures)
    if not done:
        raise failures[0]
    left = f"; {len(failures)} left as they are: {failures[0].message}" if failures else ""
    toast = Toast(f"{past} {plural(done, 'memory', 'memories')}{left}", "warn" if failures else "ok", tuple(events))
    return visit.leave(PATH, toast)


async def _decide_each(
    visit: Visit, decide: Decision, ids: Sequence[str], queue: Queue, reason: str
) -> tuple[list[str], list[MemstoneError]]:
    events: list[str] = []
    failures: list[MemstoneError] = []
    for memory_id in dict.fromkeys(ids):
        try:
            await decide(visit, memory_id, queue, reason)
        except MemstoneError as error:
            failures.append(error)
        else:
            events.append(await last_event(visit, memory_id))
    return events, failures


async def last_event(visit: Visit, memory_id: str) -> str:
    """Return the id of the last thing that happened to a memory, by which it can be taken back."""
    return (await visit.memory.history(memory_id))[-1]["id"]


async def _approve(visit: Visit, memory_id: str, queue: Queue, reason: str) -> Any:
    if queue == "doubtful":
        return await visit.caller.engine.run(confirm_memory, memory_id, reason or None)
    return await visit.memory.review.approve(memory_id, reason or None)


async def _reject(visit: Visit, memory_id: str, queue: Queue, reason: str) -> Any:
    if queue == "doubtful":
        return await visit.memory.delete(memory_id)
    return await visit.memory.review.reject(memory_id, reason or None)


_DECISIONS: Final[dict[str, tuple[Decision, str]]] = {
    "approve": (_approve, "Approved"),
    "reject": (_reject, "Rejected"),
}


@pages.act(f"{PATH}/correct", Verb.ADMIN)
async def correct_one(visit: Visit) -> Response:
    """Put better words in place of a memory, and approve it with them."""
    queue, memory_id, text = _read_queue(visit.field("queue")), visit.field("memory"), visit.field("text").strip()
    if not text:
        raise InvalidInput("the text is empty", hint="reject the memory if nothing of it is true")
    before = len(await visit.memory.history(memory_id))
    await visit.memory.update(memory_id, text)
    await _approve(visit, memory_id, queue, "corrected by hand")
    events = [event["id"] for event in (await visit.memory.history(memory_id))[before:]]
    return visit.done("Corrected and approved", PATH, events=events)
