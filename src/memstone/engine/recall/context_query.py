"""Check a request for context, and collect what its steps find out."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final

from memstone.core.checks.arguments import checked_text
from memstone.core.gate import checked_mode
from memstone.engine.recall.ranking import Hit
from memstone.engine.request_scope import ContextRequest, scope_in
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import checked_breadth, scope_of_breadth
from memstone.errors import InvalidInput
from memstone.model.context import NO_GATE
from memstone.model.context_gate import GateDecision, GateMode, Route
from memstone.model.instant import Instant, parse_when
from memstone.model.scope import Scope
from memstone.ports.io import limit_model_calls

if TYPE_CHECKING:
    from memstone.results import Degradation


MOST_TOKENS: Final = 16_000
LATE: Final = "the search was not done in time"
_NOT_IN_TIME: Final[Degradation] = {"step": "recall", "code": "deadline", "message": LATE}


@dataclass(slots=True)
class ContextQuery:
    """A checked request, and what becomes known on the way."""

    query: str
    scope: Scope
    budget: int
    mode: GateMode
    route: Route | None
    now: Instant
    project: Scope | None = None
    as_of: Instant | None = None
    breadth: str | None = None
    until: float | None = None
    without_search: bool = False
    gate: GateDecision = NO_GATE
    stamps: tuple[int, ...] = ()
    """The state of the store as the user sees it, where that was looked up."""

    hits: list[Hit] = field(default_factory=list)
    left_out: dict[int, str] = field(default_factory=dict)
    """By number: what was found and has nothing to do with the question, and why that is thought."""

    farther: set[int] = field(default_factory=set)
    """The numbers of hits that are shown only to somebody of whom the profile holds little of what is known."""

    degraded: list[Degradation] = field(default_factory=list)
    ms: dict[str, float] = field(default_factory=dict)
    clock: float = field(default_factory=time.perf_counter)

    @property
    def owner(self) -> str:
        """Whose memory it is, as the log names them."""
        return self.scope.user_id or self.scope.agent_id or self.scope.run_id

    @property
    def at(self) -> Instant:
        """The moment that is asked about."""
        return self.as_of or self.now

    def limit_embedding(self, usual: float) -> AbstractContextManager[None]:
        """Give an embedder no more than half of the time that is left: words have to answer in the other half."""
        left = inf if self.until is None else self.until - time.monotonic()
        return limit_model_calls(max(0.0, min(usual, left / 2)))

    def lap(self, step: str) -> None:
        """Note how long a step took."""
        now = time.perf_counter()
        self.ms[step], self.clock = round((now - self.clock) * 1000, 3), now


def validate_context(runtime: Runtime, request: ContextRequest) -> ContextQuery:
    """Check a request before anything is asked."""
    policy = runtime.policy.retrieval
    values = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    own, project = scope_in(runtime, values, {}, request.project_id)
    breadth = checked_breadth(request.scope)
    return ContextQuery(
        query=checked_text(request.query, "query", runtime.policy.limits.text_chars),
        scope=scope_of_breadth(own, breadth),
        budget=_validate_budget(policy.token_budget if request.budget is None else request.budget),
        mode=_validate_mode(policy.gate if request.gate is None else request.gate),
        route=None if request.route is None else _validate_route(request.route),
        now=runtime.now(),
        project=project,
        as_of=None if request.as_of is None else parse_when(request.as_of, "as_of"),
        breadth=breadth,
        until=request.until,
        without_search=request.without_search,
        degraded=[_NOT_IN_TIME.copy()] if request.without_search else [],
    )


def _validate_budget(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
        raise InvalidInput(f"budget must be a whole number of tokens from 0 to {MOST_TOKENS:,}, not {value!r}")
    return value


def _validate_mode(value: str) -> GateMode:
    mode = checked_mode(value)
    return GateMode.ALWAYS if mode is GateMode.OFF else mode


def _validate_route(value: str) -> Route:
    try:
        return Route(value)
    except ValueError as error:
        raise InvalidInput(f"unknown route {value!r}", hint="one of " + ", ".join(Route)) from error
