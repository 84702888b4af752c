"""Episodes: one memory per session that says what it was about.

A session that goes on after it was distilled gets the next version of its episode, made of all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from memstone.core.checks.filters import where_current, where_in_scope, where_visible
from memstone.core.llm.digest import Before
from memstone.engine.learn.lessons import recognise_turn
from memstone.engine.request_scope import merged_scope
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import checked_limit, checked_offset
from memstone.engine.store.deleted_spans import hide_deleted_in_episodes, read_hidden_spans
from memstone.engine.store.draft import TRUST, dedupe_value, event_of, text_hash
from memstone.engine.store.turns import Turn, as_heard, turn_of
from memstone.engine.store.versions import Vectors, insert_version, supersede_version
from memstone.language.language import Language, TextGuard
from memstone.language.text.normal import estimate_tokens
from memstone.language.text.statements import blank_spans
from memstone.model.digest import Digest
from memstone.model.event import EventType
from memstone.model.ids import new_id
from memstone.model.instant import Instant, When, datetime_from_instant, parse_when, to_instant
from memstone.model.memory import FoundMemory, Kind, Layer, Link, Origin, Record, Status
from memstone.model.message import Message
from memstone.model.query import And, Condition, Op, Where
from memstone.model.scope import Scope, scope_ids
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.literals import StatusName
    from memstone.results import EpisodeItem, EpisodeList

ACTOR: Final = "digest"
RECENT: Final = 3
RECENT_DAYS: Final = 90
_EVERY_FIELD: Final = ("user_id", "agent_id", "run_id")
_MOST_TURNS: Final = 500


@dataclass(slots=True)
class SessionToDistill:
    """A session that is distilled: what is new of it, and what is known of it from before."""

    scope: Scope
    fresh: list[Turn]
    earlier: list[Turn] = field(default_factory=list)
    episode: Record | None = None
    visible_episode: Record | None = None
    """The episode as it may still be told."""

    before: Before = field(default_factory=Before)

    @property
    def turns(self) -> list[Turn]:
        """All of it, in order."""
        return [*self.earlier, *self.fresh]

    def messages(self, guard: TextGuard) -> list[Message]:
        """Return what was said in it."""
        return [as_heard(turn, guard) for turn in self.turns]

    @property
    def trust(self) -> float:
        """How far its words carry: no further than those of whoever is trusted least in it."""
        return min((turn.draft.trust for turn in self.turns), default=TRUST[Origin.USER])

    @property
    def status(self) -> str:
        """What is made of an import alone waits until somebody approves it."""
        return Status.QUARANTINED if is_imported(self.turns) else Status.ACTIVE

    @property
    def expires_at(self) -> Instant | None:
        """When it is over: with the first of its words that are."""
        return min((turn.draft.expires_at for turn in self.turns if turn.draft.expires_at), default=None)


async def session_of(tx: Tx, scope: Scope, turns: list[Turn], occurred_at: Instant, now: Instant) -> SessionToDistill:
    """Return what is known about a session, within one transaction; turns that are stored are recognised."""
    for turn in turns:
        turn.retold = True  # whatever was said since, these are the words of then
        await recognise_turn(tx, turn, scope, last=False)
    holder = await tx.links.holder(scope.tenant_id, session_dedupe(scope, occurred_at))
    known = await tx.memories.at(holder) if holder is not None else None
    earlier = await _read_earlier_turns(tx, scope, {turn.id for turn in turns}) if scope.run_id else []
    earlier = [turn for turn in earlier if is_imported(turns) or turn.draft.origin != Origin.IMPORT]
    await _leave_out_deleted(tx, [*earlier, *turns])
    before = Before(await _read_narrative(tx, scope, now), await _read_recent_episodes(tx, scope, now))
    record = (await hide_deleted_in_episodes(tx, [known])).get(known.id, known) if known is not None else None
    return SessionToDistill(scope, turns, earlier, known, record, before)


async def _leave_out_deleted(tx: Tx, turns: Sequence[Turn]) -> None:
    """Blank the words from which something was learned that a person has deleted since."""
    ids = [turn.id for turn in turns if turn.id]
    found = await read_hidden_spans(tx, turns[0].draft.scope.tenant_id, ids) if ids else {}
    for turn in turns:
        if turn.id in found:
            turn.message = replace(turn.message, text=blank_spans(turn.text, found[turn.id]))


def session_dedupe(scope: Scope, occurred_at: Instant) -> str:
    """Return what makes two episodes the same: the run they are about, or, without one, when the session was."""
    key = "run" if scope.run_id else occurred_at
    return dedupe_value(scope, _EVERY_FIELD, speaker="", key=f"episode:{key}", text="")


async def _read_earlier_turns(tx: Tx, scope: Scope, known: set[str]) -> list[Turn]:
    """Return what was said in a run before."""
    where = And((where_in_scope(scope), Condition("layer", Op.EQ, str(Layer.TURN)), where_current()))
    rows = await tx.memories.find(where, limit=_MOST_TURNS)
    return [_turn_from_row(found) for found in reversed(rows) if found.record.id not in known]


def _turn_from_row(found: FoundMemory) -> Turn:
    record = found.record
    role = str(record.data.get("role") or record.source_role or "user")
    speaker = str(record.data.get("speaker") or "")
    message = Message(role, record.text, "" if speaker == role else speaker)
    turn = turn_of(found.link.scope, message, record.occurred_at, 0, dated=True)
    turn.id, turn.place, turn.said_before, turn.retold = record.id, record.seq, True, True
    turn.draft.expires_at, turn.draft.metadata = record.expires_at, dict(record.metadata)
    turn.draft.origin, turn.draft.trust = record.origin, record.trust
    return turn


def own_words(turns: list[Turn]) -> list[Turn]:
    """Return what is retold of a talk: where the user is known to speak in it, nothing that only an import says."""
    return [turn for turn in turns if turn.draft.origin != Origin.IMPORT] or turns


def is_imported(turns: Sequence[Turn]) -> bool:
    """Return whether anything of it is known from an import only."""
    return any(turn.draft.origin == Origin.IMPORT for turn in turns)


async def _read_narrative(tx: Tx, scope: Scope, now: Instant) -> str:
    if not scope.user_id:
        return ""
    owner = Scope(scope.tenant_id, scope.user_id)
    only = Condition("kind", Op.EQ, str(Kind.NARRATIVE))
    rows = await tx.memories.find(where_visible(owner, now, layers=(Layer.IDENTITY,), extra=only), limit=1)
    return rows[0].record.text if rows else ""


async def _read_recent_episodes(tx: Tx, scope: Scope, now: Instant) -> tuple[tuple[str, str], ...]:
    """Return the newest episodes of other sessions, by their day."""
    since = Condition("occurred_at", Op.GTE, to_instant(datetime_from_instant(now) - timedelta(days=RECENT_DAYS)))
    wide = Scope(scope.tenant_id, scope.user_id, scope.agent_id) if scope.user_id or scope.agent_id else scope
    rows = await tx.memories.find(where_visible(wide, now, layers=(Layer.EPISODE,), extra=since), limit=RECENT + 1)
    others = [found.record for found in rows if not scope.run_id or found.link.scope.run_id != scope.run_id][:RECENT]
    answer = await hide_deleted_in_episodes(tx, others)
    visible = (answer.get(record.id, record) for record in others)
    return tuple((record.occurred_at[:10], record.text) for record in visible if record is not None)


@dataclass(slots=True)
class NewEpisode:
    """An episode that is about to be stored; ``facts`` are the ids of those it mentions."""

    id: str
    digest: Digest
    occurred_at: Instant
    model: str | None
    vectors: Vectors = ()
    facts: list[str] = field(default_factory=list)


async def uncount_episode(tx: Tx, episode: Record) -> None:
    """Take back what an episode that has ended counts for the facts it told."""
    ids = [str(one) for one in episode.data.get("facts") or ()]
    found = [await tx.memories.current(episode.tenant_id, one) for one in ids]
    await tx.memories.add_source_count([one.seq for one in found if one is not None and not is_of_turn(one)], -1)


def is_of_turn(fact: Record) -> bool:
    """Return whether a fact was learned from what was said itself, which counts for it, and not from an episode."""
    return fact.version == 1 and "episode" not in fact.data


async def store_episode(
    tx: Tx, language: Language, session: SessionToDistill, made: NewEpisode, now: Instant
) -> Record | None:
    """Store the episode of a session, or its next version.

    Return None if a person deleted it and nothing was said since.
    """
    scope = session.scope
    dedupe = session_dedupe(scope, made.occurred_at)
    deleted = await tx.suppressions.since(scope.tenant_id, dedupe)
    if deleted is not None:
        if max(turn.occurred_at for turn in session.fresh) <= deleted:
            return None
        await tx.suppressions.lift(scope.tenant_id, dedupe)
    holder = await tx.links.holder(scope.tenant_id, dedupe)
    old = await tx.memories.at(holder) if holder is not None else None
    record = _build_record(session, made, now)
    if old is None:
        await insert_version(tx, language, record, [Link(scope, now, dedupe)], made.vectors)
        await tx.events.append([event_of(EventType.ADD, record, scope, now, actor=ACTOR)])
        return record
    record = _build_next_version(old, record, now)
    links = await tx.links.of(old.tenant_id, old.seq)
    await supersede_version(tx, language, old, record, links, made.vectors)
    reason = "the session went on"
    changed = event_of(EventType.UPDATE, record, scope, now, before=old, reason=reason, links_before=links, actor=ACTOR)
    await tx.events.append([changed])
    return record


def _build_record(session: SessionToDistill, made: NewEpisode, now: Instant) -> Record:
    text = made.digest.summary
    turns = [turn.id for turn in session.turns if turn.id]
    return Record(
        id=made.id,
        text=text,
        hash=text_hash(text),
        occurred_at=made.occurred_at,
        created_at=now,
        updated_at=now,
        valid_from=made.occurred_at,
        anchor_at=made.occurred_at,
        tenant_id=session.scope.tenant_id,
        origin=Origin.DERIVED,
        trust=session.trust,
        layer=Layer.EPISODE,
        kind=Kind.EPISODIC,
        data={**made.digest.lists, "facts": made.facts, "turns": turns},
        salience=made.digest.salience,
        source="digest",
        model=made.model,
        tokens=estimate_tokens(text),
        expires_at=session.expires_at,
        status=session.status,
    )


def _build_next_version(old: Record, new: Record, now: Instant) -> Record:
    """Return the version after the current one: what is new, under the same id and with the same birth and status."""
    return replace(
        new,
        id=old.id,
        version=old.version + 1,
        created_at=old.created_at,
        occurred_at=min(old.occurred_at, new.occurred_at),
        valid_from=max(old.valid_from, now),
        anchor_at=max(old.anchor_at, new.anchor_at),
        metadata=old.metadata,
        status=old.status if new.status == Status.ACTIVE else new.status,
        source_count=old.source_count,
        trust=min(old.trust, new.trust),
    )


def episode_id(session: SessionToDistill) -> str:
    """Return the id of a session's episode: the one it has, or a new one."""
    return session.episode.id if session.episode is not None else new_id()


