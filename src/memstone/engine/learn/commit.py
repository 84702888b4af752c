"""Write what was learned in one transaction, after looking at known memories again.

Words that were said before keep the outcome they had then, even if their memory has since changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from memstone.core.checks.filters import where_in_scope, where_visible
from memstone.core.prompt.profile import VISIBILITY, Visibility, visibility_of
from memstone.engine.learn.lessons import recognise_turn
from memstone.engine.learn.neighbours import Fact, Neighbour, known_as, read_neighbours
from memstone.engine.learn.reconcile import (
    LATER,
    decide_actions,
    limit_model_decision,
    limit_rule_decision,
    resolve_proposals,
)
from memstone.engine.runtime import Runtime
from memstone.engine.store.deleted_spans import evidence_of, name_again
from memstone.engine.store.draft import (
    Draft,
    dedupe_value,
    event_of,
    new_record,
    owner_alone,
    text_hash,
    waiting_dedupe,
)
from memstone.engine.store.holders import (
    Replacement,
    feed_outcomes,
    feed_turns,
    partition_links,
    replace_for,
    retract_for,
    unlink_holders,
)
from memstone.engine.store.turns import Turn
from memstone.engine.store.versions import (
    Space,
    Vectors,
    end_version,
    ensure_space,
    insert_version,
    link_to,
    supersede_version,
    suppress_memory,
)
from memstone.engine.store.write import Outcome, count_known_outcomes, draft_vectors
from memstone.language.language import ChangeRules
from memstone.language.text.normal import estimate_tokens, normal_text
from memstone.model.event import EventType
from memstone.model.fact import Decision, FactAction, New
from memstone.model.instant import Instant
from memstone.model.memory import MIRROR, Layer, Link, Origin, Record, Status
from memstone.model.query import And, Condition, Op, Where
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

# --- words that come a second time ------------------------------------------------------------------------------------


REASON: Final = "it was said before and has been handled since"
_MOST: Final = 100


async def is_settled(tx: Tx, rules: ChangeRules, fact: Fact, scope: Scope, cursor: int) -> bool:
    """Return whether a stored turn says what was known then but is no longer known.

    Whoever ended or changed that knew these words: it is not for their repetition to bring them back. ``cursor`` is
    where the ledger was before this call, which may itself change its mind.
    """
    if not fact.turn.said_before:
        return False
    if await _were_held(tx, fact, scope, cursor) or await _came_of_it(tx, fact, cursor):
        return True
    return (
        bool(fact.turn.id)
        and not fact.judged
        and not fact.turn.retold
        and await _was_known(tx, rules, fact, scope, cursor)
    )


async def _were_held(tx: Tx, fact: Fact, scope: Scope, cursor: int) -> bool:
    """Return whether an ended version said the same and was valid when the turn was said."""
    turn = fact.turn
    ended: Where = Condition("valid_to", Op.EXISTS, value=True)
    if turn.id:  # what was stored waits to be learned now and then: only what ended later knew of it
        ended = Condition("valid_to", Op.GT if turn.retold else Op.GTE, turn.occurred_at)
    same = Condition("hash", Op.EQ, text_hash(fact.draft.text))
    where = And((where_in_scope(scope), _FACTS, same, ended, Condition("seq", Op.LTE, cursor)))
    return bool(await tx.memories.find(where, limit=1))


async def _came_of_it(tx: Tx, fact: Fact, cursor: int) -> bool:
    """Return whether a version was learned from exactly these words of the turn."""
    turn = fact.turn
    if not turn.id:
        return False
    tenant = Condition("tenant_id", Op.EQ, turn.draft.scope.tenant_id)
    learned = And((tenant, _FACTS, Condition("origin_id", Op.EQ, turn.id), Condition("seq", Op.LTE, cursor)))
    return any(_is_of(one.record, fact) for one in await tx.memories.find(learned, limit=_MOST))


def _is_of(record: Record, fact: Fact) -> bool:
    answer: Any = record.data.get("evidence")
    if not isinstance(answer, dict) or answer.get("turn") != fact.turn.id:
        return False
    start, end = int(answer.get("start", 0)), int(answer.get("end", 0))
    if record.status == Status.DELETED:
        return fact.candidate.start < end and start < fact.candidate.end
    return not fact.turn.retold and (start, end) == (fact.candidate.start, fact.candidate.end)


async def _was_known(tx: Tx, rules: ChangeRules, fact: Fact, scope: Scope, cursor: int) -> bool:
    """Return whether the statement was known or outdated already when it was said."""
    ended = Condition("valid_to", Op.GTE, fact.turn.occurred_at)
    where = And((where_in_scope(scope), _FACTS, ended, Condition("seq", Op.LTE, cursor)))
    memories = [known_as(one.record, fact, rules) for one in await tx.memories.find(where, limit=_MOST)]
    new = New(rules.as_user(fact.draft.text, fact.who), own=fact.own)
    return bool(memories) and rules.decide(new, memories).action is not FactAction.ADD


_FACTS: Final = Condition("layer", Op.EQ, str(Layer.FACT))


# --- what becomes of facts, inside the one transaction that stores them, their turns and their events -----------------


@dataclass(slots=True)
class CommitPlan:
    """What one call wants to store, with the position of the ledger at which it was planned."""

    scope: Scope
    turns: list[Turn]
    facts: list[Fact]
    cursor: int
    space: Space | None
    revised: dict[str, bytes] = field(default_factory=dict)
    """Vectors of texts that a revision may have to use."""

    unembedded: list[str] = field(default_factory=list)
    """Texts that revisions have made and that have no vector yet."""

    keep_turns: bool = True
    """Without, facts are stored with their quote, and what was said is not."""

    project: Scope | None = None
    """Who remembers it as well."""

    left_out: int = 0
    """How many facts were left out: a person deleted them, or what came of them before was changed since."""

    lenient: bool = False
    """Revised texts that have no vector are stored all the same; a reindex gives them one."""

    @property
    def signature(self) -> str:
        """The name of the vector space, or '' without one."""
        return self.space.signature if self.space else ""


class NeedsVectors(Exception):
    """Raised if amended texts need vectors: they are embedded outside, and the unit runs again."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(*texts)
        self.texts: list[str] = list(texts)


