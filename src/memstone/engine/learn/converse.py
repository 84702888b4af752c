"""``add`` with ``infer=True``: store the turns, and learn from them.

The steps are: ingest, extract, relate, reconcile, commit. No transaction is open while a model works. If a model cannot
be reached, the turns are stored, and the next call in the same scope tries again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from logging import DEBUG
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from memstone.core.checks.filters import write_filters
from memstone.core.llm.decisions import DecisionKind, LlmDecision, decision_prompt, parse_decisions
from memstone.core.llm.evidence import Conversation
from memstone.core.llm.operations import KnownFact
from memstone.engine.learn.by_model import ConversationQuestion, as_llm_error, ask_model, in_two
from memstone.engine.learn.commit import CommitPlan, NeedsVectors, apply_plan, known_in
from memstone.engine.learn.extract import FACTS, ExtractedFacts, extract_facts
from memstone.engine.learn.graph_llm import graph_of
from memstone.engine.learn.lessons import idle_turns, note_idle, recognise_turn, signal_data
from memstone.engine.learn.neighbours import (
    Fact,
    NeighbourMemory,
    Proposal,
    find_neighbours,
    read_changes,
    read_related_memories,
)
from memstone.engine.policy import apply_scope_policy
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import Draft, dedupe_value
from memstone.engine.store.embedding_context import said_before
from memstone.engine.store.mention import find_names
from memstone.engine.store.turns import Turn
from memstone.engine.store.versions import Space
from memstone.engine.store.write import Outcome, action_of, current_space
from memstone.errors import LLMError, MemstoneError
from memstone.language.language import Language
from memstone.model.event import EventType, Signal
from memstone.model.fact import FactAction, fact_key
from memstone.model.ids import new_id
from memstone.model.instant import Instant, datetime_from_instant
from memstone.model.memory import Layer
from memstone.model.message import Message
from memstone.model.query import Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.trace import log, log_event

if TYPE_CHECKING:
    from memstone.results import Degradation, DroppedFact, RemovalProposal

# --- what a language model would do with facts that structure leaves open ---------------------------------------------


_OPEN_FROM: Final = 0.45
"""Below this cosine a memory has nothing to do with a fact, and no model need be asked."""

_ACTIONS: Final = {
    DecisionKind.ADD: FactAction.ADD,
    DecisionKind.UPDATE: FactAction.REVISE,
    DecisionKind.DELETE: FactAction.RETRACT,
    DecisionKind.NONE: FactAction.IGNORE,
}


async def request_proposals(
    runtime: Runtime, scope: Scope, facts: list[Fact], among: list[Fact], signature: str
) -> LLMError | None:
    """Ask a model about facts that have similar memories, and note its proposals on them.

    What the model adds beside a change of a memory becomes a fact of its own. Gives the error when the answer breaks
    off: what is complete in it counts.
    """
    near = await read_related_memories(runtime, scope, among, signature)
    asked = [(fact, around) for fact, around in zip(among, near, strict=True) if _is_open(fact, around)]
    if not asked:
        return None
    memories = [_select_nearest(around, runtime.policy.curation.neighbours) for _, around in asked]
    neighbours = [[KnownFact(str(one.seq), one.text, one.day) for one in around] for around in memories]
    new = [fact.draft.text for fact, _ in asked]
    build = partial(decision_prompt, new, neighbours, runtime.policy.curation.decision_prompt)
    question = await runtime.io.compute(build)
    answer = await ask_model(runtime, question, lambda text: parse_decisions(text, len(asked), len(question.targets)))
    for line in answer.value.log:
        log_event("memory.decision.dropped", DEBUG, what=line)
    texts = {one.seq: one.text for around in memories for one in around}
    lines = [fact.draft.text for fact, _ in asked]
    added: list[tuple[Fact, str]] = []
    for number, (fact, _) in enumerate(asked, 1):
        decisions = answer.value.for_fact(number) or ()
        added += _note_proposals(
            facts,
            fact,
            [_build_proposal(runtime.language, one, question.targets, texts, fact, lines) for one in decisions],
        )
    await _reword_additions(runtime, [(fact, text) for fact, text in added if text and text != fact.draft.text])
    return answer.cut


def _is_open(fact: Fact, around: Sequence[NeighbourMemory]) -> bool:
    """Return whether to ask a model about a fact: it is new and has similar memories.

    What only ends something is decided by structure.
    """
    if fact.candidate.forget or not fact.adds:
        return False
    if not around or any(one.text == fact.draft.text for one in around):
        return False
    return max(one.cosine for one in around) >= _OPEN_FROM


def _select_nearest(around: Sequence[NeighbourMemory], most: int) -> list[NeighbourMemory]:
    return sorted(around, key=lambda one: -one.cosine)[:most]


def _note_proposals(facts: list[Fact], fact: Fact, proposed: Sequence[Proposal]) -> list[tuple[Fact, str]]:
    """Keep one proposal per memory, and one addition; return additions and their wording.

    A fact that goes into a memory, or that one says already, and is added besides is two facts.
    """
    fact.proposals = list({one.target: one for one in proposed if one.action is not FactAction.ADD}.values())
    addition = next((one for one in reversed(proposed) if one.action is FactAction.ADD), None)
    if addition is None:
        return []
    if any(one.action in (FactAction.REVISE, FactAction.IGNORE) for one in fact.proposals):
        fact = replace(fact, draft=replace(fact.draft), proposals=[addition])
        facts.append(fact)
    else:
        fact.proposals.append(addition)
    return [(fact, addition.text)]


async def _reword_additions(runtime: Runtime, added: Sequence[tuple[Fact, str]]) -> None:
    """Use the model's wording for additions that get a vector; others keep their own."""
    if not added:
        return
    vectors: Sequence[bytes | MemstoneError | None] = [None] * len(added)
    if runtime.embedding.on:
        vectors = await runtime.embedding.many([text for _, text in added])
    for (fact, text), vector in zip(added, vectors, strict=True):
        if isinstance(vector, MemstoneError):
            continue
        draft, candidate = fact.draft, fact.candidate
        draft.text, draft.vector = text, vector
        draft.key = fact_key(candidate.category, text, candidate.polarity)
        draft.dedupe = dedupe_value(draft.scope, runtime.policy.known_scope, speaker="", key=None, text=text)


