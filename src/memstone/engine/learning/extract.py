"""Facts from turns: by rules, by a language model when one is configured, or by both; all give the same candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from logging import DEBUG
from typing import Any, Final
from zoneinfo import ZoneInfo

from memstone.core.curate import EFFECT, Candidate, Rules, answer, candidates, whole_message
from memstone.core.llm.operations import Dropped
from memstone.core.rules.assistant import restated
from memstone.core.rules.named import speaker_name, without_prefix
from memstone.core.rules.speakers import speakers_from
from memstone.core.settings.categories import sorted_into
from memstone.core.temporal.dates import ground
from memstone.engine.learning.answering import asked_before
from memstone.engine.learning.by_model import SOURCE, Asked, by_model, is_overtaken, stamp
from memstone.engine.learning.drafting import drafted
from memstone.engine.learning.reading import reader_of
from memstone.engine.learning.relate import Fact
from memstone.engine.parts import Parts
from memstone.engine.storing.turns import Turn, as_heard
from memstone.errors import LlmBudgetSpent, MemstoneError, StorageError
from memstone.model.instant import moment
from memstone.model.scope import Scope
from memstone.trace import log_event

PATTERN: Final = "pattern"
FACTS: Final = SOURCE


@dataclass(slots=True)
class Extracted:
    """Facts in the order in which they were said; with an ``error`` a model has failed, and these are not all."""

    facts: list[Fact]
    error: MemstoneError | None = None
    without: LlmBudgetSpent | None = None
    """Why rules alone have looked, where a model was wanted."""

    dropped: list[Dropped] = field(default_factory=list)
    """What a model wrote and is not stored, and why."""

    review: list[dict[str, Any]] = field(default_factory=list)
    """Memories that a model would end, all at once: somebody has to look at that first."""


async def extract(parts: Parts, asked: Asked) -> Extracted:
    """The facts that turns state, by every extractor that is wanted."""
    scope, turns, metadata = asked.scope, asked.turns, asked.metadata
    wanted = parts.policy.curation.strategies or ((FACTS,) if parts.llm is not None else (PATTERN,))
    found = Extracted([])
    if FACTS in wanted:
        try:
            told = await by_model(parts, asked)
            if any(fact.judged and fact.adds for fact in told.facts) and await is_overtaken(parts, asked, told.seen):
                told = await by_model(parts, asked)  # once: it has not seen what somebody else has just told
            found = Extracted(told.facts, told.error, dropped=told.dropped, review=told.review)
        except StorageError:
            raise
        except LlmBudgetSpent as error:
            found = Extracted([], without=error)
        except MemstoneError as error:
            found = Extracted([], error)
    if PATTERN in wanted or found.without is not None:
        found.facts = _together(found.facts, await _by_rules(parts, scope, turns, metadata), turns)
    for fact in found.facts:
        log_event("memory.extraction.fact_found", DEBUG, key=fact.draft.key, category=fact.candidate.category)
    return found


def _together(by_model: Sequence[Fact], by_rules: Sequence[Fact], turns: Sequence[Turn]) -> list[Fact]:
    """What both found, each sentence once, turn by turn; the model's first, which has understood more of the talk."""
    if not by_model:
        return list(by_rules)
    known = {fact.draft.dedupe for fact in by_model}
    both = [*by_model, *(fact for fact in by_rules if fact.draft.dedupe not in known)]
    place = {id(turn): at for at, turn in enumerate(turns)}
    return sorted(both, key=lambda fact: place[id(fact.turn)])


async def _by_rules(parts: Parts, scope: Scope, turns: Sequence[Turn], metadata: dict[str, Any]) -> list[Fact]:
    found: list[Fact] = []
    topic = ""
    for at, (turn, speaker) in enumerate(zip(turns, _users(turns), strict=True)):
        is_user = turn.message.role == "user"
        if turn.message.role not in parts.policy.curation.roles:
            continue
        told = _of_user(parts, turn, topic) if is_user else _of_assistant(parts, turn, speaker)
        if is_user and all(one.category == EFFECT for one in told):
            told = _in_place(turn, _answered(parts, turn, await asked_before(parts, turns, at))) or told
        found += [_fact(parts, scope, turn, candidate, metadata, PATTERN, speaker) for candidate in told]
        if is_user and reader_of(parts) is not None and (whole := _as_a_whole(turn, told)) is not None:
            found.append(replace(_fact(parts, scope, turn, whole, metadata, PATTERN, speaker), only_read=True))
        if is_user:
            topic = next((one.category for one in reversed(told) if one.category != EFFECT), topic)
    return found


def _users(turns: Sequence[Turn]) -> Iterator[str]:
    """For every turn the name of the user who speaks, or has spoken last."""
    speaker = ""
    for turn in turns:
        speaker = speaker_name(turn.message.name) if turn.message.role == "user" else speaker
        yield speaker


def _of_user(parts: Parts, turn: Turn, topic: str) -> list[Candidate]:
    rules = Rules(patterns=parts.policy.curation.own.patterns)
    return _in_place(turn, candidates(_own_words(turn), speaker=turn.message.name, rules=rules, topic=topic))


def _answered(parts: Parts, turn: Turn, question: str) -> list[Candidate]:
    """What a word or two say to a question; '' is none."""
    rules = Rules(patterns=parts.policy.curation.own.patterns)
    return answer(question, _own_words(turn), speaker=turn.message.name, rules=rules) if question else []


def _in_place(turn: Turn, found: list[Candidate]) -> list[Candidate]:
    """Candidates in a turn's own words, with their places counted from where the turn begins."""
    skipped = len(turn.text) - len(_own_words(turn))
    return [replace(one, start=one.start + skipped, end=one.end + skipped) for one in found] if skipped else found


def _own_words(turn: Turn) -> str:
    """What is said without the name before it; a talk of several people is none of the speaker's own."""
    return turn.text if speakers_from(turn.text) >= 0 else without_prefix(turn.text, turn.message.speaker)


def _as_a_whole(turn: Turn, told: Sequence[Candidate]) -> Candidate | None:
    """A message in which no rule sees a fact, to be held against what is known; it may change it all the same."""
    if turn.message.name or any(one.category != EFFECT or one.forget for one in told):
        return None
    said = _own_words(turn)
    return whole_message(said, speaker=turn.message.name, skipped=len(turn.text) - len(said))


def _of_assistant(parts: Parts, turn: Turn, speaker: str) -> list[Candidate]:
    """What the assistant says about the user and what both agreed on; what it says of itself only by configuration."""
    found = [
        replace(one, start=said.start, end=said.end)
        for said in restated(as_heard(turn).text)
        for one in candidates(said.text, speaker=speaker)
        if one.category != EFFECT and not one.forget and (one.category == "decision" or not said.agreed)
    ]
    if parts.policy.curation.assistant_first_person:
        known = {one.key for one in found}
        found += [one for one in candidates(turn.text, speaker=turn.message.name) if one.key not in known]
    return found


def _fact(
    parts: Parts, scope: Scope, turn: Turn, candidate: Candidate, metadata: dict[str, Any], source: str, who: str
) -> Fact:
    text = ground(candidate.text, moment(turn.occurred_at), _zone(parts.policy.curation.timezone))
    category = sorted_into(text, candidate.category, parts.policy.curation.categories)
    stamped = {**stamp(parts, candidate, turn), **metadata}
    draft = drafted(parts, scope, turn, candidate, text, category, stamped)
    draft.source = source
    own = parts.policy.curation.own.slots
    return Fact(candidate, turn, draft, adds=candidate.category != EFFECT, own=own, who=who)


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
