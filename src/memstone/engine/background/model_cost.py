"""What a language model costs where a call learns at once: a row in the log of jobs, as for work in the background."""

from __future__ import annotations

from typing import Final

from memstone.engine.background.jobs import Work, failure_of
from memstone.engine.learn.by_model import meter_model_usage
from memstone.engine.learn.converse import ConversationToLearn, LearnMode, LearnResult, learn_from_conversation
from memstone.engine.runtime import Runtime
from memstone.model.instant import Instant
from memstone.ports.ledger import Tx

TASK: Final = "add"
LEARNED: Final = "learned"


async def learn_and_log_cost(runtime: Runtime, conversation: ConversationToLearn, mode: LearnMode) -> LearnResult:
    """Learn from a conversation; what a model was asked for it is logged, with what is learned or without.

    An answer that is known already costs nothing, and neither does a model that was not reached: these leave no row.
    """
    asking, meter = meter_model_usage(runtime)
    if meter is None:
        return await learn_from_conversation(runtime, conversation, mode)
    work = Work(TASK, conversation.scope)

    async def store_cost(tx: Tx, learned: LearnResult, now: Instant) -> None:
        work.add_cost(meter)
        if work.input_tokens or work.output_tokens:
            changed = sum(outcome.error is None for outcome in learned.outcomes)
            await tx.jobs.put(work.row(LEARNED, {"changes": changed}, now))

    learned = await learn_from_conversation(asking, conversation, mode, closing=store_cost)
    if work.model is None and (meter.input_tokens or meter.output_tokens):  # paid for, and nothing came of it
        work.add_cost(meter)
        outcome = LEARNED if learned.error is None else failure_of(learned.error).outcome
        await runtime.ledger.write(lambda tx: tx.jobs.put(work.row(outcome, {}, runtime.now())))
    return learned