async def apply_plan(runtime: Runtime, tx: Tx, plan: CommitPlan, now: Instant) -> list[Outcome]:
    """Store the turns, then apply one fact after the other; later ones see the effects of earlier ones."""
    if plan.space is not None:
        await ensure_space(tx, runtime.tenant_id, plan.space)
    for at, turn in enumerate(plan.turns if plan.keep_turns else ()):
        await _store_turn(runtime, tx, turn, plan, now, at)
    plan.unembedded.clear()
    plan.left_out = 0
    outcomes: list[Outcome] = []
    for fact in plan.facts:
        await _apply_fact(runtime, tx, plan, fact, outcomes, now)
    if plan.unembedded and not plan.lenient:
        raise NeedsVectors(plan.unembedded)
    if plan.project is not None:
        await feed_turns(tx, runtime.language, [turn.id for turn in plan.turns], plan.project, now)
        await feed_outcomes(tx, runtime.language, outcomes, now)
    await count_known_outcomes(
        tx, runtime.language, outcomes, now, fades=runtime.policy.recall.visible_days is not None
    )
    return outcomes


async def _store_turn(runtime: Runtime, tx: Tx, turn: Turn, plan: CommitPlan, now: Instant, at: int) -> None:
    """Store a turn, or find the stored one and when it was first said."""
    if await recognise_turn(tx, turn, plan.scope, last=turn is plan.turns[-1], before=plan.turns[:at]):
        return
    holder = await tx.links.holder(runtime.tenant_id, turn.draft.dedupe)
    if holder is not None:  # the same words once more, later: a turn of its own
        await tx.links.release(runtime.tenant_id, holder)
    record = new_record(turn.draft, runtime.tenant_id, now)
    links, vectors = [Link(turn.draft.scope, now, turn.draft.dedupe)], draft_vectors(turn.draft, plan.space)
    await insert_version(tx, runtime.language, record, links, vectors, turn.draft.named)
    turn.id = record.id