@dataclass(slots=True)
class EpisodesRequest:
    """One call of ``episodes``."""

    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    limit: int = 100
    offset: int = 0
    since: When | None = None


async def list_episodes(runtime: Runtime, request: EpisodesRequest) -> EpisodeList:
    """Return the episodes a scope sees, newest first."""
    values = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    limit, offset = checked_limit(request.limit, runtime.policy.limits.page), checked_offset(request.offset)
    since: Where | None = None
    if request.since is not None:
        since = Condition("occurred_at", Op.GTE, parse_when(request.since, "since"))
    where = where_visible(merged_scope(runtime, values, {}), runtime.now(), layers=(Layer.EPISODE,), extra=since)

    async def work(tx: Tx) -> list[FoundMemory]:
        rows = await tx.memories.find(where, limit=limit, offset=offset)
        answer = await hide_deleted_in_episodes(tx, [found.record for found in rows])
        records = ((answer.get(found.record.id, found.record), found.link) for found in rows)
        return [FoundMemory(record, link) for record, link in records if record is not None]

    return {"results": [format_episode(found) for found in await runtime.ledger.read(work)]}


def format_episode(found: FoundMemory) -> EpisodeItem:
    """Return an episode as callers see it."""
    record = found.record
    return {
        "id": record.id,
        "summary": record.text,
        "topics": _read_texts(record.data, "topics"),
        "entities": _read_texts(record.data, "entities"),
        "decisions": _read_texts(record.data, "decisions"),
        "action_items": _read_texts(record.data, "action_items"),
        "facts": _read_texts(record.data, "facts"),
        "salience": record.salience,
        "token_count": record.tokens,
        "model": record.model,
        "version": record.version,
        "status": cast("StatusName", str(record.status)),
        **scope_ids(found.link.scope),
        "occurred_at": record.occurred_at,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    }


def _read_texts(data: Mapping[str, Any], name: str) -> list[str]:
    current = data.get(name)
    return [str(one) for one in current] if isinstance(current, Sequence) and not isinstance(current, str) else []
