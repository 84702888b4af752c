"""Metrics of a service. None contains a name, an id or a text."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.registry import REGISTRY

# --- what a service counts and times, for monitoring. No figure carries a name, an id or a --------------------


CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

REQUESTS: Final = Histogram(
    "memstone_request_seconds",
    "Duration of requests, by route and status.",
    labelnames=("method", "route", "status"),
    buckets=_SECONDS,
)
RUNNING: Final = Gauge("memstone_requests_running", "Requests in progress.")
CONNECTIONS: Final = Gauge("memstone_connections", "Open connections.")
CONNECTIONS_CLOSED: Final = Counter(
    "memstone_connections_closed", "Connections that the service closed early.", labelnames=("reason",)
)
STEPS: Final = Histogram(
    "memstone_step_seconds", "Duration of the engine's steps.", labelnames=("step",), buckets=_SECONDS
)
GATE: Final = Counter("memstone_gate_decisions", "Decisions of the gate, by route.", labelnames=("route",))
REFUSED: Final = Counter("memstone_rate_limit_refusals", "Requests rejected by rate limits.")
FAILED_LOGINS: Final = Counter("memstone_failed_logins", "Wrong keys and passwords.")
LLM_CALLS: Final = Counter("memstone_llm_calls", "Calls to the language model, by outcome.", labelnames=("outcome",))
LLM_TOKENS: Final = Counter("memstone_llm_tokens", "Tokens to and from the language model.", labelnames=("direction",))


class MetricsObserver:
    """See ``memstone.ports.io.Observer``: what an engine tells becomes figures of this process."""

    def took(self, step: str, seconds: float) -> None:
        """Note that a step is over."""
        STEPS.labels(step).observe(seconds)

    def record_gate(self, route: str) -> None:
        """Note that the gate has decided."""
        GATE.labels(route).inc()


OBSERVED: Final = MetricsObserver()

_RATES: Final = {
    "memory_total_count": "Facts that are currently valid.",
    "memory_replacement_rate": "Share of replacements among additions and replacements.",
    "memory_dedup_rate": "Share of extracted facts that were already known.",
    "retrieval_hit_rate": "Share of shown memories that were used, where known.",
}
_COUNTS: Final = {
    "pending": ("memstone_signals_pending", "Messages waiting to be learned from."),
    "dead": ("memstone_signals_dead", "Messages that could not be learned from."),
    "events": ("memstone_events", "Changes made in total."),
}


def format_metrics(figures: Mapping[str, Any], *, process: bool) -> bytes:
    """Return the figures of a tenant, and those of this process where ``process``, as Prometheus reads them.

    What a share cannot be taken of yet is left out rather than called 0.
    """
    registry = CollectorRegistry()
    for name, about in _RATES.items():
        if figures["rates"].get(name) is not None:
            Gauge(name, about, registry=registry).set(figures["rates"][name])
    for name, (full, about) in _COUNTS.items():
        if name in figures["counts"]:
            Gauge(full, about, registry=registry).set(figures["counts"][name])
    lag = Gauge("memstone_index_lag", "Memories waiting for a vector.", registry=registry)
    lag.set(figures["lag"])
    if figures["llm_tokens_today"] is not None:
        spent = Gauge("memstone_llm_tokens_today", "Tokens used of the day's budget.", registry=registry)
        spent.set(figures["llm_tokens_today"])
    if process:
        lost = Counter(
            "memstone_receipts_lost", "Receipts that could not be stored and were dropped.", registry=registry
        )
        lost.inc(figures["receipts_lost"])
    return generate_latest(registry) + (generate_latest(REGISTRY) if process else b"")


# --- the requests of the last hours, for administrators ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One request."""

    at: float
    tenant_id: str
    key_id: str
    method: str
    route: str
    status: int
    ms: float
    request_id: str

    def as_dict(self) -> dict[str, Any]:
        """Return what an administrator is shown."""
        at = datetime.fromtimestamp(self.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {
            "at": at,
            "key_id": self.key_id,
            "method": self.method,
            "route": self.route,
            "status": self.status,
            "ms": self.ms,
            "request_id": self.request_id,
        }


class Journal:
    """The last requests, no more than so many and none older than so many hours."""

    def __init__(self, entries: int, hours: float) -> None:
        self._lines: deque[RequestRecord] = deque(maxlen=entries)
        self._seconds = hours * 3_600

    def note(self, line: RequestRecord) -> None:
        """Keep one; who watches the requests hands it over."""
        self._lines.append(line)
        while self._lines and self._lines[0].at < line.at - self._seconds:
            self._lines.popleft()

    def of(self, tenant_id: str, now: float) -> Iterator[RequestRecord]:
        """Yield those of a tenant's keys, newest first."""
        for line in reversed(self._lines):
            if line.tenant_id == tenant_id and line.at >= now - self._seconds:
                yield line
