"""``add`` with ``infer=True``: keep what was said, and what follows from it.

Ingest, extract, relate, reconcile, commit. Rules or a model propose; structure decides; no transaction is open while a
model works.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from retain.core.curate import EFFECT, Candidate, candidates
from retain.engine.draft import TRUST, Draft, dedupe_value
from retain.engine.parts import Parts
from retain.engine.relate import Fact, relate
from retain.engine.settle import NeedsVector, Plan, settle
from retain.engine.store import Space
from retain.engine.turns import Turn
from retain.engine.write import Outcome, current_space
from retain.errors import RetainError
from retain.model.instant import Instant
from retain.model.memory import Origin
from retain.model.scope import Scope
from retain.ports.ledger import Tx


async def converse(parts: Parts, scope: Scope, turns: list[Turn], metadata: dict[str, Any]) -> list[Outcome]:
    """Store turns and settle the facts they state."""
    facts = [fact for turn in turns for fact in _facts(parts, scope, turn, metadata, turns)]
    space = await _embedded(parts, [*(turn.draft for turn in turns), *(fact.draft for fact in facts)])
    cursor = await relate(parts, scope, facts, space.signature if space else "")
    return await _settled(parts, Plan(scope, turns, facts, cursor, space))


def _facts(parts: Parts, scope: Scope, turn: Turn, metadata: dict[str, Any], turns: Sequence[Turn]) -> list[Fact]:
    if turn.message.role != "user":
        return []
    found = candidates(turn.text, speaker=turn.message.name, topic=_topic_before(turn, turns))
    return [_fact(parts, scope, turn, candidate, metadata) for candidate in found]


def _topic_before(turn: Turn, turns: Sequence[Turn]) -> str:
    """What the talk was about just before: an answer to "what do you work on?" is about work."""
    at = next((place for place, one in enumerate(turns) if one is turn), 0)
    for earlier in reversed(turns[:at]):
        found = candidates(earlier.text, speaker=earlier.message.name) if earlier.message.role == "user" else []
        if found:
            return found[-1].category
    return ""


def _fact(parts: Parts, scope: Scope, turn: Turn, candidate: Candidate, metadata: dict[str, Any]) -> Fact:
    origin = Origin(turn.message.role)
    draft = Draft(
        scope=scope,
        text=candidate.text,
        dedupe=dedupe_value(scope, parts.policy.dedupe_scope, speaker="", key=None, text=candidate.text),
        kind=candidate.kind,
        origin=origin,
        trust=TRUST[origin],
        occurred_at=turn.occurred_at,
        role=turn.message.role,
        speaker=turn.message.speaker,
        key=candidate.key,
        metadata=dict(metadata),
        data={
            "category": candidate.category,
            "polarity": candidate.polarity,
            "modality": candidate.modality,
            "subject": candidate.subject,
        },
        source="pattern",
        salience=candidate.salience,
    )
    return Fact(candidate, turn, draft, adds=candidate.category != EFFECT)


async def _embedded(parts: Parts, drafts: Sequence[Draft]) -> Space | None:
    if not parts.embedding.on or not drafts:
        return None
    space = await current_space(parts)
    for draft, vector in zip(drafts, await parts.embedding.many([draft.text for draft in drafts]), strict=True):
        if isinstance(vector, RetainError):
            raise vector
        draft.vector = vector
    return space


async def _unit(tx: Tx, *, parts: Parts, plan: Plan, now: Instant) -> list[Outcome]:
    return await settle(parts, tx, plan, now)


async def _settled(parts: Parts, plan: Plan) -> list[Outcome]:
    """Run the unit; a revision that makes a new text gets its vector outside the transaction and is run again."""
    while True:
        try:
            return await parts.ledger.write(partial(_unit, parts=parts, plan=plan, now=parts.now()))
        except NeedsVector as missing:
            vector = (await parts.embedding.many([missing.text]))[0]
            if isinstance(vector, RetainError):
                raise vector from None
            plan.revised[missing.text] = vector
