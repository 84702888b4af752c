"""``suggest_instructions``: suggest settings for a use case, with a model or by rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from memstone.core.llm.instructions import instructions_question, parse_instructions
from memstone.engine.learn.by_model import ask_model
from memstone.engine.learn.question_cost import INSTRUCTIONS, problem_of, start_question
from memstone.engine.policy import apply_llm_consent
from memstone.engine.runtime import Runtime
from memstone.errors import InvalidInput, MemstoneError, TooLarge
from memstone.model.policy import SuggestedSettings
from memstone.model.scope import Scope

if TYPE_CHECKING:
    from memstone.results import InstructionSuggestion

MOST_CHARS: Final = 2_000


async def suggest_instructions(runtime: Runtime, use_case: str) -> InstructionSuggestion:
    """Return instructions, settings and where they come from; nothing is changed.

    When the model fails or cannot be understood, the rules answer, and ``degraded`` says why.
    """
    text, runtime = _validate_use_case(use_case), apply_llm_consent(runtime)
    if runtime.llm is None:
        return _format_suggestion(text, runtime.language.advice.suggest(text), "rules")
    question = start_question(runtime, INSTRUCTIONS, Scope(runtime.tenant_id))
    try:
        advice = await ask_model(
            question.runtime,
            instructions_question(text),
            lambda answer: parse_instructions(answer, text, runtime.language.advice),
        )
    except MemstoneError as error:
        await question.log(problem_of(error))
        by_rules = _format_suggestion(text, runtime.language.advice.suggest(text), "rules")
        return {**by_rules, "degraded": [{"step": "instructions", **error.as_dict()}]}
    await question.log()
    return _format_suggestion(text, advice.value.suggestion, "llm")


def _format_suggestion(
    use_case: str, found: SuggestedSettings, source: Literal["llm", "rules"]
) -> InstructionSuggestion:
    return {
        "use_case": use_case,
        "source": source,
        "domains": list(found.domains),
        "instructions": found.instructions,
        "include": list(found.include),
        "exclude": list(found.exclude),
        "categories": dict(found.categories),
        "example_settings": found.settings(),
    }


def _validate_use_case(use_case: object) -> str:
    if not isinstance(use_case, str) or not any(char.isalnum() for char in use_case):
        raise InvalidInput("say in a few words what the memory is for", hint='such as "a cooking coach for families"')
    if len(use_case) > MOST_CHARS:
        raise TooLarge(f"a use case has at most {MOST_CHARS:,} characters", hint="a few sentences are enough")
    return " ".join(use_case.encode("utf-8", "replace").decode().split())
