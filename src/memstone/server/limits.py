"""Limits on requests, failed logins and tokens.

There is one for each key, and one for each address from which wrong keys or passwords come. Each process has its own
buckets, and takes out of them what other processes on the same store have let through: they tell each other through the
store, about once a second while somebody asks.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from starlette.requests import HTTPConnection

from memstone.engine.runtime import Runtime
from memstone.errors import LlmBudgetSpent, MemstoneError, TooManyRequests
from memstone.language.text.normal import estimate_tokens
from memstone.model.instant import Instant
from memstone.ports.ledger import Ledger, Tx
from memstone.ports.models import Llm, Prompt, Reply
from memstone.sections_service import RateSettings
from memstone.server import metrics
from memstone.server.connections import parse_address
from memstone.server.metrics import FAILED_LOGINS, REFUSED

# --- how often somebody may ask, and how often they may be wrong ------------------------------------------------------


_KEYS: Final = 10_000
_RATES: Final = "service:rates"
"""Under the name of this user, who is none, processes tell each other what they have let through."""

_KEY: Final = "key:"
_ADDRESS: Final = "address:"
_EXCHANGED_EVERY: Final = 0.5
_NEIGHBOURS: Final = 64


class SharedCounts:
    """What every process on one store has let through, by name.

    A process adds what it counted itself to rows of the day, and reads the sums. What they rose by beyond that came
    from others. Two processes that start at the same moment both give the whole burst away; the next look takes what
    was too much from both.
    """

    def __init__(self, ledger: Ledger, tenant_id: str, now: Callable[[], Instant]) -> None:
        self._ledger, self._tenant, self._now = ledger, tenant_id, now
        self._own: dict[str, int] = {}
        self._sums: dict[str, int] = {}
        self._day = ""
        self._next = 0.0
        self._busy = False

    def add(self, name: str) -> None:
        """Count one."""
        self._own[name] = self._own.get(name, 0) + 1

    @property
    def is_due(self) -> bool:
        """Whether it is time to look what others have counted."""
        return bool(self._own) and not self._busy and time.monotonic() >= self._next

    async def exchange(self) -> dict[str, int]:
        """Tell the others what was counted here; return what they have counted since, by name."""
        self._busy, own, self._own = True, self._own, {}
        try:
            now = self._now()
            work = partial(
                _exchange_counts, tenant_id=self._tenant, now=now, own=own, is_new_day=now[:_DAY] != self._day
            )
            ledger = self._ledger.of(self._tenant)
            sums = await (ledger.note(work) if ledger.in_process else ledger.aside(work))
        except MemstoneError:  # whoever asks next tries again; until then each process counts for itself
            for name, count in own.items():
                self._own[name] = self._own.get(name, 0) + count
            return {}
        finally:
            self._busy, self._next = False, time.monotonic() + _EXCHANGED_EVERY
        before, self._sums = self._sums if now[:_DAY] == self._day else {}, sums
        is_first, self._day = not self._day, now[:_DAY]
        if is_first:  # what was counted before this process began is long since filled up again, or nearly
            return {}
        more = {name: total - before.get(name, 0) - own.get(name, 0) for name, total in sums.items()}
        return {name: count for name, count in more.items() if count > 0}


async def _exchange_counts(
    tx: Tx, *, tenant_id: str, now: Instant, own: dict[str, int], is_new_day: bool
) -> dict[str, int]:
    if is_new_day:
        await tx.metrics.drop_counts(tenant_id, _RATES, now)
    await tx.metrics.count(tenant_id, _RATES, now, dict(sorted(own.items())))  # in order, or two might deadlock
    return await tx.metrics.sum_counts(tenant_id, _RATES, now)


class Rate:
    """Requests a minute, with a burst; each key has its own bucket."""

    def __init__(
        self,
        settings: RateSettings,
        now: Callable[[], float] = time.monotonic,
        shared: SharedCounts | None = None,
    ) -> None:
        self._per_second = settings.per_minute / 60
        self._burst = float(settings.burst or settings.per_minute)
        self._now, self._shared = now, shared
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> None:
        """Count a request, or ``TooManyRequests`` with the time to wait."""
        if not self._per_second:
            return
        now = self._now()
        tokens, since = self._buckets.pop(name, (self._burst, now))
        tokens = min(self._burst, tokens + (now - since) * self._per_second)
        enough = tokens >= 1
        self._buckets[name] = (tokens - 1 if enough else tokens, now)
        if len(self._buckets) > _KEYS:
            self._buckets.popitem(last=False)
        if enough and self._shared is not None:
            self._shared.add(f"{_KEY}{name}")
        if not enough:
            REFUSED.inc()
            raise TooManyRequests(
                "too many requests with this key",
                retry_after=(1 - tokens) / self._per_second,
                hint="wait for the time in Retry-After",
            )

    def charge(self, counts: Mapping[str, int]) -> None:
        """Take out of the buckets what other processes have let through."""
        now = self._now()
        for name, count in counts.items():
            if self._per_second and name.startswith(_KEY):
                key = name.removeprefix(_KEY)
                tokens, since = self._buckets.get(key, (self._burst, now))
                tokens = min(self._burst, tokens + (now - since) * self._per_second)
                self._buckets[key] = (max(tokens - count, -self._burst), now)


class Failures:
    """Wrong keys and passwords by address: who was wrong too often has to wait, whatever they send next.

    Whoever comes from elsewhere does not notice. Asking costs a look into a table, and is done before anything is
    looked up or hashed; the table holds the addresses that were wrong most recently.
    """

    def __init__(
        self,
        settings: RateSettings,
        now: Callable[[], float] = time.monotonic,
        shared: SharedCounts | None = None,
    ) -> None:
        self._per_second = settings.per_minute / 60
        self._burst = float(settings.burst or settings.per_minute)
        self._now, self._shared = now, shared
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, request: HTTPConnection) -> None:
        """Raise ``TooManyRequests`` with the time to wait, if too much of what came from this address was wrong."""
        left = self._of(address_of(request))
        if self._per_second and left < 1:
            REFUSED.inc()
            raise TooManyRequests(
                "too many failed attempts from this address",
                retry_after=(1 - left) / self._per_second,
                hint="wait for the time in Retry-After, and check the key or the password",
            )

    def note(self, request: HTTPConnection) -> None:
        """Note that something that came from this address was wrong."""
        FAILED_LOGINS.inc()
        if not self._per_second:
            return
        name = address_of(request)
        if self._shared is not None:
            self._shared.add(f"{_ADDRESS}{name}")
        self._forgive_less(name, 1)

    def charge(self, counts: Mapping[str, int]) -> None:
        """Count what was wrong in other processes."""
        for name, count in counts.items():
            if self._per_second and name.startswith(_ADDRESS):
                self._forgive_less(name.removeprefix(_ADDRESS), count)

    def _forgive_less(self, name: str, count: int) -> None:
        # Those who try many at once run into debt: all of them were let in before the first was found to be wrong.
        self._left[name] = max(self._of(name) - count, -self._burst), self._now()
        self._left.move_to_end(name)
        if len(self._left) > _KEYS:
            self._left.popitem(last=False)

    def _of(self, name: str) -> float:
        current = self._left.get(name)
        if current is None:
            return self._burst
        left, since = current
        return min(self._burst, left + (self._now() - since) * self._per_second)


def address_of(request: HTTPConnection) -> str:
    """Return where a request comes from.

    Of version 6 it is the network: one machine has as many of its addresses as it likes.
    """
    host = request.client.host if request.client is not None else ""
    address = parse_address(host)
    if address is None:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((address, _NEIGHBOURS), strict=False))


# --- how much a language model may cost a tenant in a day. What was spent is in the store -----------------------------


SPENT: Final = "llm_tokens"
"""The name under which it is counted, for the user '' of a tenant."""

_DAY: Final = 10
_FRESH: Final = 1.0
_TENANTS: Final = 10_000


class Governor:
    """Keeps account for every tenant; other processes on the same store are heard of within seconds."""

    def __init__(self, ledger: Ledger, now: Callable[[], Instant], per_day: int) -> None:
        self._ledger, self._now, self._per_day = ledger, now, per_day
        self._known: dict[str, tuple[str, int, float]] = {}

    async def admit(self, tenant_id: str) -> None:
        """Raise ``LlmBudgetSpent`` when the day's tokens are used up.

        The question that crosses the line is still asked.
        """
        if self._per_day and await self.count_spent(tenant_id) >= self._per_day:
            metrics.LLM_CALLS.labels("refused").inc()
            raise LlmBudgetSpent(f"today's {self._per_day:,} tokens are used up")

    async def count_spent(self, tenant_id: str) -> int:
        """Return how much a tenant has spent today."""
        now = self._now()
        day, total, at = self._known.get(tenant_id, ("", 0, 0.0))
        if day == now[:_DAY] and time.monotonic() - at < _FRESH:
            return total
        stored = await self._ledger.of(tenant_id).peek(lambda tx: tx.metrics.sum_counts(tenant_id, "", now))
        # Whoever empties the store does not get the day's tokens back from this process.
        return self._keep(tenant_id, now, max(stored.get(SPENT, 0), total if day == now[:_DAY] else 0))

    async def count(self, tenant_id: str, tokens: int) -> None:
        """Add what a question has cost."""
        if self._per_day and tokens:
            now = self._now()
            work = partial(_add_token_count, tenant_id=tenant_id, now=now, tokens=tokens)
            before = self._known.get(tenant_id, ("", 0, 0.0))
            stored_count = before[1] + tokens if before[0] == now[:_DAY] else 0
            self._keep(tenant_id, now, max(stored_count, await self._ledger.of(tenant_id).write(work)))

    def _keep(self, tenant_id: str, now: Instant, total: int) -> int:
        if len(self._known) >= _TENANTS:
            self._known.clear()
        self._known[tenant_id] = now[:_DAY], total, time.monotonic()
        return total


async def _add_token_count(tx: Tx, *, tenant_id: str, now: Instant, tokens: int) -> int:
    await tx.metrics.count(tenant_id, "", now, {SPENT: tokens})
    return (await tx.metrics.sum_counts(tenant_id, "", now)).get(SPENT, 0)


class GovernedLlm:
    """Counts what questions to a model cost, and refuses those beyond the budget."""

    def __init__(self, inner: Llm, governor: Governor, tenant_id: str) -> None:
        self.inner, self._governor, self._tenant = inner, governor, tenant_id

    @property
    def model(self) -> str:
        """Which model."""
        return self.inner.model

    @property
    def destination(self) -> str:
        """Where text goes."""
        return self.inner.destination

    def of(self, tenant_id: str) -> GovernedLlm:
        """Return the same model, asked by one tenant."""
        return GovernedLlm(self.inner, self._governor, tenant_id)

    async def generate(self, prompt: Prompt) -> Reply:
        """Return one answer, within the budget."""
        await self._governor.admit(self._tenant)
        try:
            reply = await self.inner.generate(prompt)
        except Exception:
            metrics.LLM_CALLS.labels("failed").inc()
            raise
        asked, score = cost_of(prompt, reply)
        metrics.LLM_CALLS.labels("answered").inc()
        metrics.LLM_TOKENS.labels("input").inc(asked)
        metrics.LLM_TOKENS.labels("output").inc(score)
        await self._governor.count(self._tenant, asked + score)
        return reply


def cost_of(prompt: Prompt, reply: Reply) -> tuple[int, int]:
    """Return what went in and what came out; estimated where the provider does not say."""
    asked = reply.input_tokens or sum(estimate_tokens(str(one.get("content", ""))) for one in prompt.messages)
    return asked, reply.output_tokens or estimate_tokens(reply.text)


def create_governor(runtime: Runtime, per_day: int) -> tuple[Governor, dict[str, Any]]:
    """Return the account of a service, and what changes in its parts: the model behind it, if there is one."""
    governor = Governor(runtime.ledger, runtime.now, per_day)
    llm = runtime.llm.inner if isinstance(runtime.llm, GovernedLlm) else runtime.llm
    return governor, {} if llm is None else {"llm": GovernedLlm(llm, governor, runtime.tenant_id)}