async def _apply_fact(
    runtime: Runtime, tx: Tx, plan: CommitPlan, fact: Fact, outcomes: list[Outcome], now: Instant
) -> None:
    """Carry out the decisions about a fact, and add their outcomes."""
    draft = fact.draft
    draft.occurred_at, draft.origin_id, draft.also = fact.turn.occurred_at, fact.turn.id or None, plan.project
    draft.data = {**(draft.data or {}), "evidence": _build_evidence(fact)}
    names = _inherit_trust(runtime, fact, plan.scope)
    deleted = max([at for name in names if (at := await tx.suppressions.since(runtime.tenant_id, name))], default=None)
    if deleted is not None:
        if draft.status != Status.ACTIVE:  # only the user brings back what they deleted
            return
        said_since = bool(fact.turn.id) and fact.turn.occurred_at > deleted
        if fact.turn.said_before and not said_since:  # a person deleted it, and these are the old words again
            plan.left_out += 1
            return
        await tx.suppressions.lift(runtime.tenant_id, draft.dedupe)
    scope, rules = known_in(runtime, plan.scope), runtime.language.changes
    fact.kept_as = None
    wanted = await (
        _decide_by_model(tx, scope, fact, now) if fact.judged else _decide_by_rules(tx, rules, scope, plan, fact, now)
    )
    for one, target in sorted(
        wanted, key=lambda pair: pair[0].action is FactAction.RETRACT
    ):  # what stays is kept first
        if fact.draft.status == Status.SUPERSEDED:
            break  # it is stored as it was then, and changes nothing that is known now
        decision = (limit_model_decision if fact.judged else limit_rule_decision)(one, target, fact, outcomes)
        if decision.action is not FactAction.IGNORE and await is_settled(tx, rules, fact, scope, plan.cursor):
            decision = Decision(FactAction.IGNORE, one.target, REASON)
            plan.left_out += one.target is None
        if fact.judged and not fact.adds:
            fact.kept_as = _taken_by(fact, outcomes)
        outcome = await _APPLY[decision.action](runtime, tx, plan, fact, target, decision, now)
        if outcome is None:
            continue
        outcomes.append(outcome)
        if outcome.event != EventType.DELETE and decision.action is one.action:
            fact.kept_as = outcome.record.id if outcome.record else None


def _taken_by(fact: Fact, outcomes: Sequence[Outcome]) -> str | None:
    """Return the memory that the same words of the same turn have created."""
    for outcome in outcomes:
        answer = (outcome.draft.data or {}).get("evidence") or {}
        overlaps = answer.get("start", 0) < fact.candidate.end and fact.candidate.start < answer.get("end", 0)
        if (
            outcome.draft.origin_id == fact.draft.origin_id
            and overlaps
            and outcome.event in _STORING_EVENTS
            and outcome.record
        ):
            return outcome.record.id
    return None


_STORING_EVENTS: Final = (EventType.ADD, EventType.UPDATE, EventType.REPLACE)


async def _decide_by_model(tx: Tx, scope: Scope, fact: Fact, now: Instant) -> list[tuple[Decision, Record | None]]:
    """Return a model's decisions about versions that are still current."""
    targets = [one.target for one in fact.proposals if one.target is not None]
    where = where_visible(scope, now, extra=fact.compared_with)
    found = await tx.memories.among(targets, where) if targets else []
    chosen = resolve_proposals(fact, {one.record.seq: one.record for one in found})
    if (
        all(one.action is not FactAction.ADD for one, _ in chosen)
        or (same := await _said_already(tx, fact, where)) is None
    ):
        return chosen
    known = Decision(FactAction.IGNORE, None, "already known")
    return [(known, same) if one.action is FactAction.ADD else (one, target) for one, target in chosen]


async def _said_already(tx: Tx, fact: Fact, where: Where) -> Record | None:
    """Return the memory that says a fact in the same words, in any conversation."""
    tenant = fact.draft.scope.tenant_id
    holder = await tx.links.holder(tenant, fact.draft.dedupe)
    found = await tx.memories.among([holder], where) if holder is not None else []
    same = And((where, Condition("hash", Op.EQ, text_hash(fact.draft.text))))
    found = found or await tx.memories.find(same, limit=1)
    return found[0].record if found else None


