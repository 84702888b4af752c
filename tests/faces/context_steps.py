"""What scenarios about ``context`` do to a memory, whichever face stands before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memstone.engine.context import build_context
from memstone.engine.recall.receipts import get_receipt
from memstone.engine.request_scope import ContextRequest
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import text_hash
from memstone.engine.store.versions import insert_version
from memstone.model.context import ContextPack, Receipt
from memstone.model.ids import new_id
from memstone.model.memory import Kind, Layer, Link, Record
from memstone.model.policy import Recall, RetrievalPolicy
from memstone.model.scope import Scope
from tests.english import ENGLISH
from tests.faces.harness import Face


async def parts_of(face: Face, *, recall: Recall | None = None, **policy: Any) -> Runtime:
    """What the engine of a face is made of, with a policy that shows whatever is found unless it says otherwise."""
    engine = face.memory.engine
    await engine.open()
    runtime = engine.runtime
    retrieval = RetrievalPolicy(**{"gate": "always", "false_injection": 0.0, **policy})
    changed = replace(runtime.policy, retrieval=retrieval, recall=recall or runtime.policy.recall)
    return replace(runtime, policy=changed)


async def shown(face: Face | Runtime, query: str, **rest: Any) -> ContextPack:
    """The block for a query of alice (or whoever is named)."""
    runtime = face if isinstance(face, Runtime) else await parts_of(face)
    if not rest.keys() & {"user_id", "agent_id", "run_id"}:
        rest["user_id"] = "alice"
    return await build_context(runtime, ContextRequest(query, **rest))


async def account(face: Face | Runtime, pack: ContextPack) -> Receipt:
    """The receipt of a block."""
    found = await get_receipt(face if isinstance(face, Runtime) else await parts_of(face), pack.receipt_id)
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
    runtime = await parts_of(face)
    now = runtime.now()
    times = dict.fromkeys(("occurred_at", "created_at", "updated_at", "valid_from", "anchor_at"), now)
    record = Record(new_id(), text, text_hash(text), **{**times, "layer": layer, "kind": kind, **more})
    scope = Scope(runtime.tenant_id, user_id)
    await runtime.ledger.write(lambda tx: insert_version(tx, ENGLISH, record, [Link(scope, now)], []))
    return record.id
