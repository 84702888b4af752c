"""Tables of versions and links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from memstone.adapters.sql.indexes import FullTextTable
from memstone.adapters.sql.rows import (
    INSERT_NUMBERED,
    INSERT_RECORD,
    LINK_COLUMNS,
    SELECT_LINK,
    SELECT_RECORD,
    Row,
    SqlConnection,
    link_part,
    load_json_object,
    placeholder_list,
    record_params,
    split_chunks,
    to_link,
    to_record,
)
from memstone.model.instant import Instant
from memstone.model.memory import MIRROR, FoundMemory, Link, Record, TextDoc
from memstone.model.query import And, Condition, Op, Where
from memstone.model.scope import Scope
from memstone.ports.tables import BulkRow, BulkTable, SupersededFact, TurnFact

# --- versions of remembered things ------------------------------------------------------------------------------------


Compile: TypeAlias = Callable[[Where], tuple[str, list[Any]]]

# Where to begin is said here, not left to the planner: SQLite keeps no statistics of its own accord and then takes a
# tenant for as small as a user, so that it would read a whole tenant's links for one user's list. It joins CROSS JOIN
# from left to right; elsewhere that is a join like any other. "|| ''" and "+" hide a column from it: memories that are
# given by number would be looked for among all of the tenant, the links of one among all that a condition leaves.
_LINKS_FIRST = "links l CROSS JOIN memories m WHERE m.tenant_id = l.tenant_id AND m.seq = l.memory_seq"
_MEMORIES_FIRST = "memories m CROSS JOIN links l WHERE l.tenant_id = m.tenant_id AND l.memory_seq = +m.seq"
_BY_NUMBER = "memories m CROSS JOIN links l WHERE l.tenant_id = m.tenant_id || '' AND l.memory_seq = +m.seq"
_EITHER_FIRST = "memories m, links l WHERE l.tenant_id = m.tenant_id AND l.memory_seq = m.seq"
_NAMES_MEMORIES = frozenset({"id", "origin_id"})
_FOUND = f"SELECT {SELECT_RECORD}, {SELECT_LINK} FROM {_BY_NUMBER} AND "
_IDS = f"SELECT m.seq, m.id FROM {_BY_NUMBER} AND "
_PAGE = f"""
SELECT {SELECT_RECORD}, {SELECT_LINK}
FROM (SELECT l.tenant_id AS tenant, l.memory_seq AS seq, l.user_id AS one, l.agent_id AS other, l.run_id AS run
      FROM %s GROUP BY l.memory_seq ORDER BY l.memory_seq %s LIMIT ? OFFSET ?) p
CROSS JOIN memories m CROSS JOIN links l
WHERE m.seq = p.seq AND l.tenant_id = p.tenant AND l.memory_seq = p.seq
  AND l.user_id = p.one AND l.agent_id = p.other AND l.run_id = p.run
ORDER BY p.seq %s"""
_SEEN = f"""
SELECT {SELECT_RECORD}, {SELECT_LINK}
FROM {_MEMORIES_FIRST} AND m.tenant_id = ? AND m.id = ? AND m.valid_to IS NULL LIMIT 1"""
_SEEN_OWN = _SEEN.replace("LIMIT", "AND l.origin <> 'mirror' LIMIT")
_CURRENT = f"SELECT {SELECT_RECORD} FROM memories m WHERE m.tenant_id = ? AND m.id = ? AND m.valid_to IS NULL LIMIT 1"
# Only what stands near the end is looked at: a user without turns may have any number of facts.
_LATEST = """
SELECT m.text, m.occurred_at
FROM (SELECT memory_seq FROM links INDEXED BY {index}
      WHERE tenant_id = ? AND user_id = ? AND agent_id = ? AND run_id = ? AND run_id {which} '' AND memory_seq < ?
      ORDER BY memory_seq DESC LIMIT 50) l
