"""Who a user is, by another system's record of it; only on the word of somebody who may speak for that user."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memstone.core.importers import AUTO, checked_format
from memstone.core.importers.items import Item, Reading, Sort
from memstone.engine.access.admission import not_stored, resolve_owner
from memstone.engine.access.bounds import remove_bounds
from memstone.engine.access.quotas import check_quotas
from memstone.engine.layers.derived import identity_dedupe
from memstone.engine.layers.identity import add_override, get_identity
from memstone.engine.layers.narrative import import_narrative
from memstone.engine.learning.ingest import Transcript, embed_turns, store_turns, unknown_turns
from memstone.engine.learning.lessons import lessons_of
from memstone.engine.learning.queueing import is_on, wake_worker
from memstone.engine.moving.archives import Opening, read_source
from memstone.engine.moving.import_facts import TRUSTED, Cleaning, FactsInto, Taken, clean_item, drafts_of, store_facts
from memstone.engine.policy import tuned_for
from memstone.engine.runtime import Parts
from memstone.engine.scoping import Progress, Source, report_progress
from memstone.engine.storing.embedding import failure_of
from memstone.engine.storing.turns import Turn, taken_from, turn_of
from memstone.errors import InvalidInput, ScopeError, UsageError
from memstone.language.text.normal import normal_text
from memstone.model.ids import POOLS
from memstone.model.instant import Instant
from memstone.model.memory import Kind, Origin
from memstone.model.message import Message
from memstone.model.scope import Scope
from memstone.ports.access_tables import Usage
from memstone.ports.storage import Copying, TableSource

if TYPE_CHECKING:
    from memstone.results import IdentityResult, ImportResult

# --- who a user is, by another system's record of it; only on the word of somebody who may speak for ------------------


async def keep_identity(parts: Parts, one: Taken, skipped: Counter[str]) -> Counter[str]:
    """Keep what a user wrote about themselves, or the text about them where there is none yet."""
    owner, is_text = Scope(one.scope.tenant_id, one.scope.user_id), one.item.sort is Sort.NARRATIVE
    name = identity_dedupe(owner, Kind.NARRATIVE, "narrative")
    if not is_text:
        name = identity_dedupe(owner, Kind.OVERRIDE, one.item.text)
    if await parts.ledger.peek(lambda tx: tx.suppressed.has(owner.tenant_id, name)):
        return Counter(deleted=1)
    known = await get_identity(parts, owner.user_id)
    if is_text:
        return await _store_narrative(parts, one, known, skipped)
    if normal_text(one.item.text) in {normal_text(each["text"]) for each in known["overrides"]}:
        return Counter(known=1)
    await add_override(parts, owner.user_id, one.item.text)
    return Counter(stored=1)


async def _store_narrative(parts: Parts, one: Taken, known: IdentityResult, skipped: Counter[str]) -> Counter[str]:
    """The text about the user; one that is there already is theirs to change, not an import's."""
    there = known["narrative"]
    if there is None:
        await import_narrative(parts, one.scope.user_id, one.item.text, one.item.model, one.item.occurred_at)
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
    said: Transcript = field(default_factory=lambda: Transcript([], {}, None))
    done: int = 0

    async def tell(self, count: int) -> None:
        """Say how far it has come."""
        self.done += count
        if count:
            await report_progress(self.progress, self.done, self.total)

    def answer(self) -> ImportResult:
        """What became of everything."""
        counts = self.counts
        counted: ImportResult = {
            "format": self.format,
            "stored": counts["stored"],
            "known": counts["known"],
            "quarantined": counts["quarantined"],
            "turns": counts["turns"],
            "facts": counts["facts"],
            "episodes": counts["episodes"],
            "identity": counts["identity"],
            "queued": counts["queued"],
            "skipped": dict(sorted(self.skipped.items())),
        }
        if self.said.error is not None:
            counted["degraded"] = [{"step": "embedding", **failure_of(self.said.error)}]
        if self.said.warnings:
            more = len(self.said.warnings) - _WARNINGS
            rest = [f"and {more:,} more"] if more > 0 else []
            counted["warnings"] = [*self.said.warnings[:_WARNINGS], *rest]
        return counted


def _is_own(parts: Parts, path: Path) -> bool:
    ledger = remove_bounds(parts).ledger
    return isinstance(ledger, Copying) and ledger.is_own(path)


