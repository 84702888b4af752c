"""``ingest_session``: a whole conversation in the place of what was known of it, and its memory at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from memstone.core.checks.filters import current, within
from memstone.core.talk.transcript import TranscriptInput
from memstone.engine.access.pause import not_stored
from memstone.engine.access.quotas import admit
from memstone.engine.agents import meet
from memstone.engine.layers.episodes import uncount_episode
from memstone.engine.learning.ingest import (
    Transcript,
    checked_transcript,
    embed_turns,
    lesson_signals,
    new_entries,
    unknown_turns,
)
from memstone.engine.learning.lessons import lessons_of
from memstone.engine.learning.queueing import is_on
from memstone.engine.parts import Parts
from memstone.engine.requests import IngestRequest
from memstone.engine.storing.draft import event_of
from memstone.engine.storing.mention import find_names
from memstone.engine.storing.store import ensure_space, enter_all, leave
from memstone.engine.tuning import tuned_for
from memstone.engine.work.claims import Claim, take
from memstone.engine.work.jobs import DISABLED, NO_SIGNALS, ends
from memstone.engine.work.session_work import Formed
from memstone.engine.work.sessions import form_claimed
from memstone.errors import InvalidInput, ScopeError
from memstone.model.event import EventType
from memstone.model.instant import Instant, When
from memstone.model.memory import Layer, Record, Status
from memstone.model.query import And, Condition, Op, Or
from memstone.model.scope import Scope
from memstone.ports.access_tables import Usage
from memstone.ports.ledger import Tx

REPLACED: Final = "the conversation was ingested again"
_SIDES: Final = ("user", "assistant")
_TIMES: Final = ("date", "occurred_at", "timestamp", "created_at")
_PAGE: Final = 500


@dataclass(slots=True)
class SessionRequest:
    """One call of ``ingest_session``."""

    turns: TranscriptInput | Iterable[Mapping[str, Any]]
    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    occurred_at: When | None = None
    metadata: Mapping[str, Any] | None = None
    skip_extraction: bool = False


async def ingest_session(parts: Parts, request: SessionRequest) -> dict[str, Any]:
    """Keep a conversation and form memory of it now; the answer says what came of that."""
    given, count = _flat(request.turns)
    parts = await tuned_for(parts, request)
    if (idle := not_stored(parts)) is not None:
        return {"status": idle["status"], "turns_ingested": 0, "distillation": DISABLED, "reason": idle["reason"]}
    said = await parts.io.compute(partial(_checked, parts, request, given))
    if not said.turns:
        return _answer(said, 0, Formed(_scope(parts, request)))
    keeps = parts.policy.curation.keep_turns
    new = await parts.ledger.read(partial(unknown_turns, parts=parts, turns=said.turns)) if keeps else []
    chars = sum(len(turn.text) for turn in (new if keeps else said.turns))
    await admit(parts, _scope(parts, request), Usage(turns=len(new), chars=chars))
    if keeps:
        await embed_turns(parts, said, new)
        await find_names(parts.io, new)
    learns = not request.skip_extraction
    async with parts.workshop.turn(parts.io):
        claimed = await parts.ledger.write(partial(_replace, parts=parts, said=said, learns=learns and is_on(parts)))
        formed = Formed(said.turns[0].draft.scope) if claimed is None else await form_claimed(parts, claimed)
    if learns and not is_on(parts):
        formed.outcome = DISABLED
    if request.agent_id is not None:
        await meet(parts, [request.agent_id])
    return _answer(said, count, formed)


def _scope(parts: Parts, request: SessionRequest) -> Scope:
    scope = parts.scope({"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id})
    if not scope.run_id:
        raise ScopeError("a session has a run_id", hint="name the conversation: run_id=...")
    return scope


def _checked(parts: Parts, request: SessionRequest, given: TranscriptInput) -> Transcript:
    who, scope = (request.user_id, request.agent_id, request.run_id), _scope(parts, request)
    said = checked_transcript(parts, IngestRequest(given, *who, request.metadata, request.occurred_at))
    if any(turn.draft.scope != scope for turn in said.turns):
        raise InvalidInput("turns name another run_id", hint="one call is about one conversation")
    return said


def _flat(given: Any) -> tuple[list[Any], int]:
    """Pairs as messages, messages as they are; and how many turns of whoever called that makes."""
    if isinstance(given, (str, Mapping)):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, (bytes, bytearray)):
        raise InvalidInput(f"turns must be pairs or messages, not {type(given).__name__}")
    flat: list[Any] = []
    count = 0
    for at, item in enumerate(given):
        messages = list(_pair(item, at)) if isinstance(item, Mapping) and not item.keys().isdisjoint(_SIDES) else [item]
        flat += messages
        count += bool(messages)
    if not flat:
        raise InvalidInput("turns is empty")
    return flat, count


def _pair(item: Mapping[str, Any], at: int) -> Iterator[dict[str, Any]]:
    """What a user said and what was answered; a side that is blank is left out."""
    unknown = set(item) - {*_SIDES, *_TIMES}
    if unknown:
        raise InvalidInput(f"turns[{at}] has an unknown field: {', '.join(sorted(map(str, unknown)))}")
    when = next((item[name] for name in _TIMES if item.get(name) is not None), None)
    for side in _SIDES:
        text = item.get(side)
        if text is not None and not isinstance(text, str):
            raise InvalidInput(f"turns[{at}].{side} must be text, not {type(text).__name__}")
        if text and text.strip():
            yield {"role": side, "content": text, **({} if when is None else {"occurred_at": when})}


async def _replace(tx: Tx, *, parts: Parts, said: Transcript, learns: bool) -> Claim | None:
    """Put a conversation in the place of the one that was known under its name, claimed by us if it is learned from."""
    now, scope, keeps = parts.now(), said.turns[0].draft.scope, parts.policy.curation.keep_turns
    await tx.signals.clear(scope)
    await _clear(tx, scope, {turn.draft.dedupe for turn in said.turns}, now)
    if keeps:
        entries = await new_entries(tx, parts, said.turns, said.space, now, said.counts)
        if said.space is not None and entries:
            await ensure_space(tx, parts.tenant_id, said.space)
        await enter_all(tx, entries)
    if not learns:
        return None
    signals = lesson_signals(parts, said, lessons_of(said.turns), now, keeps=keeps)
    signals = [one for one in signals if one.data["messages"]]
    await tx.signals.put(signals)
    return await take(tx, parts, scope, signals) if signals else None


async def _clear(tx: Tx, scope: Scope, kept: set[str], now: Instant) -> None:
    """End the episodes of a conversation, and the turns that are no longer part of it."""
    layers = Or(tuple(Condition("layer", Op.EQ, str(layer)) for layer in (Layer.TURN, Layer.EPISODE)))
    where, ended = And((within(scope), layers, current())), list[Record]()
    for page in range(0, 1 << 53, _PAGE):
        found = await tx.memories.find(where, limit=_PAGE, offset=page)
        own = [one for one in found if one.link.scope == scope]
        ended += [one.record for one in own if one.record.layer == Layer.EPISODE or one.link.dedupe not in kept]
        if len(found) < _PAGE:
            break
    for record in ended:
        await leave(tx, record, Status.SUPERSEDED, now)
        if record.layer == Layer.EPISODE:
            await uncount_episode(tx, record)
    told = {"reason": REPLACED, "actor": "ingest", "ended": True}
    await tx.events.append(event_of(EventType.DELETE, one, scope, now, before=one, **told) for one in ended)  # type: ignore[arg-type]


def _answer(said: Transcript, count: int, formed: Formed) -> dict[str, Any]:
    answer: dict[str, Any] = {"status": _status(formed.outcome), "turns_ingested": count}
    shown = formed.as_dict()
    answer |= {name: shown[name] for name in ("distillation", "episode_id") if name in shown}
    return answer | ({"warnings": said.warnings} if said.warnings else {})


def _status(outcome: str) -> str:
    """``ok`` only when nothing is left to do: what waits for a model, or was given up, says so."""
    if ends(outcome) or outcome == NO_SIGNALS:
        return "ok"
    return "failed" if outcome.startswith("dead_letter:") else "disabled" if outcome == DISABLED else "pending"


def spoken(turns: Sequence[Any]) -> list[Any]:
    """Messages without what tools and systems say; pairs are left as they are."""
    return [one for one in turns if not isinstance(one, Mapping) or one.get("role", "user") in _SIDES]
