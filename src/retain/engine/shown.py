"""``shown``: a block for a service that has a model to ask; the account of it is kept behind the answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass

from retain.engine.access.bounds import BoundLedger
from retain.engine.erasing.erasure_report import digest
from retain.engine.late_receipts import Late
from retain.engine.parts import Parts
from retain.engine.recall.account import Account, recorded, unkept
from retain.engine.recall.context import answered, held
from retain.engine.requests import ContextRequest
from retain.model.context import ContextPack
from retain.ports.erasure import Erased
from retain.ports.ledger import Ledger, Tx


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


def _whole(ledger: Ledger) -> Ledger:
    """The store of the tenant: what was found within bounds is written with what others have found."""
    return ledger.beneath if isinstance(ledger, BoundLedger) else ledger


async def _store(tx: Tx, late: Sequence[_Behind]) -> None:
    """Write what is not written yet, and nothing of anybody who was erased meanwhile."""
    tenant, accounts = late[0].account.parts.tenant_id, [one.account for one in late]
    written = await tx.receipts.known(tenant, [one.pack.receipt_id for one in accounts])
    since = min(one.asked.now for one in accounts)
    erased = await tx.receipts.erased(tenant, since)
    key = (await tx.vault.keys()).get(tenant, b"") if erased else b""
    wanted = [one for one in accounts if one.pack.receipt_id not in written and not _is_gone(one, erased, key)]
    for one in late:
        one.tell()
    if wanted:
        await recorded(tx, wanted)


def _is_gone(account: Account, erased: Sequence[Erased], key: bytes) -> bool:
    """Whether whoever was asked about has been erased since."""
    return any(one.created_at >= account.asked.now and _concerns(one, account, key) for one in erased)


def _concerns(erased: Erased, account: Account, key: bytes) -> bool:
    if erased.memory_id:
        return False
    names = ("user_id", "agent_id", "run_id")
    given = [(name, value) for name in names if (value := getattr(erased, name))]
    return all(digest(key, name, getattr(account.asked.scope, name)) == value for name, value in given)
