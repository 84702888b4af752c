"""``add``: one call from request to answer. Read this first to see how memories are written.

First, ``access/`` checks whether memory is paused or full. With ``infer=False``, messages are stored as they are: they
become drafts, are embedded and committed. Otherwise Memstone learns from them (``learn_and_log_cost``): messages
become turns, facts are extracted, embedded and compared with known memories, and the decisions are committed in one
transaction with the turns. If learning runs in the background, the turns are stored and queued. No transaction is open
while a model works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from memstone.engine import results
from memstone.engine.access.admission import check_admission
from memstone.engine.add_request import AddRequest, draft_request, request_scope
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import Draft
from memstone.engine.store.repeat_counter import count_if_all_known
from memstone.engine.store.write import Outcome, PreparedDrafts, commit_drafts, embed_drafts
from memstone.model.memory import Kind

if TYPE_CHECKING:
    from memstone.engine.learn.converse import LearnResult
    from memstone.engine.store.turns import Turn
    from memstone.language.language import FactReader
    from memstone.results import AddResult


async def add(runtime: Runtime, request: AddRequest) -> AddResult:
    """Store the messages of a request, or learn from them."""
    return await (learn_messages(runtime, request) if request.infer else store_messages(runtime, request))


# --- infer=False: the messages as they are ----------------------------------------------------------------------------


async def store_messages(runtime: Runtime, request: AddRequest) -> AddResult:
    """Store each message as one memory."""
    if (answer := await check_admission(runtime, request)) is not None:
        return answer
    drafted = await runtime.io.compute(partial(draft_request, runtime, request))
    if not runtime.waiting.is_empty(runtime.tenant_id):
        await retry_waiting(runtime, drafted.drafts)
    prepared = await embed_drafts(runtime, drafted.drafts)
    if request.strict:
        _raise_first_failure(prepared)
    now = runtime.now()
    # lazy: a repetition alone is not worth waiting for a disk; ``count_if_all_known`` counts it in this process.
    outcomes = await runtime.ledger.write(lambda tx: commit_drafts(runtime, tx, prepared, now, lazy=True))
    if prepared.failed:
        runtime.waiting.record_deferral(runtime.tenant_id)
    await count_if_all_known(runtime, outcomes, now)
    return answer_of(outcomes, drafted.warnings)


async def retry_waiting(runtime: Runtime, drafts: Sequence[Draft]) -> None:
    """Retry what is queued for the owners of these drafts, unless a worker does it."""
    if runtime.policy.formation.mode == "inline" and await runtime.waiting.anything(runtime):
        from memstone.engine.background.flush import learn_waiting

        for scope in {draft.scope for draft in drafts}:
            if not await learn_waiting(runtime, scope, verbatim=runtime.llm is not None):
                break  # whatever is down is down for the others too


def _raise_first_failure(prepared: PreparedDrafts) -> None:
    """Raise the error of the first text that could not be embedded, for ``strict``."""
    for outcome in prepared.failed:
        if outcome.error is not None:
            raise outcome.error


# --- infer=True: what follows from them -------------------------------------------------------------------------------


async def learn_messages(runtime: Runtime, request: AddRequest) -> AddResult:
    """Learn from a request, unless learning is off for the speaker."""
    counters = runtime.worker_state.counters
    if runtime.policy.formation.mode != "inline":
        counters.attempt(runtime.now())
    if (answer := await check_admission(runtime, request)) is not None:
        counters.early_returns_disabled += 1
        return answer
    if request.kind == Kind.PROCEDURAL and request.agent_id is not None:
        return await _add_procedure(runtime, request)
    return await _learn_or_queue(runtime, request)


async def _add_procedure(runtime: Runtime, request: AddRequest) -> AddResult:
    """Store what an agent did as one memory of the agent; these are its words, and no wish of the user."""
    from memstone.engine.learn.procedure import describe_procedure

    if not runtime.policy.learns:
        return _disabled_answer(runtime)
    scope, _ = request_scope(runtime, request)  # nobody is asked about what cannot be stored
    done = await describe_procedure(runtime, scope, request.messages, request.prompt, strict=request.strict)
    message = {"role": "assistant", "content": done.text}
    answer = await store_messages(runtime, replace(request, messages=message, infer=False, prompt=None))
    if done.degraded:
        answer["degraded"] = [*answer.get("degraded", []), *done.degraded]
    if done.warnings:
        answer["warnings"] = [*done.warnings, *answer.get("warnings", [])]
    return answer


async def _learn_or_queue(runtime: Runtime, request: AddRequest) -> AddResult:
    """Learn from a request now, or queue it; its turns are stored in any case."""
    # What learns takes longer to load than all the rest, so it is loaded when it is first needed.
    from memstone.engine.background.model_cost import learn_and_log_cost
    from memstone.engine.learn.converse import LearnMode
    from memstone.engine.learn.intake import prepare_conversation
    from memstone.engine.learn.queue import is_inline, queue_conversation
    from memstone.engine.store.holders import PREFIX

    conversation, warnings = await runtime.io.compute(partial(prepare_conversation, runtime, request))
    if not runtime.policy.learns and not conversation.scope.user_id.startswith(PREFIX):
        return _disabled_answer(runtime)
    if not is_inline(runtime):
        return await queue_conversation(runtime, conversation, warnings)
    # What was deferred in this conversation is learned first, so that later words change earlier ones. ``anything`` may
    # not know yet what another process has deferred; beside a call to a model, looking in the ledger costs nothing.
    if runtime.llm is not None or await runtime.waiting.anything(runtime):
        from memstone.engine.background.flush import learn_waiting

        await learn_waiting(runtime, conversation.scope)
    turns = list(conversation.turns)
    mode = LearnMode.STRICT if request.strict else LearnMode.QUEUE
    learned = await learn_and_log_cost(runtime, conversation, mode)
    if learned.error is not None and request.strict:
        raise learned.error
    # An instruction to forget that ended nothing is a warning, and counts as left out: the user has to know.
    unforgotten = await runtime.io.compute(partial(_forget_warnings, runtime.language.facts, turns, learned))
    answer = _learned_answer(learned, [*warnings, *learned.warnings, *unforgotten])
    left_out = learned.left_out + len(unforgotten)
    if left_out:
        answer["left_out"] = left_out
    return answer


def _disabled_answer(runtime: Runtime) -> AddResult:
    runtime.worker_state.counters.early_returns_disabled += 1
    why, hint = "learning is switched off", "set policy.learns to true to learn again"
    return {"results": [], "status": "disabled", "reason": why, "hint": hint}


def _forget_warnings(reader: FactReader, turns: Sequence[Turn], learned: LearnResult) -> list[str]:
    """Return why requests to forget had no effect.

    Words never empty a memory: whoever wants that calls ``delete_all``.
    """
    warnings = ["asked to forget something that is not in memory" for _ in learned.unmet]
    asked = (turn.text for turn in turns if turn.message.role == "user" and not turn.said_before)
    if any(map(reader.asks_to_forget_all, asked)):
        warnings.append("asked to forget everything, but nothing was deleted: call delete_all to do that")
    return warnings


def _learned_answer(learned: LearnResult, warnings: Sequence[str]) -> AddResult:
    answer = answer_of(learned.outcomes, warnings)
    if learned.error is not None:
        answer["status"] = "partial" if learned.partial else "deferred"
        answer["error"] = learned.error.as_dict()
    if learned.degraded:
        answer["degraded"] = learned.degraded
    if learned.dropped:
        answer["dropped"] = learned.dropped
    if learned.review:
        answer["review"] = learned.review
    if learned.reason:
        answer["reason"] = learned.reason
    return answer


# --- the answer -------------------------------------------------------------------------------------------------------


def answer_of(outcomes: Sequence[Outcome], warnings: Sequence[str]) -> AddResult:
    """Build the answer, with the status ``ok``, ``partial`` or ``deferred``, and the reason."""
    waiting = [results.format_deferred(one, one.error) for one in outcomes if one.error is not None]
    answer: AddResult = {
        "results": [results.format_change(outcome) for outcome in outcomes if outcome.error is None],
        "status": "partial" if waiting else "ok",
    }
    if waiting:
        answer["deferred"] = waiting
        if len(waiting) == len(outcomes):
            answer["status"], answer["error"] = "deferred", waiting[0]["error"]
    if warnings:
        answer["warnings"] = list(warnings)
    return answer
