"""Build a checked search from the arguments of ``search``, before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, get_args

from memstone.core.checks.arguments import checked_text
from memstone.core.checks.filters import DEFAULT_LAYERS, Filters, split_scope, where_visible
from memstone.engine.request_scope import rename_filter_users, scope_in
from memstone.engine.runtime import Runtime
from memstone.errors import InvalidInput
from memstone.literals import Strategy
from memstone.model.instant import Instant, When, parse_when, to_instant
from memstone.model.memory import Layer
from memstone.model.query import And, Condition, Op, Or, Where
from memstone.model.scope import EVERYBODY, Scope

STRATEGIES: Final[tuple[str, ...]] = get_args(Strategy)
SCOPES: Final = ("session", "owner", "global")
_ALSO: Final = {"apiKey": "owner"}
"""What callers of a gateway call them: a key's pool is an owner like any other."""

USUAL: Final = 100
"""So many a search or a list shows when nobody says how many."""

LARGEST: Final = "limits.page is the maximum"
"""What to do about a limit that is too large, where there are no pages."""


@dataclass(slots=True)
class SearchRequest:
    """One call of ``search``."""

    query: str
    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    limit: int | None = None
    filters: Filters | None = None
    min_score: float | None = None
    layers: str | Sequence[str] | None = None
    as_of: When | None = None
    strategy: str | None = None
    explain: bool = False
    show_expired: bool = False
    scope: str | None = None
    project_id: Any = None


@dataclass(slots=True)
class Search:
    """A checked search."""

    query: str
    scope: Scope
    where: And
    filtered: bool
    limit: int
    layers: tuple[str, ...]
    strategy: str
    min_score: float | None
    as_of: Instant | None
    explain: bool
    breadth: str | None = None
    extra: Where | None = None
    show_expired: bool = False
    project: Scope | None = None
    compares_words: bool = False
    """Whether the nearest are compared word by word, although no word is looked for."""


def build_search(runtime: Runtime, request: SearchRequest) -> Search:
    """Return the search for a request; raise ``InvalidInput`` before anything is read."""
    inside, extra = split_scope(request.filters)
    values = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    own, project = scope_in(runtime, values, inside, request.project_id, extra, reading=True)
    extra = rename_filter_users(runtime, extra)
    breadth = checked_breadth(request.scope)
    scope = scope_of_breadth(own, breadth)
    strategy = _validate_strategy(request.strategy or runtime.policy.strategy)
    layers = checked_layers(request.layers, () if strategy == "recent" else runtime.policy.recall.layers)
    as_of = None if request.as_of is None else parse_when(request.as_of, "as_of")
    return Search(
        query=request.query if strategy == "recent" else _validate_query(runtime, request.query),
        scope=scope,
        where=_build_filter(runtime, scope, layers, as_of, extra, show_expired=request.show_expired),
        filtered=extra is not None,
        limit=checked_limit(
            USUAL if request.limit is None else request.limit,
            runtime.policy.limits.page,
            f"get_all lists everything; {LARGEST}",
        ),
        layers=layers,
        strategy=strategy,
        min_score=_min_score(request.min_score if request.min_score is not None else runtime.policy.min_score),
        as_of=as_of,
        explain=request.explain,
        breadth=breadth,
        extra=extra,
        show_expired=request.show_expired,
        project=project,
    )


async def project_and_shared_searches(runtime: Runtime, wanted: Search) -> list[Search]:
    """Return the same search in the project, and among what is shared with everybody."""
    project = _narrow_to_scope(runtime, wanted, wanted.project) if wanted.project is not None else None
    return [one for one in (project, await shared_search(runtime, wanted)) if one is not None]


def _narrow_to_scope(runtime: Runtime, wanted: Search, scope: Scope) -> Search:
    where = _build_filter(runtime, scope, wanted.layers, wanted.as_of, wanted.extra, show_expired=wanted.show_expired)
    return replace(wanted, scope=scope, where=where)


async def shared_search(runtime: Runtime, wanted: Search) -> Search | None:
    """Return the same search among shared memories, if asked for or the user has few facts of their own."""
    if wanted.scope.user_id in {"", EVERYBODY}:
        return None
    if not await _looks_further(runtime, wanted):
        return None
    return _narrow_to_scope(runtime, wanted, replace(wanted.scope, user_id=EVERYBODY, agent_id="", run_id=""))