async def _decide_by_rules(
    tx: Tx, rules: ChangeRules, scope: Scope, plan: CommitPlan, fact: Fact, now: Instant
) -> list[tuple[Decision, Record | None]]:
    """Return what rules decide about the current neighbours."""
    near = await read_neighbours(tx, rules, scope, fact, plan.cursor, plan.signature, now)
    if not fact.adds:  # what the same message has just stated is not changed by the rest of it
        near = [one for one in near if not fact.turn.id or one.found.record.origin_id != fact.turn.id]
    if _says_private(fact, near, rules):
        fact.draft.data = {**(fact.draft.data or {}), VISIBILITY: str(Visibility.PRIVATE)}
    chosen = decide_actions(fact, near, rules)
    return [(one, near[one.target].found.record if one.target is not None else None) for one in chosen]


def _says_private(fact: Fact, near: Sequence[Neighbour], rules: ChangeRules) -> bool:
    """Return whether a fact contains all that a private memory says."""
    private = (one for one in near if visibility_of(one.found.record.data) == Visibility.PRIVATE)
    return any(rules.is_known(one.found.record.text, fact.draft.text) for one in private)


def known_in(runtime: Runtime, scope: Scope) -> Scope:
    """Return the scope in which a fact is compared with others."""
    stored = Scope(scope.tenant_id, **{name: getattr(scope, name) for name in runtime.policy.known_scope})
    return scope if stored.is_open else stored


def _inherit_trust(runtime: Runtime, fact: Fact, scope: Scope) -> list[str]:
    """Give a fact at most the trust of its words; one from an import is quarantined.

    What waits is known by a name of its own, so that it is in nobody's way who says the same themselves. Gives the
    names under which it may have been deleted.
    """
    draft, message, fields = fact.draft, fact.turn.draft, runtime.policy.known_scope
    draft.trust = min(draft.trust, message.trust)
    if message.origin == Origin.IMPORT:
        draft.origin, draft.status = Origin.IMPORT, Status.QUARANTINED
    names = [dedupe_value(one, fields, speaker="", key=None, text=draft.text) for one in (scope, owner_alone(scope))]
    if draft.status == Status.QUARANTINED:
        draft.dedupe = waiting_dedupe(scope, fields, draft.text)
    return list(dict.fromkeys([draft.dedupe, *names]))


def _build_evidence(fact: Fact) -> dict[str, Any]:
    """Return the evidence of a fact: the turn and the words in it."""
    one = fact.candidate
    quote = fact.turn.text[one.start : one.end]
    answer: dict[str, Any] = {"turn": fact.turn.id, "start": one.start, "end": one.end, "quote": quote}
    if not fact.turn.id:
        answer = {"turn": None, "start": 0, "end": len(quote), "quote": quote}
    if also := [turn.id for turn in fact.also if turn.id]:
        answer["also"] = also
    return {**answer, "verdict": "doubtful" if fact.doubtful else "verified"} if fact.judged else answer


async def _add_fact(
    runtime: Runtime, tx: Tx, plan: CommitPlan, fact: Fact, target: Record | None, decision: Decision, now: Instant
) -> Outcome | None:
    if target is not None and decision.reason == LATER:
        return await _add_past(runtime, tx, plan, fact, target, decision, now)
    holder = await tx.links.holder(runtime.tenant_id, fact.draft.dedupe)
    if holder is not None:  # not visible (disabled, expired), so no neighbour: it is known all the same
        known = await tx.memories.at(holder)
        if known is not None and _is_over(known, now) and not fact.turn.said_before:
            again = Decision(FactAction.REVISE, None, "it had expired")
            return await _revise_memory(runtime, tx, plan, fact, known, again, now)
        if known is not None and known.status == Status.ACTIVE:
            await link_to(tx, runtime.language, known, plan.scope, now)
        return Outcome("NONE", known, fact.draft, known.text if known else None, "already known")
    record = new_record(fact.draft, runtime.tenant_id, now)
    links, vectors = [Link(plan.scope, now, fact.draft.dedupe)], draft_vectors(fact.draft, plan.space)
    await insert_version(tx, runtime.language, record, links, vectors, fact.draft.named)
    await tx.events.append([event_of(EventType.ADD, record, plan.scope, now, reason=decision.reason)])
    return Outcome(EventType.ADD, record, fact.draft, reason=decision.reason)


