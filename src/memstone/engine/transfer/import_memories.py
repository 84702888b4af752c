"""``import_from``: decide whose memories an import contains, and store them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memstone.core.importers import AUTO, checked_format
from memstone.core.importers.items import Sort, SourceItem, SourceReader
from memstone.engine.access.admission import not_stored, resolve_owner
from memstone.engine.access.bounds import remove_bounds
from memstone.engine.access.quotas import check_quotas
from memstone.engine.layers.identity import add_override, get_identity
from memstone.engine.layers.mirrors import identity_dedupe
from memstone.engine.layers.narrative import import_narrative
from memstone.engine.learn.ingest import IngestRun, embed_turns, store_turns, unknown_turns
from memstone.engine.learn.lessons import lessons_of
from memstone.engine.learn.queue import is_on, wake_worker
from memstone.engine.policy import policy_for
from memstone.engine.request_scope import Progress, Source, report_progress
from memstone.engine.runtime import Runtime
from memstone.engine.store.embedding import failure_of
from memstone.engine.store.turns import Turn, taken_from, turn_of
from memstone.engine.transfer.archives import SourceFormat, read_source
from memstone.engine.transfer.import_facts import (
    TRUSTED,
    CleaningRules,
    FactsInto,
    ImportItem,
    clean_item,
    drafts_of,
    store_facts,
)
from memstone.errors import InvalidInput, ScopeError, UsageError
from memstone.language.text.normal import normal_text
from memstone.model.ids import POOLS
from memstone.model.instant import Instant
from memstone.model.memory import Kind, Origin
from memstone.model.message import Message
from memstone.model.scope import Scope
from memstone.ports.access_tables import Usage
from memstone.ports.storage import CopyableLedger, TableSource

if TYPE_CHECKING:
    from memstone.results import IdentityResult, ImportResult

# --- who a user is, by another system's record of it; only on the word of somebody who may speak for ------------------


async def keep_identity(runtime: Runtime, one: ImportItem, skipped: Counter[str]) -> Counter[str]:
    """Keep what a user wrote about themselves, or the text about them where there is none yet."""
    owner, is_text = Scope(one.scope.tenant_id, one.scope.user_id), one.item.sort is Sort.NARRATIVE
    name = identity_dedupe(owner, Kind.NARRATIVE, "narrative")
    if not is_text:
        name = identity_dedupe(owner, Kind.OVERRIDE, one.item.text)
    if await runtime.ledger.peek(lambda tx: tx.suppressions.has(owner.tenant_id, name)):
        return Counter(deleted=1)
    known = await get_identity(runtime, owner.user_id)
    if is_text:
        return await _store_narrative(runtime, one, known, skipped)
    if normal_text(one.item.text) in {normal_text(each["text"]) for each in known["overrides"]}:
        return Counter(known=1)
    await add_override(runtime, owner.user_id, one.item.text)
    return Counter(stored=1)


async def _store_narrative(
    runtime: Runtime, one: ImportItem, known: IdentityResult, skipped: Counter[str]
) -> Counter[str]:
    """Store the text about the user; one that is there already is theirs to change, not an import's."""
    there = known["narrative"]
    if there is None:
        await import_narrative(runtime, one.scope.user_id, one.item.text, one.item.model, one.item.occurred_at)
        return Counter(stored=1)
    if there["text"] == one.item.text:
        return Counter(known=1)
    skipped["there is already a text about the user"] += 1
    return Counter()


# --- ``import_from`` --------------------------------------------------------------------------------------------------


AT_ONCE: Final = 200
"""So many things are stored in one transaction."""

_WARNINGS: Final = 20
NOBODY: Final = "names nobody"
KEYED: Final = ("gateway", "gateway_db")
"""Formats that know an owner by the id of a key."""


