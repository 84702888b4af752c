"""What a fact does to the memories near it: by exact words, by a model, by structure and by what is likely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from memstone.core.changes.apart import brings_news
from memstone.core.changes.features import Said
from memstone.core.changes.judge import judge
from memstone.core.changes.linking import is_about_another
from memstone.core.changes.listed import what_stays
from memstone.core.changes.merge import refines
from memstone.core.changes.pairing import Action, Decision
from memstone.core.changes.people import in_full
from memstone.core.changes.reader import (
    CERTAIN,
    Read,
    is_far,
    is_other_wish,
    of_a_message,
    possible,
    verdict,
)
from memstone.core.changes.reconcile import decide
from memstone.core.changes.renew import renewed
from memstone.core.changes.statement import Statement, understand
from memstone.core.rules.marks import SO_FAR, TEMPORARY
from memstone.core.rules.own import own_values
from memstone.core.rules.plain import plain
from memstone.core.rules.stance import is_light
from memstone.engine.learning.relate import Fact, Neighbour
from memstone.engine.storing.draft import text_hash
from memstone.engine.storing.write import Outcome
from memstone.model.event import EventType
from memstone.model.memory import Record, Status

LATER: Final = "what is known was said later"

MOST_RETRACTED: Final = 3
"""One call ends at most so many memories; whoever talks a memory empty should have to do it more than once."""


def has_changed(fact: Fact, before: Sequence[Outcome]) -> bool:
    """Whether something said in the same turn has changed a memory already."""
    mine = (one.event for one in before if one.draft.origin_id == fact.draft.origin_id)
    return any(event in (EventType.UPDATE, EventType.REPLACE, EventType.DELETE) for event in mine)


def decided(fact: Fact, near: Sequence[Neighbour]) -> list[Decision]:
    """What is done to which memory: by exact words, else by a model's proposals, else by structure.

    What a model would do to other memories is done as well. When the proposal that took the fact in no longer holds,
    structure decides about the fact.
    """
    proposed = _proposed(fact, near)
    is_whole = len(proposed) == len(fact.proposals)
    main = _by_words(fact, near)
    if main is None and not (proposed and (is_whole or any(one.action is not Action.RETRACT for one in proposed))):
        main = _by_structure(fact, near)
        if (kept := _of_several(main, fact, near)) is not None:
            return kept
    if main is None:
        return proposed
    changes = (Action.REVISE, Action.RETRACT)
    return [main, *(one for one in proposed if one.action in changes and one.target != main.target)]


def judged(fact: Fact, found: Mapping[int, Record]) -> list[tuple[Decision, Record | None]]:
    """What a model decided, to which memory; ``found`` are those it spoke of, as far as they are still what it saw.

    A new wording for what has changed meanwhile is an addition, and what was to end is left as it is.
    """
    decided: list[tuple[Decision, Record | None]] = []
    for one in fact.proposals:
        target = found.get(one.target) if one.target is not None else None
        if one.target is None or target is not None:
            decided.append((Decision(one.action, None, one.reason, text=one.text), target))
        elif one.action is Action.REVISE:
            decided.append((Decision(Action.ADD, None, "what it changes has changed meanwhile"), None))
    if not fact.adds:
        return decided
    is_kept = any(decision.action is not Action.RETRACT for decision, _ in decided)
    return decided if is_kept else [(Decision(Action.ADD, None, "the model's decision"), None), *decided]


def bounded(decision: Decision, target: Record | None, fact: Fact, before: Sequence[Outcome]) -> Decision:
    """What a model decided, unless it is doubtful, less trusted or older than what it would change.

    What is doubtful stands beside what it would replace; what is older is stored as it was then.
    """
    if target is None or decision.action not in (Action.REVISE, Action.RETRACT):
        return decision
    instead = Decision(Action.ADD if fact.adds else Action.IGNORE, None, "")
    if fact.draft.status != Status.ACTIVE:
        return replace(instead, reason="it waits until somebody approves it")
    if fact.doubtful:
        return replace(instead, reason="it is doubtful, and replaces nothing")
    reason = _outweighed(fact, target, before)
    if not reason:
        return decision
    if reason == LATER and fact.adds and fact.draft.trust >= target.trust:
        return replace(decision, action=Action.ADD, reason=reason)
    return Decision(Action.IGNORE, None, reason)


def _by_words(fact: Fact, near: Sequence[Neighbour]) -> Decision | None:
    """The exact ladder: the same words are the same fact; a fuller sentence refines the one it begins with."""
    for at, one in enumerate(near):
        if one.found.record.hash == text_hash(fact.draft.text):
            return Decision(Action.RETRACT if fact.candidate.forget else Action.IGNORE, at, "the same words are known")
    for at, one in enumerate(near):
        if refines(one.found.record.text, fact.draft.text):
            return Decision(Action.REVISE, at, "the same, and more")
    for at, one in enumerate(near):
        if refines(fact.draft.text, one.found.record.text) and not fact.candidate.forget:
            return Decision(Action.IGNORE, at, "less than is known")
    return None


def _by_structure(fact: Fact, near: Sequence[Neighbour]) -> Decision:
    statement, known = as_said(fact, near), [one.known for one in near]
    if fact.puts_right and (put_right := _put_right(fact, statement, near)) is not None:
        return put_right
    decision = decide(statement, known)
    if fact.read is not None:
        beside = {one.found.record.seq: one.known.statement for one in near}
        news, others = _cannot_be(fact.read, statement, near)
        takes = None if fact.takes in others else fact.takes
        decision = verdict(decision, possible(fact.read, news, others), list(beside), takes)
    elif known and not fact.candidate.forget and not own_values(fact.draft.text, fact.own):
        decision = judge(Said(statement, fact.message.lower(), decision, fact.adds), known)
    if fact.only_read:
        return of_a_message(decision, fact.read, fact.takes, keeps=not fact.candidate.bare)
    if fact.candidate.forget:
        is_known = decision.target is not None and decision.action in (Action.IGNORE, Action.REVISE)
        return Decision(Action.RETRACT if is_known else Action.IGNORE, decision.target, "asked to forget it")
    if not fact.adds and (decision.action in (Action.ADD, Action.IGNORE) or not decision.firm):
        return Decision(Action.IGNORE, None, "says nothing by itself")
    return decision


def _cannot_be(read: Read, statement: Statement, near: Sequence[Neighbour]) -> tuple[set[int], set[int]]:
    """What a statement cannot repeat, and what it cannot replace, whatever was read; or unless that is certain."""
    beside = {one.found.record.seq: one.known.statement for one in near}
    doubted = {seq for seq, odds in read.odds.items() if max(odds.replaces, odds.same) < CERTAIN}
    apart = {seq for seq, memory in beside.items() if is_other_wish(statement, memory)}
    apart |= doubted & {one.found.record.seq for one in near if is_far(statement, one.known)}
    opposed = doubted & {seq for seq, memory in beside.items() if _is_opposed(statement, memory)}
    news = {seq for seq, memory in beside.items() if brings_news(statement, memory)}
    others = {seq for seq, memory in beside.items() if statement.additional or is_about_another(statement, memory)}
    return apart | opposed | news, apart | others


def as_said(fact: Fact, near: Sequence[Neighbour]) -> Statement:
    """What a fact says, of whom it is, and whether only for once: that may stand in its words and not in its text."""
    text = in_full(fact.draft.text, (one.found.record.text for one in near))
    statement = understand(text, fact.own, fact.who)
    said = plain(fact.words).lower()
    return replace(statement, temporary=statement.temporary or bool(TEMPORARY.search(SO_FAR.sub(" ", said))))


def _put_right(fact: Fact, statement: Statement, near: Sequence[Neighbour]) -> Decision | None:
    """Somebody who puts right what they have said, and names only the value, means the last of which it is one."""
    newest = sorted(range(len(near)), key=lambda at: -near[at].found.record.seq)
    recent = (at for at in newest if near[at].found.record.seq >= min(fact.last, default=0))
    at = next((at for at in recent if renewed(near[at].known.statement, statement)), None)
    return None if at is None else Decision(Action.REVISE, at, "put right", certain=True)


def _of_several(decision: Decision, fact: Fact, near: Sequence[Neighbour]) -> list[Decision] | None:
    """What ends one of several things that a memory lists leaves the others, and is a fact of its own; else None."""
    if decision.action not in (Action.REVISE, Action.RETRACT) or decision.target is None or fact.candidate.forget:
        return None
    statement = understand(fact.draft.text, fact.own, fact.who)
    text = what_stays(near[decision.target].known.statement, statement)
    if not text:
        return None
    shorter = replace(decision, action=Action.REVISE, text=text, reason=f"one of several: {decision.reason}")
    return [shorter, Decision(Action.ADD, None, decision.reason)] if fact.adds else [shorter]


def _is_opposed(statement: Statement, memory: Statement) -> bool:
    """Whether one denies what the other says, in the same words: "no meat" may well say what "vegetarian" does."""
    if statement.polarity == memory.polarity or statement.confirms:
        return False
    return any(not is_light(word) for word in statement.whole & memory.whole)


def _proposed(fact: Fact, near: Sequence[Neighbour]) -> list[Decision]:
    """What a model proposed, as far as the versions it spoke of are still those that hold."""
    places: dict[int | None, int | None] = {one.found.record.seq: at for at, one in enumerate(near)}
    places[None] = None
    held = (one for one in fact.proposals if one.target in places)
    return [Decision(one.action, places[one.target], one.reason) for one in held]


def guarded(decision: Decision, target: Record | None, fact: Fact, before: Sequence[Outcome]) -> Decision:
    """What structure decided, unless it is older or less trusted than what it would change."""
    if target is None or decision.action not in (Action.REVISE, Action.RETRACT):
        return decision
    at = decision.target
    if fact.draft.status != Status.ACTIVE:
        adds = fact.adds and not fact.candidate.forget
        return Decision(Action.ADD if adds else Action.IGNORE, None, "it waits until somebody approves it")
    if reason := _outweighed(fact, target, before):
        return Decision(Action.IGNORE, at, reason)
    if decision.linked and has_changed(fact, before):
        return Decision(Action.ADD if fact.adds else Action.IGNORE, None, "the change was told before")
    ended = sum(outcome.event == EventType.DELETE for outcome in before)
    if decision.action is Action.RETRACT and ended >= MOST_RETRACTED:
        return Decision(Action.IGNORE, at, "too many retractions in one call")
    return decision


def _outweighed(fact: Fact, target: Record, before: Sequence[Outcome]) -> str:
    """Why a fact may not change a memory; '' when it may."""
    resent = fact.turn.said_before and not fact.turn.retold
    # What somebody wrote themselves counts from then on; and so does all that came of a conversation, when it is sent
    # again: what is known of the same moment was settled after it, unless it is learned only now.
    since = target.valid_from if resent or "evidence" not in target.data else target.occurred_at
    is_new = any(one.record is not None and one.record.seq == target.seq for one in before)
    if fact.draft.occurred_at < since or (resent and fact.draft.occurred_at == since and not is_new):
        return LATER
    return "what is known comes from a more trusted source" if fact.draft.trust < target.trust else ""