async def _add_past(
    runtime: Runtime, tx: Tx, plan: CommitPlan, fact: Fact, target: Record, decision: Decision, now: Instant
) -> Outcome | None:
    """Store a former fact, valid from its own time until the later one begins."""
    began = min(target.valid_from, target.occurred_at)
    draft, until = fact.draft, max(target.valid_from, target.occurred_at) if began <= fact.draft.occurred_at else began
    current = And((where_in_scope(known_in(runtime, plan.scope)), Condition("hash", Op.EQ, text_hash(draft.text))))
    same = await tx.memories.find(current, limit=1)
    if same or draft.occurred_at >= until:
        return Outcome("NONE", target, draft, target.text, decision.reason)
    draft.status = Status.SUPERSEDED
    record = replace(new_record(draft, runtime.tenant_id, now), status=Status.ACTIVE)
    links = [Link(plan.scope, now, None)]
    await insert_version(tx, runtime.language, record, links, ())
    await tx.events.append([event_of(EventType.ADD, record, plan.scope, now, reason=decision.reason)])
    await end_version(tx, record, Status.SUPERSEDED, until)
    answer: dict[str, Any] = {"before": record, "links_before": links, "reason": decision.reason, "ended": True}
    await tx.events.append([replace(event_of(EventType.DELETE, record, plan.scope, now, **answer), new_id=target.id)])
    draft.also = None  # nothing that is over is shown to a project
    return Outcome(EventType.ADD, replace(record, valid_to=until), draft, reason=decision.reason, new_id=target.id)


def _is_over(known: Record, now: Instant) -> bool:
    return known.expires_at is not None and known.expires_at <= now


async def _revise_memory(
    runtime: Runtime, tx: Tx, plan: CommitPlan, fact: Fact, target: Record | None, decision: Decision, now: Instant
) -> Outcome | None:
    assert target is not None, "a revision has a target"  # noqa: S101 - tells the type checker
    draft = fact.draft
    text = decision.text or draft.text
    if normal_text(text) == normal_text(target.text) and not _is_over(target, now):
        return Outcome("NONE", target, draft, target.text, "already known")
    vectors = _revised_vectors(plan, draft, text)
    is_amended = bool(decision.text) and not fact.judged
    new = _next_version(target, text, None if is_amended else draft, draft.occurred_at, now)
    if is_amended:
        new = replace(new, occurred_at=max(target.occurred_at, draft.occurred_at), data=_also_shown(target, fact))
    links, others = partition_links(await tx.links.of(target.tenant_id, target.seq), draft.scopes, runtime.bounds)
    moved = [replace(link, dedupe=_link_dedupe_value(runtime, link, text)) for link in links]
    moved += _link_here(links, plan.scope, now)
    if (twin := await _find_duplicate(tx, moved, target)) is not None:
        fact.kept_as = twin.id
        return await _retract_memory(runtime, tx, plan, fact, target, decision, now)
    if others:  # they keep what they have
        await replace_for(tx, runtime.language, Replacement(target, new, links, moved, vectors, decision.reason), now)
        return Outcome(EventType.REPLACE, new, draft, target.text, decision.reason, old_id=target.id)
    await supersede_version(tx, runtime.language, target, new, moved, vectors)
    answer: dict[str, Any] = {"before": target, "links": moved, "links_before": links, "reason": decision.reason}
    await tx.events.append([event_of(EventType.UPDATE, new, plan.scope, now, **answer)])
    return Outcome(EventType.UPDATE, new, draft, target.text, decision.reason)


def _link_here(links: Sequence[Link], scope: Scope, now: Instant) -> list[Link]:
    """Return a link to this conversation, if the memory has none."""
    owned = [link.scope for link in links if scope.user_id and link.scope.user_id == scope.user_id]
    return [Link(scope, now)] if owned and not any(scope.holds(one) for one in owned) else []


