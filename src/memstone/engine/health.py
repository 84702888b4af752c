"""Whether memory works: a level, the reasons for it, and a try that leaves nothing behind."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, Final, NoReturn

from memstone.core.text.analyze import match_text
from memstone.engine.parts import Parts
from memstone.engine.storing.draft import new_record, scope_tokens
from memstone.engine.storing.store import enter, leave
from memstone.engine.storing.turns import turn_of
from memstone.engine.work.jobs import FORMING, waits_for_model
from memstone.engine.workshop import Counters
from memstone.errors import MemstoneError, StorageError
from memstone.model.event import Job, Signal
from memstone.model.ids import new_id
from memstone.model.instant import Instant, instant, moment
from memstone.model.memory import Link, Record, Status
from memstone.model.message import Message
from memstone.model.query import TextQuery
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

OWNER: Final = "memstone:probe"
"""Nobody: what is tried in this name is taken back in the same transaction."""

_WORD: Final = "memstoneprobe"
_LATE: Final = timedelta(minutes=10)
_JOBS: Final = 20
_MOST_SESSIONS: Final = 1_000
"""So many sessions are counted; there are as many or more."""


class _TakenBack(Exception):
    """The try was successful and is undone."""


async def health(parts: Parts) -> dict[str, Any]:
    """``healthy``, ``degraded`` or ``unavailable``, and why; nothing that is tried for that is kept."""
    probe = await _probe(parts)
    if not probe["ok"]:
        level = "unavailable" if probe["failed_at"] in ("open", "write") else "degraded"
        return {"level": level, "reasons": [f"probe:{probe['failed_at']}"], "probe": probe}
    figures = await parts.ledger.read(partial(_figures, parts=parts))
    reasons = [*_reasons(parts.workshop.counters, figures), *(["damaged"] if parts.workshop.damage else [])]
    return {"level": "degraded" if reasons else "healthy", "reasons": reasons, "probe": probe, **figures}


async def try_to_write(parts: Parts) -> None:
    """Raise if nothing can be written now; what is tried is taken back in the same transaction."""
    await parts.ledger.ensure_room(by_writing=True)
    with suppress(_TakenBack):
        await parts.ledger.note(partial(_count_once, parts=parts))


async def _count_once(tx: Tx, *, parts: Parts) -> NoReturn:
    now = parts.now()
    await tx.metrics.count(parts.tenant_id, OWNER, now, {_WORD: 1})
    if not await tx.metrics.counted(parts.tenant_id, OWNER, now):  # asked, because what is written may be sent later
        raise StorageError("the store does not hold what was just written")
    raise _TakenBack


async def _figures(tx: Tx, *, parts: Parts) -> dict[str, Any]:
    """What the store says of itself: whether something waits too long, and whether a job was ever logged."""
    counts = await tx.admin.counts(parts.tenant_id)
    late = instant(moment(parts.now()) - _LATE)
    oldest = await tx.signals.pending(Scope(parts.tenant_id), 1)
    logged = await tx.jobs.find(Scope(parts.tenant_id), limit=_JOBS)
    shown = {name: counts[name] for name in ("memories", "fulltext", "vectors", "pending", "dead")}
    without = max(0, counts["memories"] - counts["vectors"]) if parts.embedding.on else 0
    is_late = any(_is_late(one, late) for one in oldest)
    held_up = await _held_up(tx, parts, logged)
    return {**shown, "without_vector": without, "late": is_late, "waiting_for_model": held_up, "jobs": bool(logged)}


async def _held_up(tx: Tx, parts: Parts, logged: Sequence[Job]) -> int:
    """How many sessions wait for a model that could not be asked when the last of them was tried."""
    last = next((job for job in logged if job.task in FORMING), None)
    if last is None or not waits_for_model(str(last.details.get("outcome"))):
        return 0
    return len(await tx.signals.sessions(Scope(parts.tenant_id), _MOST_SESSIONS))


def _is_late(signal: Signal, late: Instant) -> bool:
    return signal.due_at is not None and max(signal.due_at, signal.created_at) < late


def _reasons(counters: Counters, figures: dict[str, Any]) -> list[str]:
    wrong = {
        "fulltext": figures["fulltext"] != figures["memories"],
        "vectors_missing": bool(figures["without_vector"]) and not figures["pending"],
        "pending_without_jobs": figures["late"] and not figures["jobs"],
        "pending_late": figures["late"] and figures["jobs"],
        "waiting_for_model": bool(figures["waiting_for_model"]),
        "dead_letters": bool(figures["dead"]),
        "insert_failures": counters.failing,
    }
    return [reason for reason, is_so in wrong.items() if is_so]


async def _probe(parts: Parts) -> dict[str, Any]:
    """Write what a turn writes, find it again and take it back: where that fails is where writing fails."""
    steps = ["open"]
    problem: dict[str, object] | None = None
    try:
        await parts.ledger.open()
        steps.append("write")
        await parts.ledger.ensure_room(by_writing=True)
        await parts.ledger.write(partial(_try, parts=parts, steps=steps))
    except _TakenBack:
        return {"ok": True, "failed_at": None, "error": None}
    except MemstoneError as error:
        problem = error.as_dict()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        problem = {"code": type(error).__name__, "message": str(error), "hint": "", "retryable": False}
    return {"ok": False, "failed_at": steps[-1], "error": problem}


async def _try(tx: Tx, *, parts: Parts, steps: list[str]) -> NoReturn:
    del steps[2:]  # the unit may be run again
    scope, now = Scope(parts.tenant_id, OWNER), parts.now()
    steps.append("turn")
    record = await _turn(tx, scope, now)
    steps.append("fulltext")
    query = TextQuery(match_text(_WORD).split(), scope_tokens(scope), scope)
    if record.seq not in [seq for seq, _ in await tx.text.match(query, 5)]:
        raise StorageError("the full text does not find what was just stored")
    steps.append("signal")
    await tx.signals.put([Signal(new_id(), scope, _WORD, now, now, due_at=None)])
    if await tx.signals.waiting(scope) != 1:
        raise StorageError("what was kept for later is not there")
    steps.append("leave")
    await leave(tx, record, Status.DELETED, now)
    raise _TakenBack


async def _turn(tx: Tx, scope: Scope, now: Instant) -> Record:
    turn = turn_of(scope, Message("user", f"{_WORD} {new_id()}", ""), now, 0, dated=True)
    record = new_record(turn.draft, scope.tenant_id, now)
    await enter(tx, record, [Link(scope, now, turn.draft.dedupe)], [])
    return record