def _build_proposal(
    language: Language,
    chosen: LlmDecision,
    targets: Sequence[str],
    texts: dict[int, str],
    fact: Fact,
    lines: Sequence[str],
) -> Proposal:
    """Return the proposal for a decision.

    A wording that goes beyond the memory, the facts and what was said is an addition.
    """
    target = int(targets[chosen.target - 1]) if chosen.target is not None else None
    reason = chosen.reason or "the model's decision"
    known = [texts[target]] if target is not None and target in texts else []
    conversation = Conversation(
        [Message("user", fact.turn.text)],
        known=[*known, *lines],
        now=datetime_from_instant(fact.turn.occurred_at),
        language=language,
    )
    borne_out = not chosen.text or conversation.bears_out(chosen.text)
    if chosen.operation is DecisionKind.UPDATE and not borne_out and fact.judged:
        return Proposal(FactAction.ADD, None, "", reason)
    return Proposal(_ACTIONS[chosen.operation], target, chosen.text if borne_out else "", reason)


# --- ``add`` with ``infer=True`` --------------------------------------------------------------------------------------


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


async def learn_from_conversation(
    runtime: Runtime,
    conversation: ConversationToLearn,
    *,
    keep: bool = True,
    again: bool = False,
    closing: Closing | None = None,
) -> LearnResult:
    """Store turns and commit the facts they state; with ``keep``, queue what cannot be learned now.

    Without, the caller is strict: a model that fails is an ``LLMError`` and nothing is learned. ``again`` is such a
    try: it keeps what it can learn, and whoever makes it keeps the rest waiting, by ``closing`` if anything is kept.
    """
    strict, keep = not keep and not again, keep and not again
    runtime = await apply_scope_policy(runtime, conversation.scope)
    await runtime.ledger.read(partial(reconcile_turns, conversation=conversation))
    try:
        found = await _extract_and_log(runtime, conversation)
        if found.error is not None and (strict or not found.facts):
            space = await _space_of_turns(runtime, conversation) if keep else None
            return await _put_off(
                runtime, conversation, as_llm_error(found.error) if strict else found.error, space, keep=keep
            )
        with runtime.watch.step("learn.embed"):
            space, waiting = await _embed_drafts(runtime, conversation.stored_turns, found.facts)
            await find_names(runtime.io, conversation.stored_turns, runtime.language.names)
    except MemstoneError as error:  # an embedder that has just failed is not asked again for the turns alone
        return await _put_off(runtime, conversation, error, keep=keep)
    if strict and waiting:
        return LearnResult([], waiting[0].error)
    ready = [fact for fact in found.facts if space is None or _needs_no_vector(fact)]
    cursor, undecided = await _relate_and_decide(runtime, conversation, ready, space)
    if runtime.policy.graph_llm:
        await _name_all(runtime, [fact.draft for fact in ready if fact.adds])
    if undecided is not None and strict:
        return LearnResult([], as_llm_error(undecided))
    missing = found.error or (waiting[0].error if waiting else None)
    signal = (
        signal_of(conversation, conversation.turns, runtime.now(), error=missing)
        if missing is not None and keep
        else None
    )
    plan = CommitPlan(
        conversation.scope,
        conversation.turns,
        ready,
        cursor,
        space,
        keep_turns=conversation.keep_turns,
        project=conversation.project,
    )
    learned = await _begin_result(runtime, found, undecided, error=found.error if keep else missing)
    idle = (
        []
        if missing is not None
        else await idle_turns(runtime, conversation.stored_turns, ready, by_model=_by_model(runtime, found))
    )
    unit = partial(_commit_unit, runtime=runtime, plan=plan, signal=signal, into=learned, closing=closing, idle=idle)
    with runtime.watch.step("learn.settle"):
        failed = await _run_unit(runtime, unit)
    if failed is not None:
        return await _put_off(runtime, conversation, failed, space, keep=keep)
    if signal is not None:
        runtime.waiting.record_deferral(runtime.tenant_id)
    learned.unmet, learned.left_out = _unmet_forget_requests(ready, learned.outcomes), plan.left_out
    learned.outcomes += waiting if keep else []
    _log_decisions(runtime.language, conversation, found, learned)
    return learned


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
    return cursor, undecided


async def _begin_result(
    runtime: Runtime, found: ExtractedFacts, undecided: MemstoneError | None, *, error: MemstoneError | None
) -> LearnResult:
    """Return the parts of the answer that are known before anything is written."""
    learned = LearnResult([], error, partial=found.error is not None)
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
    space: Space | None = None,
    *,
    keep: bool,
) -> LearnResult:
    """Store the turns with their vectors, and queue the conversation for another try."""
    _log_failure(conversation, error)
    if keep:
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
