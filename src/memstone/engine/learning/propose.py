"""What a language model would do with facts that structure leaves open: one question for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from logging import DEBUG
from typing import Final

from memstone.core.changes.decide import Action
from memstone.core.llm.decisions import LlmDecision, Operation, decision_prompt, parse_decisions
from memstone.core.llm.evidence import Conversation
from memstone.core.llm.operations import Known
from memstone.core.reading.facts import fact_key
from memstone.engine.learning.ask import ask
from memstone.engine.learning.relate import Fact, Proposal, Related, related
from memstone.engine.parts import Parts
from memstone.engine.storing.draft import dedupe_value
from memstone.errors import LLMError, MemstoneError
from memstone.model.instant import moment
from memstone.model.message import Message
from memstone.model.scope import Scope
from memstone.trace import log_event

_OPEN_FROM: Final = 0.45
"""Below this cosine a memory has nothing to do with a fact, and no model need be asked."""

_ACTIONS: Final = {
    Operation.ADD: Action.ADD,
    Operation.UPDATE: Action.REVISE,
    Operation.DELETE: Action.RETRACT,
    Operation.NONE: Action.IGNORE,
}


async def propose(parts: Parts, scope: Scope, facts: list[Fact], among: list[Fact], signature: str) -> LLMError | None:
    """Ask about those ``among`` the facts that are near something; notes the answers on them.

    What the model adds beside a change of a memory becomes a fact of its own. Gives the error when the answer breaks
    off: what is complete in it counts.
    """
    near = await related(parts, scope, among, signature)
    asked = [(fact, around) for fact, around in zip(among, near, strict=True) if _is_open(fact, around)]
    if not asked:
        return None
    shown = [_shown(around, parts.policy.curation.neighbours) for _, around in asked]
    neighbours = [[Known(str(one.seq), one.text, one.day) for one in around] for around in shown]
    new = [fact.draft.text for fact, _ in asked]
    build = partial(decision_prompt, new, neighbours, parts.policy.curation.decision_prompt)
    question = await parts.io.compute(build)
    answer = await ask(parts, question, lambda text: parse_decisions(text, len(asked), len(question.targets)))
    for line in answer.value.log:
        log_event("memory.decision.dropped", DEBUG, what=line)
    texts = {one.seq: one.text for around in shown for one in around}
    told = [fact.draft.text for fact, _ in asked]
    added: list[tuple[Fact, str]] = []
    for number, (fact, _) in enumerate(asked, 1):
        decisions = answer.value.for_fact(number) or ()
        added += _note(facts, fact, [_proposal(one, question.targets, texts, fact, told) for one in decisions])
    await _reword(parts, [(fact, text) for fact, text in added if text and text != fact.draft.text])
    return answer.cut


def _is_open(fact: Fact, around: Sequence[Related]) -> bool:
    """Whether a model is asked: about what is new and near something; what only ends something structure decides."""
    if fact.candidate.forget or not fact.adds:
        return False
    if not around or any(one.text == fact.draft.text for one in around):
        return False
    return max(one.cosine for one in around) >= _OPEN_FROM


def _shown(around: Sequence[Related], most: int) -> list[Related]:
    return sorted(around, key=lambda one: -one.cosine)[:most]


def _note(facts: list[Fact], fact: Fact, proposed: Sequence[Proposal]) -> list[tuple[Fact, str]]:
    """Keep one proposal for each memory, the last, and the addition; gives what is added, and in which words.

    A fact that goes into a memory, or that one says already, and is added besides is two facts.
    """
    fact.proposals = list({one.target: one for one in proposed if one.action is not Action.ADD}.values())
    addition = next((one for one in reversed(proposed) if one.action is Action.ADD), None)
    if addition is None:
        return []
    if any(one.action in (Action.REVISE, Action.IGNORE) for one in fact.proposals):
        fact = replace(fact, draft=replace(fact.draft), proposals=[addition])
        facts.append(fact)
    else:
        fact.proposals.append(addition)
    return [(fact, addition.text)]


async def _reword(parts: Parts, added: Sequence[tuple[Fact, str]]) -> None:
    """Give additions the words that the model chose; without a vector for them they keep their own."""
    if not added:
        return
    vectors: Sequence[bytes | MemstoneError | None] = [None] * len(added)
    if parts.embedding.on:
        vectors = await parts.embedding.many([text for _, text in added])
    for (fact, text), vector in zip(added, vectors, strict=True):
        if isinstance(vector, MemstoneError):
            continue
        draft, said = fact.draft, fact.candidate
        draft.text, draft.vector = text, vector
        draft.key = fact_key(said.category, text, said.polarity)
        draft.dedupe = dedupe_value(draft.scope, parts.policy.known_scope, speaker="", key=None, text=text)


def _proposal(
    chosen: LlmDecision, targets: Sequence[str], texts: dict[int, str], fact: Fact, told: Sequence[str]
) -> Proposal:
    """What a decision does; a wording that goes beyond the memory, the facts and what was said is an addition."""
    target = int(targets[chosen.target - 1]) if chosen.target is not None else None
    reason = chosen.reason or "the model's decision"
    known = [texts[target]] if target is not None and target in texts else []
    said = Conversation([Message("user", fact.turn.text)], known=[*known, *told], now=moment(fact.turn.occurred_at))
    borne_out = not chosen.text or said.bears_out(chosen.text)
    if chosen.operation is Operation.UPDATE and not borne_out and fact.judged:
        return Proposal(Action.ADD, None, "", reason)
    return Proposal(_ACTIONS[chosen.operation], target, chosen.text if borne_out else "", reason)
