"""What scenarios about ``context`` do to a memory, whichever face stands before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memstone.engine.recall.context import build_context
from memstone.engine.recall.receipts import get_receipt
from memstone.engine.runtime import Parts
from memstone.engine.scoping import ContextRequest
from memstone.engine.storing.draft import text_hash
from memstone.engine.storing.store import insert_version
from memstone.model.context import ContextPack, Receipt
from memstone.model.ids import new_id
from memstone.model.memory import Kind, Layer, Link, Record
from memstone.model.policy import Recall, RetrievalPolicy
from memstone.model.scope import Scope
from tests.english import ENGLISH
from tests.faces.harness import Face


async def parts_of(face: Face, *, recall: Recall | None = None, **policy: Any) -> Parts:
    """What the engine of a face is made of, with a policy that shows whatever is found unless it says otherwise."""
    engine = face.memory.engine
    await engine.open()
    parts = engine.parts
    retrieval = RetrievalPolicy(**{"gate": "always", "false_injection": 0.0, **policy})
    changed = replace(parts.policy, retrieval=retrieval, recall=recall or parts.policy.recall)
    return replace(parts, policy=changed)


async def shown(face: Face | Parts, query: str, **rest: Any) -> ContextPack:
    """The block for a query of alice (or whoever is named)."""
    parts = face if isinstance(face, Parts) else await parts_of(face)
    if not rest.keys() & {"user_id", "agent_id", "run_id"}:
        rest["user_id"] = "alice"
    return await build_context(parts, ContextRequest(query, **rest))


async def account(face: Face | Parts, pack: ContextPack) -> Receipt:
    """The receipt of a block."""
    found = await get_receipt(face if isinstance(face, Parts) else await parts_of(face), pack.receipt_id)
    assert found is not None, "no receipt was kept"
    return found


def lines(pack: ContextPack) -> list[str]:
    """What stands in the section that answers the query."""
    return [
        line for section in pack.sections if section.name not in ("overrides", "narrative") for line in section.lines
    ]


async def keep(
    face: Face,
    text: str,
    *,
    layer: Layer = Layer.IDENTITY,
    kind: Kind = Kind.OVERRIDE,
    user_id: str = "alice",
    **more: Any,
) -> str:
    """Put a row of any layer into the ledger: what the rest of the product will do."""
    parts = await parts_of(face)
    now = parts.now()
    times = dict.fromkeys(("occurred_at", "created_at", "updated_at", "valid_from", "anchor_at"), now)
    record = Record(new_id(), text, text_hash(text), **{**times, "layer": layer, "kind": kind, **more})
    scope = Scope(parts.tenant_id, user_id)
    await parts.ledger.write(lambda tx: insert_version(tx, ENGLISH, record, [Link(scope, now)], []))
    return record.id
