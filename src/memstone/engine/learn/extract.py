"""Extract facts from turns, with the curator, a language model, or both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache, partial
from logging import DEBUG
from typing import Any, Final
from zoneinfo import ZoneInfo

from memstone.core.checks.filters import where_visible
from memstone.core.llm.operations import RejectedOperation
from memstone.core.settings.forms import sorted_into
from memstone.engine.learn.by_model import SOURCE, ConversationQuestion, assistant_metadata, by_model, is_overtaken
from memstone.engine.learn.drafts import build_draft
from memstone.engine.learn.neighbours import Fact
from memstone.engine.runtime import Runtime
from memstone.engine.store.turns import Turn, as_heard
from memstone.errors import LlmBudgetSpent, MemstoneError, StorageError
from memstone.language.language import TextGuard
from memstone.model.fact import Candidate, CuratedFacts
from memstone.model.instant import datetime_from_instant
from memstone.model.memory import Kind, Layer, Origin, Record
from memstone.model.message import Message, speaker_name
from memstone.model.query import Condition, Op
from memstone.model.scope import Scope
from memstone.trace import log_event

# --- what was said right before a message -----------------------------------------------------------------------------


_SHORT: Final = 8
"""An answer to a question has at most so many words."""

_SOON: Final = timedelta(hours=12)
"""What was asked longer ago is hardly what a word or two answer."""


async def said_before(runtime: Runtime, turns: Sequence[Turn], at: int) -> str:
    """Return the assistant's words before a turn; '' if somebody else spoke."""
    if at:
        message = await runtime.io.compute(partial(as_heard, turns[at - 1], runtime.language.guard))
    elif (
        len(turns[at].text.split()) <= _SHORT and (record := await _read_previous_turn(runtime, turns[at])) is not None
    ):
        message = await runtime.io.compute(partial(_message_from_record, record, runtime.language.guard))
    else:
        return ""
    return message.text if message.role == "assistant" else ""


async def _read_previous_turn(runtime: Runtime, turn: Turn) -> Record | None:
    """Return the stored message before the first one of a call, if it is recent."""
    scope = turn.draft.scope
    earlier = Condition("seq", Op.LT, turn.place) if turn.place else None
    where = where_visible(scope, runtime.now(), layers=(Layer.TURN,), extra=earlier)
    found = await runtime.ledger.peek(lambda tx: tx.memories.find(where, limit=1))
    if not found or found[0].link.scope != scope or not _is_near(found[0].record, turn):
        return None
    return found[0].record


def _is_near(record: Record, turn: Turn) -> bool:
    return timedelta() <= datetime_from_instant(turn.occurred_at) - datetime_from_instant(record.occurred_at) <= _SOON


def _message_from_record(record: Record, guard: TextGuard) -> Message:
    message = Message(str(record.data.get("role", "user")), record.text)
    return guard.blank_suspect_text(message, own=record.origin == Origin.USER)


# --- facts from turns -------------------------------------------------------------------------------------------------


CURATOR: Final = "pattern"
"""The name of the curator in settings and stored facts: it was a set of patterns when the name was chosen."""

FACTS: Final = SOURCE
_MOST_WORDS, _MOST_REST = 50, 3
"""So long may be what states nothing by itself and is still held against what is known, and so much of it is."""

_NAMED: Final = 5
"""So many messages are named in a warning."""


@dataclass(slots=True)
class ExtractedFacts:
    """Facts in order; with an ``error``, a model failed and some may be missing."""

    facts: list[Fact]
    error: MemstoneError | None = None
    without: LlmBudgetSpent | None = None
    """Why rules alone have looked, where a model was wanted."""

    left: list[str] = field(default_factory=list)
    """What was too much to learn from, for whoever said it; the words themselves are kept."""

    foreign: int = 0
    """How many messages are in a language that is not read without a model."""

    dropped: list[RejectedOperation] = field(default_factory=list)
    """What a model wrote and is not stored, and why."""

    review: list[dict[str, Any]] = field(default_factory=list)
    """Memories that a model would end, all at once: somebody has to look at that first."""


