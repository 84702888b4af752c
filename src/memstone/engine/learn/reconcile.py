"""Decide what a fact does to similar memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from memstone.core.prompt.profile import Visibility, visibility_of
from memstone.engine.learn.neighbours import Fact, Neighbour
from memstone.engine.store.draft import text_hash
from memstone.engine.store.write import Outcome
from memstone.language.language import ChangeRules
from memstone.model.event import EventType
from memstone.model.fact import Decision, FactAction, New
from memstone.model.memory import Record, Status

LATER: Final = "a later statement is already known"

MOST_RETRACTED: Final = 3
"""One call ends at most so many memories; whoever talks a memory empty should have to do it more than once."""


def decide_actions(fact: Fact, near: Sequence[Neighbour], rules: ChangeRules) -> list[Decision]:
    """Decide what a fact does to which memory: by exact words, a model's proposals, or rules and curator.

    What a model would do to other memories is done as well. When the proposal that took the fact in no longer holds,
    it is decided without it.
    """
    if fact.candidate.forget:
        return _decide_retractions(fact, near, rules)
    proposed = _select_valid_proposals(fact, near)
    is_whole = len(proposed) == len(fact.proposals)
    main = _same_words(fact, near)
    if main is None and not (proposed and (is_whole or any(one.action is not FactAction.RETRACT for one in proposed))):
        new, known = _new_from_fact(fact, rules), [one.known for one in near]
        main = rules.decide(new, known)
        if main.action is FactAction.REVISE and not _is_private(near, main):  # whose words stand behind no other memory
            proposed = [*proposed, *rules.also_changed(new, known, main)]
    if main is None:
        return proposed
    changes = (FactAction.REVISE, FactAction.RETRACT)
    return [main, *(one for one in proposed if one.action in changes and one.target != main.target)]


def _is_private(near: Sequence[Neighbour], main: Decision) -> bool:
    return main.target is not None and visibility_of(near[main.target].found.record.data) == Visibility.PRIVATE


def _new_from_fact(fact: Fact, rules: ChangeRules) -> New:
    return New(
        rules.as_user(fact.draft.text, fact.who),
        fact.words,
        fact.draft.occurred_at[:10],
        fact.own,
        fact.candidate.is_quote,
        fact.adds,
    )


def _decide_retractions(fact: Fact, near: Sequence[Neighbour], rules: ChangeRules) -> list[Decision]:
    """Return the memories that a request asks to forget."""
    targets = rules.find_to_forget(fact.draft.text, [one.known.text for one in near])
    return [Decision(FactAction.RETRACT, at, ASKED_TO_FORGET) for at in targets] or [
        Decision(FactAction.IGNORE, None, ASKED_TO_FORGET)
    ]


ASKED_TO_FORGET: Final = "asked to forget it"


def resolve_proposals(fact: Fact, found: Mapping[int, Record]) -> list[tuple[Decision, Record | None]]:
    """Return the decisions of a model with the memories they are about.

    ``found`` are those it spoke of, as far as they are still what it saw.

    A new wording for what has changed meanwhile is an addition, and what was to end is left as it is.
    """
    decided: list[tuple[Decision, Record | None]] = []
    for one in fact.proposals:
        target = found.get(one.target) if one.target is not None else None
        if one.target is None or target is not None:
            decided.append((Decision(one.action, None, one.reason, text=one.text), target))
        elif one.action is FactAction.REVISE:
            decided.append(
                (Decision(FactAction.ADD, None, "the memory it would change has changed in the meantime"), None)
            )
    if not fact.adds:
        return decided
    is_kept = any(decision.action is not FactAction.RETRACT for decision, _ in decided)
    return decided if is_kept else [(Decision(FactAction.ADD, None, "the model's decision"), None), *decided]


def limit_model_decision(decision: Decision, target: Record | None, fact: Fact, before: Sequence[Outcome]) -> Decision:
    """Return a model's decision, unless the fact is doubtful, less trusted or older than the memory.

    What is doubtful stands beside what it would replace; what is older is stored as it was then.
    """
    if target is None or decision.action not in (FactAction.REVISE, FactAction.RETRACT):
        return decision
    instead = Decision(FactAction.ADD if fact.adds else FactAction.IGNORE, None, "")
    if fact.draft.status != Status.ACTIVE:
        return replace(instead, reason="it waits for approval")
    if fact.doubtful:
        return replace(instead, reason="it is doubtful and replaces nothing")
    reason = _reason_to_refuse(fact, target, before)
    if not reason:
        return decision
    if reason == LATER and fact.adds and fact.draft.trust >= target.trust:
        return replace(decision, action=FactAction.ADD, reason=reason)
    return Decision(FactAction.IGNORE, None, reason)


def _same_words(fact: Fact, near: Sequence[Neighbour]) -> Decision | None:
    for at, one in enumerate(near):
        if one.found.record.hash == text_hash(fact.draft.text):
            return Decision(FactAction.IGNORE, at, "the same words are already known")
    return None


def _select_valid_proposals(fact: Fact, near: Sequence[Neighbour]) -> list[Decision]:
    """Return the proposals whose versions are still current."""
    places: dict[int | None, int | None] = {one.found.record.seq: at for at, one in enumerate(near)}
    places[None] = None
    current = (one for one in fact.proposals if one.target in places)
    return [Decision(one.action, places[one.target], one.reason) for one in current]


def limit_rule_decision(decision: Decision, target: Record | None, fact: Fact, before: Sequence[Outcome]) -> Decision:
    """Return a decision by rules, unless the fact is older or less trusted than the memory.

    An older statement that a later memory contradicts is stored as it was then.
    """
    if target is None or decision.action not in (FactAction.REVISE, FactAction.RETRACT):
        return decision
    at = decision.target
    if fact.draft.status != Status.ACTIVE:
        adds = fact.adds and not fact.candidate.forget
        return Decision(FactAction.ADD if adds else FactAction.IGNORE, None, "it waits for approval")
    if reason := _reason_to_refuse(fact, target, before):
        past = (
            reason == LATER and decision.action is FactAction.REVISE and fact.adds and fact.draft.trust >= target.trust
        )
        return Decision(FactAction.ADD if past else FactAction.IGNORE, at, reason)
    ended = sum(outcome.event == EventType.DELETE for outcome in before)
    if decision.action is FactAction.RETRACT and ended >= MOST_RETRACTED:
        return Decision(FactAction.IGNORE, at, "too many retractions in one call")
    return decision


def _reason_to_refuse(fact: Fact, target: Record, before: Sequence[Outcome]) -> str:
    """Return why a fact may not change a memory; '' if it may."""
    resent = fact.turn.said_before and not fact.turn.retold
    # What somebody wrote themselves counts from then on; and so does all that came of a conversation, when it is sent
    # again: what is known of the same moment was settled after it, unless it is learned only now.
    since = target.valid_from if resent or "evidence" not in target.data else target.occurred_at
    is_new = any(one.record is not None and one.record.seq == target.seq for one in before)
    if fact.draft.occurred_at < since or (resent and fact.draft.occurred_at == since and not is_new):
        return LATER
    return "the known fact comes from a more trusted source" if fact.draft.trust < target.trust else ""