def _next_version(target: Record, text: str, draft: Draft | None, occurred_at: Instant, now: Instant) -> Record:
    """Return the version after the current one.

    What is not said again (no ``draft``) keeps where it comes from.
    """
    new = replace(
        target,
        seq=0,
        version=target.version + 1,
        text=text,
        hash=text_hash(text),
        tokens=estimate_tokens(text),
        anchor_at=max(target.anchor_at, occurred_at),
        valid_from=max(occurred_at, target.valid_from),
        updated_at=now,
    )
    if draft is None:
        return new
    marked = {VISIBILITY: target.data[VISIBILITY]} if VISIBILITY in target.data else {}
    return replace(
        new,
        kind=draft.kind,
        key=draft.key,
        origin=draft.origin,
        trust=draft.trust,
        source=draft.source,
        source_role=draft.role,
        origin_id=draft.origin_id,
        salience=max(target.salience, draft.salience),
        data={**(draft.data or {}), **marked},  # what a person decided of it holds for what it becomes
        metadata={**target.metadata, **(draft.metadata or {})},
        occurred_at=occurred_at,
        expires_at=draft.expires_at,
    )


def _also_shown(target: Record, fact: Fact) -> dict[str, Any]:
    """Return the data of an amended memory, with the amending turn among its sources."""
    answer = target.data.get("evidence")
    if not isinstance(answer, dict) or not fact.turn.id:
        return dict(target.data)
    return {**target.data, "evidence": {**answer, "also": [*dict.fromkeys([*answer.get("also", ()), fact.turn.id])]}}


def _revised_vectors(plan: CommitPlan, draft: Draft, text: str) -> Vectors:
    if plan.space is None:
        return []
    vector = draft.vector if text == draft.text else plan.revised.get(text)
    if vector is None:
        plan.unembedded.append(text)
        return []
    return [(plan.space, vector)]


async def _find_duplicate(tx: Tx, links: Sequence[Link], target: Record) -> Record | None:
    """Return another memory of one of these holders that says the same."""
    values = [link.dedupe for link in links if link.dedupe]
    twins = [await tx.links.holder(target.tenant_id, value) for value in values]
    seq = next((twin for twin in twins if twin is not None and twin != target.seq), None)
    return None if seq is None else await tx.memories.at(seq)


def _link_dedupe_value(runtime: Runtime, link: Link, text: str) -> str | None:
    if link.origin == MIRROR or link.dedupe is None:  # one link of a user holds the name for all of them
        return None
    return dedupe_value(link.scope, runtime.policy.known_scope, speaker="", key=None, text=text)


async def _retract_memory(
    runtime: Runtime, tx: Tx, plan: CommitPlan, fact: Fact, target: Record | None, decision: Decision, now: Instant
) -> Outcome | None:
    assert target is not None, "a retraction has a target"  # noqa: S101 - tells the type checker
    links, others = partition_links(await tx.links.of(target.tenant_id, target.seq), fact.draft.scopes, runtime.bounds)
    if fact.candidate.forget:
        await suppress_memory(tx, target, links, now, fact.turn.id or None)
    if others:
        ended = unlink_holders if fact.candidate.forget else retract_for
        await ended(tx, runtime.language, target, links, now, decision.reason)
        return Outcome(EventType.DELETE, target, fact.draft, target.text, decision.reason)
    # It was true until now, so a look at the past still shows it; only what a person deletes is hidden there too.
    await end_version(tx, target, Status.DELETED if fact.candidate.forget else Status.SUPERSEDED, now)
    answer: dict[str, Any] = {"before": target, "links_before": links, "reason": decision.reason, "ended": True}
    event = event_of(EventType.DELETE, target, plan.scope, now, **answer)
    await tx.events.append([replace(event, new_id=fact.kept_as)])
    if fact.candidate.forget:
        await name_again(tx, runtime.language, runtime.tenant_id, await evidence_of(tx, target), now)
    return Outcome(EventType.DELETE, target, fact.draft, target.text, decision.reason, new_id=fact.kept_as)


async def _ignore_fact(
    runtime: Runtime, tx: Tx, plan: CommitPlan, fact: Fact, target: Record | None, decision: Decision, now: Instant
) -> Outcome | None:
    if target is not None:
        await link_to(tx, runtime.language, target, plan.scope, now)
    if target is None and all(one.action is not FactAction.IGNORE for one in fact.proposals):
        return None  # it says nothing by itself; what a model takes for known is told, also when it names no memory
    return Outcome("NONE", target, fact.draft, target.text if target else None, decision.reason)


_APPLY: Final = {
    FactAction.ADD: _add_fact,
    FactAction.REVISE: _revise_memory,
    FactAction.RETRACT: _retract_memory,
    FactAction.IGNORE: _ignore_fact,
}
