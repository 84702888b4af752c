"""``add`` with ``infer=True``: store the turns, and learn from them.

The steps are: extract, embed, relate and decide, commit. No transaction is open while a model works. If a model cannot
be reached, ``LearnMode`` says what becomes of the rest; usually it is queued, and the next call in the same scope tries
again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from memstone.core.checks.filters import write_filters
from memstone.engine.learn.by_model import ConversationQuestion, as_llm_error, in_two
from memstone.engine.learn.commit import CommitPlan, NeedsVectors, apply_plan, known_in
from memstone.engine.learn.extract import FACTS, ExtractedFacts, extract_facts
from memstone.engine.learn.graph_llm import graph_of
from memstone.engine.learn.lessons import idle_turns, note_idle, recognise_turn, signal_data
from memstone.engine.learn.neighbours import (
    Fact,
    find_neighbours,
    read_changes,
)
from memstone.engine.learn.proposals import request_proposals
from memstone.engine.policy import apply_scope_policy
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import Draft
from memstone.engine.store.embedding_context import said_before
from memstone.engine.store.mention import find_names
from memstone.engine.store.turns import Turn
from memstone.engine.store.versions import Space
from memstone.engine.store.write import Outcome, action_of, current_space
from memstone.errors import MemstoneError
from memstone.language.language import Language
from memstone.model.event import EventType, Signal
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.memory import Layer
from memstone.model.query import Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.trace import log, log_event

if TYPE_CHECKING:
    from memstone.results import Degradation, DroppedFact, RemovalProposal

COMPARED_WITH: Final = "compared_with"
"""Where the inbox keeps the filter of a conversation that has one."""


@dataclass(slots=True)
class ConversationToLearn:
    """A conversation to learn from: its owner, turns, and options."""

    scope: Scope
    turns: list[Turn]
    metadata: dict[str, Any] = field(default_factory=dict)
    prompt: str = ""
    dated: bool = True
    expires_at: Instant | None = None
    keep_turns: bool = True
    project: Scope | None = None
    compared_with: Where | None = None
    """Which of the memories that are known its facts are held against; None is all."""

    @property
    def stored_turns(self) -> list[Turn]:
        """The turns that become rows."""
        return self.turns if self.keep_turns else []


@dataclass(slots=True)
class LearnResult:
    """The result of learning; ``error`` if all of it was deferred, or (``partial``) a part."""

    outcomes: list[Outcome]
    error: MemstoneError | None = None
    partial: bool = False
    degraded: list[Degradation] = field(default_factory=list)
    unmet: list[str] = field(default_factory=list)
    """What was asked to be forgotten, and nothing that is known says it."""

    left_out: int = 0
    """How much of it is as it was left before: deleted by a person, or changed since it was said first."""

    dropped: list[DroppedFact] = field(default_factory=list)
    """What a model wrote and is not stored, and why."""

    review: list[RemovalProposal] = field(default_factory=list)
    """Memories that a model would end all at once; they are left as they are until somebody looks at it."""

    warnings: list[str] = field(default_factory=list)
    """What was kept without being learned from, and why."""

    reason: str = ""
    """Why nothing was learned, where that is known: ``language`` of what only a model reads."""


Closing: TypeAlias = Callable[[Tx, LearnResult, Instant], Awaitable[None]]
"""What somebody who learns again has to do in the transaction in which it is learned; what it raises undoes that."""


class LearnMode(StrEnum):
    """What becomes of what cannot be learned now, because a model is out of reach."""

    # The caller gets the error, and nothing is stored: not even the turns.
    STRICT = "strict"
    # The turns are stored, what was learned is committed, and a signal for the rest is queued.
    QUEUE = "queue"
    # What was learned is committed. Nothing is stored or queued for the rest: the signal that is tried again stays.
    RETRY = "retry"


async def learn_from_conversation(
    runtime: Runtime,
    conversation: ConversationToLearn,
    mode: LearnMode = LearnMode.QUEUE,
    *,
    closing: Closing | None = None,
) -> LearnResult:
    """Store turns and commit the facts they state: extract, embed, relate and decide, commit.

    ``closing`` runs in the transaction of the commit, if there is one.
    """
    runtime = await apply_scope_policy(runtime, conversation.scope)
    await runtime.ledger.read(partial(reconcile_turns, conversation=conversation))
    try:
        found = await _extract_and_log(runtime, conversation)
        if found.error is not None and (mode is LearnMode.STRICT or not found.facts):
            return await _put_off_unread(runtime, conversation, found.error, mode)
        space, waiting = await _embed_conversation(runtime, conversation, found.facts)
    except MemstoneError as error:  # an embedder that has just failed is not asked again for the turns alone
        return await _put_off(runtime, conversation, error, mode)
    if mode is LearnMode.STRICT and waiting:
        return LearnResult([], waiting[0].error)
    ready = [fact for fact in found.facts if space is None or _needs_no_vector(fact)]
    cursor, undecided = await _relate_and_decide(runtime, conversation, ready, space)
    if mode is LearnMode.STRICT and undecided is not None:
        return LearnResult([], as_llm_error(undecided))
    missing = found.error or (waiting[0].error if waiting else None)
    plan = _build_plan(conversation, ready, cursor, space)
    learned = await _begin_result(runtime, found, undecided)
    learned.error = found.error if mode is LearnMode.QUEUE else missing
    failed = await _commit(runtime, conversation, found, plan, learned, missing, mode, closing)
    if failed is not None:
        return await _put_off(runtime, conversation, failed, mode, space)
    learned.unmet, learned.left_out = _unmet_forget_requests(ready, learned.outcomes), plan.left_out
    learned.outcomes += waiting if mode is LearnMode.QUEUE else []
    _log_decisions(runtime.language, conversation, found, learned)
    return learned


async def _embed_conversation(
    runtime: Runtime, conversation: ConversationToLearn, facts: Sequence[Fact]
) -> tuple[Space | None, list[Outcome]]:
    """Embed turns and facts, and find the names in turns; return facts without a vector."""
    with runtime.watch.step("learn.embed"):
        space, waiting = await _embed_drafts(runtime, conversation.stored_turns, facts)
        await find_names(runtime.io, conversation.stored_turns, runtime.language.names)
    return space, waiting


def _build_plan(conversation: ConversationToLearn, ready: list[Fact], cursor: int, space: Space | None) -> CommitPlan:
    return CommitPlan(
        conversation.scope,
        conversation.turns,
        ready,
        cursor,
        space,
        keep_turns=conversation.keep_turns,
        project=conversation.project,
    )


async def _commit(
    runtime: Runtime,
    conversation: ConversationToLearn,
    found: ExtractedFacts,
    plan: CommitPlan,
    learned: LearnResult,
    missing: MemstoneError | None,
    mode: LearnMode,
    closing: Closing | None,
) -> MemstoneError | None:
    """Commit the plan, with a signal for what is missing; return why it could not be done."""
    signal, idle = None, list[Turn]()
    if missing is None:
        by_model = _by_model(runtime, found)
        idle = await idle_turns(runtime, conversation.stored_turns, plan.facts, by_model=by_model)
    elif mode is LearnMode.QUEUE:
        signal = signal_of(conversation, conversation.turns, runtime.now(), error=missing)
    unit = partial(_commit_unit, runtime=runtime, plan=plan, signal=signal, into=learned, closing=closing, idle=idle)
    with runtime.watch.step("learn.settle"):
        failed = await _run_unit(runtime, unit)
    if failed is None and signal is not None:
        runtime.waiting.record_deferral(runtime.tenant_id)
    return failed


async def _relate_and_decide(
    runtime: Runtime, conversation: ConversationToLearn, ready: list[Fact], space: Space | None
) -> tuple[int, MemstoneError | None]:
    """Find similar memories for each fact, and let a model decide about open ones.

    Return the ledger position at which was looked, and why no model decided, if one should have.
    """
    with runtime.watch.step("learn.relate"):
        scope, signature = known_in(runtime, conversation.scope), space.signature if space else ""
        open_ones = [fact for fact in ready if not fact.judged or _is_undecided(runtime, conversation, fact)]
        cursor = await find_neighbours(runtime, scope, open_ones, signature)
        undecided = await _try_proposals(runtime, scope, ready, open_ones, space)
        await read_changes(runtime, scope, [fact for fact in ready if not fact.judged], signature)
    if runtime.policy.graph_llm:
        await _name_all(runtime, [fact.draft for fact in ready if fact.adds])
    return cursor, undecided


async def _begin_result(runtime: Runtime, found: ExtractedFacts, undecided: MemstoneError | None) -> LearnResult:
    """Return the parts of the answer that are known before anything is written."""
    learned = LearnResult([], partial=found.error is not None)
    learned.dropped = [one.as_dict() for one in found.dropped]
    learned.review = await _for_review(runtime, found.review)
    learned.warnings = found.left
    learned.reason = "language" if found.foreign and not found.facts else ""
    learned.degraded = [{"step": "extraction", **found.without.as_dict()}] if found.without is not None else []
    learned.degraded += [{"step": "decision", **undecided.as_dict()}] if undecided is not None else []
    return learned


def _by_model(runtime: Runtime, found: ExtractedFacts) -> bool:
    """Return whether a language model read the conversation."""
    wanted = runtime.policy.curation.strategies or (FACTS,)
    return runtime.llm is not None and FACTS in wanted and found.without is None


def _needs_no_vector(fact: Fact) -> bool:
    """Return whether a fact can be committed: it has a vector, or needs none."""
    return fact.draft.vector is not None or (not fact.adds and (fact.judged or not fact.candidate.forget))


def _unmet_forget_requests(facts: Sequence[Fact], outcomes: Sequence[Outcome]) -> list[str]:
    """Return requests to forget that had no effect."""
    ended = {id(one.draft) for one in outcomes if one.event == EventType.DELETE}
    return [one.draft.text for one in facts if one.candidate.forget and id(one.draft) not in ended]


async def _extract_and_log(runtime: Runtime, conversation: ConversationToLearn) -> ExtractedFacts:
    """Extract facts, and log the beginning, the end and a failure."""
    log_event("memory.extraction.start", owner=_owner_id(conversation))
    with runtime.watch.step("learn.extract"):
        within = known_in(runtime, conversation.scope)
        asked = ConversationQuestion(
            conversation.scope,
            within,
            conversation.turns,
            conversation.metadata,
            conversation.prompt,
            conversation.compared_with,
        )
        found = await extract_facts(runtime, asked)
    for fact in found.facts:
        fact.draft.expires_at, fact.compared_with = conversation.expires_at, conversation.compared_with
    if found.error is not None and found.facts:
        _log_failure(conversation, found.error)
    if found.error is None or found.facts:
        log_event("memory.extraction.complete", owner=_owner_id(conversation), factCount=len(found.facts))
    return found


async def reconcile_turns(tx: Tx, *, conversation: ConversationToLearn) -> None:
    """Recognise turns that are stored already, and drop those that were deleted."""
    for at, turn in enumerate(conversation.turns):
        last = turn is conversation.turns[-1]
        known = await recognise_turn(tx, turn, conversation.scope, last=last, before=conversation.turns[:at])
        if not known and not conversation.keep_turns:
            turn.said_before = not (last or turn.answered)  # nobody can tell, so only the newest words count as new
    conversation.turns = [turn for turn in conversation.turns if not turn.deleted]


async def _name_all(runtime: Runtime, drafts: Sequence[Draft]) -> None:
    """Find the entities of all facts, with one question for all of them."""
    for draft, named in zip(drafts, await graph_of(runtime, [draft.text for draft in drafts]), strict=True):
        draft.named = named


def _is_undecided(runtime: Runtime, conversation: ConversationToLearn, fact: Fact) -> bool:
    """Return whether a model found a fact but has not decided about it yet."""
    return fact.judged and fact.adds and not fact.proposals and in_two(runtime, conversation.prompt)


async def _for_review(runtime: Runtime, asked: Sequence[dict[str, Any]]) -> list[RemovalProposal]:
    """Return the memories that a model wanted to end, by their ids."""

    async def work(tx: Tx) -> list[RemovalProposal]:
        rows = [(one, await tx.memories.at(one["seq"])) for one in asked]
        return [{"id": row.id, "memory": one["memory"], "operation": one["operation"]} for one, row in rows if row]

    return await runtime.ledger.read(work) if asked else []


async def _try_proposals(
    runtime: Runtime, scope: Scope, ready: list[Fact], facts: list[Fact], space: Space | None
) -> MemstoneError | None:
    """Let a model decide about facts; if it fails, continue without it and return why."""
    if runtime.llm is None or not facts:
        return None
    try:
        return await request_proposals(runtime, scope, ready, facts, space.signature if space else "")
    except MemstoneError as error:
        return error


async def _embed_drafts(
    runtime: Runtime, turns: Sequence[Turn], facts: Sequence[Fact]
) -> tuple[Space | None, list[Outcome]]:
    """Embed new turns and facts, and return facts without a vector; raise if none has one.

    A turn without a vector is kept: it is found by its words, and a reindex gives it one.
    """
    is_any = any(turn.draft.vector is not None for turn in turns)
    turns = [turn for turn in turns if not turn.place and turn.draft.vector is None]
    only_change = [fact for fact in facts if not fact.adds and not fact.judged and not fact.candidate.forget]
    facts = [fact for fact in facts if fact.adds or (not fact.judged and fact.candidate.forget)]
    drafts = [*(turn.draft for turn in turns), *(fact.draft for fact in facts)]
    if not runtime.embedding.on or not (drafts or is_any):
        return None, []
    space = await current_space(runtime)
    waiting: list[Outcome] = []
    if not drafts:
        return space, waiting
    vectors = await runtime.embedding.many([draft.text for draft in drafts], await said_before(runtime, drafts))
    for draft, vector in zip(drafts, vectors, strict=True):
        if isinstance(vector, MemstoneError):
            waiting.append(Outcome("DEFERRED", None, draft, error=vector))
        else:
            draft.vector = vector
    for fact in only_change:  # what near to it is known is looked for by what the whole turn means
        fact.draft.vector = fact.turn.draft.vector
    unlearned = [outcome for outcome in waiting if outcome.draft.layer is not Layer.TURN]
    wanted, missing = (facts, unlearned) if facts else (turns, waiting)
    if missing and missing[0].error is not None and len(missing) == len(wanted):
        raise missing[0].error
    return space, unlearned


async def _run_unit(runtime: Runtime, unit: partial[Coroutine[Any, Any, None]]) -> MemstoneError | None:
    """Run the unit; if it needs vectors for new texts, embed them outside and run it again."""
    while True:
        try:
            return await runtime.ledger.write(partial(unit, now=runtime.now()))
        except NeedsVectors as missing:
            for text, vector in zip(missing.texts, await runtime.embedding.many(missing.texts), strict=True):
                if isinstance(vector, MemstoneError):
                    return vector
                unit.keywords["plan"].revised[text] = vector


async def _commit_unit(
    tx: Tx,
    *,
    runtime: Runtime,
    plan: CommitPlan,
    signal: Signal | None,
    into: LearnResult,
    closing: Closing | None,
    now: Instant,
    idle: Sequence[Turn] = (),
) -> None:
    into.outcomes = await apply_plan(runtime, tx, plan, now)
    await note_idle(tx, idle)
    if signal is not None:
        await tx.signals.put([signal])
    if closing is not None:
        await closing(tx, into, now)


async def _put_off_unread(
    runtime: Runtime, conversation: ConversationToLearn, error: MemstoneError, mode: LearnMode
) -> LearnResult:
    """Store the turns, if wanted, of a conversation from which nothing was extracted."""
    if mode is LearnMode.STRICT:
        return await _put_off(runtime, conversation, as_llm_error(error), mode)
    space = await _space_of_turns(runtime, conversation) if mode is LearnMode.QUEUE else None
    return await _put_off(runtime, conversation, error, mode, space)


async def _space_of_turns(runtime: Runtime, conversation: ConversationToLearn) -> Space | None:
    """Embed the turns and return their vector space, or None without an embedder."""
    try:
        return (await _embed_drafts(runtime, conversation.stored_turns, []))[0]
    except MemstoneError:
        return None


async def _put_off(
    runtime: Runtime,
    conversation: ConversationToLearn,
    error: MemstoneError,
    mode: LearnMode,
    space: Space | None = None,
) -> LearnResult:
    """In the mode ``QUEUE``, store the turns with their vectors, and queue the conversation; return the error."""
    _log_failure(conversation, error)
    if mode is LearnMode.QUEUE:
        now = runtime.now()
        plan = CommitPlan(conversation.scope, conversation.stored_turns, [], 0, space, project=conversation.project)
        signal = signal_of(conversation, conversation.turns, now, error=error)
        unit = partial(
            _commit_unit, runtime=runtime, plan=plan, signal=signal, into=LearnResult([]), closing=None, now=now
        )
        await runtime.ledger.write(unit)
        runtime.waiting.record_deferral(runtime.tenant_id)
    return LearnResult([], error)


def signal_of(
    conversation: ConversationToLearn,
    turns: Sequence[Turn],
    now: Instant,
    *,
    error: MemstoneError | None = None,
    due_at: Instant | None = "",
    mark: str = "",
) -> Signal:
    """Build the signal for turns that wait to be learned from.

    ``mark`` says how they got there.
    """
    data = {
        **signal_data(
            turns,
            conversation.metadata,
            conversation.expires_at,
            keep_turns=conversation.keep_turns,
            dated=conversation.dated,
            prompt=conversation.prompt,
        ),
        "project": conversation.project.user_id if conversation.project else "",
        **({} if conversation.compared_with is None else {COMPARED_WITH: write_filters(conversation.compared_with)}),
    }
    data |= {mark: True} if mark else {}
    user, assistant = (_first_text(turns, role) for role in ("user", "assistant"))
    when, problem = turns[0].occurred_at if turns else now, str(error) if error is not None else None
    return Signal(
        new_id(), conversation.scope, user or "", when, now, assistant, data, last_error=problem, due_at=due_at
    )


def _first_text(turns: Sequence[Turn], role: str) -> str | None:
    return next((turn.text for turn in turns if turn.message.role == role), None)


def _log_decisions(
    language: Language, conversation: ConversationToLearn, found: ExtractedFacts, learned: LearnResult
) -> None:
    """Log a run and each of its decisions; texts and reasons only at debug level."""
    decided = [(action_of(outcome), outcome.record.id if outcome.record else None) for outcome in learned.outcomes]
    log_event(
        "memory_decision",
        user_id=conversation.scope.user_id,
        input_message_length=sum(len(turn.text) for turn in conversation.turns),
        extracted_count=len(found.facts),
        decisions=[{"action": action, "target_id": target} for action, target in decided],
    )
    if not log.isEnabledFor(logging.DEBUG):
        return
    own = found.facts[0].own if found.facts else ()
    for outcome, (action, target) in zip(learned.outcomes, decided, strict=True):
        log_event(
            "memory_decision",
            logging.DEBUG,
            user_id=conversation.scope.user_id,
            action=action,
            memory_id=target,
            fact=outcome.draft.text,
            reason=outcome.reason,
            slot=", ".join(language.changes.list_slots(outcome.draft.text, own)) or None,
        )


def _log_failure(conversation: ConversationToLearn, error: MemstoneError) -> None:
    """Log the code of a failure, not its message, which may contain anything."""
    log_event("memory.extraction.background.failed", logging.WARNING, owner=_owner_id(conversation), code=error.code)


def _owner_id(conversation: ConversationToLearn) -> str:
    return conversation.scope.user_id or conversation.scope.agent_id or conversation.scope.run_id
