"""The gate before a read: rules first, a language model only where it is wanted and the rules have found nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from memstone.core.gate import TOO_SHORT, checked_mode, decide
from memstone.core.llm.questions import ANSWER_TOKENS, gate_question, parse_route, safe_messages
from memstone.engine.parts import Parts
from memstone.model.context_gate import GateDecision, GateMode
from memstone.ports.models import Llm, Prompt


async def gate(parts: Parts, message: str, mode: str, names: Collection[str] = ()) -> GateDecision:
    """Whether memory helps with a message and which layer; ``names`` are people and things already known.

    In mode ``llm`` one call is made when the rules find nothing; whatever goes wrong with it, what the rules said
    stands, and the reason tells.
    """
    decision = decide(message, mode=mode, names=names)
    if checked_mode(mode) is not GateMode.LLM or decision.helps or decision is TOO_SHORT:
        return decision
    if parts.llm is None:
        return replace(decision, reason=f"{decision.reason}; there is no language model to ask")
    try:
        return await _asked(parts.llm, message)
    except Exception as error:  # noqa: BLE001 - whatever a model or its client does, the chat goes on
        return replace(decision, reason=f"{decision.reason}; the language model failed: {type(error).__name__}")


async def _asked(llm: Llm, message: str) -> GateDecision:
    question = gate_question(message)
    prompt = Prompt(safe_messages(question), max_tokens=ANSWER_TOKENS, response_format="json", schema=question.schema)
    route = parse_route((await llm.generate(prompt)).text)
    return GateDecision(route, f"the language model says so ({question.version})")