async def import_from(parts: Parts, request: ImportRequest, tables: TableSource) -> ImportResult:
    """Take in what a source holds; everything is read and checked before anything is written."""
    how = Opening(checked_format(request.format), parts.policy.limits, tables, partial(_is_own, parts))
    parts = await tuned_for(parts, request)
    if (idle := not_stored(parts)) is not None:
        return {**_Import("", 0, None).answer(), **idle}
    given = parts.scope({"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id})
    reading = await parts.io.run(lambda: read_source(request.source, how))
    owners = await _resolve_owners(parts, reading) if reading.format in KEYED else {}
    taken = list(_select_items(parts, request, given, reading, owners))
    if not taken and reading.skipped[NOBODY]:
        raise ScopeError("the source does not say whose memories these are", hint="name a user: user_id=...")
    under_way = _Import(reading.format, len(taken), request.progress, skipped=reading.skipped)
    under_way.said.warnings = _collect_warnings(taken)
    await _check_quotas(parts, taken)
    turns = _build_turns(parts, [one for one in taken if one.item.sort is Sort.TURN], trusted=request.trusted)
    await _store_turns(parts, turns, under_way, learn=request.learn and is_on(parts))
    await _store_facts(parts, taken, under_way, trusted=request.trusted)
    if under_way.counts["queued"]:
        wake_worker(parts)
    await _register_agents(parts, {one.scope.agent_id for one in taken})
    return under_way.answer()


async def _register_agents(parts: Parts, agents: set[str]) -> None:
    if named := agents - {""}:
        from memstone.engine.agents import register_agents

        await register_agents(parts, named)


def _collect_warnings(taken: Sequence[Taken]) -> list[str]:
    return [warning for one in taken for warning in one.warnings]


# --- whose, and whether at all ----------------------------------------------------------------------------------------


def _select_items(
    parts: Parts, request: ImportRequest, given: Scope, reading: Reading, owners: Mapping[str, str]
) -> Iterator[Taken]:
    """What is taken, with whose it will be; the rest is counted."""
    items = _of_one_user(reading, request.from_user, given)
    cleaning = Cleaning(parts.policy, parts.now())
    for item in items:
        own = clean_item(item, cleaning)
        if isinstance(own, str):
            reading.skip(own)
            continue
        try:
            yield replace(own, scope=_resolve_scope(parts, given, own.item, reading.format, owners))
        except UsageError:
            if not given.is_open:
                raise
            reading.skip(NOBODY)


async def _resolve_owners(parts: Parts, reading: Reading) -> dict[str, str]:
    """Return whom each key that is named stands for here, as where such entries are listed."""
    named = {item.whose.user_id for item in reading.items} - {""}
    return {one: await resolve_owner(parts, one, "") for one in named}


def _of_one_user(reading: Reading, wanted: str | None, given: Scope) -> list[Item]:
    """What belongs to the one user that is imported; where the caller names a user, a file may not hold several."""
    if wanted is not None:
        mine = [item for item in reading.items if item.whose.user_id in (wanted, POOLS + wanted)]
        reading.skip("somebody else's", len(reading.items) - len(mine))
        return mine
    users = {item.whose.user_id for item in reading.items} - {""}
    if len(users) > 1 and not given.is_open:
        raise InvalidInput(
            f"the file contains memories of {len(users):,} users, but you named one",
            hint="pass from_user to import only one of them, or leave out user_id to keep them separate",
        )
    return reading.items


def _resolve_scope(parts: Parts, given: Scope, item: Item, source: str, owners: Mapping[str, str]) -> Scope:
    """Whose it will be: whom the caller names, and as far as that is left open, whom the source names.

    Whoever names no user takes nobody's memories for their agent. A conversation is a run of its own.
    """
    whose, named = given, item.whose
    if given.is_open:
        user = owners.get(named.user_id, named.user_id)
        found = {"user_id": user, "agent_id": named.agent_id, "run_id": named.run_id}
        whose = parts.scope({name: value or None for name, value in found.items()}).required()
    elif given.user_id:
        found = {"agent_id": given.agent_id or named.agent_id, "run_id": given.run_id or named.run_id}
        whose = parts.scope({"user_id": given.user_id, **{name: value or None for name, value in found.items()}})
    if item.conversation and not whose.run_id:
        return replace(whose, run_id=_conversation_run_id(source, item.conversation))
    return whose


def _conversation_run_id(source: str, conversation: str) -> str:
    """The name of a conversation here: the same for the same one, and never one that is in use."""
    return f"import:{source}:{hashlib.sha256(conversation.encode()).hexdigest()[:16]}"


async def _check_quotas(parts: Parts, taken: Sequence[Taken]) -> None:
    wanted: dict[Scope, Usage] = {}
    for one in taken:
        is_turn = one.item.sort is Sort.TURN
        who = Scope(one.scope.tenant_id, one.scope.user_id)
        so_far = wanted.get(who, Usage())
        memories, turns = so_far.memories + (not is_turn), so_far.turns + is_turn
        wanted[who] = Usage(memories, turns, so_far.chars + len(one.item.text))
    for who, usage in wanted.items():
        await check_quotas(parts, who, usage)


# --- what was said ----------------------------------------------------------------------------------------------------


def _build_turns(parts: Parts, taken: Sequence[Taken], *, trusted: bool) -> list[Turn]:
    """Turns of each conversation together, in their order; one without a time was said when the one before it was."""
    last: dict[Scope, Instant] = {}
    repeated: Counter[str] = Counter()
    turns: list[Turn] = []
    for at, one in enumerate(sorted(taken, key=_conversation_sort_key(taken))):
        when = one.item.occurred_at or last.get(one.scope)
        if when is not None:
            last[one.scope] = when
        turn = _build_turn(one, when, parts.now(), at)
        before, repeated[turn.draft.dedupe] = repeated[turn.draft.dedupe], repeated[turn.draft.dedupe] + 1
        turns.append(
            _assign_origin(turn if not before else _build_turn(one, when, parts.now(), at, before), trusted=trusted)
        )
    return turns


def _conversation_sort_key(taken: Sequence[Taken]) -> Any:
    places = {scope: at for at, scope in enumerate(dict.fromkeys(one.scope for one in taken))}
    return lambda one: places[one.scope]


def _build_turn(one: Taken, when: Instant | None, now: Instant, at: int, repeated: int = 0) -> Turn:
    item = one.item
    message = Message(item.role, item.text, item.name)
    turn = turn_of(one.scope, message, when or now, at, dated=when is not None, repeated=repeated)
    turn.draft.metadata, turn.draft.source, turn.draft.expires_at = dict(item.metadata), "import", item.expires_at
    turn.draft.data = {**(turn.draft.data or {}), **({"title": item.title} if item.title else {})}
    return turn


def _assign_origin(turn: Turn, *, trusted: bool) -> Turn:
    """Only the user's own words are theirs, and only when somebody says so who may speak for them."""
    return turn if trusted and turn.message.role == Origin.USER else taken_from(turn, Origin.IMPORT)


async def _store_turns(parts: Parts, turns: list[Turn], under_way: _Import, *, learn: bool) -> None:
    keeps, said = parts.policy.curation.keep_turns, under_way.said
    if not keeps and not learn:
        under_way.skipped["this memory does not keep turns"] += len(turns)
        return
    lessons = lessons_of(turns) if learn else []
    for start in range(0, len(turns), AT_ONCE):
        chunk = turns[start : start + AT_ONCE]
        if keeps:
            await embed_turns(parts, said, await parts.ledger.read(partial(unknown_turns, parts=parts, turns=chunk)))
        due = [lesson for lesson in lessons if start <= lesson.last < start + len(chunk)]
        told = await parts.ledger.write(partial(store_turns, parts=parts, said=said, turns=chunk, due=due, keeps=keeps))
        _add_counts(under_way, told, "turns")
        under_way.counts["queued"] += told["queued"]
        await under_way.tell(len(chunk))


def _add_counts(under_way: _Import, told: Counter[str], sort: str) -> None:
    under_way.counts["stored"] += told["stored"]
    under_way.counts[sort] += told["stored"]
    under_way.counts["known"] += told["known"]
    under_way.counts["quarantined"] += told["quarantined"]
    under_way.skipped += Counter({"deleted here": told["deleted"]})


# --- what is known ----------------------------------------------------------------------------------------------------


async def _store_facts(parts: Parts, taken: Sequence[Taken], under_way: _Import, *, trusted: bool) -> None:
    """Facts and episodes; who the user is only on the word of whoever may speak for them."""
    who = [one for one in taken if one.item.sort in (Sort.OVERRIDE, Sort.NARRATIVE) and trusted and one.scope.user_id]
    own = {id(one) for one in who}
    rest = [one for one in taken if one.item.sort is not Sort.TURN and id(one) not in own]
    into = FactsInto(parts, under_way.said)
    trust = TRUSTED if trusted else None
    for start in range(0, len(rest), AT_ONCE):
        chunk = rest[start : start + AT_ONCE]
        for layer, told in (await store_facts(into, drafts_of(parts, chunk, trust))).items():
            _add_counts(under_way, told, layer)
        await under_way.tell(len(chunk))
    for one in who:
        told = await keep_identity(parts, one, under_way.skipped)
        _add_counts(under_way, told, "identity")
        await under_way.tell(1)
