"""``ingest``: store transcripts turn by turn, without waiting for learning.

Everything is checked before anything is written. Then a few hundred turns at a time are embedded and stored in one
transaction, so that a transcript of any length may be interrupted and sent again: what is known is not stored twice.
What is to be learned goes into the inbox with its turns, where ``flush`` finds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from memstone.core.checks.arguments import checked_expiry, checked_metadata
from memstone.core.redact import redact_text
from memstone.core.talk.messages import STORED_ROLES
from memstone.core.talk.transcript import TranscriptMessage, read_transcript
from memstone.engine.access.admission import drop_paused_turns, not_stored
from memstone.engine.access.quotas import check_quotas
from memstone.engine.learn.converse import ConversationToLearn, LearnResult
from memstone.engine.learn.lessons import Lesson, lessons_of
from memstone.engine.learn.queue import due_at, wake_worker
from memstone.engine.policy import scope_named
from memstone.engine.request_scope import IngestRequest, report_progress
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import check_attachments, new_record
from memstone.engine.store.embedding import failure_of, is_outage
from memstone.engine.store.embedding_context import said_before
from memstone.engine.store.holders import feed_turns
from memstone.engine.store.mention import find_names
from memstone.engine.store.turns import (
    Turn,
    format_redaction_warning,
    masked_metadata,
    redaction_of,
    turn_of,
    without_injected,
)
from memstone.engine.store.versions import NewVersion, Space, ensure_space, enter_all
from memstone.engine.store.write import Outcome, action_of, current_space
from memstone.errors import InvalidInput, MemstoneError
from memstone.language.language import Language
from memstone.model.event import Signal
from memstone.model.instant import Instant, parse_when
from memstone.model.memory import Link
from memstone.model.scope import Scope
from memstone.ports.access_tables import Usage
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import IngestResult

# --- ``ingest`` -------------------------------------------------------------------------------------------------------


AT_ONCE: Final = 200
"""So many turns are stored in one transaction."""

_WARNINGS: Final = 20


@dataclass(slots=True)
class IngestRun:
    """A checked transcript on its way into the store, and what became of it so far."""

    turns: list[Turn]
    metadata: dict[str, Any]
    expires_at: Instant | None
    warnings: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    space: Space | None = None
    error: MemstoneError | None = None
    """Why turns have no vectors."""

    gave_up: bool = False
    """The embedder is out of reach: the rest is stored without asking it again."""


async def ingest_transcript(runtime: Runtime, request: IngestRequest) -> IngestResult:
    """Store a transcript; return what became of its turns."""
    if (idle := not_stored(runtime)) is not None:
        return {**_format_counts(Counter()), **idle}
    keeps = runtime.policy.curation.keep_turns
    if not keeps and not request.learn:
        raise InvalidInput(
            "this memory does not keep turns", hint="pass learn=True to learn from them, or set keep_turns"
        )
    ingest_run = await runtime.io.compute(partial(checked_transcript, runtime, request))
    ingest_run.turns, left_out = await drop_paused_turns(runtime, ingest_run.turns)
    ingest_run.warnings += left_out
    chars = sum(len(turn.text) for turn in ingest_run.turns)
    await check_quotas(
        runtime, scope_named(runtime, request), Usage(turns=len(ingest_run.turns) if keeps else 0, chars=chars)
    )
    lessons = lessons_of(ingest_run.turns) if request.learn else []
    total, done = len(ingest_run.turns), 0
    for chunk in _split_chunks(ingest_run.turns):
        if keeps:
            new = await runtime.ledger.read(partial(unknown_turns, runtime=runtime, turns=chunk))
            await embed_turns(runtime, ingest_run, new)
            await find_names(runtime.io, new, runtime.language.names)
        done += len(chunk)
        due = [lesson for lesson in lessons if done - len(chunk) <= lesson.last < done]
        work = partial(store_turns, runtime=runtime, ingest_run=ingest_run, turns=chunk, due=due, keeps=keeps)
        ingest_run.counts.update(await runtime.ledger.write(work))
        await report_progress(request.progress, done, total)
    if ingest_run.counts["queued"]:
        wake_worker(runtime)
    return _format_answer(ingest_run)


def checked_transcript(runtime: Runtime, request: IngestRequest) -> IngestRun:
    """Check a transcript: all that can be wrong is found here, before the first write."""
    metadata, ignored = checked_metadata(request.metadata, runtime.policy.limits)
    clean, found = masked_metadata(metadata, redaction_of(runtime.policy))
    warnings = [*ignored, *found]
    expires_at = checked_expiry(request.expires_at, runtime.now(), warnings)
    ingest_run = IngestRun([], clean, expires_at, warnings)
    read = read_transcript(request.turns, runtime.policy.limits, ingest_run.warnings)
    check_attachments(runtime.policy, [one.message for one in read])
    values = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    owner = runtime.scope(values)
    since = None if request.occurred_at is None else parse_when(request.occurred_at, "occurred_at")
    _add_turns(runtime, ingest_run, _clean_messages(runtime, ingest_run, read), owner, since)
    return ingest_run


def _clean_messages(
    runtime: Runtime, ingest_run: IngestRun, read: Sequence[TranscriptMessage]
) -> Iterator[TranscriptMessage]:
    """Yield what a person or the assistant said, without what was injected and without secrets; the rest is counted."""
    policy = redaction_of(runtime.policy)
    for at, one in enumerate(read):
        message = without_injected(one.message)
        if message.role not in STORED_ROLES or not message.text.strip():
            ingest_run.counts["skipped"] += 1
            continue
        clean = redact_text(message.text, policy)
        if clean.found:
            ingest_run.counts["dropped" if clean.dropped else "masked"] += 1
            ingest_run.warnings.append(format_redaction_warning(f"turns[{at}]", clean))
        if not clean.dropped:
            yield replace(one, message=replace(message, text=clean.text))


def _add_turns(
    runtime: Runtime, ingest_run: IngestRun, messages: Iterator[TranscriptMessage], owner: Scope, since: Instant | None
) -> None:
    """Add turns with their scope and time; one without a time was said when the one before it in its run was."""
    now, last = runtime.now(), dict[Scope, Instant]()
    repeated: Counter[str] = Counter()
    for at, one in enumerate(messages):
        scope = (replace(owner, run_id=one.run_id) if one.run_id else owner).require_owner()
        when = one.occurred_at or last.get(scope) or since
        if when is not None:
            last[scope] = when
        turn = turn_of(scope, one.message, when or now, at, dated=when is not None)
        said_so_far, repeated[turn.draft.dedupe] = repeated[turn.draft.dedupe], repeated[turn.draft.dedupe] + 1
        if said_so_far:
            turn = turn_of(scope, one.message, when or now, at, dated=when is not None, repeated=said_so_far)
        turn.draft.expires_at, turn.draft.metadata = ingest_run.expires_at, dict(ingest_run.metadata)
        ingest_run.turns.append(turn)


def _split_chunks(turns: Sequence[Turn]) -> Iterator[Sequence[Turn]]:
    return (turns[start : start + AT_ONCE] for start in range(0, len(turns), AT_ONCE))


async def unknown_turns(tx: Tx, *, runtime: Runtime, turns: Sequence[Turn]) -> list[Turn]:
    """Return those that are not stored yet: only they are worth an embedding."""
    known = await tx.links.find_existing_dedupes(runtime.tenant_id, [turn.draft.dedupe for turn in turns])
    return [turn for turn in turns if turn.draft.dedupe not in known]


async def embed_turns(runtime: Runtime, ingest_run: IngestRun, turns: Sequence[Turn]) -> None:
    """Embed turns as far as possible: one without a vector is found by its words, and a reindex gives it one."""
    if not runtime.embedding.on or not turns or ingest_run.gave_up:
        return
    drafts = [turn.draft for turn in turns]
    try:
        ingest_run.space = await current_space(runtime)
        vectors = await runtime.embedding.many([draft.text for draft in drafts], await said_before(runtime, drafts))
    except MemstoneError as error:  # the model cannot even be asked
        ingest_run.error, ingest_run.gave_up = error, True
        return
    for draft, vector in zip(drafts, vectors, strict=True):
        if isinstance(vector, MemstoneError):
            ingest_run.error, ingest_run.gave_up = vector, ingest_run.gave_up or is_outage(vector)
        else:
            draft.vector = vector


async def store_turns(
    tx: Tx, *, runtime: Runtime, ingest_run: IngestRun, turns: Sequence[Turn], due: Sequence[Lesson], keeps: bool
) -> Counter[str]:
    """Store new turns, note what to learn from, and return what happened."""
    counts: Counter[str] = Counter()
    now = runtime.now()
    if keeps:
        entries = await new_entries(tx, runtime, turns, ingest_run.space, now, counts)
        if ingest_run.space is not None and entries:
            await ensure_space(tx, runtime.tenant_id, ingest_run.space)
        await enter_all(tx, runtime.language, entries)
    known = await tx.signals.find_known_ids(runtime.tenant_id, [lesson.id for lesson in due])
    signals = lesson_signals(runtime, ingest_run, due, now, keeps=keeps)
    waiting = [one for one in signals if one.id not in known and one.data["messages"]]
    await tx.signals.put(waiting)
    for one in waiting:
        runtime.worker_state.touched[one.scope] = None
    counts["queued"] += len(waiting)
    return counts


def lesson_signals(
    runtime: Runtime, ingest_run: IngestRun, lessons: Sequence[Lesson], now: Instant, *, keeps: bool
) -> list[Signal]:
    """Return rows of the inbox for lessons whose turns are stored; nobody waits for silence in what is over."""
    signals = [lesson.signal(ingest_run.metadata, ingest_run.expires_at, now, keeps=keeps) for lesson in lessons]
    for signal in signals:
        signal.due_at = due_at(runtime, now, silence=False)
    return signals


async def new_entries(
    tx: Tx, runtime: Runtime, turns: Sequence[Turn], space: Space | None, now: Instant, counts: Counter[str]
) -> list[NewVersion]:
    """Return the turns that are new; what a person has deleted does not come back with an old transcript."""
    entries: list[NewVersion] = []
    suppresses = await tx.suppressions.any(runtime.tenant_id)
    existing = await tx.links.find_existing_dedupes(runtime.tenant_id, [turn.draft.dedupe for turn in turns])
    for turn in turns:
        draft = turn.draft
        holder = await tx.links.holder(runtime.tenant_id, draft.dedupe) if draft.dedupe in existing else None
        known = await tx.memories.at(holder) if holder is not None else None
        if known is not None:
            turn.id = known.id
            counts["known"] += 1
        elif suppresses and await tx.suppressions.has(runtime.tenant_id, draft.dedupe):
            turn.id = ""
            counts["deleted"] += 1
        else:
            record = new_record(draft, runtime.tenant_id, now)
            vectors = [] if draft.vector is None or space is None else [(space, draft.vector)]
            entries.append(NewVersion(record, [Link(draft.scope, now, draft.dedupe)], vectors, draft.named))
            turn.id = record.id
            counts["stored"] += 1
    return entries


def _format_counts(counts: Counter[str]) -> IngestResult:
    return {
        "stored": counts["stored"],
        "known": counts["known"],
        "deleted": counts["deleted"],
        "masked": counts["masked"],
        "dropped": counts["dropped"],
        "skipped": counts["skipped"],
        "queued": counts["queued"],
    }


def _format_answer(ingest_run: IngestRun) -> IngestResult:
    answer = _format_counts(ingest_run.counts)
    if ingest_run.error is not None:
        answer["degraded"] = [{"step": "embedding", **failure_of(ingest_run.error)}]
    if ingest_run.warnings:
        more = len(ingest_run.warnings) - _WARNINGS
        answer["warnings"] = [*ingest_run.warnings[:_WARNINGS], *([f"and {more:,} more"] if more > 0 else [])]
    return answer


# --- what a session leaves beside its memory --------------------------------------------------------------------------


def describe_run(conversation: ConversationToLearn) -> dict[str, Any]:
    """Return what a run was about."""
    return {
        "event": "memory_decision",
        "user_id": conversation.scope.user_id,
        "input_message_length": sum(len(turn.text) for turn in conversation.turns),
    }


def describe_decisions(conversation: ConversationToLearn, learned: LearnResult) -> dict[str, Any]:
    """Return what was decided about each fact, for the log."""
    return {**describe_run(conversation), **describe_outcomes(learned.outcomes)}


def describe_outcomes(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return each fact with what became of it, and why."""
    rows = [
        {
            "fact": outcome.draft.text,
            "action": action_of(outcome),
            "target_id": outcome.record.id if outcome.record else None,
            "reason": outcome.reason,
        }
        for outcome in outcomes
    ]
    return {"extracted_count": len(rows), "decisions": rows}


async def feed_project(
    tx: Tx, language: Language, conversation: ConversationToLearn, made: Mapping[str, Any], now: Instant
) -> None:
    """Let the project in which a session was held see its episode, and the facts that it mentions."""
    if conversation.project is None or not made.get("episode_id"):
        return
    episode = await tx.memories.current(conversation.scope.tenant_id, str(made["episode_id"]))
    facts = list(map(str, episode.data.get("facts") or ())) if episode is not None else []
    await feed_turns(tx, language, [str(made["episode_id"]), *facts], conversation.project, now)
