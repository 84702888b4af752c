"""Batches: many items in one transaction, and never twice under one idempotency key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeAlias

from retain.core.check import checked_text
from retain.engine.parts import Parts
from retain.errors import Conflict, InvalidInput, TooLarge
from retain.model.instant import Instant, instant, moment
from retain.ports.ledger import Tx

KEPT: Final = timedelta(hours=24)
BatchWork: TypeAlias = Callable[[Tx], Coroutine[Any, Any, list[dict[str, Any]]]]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that may be carried out."""

    key: str
    request: str

    @classmethod
    def of(cls, parts: Parts, verb: str, items: Sequence[Any], key: str | None) -> Batch:
        """Check the size of a batch and its key."""
        if not isinstance(items, Sequence) or isinstance(items, (str, bytes)):
            raise InvalidInput(f"a batch is a list of items, not {type(items).__name__}")
        limit = parts.policy.limits.batch
        if len(items) > limit:
            raise TooLarge(f"{len(items):,} items in a batch, the limit is {limit:,}", hint="send several batches")
        if key is None:
            return cls("", "")
        return cls(_whose(parts) + checked_text(key, "idempotency_key", 256), _digest(verb, items))


async def carried_out(parts: Parts, batch: Batch, work: BatchWork, now: Instant) -> dict[str, Any]:
    """Run a batch, or give the answer it got before."""

    async def once(tx: Tx) -> dict[str, Any]:
        known = await tx.idempotency.get(parts.tenant_id, batch.key) if batch.key else None
        if known is not None:
            return _replayed(batch, *known)
        answer = {"results": await work(tx)}
        if batch.key:
            await tx.idempotency.purge(instant(moment(now) - KEPT))
            await tx.idempotency.put(parts.tenant_id, batch.key, batch.request, json.dumps(answer), now)
        return answer

    return await parts.ledger.write(once)


async def answered_before(parts: Parts, batch: Batch) -> dict[str, Any] | None:
    """The answer a batch got before, so that no model is asked for it again; None when it is new."""
    if not batch.key:
        return None
    known = await parts.ledger.read(lambda tx: tx.idempotency.get(parts.tenant_id, batch.key))
    return None if known is None else _replayed(batch, *known)


def _whose(parts: Parts) -> str:
    """What tells the keys of callers apart who do not reach the same: an answer is only for whoever got it before."""
    bounds = parts.bounds
    if bounds is None:
        return ""
    return hashlib.sha256(json.dumps([bounds.user_id, bounds.agent_id, bounds.run_id]).encode()).hexdigest() + ":"


def _replayed(batch: Batch, request: str, reply: str) -> dict[str, Any]:
    if request != batch.request:
        raise Conflict("this idempotency key was used for another batch", hint="use a new key for a new batch")
    return {**json.loads(reply), "replayed": True}


def _digest(verb: str, items: Sequence[Any]) -> str:
    try:
        written = json.dumps([verb, items], default=str, sort_keys=True)
    except (TypeError, ValueError) as error:  # keys that are not text, or a structure that holds itself
        raise InvalidInput(f"a batch with an idempotency key must be JSON: {error}") from error
    return hashlib.sha256(written.encode()).hexdigest()