async def _looks_further(runtime: Runtime, wanted: Search) -> bool:
    if wanted.breadth == "global":
        return True
    least = runtime.policy.recall.bootstrap_min if wanted.breadth is None and wanted.as_of is None else 0
    if least < 1 or not await runtime.ledger.peek(lambda tx: _has_shared_memories(tx, runtime)):
        return False
    own = replace(wanted.scope, agent_id="", run_id="")
    facts = where_visible(own, runtime.now())
    return len(await runtime.ledger.read(lambda tx: tx.memories.find(facts, limit=least))) < least


async def _has_shared_memories(tx: Any, runtime: Runtime) -> bool:
    return bool(await tx.vectors.stamp(runtime.tenant_id, EVERYBODY))


def checked_breadth(scope: str | None) -> str | None:
    """Return how far to search: one session, all of the owner's, or everybody's.

    None leaves it open.
    """
    breadth = _ALSO.get(scope, scope) if isinstance(scope, str) else scope
    if breadth is not None and breadth not in SCOPES:
        raise InvalidInput(f"unknown scope {scope!r}", hint="one of session, owner (or apiKey), global")
    return breadth


def scope_of_breadth(scope: Scope, breadth: str | None) -> Scope:
    """Return the scope as far as is looked."""
    if breadth == "session" and not scope.run_id:
        raise InvalidInput("a search within a session needs its run_id", hint="give run_id, or scope='owner'")
    return replace(scope, run_id="").require_owner() if breadth in {"owner", "global"} else scope


def _validate_query(runtime: Runtime, query: Any) -> str:
    return checked_text(query, "query", runtime.policy.limits.text_chars)


def _build_filter(
    runtime: Runtime,
    scope: Scope,
    layers: tuple[str, ...],
    as_of: Instant | None,
    extra: Where | None,
    *,
    show_expired: bool,
) -> And:
    where = where_visible(scope, runtime.now(), layers=layers, as_of=as_of, show_expired=show_expired, extra=extra)
    days = runtime.policy.recall.visible_days
    if days is None or as_of is not None:
        return where
    since = to_instant(runtime.clock.now() - timedelta(days=days))
    said_or_used = [Condition(field, Op.GTE, since) for field in ("created_at", "updated_at", "last_used_at")]
    lasting = Condition("layer", Op.EQ, str(Layer.IDENTITY))
    return And((*where.parts, Or((*said_or_used, lasting))))


def checked_layers(layers: str | Sequence[str] | None, usual: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the layers to look at; the usual ones, else facts, unless the caller says otherwise."""
    if layers is None:
        return tuple(usual) or tuple(str(layer) for layer in DEFAULT_LAYERS)
    known = {str(layer) for layer in Layer}
    items = (layers,) if isinstance(layers, str) else layers
    chosen = tuple(map(str, items)) if isinstance(items, (Sequence, set, frozenset)) else ()
    if not chosen or set(chosen) - known:
        raise InvalidInput(f"unknown layers: {layers!r}", hint="any of " + ", ".join(sorted(known)))
    return chosen


def checked_limit(limit: int, most: int, more: str = f"read several pages with offset; {LARGEST}") -> int:
    """Return a limit between 1 and the largest page; ``more`` says how callers get at what is beyond that."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= most:
        raise InvalidInput(
            f"limit must be a whole number from 1 to {most:,}, not {limit!r}", hint=_limit_hint(limit, more)
        )
    return limit


def _limit_hint(limit: object, more: str) -> str:
    if limit == 0 and limit is not False:
        return "to count, call get_all with limit=1 and counts=True"
    if isinstance(limit, int) and limit > 1:
        return more
    return "leave it out to use the default"


def checked_offset(offset: int) -> int:
    """Return how many are left out before the first."""
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise InvalidInput(f"offset must be a whole number from 0, not {offset!r}", hint="0 is the first result")
    return offset


def _validate_strategy(value: str) -> str:
    if value not in STRATEGIES:
        raise InvalidInput(f"unknown strategy {value!r}", hint="one of " + ", ".join(STRATEGIES))
    return value


def _min_score(value: float | None) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1):
        hint = "leave it out to get all results, best first"
        raise InvalidInput(f"min_score must be a number from 0 to 1, not {value!r}", hint=hint)
    return value
