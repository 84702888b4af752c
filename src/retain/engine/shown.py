"""``shown``: a block for a service that has a model to ask; the account of it is kept behind the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from retain.engine.access.bounds import BoundLedger
from retain.engine.blocks import Key
from retain.engine.erasing.erasure_report import digest
from retain.engine.late_receipts import Late
from retain.engine.parts import Parts
from retain.engine.recall.account import Account, recorded, unkept
from retain.engine.recall.context import answered, held
from retain.engine.requests import ContextRequest, Loop
from retain.model.context import ContextPack
from retain.model.instant import Instant, instant, moment
from retain.model.memory import Record, Status
from retain.ports.erasure import Erased
from retain.ports.ledger import Ledger, Tx

_KEPT: Final = frozenset({Status.ACTIVE, Status.SUPERSEDED})
_LOOP: Final = timedelta(hours=1)
_ERASING: Final = timedelta(minutes=10)
"""An erasure is dated when it begins, and is done no later than that."""


@dataclass(slots=True)
class _Behind:
    """An account that is still to be kept, and what its log lines belong to."""

    account: Account
    context: Context | None

    def tell(self) -> None:
        """Tell of it once, however often it is tried."""
        context, self.context = self.context, None
        if context is not None:
            context.run(self.account.tell)


async def shown(parts: Parts, request: ContextRequest) -> ContextPack:
    """What to put into a prompt. Its number is told at once, and its receipt is there a moment later.

    While a store takes no receipts, none is promised.
    """
    pack, account = await answered(parts, request)
    if account is None:
        return pack
    failed = parts.late.failed
    behind = _Behind(account, copy_context())
    parts.late.put(parts.io, Late(pack.receipt_id, parts.tenant_id, _whole(parts.ledger), behind, _store))
    return held(account, pack if failed is None else unkept(pack, failed))


async def shown_in(parts: Parts, request: ContextRequest, loop: Loop) -> ContextPack:
    """The same in a loop, in which it stays as it was at the beginning.

    Every request of a loop repeats those before it. If the block changed in between, above all by what the user has
    just said, everything behind it would be new to the service's prompt cache.
    """
    question = hashlib.sha256(request.query.encode()).hexdigest()
    key = (request.user_id, request.agent_id, request.gate, loop.session, question)
    if loop.goes_on and (held := await shown_before(parts, key)) is not None:
        return held
    pack = await shown(parts, request)
    hold(parts, key, pack)
    return pack


def hold(parts: Parts, key: Key, pack: ContextPack) -> None:
    """Remember what was shown, while a loop may go on; of what cites nothing nobody knows if it still holds."""
    now, lasts = parts.now(), not pack.degraded and (pack.empty or pack.citations)
    until = instant(moment(now) + _LOOP) if lasts else now
    parts.blocks.loops.put((parts.tenant_id, parts.bounds, *key), pack, now, until)


async def shown_before(parts: Parts, key: Key) -> ContextPack | None:
    """What was shown under a key, if it may be shown once more."""
    now = parts.now()
    held = parts.blocks.loops.get((parts.tenant_id, parts.bounds, *key), now)
    return held if held is not None and await _still_known(parts, held, now) else None


async def _still_known(parts: Parts, pack: ContextPack, now: Instant) -> bool:
    """Whether a block may be shown once more: nothing of what it cites was taken away, though it may have changed."""
    ids = sorted({one.memory_id for one in pack.citations})

    async def last(tx: Tx) -> list[Record | None]:
        return [await tx.memories.last(parts.tenant_id, one) for one in ids]

    found = await parts.ledger.read(last) if ids else []
    return all(one is not None and one.status in _KEPT and (one.expires_at or now) >= now for one in found)


def _whole(ledger: Ledger) -> Ledger:
    """The store of the tenant: what was found within bounds is written with what others have found."""
    return ledger.beneath if isinstance(ledger, BoundLedger) else ledger


async def _store(tx: Tx, late: Sequence[_Behind]) -> None:
    """Write what is not written yet, and nothing of anybody who was erased meanwhile."""
    tenant, accounts = late[0].account.parts.tenant_id, [one.account for one in late]
    written = await tx.receipts.known(tenant, [one.pack.receipt_id for one in accounts])
    since = instant(moment(min(one.asked.now for one in accounts)) - _ERASING)
    erased = await tx.receipts.erased(tenant, since)
    key = (await tx.vault.keys()).get(tenant, b"") if erased else b""
    new = [one for one in accounts if one.pack.receipt_id not in written]
    wanted = [one for one in new if not await _is_gone(tx, one, erased, key)]
    for one in late:
        one.tell()
    if wanted:
        await recorded(tx, wanted)


async def _is_gone(tx: Tx, account: Account, erased: Sequence[Erased], key: bytes) -> bool:
    """Whether whoever was asked about has been erased since, or meanwhile: then what was shown is gone."""
    when = [one.created_at for one in erased if _concerns(one, account, key)]
    if not when or max(when) >= account.asked.now:
        return bool(when)
    shown = {one.id for one in account.planned.chosen}
    return any([await tx.memories.last(account.parts.tenant_id, one) is None for one in sorted(shown)])


def _concerns(erased: Erased, account: Account, key: bytes) -> bool:
    if erased.memory_id:
        return False
    names = ("user_id", "agent_id", "run_id")
    given = [(name, value) for name in names if (value := getattr(erased, name))]
    return all(digest(key, name, getattr(account.asked.scope, name)) == value for name, value in given)
