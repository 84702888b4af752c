"""The account of what was shown: the receipt, the counted uses, the log."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from retain.core.planner import OVER_CAP, Plan
from retain.core.redact import Action, RedactPolicy, redact
from retain.engine.parts import Parts
from retain.engine.recall.surface import Material
from retain.errors import StorageError
from retain.model.context import ContextPack, Receipt
from retain.model.ids import new_id
from retain.model.instant import instant, moment
from retain.model.scope import Scope
from retain.ports.ledger import Tx
from retain.trace import log

if TYPE_CHECKING:
    from retain.engine.recall.context import Asked

_QUERY_CHARS: Final = 500
"""So much of a question is kept in its receipt."""


async def receipt(parts: Parts, receipt_id: str) -> Receipt | None:
    """The account of a block, or None when it is not kept (any more)."""
    if not isinstance(receipt_id, str) or not receipt_id.strip():
        return None
    body = await parts.ledger.peek(lambda tx: tx.receipts.get(parts.tenant_id, receipt_id.strip()))
    return Receipt.from_dict(body) if body else None


def packed(asked: Asked, planned: Plan) -> ContextPack:
    """What is shown, under the number of the receipt that is still to be kept."""
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
        warnings=(f"{left_out} of the things to keep in mind are over the cap and not shown",) if left_out else (),
    )


async def accounted(parts: Parts, asked: Asked, pack: ContextPack, found: Material, planned: Plan) -> ContextPack:
    """Keep the receipt and count the uses; a store that cannot be written still answers, and says so."""
    parts.watch.laps("context", asked.ms)
    parts.watch.gated(str(asked.gate.route))
    tell("complete", asked, count=len(planned.chosen), tier=_tier(parts, asked))
    log.debug("memory.retrieval.selected", extra=_event("selected", ids=[one.id for one in planned.chosen]))
    given = _receipt(parts, asked, pack, found, planned)
    try:
        await parts.ledger.note(partial(_recorded, parts=parts, scope=asked.scope, given=given, found=found))
    except StorageError as error:
        return replace(pack, receipt_id="", degraded=(*pack.degraded, {"step": "receipt", **error.as_dict()}))
    return pack


async def _recorded(tx: Tx, *, parts: Parts, scope: Scope, given: Receipt, found: Material) -> None:
    policy = parts.policy.retrieval
    shown = [found.rows[one.id] for one in given.chosen]
    await tx.links.used([(one.record.seq, one.link.scope) for one in shown], given.created_at)
    await tx.receipts.put(scope, given.id, given.as_stored(), given.created_at)
    oldest = instant(moment(given.created_at) - timedelta(days=policy.receipt_days))
    await tx.receipts.prune(scope.tenant_id, keep=policy.receipts, before=oldest)


def _receipt(parts: Parts, asked: Asked, pack: ContextPack, found: Material, planned: Plan) -> Receipt:
    return Receipt(
        id=pack.receipt_id,
        created_at=asked.now,
        query=redact(asked.query, _masking(parts.policy.curation.redact)).text[:_QUERY_CHARS],
        gate=asked.gate,
        budget=asked.budget,
        tokens=planned.tokens,
        considered=len(planned.chosen) + len(planned.dropped) + len(found.dropped) + len(asked.left_out),
        user_id=asked.scope.user_id or None,
        agent_id=asked.scope.agent_id or None,
        run_id=asked.scope.run_id or None,
        chosen=planned.chosen,
        dropped=(*found.dropped, *planned.dropped, *asked.left_out),
        ms=dict(asked.ms),
        degraded=tuple(asked.degraded),
    )


@lru_cache(maxsize=16)
def _masking(wanted: tuple[tuple[str, str], ...]) -> RedactPolicy:
    return RedactPolicy(**{kind: Action(action) for kind, action in wanted})


def _tier(parts: Parts, asked: Asked) -> str:
    """What the answer rests on: words alone, or vectors in this process or in a store outside."""
    if not parts.embedding.on or any(one.get("channel") == "dense" for one in asked.degraded):
        return "keyword"
    return "embedded" if parts.index.embedded else "external"


def tell(step: str, asked: Asked, **more: object) -> None:
    """Log a step of a retrieval, never its content."""
    owner = asked.scope.user_id or asked.scope.agent_id or asked.scope.run_id
    log.info("memory.retrieval.%s", step, extra=_event(step, owner=owner, **more))


def _event(step: str, **more: object) -> dict[str, object]:
    return {"event": f"memory.retrieval.{step}", **more}
