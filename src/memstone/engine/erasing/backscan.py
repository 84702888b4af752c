"""``redact``: secrets that were stored before, or under another policy, are found and masked where they lie.

It is the one place where history is rewritten. A page of rows at a time is looked through; what holds a secret is
masked in one transaction with everything that follows from it: hash, full text, vectors, spans of evidence. It may be
interrupted and run again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from memstone.core.privacy.redact import RedactPolicy, Sensitive, redact
from memstone.engine.erasing.masking import Masked, Masking, mask_memory, tell
from memstone.engine.parts import Parts
from memstone.engine.requests import Progress, report_progress
from memstone.engine.storing.embedding import failure_of
from memstone.engine.storing.indexer import fill_missing
from memstone.engine.storing.redaction import only_masking, redaction_of, walked
from memstone.errors import MemstoneError
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx, Work
from memstone.ports.tables import TABLES, Key, StoredRow

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


async def redact_stored(parts: Parts, progress: Progress | None, *, dry_run: bool) -> dict[str, Any]:
    """Scan everything of this tenant; without ``dry_run`` mask what is found."""
    report = Report()
    total = await parts.ledger.read(lambda tx: tx.stored.count(parts.tenant_id))
    for table in TABLES:
        await _scan(parts, table, report, progress, total, dry_run=dry_run)
    answer: dict[str, Any] = {
        "dry_run": dry_run,
        "scanned": report.scanned,
        "found": report.rows,
        "by_kind": dict(report.kinds),
        "by_table": dict(report.tables),
    }
    if report.rows and not dry_run:
        answer |= await _finished(parts)
    return answer


async def _scan(
    parts: Parts, table: str, report: Report, progress: Progress | None, total: int, *, dry_run: bool
) -> None:
    policy, after = only_masking(redaction_of(parts.policy)), None
    while page := await parts.ledger.read(_page(parts, table, after)):
        after = page[-1].key
        found = {row.key: kinds for row in page if (kinds := _kinds(table, row, policy))}
        if found and not dry_run:
            work = partial(_mask, parts=parts, table=table, keys=list(found), noted=report.noted)
            report.noted |= await parts.ledger.write(work)
        report.scanned += len(page)
        report.rows += len(found)
        report.tables.update({table: len(found)} if found else {})
        report.kinds.update(str(kind) for kinds in found.values() for kind in kinds)
        await report_progress(progress, report.scanned, max(total, report.scanned))


def _page(parts: Parts, table: str, after: Key | None) -> Work[list[StoredRow]]:
    return lambda tx: tx.stored.page(parts.tenant_id, table, after, _AT_ONCE)


def _kinds(table: str, row: StoredRow, policy: RedactPolicy) -> set[Sensitive]:
    return _clean(table, row, policy)[1]


def _clean(table: str, row: StoredRow, policy: RedactPolicy) -> tuple[dict[str, Any], set[Sensitive]]:
    """The values of a row without secrets, and which kinds it held."""
    kinds: set[Sensitive] = set()

    def without(text: str) -> str:
        found = redact(text, policy)
        kinds.update(found.found)
        return found.text

    kept = {"key"} if table == "memories" else {"memory_id"}  # a key goes with its text
    return {name: value if name in kept else walked(value, without) for name, value in row.values.items()}, kinds


async def _mask(tx: Tx, *, parts: Parts, table: str, keys: Sequence[Key], noted: set[str]) -> set[str]:
    """Mask rows; gives the memories whose history says so from now on."""
    tenant = parts.tenant_id
    if table in _REMADE:
        await tx.stored.drop(tenant, table, keys)
        return set()
    masking = Masking(parts, tx, only_masking(redaction_of(parts.policy)), parts.now())
    if table == "memories":
        masked = [await mask_memory(masking, int(seq)) for seq in keys]
    else:
        rows = await tx.stored.rows(tenant, table, keys)
        masked = [await _mask_row(masking, table, row) for row in rows]
    return await tell(masking, [one for one in masked if one is not None], noted)


async def _mask_row(masking: Masking, table: str, row: StoredRow) -> Masked | None:
    tenant = masking.parts.tenant_id
    clean, kinds = _clean(table, row, masking.policy)
    if table == "events":
        clean = masking.without_leaking_keys(row.values, clean)
    changed = {name: value for name, value in clean.items() if value != row.values[name]}
    if not changed:
        return None
    await masking.tx.stored.rewrite(tenant, table, row.key, changed)
    return Masked(row.values["memory_id"], Scope(tenant), frozenset(kinds)) if table == "events" else None


async def _finished(parts: Parts) -> dict[str, Any]:
    """Nothing keeps the old words: neither the full text nor a cache; and masked memories get their vectors."""
    await parts.ledger.write(lambda tx: tx.stored.tidy())
    parts.embedding.forget(parts.tenant_id)
    if not parts.embedding.on:
        return {}
    try:
        await fill_missing(parts)
    except MemstoneError as error:  # they are found by their words until a reindex
        return {"degraded": [{"step": "embedding", **failure_of(error)}]}
    return {}
