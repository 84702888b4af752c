"""``shown``: build a block for the gateway, and write its receipt after the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from memstone.core.checks.filters import where_in_bounds, where_in_scope
from memstone.engine.access.bounds import BoundLedger
from memstone.engine.block_cache import Key
from memstone.engine.change.erase import digest_erased_name
from memstone.engine.context import build_context_pack, cache_block
from memstone.engine.deferred_receipts import Late
from memstone.engine.recall.receipts import BlockRecord, mark_receipt_missing, write_receipts
from memstone.engine.request_scope import ContextRequest, Loop
from memstone.engine.runtime import Runtime
from memstone.engine.store.deleted_spans import hide_deleted_in_episodes
from memstone.engine.store.feedback import note_answers
from memstone.model.context import ContextPack
from memstone.model.instant import Instant, datetime_from_instant, to_instant
from memstone.model.memory import ONCE_ACTIVE, Layer, Record
from memstone.model.query import And, Condition, Op, Or, Where
from memstone.model.scope import EVERYBODY, Scope
from memstone.ports.erasure import ErasureRecord
from memstone.ports.ledger import Ledger, Tx

_LOOP: Final = timedelta(hours=1)
_READ_CHARS: Final = 8_000
"""So much of an answer is read for what it used."""

_ERASING: Final = timedelta(minutes=10)
"""An erasure is dated when it begins, and is done no later than that."""


@dataclass(slots=True)
class _Behind:
    """An account that is still to be kept, and what its log lines belong to."""

    account: BlockRecord
    context: Context | None

    def tell(self) -> None:
        """Tell of it once, however often it is tried."""
        context, self.context = self.context, None
        if context is not None:
            context.run(self.account.tell)


async def build_block(runtime: Runtime, request: ContextRequest) -> ContextPack:
    """Return what to put into a prompt. Its number is told at once, and its receipt is there a moment later.

    While a store takes no receipts, none is promised.
    """
    pack, account = await build_context_pack(runtime, request)
    if account is None:
        return pack
    failed = runtime.late.failed
    behind = _Behind(account, copy_context())
    runtime.late.put(
        runtime.io, Late(pack.receipt_id, runtime.tenant_id, _unbound_ledger(runtime.ledger), behind, _store_accounts)
    )
    return cache_block(account, pack if failed is None else mark_receipt_missing(pack, failed))


def note_answer(runtime: Runtime, receipt_id: str, answer: str) -> None:
    """Let it be noted which memories of a block the answer to it used: behind its receipt, when nobody waits."""
    runtimes = (runtime, receipt_id, answer[:_READ_CHARS])
    ledger = _unbound_ledger(runtime.ledger)
    runtime.late.put(runtime.io, Late(receipt_id, runtime.tenant_id, ledger, runtimes, note_answers, is_receipt=False))


async def shown_in(runtime: Runtime, request: ContextRequest, loop: Loop) -> ContextPack:
    """Return the same in a loop, in which it stays as it was at the beginning.

    Every request of a loop repeats those before it. If the block changed in between, above all by what the user has
    just said, everything behind it would be new to the service's prompt cache.
    """
    question = hashlib.sha256(request.query.encode()).hexdigest()
    scope = runtime.scope({"user_id": request.user_id, "agent_id": request.agent_id})
    key = (request.gate, request.scope, loop.session, question)
    if loop.goes_on and (context_pack := await shown_before(runtime, scope, key)) is not None:
        return context_pack
    pack = await build_block(runtime, request)
    cache_loop_block(runtime, scope, key, pack)
    return pack


def cache_loop_block(runtime: Runtime, scope: Scope, key: Key, pack: ContextPack) -> None:
    """Remember what was shown, while a loop may go on; of what cites nothing nobody knows if it still holds."""
    now, lasts = runtime.now(), not pack.degraded and (pack.empty or pack.citations)
    until = to_instant(datetime_from_instant(now) + _LOOP) if lasts else now
    runtime.blocks.loops.put((scope, runtime.bounds, *key), pack, now, until)


async def shown_before(runtime: Runtime, scope: Scope, key: Key) -> ContextPack | None:
    """Return what was shown under a key, if it may be shown once more."""
    now = runtime.now()
    context_pack = runtime.blocks.loops.get((scope, runtime.bounds, *key), now)
    return context_pack if context_pack is not None and await _still_known(runtime, scope, context_pack, now) else None


async def _still_known(runtime: Runtime, scope: Scope, pack: ContextPack, now: Instant) -> bool:
    """Return whether nothing that a block cites was deleted since.

    What it cites may have changed.
    """
    ids = tuple({one.memory_id for one in pack.citations})
    reached = And((Condition("id", Op.IN, ids), _reachable_filter(runtime, scope)))

    async def has_all_citations(tx: Tx) -> bool:
        seqs = set(await tx.memories.seqs(reached))
        last = [await tx.memories.last(runtime.tenant_id, one) for one in ids]
        there = [one for one in last if one is not None and one.seq in seqs and _is_valid(one, now)]
        return len(there) == len(ids) and not await _is_hidden(tx, there)

    return not ids or await _unbound_ledger(runtime.ledger).read(has_all_citations)


def _reachable_filter(runtime: Runtime, scope: Scope) -> Where:
    """Return what somebody sees, whichever agent asks, within the bounds; and what everybody does."""
    own = where_in_scope(replace(scope, agent_id="") if scope.user_id else scope)
    bound = own if runtime.bounds is None else And((own, where_in_bounds(runtime.bounds)))
    return Or((bound, where_in_scope(Scope(runtime.tenant_id, EVERYBODY))))


def _is_valid(record: Record, now: Instant) -> bool:
    return record.status in ONCE_ACTIVE and (record.expires_at is None or record.expires_at > now)


async def _is_hidden(tx: Tx, records: Sequence[Record]) -> bool:
    """Return whether something was said there that the user has deleted since."""
    turns = [one.id for one in records if one.layer == Layer.TURN]
    return bool(
        (turns and await tx.suppressions.turns(records[0].tenant_id, turns))
        or await hide_deleted_in_episodes(tx, records)
    )


def _unbound_ledger(ledger: Ledger) -> Ledger:
    """Return the store of the tenant: what was found within bounds is written with what others have found."""
    return ledger.beneath if isinstance(ledger, BoundLedger) else ledger


async def _store_accounts(tx: Tx, late: Sequence[_Behind]) -> None:
    """Write what is not written yet, and nothing of anybody who was erased meanwhile."""
    tenant, accounts = late[0].account.runtime.tenant_id, [one.account for one in late]
    written = await tx.receipts.find_known_ids(tenant, [one.pack.receipt_id for one in accounts])
    since = to_instant(datetime_from_instant(min(one.asked.now for one in accounts)) - _ERASING)
    erased = await tx.receipts.list_erasures(tenant, since)
    key = (await tx.vault.keys()).get(tenant, b"") if erased else b""
    new = [one for one in accounts if one.pack.receipt_id not in written]
    wanted = [one for one in new if not await _is_gone(tx, one, erased, key)]
    for one in late:
        one.tell()
    if wanted:
        await write_receipts(tx, wanted)


async def _is_gone(tx: Tx, account: BlockRecord, erased: Sequence[ErasureRecord], key: bytes) -> bool:
    """Return whether whoever was asked about has been erased since, or meanwhile: then what was shown is gone."""
    when = [one.created_at for one in erased if _is_erasure_of(one, account, key)]
    if not when or max(when) >= account.asked.now:
        return bool(when)
    visible = {one.id for one in account.planned.chosen}
    return any([await tx.memories.last(account.runtime.tenant_id, one) is None for one in sorted(visible)])


def _is_erasure_of(erased: ErasureRecord, account: BlockRecord, key: bytes) -> bool:
    if erased.memory_id:
        return False
    names = ("user_id", "agent_id", "run_id")
    items = [(name, value) for name in names if (value := getattr(erased, name))]
    return all(digest_erased_name(key, name, getattr(account.asked.scope, name)) == value for name, value in items)
