"""The overview page: counts, recent activity, health, and how to connect."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from starlette.responses import Response

from memstone.engine.browse import BrowseRequest, OverviewFigures, browse_memories, overview_figures
from memstone.engine.status import engine_status
from memstone.model.access import Verb
from memstone.model.event import EventType
from memstone.model.memory import Layer, Status
from memstone.server.console.visit import Pages, Visit

if TYPE_CHECKING:
    from memstone.ports.browse import DayCount

pages = Pages()
T = TypeVar("T")

DAYS: Final = 30
_LEARNED: Final = frozenset({EventType.ADD})
_KNOWN: Final = (Layer.IDENTITY, Layer.FACT, Layer.EPISODE)
_RECALLED: Final = "RECALL"
_NEWEST: Final = 6
_MOST_FIGURES: Final = 1_000
_LEAST_SECONDS: Final = 2.0
_SHARE: Final = 100
"""Figures are kept a hundred times as long as it took to count them: counting never takes more than a hundredth."""


@pages.page("/")
async def show_overview(visit: Visit) -> Response:
    """Show how much is known, what happened, and how to go on."""
    scope = visit.scope()
    user = scope["user_id"] or visit.person or ""
    figures = await _figures(visit, user)
    is_tenant = visit.sees_everybody and not user
    return visit.render(
        "overview.html",
        title="Overview",
        user=user,
        figures=figures,
        memories=figures.count(*_KNOWN),
        aside=figures.count(*_KNOWN, statuses=(Status.DISABLED, Status.QUARANTINED)),
        turns=figures.count(Layer.TURN),
        doubtful=figures.count(*Layer, statuses=(Status.QUARANTINED,)),
        plot=plot_days(figures.days, datetime.now(UTC).date()),
        newest=(await visit.run(browse_memories, BrowseRequest(**scope, limit=_NEWEST, masked=not visit.person))).rows,
        health=await _health(visit) if is_tenant else None,
        work=figures.work if is_tenant else None,
        connect=connect_lines(visit),
    )


@pages.page("/console/dot")
async def show_dot(visit: Visit) -> Response:
    """Show whether memory can be written: green, or red with the reason."""
    return visit.render("dot.html", title="", reason=await visit.console.state.writable.reason())


@pages.act("/console/consolidate", Verb.ADMIN, tenant=True)
async def consolidate_now(visit: Visit) -> Response:
    """Merge, promote and expire now, and say what came of it."""
    answer = await visit.memory.admin.consolidate(everybody=True)
    merged, expired = answer.get("merged", 0), answer.get("expired", 0)
    return visit.finish(f"Consolidated: {merged} merged, {expired} expired", "/", job_id=_job_to_undo(answer))


def _job_to_undo(answer: Mapping[str, Any]) -> str:
    changed = any(answer.get(name) for name in ("merged", "promoted", "evicted", "expired", "summarized"))
    return str(answer.get("job_id") or "") if changed else ""


@pages.act("/console/learn", Verb.ADMIN, tenant=True)
async def learn_now(visit: Visit) -> Response:
    """Learn now from what waits."""
    answer = await visit.memory.admin.work(0)
    return visit.finish(f"Learned from {answer['sessions']} waiting sessions", "/")


# --- figures ----------------------------------------------------------------------------------------------------------


async def _figures(visit: Visit, user: str) -> OverviewFigures:
    """Return the figures, counted lately."""
    return await _count_rarely(visit, user, lambda known: visit.run(overview_figures, user, DAYS, known))


async def _count_rarely(visit: Visit, name: str, count: Callable[[T | None], Awaitable[T]]) -> T:
    """Return what was counted lately for who reaches the same; to count again helps to know what it was before."""
    known, place = visit.console.figures, (visit.caller.bounds, name)
    until, figures = known.get(place, (0.0, None))
    if figures is not None and time.monotonic() < until:
        return cast("T", figures)
    began = time.monotonic()
    fresh = await count(figures)
    took = time.monotonic() - began
    if len(known) > _MOST_FIGURES:
        known.clear()
    known[place] = time.monotonic() + max(_LEAST_SECONDS, _SHARE * took), fresh
    return fresh


async def _health(visit: Visit) -> list[tuple[str, str, str]]:
    """Return each part of the memory with a tone and what there is to say about it."""
    reason = await visit.console.state.writable.reason()
    parts = [("Store", "ok" if reason is None else "danger", "can be written" if reason is None else reason)]
    status = await visit.run(engine_status, counts=False)
    labels = {"embedding": "Embeddings", "vector_store": "Vectors", "llm": "Language model"}
    optional = {"llm"}
    for name, label in labels.items():
        part: Any = status[name]  # type: ignore[literal-required]  # names of its parts
        tone = "ok" if part["available"] else "" if name in optional else "warn"
        model = part.get("model") or part.get("backend") or "available"
        parts.append((label, tone, part["reason"] or model))
    return parts


# --- the plot ---------------------------------------------------------------------------------------------------------

WIDTH: Final = 720
HEIGHT: Final = 220
_LEFT: Final = 34
_BOTTOM: Final = 22
_TOP: Final = 8
_NICE: Final = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class PlotDay:
    """What happened on a day, and where it is in the plot."""

    day: date
    learned: int
    changed: int
    recalled: int
    x: float
    width: float
    learned_y: float
    learned_height: float
    changed_y: float
    changed_height: float
    recalled_y: float


@dataclass(frozen=True, slots=True)
class DayPlot:
    """A plot of some days: bars of what was learned and changed, a line of what was recalled."""

    days: Sequence[PlotDay]
    ticks: Sequence[tuple[int, float]]
    line: str

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened."""
        return not any(one.learned or one.changed or one.recalled for one in self.days)

    def total(self, name: str) -> int:
        """Return the sum of a series."""
        return sum(getattr(one, name) for one in self.days)


