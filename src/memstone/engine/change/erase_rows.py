"""The unit of work that removes a subject from every table, in a store or in a backup.

Nothing is blanked that can go as a row. What others keep stays: of a memory they see too only the links and the history
of the subject go, with every quote of what is gone. Running it again finds nothing more to do.

Of somebody with many memories most go before, some at a time, so that whoever else writes finds a turn in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from memstone.core.settings.lenient import scope_keys
from memstone.engine.recall import calibrate
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import text_doc
from memstone.language.language import Language
from memstone.model.access import StoredSecret
from memstone.model.instant import Instant
from memstone.model.memory import INDEXED, Link, owner_of
from memstone.model.scope import Scope
from memstone.ports.erasure import WHOLE_STORE, RemovedText, Subject, SubjectVersions
from memstone.ports.ledger import Tx
from memstone.ports.storage import CopyableLedger
from memstone.ports.tables import Key

# --- the unit of work that removes a subject from every table; the same for a store and for a copy --------------------


BATCH: Final = 50
"""So many memories go in one transaction, in a tenth of a second or two."""

_PAGE: Final = 500
_QUOTING: Final = ("idempotency", "jobs")
"""Tables that may tell of memories of several people in one row."""


@dataclass(slots=True)
class RemovedRows:
    """What a unit removed: rows by table, words and versions.

    ``rewritten`` rows quoted something of it and stay, ``retained_count`` memories stay because others see them.
    """

    counts: Counter[str] = field(default_factory=Counter)
    rewritten: int = 0
    retained_count: int = 0
    texts: list[str] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """How many rows of the subject there were."""
        return sum(count for table, count in self.counts.items() if table != "llm_cache")


@dataclass(slots=True)
class ErasureProgress:
    """What there was of a subject before any of it went, and what has gone of that so far."""

    reach: SubjectVersions = field(default_factory=SubjectVersions)
    words: RemovedText = field(default_factory=RemovedText)
    scopes: set[Scope] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def batches(self) -> Iterable[list[str]]:
        """Yield the memories that may go before the rest; none where there are few."""
        ids = self.reach.ids if len(self.reach.ids) > BATCH else []
        for start in range(0, len(ids), BATCH):
            yield ids[start : start + BATCH]


async def inspect_subject(tx: Tx, subject: Subject) -> ErasureProgress:
    """Return what there is of a subject, to be removed in batches."""
    reach = await tx.erasure.reach(subject)
    return ErasureProgress(
        reach, await tx.erasure.words(subject, reach), await _find_affected_scopes(tx, subject, reach)
    )


async def remove_batch(tx: Tx, subject: Subject, ids: Sequence[str]) -> dict[str, int]:
    """Remove some memories of a subject; return rows by table."""
    seqs = await tx.erasure.versions(subject.tenant_id, ids)
    await tx.vectors.touch(subject.tenant_id, seqs)  # while their links still say whose they are
    return await tx.erasure.drop_memories(subject, ids)


async def remove_subject(
    tx: Tx, language: Language, subject: Subject, at: Instant, begun: ErasureProgress | None = None
) -> RemovedRows:
    """Remove everything of a subject, in one transaction. The full text finds none of it, and is yet to forget it.

    ``begun`` is what was there before some of it was removed in batches.
    """
    before = begun or ErasureProgress()
    reach = await tx.erasure.reach(subject, before.reach.ids)
    words = await tx.erasure.words(subject, reach)
    words = RemovedText([*before.words.texts, *words.texts], [*before.words.every, *words.every])
    scopes = before.scopes | await _find_affected_scopes(tx, subject, reach)
    reach.ids = sorted({*reach.ids, *before.reach.ids} - set(reach.touched))
    removed = RemovedRows(Counter(before.counts), retained_count=len(reach.touched), texts=words.every)
    removed.seqs = sorted({*before.reach.own, *reach.own})
    await tx.vectors.touch(subject.tenant_id, [*reach.own, *reach.shared])  # while their links still say whose they are
    removed.counts["links"] += await _unlink_subject(tx, language, subject, reach.shared)
    removed.counts.update(await tx.erasure.drop_versions(subject.tenant_id, reach.own))
    removed.counts.update(await tx.erasure.drop_history(subject, reach))
    removed.counts["settings"] += await _drop_settings(tx, subject, at)
    removed.counts.update(await tx.erasure.drop_scoped(subject))
    removed.counts["llm_cache"] += await tx.erasure.drop_answers(subject.tenant_id)
    removed.rewritten = await _unquote_all_rows(tx, subject, reach, words.texts)
    for scope in scopes:
        await calibrate.drop_calibration(tx, scope)
    return removed


async def _drop_settings(tx: Tx, subject: Subject, at: Instant) -> int:
    """Return the settings of one user, agent or run; whoever holds them elsewhere is told."""
    _, *named = scope_keys(subject.scope)
    if subject.memory_id or len(named) != 1:
        return 0
    return await tx.preferences.drop(subject.tenant_id, named[0], None, at)


async def _find_affected_scopes(tx: Tx, subject: Subject, reach: SubjectVersions) -> set[Scope]:
    """Return the scopes in which somebody may have asked about the subject."""
    linked = {link.scope for seq in (*reach.own, *reach.shared) for link in await tx.links.of(subject.tenant_id, seq)}
    scopes = [subject.scope, *(scope for scope in linked if subject.scope.holds(scope))]
    return {part for scope in scopes for part in _wider_scopes(scope)} - {Scope(subject.tenant_id)}


def _wider_scopes(scope: Scope) -> Iterable[Scope]:
    tenant, user, agent, run = scope.tenant_id, scope.user_id, scope.agent_id, scope.run_id
    yield scope
    yield Scope(tenant, user)
    yield Scope(tenant, user, agent)
    yield Scope(tenant, user, run_id=run)
    yield Scope(tenant, agent_id=agent)
    yield Scope(tenant, run_id=run)


async def _unlink_subject(tx: Tx, language: Language, subject: Subject, seqs: Sequence[int]) -> int:
    """Let versions that others see too be theirs alone."""
    for seq in seqs:
        links = await tx.links.of(subject.tenant_id, seq)
        remaining = [link for link in links if not subject.scope.holds(link.scope)]
        await _reindex_text(tx, language, seq, remaining)
        for owner in _link_owners(links) - _link_owners(remaining):
            await tx.entities.leave(subject.tenant_id, [seq], owner)
    return await tx.erasure.unlink(subject, seqs)


async def _reindex_text(tx: Tx, language: Language, seq: int, links: Sequence[Link]) -> None:
    """Put a version into the full text again, which finds it by who sees it."""
    record = await tx.memories.at(seq)
    if record is None or record.valid_to is not None or record.status not in INDEXED:
        return
    await tx.text.drop([seq])
    await tx.text.put(seq, text_doc(record, links, language.dates))


def _link_owners(links: Iterable[Link]) -> set[Scope]:
    return {owner_of(link.scope) for link in links}


# --- what others keep, and what it quotes -----------------------------------------------------------------------------


async def _unquote_all_rows(tx: Tx, subject: Subject, reach: SubjectVersions, texts: Sequence[str]) -> int:
    """Take the words that are gone out of rows that stay."""
    quoted = _ErasedContent(frozenset(reach.ids), frozenset(texts), subject)
    rewritten = 0
    for memory_id in reach.ids:
        for row in await tx.stored_rows.list_citations(subject.tenant_id, memory_id):
            rewritten += await _rewrite_row(tx, subject, "memories", row.key, {"data": row.values["data"]}, quoted)
    for memory_id in dict.fromkeys((*reach.touched, *await tx.erasure.list_memories_once_seen(subject))):
        rewritten += await _unquote_events(tx, subject, memory_id, quoted)
    for table in _QUOTING:
        rewritten += await _unquote_table(tx, subject, table, quoted)
    if subject.memory_id:
        await _drop_waiting(tx, subject, quoted)
    return rewritten


async def _drop_waiting(tx: Tx, subject: Subject, quoted: _ErasedContent) -> None:
    """Drop a conversation that waits to be learned from, or was, and holds the words: it would bring them back."""
    after = None
    while page := await tx.stored_rows.page(subject.tenant_id, "signals", after, _PAGE):
        after = page[-1].key
        holding = [row.key for row in page if quoted.without(row.values) != row.values]
        await tx.stored_rows.drop(subject.tenant_id, "signals", holding)


async def _unquote_events(tx: Tx, subject: Subject, memory_id: str, quoted: _ErasedContent) -> int:
    rewritten = 0
    remaining = [event.seq for event in await tx.events.of(subject.tenant_id, memory_id)]
    for row in await tx.stored_rows.rows(subject.tenant_id, "events", remaining):
        values = {name: value for name, value in row.values.items() if name != "memory_id"}
        rewritten += await _rewrite_row(tx, subject, "events", row.key, values, quoted)
    return rewritten


async def _unquote_table(tx: Tx, subject: Subject, table: str, quoted: _ErasedContent) -> int:
    rewritten, after = 0, None
    while page := await tx.stored_rows.page(subject.tenant_id, table, after, _PAGE):
        after = page[-1].key
        for row in page:
            rewritten += await _rewrite_row(tx, subject, table, row.key, row.values, quoted)
    return rewritten


async def _rewrite_row(
    tx: Tx, subject: Subject, table: str, key: Key, values: dict[str, Any], quoted: _ErasedContent
) -> int:
    clean = {name: quoted.without(value) for name, value in values.items()}
    changed = {name: value for name, value in clean.items() if value != values[name]}
    if changed:
        await tx.stored_rows.rewrite(subject.tenant_id, table, key, changed)
    return int(bool(changed))


@dataclass(frozen=True, slots=True)
class _ErasedContent:
    """What may stand nowhere any more: memories by their ids, words, and who saw something."""

    ids: frozenset[str]
    texts: frozenset[str]
    subject: Subject

    def without(self, value: Any) -> Any:
        """Return a value without it."""
        if isinstance(value, str):
            return "" if value in self.texts else value
        if isinstance(value, list):
            return [self.without(one) for one in value if not self._is_link(one)]
        return self._object(value) if isinstance(value, dict) else value

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        if self._names(value, "id") or self._names(value, "memory_id"):
            return {**{name: value[name] for name in ("id", "memory_id", "event") if name in value}, "erased": True}
        if value.get("id"):  # somebody else's memory, who may well have said the same
            return value
        left_out = "quote" if self._names(value, "turn") else None  # what a fact was learned from
        return {name: self.without(one) for name, one in value.items() if name != left_out}

    def _names(self, value: dict[str, Any], name: str) -> bool:
        return isinstance(value.get(name), str) and value[name] in self.ids

    def _is_link(self, value: Any) -> bool:
        """Return whether this says that the subject saw a memory: a state around a change tells all who did."""
        if not isinstance(value, dict) or "dedupe" not in value or self.subject.scope.is_open:
            return False
        who = Scope(self.subject.tenant_id, *(str(value.get(name, "")) for name in ("user_id", "agent_id", "run_id")))
        return self.subject.scope.holds(who)


# --- rewrite the file, so that nothing that was erased remains between its rows ---------------------------------------


_QUIET_SECONDS: Final = 5.0
_LATEST_SECONDS: Final = 600.0
"""So long it is waited at most until nobody calls."""

_NAME: Final = "compacted"
_NOTHING: Final = b"\0"


async def compact_store(runtime: Runtime) -> bool:
    """Rewrite the file, and note when.

    Return False if somebody's snapshot keeps the log from being emptied.
    """
    if not isinstance(runtime.ledger, CopyableLedger):
        return True
    began = runtime.now()
    done = await runtime.ledger.wipe()
    if done:
        note = StoredSecret(_NOTHING, began)
        await runtime.ledger.write(lambda tx: tx.vault.put_secret(WHOLE_STORE, _NAME, note))
    return done


async def compacted_since(runtime: Runtime, moment: Instant) -> bool:
    """Return whether the file was written again since a moment."""
    last = await runtime.ledger.read(lambda tx: tx.vault.secret(WHOLE_STORE, _NAME))
    return last is not None and last.created_at >= moment


async def compact_if_owed(runtime: Runtime) -> bool:
    """Write the file again if something was erased since that was done; return whether it was."""
    if not isinstance(runtime.ledger, CopyableLedger) or not runtime.ledger.holds_files:
        return False
    return await runtime.ledger.read(_is_owed) and await compact_store(runtime)


async def _is_owed(tx: Tx) -> bool:
    last = await tx.vault.secret(WHOLE_STORE, _NAME)
    erased = await tx.vault.erasures()
    return bool(erased) and (last is None or max(one.created_at for one in erased) > last.created_at)


def compact_when_quiet(runtime: Runtime) -> None:
    """Rewrite the file in the background when nobody calls; only the first request starts this."""
    shop = runtime.worker_state
    if shop.compaction is None or not shop.compaction.alive:
        shop.compaction = runtime.io.spawn(_compact_when_quiet(runtime), name="memstone-compaction", stop=shop.leave)


async def _compact_when_quiet(runtime: Runtime) -> None:
    shop, waited = runtime.worker_state, 0.0
    while waited < _LATEST_SECONDS and not shop.stopping:
        await shop.bell(runtime.io).wait(_QUIET_SECONDS)
        waited += _QUIET_SECONDS
        if not shop.busy:
            break
    if not shop.stopping:
        await compact_store(runtime)
