"""Process waiting sessions one at a time, for the worker or for a caller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from memstone.core.checks.filters import where_current, where_in_scope
from memstone.core.talk.transcript import TranscriptInput
from memstone.engine.access.admission import not_stored
from memstone.engine.access.quotas import check_quotas
from memstone.engine.agents import register_agents
from memstone.engine.background.claims import (
    Claim,
    LostClaim,
    Wanted,
    claim_session,
    give_back,
    hold_on,
    keep_lease_alive,
    take_over_session,
)
from memstone.engine.background.jobs import (
    CANCELLED,
    DISABLED,
    DISTILLED,
    NO_EPISODE,
    NO_SIGNALS,
    UNSET,
    JobFailure,
    Patience,
    Work,
    failure_of,
    is_finished,
    is_low,
    low_novelty,
)
from memstone.engine.layers.distill import DistillResult, distill_session
from memstone.engine.layers.episodes import uncount_episode
from memstone.engine.learn.by_model import meter_model_usage
from memstone.engine.learn.converse import (
    ConversationToLearn,
    LearnMode,
    LearnResult,
    learn_from_conversation,
    reconcile_turns,
)
from memstone.engine.learn.inbox import conversation_of, group_signals, is_session, verbatim_of
from memstone.engine.learn.ingest import (
    IngestRun,
    checked_transcript,
    describe_decisions,
    describe_run,
    embed_turns,
    feed_project,
    lesson_signals,
    new_entries,
    unknown_turns,
)
from memstone.engine.learn.lessons import lessons_of
from memstone.engine.learn.queue import is_on
from memstone.engine.policy import apply_scope_policy, policy_for
from memstone.engine.request_scope import IngestRequest
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import event_of
from memstone.engine.store.indexer import TurnVectors, turn_vectors
from memstone.engine.store.mention import find_names
from memstone.engine.store.versions import end_version, ensure_space, enter_all
from memstone.engine.store.write import PreparedDrafts, commit_drafts, embed_drafts
from memstone.errors import BadModelOutput, InvalidInput, ScopeError, StorageError
from memstone.model.event import EventType, Signal
from memstone.model.instant import Instant, When, datetime_from_instant, to_instant
from memstone.model.memory import Layer, Record, Status
from memstone.model.query import And, Condition, Op, Or
from memstone.model.scope import Scope
from memstone.ports.access_tables import Usage
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import SessionEnd, SessionEndList, SessionResult

# --- work on a claimed session ----------------------------------------------------------------------------------------


SETTLE: Final = timedelta(seconds=5)
"""What failed is tried again after so long: a model that came back gets a moment to settle."""

_EARLIER: Final = 500
"""So many signals of a session that said too little are looked at again when it goes on."""

_SLOWER: Final = 12
"""Every failure that counts makes that so many times longer."""


@dataclass(slots=True)
class FormationResult:
    """What became of a session: how its last piece of work ended, how many signals are done, and what came of them."""

    scope: Scope
    outcome: str = NO_SIGNALS
    ended: int = 0
    details: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> SessionEnd:
        """Return it as callers see it."""
        visible: SessionEnd = {
            "user_id": self.scope.user_id,
            "agent_id": self.scope.agent_id,
            "run_id": self.scope.run_id,
            "distillation": self.outcome,
        }
        if self.details.get("episode_seq"):
            visible["episode_id"] = self.details["episode_seq"]
        return visible


class SessionWork:
    """A claimed session under way."""

    def __init__(self, runtime: Runtime, claimed: Claim, patience: Patience) -> None:
        self._parts, self._claim, self._patience = runtime, claimed, patience
        self._result = FormationResult(claimed.scope)
        self._work, self._vectors = Work("facts", claimed.scope), TurnVectors()

    async def form_memories(self) -> FormationResult:
        """Do all there is to do, piece by piece; whatever happens, others may have the session afterwards."""
        try:
            await self._pieces()
        except LostClaim:  # whoever has it now does it
            self._claim.released, self._result.outcome = True, CANCELLED
        except Exception:
            await give_back(self._parts, self._claim)
            raise
        except BaseException:  # cancelled, or Ctrl-C: nothing was stored, and it speaks against nothing
            await self._store_failure(self._claim.signals, JobFailure(CANCELLED, CANCELLED, counts=False), last=True)
            raise
        await give_back(self._parts, self._claim)
        return self._result

    async def _pieces(self) -> None:
        signals = self._claim.signals
        if verbatim := [one for one in signals if not one.data.get("infer")]:
            await self._store(verbatim)
        lines = [one for one in signals if one.data.get("infer")]
        digest = [one for one in lines if is_session(one)] if self._parts.policy.formation.digest else []
        pieces = list(group_signals([one for one in lines if one not in digest]))
        for at, piece in enumerate(pieces):
            await self._piece(piece, self._learn, "facts", last=not digest and at == len(pieces) - 1)
            if self._patience.over:
                return
        if digest:
            await self._piece(digest, self._distil, "distill", last=True)

    async def _piece(self, signals: Sequence[Signal], do: Any, task: str, *, last: bool) -> None:
        """Do one piece of work; what nobody foresaw counts against it, so that nothing is tried for ever."""
        self._work, self._vectors = Work(task, self._claim.scope), TurnVectors()
        try:
            failure = self._refusal(signals) or await do(signals, last=last)
        except (LostClaim, StorageError):
            raise
        except Exception as error:  # noqa: BLE001 - nobody waits for it: the log and the inbox are where it goes
            failure = failure_of(error)
        self._patience.record_outcome(failure)
        if failure is not None:
            await self._store_failure(signals, failure, last=last)

    def _refusal(self, signals: Sequence[Signal]) -> JobFailure | None:
        """Return why a session is not formed now, whatever is in it."""
        policy = self._parts.policy
        if not is_on(self._parts):
            return JobFailure(DISABLED, DISABLED, counts=False)
        by_rules = self._parts.llm is not None or "pattern" in policy.curation.strategies
        if policy.formation.without_llm == "wait" and not by_rules and is_session(signals[0]):
            return JobFailure(UNSET, UNSET, counts=False)
        return None

    async def _read_conversation(
        self, signals: Sequence[Signal], earlier: Sequence[Signal] = ()
    ) -> ConversationToLearn:
        """Return what was said, as it lies in the store; the vectors it lacks are made, whatever comes of the rest.

        ``earlier`` was too little to make anything of when it was said.
        """
        conversation = await self._parts.io.compute(partial(conversation_of, signals))
        if earlier:
            conversation.turns = [
                *(await self._parts.io.compute(partial(conversation_of, earlier))).turns,
                *conversation.turns,
            ]
        await self._parts.ledger.read(partial(reconcile_turns, conversation=conversation))
        self._vectors = await turn_vectors(self._parts, conversation.stored_turns)
        return conversation

    # --- what was to be stored as it is -------------------------------------------------------------------------------

    async def _store(self, signals: Sequence[Signal]) -> None:
        runtime = self._parts
        numbered = list(enumerate(signals))
        drafts = await runtime.io.compute(lambda: [verbatim_of(runtime, signal, at) for at, signal in numbered])
        prepared = await embed_drafts(runtime, drafts)
        errors = {signals[outcome.draft.item].id: str(outcome.error) for outcome in prepared.failed}
        ready = PreparedDrafts(prepared.drafts, space=prepared.space)

        async def work(tx: Tx) -> int:
            now = runtime.now()
            await hold_on(tx, runtime, self._claim, last=False)
            for signal in signals:
                status, problem = ("pending" if signal.id in errors else "processed"), errors.get(signal.id)
                await self._mark(tx, [signal], status, problem, due_at=_retry_time(now, 0))
            return len(await commit_drafts(runtime, tx, ready, now))

        self._result.ended += await runtime.ledger.write(work)

    # --- facts --------------------------------------------------------------------------------------------------------

    async def _learn(self, signals: Sequence[Signal], *, last: bool) -> JobFailure | None:
        conversation, (asking, meter) = await self._read_conversation(signals), meter_model_usage(self._parts)
        stored: list[JobFailure | None] = []

        async def store_outcome(tx: Tx, learned: LearnResult, now: Instant) -> None:
            self._work.add_cost(meter)
            failure = None if learned.error is None else failure_of(learned.error, session=is_session(signals[0]))
            if failure is None:
                await self._end(tx, signals, DISTILLED, describe_decisions(conversation, learned), now, last=last)
            else:
                await self._keep(tx, signals, failure, describe_decisions(conversation, learned), now, last=last)
            stored.append(failure)

        learned = await learn_from_conversation(asking, conversation, LearnMode.RETRY, closing=store_outcome)
        self._work.add_cost(meter)
        if not stored and learned.error is not None:
            return failure_of(learned.error, session=is_session(signals[0]))
        self._update_result(signals, stored[-1], last=last)
        return None

    # --- a digest -----------------------------------------------------------------------------------------------------

    async def _distil(self, signals: Sequence[Signal], *, last: bool) -> JobFailure | None:
        earlier = await self._parts.ledger.read(lambda tx: tx.signals.passed_over(self._claim.scope, _EARLIER))
        conversation = await self._read_conversation(signals, earlier)
        chars = sum(len(turn.text) for turn in conversation.turns)
        if chars < self._parts.policy.formation.novelty_chars or not conversation.turns:
            made = DistillResult(low_novelty(chars))
        else:
            made = _drop_unusable_answer(
                await distill_session(
                    self._parts, conversation.scope, conversation.turns, occurred_at=conversation.turns[-1].occurred_at
                )
            )
        self._work.model, self._work.input_tokens = made.model, made.input_tokens
        self._work.output_tokens = made.output_tokens
        if not is_finished(made.outcome):
            return _distill_failure(made)

        async def work(tx: Tx) -> dict[str, Any]:
            now = self._parts.now()
            details = {} if made.commit is None else await made.commit(tx, now)
            await feed_project(tx, self._parts.language, conversation, details, now)
            await self._end(tx, signals, made.outcome, {**describe_run(conversation), **details}, now, last=last)
            if not is_low(made.outcome):
                await tx.signals.take_up(self._claim.scope.tenant_id, [one.id for one in earlier])
            return details

        details = await self._parts.ledger.write(work)
        self._update_result(signals, None, last=last)
        self._result.outcome, self._result.details = made.outcome, details
        return None

    # --- how a piece of work ends -------------------------------------------------------------------------------------

    async def _hold(self, tx: Tx, *, last: bool) -> None:
        await hold_on(tx, self._parts, self._claim, last=last)
        await self._vectors.store(tx, self._claim.scope.tenant_id)

    async def _end(
        self, tx: Tx, signals: Sequence[Signal], outcome: str, details: dict[str, Any], now: Instant, *, last: bool
    ) -> None:
        await self._hold(tx, last=last)
        await self._mark(tx, signals, "processed", outcome if is_low(outcome) else None)
        unkept = [one.id for one in signals if not one.data.get("keep_turns", True)]
        await tx.signals.remove(self._claim.scope.tenant_id, unkept)  # what was said is not kept, here neither
        await tx.jobs.put(self._work.row(outcome, {"signals": len(signals), **details}, now))

    async def _keep(
        self,
        tx: Tx,
        signals: Sequence[Signal],
        failure: JobFailure,
        details: dict[str, Any],
        now: Instant,
        *,
        last: bool,
    ) -> None:
        """Leave signals for another try, or give them up; a state that lasts is logged once."""
        await self._hold(tx, last=last)
        status, outcome = self._verdict(signals, failure)
        problem = failure.error if failure.counts or failure.error != failure.outcome else outcome
        tried = max(one.attempts for one in signals) if failure.counts else 0
        await self._mark(tx, signals, status, problem, counts=failure.counts, due_at=_retry_time(now, tried))
        if failure.counts or any(one.last_error != problem for one in signals):
            await tx.jobs.put(self._work.row(outcome, {"signals": len(signals), **details}, now))

    def _verdict(self, signals: Sequence[Signal], failure: JobFailure) -> tuple[str, str]:
        attempts = max(one.attempts for one in signals) + 1
        if failure.counts and attempts >= self._parts.policy.formation.max_attempts:
            return "dead", f"dead_letter:{attempts}"
        return "pending", failure.outcome

    async def _store_failure(self, signals: Sequence[Signal], failure: JobFailure, *, last: bool) -> None:
        async def work(tx: Tx) -> None:
            await self._keep(tx, signals, failure, {}, self._parts.now(), last=last)

        await self._parts.ledger.write(work)
        self._update_result(signals, failure, last=last)

    def _update_result(self, signals: Sequence[Signal], failure: JobFailure | None, *, last: bool) -> None:
        """Take note of what was committed."""
        self._claim.released = last
        self._result.ended += 0 if failure is not None else len(signals)
        self._result.outcome = DISTILLED if failure is None else self._verdict(signals, failure)[1]

    async def _mark(
        self,
        tx: Tx,
        signals: Sequence[Signal],
        status: str,
        problem: str | None,
        *,
        counts: bool = True,
        due_at: Instant | None = None,
    ) -> None:
        """Mark exactly these, and only if all of them still wait: what somebody deleted meanwhile is not learned."""
        ids, tenant = [one.id for one in signals], self._claim.scope.tenant_id
        if await tx.signals.mark(tenant, ids, status, problem, counts=counts, due_at=due_at) != len(ids):
            raise LostClaim(self._claim.name)


def _retry_time(now: Instant, tried: int) -> Instant:
    return to_instant(datetime_from_instant(now) + SETTLE * min(_SLOWER**tried, _SLOWER**2))


def _drop_unusable_answer(made: DistillResult) -> DistillResult:
    """Return an answer that cannot be used is the end of it: the same question would hardly bring a better one."""
    return replace(made, outcome=NO_EPISODE, commit=None) if isinstance(made.error, BadModelOutput) else made


def _distill_failure(made: DistillResult) -> JobFailure:
    """Return why a session was not distilled."""
    if made.error is not None:
        return failure_of(made.error)
    return JobFailure(made.outcome, made.outcome, counts=not made.outcome.startswith("skipped:"))


# --- sessions become memory -------------------------------------------------------------------------------------------


async def form_session(
    runtime: Runtime, sessions: Sequence[Scope], patience: Patience | None = None, *, wanted: Wanted | None = None
) -> FormationResult | None:
    """Form memory of the first of these sessions that can be claimed; None when there is none.

    All belong to the tenant of this runtime. One at a time in a process, the caller.
    """
    async with runtime.worker_state.turn(runtime.io):
        claimed = await claim_session(runtime, sessions, wanted)
        if claimed is None:
            return None
        return await form_claimed(await apply_scope_policy(runtime, claimed.scope), claimed, patience)


async def form_claimed(runtime: Runtime, claimed: Claim, patience: Patience | None = None) -> FormationResult:
    """Form memory of a session that is ours, with parts that are tuned for it; the caller holds the turn.

    What becomes of a session does not depend on who asks for it: with a bound key it is what the worker would make.
    """
    from memstone.engine.access.bounds import remove_bounds

    runtime = remove_bounds(runtime)
    runtime.worker_state.touched.pop(claimed.scope, None)
    async with keep_lease_alive(runtime, claimed):
        return await SessionWork(runtime, claimed, patience or Patience()).form_memories()


async def end_session(runtime: Runtime, values: Mapping[str, Any]) -> SessionEndList:
    """Form memory now of every session in a scope in which something waits."""
    scope = runtime.required_scope(values)
    waiting = await runtime.ledger.peek(lambda tx: tx.signals.sessions(scope, runtime.policy.limits.page))
    formed = [await form_session(runtime, [session]) or await _by_others(runtime, session) for session in waiting]
    return {"results": [one.as_dict() for one in formed]}


async def _by_others(runtime: Runtime, session: Scope) -> FormationResult:
    """Return what became of a session that somebody else was quicker to take, as far as it is known."""
    logged = await runtime.ledger.peek(lambda tx: tx.jobs.find(session, limit=1))
    return (
        FormationResult(session, str(logged[0].details["outcome"]), 0, logged[0].details)
        if logged
        else FormationResult(session)
    )


# --- ``ingest_session`` -----------------------------------------------------------------------------------------------


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


async def ingest_session(runtime: Runtime, request: SessionRequest) -> SessionResult:
    """Keep a conversation and form memory of it now; the answer says what came of that."""
    items, count = _flatten_turns(request.turns)
    runtime = await policy_for(runtime, request)
    if (idle := not_stored(runtime)) is not None:
        return {"status": idle["status"], "turns_ingested": 0, "distillation": DISABLED, "reason": idle["reason"]}
    ingest_run = await runtime.io.compute(partial(_validate_transcript, runtime, request, items))
    if not ingest_run.turns:
        return _build_answer(ingest_run, 0, FormationResult(_session_scope(runtime, request)))
    keeps = runtime.policy.curation.keep_turns
    new = await runtime.ledger.read(partial(unknown_turns, runtime=runtime, turns=ingest_run.turns)) if keeps else []
    chars = sum(len(turn.text) for turn in (new if keeps else ingest_run.turns))
    await check_quotas(runtime, _session_scope(runtime, request), Usage(turns=len(new), chars=chars))
    if keeps:
        await embed_turns(runtime, ingest_run, new)
        await find_names(runtime.io, new, runtime.language.names)
    learns = not request.skip_extraction
    async with runtime.worker_state.turn(runtime.io):
        claimed = await runtime.ledger.write(
            partial(_replace_conversation, runtime=runtime, ingest_run=ingest_run, learns=learns and is_on(runtime))
        )
        formed = (
            FormationResult(ingest_run.turns[0].draft.scope)
            if claimed is None
            else await form_claimed(runtime, claimed)
        )
    if learns and not is_on(runtime):
        formed.outcome = DISABLED
    if request.agent_id is not None:
        await register_agents(runtime, [request.agent_id])
    return _build_answer(ingest_run, count, formed)


def _session_scope(runtime: Runtime, request: SessionRequest) -> Scope:
    scope = runtime.scope({"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id})
    if not scope.run_id:
        raise ScopeError("a session needs a run_id", hint="give the id of the conversation: run_id=...")
    return scope


def _validate_transcript(runtime: Runtime, request: SessionRequest, transcript_input: TranscriptInput) -> IngestRun:
    who, scope = (request.user_id, request.agent_id, request.run_id), _session_scope(runtime, request)
    ingest_run = checked_transcript(
        runtime, IngestRequest(transcript_input, *who, request.metadata, request.occurred_at)
    )
    if any(turn.draft.scope != scope for turn in ingest_run.turns):
        raise InvalidInput("the turns have a different run_id", hint="make one call per conversation")
    return ingest_run


def _flatten_turns(value: Any) -> tuple[list[Any], int]:
    """Return pairs as messages, messages as they are, and how many turns of whoever called that makes."""
    if isinstance(value, (str, Mapping)):
        value = [value]
    if not isinstance(value, Iterable) or isinstance(value, (bytes, bytearray)):
        raise InvalidInput(f"turns must be pairs or messages, not {type(value).__name__}")
    flat: list[Any] = []
    count = 0
    for at, item in enumerate(value):
        messages = (
            list(_split_pair(item, at)) if isinstance(item, Mapping) and not item.keys().isdisjoint(_SIDES) else [item]
        )
        flat += messages
        count += bool(messages)
    if not flat:
        raise InvalidInput("turns is empty")
    return flat, count


def _split_pair(item: Mapping[str, Any], at: int) -> Iterator[dict[str, Any]]:
    """Yield what a user said and what was answered; a side that is blank is left out."""
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


async def _replace_conversation(tx: Tx, *, runtime: Runtime, ingest_run: IngestRun, learns: bool) -> Claim | None:
    """Put a conversation in place of the one that was known under its name, claimed by us if it is learned from."""
    now, scope, keeps = runtime.now(), ingest_run.turns[0].draft.scope, runtime.policy.curation.keep_turns
    await tx.signals.clear(scope)
    await _end_old_memories(tx, scope, {turn.draft.dedupe for turn in ingest_run.turns}, now)
    if keeps:
        entries = await new_entries(tx, runtime, ingest_run.turns, ingest_run.space, now, ingest_run.counts)
        if ingest_run.space is not None and entries:
            await ensure_space(tx, runtime.tenant_id, ingest_run.space)
        await enter_all(tx, runtime.language, entries)
    if not learns:
        return None
    signals = lesson_signals(runtime, ingest_run, lessons_of(ingest_run.turns), now, keeps=keeps)
    signals = [one for one in signals if one.data["messages"]]
    await tx.signals.put(signals)
    return await take_over_session(tx, runtime, scope, signals) if signals else None


async def _end_old_memories(tx: Tx, scope: Scope, remaining: set[str], now: Instant) -> None:
    """End the episodes of a conversation, and the turns that are no longer part of it."""
    layers = Or(tuple(Condition("layer", Op.EQ, str(layer)) for layer in (Layer.TURN, Layer.EPISODE)))
    where, ended = And((where_in_scope(scope), layers, where_current())), list[Record]()
    for page in range(0, 1 << 53, _PAGE):
        found = await tx.memories.find(where, limit=_PAGE, offset=page)
        own = [one for one in found if one.link.scope == scope]
        ended += [one.record for one in own if one.record.layer == Layer.EPISODE or one.link.dedupe not in remaining]
        if len(found) < _PAGE:
            break
    for record in ended:
        await end_version(tx, record, Status.SUPERSEDED, now)
        if record.layer == Layer.EPISODE:
            await uncount_episode(tx, record)
    answer = {"reason": REPLACED, "actor": "ingest", "ended": True}
    await tx.events.append(event_of(EventType.DELETE, one, scope, now, before=one, **answer) for one in ended)  # type: ignore[arg-type]


def _build_answer(ingest_run: IngestRun, count: int, formed: FormationResult) -> SessionResult:
    answer: SessionResult = {
        "status": _answer_status(formed.outcome),
        "turns_ingested": count,
        "distillation": formed.outcome,
    }
    if formed.details.get("episode_seq"):
        answer["episode_id"] = formed.details["episode_seq"]
    if ingest_run.warnings:
        answer["warnings"] = ingest_run.warnings
    return answer


def _answer_status(outcome: str) -> Literal["ok", "failed", "disabled", "pending"]:
    """Return ``ok`` only when nothing is left to do: what waits for a model, or was given up, says so."""
    if is_finished(outcome) or outcome == NO_SIGNALS:
        return "ok"
    return "failed" if outcome.startswith("dead_letter:") else "disabled" if outcome == DISABLED else "pending"


def filter_spoken_turns(turns: Sequence[Any]) -> list[Any]:
    """Return messages without what tools and systems say; pairs are left as they are."""
    return [one for one in turns if not isinstance(one, Mapping) or one.get("role", "user") in _SIDES]
