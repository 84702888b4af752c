"""Browse memories as people do: pages, filters, search as you type, and who was shown what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from memstone.core.checks.arguments import checked_text
from memstone.core.checks.filters import where_current, where_in_scope
from memstone.core.redact import preview_text
from memstone.engine import results
from memstone.engine.management import summarize_jobs
from memstone.engine.memory_page import hit_rate
from memstone.engine.request_scope import scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import checked_layers, checked_limit
from memstone.engine.store.draft import scope_tokens
from memstone.engine.store.versions import checked_id, under_id
from memstone.errors import InvalidInput, NotFoundError
from memstone.language.text.tokens import query_terms
from memstone.language.text.words import fold_letters
from memstone.model.instant import Instant, to_instant
from memstone.model.memory import INDEXED, LISTED, FoundMemory, Layer, Link, Record, Status
from memstone.model.query import And, Condition, Op, Or, Where
from memstone.model.scope import Scope, scope_ids
from memstone.ports.browse import BrowseOrder, DayCount, LayerCount, WordPattern
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import WorkStats

SORTS: Final[Mapping[str, BrowseOrder]] = {
    "newest": BrowseOrder(),
    "oldest": BrowseOrder(descending=False),
    "weight": BrowseOrder("salience"),
    "said": BrowseOrder("occurred_at"),
}
MOST: Final = 100
COUNTED: Final = 1_000
"""So many are counted; a page says "more" of a larger number, which nobody needs exactly."""

_TYPED: Final = re.compile(r"[^\s]+")
_WORDS: Final = 20
_DAY_CHARS: Final = 10
_ALL: Final = 10_000_000
_AT_ONCE: Final = 200


# --- pages ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BrowseRequest:
    """One page that somebody wants to see; '' and None leave something open."""

    q: str = ""
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    everybody: bool = False
    layers: Sequence[str] = (Layer.IDENTITY, Layer.FACT, Layer.EPISODE)
    kind: str = ""
    statuses: Sequence[str] = INDEXED
    tag: str = ""
    since: Instant | None = None
    until: Instant | None = None
    doubtful: bool = False
    sort: str = "newest"
    cursor: str = ""
    limit: int = 20
    masked: bool = True


@dataclass(frozen=True, slots=True)
class BrowseRow:
    """One memory of a page."""

    id: str
    seq: int
    text: str
    record: Record
    link: Link
    item: Mapping[str, Any]

    @property
    def scope(self) -> Mapping[str, Any]:
        """Whose it is."""
        return scope_ids(self.link.scope)


@dataclass(frozen=True, slots=True)
class BrowsePage:
    """A page, and where the pages before and after begin.

    ``total`` is how many match: ``COUNTED`` means that many or more, None that nobody counted.
    """

    rows: Sequence[BrowseRow]
    total: int | None
    next_cursor: str
    previous_cursor: str


async def browse_memories(runtime: Runtime, request: BrowseRequest) -> BrowsePage:
    """Return a page of memories; each page takes the same time, however far from the first it is."""
    values = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    scope = scope_or_everybody(runtime, values, everybody=request.everybody, reading=True)
    limit = checked_limit(request.limit, MOST)
    order, backwards = _parse_order(request)
    where = _build_where(request, scope)

    async def work(tx: Tx) -> tuple[list[FoundMemory], int | None]:
        found = await _read_page(tx, request, scope, where, order, limit + 1)
        if Status.DELETED in request.statuses:
            return [one for one in found if await _is_last_version(tx, one)], None
        if len(found) <= limit and order.after is None:
            return found, len(found)
        return found, None if request.q else await tx.browse.count(where, COUNTED)

    found, total = await runtime.ledger.read(work)
    page = found[:limit]
    more = len(found) > limit
    if backwards:
        page = page[::-1]
    rows = [_make_row(one, masked=request.masked) for one in page]
    has_before = more if backwards else bool(order.after)
    has_after = bool(order.after) if backwards else more
    column = order.column
    return BrowsePage(
        rows,
        total,
        _cursor_of("a", column, page[-1]) if page and has_after else "",
        _cursor_of("b", column, page[0]) if page and has_before else "",
    )


async def _read_page(
    tx: Tx, request: BrowseRequest, scope: Scope, where: Where, order: BrowseOrder, limit: int
) -> list[FoundMemory]:
    """Read a page: by the index of words where one was typed and all that is asked for is in it."""
    patterns = word_patterns(request.q)
    if patterns and order.column == "seq" and set(request.statuses) <= set(INDEXED):
        return await tx.browse.match(where, patterns, scope_tokens(scope), order, limit)
    literal = _literal_condition(request.q)
    return await tx.browse.page(where if literal is None else And((where, literal)), order, limit)


async def _is_last_version(tx: Tx, found: FoundMemory) -> bool:
    """Return whether a version stands for its memory: of a deleted one all versions are marked."""
    if found.record.status != Status.DELETED:
        return True
    last = await tx.memories.last(found.link.scope.tenant_id, found.record.id)
    return last is None or last.seq == found.record.seq


def word_patterns(q: str) -> list[WordPattern]:
    """Return the words of a question as it is typed: the last may be the beginning of one."""
    typed = _TYPED.findall(q)[:_WORDS]
    patterns = [WordPattern(tuple(query_terms(word)), _prefix_of(word)) for word in typed]
    return [one for one in patterns if one.terms or one.prefix]


def _prefix_of(word: str) -> str:
    """Return what words may begin with, as the full text writes them; '' for what it would take apart."""
    folded = fold_letters(word).strip(".,;:!?\"'()[]*")
    return folded if folded.isalnum() else ""


def _literal_condition(q: str) -> Where | None:
    if not q.strip():
        return None
    typed = checked_text(q.strip(), "q", 1_000)
    return Or((Condition("text", Op.ICONTAINS, typed), Condition("key", Op.ICONTAINS, typed)))


def _build_where(request: BrowseRequest, scope: Scope) -> Where:
    """Choose what the filters of a page leave."""
    parts: list[Where] = [where_in_scope(scope), _status_condition(request.statuses)]
    layers = checked_layers(tuple(request.layers))
    if set(layers) != set(Layer):
        parts.append(Condition("layer", Op.IN, tuple(map(str, layers))))
    if request.kind:
        parts.append(Condition("kind", Op.EQ, request.kind))
    if request.tag:
        parts.append(Condition("metadata.tags", Op.CONTAINS, request.tag))
    if request.since is not None:
        parts.append(Condition("occurred_at", Op.GTE, request.since))
    if request.until is not None:
        parts.append(Condition("occurred_at", Op.LT, request.until))
    if request.doubtful:
        quarantined = Condition("status", Op.EQ, str(Status.QUARANTINED))
        parts.append(Or((Condition("data.doubt", Op.EXISTS, value=True), quarantined)))
    return And(tuple(parts))


def _status_condition(statuses: Sequence[str]) -> Where:
    unknown = [status for status in statuses if status not in LISTED]
    if unknown or not statuses:
        raise InvalidInput(f"unknown status {', '.join(unknown)!r}", hint="any of " + ", ".join(LISTED))
    current = [status for status in statuses if status != Status.DELETED]
    gone = And((Condition("status", Op.EQ, str(Status.DELETED)), Condition("hash", Op.NE, "")))
    if len(current) == len(statuses):
        return where_current(current)
    return Or((where_current(current), gone)) if current else gone


def _parse_order(request: BrowseRequest) -> tuple[BrowseOrder, bool]:
    """Return the order of a page and where it begins; a page before another is read the other way round."""
    order = SORTS.get(request.sort)
    if order is None:
        raise InvalidInput(f"unknown order {request.sort!r}", hint="one of " + ", ".join(SORTS))
    if not request.cursor:
        return order, False
    way, _, rest = request.cursor.partition(".")
    value, _, number = rest.rpartition(".")
    if way not in {"a", "b"} or not number.isascii() or not number.isdigit():
        raise InvalidInput("this page does not exist", hint="go to the first page")
    after = (_parse_value(order, value), int(number[:18]))
    backwards = way == "b"
    return replace_order(order, after, backwards=backwards), backwards


def replace_order(order: BrowseOrder, after: tuple[Any, int], *, backwards: bool) -> BrowseOrder:
    """Return an order that begins after a row, or goes back from it."""
    return order._replace(descending=order.descending != backwards, after=after)


def _parse_value(order: BrowseOrder, value: str) -> Any:
    if order.column != "salience":
        return value
    try:
        return float(value)
    except ValueError:
        raise InvalidInput("this page does not exist", hint="go to the first page") from None


def _cursor_of(way: str, column: str, found: FoundMemory) -> str:
    value = "" if column == "seq" else getattr(found.record, column)
    return f"{way}.{value!r}.{found.record.seq}" if column == "salience" else f"{way}.{value}.{found.record.seq}"


def _make_row(found: FoundMemory, *, masked: bool) -> BrowseRow:
    record = found.record
    text = preview_text(record.text) if masked else record.text
    return BrowseRow(record.id, record.seq, text, record, found.link, results.format_memory(found))


# --- one memory -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MemoryDetails:
    """What is known about one memory beside its text."""

    found: FoundMemory
    links: Sequence[Link]
    receipts: Sequence[Mapping[str, Any]]


async def inspect_memory(runtime: Runtime, memory_id: str, receipts: int = 20) -> MemoryDetails:
    """Return a memory of any status, its holders, and to whom it was shown."""
    wanted = checked_id(memory_id)
    tenant = runtime.tenant_id

    async def work(tx: Tx) -> MemoryDetails:
        found = await under_id(tx.memories.find_visible, tenant, wanted) or await _find_deleted(tx, runtime, wanted)
        if found is None:
            raise NotFoundError(f"there is no memory {memory_id}", hint="it may have been erased, or belong to others")
        user = runtime.bounds.user_id if runtime.bounds is not None else ""
        owner = user or (found.link.scope.user_id if runtime.bounds is not None else "")
        can_look = runtime.bounds is None or (owner and not runtime.bounds.agent_id)
        shown = await tx.browse.receipts_with(tenant, owner, found.record.id, receipts) if can_look else []
        links = await tx.links.of(tenant, found.record.seq)
        reached = links if runtime.bounds is None else [one for one in links if runtime.bounds.holds(one.scope)]
        return MemoryDetails(found, reached or [found.link], shown)

    return await runtime.ledger.read(work)


async def find_by_ids(runtime: Runtime, ids: Sequence[str]) -> dict[str, BrowseRow]:
    """Return memories that hold now by their ids, at once; what is gone or not reached is missing."""
    wanted = tuple(dict.fromkeys(ids))
    found: dict[str, BrowseRow] = {}
    tenant = Condition("tenant_id", Op.EQ, runtime.tenant_id)

    async def work(tx: Tx) -> None:
        for first in range(0, len(wanted), _AT_ONCE):
            part = wanted[first : first + _AT_ONCE]
            where = And((tenant, Condition("id", Op.IN, part), Condition("valid_to", Op.EXISTS, value=False)))
            rows = await tx.memories.find(where, limit=len(part))
            found.update((one.record.id, _make_row(one, masked=False)) for one in rows)

    await runtime.ledger.read(work)
    return found


async def conversation_around(runtime: Runtime, turn_id: str, each: int = 2) -> list[BrowseRow]:
    """Return a turn with those right before and after it, in order."""
    wanted = checked_id(turn_id)

    async def work(tx: Tx) -> list[FoundMemory]:
        turn = await under_id(tx.memories.find_visible, runtime.tenant_id, wanted)
        if turn is None:
            return []
        seq, where = turn.record.seq, _same_conversation(turn)
        before = await tx.browse.page(where, BrowseOrder(after=("", seq)), each)
        after = await tx.browse.page(where, BrowseOrder(descending=False, after=("", seq)), each)
        return [*reversed(before), turn, *after]

    return [_make_row(one, masked=False) for one in await runtime.ledger.read(work)]


async def find_mentioned(runtime: Runtime, user_id: str, moment: Instant) -> set[str]:
    """Return the ids of the people, places and things that a user's memories had mentioned until a moment."""
    user = runtime.required_scope({"user_id": user_id}).user_id
    return await runtime.ledger.read(lambda tx: tx.browse.mentioned_until(runtime.tenant_id, user, moment))


