"""Copy a whole store into another one, table by table and page by page.

The target numbers its rows again, in the same order. A copy that broke off is run again: what is there must be the
beginning of what is to come, and is not copied twice. In the end both are read once more and compared.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias

from memstone.errors import Conflict, InvalidInput, NotFoundError, StorageError
from memstone.ports.ledger import Ledger, Tx
from memstone.ports.tables import BulkRow, BulkTable

Progress: TypeAlias = Callable[[int, int], None]
_AT_ONCE: Final = 1000
_VECTORS_AT_ONCE: Final = 200
_GONE: Final = 0
"""The number of a memory that is no more: changes of it are still told."""


@dataclass(slots=True)
class Side:
    """One tenant in one of the two stores, with the numbers its memories have there."""

    ledger: Ledger
    tenant_id: str
    seqs: list[int] = field(default_factory=list)

    def place(self, seq: int) -> int:
        """Return which memory of the tenant, counted from the oldest, has this number; -1 for none."""
        at = bisect_left(self.seqs, seq)
        return at if at < len(self.seqs) and self.seqs[at] == seq else -1


@dataclass(slots=True)
class CopyProgress:
    """What a copy has done so far."""

    progress: Progress | None
    total: int = 0
    done: int = 0
    copied: int = 0
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)

    def step(self, rows: int) -> None:
        """Say how far it has come."""
        self.done += rows
        if self.progress is not None:
            self.progress(self.done, self.total)


async def copy_store(
    source: Ledger, target: Ledger, tenants: Sequence[str] | None, progress: Progress | None
) -> dict[str, Any]:
    """Copy these tenants, or all there are; return what was copied, with counts and checksums."""
    tables = await _read_common_tables(source, target)
    names = await _resolve_tenants(source, tenants)
    state = CopyProgress(progress)
    sides = [(Side(source.of(name), name), Side(target.of(name), name)) for name in names]
    # Everything is read twice at the source and once at the target: copied, then compared.
    state.total = 2 * sum([await _count_tenant_rows(old, tables) for old, _ in sides])
    for old, new in sides:
        for table in tables:
            await _copy_table(state, old, new, table)
    for old, new in sides:
        for table in tables:
            await _compare_table(state, old, new, table)
    return {"tenants": names, "copied": state.copied, "rows": state.total // 2, "tables": state.tables}


async def _read_common_tables(source: Ledger, target: Ledger) -> list[BulkTable]:
    await source.open()
    await target.open()
    tables = await source.read(lambda tx: tx.bulk.tables())
    if tables != await target.read(lambda tx: tx.bulk.tables()):
        raise StorageError("the two stores have different tables", hint="update both with `memstone migrate`")
    return tables


async def _resolve_tenants(source: Ledger, wanted: Sequence[str] | None) -> list[str]:
    if wanted:
        return list(dict.fromkeys(wanted))
    found = await source.read(lambda tx: tx.bulk.tenants())
    if found is None:
        raise InvalidInput(
            "this role cannot list the tenants", hint="name them with --tenant, or connect as a superuser"
        )
    return found


async def _count_tenant_rows(side: Side, tables: Sequence[BulkTable]) -> int:
    rows = sum([await _count_table_rows(side, table) for table in tables])
    if not rows:
        raise NotFoundError(
            f"the source has no data for tenant {side.tenant_id}",
            hint="check the name, and that this role can see the tenant",
        )
    return rows


async def _count_table_rows(side: Side, table: BulkTable) -> int:
    return await side.ledger.read(lambda tx: tx.bulk.count(side.tenant_id, table))


async def _copy_table(state: CopyProgress, old: Side, new: Side, table: BulkTable) -> None:
    """Copy a table page by page: what is there already is compared, the rest is put."""
    if table.name == "memories":
        old.seqs, new.seqs = [], []
    own: Sequence[Any] | None = None
    others: Sequence[Any] | None = None
    more = await _count_table_rows(new, table) > 0
    while rows := await _read_page(old, table, own):
        there = await _read_page(new, table, others) if more else []
        await _put_rest(state, old, new, table, rows, there)
        own = _row_key(table, rows[-1])
        more = len(there) == len(rows)
        others = _row_key(table, there[-1]) if more else None
        state.step(len(rows))


async def _put_rest(
    state: CopyProgress, old: Side, new: Side, table: BulkTable, rows: list[BulkRow], there: list[BulkRow]
) -> None:
    if table.name == "memories":
        _record_seqs(old, table, rows)
        _record_seqs(new, table, there)
    begun = [_normalize_row(old, table, row) for row in rows[: len(there)]]
    if begun != [_normalize_row(new, table, row) for row in there]:
        raise Conflict(
            f"{table.name} of tenant {new.tenant_id} already contains other data",
            hint="copy into a store that is empty for this tenant",
        )
    rest = rows[len(there) :]
    if rest:
        put = await new.ledger.write(partial(_insert_rows, old=old, new=new, table=table, rows=rest))
        if table.name == "memories":
            _record_seqs(new, table, put)
        state.copied += len(rest)


async def _insert_rows(tx: Tx, *, old: Side, new: Side, table: BulkTable, rows: list[BulkRow]) -> list[BulkRow]:
    """Store rows under numbers of the target."""
    numbers = await tx.bulk.reserve(table, len(rows)) if table.number else [0] * len(rows)
    renumbered = [_renumber_row(old, new, table, row, number) for row, number in zip(rows, numbers, strict=True)]
    await tx.bulk.put(new.tenant_id, table, renumbered)
    return renumbered


def _renumber_row(old: Side, new: Side, table: BulkTable, row: BulkRow, number: int) -> BulkRow:
    values = list(row)
    if table.number:
        values[table.columns.index(table.number)] = number
    if table.refers:
        at = table.columns.index(table.refers)
        place = old.place(values[at])
        values[at] = _GONE if place < 0 else new.seqs[place]
    return tuple(values)


def _record_seqs(side: Side, table: BulkTable, rows: Sequence[BulkRow]) -> None:
    at = table.columns.index(table.number)
    side.seqs += [row[at] for row in rows]


def _normalize_row(side: Side, table: BulkTable, row: BulkRow) -> BulkRow:
    """Return a row as both stores tell it: numbers by their order, vectors and words as bytes."""
    values: list[Any] = [bytes(value) if isinstance(value, memoryview) else value for value in row]
    if table.number:
        values[table.columns.index(table.number)] = None
    if table.refers:
        at = table.columns.index(table.refers)
        values[at] = side.place(values[at])
    return tuple(values)


def _row_key(table: BulkTable, row: BulkRow) -> list[Any]:
    return [row[table.columns.index(name)] for name in table.key]


async def _read_page(side: Side, table: BulkTable, after: Sequence[Any] | None) -> list[BulkRow]:
    limit = _VECTORS_AT_ONCE if table.name == "vectors" else _AT_ONCE
    return await side.ledger.read(lambda tx: tx.bulk.page(side.tenant_id, table, after, limit))


async def _compare_table(state: CopyProgress, old: Side, new: Side, table: BulkTable) -> None:
    """Read both stores once more, and hold their checksums against each other."""
    own, others = await _digest_table(old, table, state), await _digest_table(new, table, None)
    if own != others:
        raise StorageError(
            f"{table.name} of tenant {old.tenant_id} differs: {own[0]:,} rows here, {others[0]:,} there",
            hint="the store may have been written to: repeat the copy while nothing writes",
        )
    answer = state.tables.setdefault(table.name, {"rows": 0, "checksums": {}})
    answer["rows"] += own[0]
    answer["checksums"][old.tenant_id] = own[1]


async def _digest_table(side: Side, table: BulkTable, state: CopyProgress | None) -> tuple[int, str]:
    digest, count, after = hashlib.sha256(), 0, None
    while rows := await _read_page(side, table, after):
        for row in rows:
            digest.update(json.dumps(_normalize_row(side, table, row), default=_as_hex).encode())
        count, after = count + len(rows), _row_key(table, rows[-1])
        if state is not None:
            state.step(len(rows))
    return count, digest.hexdigest()


def _as_hex(value: object) -> str:
    return bytes(value).hex() if isinstance(value, (bytes, bytearray)) else str(value)
