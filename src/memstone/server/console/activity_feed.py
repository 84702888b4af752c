"""The live feed: one query per second for all who watch the same."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request

from memstone.core.redact import preview_text
from memstone.engine import activity
from memstone.errors import MemstoneError
from memstone.model.instant import to_instant
from memstone.server.console.templates import plural
from memstone.server.errors import log_server_fault
from memstone.server.metrics import Journal, RequestRecord

if TYPE_CHECKING:
    from memstone.api.aio.verbs import AsyncMemoryVerbs
    from memstone.results import ContextReceipt, FeedEvent, HistoryEvent, JobItem

KINDS: Final = ("change", "recall", "job", "failure")
EVERY: Final = 1.0
"""How often the store is looked at while somebody watches, in seconds."""

_MOST: Final = 100
_ROWS: Final = 25
"""How many rows a look sends at most: nobody reads more in a second, and the page says how many there were."""

_WAITING: Final = 500
_REMEMBERED: Final = 2_000
_CLIENT_ERROR: Final = 400
_SERVER_ERROR: Final = 500
_FAILED: Final = ("error", "dead_letter")


# --- one thing that happened ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ActivityItem:
    """One row: what happened, when, to whom, and where its cause is shown."""

    kind: str
    id: str
    at: str
    title: str
    text: str = ""
    reason: str = ""
    who: str = ""
    link: str = ""
    tone: str = ""
    icon: str = "info"
    cursor: int = 0


_EVENTS: Final = {
    "ADD": ("Learned", "plus", "ok"),
    "UPDATE": ("Changed", "edit", "info"),
    "REPLACE": ("Replaced", "edit", "info"),
    "DELETE": ("Deleted", "trash", "danger"),
    "LINK": ("Shared", "link", ""),
    "UNLINK": ("No longer shared", "link", ""),
    "DISABLE": ("Disabled", "eye-off", "warn"),
    "ENABLE": ("Enabled", "eye", "ok"),
    "MERGE": ("Merged", "link", "info"),
    "PROMOTE": ("Gained weight", "pin", ""),
    "EVICT": ("Put away", "eye-off", ""),
    "SUMMARIZE": ("Shortened", "memories", ""),
    "FEEDBACK": ("Judged", "check", ""),
    "REDACT": ("Masked", "lock", "warn"),
}


_TASKS: Final = {
    "add": "Learning from a message",
    "distill": "Learning from a session",
    "consolidate": "Consolidation",
    "summarize": "Shortening",
    "reassign": "Merging people",
    "relevance": "Judging relevance",
}
_ENDS: Final = {"success": "done", "empty": "nothing found", "error": "failed", "dead_letter": "given up"}


def title_of(event: HistoryEvent | FeedEvent) -> str:
    """Return what an event is called."""
    if event["event"] == "DISABLE" and (event["after"] or {}).get("status") == "quarantined":
        return "Held back"
    return _EVENTS[event["event"]][0] if event["event"] in _EVENTS else event["event"].capitalize()


def is_listed(event: FeedEvent) -> bool:
    """Return whether a change has a row: that an answer used a memory is told by the receipt of that answer."""
    return event["event"] != "FEEDBACK" or bool(event["reason"])


def event_item(event: FeedEvent) -> ActivityItem:
    """Return the row of a change."""
    _, icon, tone = _EVENTS.get(event["event"], ("", "info", ""))
    title = "Undone" if event["undoes"] else title_of(event)
    layer = (event["after"] or event["before"] or {}).get("layer")
    text = preview_text(event["new_value"] or event["old_value"] or "")
    return ActivityItem(
        "change",
        event["id"],
        event["timestamp"],
        "Said" if layer == "turn" and event["event"] == "ADD" else title,
        text,
        event["reason"] or "",
        event["user_id"] or event["agent_id"] or "",
        f"/console/memories/{event['memory_id']}",
        "" if layer == "turn" else tone,
        "playground" if layer == "turn" else icon,
        event["seq"],
    )


def receipt_item(receipt: ContextReceipt) -> ActivityItem:
    """Return the row of something that a model was shown."""
    count = len(receipt["chosen"])
    title = f"Showed {plural(count, 'line')} · {receipt['tokens']} tokens" if count else "Showed nothing"
    return ActivityItem(
        "recall",
        receipt["id"],
        receipt["created_at"],
        title,
        preview_text(receipt["query"]),
        receipt["gate"]["reason"],
        receipt["user_id"] or receipt["agent_id"] or "",
        f"/console/receipts/{receipt['id']}",
        "warn" if receipt["degraded"] else "",
        "eye",
    )


def job_item(job: JobItem) -> ActivityItem:
    """Return the row of background work; what failed is a failure."""
    failed = job["status"] in _FAILED
    cost = f"{job['input_tokens'] + job['output_tokens']} tokens, " if job["model"] else ""
    return ActivityItem(
        "failure" if failed else "job",
        job["id"],
        job["created_at"],
        f"{_TASKS.get(job['task']) or job['task'].capitalize()}: {_ENDS.get(job['status'], job['status'])}",
        preview_text(job["outcome"] or ""),
        f"{cost}{job['duration_ms']:.0f} ms",
        job["user_id"] or job["agent_id"] or "",
        f"/console/activity/jobs/{job['id']}",
        "danger" if failed else "",
        "warn" if failed else "clock",
    )


def request_item(line: RequestRecord) -> ActivityItem | None:
    """Return the row of a request that failed; None for one that did not."""
    if line.status < _CLIENT_ERROR:
        return None
    at = to_instant(datetime.fromtimestamp(line.at, UTC))
    broke = line.status >= _SERVER_ERROR
    why = "the service could not answer" if broke else "the request was refused"
    return ActivityItem(
        "failure",
        line.request_id,
        at,
        f"{line.status} {line.method} {line.route}",
        f"{why}: look for request {line.request_id} in the log",
        f"{line.ms:.0f} ms",
        "",
        "",
        "danger" if broke else "warn",
        "warn",
    )


# --- what is new ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ActivityReader:
    """Reads what is new in a scope since the last look."""

    memory: AsyncMemoryVerbs
    scope: dict[str, Any]
    tenant_id: str
    journal: Journal | None = None
    cursor: int | None = None
    since: str = ""
    _known: deque[str] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    _looked: float = 0.0

    async def start(self) -> None:
        """Begin with what happens from now on."""
        newest = await self.memory.engine.run(activity.list_newest_events, **self._scope_arguments(), limit=1)
        self.cursor = newest[0]["seq"] if newest else 0
        self.since, self._looked = to_instant(datetime.now(UTC)), time.time()
        self._known.extend(job["id"] for job in (await self._jobs())[::-1])

    def _scope_arguments(self) -> dict[str, Any]:
        values = {name: value for name, value in self.scope.items() if name != "everybody"}
        return {"values": values, "everybody": self.scope["everybody"]}

    async def _jobs(self) -> list[JobItem]:
        return (await self.memory.admin.jobs(**self.scope, limit=_MOST))["results"]

    async def events_after(self, cursor: int) -> list[ActivityItem]:
        """Return changes after a cursor, oldest first, for somebody who comes back."""
        page = await self.memory.review.events(cursor, limit=_MOST, **self.scope)
        self.cursor = max(self.cursor or 0, page["cursor"])
        return [event_item(event) for event in page["results"] if is_listed(event)]

    async def read_news(self) -> list[ActivityItem]:
        """Return what happened since the last look, oldest first."""
        changes = await self.events_after(self.cursor or 0)
        receipts = await self.memory.engine.run(
            activity.list_receipts, **self._scope_arguments(), since=self.since, limit=_MOST
        )
        shown = [receipt_item(receipt) for receipt in receipts]
        self.since = max((item.at for item in shown), default=self.since)
        others = self._drop_known([*shown, *map(job_item, await self._jobs()), *self._failed_requests()])
        return sorted([*changes, *others], key=lambda item: item.at)

    def _failed_requests(self) -> list[ActivityItem]:
        if self.journal is None:
            return []
        since, self._looked = self._looked, time.time()
        lines = (line for line in self.journal.of(self.tenant_id, self._looked) if line.at >= since)
        return [item for line in lines if (item := request_item(line)) is not None][:_MOST]

    def _drop_known(self, items: Iterable[ActivityItem]) -> list[ActivityItem]:
        fresh = [item for item in items if item.id not in self._known]
        self._known.extend(item.id for item in fresh)
        return fresh


# --- everybody who watches --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Subscription:
    """One open page; rows wait here until they are sent, and the oldest go when nobody takes them."""

    close: Callable[[], None]
    rows: deque[str] = field(default_factory=lambda: deque(maxlen=_WAITING))
    bell: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, rows: Sequence[str]) -> None:
        """Hand over rows."""
        self.rows.extend(rows)
        self.bell.set()

    async def wait(self, seconds: float) -> list[str]:
        """Return the rows that are there, or come soon."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.bell.wait()
        self.bell.clear()
        ready = list(self.rows)
        self.rows.clear()
        return ready