def _same_conversation(turn: FoundMemory) -> Where:
    who = turn.link.scope
    run = Condition("run_id", Op.EQ, who.run_id or None)
    layer = Condition("layer", Op.EQ, str(Layer.TURN))
    own = where_in_scope(Scope(who.tenant_id, who.user_id, who.agent_id))
    return And((own, run, layer, where_current([str(Status.ACTIVE)])))


async def _find_deleted(tx: Tx, runtime: Runtime, memory_id: str) -> FoundMemory | None:
    same = And((Condition("tenant_id", Op.EQ, runtime.tenant_id), Condition("id", Op.EQ, memory_id)))
    rows = await tx.memories.find(same, limit=1)
    return rows[0] if rows else None


# --- figures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OverviewFigures:
    """How much there is, what happened by day, and how work in the background goes; the last two are the tenant's."""

    layers: Mapping[tuple[str, str], LayerCount]
    days: Sequence[DayCount]
    hit_rate: float | None
    people: int | None = None
    waiting: Mapping[str, int] | None = None
    work: WorkStats | None = None
    events: Sequence[DayCount] = ()

    def count(self, *layers: str, statuses: Sequence[str] = (Status.ACTIVE,)) -> int:
        """Return how many memories of some layers have one of some statuses."""
        return sum(one.memories for key, one in self.layers.items() if key[0] in layers and key[1] in statuses)

    @property
    def tokens(self) -> int:
        """How many tokens all active memories are, without what was only said."""
        return sum(one.tokens for key, one in self.layers.items() if key[0] != Layer.TURN and key[1] == Status.ACTIVE)


