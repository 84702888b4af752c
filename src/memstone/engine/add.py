"""``add``: one call from request to answer. Whoever wants to know how memories are written reads this first.

A request is let in unless memory is paused or full (``access/``). With ``infer=False`` its messages are stored as they
are: drafted, embedded, committed. Else it is learned from: messages become turns, facts are extracted from them,
embedded, compared with what is known, decided upon and committed in one transaction with the turns
(``learn_from_conversation``); where memory forms later, the turns are stored and wait in the inbox. No transaction is
open while a model works.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from memstone.engine import results
from memstone.engine.access.admission import turned_away
from memstone.engine.add_request import AddRequest, draft_request
from memstone.engine.runtime import Parts
from memstone.engine.storing.draft import Draft
from memstone.engine.storing.repeat_counter import note_known
from memstone.engine.storing.write import Outcome, Prepared, commit_drafts, embed_drafts

if TYPE_CHECKING:
    from memstone.engine.learning.converse import Learned
    from memstone.engine.storing.turns import Turn
    from memstone.language.language import FactReader
    from memstone.results import AddResult


async def add(parts: Parts, request: AddRequest) -> AddResult:
    """Store what one request says, or learn from it."""
    return await (learn_messages(parts, request) if request.infer else store_messages(parts, request))


# --- infer=False: the messages as they are ----------------------------------------------------------------------------


async def store_messages(parts: Parts, request: AddRequest) -> AddResult:
    """Store each message as one memory."""
    if (answer := await turned_away(parts, request)) is not None:
        return answer
    drafted = await parts.io.compute(partial(draft_request, parts, request))
    if not parts.waiting.none(parts.tenant_id):
        await retry_waiting(parts, drafted.drafts)
    prepared = await embed_drafts(parts, drafted.drafts)
    if request.strict:
        _raise_first_failure(prepared)
    now = parts.now()
    outcomes = await parts.ledger.write(lambda tx: commit_drafts(parts, tx, prepared, now, lazy=True))
    if prepared.failed:
        parts.waiting.left(parts.tenant_id)
    await note_known(parts, outcomes, now)
    return answer_of(outcomes, drafted.warnings)


async def retry_waiting(parts: Parts, drafts: Sequence[Draft]) -> None:
    """Try again what waits for these people, if anything does and nobody works in the background."""
    if parts.policy.formation.mode == "inline" and await parts.waiting.anything(parts):
        from memstone.engine.work.pending import learn_waiting

        for scope in {draft.scope for draft in drafts}:
            if not await learn_waiting(parts, scope, verbatim=parts.llm is not None):
                break  # whatever is down is down for the others too


def _raise_first_failure(prepared: Prepared) -> None:
    """Raise for the first text that could not be embedded: a strict caller is told before anything is written."""
    for outcome in prepared.failed:
        if outcome.error is not None:
            raise outcome.error


# --- infer=True: what follows from them -------------------------------------------------------------------------------


async def learn_messages(parts: Parts, request: AddRequest) -> AddResult:
    """Learn from a request, unless nothing is learned from whoever speaks."""
    counters = parts.workshop.counters
    if parts.policy.formation.mode != "inline":
        counters.attempt(parts.now())
    if (answer := await turned_away(parts, request)) is not None:
        counters.early_returns_disabled += 1
        return answer
    return await _learn_or_queue(parts, request)


async def _learn_or_queue(parts: Parts, request: AddRequest) -> AddResult:
    """Learn from what one request says, now or later; what is said is stored either way."""
    # What learns takes longer to load than all the rest, so it is loaded when it is first needed.
    from memstone.engine.learning.converse import learn_from_conversation
    from memstone.engine.learning.intake import read_conversation
    from memstone.engine.learning.queueing import is_inline, queue_conversation
    from memstone.engine.storing.holders import PREFIX
    from memstone.engine.work.pending import learn_waiting

    said, warnings = await parts.io.compute(partial(read_conversation, parts, request))
    if not parts.policy.learns and not said.scope.user_id.startswith(PREFIX):
        return _disabled_answer(parts)
    if not is_inline(parts):
        return await queue_conversation(parts, said, warnings)
    if parts.llm is not None or await parts.waiting.anything(parts):
        await learn_waiting(parts, said.scope)
    turns = list(said.turns)
    learned = await learn_from_conversation(parts, said, keep=not request.strict)
    if learned.error is not None and request.strict:
        raise learned.error
    unforgotten = await parts.io.compute(partial(_forget_warnings, parts.language.facts, turns, learned))
    answer = _learned_answer(learned, [*warnings, *learned.warnings, *unforgotten])
    left_out = learned.left_out + len(unforgotten)
    if left_out:
        answer["left_out"] = left_out
    return answer


def _disabled_answer(parts: Parts) -> AddResult:
    parts.workshop.counters.early_returns_disabled += 1
    why, hint = "learning is switched off", "set policy.learns to true to learn again"
    return {"results": [], "status": "disabled", "reason": why, "hint": hint}


def _forget_warnings(reader: FactReader, turns: Sequence[Turn], learned: Learned) -> list[str]:
    """Why requests to forget had no effect. Words never empty a memory: whoever wants that calls ``delete_all``."""
    warnings = ["asked to forget something that is not in memory" for _ in learned.unmet]
    asked = (turn.text for turn in turns if turn.message.role == "user" and not turn.said_before)
    if any(map(reader.asks_to_forget_all, asked)):
        warnings.append("asked to forget everything, but nothing was deleted: call delete_all to do that")
    return warnings


def _learned_answer(learned: Learned, warnings: Sequence[str]) -> AddResult:
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
    """Results, and whether all of it was stored (``ok``), some (``partial``) or none yet (``deferred``); and why."""
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
