"""Cut transcripts into lessons, and recognise turns that are known or idle."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from memstone.core.checks.filters import where_in_scope
from memstone.engine.learn.neighbours import Fact
from memstone.engine.runtime import Runtime
from memstone.engine.store.turns import IDLE, Turn, message_of
from memstone.model.event import Signal
from memstone.model.instant import Instant
from memstone.model.memory import Layer, Record
from memstone.model.query import And, Condition, Op
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

# --- what is to be learned from a transcript, cut into pieces that a model can read at once ---------------------------


TURNS: Final = 20
"""So many turns of one run are learned from together."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """Turns of one run that follow each other; ``last`` is the place of the last one in the transcript."""

    id: str
    turns: tuple[Turn, ...]
    last: int

    def signal(self, metadata: dict[str, Any], expires_at: Instant | None, now: Instant, *, keeps: bool) -> Signal:
        """Return it as a row of the inbox, with all it takes to learn from it later."""
        turns = [turn for turn in self.turns if turn.id or not keeps]  # what a person has deleted is not learned again
        data = {"ingested": True, **signal_data(turns, metadata, expires_at, keep_turns=keeps)}
        first = next((turn.text for turn in turns if turn.message.role == "user"), "")
        scope, when = self.turns[0].draft.scope, self.turns[0].occurred_at
        return Signal(self.id, scope, first, when, now, data=data)


def signal_data(
    turns: Sequence[Turn],
    metadata: dict[str, Any],
    expires_at: Instant | None,
    *,
    keep_turns: bool,
    dated: bool = True,
    prompt: str = "",
) -> dict[str, Any]:
    """Return what a signal contains of turns that are to be learned from later."""
    return {
        "infer": True,
        "messages": [message_of(turn) for turn in turns],
        "metadata": metadata,
        "prompt": prompt,
        "dated": dated,
        "expires_at": expires_at,
        "keep_turns": keep_turns,
    }


def lessons_of(turns: Sequence[Turn]) -> list[Lesson]:
    """Return a transcript as lessons, in the order in which they end."""
    under_way: dict[Scope, list[tuple[int, Turn]]] = {}
    lessons: list[Lesson] = []
    for at, turn in enumerate(turns):
        run = under_way.setdefault(turn.draft.scope, [])
        run.append((at, turn))
        if len(run) == TURNS:
            lessons.append(_build_lesson(under_way.pop(turn.draft.scope)))
    return [*lessons, *(_build_lesson(run) for run in under_way.values())]


def _build_lesson(run: Sequence[tuple[int, Turn]]) -> Lesson:
    turns = tuple(turn for _, turn in run)
    return Lesson(_lesson_id(turns), turns, run[-1][0])


def _lesson_id(turns: Sequence[Turn]) -> str:
    """Return the same id for the same turns, so that a transcript that is sent again is learned from once."""
    digest = hashlib.sha256("".join(turn.draft.dedupe for turn in turns).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


# --- turns that tell nothing to remember ------------------------------------------------------------------------------


async def idle_turns(runtime: Runtime, turns: Sequence[Turn], facts: Iterable[Fact], *, by_model: bool) -> list[Turn]:
    """Return the user's turns that nothing was learned from, where a model or the curator finds nothing in them."""
    known_names = {id(turn) for fact in facts if fact.adds or fact.judged for turn in (fact.turn, *fact.also)}
    left = [(at, one) for at, one in enumerate(turns) if one.message.role == "user" and id(one) not in known_names]
    if by_model:
        return [turn for _, turn in left]
    found = []
    for at, turn in left:
        before = turns[at - 1].text if at else ""
        if runtime.curator is None:
            continue
        if await runtime.io.compute(partial(runtime.language.facts.is_idle, turn.message, before, runtime.curator)):
            found.append(turn)
    return found


async def note_idle(tx: Tx, turns: Iterable[Turn]) -> None:
    """Note with the rows of turns that they are idle."""
    for turn in turns:
        row = await tx.memories.current(turn.draft.scope.tenant_id, turn.id) if turn.id else None
        if row is not None and not row.data.get(IDLE):
            await tx.upkeep.restate(replace(row, data={**row.data, IDLE: True}))


# --- which turns are stored already, or were deleted by a person ------------------------------------------------------


async def recognise_turn(tx: Tx, turn: Turn, scope: Scope, *, last: bool, before: Sequence[Turn] = ()) -> bool:
    """Return whether a turn is stored already; then it is what it was: its id, its place and its time.

    One that a person has deleted is known, too. ``before`` are the turns before it in the call.
    """
    holder = await tx.links.holder(scope.tenant_id, turn.draft.dedupe)
    known = await tx.memories.at(holder) if holder is not None else None
    newest = (last or turn.answered) and not turn.retold
    if known is None:
        is_old = not newest or _goes_on_as_it_did(turn, before)
        turn.deleted = is_old and await tx.suppressions.has(scope.tenant_id, turn.draft.dedupe)
        turn.said_before = turn.said_before or turn.deleted
        return turn.deleted
    if newest and (_goes_on(before) or await _is_said_anew(tx, turn, scope, known)):
        return False
    turn.id, turn.place, turn.said_before, turn.draft.occurred_at = known.id, known.seq, True, known.occurred_at
    if known.trust < turn.draft.trust:  # it was stored as somebody else's words
        turn.draft.origin, turn.draft.trust = known.origin, known.trust
    return True


def _goes_on(before: Sequence[Turn]) -> bool:
    """Return whether the last of what was said before a turn is new: then so is what follows, in whatever words."""
    return bool(before) and not before[-1].place and not before[-1].deleted


def _goes_on_as_it_did(turn: Turn, before: Sequence[Turn]) -> bool:
    """Return whether all that was said before a turn is deleted, and none of it is the same: the whole talk again."""
    return bool(before) and all(one.deleted and one.draft.dedupe != turn.draft.dedupe for one in before)


async def _is_said_anew(tx: Tx, turn: Turn, scope: Scope, known: Record) -> bool:
    """Return whether something was said since, or it was over: else the same words are a call that was repeated."""
    if known.expires_at is not None and known.expires_at <= turn.draft.occurred_at:
        return True
    where = And((where_in_scope(scope), Condition("layer", Op.EQ, str(Layer.TURN)), Condition("seq", Op.GT, known.seq)))
    if turn.answered:  # the answer to it was stored after it, and may be no more than sent again as well
        where = And((where, Condition("source_role", Op.EQ, turn.message.role)))
    return bool(await tx.memories.find(where, limit=1))
