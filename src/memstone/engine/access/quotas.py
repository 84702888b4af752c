"""Check quotas of a user and a tenant before anything is written.

Nobody pays for quotas that are not set. Where one is, what is stored is counted once a minute, and what was admitted
since is added to it; only close to the limit, where it matters, is it counted every time, unless counting takes long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from memstone.errors import QuotaExceeded
from memstone.model.policy import Quotas
from memstone.model.scope import Scope
from memstone.ports.access_tables import Usage

if TYPE_CHECKING:
    from memstone.engine.runtime import Runtime

_COUNT_LIFETIME: Final = timedelta(minutes=1)
_CLOSE: Final = {"memories": 1_000, "turns": 1_000, "chars": 100_000}
"""So near to a limit it is counted every time: who stores elsewhere meanwhile stores less than that in a minute."""

_QUICK: Final = 0.25
_SHARE: Final = 20
_MOST: Final = 10_000
_NONE: Final = Quotas()
_WORDS: Final = {"memories": "memories", "turns": "turns", "chars": "characters"}

Owner: TypeAlias = tuple[str, str | None]
Ahead: TypeAlias = dict[Owner, Usage]
"""What a batch has admitted and not stored yet."""


@dataclass(frozen=True, slots=True)
class Count:
    """What somebody had when it was counted, with what was admitted since; and how long counting took."""

    usage: Usage
    at: datetime
    done: float
    seconds: float

    def fresh(self, now: datetime) -> bool:
        """Return whether it need not be counted again, far from any limit."""
        return -_COUNT_LIFETIME < now - self.at < _COUNT_LIFETIME

    def too_soon(self) -> bool:
        """Return whether counting again would take more than a twentieth of the time."""
        return self.seconds > _QUICK and perf_counter() - self.done < _SHARE * self.seconds


@dataclass(slots=True)
class Meter:
    """What was counted. Safe to share between threads: each step is one atomic dictionary operation."""

    counted: dict[Owner, Count] = field(default_factory=dict)

    def keep(self, owner: Owner, count: Count) -> None:
        """Remember a count; when there are too many, all are counted again."""
        if len(self.counted) >= _MOST:
            self.counted.clear()
        self.counted[owner] = count


async def check_quotas(runtime: Runtime, scope: Scope, wanted: Usage, ahead: Ahead | None = None) -> None:
    """Raise ``QuotaExceeded`` when so much more cannot be stored, ``StorageFull`` when the disk has no room.

    Cheap where no quota is set.
    """
    await runtime.ledger.ensure_room()
    limits = runtime.policy.quotas
    if limits == _NONE:
        return
    owners: dict[Owner, dict[str, int]] = {(runtime.tenant_id, None): _quota_limits(limits, "tenant_")}
    if scope.user_id:
        owners[runtime.tenant_id, scope.user_id] = _quota_limits(limits, "user_")
    sums = {owner: _add_usage(wanted, (ahead or {}).get(owner, Usage())) for owner in owners}
    for owner, most in owners.items():
        await _check_owner_quota(runtime, owner, most, sums[owner])
    if ahead is not None:
        ahead.update(sums)


def is_unlimited(runtime: Runtime) -> bool:
    """Return whether nobody has a quota, so that nothing need be counted."""
    return runtime.policy.quotas == _NONE


async def admit_messages(
    runtime: Runtime, scope: Scope, messages: Any, *, infer: bool, ahead: Ahead | None = None
) -> None:
    """Do the same for messages as callers pass them; what is learned from them is one memory at least."""
    texts = messages if isinstance(messages, Sequence) and not isinstance(messages, str) else [messages]
    chars = sum(_count_chars(one) for one in texts)
    curation = runtime.policy.curation
    if infer:
        wanted = Usage(int(runtime.policy.learns), len(texts) if curation.keep_turns else 0, chars)
    else:
        wanted = Usage(len(texts), 0, chars)
    await check_quotas(runtime, scope, wanted, None if infer else ahead)


async def _check_owner_quota(runtime: Runtime, owner: Owner, limits: Mapping[str, int], wanted: Usage) -> None:
    if not limits:
        return
    close = {what: most - _CLOSE[what] for what, most in limits.items()}
    count = runtime.meter.counted.get(owner)
    if (
        count is None
        or not count.fresh(runtime.clock.now())
        or (_find_exceeded_limit(count.usage, wanted, close) and not count.too_soon())
    ):
        count = await _count_usage(runtime, owner)
    if what := _find_exceeded_limit(count.usage, wanted, limits):
        _raise_quota_exceeded(what, count.usage, limits, owner)
    runtime.meter.keep(owner, replace(count, usage=_add_usage(count.usage, wanted)))


async def _count_usage(runtime: Runtime, owner: Owner) -> Count:
    begin = perf_counter()
    usage = await runtime.ledger.peek(lambda tx: tx.preferences.usage(*owner))
    done = perf_counter()
    return Count(usage, runtime.clock.now(), done, done - begin)


def _raise_quota_exceeded(what: str, used: Usage, limits: Mapping[str, int], owner: Owner) -> None:
    owner_id, quota = owner[1] or "this tenant", f"quota.{'tenant' if owner[1] is None else 'user'}_{what}"
    raise QuotaExceeded(
        f"{owner_id} has {getattr(used, what):,} of {limits[what]:,} {_WORDS[what]}: nothing more can be stored",
        quota=quota,
        limit=limits[what],
        hint=f"delete memories you do not need, or raise {quota}",
    )


def _find_exceeded_limit(used: Usage, wanted: Usage, limits: Mapping[str, int]) -> str:
    """Return what would be more than its limit; '' when nothing would."""
    for what, limit in limits.items():
        more = getattr(wanted, what)
        if more and getattr(used, what) + more > limit:
            return what
    return ""


def _add_usage(one: Usage, other: Usage) -> Usage:
    return Usage(one.memories + other.memories, one.turns + other.turns, one.chars + other.chars)


def _quota_limits(quotas: Quotas, prefix: str) -> dict[str, int]:
    named = [item.name for item in fields(quotas) if item.name.startswith(prefix)]
    values = {name.removeprefix(prefix): getattr(quotas, name) for name in named}
    return {name: value for name, value in values.items() if value is not None}


def _count_chars(message: object) -> int:
    """Return how long a message is, whatever shape it has; what is wrong with it is said elsewhere."""
    if isinstance(message, str):
        return len(message)
    if isinstance(message, Mapping):
        content = message.get("content", message.get("text"))
        return sum(map(_count_chars, content)) if isinstance(content, (list, tuple)) else _count_chars(content)
    return 0
