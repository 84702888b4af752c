"""``feedback`` and ``record_answer``: whether shown memories were useful.

A person may say so. Otherwise the answer tells: a memory was used when the answer holds what it says and the question
did not. Either makes the memory stronger or weaker, as far as it is nobody else's too, and goes into the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from memstone.core.checks.arguments import checked_text
from memstone.core.ranking.strength import Strength, apply_judgement, apply_use
from memstone.core.ranking.usage import Use, measure_uses
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import event_of
from memstone.engine.store.holders import partition_links
from memstone.engine.store.sharing import checked_reason
from memstone.engine.store.turns import without_injected
from memstone.engine.store.versions import checked_id, require_current
from memstone.errors import InvalidInput, NotFoundError
from memstone.model.context import Receipt
from memstone.model.event import EventType
from memstone.model.instant import Instant
from memstone.model.memory import Record
from memstone.model.message import Message
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import FeedbackResult, UseReport

USED: Final = "used"
JUDGED: Final = "judged"
USEFUL: Final = "useful"
USELESS: Final = "useless"


async def record_feedback(
    runtime: Runtime,
    about: Mapping[str, str | None],
    values: Mapping[str, Any],
    note: str | None,
    *,
    useful: bool,
) -> FeedbackResult:
    """Note what a person thinks of a memory, or of everything a receipt names."""
    receipt_id, memory_id = about.get("receipt_id"), about.get("memory_id")
    if (receipt_id is None) == (memory_id is None):
        raise InvalidInput("feedback must be about a receipt or a memory", hint="give receipt_id or memory_id")
    if not isinstance(useful, bool):
        raise InvalidInput(f"useful must be true or false, not {useful!r}")
    text, now = checked_reason(runtime, note, "note"), runtime.now()

    async def work(tx: Tx) -> list[str]:
        if receipt_id is not None:
            receipt = await _read_receipt(runtime, tx, receipt_id)
            records, scope = await _read_receipt_memories(runtime, tx, receipt), _receipt_scope(runtime, receipt)
        else:
            records = [await require_current(tx, runtime.tenant_id, checked_id(memory_id))]
            scope = await _judge_of(runtime, tx, records[0], values)
        for record in records:
            await _apply_judgement(tx, record, scope, now, useful=useful, note=text, receipt_id=receipt_id)
        await tx.metrics.count(runtime.tenant_id, scope.user_id, now, {USEFUL if useful else USELESS: len(records)})
        return [record.id for record in records]

    ids = await runtime.ledger.write(work)
    return {"event": "FEEDBACK", "useful": useful, "ids": ids}


async def _judge_of(runtime: Runtime, tx: Tx, record: Record, values: Mapping[str, Any]) -> Scope:
    """Return who judges a memory: whoever is named, else within bounds the holder whose part of it is reached."""
    if runtime.bounds is None or any(value is not None for value in values.values()):
        return runtime.scope(values)
    links = await tx.links.of(record.tenant_id, record.seq)
    return next(link.scope for link in links if runtime.bounds.holds(link.scope))


async def _read_receipt(runtime: Runtime, tx: Tx, receipt_id: str) -> Receipt:
    body = await tx.receipts.get(runtime.tenant_id, checked_id(receipt_id, "receipt_id"))
    if not body:
        raise NotFoundError(f"no receipt {receipt_id}", hint="receipts expire after context.receipt_days days")
    return Receipt.from_dict(body)


def _receipt_scope(runtime: Runtime, receipt: Receipt) -> Scope:
    return Scope(runtime.tenant_id, receipt.user_id or "", receipt.agent_id or "", receipt.run_id or "")


async def _read_receipt_memories(runtime: Runtime, tx: Tx, receipt: Receipt) -> list[Record]:
    """Return what a receipt names, as far as it is still there."""
    found = [await tx.memories.current(runtime.tenant_id, one.id) for one in receipt.chosen]
    return [record for record in found if record is not None]


async def _apply_judgement(
    tx: Tx, record: Record, scope: Scope, now: Instant, *, useful: bool, note: str | None, receipt_id: str | None
) -> None:
    strength = apply_judgement(Strength(record.salience, record.anchor_at), now, useful=useful)
    await _set_strength(tx, record, scope, strength)
    await _append_feedback_event(tx, record, scope, now, note, {"useful": useful, "receipt_id": receipt_id})


async def _set_strength(tx: Tx, record: Record, scope: Scope, strength: Strength) -> None:
    """Let a memory have another strength, unless somebody else holds it, too: they have not said anything."""
    links = await tx.links.of(record.tenant_id, record.seq)
    if not scope.is_open and partition_links(links, [scope])[1]:
        return
    await tx.memories.strengthen(record.seq, strength.base, strength.anchor)


async def _append_feedback_event(
    tx: Tx, record: Record, scope: Scope, now: Instant, note: str | None, about: Mapping[str, Any]
) -> None:
    if scope.is_open:
        scope = (await tx.links.of(record.tenant_id, record.seq))[0].scope
    event = event_of(EventType.FEEDBACK, record, scope, now, reason=note)
    answer = {name: value for name, value in about.items() if value is not None}
    await tx.events.append([replace(event, new_text=None, after=answer)])


async def record_answer(runtime: Runtime, receipt_id: str, answer: str) -> UseReport:
    """Find out which of the memories a receipt names were used in an answer, and note it."""
    text = checked_text(answer, "answer", runtime.policy.limits.text_chars, "limits.text_chars")
    own = without_injected(Message("assistant", text)).text
    receipt, records = await runtime.ledger.read(
        partial(_read_receipt_with_memories, runtime=runtime, receipt_id=receipt_id)
    )
    found = measure_uses(receipt.query, own, [(record.id, record.text) for record in records], runtime.language)
    now = runtime.now()
    await runtime.ledger.write(partial(_record_uses, runtime=runtime, receipt_id=receipt_id, found=found, now=now))
    return {
        "receipt_id": receipt.id,
        "used": [one.id for one in found if one.is_used],
        "unused": [one.id for one in found if not one.is_used],
        "results": [{"id": one.id, "used": one.is_used, "share": one.memory_share} for one in found],
    }


async def note_answers(tx: Tx, answers: Sequence[tuple[Runtime, str, str]]) -> None:
    """Note in one unit which memories several answers used: each with its parts, its receipt and its words.

    Whose receipt is gone by now was erased, or is too old: nothing is noted of that answer.
    """
    for runtime, receipt_id, text in answers:
        try:
            receipt, records = await _read_receipt_with_memories(tx, runtime=runtime, receipt_id=receipt_id)
        except NotFoundError:
            continue
        own = without_injected(Message("assistant", text)).text
        found = measure_uses(receipt.query, own, [(record.id, record.text) for record in records], runtime.language)
        await _record_uses(tx, runtime=runtime, receipt_id=receipt_id, found=found, now=runtime.now())


async def _read_receipt_with_memories(tx: Tx, *, runtime: Runtime, receipt_id: str) -> tuple[Receipt, list[Record]]:
    receipt = await _read_receipt(runtime, tx, receipt_id)
    return receipt, await _read_receipt_memories(runtime, tx, receipt)


async def _record_uses(tx: Tx, *, runtime: Runtime, receipt_id: str, found: Sequence[Use], now: Instant) -> None:
    """Note what was used. An answer that is recorded again takes the place of the one before it."""
    receipt = await _read_receipt(runtime, tx, receipt_id)
    scope, before = _receipt_scope(runtime, receipt), set(receipt.used or ())
    hit = [one for one in found if one.is_used]
    more = {USED: len(hit) - len(before), JUDGED: 0 if receipt.used is not None else len(found)}
    await tx.metrics.count(runtime.tenant_id, scope.user_id, now, more)
    answer = replace(receipt, used=tuple(one.id for one in hit))
    await tx.receipts.amend(runtime.tenant_id, receipt.id, answer.as_stored())
    for one in hit:
        record = await tx.memories.current(runtime.tenant_id, one.id)
        if record is None or one.id in before:
            continue
        await _set_strength(tx, record, scope, apply_use(Strength(record.salience, record.anchor_at), now))
        await _append_feedback_event(tx, record, scope, now, None, {"used": one.memory_share, "receipt_id": receipt.id})
