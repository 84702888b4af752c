"""Build packs, count uses, and store receipts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from logging import DEBUG
from typing import TYPE_CHECKING, Final

from memstone.core.prompt.planner import OVER_CAP, BlockPlan
from memstone.core.redact import redact_text
from memstone.engine.recall.retrieve import STORE
from memstone.engine.recall.surface import Material
from memstone.engine.runtime import Runtime
from memstone.engine.store.turns import redaction_of
from memstone.engine.store.versions import checked_id
from memstone.errors import MemstoneError, StorageError
from memstone.model.context import ContextPack, OmittedMemory, Receipt
from memstone.model.ids import new_id
from memstone.model.instant import datetime_from_instant, to_instant
from memstone.model.query import Condition, Op
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.trace import log, log_event

if TYPE_CHECKING:
    from memstone.engine.recall.context_query import ContextQuery

_QUERY_CHARS: Final = 500
"""So much of a question is kept in its receipt."""

_LEFT_OUT: Final = 200
"""So much of what the profile leaves out is named in a receipt."""


async def get_receipt(runtime: Runtime, receipt_id: str) -> Receipt | None:
    """Return the receipt of a block, or None if there is none any more."""
    if not isinstance(receipt_id, str) or not receipt_id.strip():
        return None
    wanted = checked_id(receipt_id, "receipt_id")
    body = await runtime.ledger.peek(lambda tx: tx.receipts.get(runtime.tenant_id, wanted))
    return Receipt.from_dict(body) if body else None


def build_pack(asked: ContextQuery, planned: BlockPlan) -> ContextPack:
    """Build the pack, with the id of the receipt that is still to be stored."""
    left_out = sum(one.reason == OVER_CAP for one in planned.dropped)
    return ContextPack(
        text=planned.text,
        stable=planned.stable,
        volatile=planned.volatile,
        sections=planned.sections,
        citations=planned.citations,
        tokens=planned.tokens,
        budget=asked.budget,
        gate=asked.gate,
        receipt_id=new_id(),
        degraded=tuple(asked.degraded),
        warnings=(f"{left_out} of the standing instructions are over the limit and not shown",) if left_out else (),
    )


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """The data for the receipt and the cache entry of a block."""

    runtime: Runtime
    asked: ContextQuery
    pack: ContextPack
    found: Material
    planned: BlockPlan
    key: tuple[object, ...] | None = None

    def tell(self) -> None:
        """Log that a block was built, and report the duration of its steps."""
        watch, asked, chosen = self.runtime.watch, self.asked, self.planned.chosen
        watch.laps("context", asked.ms)
        watch.record_gate(str(asked.gate.route))
        tier = _search_tier(self.runtime, asked)
        log_event("memory.retrieval.complete", owner=asked.owner, count=len(chosen), tier=tier)
        if log.isEnabledFor(DEBUG):
            log_event("memory.retrieval.selected", DEBUG, ids=[one.id for one in chosen])

    def uses(self) -> Iterator[tuple[int, Scope]]:
        """Yield the versions that are shown, and their owners."""
        for one in self.planned.chosen:
            if not one.counts:
                continue
            row = self.found.rows[one.id]
            yield row.record.seq, row.link.scope

    def receipt(self, ids: Mapping[int, str]) -> Receipt:
        """Return the receipt; ``ids`` maps numbers to ids of what was left out unread."""
        asked, planned, scope = self.asked, self.planned, self.asked.scope
        dropped = list_dropped(asked, self.found, planned, ids)
        return Receipt(
            id=self.pack.receipt_id,
            created_at=asked.now,
            query=redact_text(asked.query, redaction_of(self.runtime.policy)).text[:_QUERY_CHARS],
            gate=asked.gate,
            budget=asked.budget,
            tokens=planned.tokens,
            considered=len(planned.chosen) + len(dropped),
            user_id=scope.user_id or None,
            agent_id=scope.agent_id or None,
            run_id=scope.run_id or None,
            chosen=planned.chosen,
            dropped=dropped,
            ms=dict(asked.ms),
            degraded=tuple(asked.degraded),
        )


def list_dropped(
    asked: ContextQuery, found: Material, planned: BlockPlan, ids: Mapping[int, str]
) -> tuple[OmittedMemory, ...]:
    """Return what was considered but not shown, as far as it still exists.

    What the profile leaves out is named last, unless something else was said about it.
    """
    unread = [OmittedMemory(ids[seq], reason) for seq, reason in asked.left_out.items() if seq in ids]
    visible = {one.id for one in planned.chosen}
    dropped = [*found.dropped, *(one for one in (*planned.dropped, *unread) if one.id not in visible)]
    named = visible.union(one.id for one in dropped)
    beside = [OmittedMemory(*one) for one in found.profile.left_out if one[0] not in named]
    return (*dropped, *beside[:_LEFT_OUT])


async def ids_of_left_out(tx: Tx, tenant_id: str, asked: Sequence[ContextQuery]) -> dict[int, str]:
    """Return the ids of everything left out, most of which was never read."""
    seqs = list(dict.fromkeys(seq for one in asked for seq in one.left_out))
    return await tx.memories.ids_among(seqs, Condition("tenant_id", Op.EQ, tenant_id)) if seqs else {}


async def store_receipt(record: BlockRecord) -> ContextPack:
    """Store the receipt and count uses; if the store cannot be written, the pack says so."""
    record.tell()
    try:
        await record.runtime.ledger.note(partial(write_receipts, accounts=[record]))
    except StorageError as error:
        return mark_receipt_missing(record.pack, error)
    return record.pack


def mark_receipt_missing(pack: ContextPack, error: MemstoneError) -> ContextPack:
    """Return a pack whose receipt could not be stored."""
    return replace(pack, receipt_id="", degraded=(*pack.degraded, {"step": "receipt", **error.as_dict()}))


async def write_receipts(tx: Tx, accounts: Sequence[BlockRecord]) -> None:
    """Write receipts of one tenant and count each use once."""
    scope, policy = accounts[-1].asked.scope, accounts[-1].runtime.policy.retrieval
    last = max(one.asked.now for one in accounts)
    counted = Counter(use for one in accounts for use in set(one.uses()))
    while counted:
        await tx.links.record_uses(counted, last)
        counted -= Counter(dict.fromkeys(counted, 1))
    ids = await ids_of_left_out(tx, scope.tenant_id, [one.asked for one in accounts])
    for one in accounts:
        receipt = one.receipt(ids)
        await tx.receipts.put(one.asked.scope, receipt.id, receipt.as_stored(), receipt.created_at)
    oldest = to_instant(datetime_from_instant(last) - timedelta(days=policy.receipt_days))
    await tx.receipts.prune(scope.tenant_id, keep=policy.receipts, before=oldest)


def _search_tier(runtime: Runtime, asked: ContextQuery) -> str:
    """Return what the search used: words alone, vectors in this process, or an external store."""
    if not runtime.embedding.on or any(one.get("channel") == "dense" for one in asked.degraded):
        return "keyword"
    fell_back = any(one.get("channel") == STORE for one in asked.degraded)
    return "embedded" if fell_back or runtime.index.is_embedded else "external"