class _Feed:
    """All who watch the same scope, and the one task that looks for them."""

    def __init__(self, reader: ActivityReader, templates: Any) -> None:
        self.reader, self.watchers = reader, list[Subscription]()
        self._row = templates.get_template("activity_row.html")
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self.reader.start()
        self._task = asyncio.get_running_loop().create_task(self._look())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            try:
                news = await self.reader.read_news()
            except MemstoneError as error:  # the next look may work
                log_server_fault(error)
                continue
            if news:
                rows = self.render(news[-_ROWS:])
                if len(news) > _ROWS:
                    rows.append(f"event: more\ndata: {len(news) - _ROWS}\n\n")
                for watcher in self.watchers:
                    watcher.put(rows)

    def render(self, items: Sequence[ActivityItem]) -> list[str]:
        """Return items as they are sent: rendered once, for however many watch."""
        return [_format_row(item, self._row.render(item=item)) for item in items]


def _format_row(item: ActivityItem, html: str) -> str:
    lines = "".join(f"data: {line}\n" for line in html.splitlines() if line.strip())
    numbered = f"id: {item.cursor}\n" if item.cursor else ""
    return f"{numbered}event: {item.kind}\n{lines}\n"


class Feeds:
    """The feeds of one service, by who may see what."""

    def __init__(self) -> None:
        self._feeds: dict[Hashable, _Feed] = {}
        self._lock = asyncio.Lock()

    async def subscribe(
        self, who: Hashable, reader: ActivityReader, templates: Any, cursor: int | None = None
    ) -> Subscription:
        """Begin to watch; ``cursor`` is the last change that somebody who comes back has seen."""
        async with self._lock:
            feed = self._feeds.get(who)
            if feed is None:
                feed = _Feed(reader, templates)
                await feed.start()
                self._feeds[who] = feed
            subscription = Subscription(lambda: self._leave(who, subscription))
            feed.watchers.append(subscription)
        if cursor is not None:
            subscription.put(feed.render(await reader.events_after(cursor)))
        return subscription

    def _leave(self, who: Hashable, subscription: Subscription) -> None:
        feed = self._feeds.get(who)
        if feed is None or subscription not in feed.watchers:
            return
        feed.watchers.remove(subscription)
        if not feed.watchers:
            feed.stop()
            del self._feeds[who]


def feeds_of(request: Request) -> Feeds:
    """Return the feeds of the application that answers a request."""
    app = request.app
    if getattr(app.state, "console_feeds", None) is None:
        app.state.console_feeds = Feeds()
    feeds: Feeds = app.state.console_feeds
    return feeds
