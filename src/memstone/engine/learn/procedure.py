"""How an agent did something, as one text: in a model's words, or as it was said."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from memstone.core.llm.procedure import format_messages, parse_procedure, procedure_question
from memstone.core.talk.messages import MessagesInput, read_messages, stored_messages
from memstone.engine.learn.by_model import ask_model
from memstone.engine.learn.question_cost import ADD, problem_of, start_question
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import check_attachments
from memstone.engine.store.turns import mask_messages, redaction_of
from memstone.errors import InvalidInput, MemstoneError, StorageError
from memstone.model.message import Message
from memstone.model.scope import Scope

if TYPE_CHECKING:
    from memstone.results import Degradation

AS_SAID: Final = "no language model summarises what the agent did here, so it was stored as it was said"


@dataclass(slots=True)
class ProcedureText:
    """The text, and what whoever stores it says beside it."""

    text: str
    warnings: list[str] = field(default_factory=list)
    degraded: list[Degradation] = field(default_factory=list)


async def describe_procedure(
    runtime: Runtime, scope: Scope, messages: MessagesInput, prompt: str | None, *, strict: bool
) -> ProcedureText:
    """Return what an agent did, without secrets; a model that fails leaves the words as they are, unless strict."""
    warnings: list[str] = []
    remaining = await runtime.io.compute(partial(_clean_messages, runtime, messages, warnings))
    text = format_messages(remaining)
    if not text:
        raise InvalidInput("the messages say nothing about what the agent did", hint="give them a text")
    if runtime.llm is None:
        return ProcedureText(text, [*warnings, AS_SAID])
    question = start_question(runtime, ADD, scope)
    try:
        answer = await ask_model(question.runtime, procedure_question(remaining, prompt or ""), parse_procedure)
    except StorageError:
        raise
    except MemstoneError as error:
        await question.log(problem_of(error))
        if strict:
            raise
        return ProcedureText(text, warnings, [{"step": "procedure", **error.as_dict()}])
    await question.log()
    return ProcedureText(answer.value.text, warnings)


def _clean_messages(runtime: Runtime, messages: MessagesInput, warnings: list[str]) -> list[Message]:
    read = check_attachments(runtime.policy, stored_messages(read_messages(messages, runtime.policy.limits, warnings)))
    remaining, found = mask_messages(read, redaction_of(runtime.policy))
    warnings += found
    return list(remaining)
