"""Batches: many items in one transaction, and only once per idempotency key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from memstone.core.checks.arguments import check_fields, checked_text
from memstone.engine.runtime import Runtime
from memstone.errors import Conflict, InvalidInput, TooLarge
from memstone.model.instant import Instant, datetime_from_instant, to_instant
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from memstone.results import BatchAnswer

BATCH_LIFETIME: Final = timedelta(hours=24)
R = TypeVar("R", bound="DataclassInstance")
Item = TypeVar("Item")
BatchWork: TypeAlias = Callable[[Tx], Coroutine[Any, Any, list[Item]]]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that may be carried out."""

    key: str
    request: str

    @classmethod
    def of(cls, runtime: Runtime, verb: str, items: Sequence[Any], key: str | None) -> Batch:
        """Check the size of a batch and its key."""
        if not isinstance(items, Sequence) or isinstance(items, (str, bytes)):
            raise InvalidInput(
                f"a batch must be a list of items, not {type(items).__name__}", hint="put the items into a list"
            )
        limit = runtime.policy.limits.batch
        if len(items) > limit:
            raise TooLarge(f"{len(items):,} items in a batch, the limit is {limit:,}", hint="send several batches")
        if key is None:
            return cls("", "")
        return cls(_caller_prefix(runtime) + checked_text(key, "idempotency_key", 256), _digest_request(verb, items))


async def carried_out(runtime: Runtime, batch: Batch, work: BatchWork[Item], now: Instant) -> BatchAnswer[Item]:
    """Run a batch, or give the answer it got before."""

    async def once(tx: Tx) -> BatchAnswer[Item]:
        known = await tx.idempotency.get(runtime.tenant_id, batch.key) if batch.key else None
        if known is not None:
            return _replay_answer(batch, *known)
        answer: BatchAnswer[Item] = {"results": await work(tx)}
        if batch.key:
            await tx.idempotency.purge(to_instant(datetime_from_instant(now) - BATCH_LIFETIME))
            await tx.idempotency.put(runtime.tenant_id, batch.key, batch.request, json.dumps(answer, default=str), now)
        return answer

    return await runtime.ledger.write(once)


async def answered_before(runtime: Runtime, batch: Batch) -> BatchAnswer[Any] | None:
    """Return the answer a batch got before, so that no model is asked for it again; None when it is new."""
    if not batch.key:
        return None
    known = await runtime.ledger.read(lambda tx: tx.idempotency.get(runtime.tenant_id, batch.key))
    return None if known is None else _replay_answer(batch, *known)


def request_of(made: type[R], item: object, needed: str, other_names: Mapping[str, str] | None = None) -> R:
    """Return one item of a batch as a request.

    Raise ``InvalidInput`` if something is unknown or missing.
    """
    if not isinstance(item, Mapping):
        raise InvalidInput(
            f"a batch item must be a mapping, not {type(item).__name__}", hint=_allowed_fields_hint(made)
        )
    values = dict(item)
    for other, name in (other_names or {}).items():
        if other in values and name not in values:
            values[name] = values.pop(other)
    check_fields(made.__annotations__, values)
    try:
        return made(**values)
    except TypeError:
        known = {field.name for field in fields(made)}
        unknown = ", ".join(sorted(str(name) for name in values if name not in known))
        problem = f"unknown in a batch item: {unknown}" if unknown else f"{needed} is missing in a batch item"
        raise InvalidInput(problem, hint=_allowed_fields_hint(made)) from None


def _allowed_fields_hint(made: type[DataclassInstance]) -> str:
    return "allowed: " + ", ".join(field.name for field in fields(made))


def _caller_prefix(runtime: Runtime) -> str:
    """Return what tells apart the keys of callers who do not reach the same: an answer is only for who got it."""
    bounds = runtime.bounds
    if bounds is None:
        return ""
    return hashlib.sha256(json.dumps(asdict(bounds)).encode()).hexdigest() + ":"


def _replay_answer(batch: Batch, request: str, reply: str) -> BatchAnswer[Any]:
    if request != batch.request:
        raise Conflict("this idempotency key was used for another batch", hint="use a new key for a new batch")
    before: BatchAnswer[Any] = json.loads(reply)
    return {**before, "replayed": True}


def _digest_request(verb: str, items: Sequence[Any]) -> str:
    try:
        written = json.dumps([verb, items], default=str, sort_keys=True)
    except (TypeError, ValueError) as error:  # keys that are not text, or a structure that holds itself
        raise InvalidInput(f"a batch with an idempotency key must be JSON: {error}") from error
    return hashlib.sha256(written.encode()).hexdigest()