JOIN memories m ON m.seq = l.memory_seq
WHERE m.layer = ? AND m.valid_to IS NULL AND m.status = 'active' AND (m.layer = 'turn' OR m.source = 'manual')
ORDER BY m.seq DESC LIMIT 1"""
_LATEST_OF_RUN = _LATEST.format(index="links_run", which="<>")
_LATEST_OF_USER = _LATEST.format(index="links_user", which="=")


class MemoriesTable:
    """See ``memstone.ports.ledger.Memories``."""

    page: ClassVar[str] = _PAGE
    """One page of what matches; databases differ in how they pick one link of several."""

    links_of_user: ClassVar[str] = "links l INDEXED BY links_user"
    """The links of one user. If a column is asked for that the index lacks, SQLite would read all of a tenant."""

    def __init__(self, sql: SqlConnection, compile_where: Compile) -> None:
        self._sql, self._where = sql, compile_where

    async def insert(self, record: Record) -> int:
        record.seq = await self._sql.insert(INSERT_RECORD, record_params(record))
        return record.seq

    async def insert_all(self, records: Sequence[Record]) -> None:
        # Nobody else writes meanwhile, so the numbers after the last one that was ever given are free.
        row = await self._sql.one("SELECT seq FROM sqlite_sequence WHERE name = 'memories'")
        for seq, record in enumerate(records, start=int(row[0]) + 1 if row else 1):
            record.seq = seq
        await self._sql.many(INSERT_NUMBERED, ((*record_params(record), record.seq) for record in records))

    async def close(self, seq: int, status: str, at: Instant) -> bool:
        # A version never ends before it began, even when clocks or backdated revisions disagree.
        changed = await self._sql.run(
            "UPDATE memories SET status = ?, valid_to = CASE WHEN valid_from > ? THEN valid_from ELSE ? END "
            "WHERE seq = ? AND valid_to IS NULL",
            (status, at, at, seq),
        )
        return changed == 1

    async def bury(self, tenant_id: str, memory_id: str) -> None:
        await self._sql.run(
            "UPDATE memories SET status = 'deleted' WHERE tenant_id = ? AND id = ? AND status = 'superseded'",
            (tenant_id, memory_id),
        )

    async def unbury(self, tenant_id: str, memory_id: str, version: int, status: str) -> None:
        await self._sql.run(
            "UPDATE memories SET status = CASE WHEN version = ? THEN ? ELSE 'superseded' END "
            "WHERE tenant_id = ? AND id = ? AND status = 'deleted'",
            (version, status, tenant_id, memory_id),
        )

    async def is_taken(self, tenant_id: str, memory_id: str) -> bool:
        query = "SELECT 1 FROM memories WHERE tenant_id = ? AND id = ? LIMIT 1"
        return await self._sql.one(query, (tenant_id, memory_id)) is not None

    async def last(self, tenant_id: str, memory_id: str) -> Record | None:
        query = f"SELECT {SELECT_RECORD} FROM memories m WHERE m.tenant_id = ? AND m.id = ?"
        row = await self._sql.one(f"{query} ORDER BY m.version DESC LIMIT 1", (tenant_id, memory_id))
        return None if row is None else to_record(row)

    async def find(self, where: Where, *, limit: int, offset: int = 0, oldest_first: bool = False) -> list[FoundMemory]:
        condition, params = self._where(where)
        order = "ASC" if oldest_first else "DESC"
        # First the links of one page, which their indexes hold in order, then what is shown of them. A memory may be
        # seen through several links of one scope; it is listed once.
        query = self.page % (f"{_from_clause(where)} AND {condition}", order, order)
        return [_found_from_row(row) for row in await self._sql.rows(query, [*params, limit, offset])]

    async def list_newest(self, where: Where, *, limit: int, offset: int = 0) -> list[FoundMemory]:
        return await self.find_by_column("created_at", where, limit, offset)

    async def salient(self, where: Where, *, limit: int) -> list[FoundMemory]:
        return await self.find_by_column("salience", where, limit)

    async def find_by_column(
        self, column: str, where: Where, limit: int, offset: int = 0, *, descending: bool = True
    ) -> list[FoundMemory]:
        """Return one page of what matches, by a column; of equals the newest version first, or last."""
        condition, params = self._where(where)
        way = "DESC" if descending else "ASC"
        order = f"ORDER BY m.{column} {way}, m.seq {way} LIMIT ? OFFSET ?"
        tables = _from_clause(where)
        if tables == _LINKS_FIRST:
            tables = tables.replace("links l", self.links_of_user, 1)
        query = f"SELECT DISTINCT m.{column}, m.seq FROM {tables} AND {condition} {order}"
        seqs = [row[1] for row in await self._sql.rows(query, [*params, limit, offset])]
        found = {one.record.seq: one for one in await self.among(seqs, where)}
        return [found[seq] for seq in seqs if seq in found]

    async def list_sessions(
        self, where: Where, *, limit: int, offset: int = 0
    ) -> list[tuple[str, int, Instant, Instant]]:
        condition, params = self._where(where)
        query = (
            "SELECT l.run_id, count(DISTINCT m.seq), min(m.occurred_at), max(m.occurred_at) "
            f"FROM {_from_clause(where)} AND {condition} AND l.run_id <> '' "
            "GROUP BY l.run_id ORDER BY max(m.occurred_at) DESC, l.run_id LIMIT ? OFFSET ?"
        )
        rows = await self._sql.rows(query, [*params, limit, offset])
        return [(str(run), int(count), str(first), str(last)) for run, count, first, last in rows]

    def from_clause(self, where: Where) -> str:
        """Return both tables in the order in which they are best read for a condition."""
        return _from_clause(where)

    async def add_source_count(self, seqs: Iterable[int], by: int) -> None:
        counted = "CASE WHEN source_count + ? < 0 THEN 0 ELSE source_count + ? END"
        await self._sql.many(
            f"UPDATE memories SET source_count = {counted} WHERE seq = ?", ((by, by, seq) for seq in seqs)
        )

    async def latest(self, scope: Scope, layer: str, below: int | None = None) -> tuple[str, Instant] | None:
        ids = (scope.tenant_id, scope.user_id, scope.agent_id, scope.run_id)
        query = _LATEST_OF_RUN if scope.run_id else _LATEST_OF_USER
        row = await self._sql.one(query, (*ids, 1 << 62 if below is None else below, layer))
        return None if row is None else (row[0], row[1])

    async def count(self, where: Where) -> dict[str, int]:
        condition, params = self._where(where)
        query = f"SELECT m.kind, count(DISTINCT m.seq) FROM {_from_clause(where)} AND {condition} GROUP BY m.kind"
        return dict(await self._sql.rows(query, params))

    async def tokens(self, where: Where) -> int:
        condition, params = self._where(where)
        each = f"SELECT DISTINCT m.seq, m.tokens FROM {_from_clause(where)} AND {condition}"
        row = await self._sql.one(f"SELECT coalesce(sum(tokens), 0) FROM ({each}) AS matching", params)
        return 0 if row is None else int(row[0])

    async def current(self, tenant_id: str, memory_id: str) -> Record | None:
        row = await self._sql.one(_CURRENT, (tenant_id, memory_id))
        return None if row is None else to_record(row)

    async def find_visible(self, tenant_id: str, memory_id: str) -> FoundMemory | None:
        row = await self._sql.one(_SEEN, (tenant_id, memory_id))
        if row is None:
            return None
        found = _found_from_row(row)
        if found.link.origin == MIRROR:  # rarely; to sort the links would cost every other look
            own = await self._sql.one(_SEEN_OWN, (tenant_id, memory_id))
            return found if own is None else _found_from_row(own)
        return found

    async def at(self, seq: int) -> Record | None:
        row = await self._sql.one(f"SELECT {SELECT_RECORD} FROM memories m WHERE m.seq = ?", (seq,))
        return None if row is None else to_record(row)

    async def version(self, tenant_id: str, memory_id: str, version: int) -> Record | None:
        query = f"SELECT {SELECT_RECORD} FROM memories m WHERE m.tenant_id = ? AND m.id = ? AND m.version = ?"
        row = await self._sql.one(query, (tenant_id, memory_id, version))
        return None if row is None else to_record(row)

    async def strengthen(self, seq: int, salience: float, anchor_at: Instant) -> None:
        await self._sql.run("UPDATE memories SET salience = ?, anchor_at = ? WHERE seq = ?", (salience, anchor_at, seq))

    async def seqs(self, where: Where) -> list[int]:
        condition, params = self._where(where)
        query = f"SELECT DISTINCT l.memory_seq FROM {_from_clause(where)} AND {condition}"
        return [row[0] for row in await self._sql.rows(query, params)]

    async def hashes(self, where: Where) -> dict[int, str]:
        condition, params = self._where(where)
        query = f"SELECT DISTINCT l.memory_seq, m.hash FROM {_from_clause(where)} AND {condition}"
        return dict(await self._sql.rows(query, params))

    async def among(self, seqs: Sequence[int], where: Where) -> list[FoundMemory]:
        condition, params = self._where(where)
        found: dict[int, FoundMemory] = {}
        for part in split_chunks(seqs):
            query = f"{_FOUND}m.seq IN ({placeholder_list(len(part))}) AND {condition}"
            for row in await self._sql.rows(query, [*part, *params]):
                item = _found_from_row(row)
                found.setdefault(item.record.seq, item)
        return list(found.values())

    async def ids_among(self, seqs: Sequence[int], where: Where) -> dict[int, str]:
        condition, params = self._where(where)
        found: dict[int, str] = {}
        for part in split_chunks(seqs):
            query = f"{_IDS}m.seq IN ({placeholder_list(len(part))}) AND {condition}"
            found.update(await self._sql.rows(query, [*part, *params]))
        return found


def _from_clause(where: Where) -> str:
    """Name both tables, beginning with the one of which the conditions name few rows."""
    named = _equality_fields(where)
    if "seq" in named:
        return _BY_NUMBER
    if named & _NAMES_MEMORIES:
        return _MEMORIES_FIRST
    narrowest = next((name for name in ("run_id", "user_id", "agent_id") if name in named), "")
    if not narrowest:
        return _EITHER_FIRST
    # The indexes of runs and agents leave out '' and are used only where it is that '' is not meant.
    return _LINKS_FIRST if narrowest == "user_id" else f"{_LINKS_FIRST} AND l.{narrowest} <> ''"


def _equality_fields(where: Where) -> set[str]:
    """Return the fields that must equal something given; that a field is absent names nothing."""
    if isinstance(where, And):
        return {name for part in where.parts for name in _equality_fields(part)}
    if not isinstance(where, Condition) or where.op not in {Op.EQ, Op.IN}:
        return set()
    return set() if None in ((where.value,) if where.op is Op.EQ else where.value) else {where.field}


def _found_from_row(row: Row) -> FoundMemory:
    return FoundMemory(to_record(row), to_link(link_part(row)))


# --- who may see what -------------------------------------------------------------------------------------------------


_INSERT = (
    f"INSERT INTO links ({', '.join(LINK_COLUMNS)}, memory_seq) VALUES ({placeholder_list(len(LINK_COLUMNS) + 1)})"
)
_USED = (
    "UPDATE links SET use_count = use_count + 1, last_used_at = ? "
    "WHERE tenant_id = ? AND user_id = ? AND agent_id = ? AND run_id = ?"
)
_OWN_FIRST = "ORDER BY l.origin = 'mirror', l.user_id, l.agent_id, l.run_id"


class LinksTable:
    """See ``memstone.ports.ledger.Links``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def add(self, tenant_id: str, seq: int, links: Iterable[Link]) -> None:
        await self.add_many(tenant_id, ((seq, link) for link in links))

    async def add_many(self, tenant_id: str, links: Iterable[tuple[int, Link]]) -> None:
        await self._sql.many(_INSERT, (_link_params(tenant_id, seq, link) for seq, link in links))

    async def of(self, tenant_id: str, seq: int) -> list[Link]:
        query = f"SELECT {SELECT_LINK} FROM links l WHERE l.tenant_id = ? AND l.memory_seq = ? {_OWN_FIRST}"
        return [to_link(row) for row in await self._sql.rows(query, (tenant_id, seq))]

    async def holder(self, tenant_id: str, dedupe: str) -> int | None:
        row = await self._sql.one(
            "SELECT memory_seq FROM links WHERE tenant_id = ? AND dedupe = ?", (tenant_id, dedupe)
        )
        return None if row is None else int(row[0])

    async def find_existing_dedupes(self, tenant_id: str, dedupes: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for part in split_chunks(dedupes):
            query = f"SELECT dedupe FROM links WHERE tenant_id = ? AND dedupe IN ({placeholder_list(len(part))})"
            found.update(row[0] for row in await self._sql.rows(query, (tenant_id, *part)))
        return found

    async def release(self, tenant_id: str, seq: int) -> None:
        query = "UPDATE links SET dedupe = NULL WHERE tenant_id = ? AND memory_seq = ?"
        await self._sql.many(query, [(tenant_id, seq)])

    async def remove(self, seq: int, scope: Scope) -> None:
        await self._sql.many(
            "DELETE FROM links WHERE tenant_id = ? AND memory_seq = ? AND user_id = ? AND agent_id = ? AND run_id = ?",
            [(scope.tenant_id, seq, scope.user_id, scope.agent_id, scope.run_id)],
        )

    async def record_uses(self, links: Iterable[tuple[int, Scope]], at: Instant) -> None:
        by_scope: dict[Scope, list[int]] = {}
        for seq, who in links:
            by_scope.setdefault(who, []).append(seq)
        for who, seqs in by_scope.items():
            for part in split_chunks(seqs):
                ids = (who.tenant_id, who.user_id, who.agent_id, who.run_id)
                await self._sql.many(f"{_USED} AND memory_seq IN ({placeholder_list(len(part))})", [(at, *ids, *part)])


def _link_params(tenant_id: str, seq: int, link: Link) -> tuple[Any, ...]:
    who = link.scope
    values = (tenant_id, who.user_id, who.agent_id, who.run_id, link.created_at, link.dedupe, link.origin)
    return (*values, link.use_count, link.last_used_at, seq)


# --- from turns to what became of the facts in them -------------------------------------------------------------------


# A version that only got other metadata, or was put aside, says what its successor says, and is not overtaken.
_OVERTAKEN: Final = """
SELECT m.origin_id, m.id, c.text, m.data
FROM memories m
LEFT JOIN memories c ON c.tenant_id = m.tenant_id AND c.id = m.id AND c.valid_to IS NULL AND c.status = 'active'
     AND (c.expires_at IS NULL OR c.expires_at > ?) AND {c_seen}
WHERE m.tenant_id = ? AND m.origin_id IN ({ids}) AND m.layer = 'fact' AND m.status = 'superseded' AND {m_seen}
  AND (c.hash IS NULL OR c.hash <> m.hash)
  AND NOT EXISTS (SELECT 1 FROM memories a WHERE a.tenant_id = m.tenant_id AND a.id = m.id AND a.valid_to IS NULL
                    AND a.status <> 'active' AND a.hash = m.hash)
ORDER BY m.seq"""

# Every version that was learned from a turn, and what its memory says now.
_FACTS: Final = """
SELECT m.origin_id, m.id, m.data, m.hash, c.hash, c.status, c.expires_at, c.data
FROM memories m
LEFT JOIN memories c ON c.tenant_id = m.tenant_id AND c.id = m.id AND c.valid_to IS NULL
WHERE m.tenant_id = ? AND m.origin_id IN ({ids}) AND m.layer = 'fact' AND {m_seen}
ORDER BY m.seq"""

_PROVENANCE_CURRENT: Final = """
SELECT id, hash, status, expires_at, data FROM memories
WHERE tenant_id = ? AND id IN ({ids}) AND valid_to IS NULL"""

# What ended a memory last, and what the memory that took its place says.
_SUCCESSORS: Final = """
SELECT e.memory_id, e.new_id, c.text
FROM events e
LEFT JOIN memories c ON c.tenant_id = e.tenant_id AND c.id = e.new_id AND c.valid_to IS NULL AND c.status = 'active'
     AND (c.expires_at IS NULL OR c.expires_at > ?) AND {c_seen}
WHERE e.tenant_id = ? AND e.memory_id IN ({ids}) AND e.event = 'DELETE'
ORDER BY e.seq"""
_STEPS: Final = 8
"""So often what took a place may itself have been followed by another memory."""


class _Now(NamedTuple):
    """What a memory says now; nothing where it has ended."""

    hash: str | None = None
    status: str | None = None
    expires_at: Instant | None = None
    data: str | None = None


class _LearnedVersion(NamedTuple):
    """A version that was learned from a turn: what is noted of it, and what its memory says now."""

    turn: str
    fact: str
    data: str
    hash: str
    now: _Now

    @property
    def notes(self) -> Mapping[str, Any]:
        return load_json_object(self.data)

    @property
    def has_evidence(self) -> bool:
        return isinstance(self.notes.get("evidence"), dict)

    @property
    def into(self) -> str:
        """The memory that it became a part of, and that says what it said."""
        return str(self.notes.get("into") or "")

    def as_fact(self, holder: _Now, now: Instant) -> TurnFact:
        """Return it as a fact of its turn, which ``holder`` holds now."""
        visibility = None if holder.data is None else load_json_object(holder.data).get("visibility")
        same = holder.hash is not None if self.into else holder.hash == self.hash
        lives = holder.status == "active" and (holder.expires_at is None or holder.expires_at > now)
        evidence = self.notes.get("evidence")
        return TurnFact(
            self.turn,
            self.fact,
            str(evidence.get("quote") or "") if isinstance(evidence, dict) else "",
            holds=same and lives and visibility != "private",
            in_profile=visibility != "hidden",
            is_private=visibility == "private",
            expires_at=holder.expires_at,
        )


class ProvenanceTable:
    """See ``memstone.ports.tables.Provenance``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def facts_of(self, scope: Scope, turn_ids: Sequence[str], now: Instant) -> list[TurnFact]:
        seen, who = _visible_condition("m", scope)
        found: dict[tuple[str, str], _LearnedVersion] = {}
        for part in split_chunks(turn_ids):
            query = _FACTS.format(m_seen=seen, ids=placeholder_list(len(part)))
            for row in await self._sql.rows(query, (scope.tenant_id, *part, *who)):
                turn, fact, data, message, *holds = row
                learned = _LearnedVersion(turn, fact, data, message, _Now(*holds))
                # A version that somebody wrote by hand is not what was said; the one it took the place of is.
                if learned.has_evidence or (learned.turn, learned.fact) not in found:
                    found[learned.turn, learned.fact] = learned
        others = await self._now(scope.tenant_id, {one.into for one in found.values() if one.into})
        return [one.as_fact(others.get(one.into, one.now), now) for one in found.values()]

    async def _now(self, tenant_id: str, ids: Collection[str]) -> dict[str, _Now]:
        """Return what memories say now into which others were merged."""
        found: dict[str, _Now] = {}
        for part in split_chunks(sorted(ids)):
            query = _PROVENANCE_CURRENT.format(ids=placeholder_list(len(part)))
            found |= {row[0]: _Now(*row[1:]) for row in await self._sql.rows(query, (tenant_id, *part))}
        return found

    async def list_superseded(self, scope: Scope, turn_ids: Sequence[str], now: Instant) -> list[SupersededFact]:
        found: list[SupersededFact] = []
        c_seen, who = _visible_condition("c", scope)
        m_seen, _ = _visible_condition("m", scope)
        for part in split_chunks(turn_ids):
            query = _OVERTAKEN.format(c_seen=c_seen, m_seen=m_seen, ids=placeholder_list(len(part)))
            rows = await self._sql.rows(query, (now, *who, scope.tenant_id, *part, *who))
            # What became part of another memory, or was shortened, is not overtaken: that one says it.
            found += [
                SupersededFact(*row[:3]) for row in rows if row[2] is not None or "into" not in load_json_object(row[3])
            ]
        for _ in range(_STEPS):
            ended = {one.fact_id for one in found if one.text is None}
            after = await self._successors(scope, sorted(ended), now) if ended else {}
            if not after:
                break
            found = [SupersededFact(one.turn_id, *after.get(one.fact_id, (one.fact_id, one.text))) for one in found]
        return found

    async def _successors(self, scope: Scope, ids: Sequence[str], now: Instant) -> dict[str, tuple[str, str | None]]:
        """Return, for each memory that ended because another took its place, that one and what it says."""
        c_seen, who = _visible_condition("c", scope)
        last: dict[str, tuple[str | None, str | None]] = {}
        for part in split_chunks(ids):
            query = _SUCCESSORS.format(c_seen=c_seen, ids=placeholder_list(len(part)))
            rows = await self._sql.rows(query, (now, *who, scope.tenant_id, *part))
            last |= {memory_id: (new_id, text) for memory_id, new_id, text in rows}
        return {memory_id: (new_id, text) for memory_id, (new_id, text) in last.items() if new_id is not None}


def _visible_condition(row: str, scope: Scope) -> tuple[str, list[str]]:
    """Return that a row is seen through a link of the scope, and the values it takes."""
    items = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
    narrowed = "".join(f" AND l.{name} = ?" for name, _ in items)
    linked = f"l.tenant_id = {row}.tenant_id AND l.memory_seq = {row}.seq{narrowed}"
    return f"EXISTS (SELECT 1 FROM links l WHERE {linked})", [value for _, value in items]


# --- whole tables, row by row -----------------------------------------------------------------------------------------


FIRST: Final = ("memories", "entities", "accounts", "links", "vectors")
"""Others refer to the first three, and the words of the full text belong to links that are there."""

WORDS: Final = BulkTable("words", ("seq", "body", "key", "speaker", "day", "scope"), ("seq",), refers="seq")
"""They are put through the full text, which keeps an index over them."""

_COLUMNS: Final = """
SELECT t.name, c.name, c.pk FROM sqlite_schema t JOIN pragma_table_info(t.name) c
WHERE t.type = 'table' ORDER BY t.name, c.pk, c.name"""
_WORDS: Final = """
SELECT w.seq, w.body, w.key, w.speaker, w.day, w.scope FROM words w JOIN memories m ON m.seq = w.seq
WHERE m.tenant_id = ?"""


class BulkTables:
    """See ``memstone.ports.tables.Bulk``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def tables(self) -> list[BulkTable]:
        return build_bulk_tables(await self._sql.rows(_COLUMNS))

    async def tenants(self) -> list[str] | None:
        names = [table.name for table in await self.tables() if table != WORDS]
        every = " UNION ".join(f"SELECT tenant_id FROM {name}" for name in names)
        return sorted(str(row[0]) for row in await self._sql.rows(every) if row[0])

    async def count(self, tenant_id: str, table: BulkTable) -> int:
        rows = _WORDS if table == WORDS else f"SELECT 1 FROM {table.name} WHERE tenant_id = ?"
        row = await self._sql.one(f"SELECT count(*) FROM ({rows}) r", (tenant_id,))
        return int(row[0]) if row else 0

    async def page(self, tenant_id: str, table: BulkTable, after: Sequence[Any] | None, limit: int) -> list[BulkRow]:
        prefix = "w." if table == WORDS else ""
        columns = ", ".join(table.columns)
        rows = _WORDS if table == WORDS else f"SELECT {columns} FROM {table.name} WHERE tenant_id = ?"
        key = ", ".join(f"{prefix}{name}" for name in table.key)
        later = "" if after is None else f" AND ({key}) > ({placeholder_list(len(table.key))})"
        return await self._sql.rows(f"{rows}{later} ORDER BY {key} LIMIT ?", (tenant_id, *(after or ()), limit))

    async def put(self, tenant_id: str, table: BulkTable, rows: Iterable[BulkRow]) -> None:
        if table == WORDS:
            await self.put_words(rows)
            return
        columns = ", ".join(("tenant_id", *table.columns))
        statement = f"INSERT INTO {table.name} ({columns}) VALUES ({placeholder_list(len(table.columns) + 1)})"
        await self._sql.many(statement, ((tenant_id, *row) for row in rows))

    async def put_words(self, rows: Iterable[BulkRow]) -> None:
        """Put words into the full text."""
        await FullTextTable(self._sql).put_back(to_text_docs(rows))

    async def reserve(self, table: BulkTable, count: int) -> list[int]:
        query = f"SELECT coalesce(max({table.number}), 0) FROM {table.name}"
        row = await self._sql.one(query)
        spent = await self._sql.one("SELECT seq FROM sqlite_sequence WHERE name = ?", (table.name,))
        last = max(int(row[0]) if row else 0, int(spent[0]) if spent else 0)
        return list(range(last + 1, last + count + 1))


def to_text_docs(rows: Iterable[BulkRow]) -> list[tuple[int, TextDoc]]:
    """Return rows of words as the full text takes them."""
    found = (dict(zip(WORDS.columns, row, strict=True)) for row in rows)
    return [(int(row.pop("seq")), TextDoc(**row)) for row in found]


def build_bulk_tables(rows: Iterable[tuple[Any, ...]]) -> list[BulkTable]:
    """Build tables from their columns and the places of these in the primary key.

    They are sorted by the name of the table.
    """
    tables = [WORDS]
    for name, columns in groupby(rows, key=lambda row: row[0]):
        places = {column: place for _, column, place in columns}
        if "tenant_id" in places and name != WORDS.name:
            tables.append(_build_bulk_table(name, places))
    return sorted(
        tables, key=lambda table: (FIRST.index(table.name) if table.name in FIRST else len(FIRST), table.name)
    )


def _build_bulk_table(name: str, places: dict[str, int]) -> BulkTable:
    columns = tuple(sorted(column for column in places if column != "tenant_id"))
    key = [column for column, place in sorted(places.items(), key=lambda one: one[1]) if place and column in columns]
    number = "seq" if key == ["seq"] else "id" if name == "changes" else ""
    return BulkTable(name, columns, tuple(key), number, "memory_seq" if "memory_seq" in columns else "")
