"""``flush``: try again what could not be stored when it was said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from retain.engine.draft import Details, Draft, verbatim_draft
from retain.engine.parts import Parts
from retain.engine.write import Prepared, commit, prepare
from retain.model.event import Signal
from retain.model.message import Message
from retain.model.scope import Scope
from retain.ports.ledger import Tx

_AT_ONCE: Final = 500


async def flush(parts: Parts, given: Mapping[str, Any]) -> dict[str, Any]:
    """Store what waits in a scope (or everywhere); what fails again keeps waiting."""
    scope = Scope.of(**given, tenant_id=parts.tenant_id)
    waiting = await parts.ledger.read(lambda tx: tx.signals.pending(scope, _AT_ONCE))
    drafts = [_draft(parts, signal, at) for at, signal in enumerate(waiting)]
    prepared = await prepare(parts, drafts)
    failed = {outcome.draft.item: str(outcome.error) for outcome in prepared.failed}
    ready = Prepared(prepared.drafts, space=prepared.space)
    now = parts.now()

    async def work(tx: Tx) -> int:
        for at, signal in enumerate(waiting):
            status = "pending" if at in failed else "processed"
            await tx.signals.mark(parts.tenant_id, [signal.id], status, failed.get(at))
        return len(await commit(parts, tx, ready, now))

    stored = await parts.ledger.write(work) if waiting else 0
    return {"stored": stored, "waiting": len(failed)}


def _draft(parts: Parts, signal: Signal, at: int) -> Draft:
    data = signal.data
    message = Message(data["role"], signal.user_text, data["name"])
    details = Details(data["kind"], signal.occurred_at, data["key"], data["expires_at"], data["metadata"])
    return verbatim_draft(signal.scope, message, details, parts.policy.dedupe_scope, at)