async def extract_facts(runtime: Runtime, asked: ConversationQuestion) -> ExtractedFacts:
    """Extract the facts that turns state, with every configured method."""
    scope, turns, metadata = asked.scope, asked.turns, asked.metadata
    wanted = runtime.policy.curation.strategies or ((FACTS,) if runtime.llm is not None else (CURATOR,))
    if runtime.withheld_llm is not None:
        wanted = (CURATOR,)
    found = ExtractedFacts([])
    if FACTS in wanted:
        try:
            facts = await by_model(runtime, asked)
            if any(fact.judged and fact.adds for fact in facts.facts) and await is_overtaken(
                runtime, asked, facts.seen
            ):
                facts = await by_model(runtime, asked)  # once: it has not seen what somebody else has just told
            found = ExtractedFacts(facts.facts, facts.error, dropped=facts.dropped, review=facts.review)
        except StorageError:
            raise
        except LlmBudgetSpent as error:
            found = ExtractedFacts([], without=error)
        except MemstoneError as error:
            found = ExtractedFacts([], error)
    if CURATOR in wanted or found.without is not None:
        found.facts = _merge_facts(found.facts, await _by_curator(runtime, scope, turns, metadata, found), turns)
    most = runtime.policy.curation.call_facts
    if len(found.facts) > most:
        found.left.append(
            f"facts learned from this call: the last {most:,} of {len(found.facts):,} (extract.call_facts)"
        )
        found.facts = found.facts[-most:]
    for fact in found.facts:
        log_event("memory.extraction.fact_found", DEBUG, key=fact.draft.key, category=fact.candidate.category)
    return found


def _merge_facts(by_model: Sequence[Fact], by_curator: Sequence[Fact], turns: Sequence[Turn]) -> list[Fact]:
    """Merge the facts of both methods turn by turn, without duplicates.

    The model's come first: it has understood more of the talk.
    """
    if not by_model:
        return list(by_curator)
    known = {fact.draft.dedupe for fact in by_model}
    both = [*by_model, *(fact for fact in by_curator if fact.draft.dedupe not in known)]
    place = {id(turn): at for at, turn in enumerate(turns)}
    return sorted(both, key=lambda fact: place[id(fact.turn)])


async def _by_curator(
    runtime: Runtime, scope: Scope, turns: Sequence[Turn], metadata: dict[str, Any], into: ExtractedFacts
) -> list[Fact]:
    """Read turns one by one with the curator, off the event loop; texts that were too long are reported."""
    found, cut = list[Fact](), list[str]()
    rooms = _chars_per_turn(runtime, turns)
    for at, (turn, speaker) in enumerate(zip(turns, _iter_speakers(turns), strict=True)):
        room = rooms[at]
        if not room:
            continue
        if turn.message.role == "user":
            work = partial(_of_user, before=await said_before(runtime, turns, at))
        else:
            work = partial(_of_assistant, speaker=speaker)
        read = await runtime.io.compute(partial(work, runtime, turn, room))
        cut += [f"messages[{turn.draft.item}]"] if read.is_cut else []
        into.foreign += read.is_foreign
        found += await runtime.io.compute(partial(_build_facts, runtime, scope, turn, read, metadata, speaker))
    if cut:
        named = ", ".join(cut[:_NAMED]) + (f" and {len(cut) - _NAMED:,} more" if len(cut) > _NAMED else "")
        into.left.append(f"{named}: too long to read in full, so facts may be missing (extract.message_chars)")
    unread = sum(_is_read(runtime, turn) and not room for turn, room in zip(turns, rooms, strict=True))
    if unread:
        into.left.append(f"messages not read for facts, because the call is too long: {unread:,} (extract.call_chars)")
    return found


def _chars_per_turn(runtime: Runtime, turns: Sequence[Turn]) -> list[int]:
    """Return how many characters of each turn are read, from its end; the newest turns come first."""
    limits, rooms = runtime.policy.curation, [0] * len(turns)
    room = limits.call_chars
    for at in range(len(turns) - 1, -1, -1):
        if _is_read(runtime, turns[at]):
            rooms[at] = min(len(turns[at].text), limits.message_chars, room)
            room -= rooms[at]
    return rooms