async def overview_figures(
    runtime: Runtime, user_id: str, days: int, known: OverviewFigures | None = None
) -> OverviewFigures:
    """Return the figures of everybody, or of one user; with ``known``, only days that changed are counted again."""
    tenant, user = runtime.tenant_id, runtime.required_scope({"user_id": user_id}).user_id if user_id else ""
    now = runtime.clock.now()
    dates = [to_instant(now - timedelta(days=ago))[:_DAY_CHARS] for ago in reversed(range(days))]

    async def work(tx: Tx) -> OverviewFigures:
        events = await tx.browse.count_events(tenant, user, dates, known.events if known else ())
        happened = [*events, *await tx.browse.count_receipts(tenant, user, dates[0])]
        uses = hit_rate(await tx.metrics.sum_counts(tenant, user, ""))
        if user:
            return OverviewFigures(await _count_layers(tx, Scope(tenant, user)), happened, uses, events=events)
        return OverviewFigures(
            await tx.browse.count_layers(tenant),
            happened,
            uses,
            await tx.browse.count_people(tenant),
            await tx.browse.count_waiting(tenant),
            summarize_jobs(await tx.jobs.figures(tenant), runtime.policy.prices),
            events,
        )

    return await runtime.ledger.read(work)


async def _count_layers(tx: Tx, scope: Scope) -> dict[tuple[str, str], LayerCount]:
    """Count the memories of one scope by layer and status."""
    found: dict[tuple[str, str], LayerCount] = {}
    for layer in Layer:
        for status in INDEXED:
            here = Condition("layer", Op.EQ, str(layer))
            where = And((where_in_scope(scope), here, where_current([str(status)])))
            is_weighed = layer != Layer.TURN and status == Status.ACTIVE
            tokens = await tx.memories.tokens(where) if is_weighed else 0
            found[str(layer), str(status)] = LayerCount(await tx.browse.count(where, _ALL), tokens)
    return found
