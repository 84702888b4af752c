"""Facts from turns: by rules, or by a language model when one is configured."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from retain.core.curate import EFFECT, Candidate, candidates, fact_key
from retain.core.llm_facts import LlmFact, extraction_prompt, parse_extraction
from retain.core.statement import subject_of
from retain.core.temporal import ground
from retain.core.visible import within
from retain.engine.ask import ask
from retain.engine.draft import TRUST, Draft, dedupe_value
from retain.engine.parts import Parts
from retain.engine.relate import Fact
from retain.engine.turns import Turn
from retain.model.instant import moment
from retain.model.memory import Layer, Origin
from retain.model.message import Message
from retain.model.query import And, Condition, Op
from retain.model.scope import Scope

_RECENT: Final = 10


async def extract(
    parts: Parts, scope: Scope, turns: Sequence[Turn], metadata: dict[str, Any], prompt: str = ""
) -> list[Fact]:
    """The facts that turns state, in the order in which they were said."""
    if parts.llm is not None:
        return await _by_model(parts, scope, turns, metadata, prompt)
    return _by_rules(parts, scope, turns, metadata)


def _by_rules(parts: Parts, scope: Scope, turns: Sequence[Turn], metadata: dict[str, Any]) -> list[Fact]:
    found: list[Fact] = []
    topic = ""
    for turn in turns:
        if not _is_read(parts, turn):
            continue
        told = candidates(turn.text, speaker=turn.message.name, topic=topic)
        found += [_fact(parts, scope, turn, candidate, metadata, "pattern") for candidate in told]
        topic = next((one.category for one in reversed(told) if one.category != EFFECT), topic)
    return found


def _is_read(parts: Parts, turn: Turn) -> bool:
    """Rules read the user; what the assistant says of itself only when the configuration asks for it."""
    wanted = parts.policy.curation
    if turn.message.role not in wanted.roles:
        return False
    return turn.message.role == "user" or wanted.assistant_first_person


async def _by_model(
    parts: Parts, scope: Scope, turns: Sequence[Turn], metadata: dict[str, Any], prompt: str
) -> list[Fact]:
    wanted = parts.policy.curation
    said = [turn.message if turn.message.role in wanted.roles else Message("system", "") for turn in turns]
    if not any(message.text for message in said):
        return []
    zone = _zone(wanted.timezone)
    question = extraction_prompt(
        said,
        now=moment(turns[-1].occurred_at).astimezone(zone),
        timezone=wanted.timezone,
        recent=await _recent(parts, scope, turns[0].place),
        instructions=wanted.instructions,
        custom_prompt=prompt or wanted.extraction_prompt,
        side="agent" if scope.agent_id and not scope.user_id else "user",
    )
    answer = await ask(parts, question, lambda text: parse_extraction(text, said))
    return [_proposed(parts, scope, turns[fact.turn - 1], fact, metadata) for fact in answer.facts]


async def _recent(parts: Parts, scope: Scope, until: int) -> list[Message]:
    """What was said in this scope before (before a row, if one is given), so that "it" and "she" can be understood."""
    where = And((within(scope), Condition("layer", Op.EQ, str(Layer.TURN))))
    if until:
        where = And((where, Condition("seq", Op.LT, until)))
    rows = await parts.ledger.peek(lambda tx: tx.memories.find(where, limit=_RECENT))
    told = [(found.record.data, found.record.text) for found in reversed(rows)]
    return [Message(str(data.get("role", "user")), text, _name(data)) for data, text in told]


def _name(data: dict[str, Any]) -> str:
    speaker = str(data.get("speaker", ""))
    return "" if speaker == data.get("role") else speaker


def _proposed(parts: Parts, scope: Scope, turn: Turn, fact: LlmFact, metadata: dict[str, Any]) -> Fact:
    candidate = Candidate(
        text=fact.text,
        kind=fact.kind,
        category=fact.category,
        polarity=fact.polarity,
        modality="stated",
        key=fact_key(fact.category, fact.text, fact.polarity),
        start=fact.start,
        end=fact.end,
        subject=subject_of(fact.text.lower()),
    )
    return _fact(parts, scope, turn, candidate, metadata, "facts")


def _fact(parts: Parts, scope: Scope, turn: Turn, candidate: Candidate, metadata: dict[str, Any], source: str) -> Fact:
    origin = Origin(turn.message.role)
    text = ground(candidate.text, moment(turn.occurred_at), _zone(parts.policy.curation.timezone))
    draft = Draft(
        scope=scope,
        text=text,
        dedupe=dedupe_value(scope, parts.policy.dedupe_scope, speaker="", key=None, text=text),
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
        source=source,
        salience=candidate.salience,
    )
    return Fact(candidate, turn, draft, adds=candidate.category != EFFECT)


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