@dataclass(slots=True)
class ImportRequest:
    """One call of ``import_from``."""

    source: Source
    format: str = AUTO
    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    from_user: str | None = None
    trusted: bool = False
    learn: bool = True
    progress: Progress | None = None


@dataclass(slots=True)
class _Import:
    """An import under way, and what became of it so far."""

    format: str
    total: int
    progress: Progress | None
    counts: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    transcript: IngestRun = field(default_factory=lambda: IngestRun([], {}, None))
    done: int = 0

    async def tell(self, count: int) -> None:
        """Say how far it has come."""
        self.done += count
        if count:
            await report_progress(self.progress, self.done, self.total)

    def answer(self) -> ImportResult:
        """Return what became of everything."""
        counts = self.counts
        counted: ImportResult = {
            "format": self.format,
            "stored": counts["stored"],
            "known": counts["known"],
            "quarantined": counts["quarantined"],
            "approved": counts["approved"],
            "turns": counts["turns"],
            "facts": counts["facts"],
            "episodes": counts["episodes"],
            "identity": counts["identity"],
            "queued": counts["queued"],
            "skipped": dict(sorted(self.skipped.items())),
        }
        if self.transcript.error is not None:
            counted["degraded"] = [{"step": "embedding", **failure_of(self.transcript.error)}]
        if self.transcript.warnings:
            more = len(self.transcript.warnings) - _WARNINGS
            rest = [f"and {more:,} more"] if more > 0 else []
            counted["warnings"] = [*self.transcript.warnings[:_WARNINGS], *rest]
        return counted


def _is_own(runtime: Runtime, path: Path) -> bool:
    ledger = remove_bounds(runtime).ledger
    return isinstance(ledger, CopyableLedger) and ledger.is_own(path)


