"""Ask a language model what to do with facts that structure leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from logging import DEBUG
from typing import Final

from memstone.core.llm.decisions import DecisionKind, LlmDecision, decision_prompt, parse_decisions
from memstone.core.llm.evidence import Conversation
from memstone.core.llm.operations import KnownFact
from memstone.engine.learn.by_model import ask_model
from memstone.engine.learn.neighbours import Fact, NeighbourMemory, Proposal, read_related_memories
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import dedupe_value
from memstone.errors import LLMError, MemstoneError
from memstone.language.language import Language
from memstone.model.fact import FactAction, fact_key
from memstone.model.instant import datetime_from_instant
from memstone.model.message import Message
from memstone.model.scope import Scope
from memstone.trace import log_event

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