def plot_days(counts: Sequence[DayCount], today: date, days: int = DAYS) -> DayPlot:
    """Return where everything of a plot stands, in its own units."""
    dates = [today - timedelta(days=days - 1 - at) for at in range(days)]
    sums = {day.isoformat(): [0, 0, 0] for day in dates}
    for one in counts:
        if one.day in sums:
            sums[one.day][_series_of(one.name)] += one.times
    top = _round_up(max((max(row[0] + row[1], row[2]) for row in sums.values()), default=1))
    step, floor = (WIDTH - _LEFT) / days, HEIGHT - _BOTTOM
    scale = (floor - _TOP) / top

    def place(at: int, day: date) -> PlotDay:
        learned, changed, recalled = sums[day.isoformat()]
        high, more = learned * scale, changed * scale
        x = _LEFT + at * step + step * 0.18
        sizes = (x, step * 0.64, floor - high, high, floor - high - more, more, floor - recalled * scale)
        return PlotDay(day, learned, changed, recalled, *(round(size, 1) for size in sizes))

    placed = [place(at, day) for at, day in enumerate(dates)]
    line = " ".join(f"{round(one.x + one.width / 2, 1)},{one.recalled_y}" for one in placed)
    ticks = [(value, round(floor - value * scale, 1)) for value in (0, top // 2, top) if value or top]
    return DayPlot(placed, list(dict(ticks).items()), line)


def _series_of(name: str) -> int:
    return 2 if name == _RECALLED else 0 if name in _LEARNED else 1


def _round_up(value: int) -> int:
    """Return the next number that reads well on an axis, and can be halved."""
    power = 1
    while True:
        for nice in _NICE:
            if nice * power >= value:
                return max(2, nice * power + (nice * power) % 2)
        power *= 10


# --- how to connect ---------------------------------------------------------------------------------------------------


def connect_lines(visit: Visit) -> list[tuple[str, str, str]]:
    """Return three lines for a terminal: purpose, line, and what is missing."""
    base = str(visit.request.base_url).rstrip("/")
    gateway = visit.console.state.settings.gateway.upstreams
    python = f'm = Client("{base}", os.environ["MEMSTONE_KEY"]); print(m.add("I live in Oslo", user_id="alice"))'
    missing = "" if gateway else "Set gateway.upstreams first, so that the gateway knows where models are."
    return [
        (
            "Let an OpenAI client remember",
            f"export OPENAI_BASE_URL={base}/v1 OPENAI_API_KEY=$MEMSTONE_KEY",
            missing,
        ),
        (
            "Use it from Python",
            f"python -c 'import os; from memstone import Client; {python}'",
            "",
        ),
        (
            "Give it to an MCP client",
            f'claude mcp add --transport http memstone {base}/mcp --header "Authorization: Bearer $MEMSTONE_KEY"',
            "",
        ),
    ]