def _is_read(runtime: Runtime, turn: Turn) -> bool:
    return turn.message.role in runtime.policy.curation.roles


def _build_facts(
    runtime: Runtime, scope: Scope, turn: Turn, read: CuratedFacts, metadata: dict[str, Any], speaker: str
) -> list[Fact]:
    """Build facts, and short remainders that add nothing but may change something known."""
    facts = [_build_fact(runtime, scope, turn, candidate, metadata, speaker) for candidate in read.facts]
    if runtime.language.guard.hands_over(turn.text):
        return facts
    for one in read.rest[:_MOST_REST]:
        is_short = len(turn.text[one.start : one.end].split()) <= _MOST_WORDS
        if is_short and not any(fact.candidate.start < one.end and one.start < fact.candidate.end for fact in facts):
            text = turn.text[one.start : one.end]
            rest = Candidate(text, Kind.EPISODIC, "statement", 1, "", one.start, one.end, is_quote=True)
            facts.append(replace(_build_fact(runtime, scope, turn, rest, metadata, speaker), adds=False))
    return facts


def _iter_speakers(turns: Sequence[Turn]) -> Iterator[str]:
    """Yield for every turn the name of the user who speaks or spoke last."""
    speaker = ""
    for turn in turns:
        speaker = speaker_name(turn.message.name) if turn.message.role == "user" else speaker
        yield speaker


def _of_user(runtime: Runtime, turn: Turn, room: int, before: str) -> CuratedFacts:
    reader = runtime.language.facts
    words = reader.own_words(turn.text, turn.message.speaker)[-room:]
    patterns = runtime.policy.curation.own.patterns
    read = reader.read(words, runtime.curator, before=before, speaker=turn.message.name, patterns=patterns)
    skipped = len(turn.text) - len(words)
    rest = [replace(one, start=one.start + skipped, end=one.end + skipped) for one in read.rest]
    is_cut = read.is_cut or room < len(turn.text)
    return replace(read, facts=_in_place(turn, words, read.facts), rest=rest, is_cut=is_cut)


def _in_place(turn: Turn, words: str, found: list[Candidate]) -> list[Candidate]:
    """Return candidates with positions counted from the beginning of the turn."""
    skipped = len(turn.text) - len(words)
    return [replace(one, start=one.start + skipped, end=one.end + skipped) for one in found] if skipped else found


def _of_assistant(runtime: Runtime, turn: Turn, room: int, speaker: str) -> CuratedFacts:
    """Return what the assistant says about the user, and what both agreed on.

    What it says of itself counts only by configuration.
    """
    reader = runtime.language.facts
    words, skipped = as_heard(turn, runtime.language.guard).text[-room:], len(turn.text) - room
    found = [
        replace(one, start=restated_sentence.start + skipped, end=restated_sentence.end + skipped)
        for restated_sentence in reader.read_restatements(words)
        for one in reader.read(restated_sentence.text, runtime.curator, speaker=speaker).facts
        if not one.forget and (one.category == "decision" or not restated_sentence.agreed)
    ]
    if runtime.policy.curation.assistant_first_person:
        known = {one.key for one in found}
        own = reader.read(turn.text[-room:], runtime.curator, speaker=turn.message.name).facts
        found += [one for one in _in_place(turn, turn.text[-room:], own) if one.key not in known]
    return CuratedFacts(found, is_cut=room < len(turn.text))


def _build_fact(
    runtime: Runtime, scope: Scope, turn: Turn, candidate: Candidate, metadata: dict[str, Any], who: str
) -> Fact:
    at, zone = datetime_from_instant(turn.occurred_at), _load_zone(runtime.policy.curation.timezone)
    text = runtime.language.dates.add_dates(candidate.text, at, zone, is_quote=candidate.is_quote)
    category = sorted_into(text, candidate.category, runtime.policy.curation.categories)
    stamped = {**assistant_metadata(runtime, candidate, turn), **metadata}
    draft = build_draft(runtime, scope, turn, candidate, text, category, stamped)
    draft.source = CURATOR
    own = runtime.policy.curation.own.slots
    return Fact(candidate, turn, draft, own=own, who=who)


@lru_cache(maxsize=64)
def _load_zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
