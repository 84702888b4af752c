"""Decide whether memory helps with a message, and which part of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from memstone.core.gate import TOO_SHORT, checked_mode, decide_route
from memstone.core.llm.questions import ANSWER_TOKENS, gate_question, parse_route, safe_messages
from memstone.engine.learn.question_cost import GATE, problem_of, start_question
from memstone.engine.recall.context_query import LATE, ContextQuery
from memstone.engine.runtime import Runtime
from memstone.language.text.words import has_words
from memstone.model.context_gate import ASKS_HOW_IT_WENT, GateDecision, GateMode, Route
from memstone.model.memory import USER
from memstone.model.scope import Scope
from memstone.ports.models import Llm, Prompt


async def run_gate(
    runtime: Runtime, scope: Scope, message: str, mode: str, names: Collection[str] = ()
) -> GateDecision:
    """Return whether memory helps with a message, and which layer; ``names`` are known names.

    In mode ``llm`` one call is made when the rules find nothing; whatever goes wrong with it, what the rules said
    stands, and the reason tells.
    """
    decision = decide_route(message, runtime.language, mode=mode, names=names)
    if checked_mode(mode) is not GateMode.LLM or decision.helps or decision is TOO_SHORT:
        return decision
    question, problem = start_question(runtime, GATE, scope), ""
    if question.runtime.llm is None:
        return replace(decision, reason=f"{decision.reason}; there is no language model to ask")
    try:
        decision = await _ask_gate_model(question.runtime.llm, message)
    except Exception as error:  # noqa: BLE001 - whatever a model or its client does, the chat goes on
        problem = problem_of(error)
        decision = replace(decision, reason=f"{decision.reason}; the language model failed: {type(error).__name__}")
    await question.log(problem)
    return decision


async def asks_about_user(runtime: Runtime, query: str) -> bool:
    """Return whether a question asks who the user is."""
    return decide_route(query, runtime.language).route is Route.IDENTITY


async def _ask_gate_model(llm: Llm, message: str) -> GateDecision:
    question = gate_question(message)
    prompt = Prompt(safe_messages(question), max_tokens=ANSWER_TOKENS, response_format="json", schema=question.schema)
    route = parse_route((await llm.generate(prompt)).text)
    return GateDecision(route, f"the language model says so ({question.version})")


_NAMES: Final = 200
GATED: Final = frozenset({GateMode.HEURISTIC, GateMode.LLM})
_CERTAIN: Final = frozenset({Route.IDENTITY, Route.TRANSCRIPT})
"""What is asked for in words of several languages."""

OTHER_LANGUAGE: Final = GateDecision(Route.RECALL, "in another language: what is near to the message")


async def decide_gate(runtime: Runtime, asked: ContextQuery) -> GateDecision:
    """Return which part of the memory a query asks for; without a gate, facts and episodes."""
    if asked.without_search:
        return GateDecision(Route.NONE, LATE)
    if asked.route is not None:
        return GateDecision(asked.route, "chosen by the caller")
    if asked.mode is GateMode.PROFILE:
        literal = await _detect_literal_request(runtime, asked)
        return literal or GateDecision(Route.RECALL, "the profile, and what is close to the message")
    names = frozenset[str]() if asked.mode is GateMode.ALWAYS else await _known_names(runtime, asked)
    decision = await run_gate(runtime, asked.scope, asked.query, asked.mode, names)
    return OTHER_LANGUAGE if asked.mode in GATED and _goes_by_nearness(runtime, asked, decision) else decision


def _goes_by_nearness(runtime: Runtime, asked: ContextQuery, decision: GateDecision) -> bool:
    """Return whether the rules cannot read the message, so that similarity decides."""
    if decision is TOO_SHORT or decision.route in _CERTAIN or decision.reason == ASKS_HOW_IT_WENT:
        return False
    unread = asked.mode is GateMode.HEURISTIC or runtime.llm is None
    return unread and has_words(asked.query) and not runtime.language.reads_surely(asked.query)


async def _detect_literal_request(runtime: Runtime, asked: ContextQuery) -> GateDecision | None:
    """Return the decision for a message that asks for the very words that were said; None for any other."""
    if not runtime.language.gate.may_ask_for_words(asked.query):
        return None
    return runtime.language.gate.asks_for_words(asked.query, await _known_names(runtime, asked))


async def _known_names(runtime: Runtime, asked: ContextQuery) -> frozenset[str]:
    """Return the speakers and the most mentioned entities."""
    scope = asked.scope
    known = runtime.blocks.find_in_scope("names", (scope, runtime.bounds), asked.stamps[0]) if asked.stamps else None
    if known is None:
        rows = await runtime.ledger.peek(lambda tx: tx.entities.list_entities(scope, _NAMES, 0))
        known = frozenset(row.name for row in rows if row.norm != USER)
        if asked.stamps:
            runtime.blocks.learn("names", (scope, runtime.bounds), asked.stamps[0], known)
    return known | await runtime.texts.speakers(scope)