async def import_from(runtime: Runtime, request: ImportRequest, tables: TableSource) -> ImportResult:
    """Take in what a source holds; everything is read and checked before anything is written."""
    how = SourceFormat(checked_format(request.format), runtime.policy.limits, tables, partial(_is_own, runtime))
    runtime = await policy_for(runtime, request)
    if (idle := not_stored(runtime)) is not None:
        return {**_Import("", 0, None).answer(), **idle}
    scope = runtime.scope({"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id})
    reading = await runtime.io.run(lambda: read_source(request.source, how))
    owners = await _resolve_owners(runtime, reading) if reading.format in KEYED else {}
    taken = list(_select_items(runtime, request, scope, reading, owners))
    if not taken and reading.skipped[NOBODY]:
        raise ScopeError("the source does not say whose memories these are", hint="name a user: user_id=...")
    under_way = _Import(reading.format, len(taken), request.progress, skipped=reading.skipped)
    under_way.transcript.warnings = _collect_warnings(taken)
    await _check_quotas(runtime, taken)
    turns = _build_turns(runtime, [one for one in taken if one.item.sort is Sort.TURN], trusted=request.trusted)
    await _store_turns(runtime, turns, under_way, learn=request.learn and is_on(runtime))
    await _store_facts(runtime, taken, under_way, trusted=request.trusted)
    if under_way.counts["queued"]:
        wake_worker(runtime)
    await _register_agents(runtime, {one.scope.agent_id for one in taken})
    return under_way.answer()


async def _register_agents(runtime: Runtime, agents: set[str]) -> None:
    if named := agents - {""}:
        from memstone.engine.agents import register_agents

        await register_agents(runtime, named)


def _collect_warnings(taken: Sequence[ImportItem]) -> list[str]:
    return [warning for one in taken for warning in one.warnings]


# --- whose, and whether at all ----------------------------------------------------------------------------------------


def _select_items(
    runtime: Runtime, request: ImportRequest, scope: Scope, reading: SourceReader, owners: Mapping[str, str]
) -> Iterator[ImportItem]:
    """Yield what is taken, with whose it will be; the rest is counted."""
    items = _of_one_user(reading, request.from_user, scope)
    cleaning = CleaningRules(runtime.policy, runtime.now())
    for item in items:
        own = clean_item(item, cleaning)
        if isinstance(own, str):
            reading.skip(own)
            continue
        try:
            yield replace(own, scope=_resolve_scope(runtime, scope, own.item, reading.format, owners))
        except UsageError:
            if not scope.is_open:
                raise
            reading.skip(NOBODY)


async def _resolve_owners(runtime: Runtime, reading: SourceReader) -> dict[str, str]:
    """Return whom each key that is named stands for here, as where such entries are listed."""
    named = {item.owner.user_id for item in reading.items} - {""}
    return {one: await resolve_owner(runtime, one, "") for one in named}


def _of_one_user(reading: SourceReader, wanted: str | None, scope: Scope) -> list[SourceItem]:
    """Return what belongs to the one user that is imported.

    Where the caller names a user, a file may not hold several.
    """
    if wanted is not None:
        items = [item for item in reading.items if item.owner.user_id in (wanted, POOLS + wanted)]
        reading.skip("somebody else's", len(reading.items) - len(items))
        return items
    users = {item.owner.user_id for item in reading.items} - {""}
    if len(users) > 1 and not scope.is_open:
        raise InvalidInput(
            f"the file contains memories of {len(users):,} users, but you named one",
            hint="pass from_user to import only one of them, or leave out user_id to keep them separate",
        )
    return reading.items


def _resolve_scope(runtime: Runtime, scope: Scope, item: SourceItem, source: str, owners: Mapping[str, str]) -> Scope:
    """Return whose it will be: whom the caller names, and as far as that is left open, whom the source names.

    Whoever names no user takes nobody's memories for their agent. A conversation is a run of its own.
    """
    owner_scope, named = scope, item.owner
    if scope.is_open:
        user = owners.get(named.user_id, named.user_id)
        found = {"user_id": user, "agent_id": named.agent_id, "run_id": named.run_id}
        owner_scope = runtime.scope({name: value or None for name, value in found.items()}).require_owner()
    elif scope.user_id:
        found = {"agent_id": scope.agent_id or named.agent_id, "run_id": scope.run_id or named.run_id}
        owner_scope = runtime.scope(
            {"user_id": scope.user_id, **{name: value or None for name, value in found.items()}}
        )
    if item.conversation and not owner_scope.run_id:
        return replace(owner_scope, run_id=_conversation_run_id(source, item.conversation))
    return owner_scope


def _conversation_run_id(source: str, conversation: str) -> str:
    """Return the name of a conversation here: the same for the same one, and never one that is in use."""
    return f"import:{source}:{hashlib.sha256(conversation.encode()).hexdigest()[:16]}"


async def _check_quotas(runtime: Runtime, taken: Sequence[ImportItem]) -> None:
    wanted: dict[Scope, Usage] = {}
    for one in taken:
        is_turn = one.item.sort is Sort.TURN
        who = Scope(one.scope.tenant_id, one.scope.user_id)
        so_far = wanted.get(who, Usage())
        memories, turns = so_far.memories + (not is_turn), so_far.turns + is_turn
        wanted[who] = Usage(memories, turns, so_far.chars + len(one.item.text))
    for who, usage in wanted.items():
        await check_quotas(runtime, who, usage)


# --- what was said ----------------------------------------------------------------------------------------------------


def _build_turns(runtime: Runtime, taken: Sequence[ImportItem], *, trusted: bool) -> list[Turn]:
    """Return turns of each conversation together, in their order.

    One without a time was said when the one before it was.
    """
    last: dict[Scope, Instant] = {}
    repeated: Counter[str] = Counter()
    turns: list[Turn] = []
    for at, one in enumerate(sorted(taken, key=_conversation_sort_key(taken))):
        when = one.item.occurred_at or last.get(one.scope)
        if when is not None:
            last[one.scope] = when
        turn = _build_turn(one, when, runtime.now(), at)
        before, repeated[turn.draft.dedupe] = repeated[turn.draft.dedupe], repeated[turn.draft.dedupe] + 1
        turns.append(
            _assign_origin(turn if not before else _build_turn(one, when, runtime.now(), at, before), trusted=trusted)
        )
    return turns


def _conversation_sort_key(taken: Sequence[ImportItem]) -> Any:
    places = {scope: at for at, scope in enumerate(dict.fromkeys(one.scope for one in taken))}
    return lambda one: places[one.scope]


def _build_turn(one: ImportItem, when: Instant | None, now: Instant, at: int, repeated: int = 0) -> Turn:
    item = one.item
    message = Message(item.role, item.text, item.name)
    turn = turn_of(one.scope, message, when or now, at, dated=when is not None, repeated=repeated)
    turn.draft.metadata, turn.draft.source, turn.draft.expires_at = dict(item.metadata), "import", item.expires_at
    turn.draft.data = {**(turn.draft.data or {}), **({"title": item.title} if item.title else {})}
    return turn


def _assign_origin(turn: Turn, *, trusted: bool) -> Turn:
    """Leave a turn the user's own only when it is in their words and somebody says so who may speak for them."""
    return turn if trusted and turn.message.role == Origin.USER else taken_from(turn, Origin.IMPORT)


async def _store_turns(runtime: Runtime, turns: list[Turn], under_way: _Import, *, learn: bool) -> None:
    keeps, ingest_run = runtime.policy.curation.keep_turns, under_way.transcript
    if not keeps and not learn:
        under_way.skipped["this memory does not keep turns"] += len(turns)
        return
    lessons = lessons_of(turns) if learn else []
    for start in range(0, len(turns), AT_ONCE):
        chunk = turns[start : start + AT_ONCE]
        if keeps:
            await embed_turns(
                runtime, ingest_run, await runtime.ledger.read(partial(unknown_turns, runtime=runtime, turns=chunk))
            )
        due = [lesson for lesson in lessons if start <= lesson.last < start + len(chunk)]
        answer = await runtime.ledger.write(
            partial(store_turns, runtime=runtime, ingest_run=ingest_run, turns=chunk, due=due, keeps=keeps)
        )
        _add_counts(under_way, answer, "turns")
        under_way.counts["queued"] += answer["queued"]
        await under_way.tell(len(chunk))


def _add_counts(under_way: _Import, answer: Counter[str], sort: str) -> None:
    under_way.counts["stored"] += answer["stored"]
    under_way.counts[sort] += answer["stored"]
    under_way.counts["known"] += answer["known"]
    under_way.counts["quarantined"] += answer["quarantined"]
    under_way.counts["approved"] += answer["approved"]
    under_way.skipped += Counter({"deleted here": answer["deleted"]})


# --- what is known ----------------------------------------------------------------------------------------------------


async def _store_facts(runtime: Runtime, taken: Sequence[ImportItem], under_way: _Import, *, trusted: bool) -> None:
    """Store facts and episodes; who the user is only on the word of whoever may speak for them."""
    who = [one for one in taken if one.item.sort in (Sort.OVERRIDE, Sort.NARRATIVE) and trusted and one.scope.user_id]
    own = {id(one) for one in who}
    rest = [one for one in taken if one.item.sort is not Sort.TURN and id(one) not in own]
    into = FactsInto(runtime, under_way.transcript)
    trust = TRUSTED if trusted else None
    for start in range(0, len(rest), AT_ONCE):
        chunk = rest[start : start + AT_ONCE]
        for layer, answer in (await store_facts(into, drafts_of(runtime, chunk, trust))).items():
            _add_counts(under_way, answer, layer)
        await under_way.tell(len(chunk))
    for one in who:
        answer = await keep_identity(runtime, one, under_way.skipped)
        _add_counts(under_way, answer, "identity")
        await under_way.tell(1)
