"""``redact``: mask secrets in stored memories and in everything derived from their text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from memstone.core.redact import RedactPolicy, Sensitive, redact_moving, redact_text
from memstone.engine.request_scope import Progress, report_progress
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import dedupe_value, text_doc, text_hash
from memstone.engine.store.embedding import failure_of
from memstone.engine.store.indexer import fill_missing
from memstone.engine.store.turns import map_json_texts, only_masking, redaction_of, turn_dedupe
from memstone.errors import MemstoneError
from memstone.language.text.normal import estimate_tokens
from memstone.model.event import Event, EventType
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.memory import INDEXED, Layer, Link, Record
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx, Work
from memstone.ports.tables import TABLES, Key, StoredRow

if TYPE_CHECKING:
    from memstone.results import Degradation, RedactResult

# --- one stored memory without its secrets, and everything that follows from its text ---------------------------------


_WORD: Final = re.compile(r"[a-z0-9]+")
_TELLING: Final = 3
_REPEATED: Final = 8
"""So often a transcript may have had the same words; beyond that a turn gives up being recognised."""


@dataclass(frozen=True, slots=True)
class MaskingRun:
    """A masking under way, within one transaction."""

    runtime: Runtime
    tx: Tx
    policy: RedactPolicy
    now: Instant

    def without_leaking_keys(self, before: Mapping[str, Any], clean: dict[str, Any]) -> dict[str, Any]:
        """Return snapshots of an event whose keys hold nothing of the words that were masked."""
        for text, snapshot in (("old_text", "before"), ("new_text", "after")):
            visible = clean[snapshot]
            if visible and _has_masked_word(visible.get("key"), before[text] or "", clean[text] or ""):
                clean[snapshot] = {name: value for name, value in visible.items() if name != "key"}
            if visible and before[text] != clean[text]:  # a claim is a digest of the words
                clean[snapshot] = _without_claims(clean[snapshot])
        return clean


def _without_claims(state: dict[str, Any]) -> dict[str, Any]:
    links = [{**link, "dedupe": None} for link in state.get("links") or ()]
    return {**state, "links": links} if links else state


@dataclass(frozen=True, slots=True)
class MaskedVersion:
    """A version that was masked: of which memory, as who sees it, and what it held."""

    memory_id: str
    scope: Scope
    kinds: frozenset[Sensitive]


async def mask_memory(masking: MaskingRun, seq: int) -> MaskedVersion | None:
    """Mask one version of a memory in place; None when there was nothing left to do."""
    tx, tenant = masking.tx, masking.runtime.tenant_id
    old = await tx.memories.at(seq)
    if old is None:
        return None
    links = await tx.links.of(tenant, seq)
    cited = await tx.stored_rows.list_citations(tenant, old.id) if old.layer == Layer.TURN else []
    found, moved = redact_moving(old.text, masking.policy, [_evidence_span(row) for row in cited])
    kinds = set(found.found)
    new = _mask_record(masking, old, found.text, kinds)
    new.data = await _own_evidence(masking, new, kinds)
    if new == old:  # what a turn says decides about the words that are quoted from it
        return None
    await _write_masked_record(masking, old, new, links)
    for row, place in zip(cited, moved, strict=True):
        await _update_citation(masking, row, old, new, place)
    return MaskedVersion(old.id, links[0].scope if links else Scope(tenant), frozenset(kinds))


async def append_redact_events(masking: MaskingRun, masked: Iterable[MaskedVersion], noted: set[str]) -> set[str]:
    """Let the history of each memory say, once, that it was rewritten; ``noted`` are those whose history does.

    Gives the memories whose history says so now.
    """
    kinds: dict[str, tuple[Scope, set[Sensitive]]] = {}
    for one in masked:
        kinds.setdefault(one.memory_id, (one.scope, set()))[1].update(one.kinds)
    new = {memory_id: found for memory_id, found in kinds.items() if memory_id not in noted}
    await masking.tx.events.append(
        _build_redact_event(memory_id, *found, masking.now) for memory_id, found in new.items()
    )
    return set(new)


def _build_redact_event(memory_id: str, scope: Scope, kinds: set[Sensitive], now: Instant) -> Event:
    reason = "masked where it was stored: " + ", ".join(kind for kind in Sensitive if kind in kinds)
    return Event(new_id(), memory_id, EventType.REDACT, scope, now, reason=reason)


def _mask_record(masking: MaskingRun, old: Record, text: str, kinds: set[Sensitive]) -> Record:
    def without(value: str) -> str:
        found = redact_text(value, masking.policy)
        kinds.update(found.found)
        return found.text

    evidence = old.data.get("evidence")
    data = map_json_texts({name: value for name, value in old.data.items() if name != "evidence"}, without)
    return replace(
        old,
        text=text,
        hash=text_hash(text),
        tokens=estimate_tokens(text),
        key=None if _has_masked_word(old.key, old.text, text) else old.key,
        metadata=map_json_texts(old.metadata, without),
        data=data if evidence is None else {**data, "evidence": evidence},
    )


async def _own_evidence(masking: MaskingRun, record: Record, kinds: set[Sensitive]) -> dict[str, Any]:
    """Return the data of a memory; a quote that is in a stored turn is masked with it, any other here."""
    evidence = record.data.get("evidence")
    if not isinstance(evidence, dict) or not isinstance(evidence.get("quote"), str):
        return record.data
    clean = redact_text(evidence["quote"], masking.policy)
    if not clean.found or await _stands_in_turn(masking, evidence):
        return record.data
    kinds.update(clean.found)
    end = int(evidence.get("start") or 0) + len(clean.text)
    return {**record.data, "evidence": {**evidence, "quote": clean.text, "end": end}}


async def _stands_in_turn(masking: MaskingRun, evidence: Mapping[str, Any]) -> bool:
    turn_id = evidence.get("turn")
    turn = await masking.tx.memories.version(masking.runtime.tenant_id, turn_id, 1) if turn_id else None
    return turn is not None and turn.text[evidence["start"] : evidence["end"]] == evidence["quote"]


async def _write_masked_record(masking: MaskingRun, old: Record, new: Record, links: list[Link]) -> None:
    """Write the row, what makes it recognised, the full text and the vectors as if it had been stored like this."""
    tx, tenant = masking.tx, old.tenant_id
    names = ("text", "hash", "tokens", "key", "data", "metadata")
    await tx.stored_rows.rewrite(tenant, "memories", old.seq, {name: getattr(new, name) for name in names})
    if new.text == old.text:
        return
    for link in links:
        await _update_dedupe_value(masking, old, new, link)
    gone = [row.key for row in await tx.stored_rows.list_mentions(tenant, old.seq) if _is_gone(row, old.text, new.text)]
    await tx.stored_rows.drop(tenant, "entities", gone)
    await tx.vectors.drop(tenant, [old.seq])
    if old.valid_to is None and old.status in INDEXED:
        await tx.text.drop([old.seq])
        await tx.text.put(old.seq, text_doc(new, links, masking.runtime.language.dates))
    await tx.vectors.touch(tenant, [old.seq])


def _is_gone(entity: StoredRow, old: str, new: str) -> bool:
    name = str(entity.values["name"]).casefold()
    return name in old.casefold() and name not in new.casefold()


async def _update_dedupe_value(masking: MaskingRun, old: Record, new: Record, link: Link) -> None:
    """Let the masked words be recognised when they are said again, also where a person has deleted them."""
    tx, tenant = masking.tx, old.tenant_id
    pairs = zip(
        _possible_dedupes(masking.runtime, old, link.scope),
        _possible_dedupes(masking.runtime, new, link.scope),
        strict=True,
    )
    for before, after in pairs:
        if link.dedupe == before != after:
            taken = await tx.links.holder(tenant, after)
            await tx.stored_rows.rename(tenant, old.seq, before, None if taken is not None else after)
        if before != after and await tx.suppressions.has(tenant, before):
            await tx.suppressions.lift(tenant, before)
            await tx.suppressions.put(tenant, after, old.id, masking.now)


def _possible_dedupes(runtime: Runtime, record: Record, scope: Scope) -> Iterator[str]:
    """Yield every value by which a memory may be recognised, always in the same order."""
    speaker = str(record.data.get("speaker", ""))
    if record.layer == Layer.TURN:
        for when in (None, record.occurred_at):
            for repeated in range(_REPEATED):
                yield turn_dedupe(scope, speaker, record.text, when, repeated)
    for fields in (runtime.policy.dedupe_scope, runtime.policy.known_scope):
        for said_by in (speaker, ""):
            yield dedupe_value(scope, fields, speaker=said_by, key=None, text=record.text)


def _evidence_span(row: StoredRow) -> tuple[int, int]:
    evidence = row.values["data"].get("evidence") or {}
    return int(evidence.get("start") or 0), int(evidence.get("end") or 0)


async def _update_citation(
    masking: MaskingRun, row: StoredRow, old: Record, new: Record, place: tuple[int, int]
) -> None:
    """Let a fact quote the masked turn, if it quotes this version of it."""
    data = row.values["data"]
    evidence, (start, end) = data.get("evidence"), _evidence_span(row)
    if not isinstance(evidence, dict) or evidence.get("quote") != old.text[start:end]:
        return
    quoted = {**evidence, "start": place[0], "end": place[1], "quote": new.text[place[0] : place[1]]}
    values = {"data": {**data, "evidence": quoted}}
    await masking.tx.stored_rows.rewrite(old.tenant_id, "memories", row.key, values)


def _has_masked_word(key: str | None, old: str, new: str) -> bool:
    """Return whether a key holds a word that was masked: those of learned facts are made of their words."""
    if not key or old == new:
        return False
    masked = set(_WORD.findall(old.lower())) - set(_WORD.findall(new.lower()))
    return any(len(word) >= _TELLING and word in key.lower() for word in masked)


# --- ``redact`` -------------------------------------------------------------------------------------------------------


_AT_ONCE: Final = 500
_REMADE: Final = ("llm_cache", "entities")
"""What can be made again is dropped: a mask in it would be read as an answer or a name."""


@dataclass(slots=True)
class Report:
    """What was found so far: rows by kind and by table; never the secrets."""

    scanned: int = 0
    rows: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    tables: Counter[str] = field(default_factory=Counter)
    noted: set[str] = field(default_factory=set)
    """The memories whose history says so."""


async def redact_stored(runtime: Runtime, progress: Progress | None, *, dry_run: bool) -> RedactResult:
    """Scan everything of this tenant; without ``dry_run`` mask what is found."""
    report = Report()
    total = await runtime.ledger.read(lambda tx: tx.stored_rows.count(runtime.tenant_id))
    for table in TABLES:
        await _scan_table(runtime, table, report, progress, total, dry_run=dry_run)
    answer: RedactResult = {
        "dry_run": dry_run,
        "scanned": report.scanned,
        "found": report.rows,
        "by_kind": dict(report.kinds),
        "by_table": dict(report.tables),
    }
    if report.rows and not dry_run:
        degraded = await _finish_redaction(runtime)
        if degraded:
            answer["degraded"] = degraded
    return answer


async def _scan_table(
    runtime: Runtime, table: str, report: Report, progress: Progress | None, total: int, *, dry_run: bool
) -> None:
    policy, after = only_masking(redaction_of(runtime.policy)), None
    while page := await runtime.ledger.read(_make_page_reader(runtime, table, after)):
        after = page[-1].key
        found = {row.key: kinds for row in page if (kinds := _find_sensitive_kinds(table, row, policy))}
        if found and not dry_run:
            work = partial(_mask_rows, runtime=runtime, table=table, keys=list(found), noted=report.noted)
            report.noted |= await runtime.ledger.write(work)
        report.scanned += len(page)
        report.rows += len(found)
        report.tables.update({table: len(found)} if found else {})
        report.kinds.update(str(kind) for kinds in found.values() for kind in kinds)
        await report_progress(progress, report.scanned, max(total, report.scanned))


def _make_page_reader(runtime: Runtime, table: str, after: Key | None) -> Work[list[StoredRow]]:
    return lambda tx: tx.stored_rows.page(runtime.tenant_id, table, after, _AT_ONCE)


def _find_sensitive_kinds(table: str, row: StoredRow, policy: RedactPolicy) -> set[Sensitive]:
    return _redact_row(table, row, policy)[1]


def _redact_row(table: str, row: StoredRow, policy: RedactPolicy) -> tuple[dict[str, Any], set[Sensitive]]:
    """Return the values of a row without secrets, and which kinds it held."""
    kinds: set[Sensitive] = set()

    def without(text: str) -> str:
        found = redact_text(text, policy)
        kinds.update(found.found)
        return found.text

    remaining = {"key"} if table == "memories" else {"memory_id"}  # a key goes with its text
    return {
        name: value if name in remaining else map_json_texts(value, without) for name, value in row.values.items()
    }, kinds


async def _mask_rows(tx: Tx, *, runtime: Runtime, table: str, keys: Sequence[Key], noted: set[str]) -> set[str]:
    """Mask rows; return the memories whose history says so from now on."""
    tenant = runtime.tenant_id
    if table in _REMADE:
        await tx.stored_rows.drop(tenant, table, keys)
        return set()
    masking = MaskingRun(runtime, tx, only_masking(redaction_of(runtime.policy)), runtime.now())
    if table == "memories":
        masked = [await mask_memory(masking, int(seq)) for seq in keys]
    else:
        rows = await tx.stored_rows.rows(tenant, table, keys)
        masked = [await _mask_row(masking, table, row) for row in rows]
    return await append_redact_events(masking, [one for one in masked if one is not None], noted)


async def _mask_row(masking: MaskingRun, table: str, row: StoredRow) -> MaskedVersion | None:
    tenant = masking.runtime.tenant_id
    clean, kinds = _redact_row(table, row, masking.policy)
    if table == "events":
        clean = masking.without_leaking_keys(row.values, clean)
    changed = {name: value for name, value in clean.items() if value != row.values[name]}
    if not changed:
        return None
    await masking.tx.stored_rows.rewrite(tenant, table, row.key, changed)
    return MaskedVersion(row.values["memory_id"], Scope(tenant), frozenset(kinds)) if table == "events" else None


async def _finish_redaction(runtime: Runtime) -> list[Degradation]:
    """Let nothing keep the old words, neither the full text nor a cache, and give masked memories their vectors.

    Gives what could not be done.
    """
    await runtime.ledger.write(lambda tx: tx.stored_rows.tidy())
    runtime.embedding.forget(runtime.tenant_id)
    if not runtime.embedding.on:
        return []
    try:
        await fill_missing(runtime)
    except MemstoneError as error:  # they are found by their words until a reindex
        return [{"step": "embedding", **failure_of(error)}]
    return []
