"""A transaction in PostgreSQL, and its full-text index of analysed words (``tsvector``).

Words are stored as they are, without a dictionary or a parser of the database, so a word is the same in every store.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, TypeAlias

from memstone.adapters.postgres.connection import PgVector
from memstone.adapters.postgres.notify import build_notify_payloads
from memstone.adapters.postgres.statements import PostgresSql, compiled
from memstone.adapters.postgres.vectors import PostgresVectors
from memstone.adapters.sql.access import AdminTable, ApiKeysTable, VaultTable
from memstone.adapters.sql.browse import BrowseTable, where_after
from memstone.adapters.sql.erasure import ErasureTable
from memstone.adapters.sql.events import EventsTable
from memstone.adapters.sql.indexes import StoredTexts
from memstone.adapters.sql.memories import BulkTables, MemoriesTable, build_bulk_tables, to_text_docs
from memstone.adapters.sql.rows import (
    INSERT_NUMBERED,
    SELECT_LINK,
    SELECT_RECORD,
    Params,
    Row,
    SqlConnection,
    placeholder_list,
    record_params,
    split_chunks,
)
from memstone.adapters.sql.tx import SqlTx
from memstone.adapters.sql.work import SignalsTable
from memstone.model.access import ApiKey
from memstone.model.event import Event, Signal
from memstone.model.instant import Instant
from memstone.model.memory import FoundMemory, Record, TextDoc
from memstone.model.message import MAY_ASK
from memstone.model.query import TextQuery, Where
from memstone.model.scope import Scope
from memstone.ports.browse import BrowseOrder, WordPattern
from memstone.ports.erasure import KnownCopy
from memstone.ports.ledger import TextRow
from memstone.ports.tables import BulkRow, BulkTable

# --- the analysed words of every memory, as lexemes of a ``tsvector`` -------------------------------------------------


_LONGEST: Final = 255
"""Of a word that is longer, this much counts: a lexeme has at most two thousand bytes."""

_AT_ONCE: Final = 30
"""How many words of a question are told apart."""

_INSERT: Final = """
INSERT INTO words (seq, body, key, speaker, day, scope, terms) VALUES (?, ?, ?, ?, ?, ?, array_to_tsvector(?))"""
_ROW: Final = f"""coalesce(l.agent_id, ''), coalesce(l.run_id, ''), coalesce(m.layer, ''), coalesce(m.created_at, ''),
       coalesce(m.occurred_at, ''), coalesce(m.layer = 'turn' OR m.source = 'manual', FALSE),
       coalesce(m.status = 'active', FALSE),
       CASE WHEN m.version > 1 AND (l.run_id <> '' OR m.layer = 'turn')
            THEN (SELECT min(v.seq) FROM memories v WHERE v.tenant_id = m.tenant_id AND v.id = m.id)
            ELSE coalesce(l.memory_seq, 0) END,
       coalesce(memstone.readable(m.data) ->> 'speaker', ''),
       CASE WHEN m.text ~ '[{MAY_ASK}]' THEN m.text ELSE '' END, f.body,
       coalesce(f.key, ''), coalesce(f.speaker, ''), coalesce(f.day, '')"""
_ALL: Final = f"""
SELECT l.memory_seq, {_ROW}
FROM links l
JOIN memories m ON m.tenant_id = l.tenant_id AND m.seq = l.memory_seq
JOIN words f ON f.tenant_id = l.tenant_id AND f.seq = l.memory_seq
WHERE l.tenant_id = ? AND l.user_id = ?
ORDER BY l.memory_seq"""
_CHANGED: Final = f"""
SELECT t.memory_seq, {_ROW}
FROM (SELECT DISTINCT tenant_id, memory_seq FROM changes WHERE tenant_id = ? AND user_id = ? AND id > ?) t
LEFT JOIN links l ON l.tenant_id = t.tenant_id AND l.memory_seq = t.memory_seq AND l.user_id = ?
LEFT JOIN memories m ON m.tenant_id = l.tenant_id AND m.seq = l.memory_seq
LEFT JOIN words f ON f.tenant_id = l.tenant_id AND f.seq = l.memory_seq
ORDER BY t.memory_seq"""
_SCOPED: Final = "string_to_array(scope, ' ') @> ?::text[]"


class PostgresFullText:
    """See ``memstone.ports.ledger.FullText``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def put(self, seq: int, doc: TextDoc) -> None:
        await self.put_many([(seq, doc)])

    async def put_many(self, docs: Iterable[tuple[int, TextDoc]]) -> None:
        await self._sql.many(_INSERT, (_text_doc_params(seq, doc) for seq, doc in docs))

    async def drop(self, seqs: Iterable[int]) -> None:
        for part in split_chunks(list(seqs)):
            await self._sql.run(f"DELETE FROM words WHERE seq IN ({placeholder_list(len(part))})", part)

    async def clear(self, tenant_id: str) -> None:
        await self._sql.run("DELETE FROM words WHERE tenant_id = ?", (tenant_id,))

    async def match(self, query: TextQuery, limit: int) -> list[tuple[int, float]]:
        words = list(dict.fromkeys(word[:_LONGEST] for word in query.words))[:_AT_ONCE]
        if not words:
            return []
        # Which of the words a row has comes back as bits, so that how rare each of them is among the rows of the scope
        # need not be asked for apart.
        bits = " | ".join(f"((terms @@ ?::tsquery)::int << {place})" for place in range(len(words)))
        lexemes, within = [_quote_lexeme(word) for word in words], _owner_clause(query)
        statement = f"SELECT seq, {bits}, length(terms) FROM words{within[0]} AND terms @@ ?::tsquery"
        rows = await self._sql.rows(statement, (*lexemes, *within[1], " | ".join(lexemes)))
        return _rank_rows(rows, len(words), limit)

    async def partition(self, tenant_id: str, user_id: str, since: int | None) -> list[TextRow]:
        if since is None:
            rows = await self._sql.rows(_ALL, (tenant_id, user_id))
        else:
            rows = await self._sql.rows(_CHANGED, (tenant_id, user_id, since, user_id))
        return [TextRow(*row) for row in rows]


def _text_doc_params(seq: int, doc: TextDoc) -> tuple[object, ...]:
    fields = (doc.body, doc.key, doc.speaker, doc.day)
    terms = sorted({word[:_LONGEST] for field in fields for word in field.split()})
    return (seq, *fields, doc.scope, terms)


def _owner_clause(query: TextQuery) -> tuple[str, tuple[object, ...]]:
    """Return the clause for the rows of the owner.

    They are found by the links, which have an index that row-level security can use.

    ``@@`` may tell something about rows it is not shown (it is not leakproof), so that behind row-level security no
    index over words is ever asked: without an owner all rows of the tenant are read.
    """
    owner = query.owner
    if owner is None:
        return f" WHERE {_SCOPED}", (list(query.scope),)
    named = {"user_id": owner.user_id, "agent_id": owner.agent_id, "run_id": owner.run_id}
    values = {name: value for name, value in named.items() if value}
    linked = "".join(f" AND l.{name} = ?" for name in values)
    join = f" JOIN (SELECT DISTINCT l.memory_seq FROM links l WHERE l.tenant_id = ?{linked}) l ON l.memory_seq = seq"
    return f"{join} WHERE tenant_id = ?", (owner.tenant_id, *values.values(), owner.tenant_id)


def _quote_lexeme(word: str) -> str:
    """Return a word as a question for it, so that no text of a caller is ever read as query syntax."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _rank_rows(rows: Sequence[Row], words: int, limit: int) -> list[tuple[int, float]]:
    """Return the rows with the rarest words, then the shortest, then the newest."""
    current = Counter(place for _, bits, _ in rows for place in range(words) if bits >> place & 1)
    rarity = {place: math.log(1 + len(rows) / count) for place, count in current.items()}
    scored = [
        (int(seq), sum(score for place, score in rarity.items() if bits >> place & 1) / (1 + 0.01 * length))
        for seq, bits, length in rows
    ]
    scored.sort(key=lambda one: (-one[1], -one[0]))
    return scored if limit < 0 else scored[:limit]


# --- one transaction on PostgreSQL ------------------------------------------------------------------------------------


_MOST_NUMBERS: Final = 64
_NUMBERS: Final = "SELECT nextval('memstone.memories_seq_seq') FROM generate_series(1, ?)"
_COLUMNS: Final = """
SELECT c.relname::text, a.attname::text, coalesce(array_position(i.indkey::int2[], a.attnum), -1) + 1
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relnamespace = 'memstone'::regnamespace AND c.relkind = 'r'
ORDER BY c.relname COLLATE "C", 3, a.attname COLLATE "C\""""


_HOLDER: Final = """
SELECT CASE WHEN r.rolsuper OR r.rolbypassrls THEN '' ELSE current_setting('memstone.tenant') END
FROM pg_roles r WHERE r.rolname = current_user"""
_LOOKED_AT: Final = 16
# Of every session one row stands for all: whoever locks it takes the session, and the others pass over it.
_FREE: Final = """
SELECT w.place
FROM unnest(?::text[], ?::text[], ?::text[], ?::text[]) WITH ORDINALITY AS w (user_id, agent_id, run_id, lease, place)
CROSS JOIN LATERAL (
    SELECT h.tenant_id, h.seq FROM signals h
    WHERE h.tenant_id = ? AND h.status = 'pending'
      AND h.user_id = w.user_id AND h.agent_id = w.agent_id AND h.run_id = w.run_id
    ORDER BY h.due_at, h.seq LIMIT 1) head
JOIN signals s ON s.tenant_id = head.tenant_id AND s.seq = head.seq
WHERE NOT EXISTS (SELECT 1 FROM leases l WHERE l.tenant_id = head.tenant_id AND l.name = w.lease AND l.until > ?)
ORDER BY w.place LIMIT 1 FOR UPDATE OF s SKIP LOCKED"""

Witness: TypeAlias = tuple[str, Params]
_EVENT: Final = "SELECT 1 FROM events WHERE tenant_id = ? AND memory_id = ? AND id = ?"
_SIGNAL: Final = "SELECT 1 FROM signals WHERE tenant_id = ? AND id = ?"


class PostgresTx(SqlTx):
    """See ``memstone.ports.ledger.Tx``; made once per connection."""

    memories: _Memories

    def __init__(self, sql: PostgresSql) -> None:
        super().__init__(sql, compiled)
        self._sql = sql
        self.memories = _Memories(sql)
        self.browse = _Browse(sql, compiled, self.memories)
        self.text = PostgresFullText(sql)  # type: ignore[assignment]  # the same port, written again
        self.vectors = PostgresVectors(sql)
        self.events: _Events = _Events(sql)
        self.signals: _Signals = _Signals(sql)
        self.api_keys = _ApiKeys(sql)
        self.stored_rows = _PostgresRows(sql)
        self.erasure = _PostgresErasure(sql)
        self.bulk = _Bulk(sql)
        self.admin = _Admin(sql)
        self.vault = _Vault(sql)

    def begin(self) -> None:
        """Forget whatever was kept for the transaction before."""
        self.memories.begin()
        self.signals.called.clear()
        self.events.last = self.signals.last = None

    @property
    def witness(self) -> Witness | None:
        """A row that nobody else can have written: where it is, there is all that this transaction did."""
        return self.events.last or self.signals.last

    async def saw(self, witness: Witness) -> bool:
        """Return whether that row is there."""
        query, params = witness
        return await self._sql.one(query, params) is not None

    @property
    def names_to_wake(self) -> list[str]:
        """What those who work are to hear of when this is stored."""
        return self.signals.called


class _Memories(MemoriesTable):
    def __init__(self, sql: PostgresSql) -> None:
        super().__init__(sql, compiled)
        self._numbers: list[int] = []
        self._wanted = 1

    def begin(self) -> None:
        """Forget the numbers of the transaction before."""
        self._numbers, self._wanted = [], 1

    async def insert(self, record: Record) -> int:
        """Insert a row.

        Numbers are asked for ahead, more and more of them, so that nobody waits for each row to be stored.
        """
        if not self._numbers:
            rows = await self._sql.rows(_NUMBERS, (self._wanted,))
            self._numbers = sorted((int(row[0]) for row in rows), reverse=True)
            self._wanted = min(2 * self._wanted, _MOST_NUMBERS)
        record.seq = self._numbers.pop()
        await self._sql.many(INSERT_NUMBERED, [(*record_params(record), record.seq)])
        return record.seq

    async def insert_all(self, records: Sequence[Record]) -> None:
        """Insert all; statements that nobody waits for need not be few."""
        for record in records:
            await self.insert(record)

    links_of_user: ClassVar[str] = "links l"
    page: ClassVar[str] = f"""
SELECT {SELECT_RECORD}, {SELECT_LINK}
FROM (SELECT DISTINCT ON (l.memory_seq)
             l.tenant_id AS tenant, l.memory_seq AS seq, l.user_id AS one, l.agent_id AS other, l.run_id AS run
      FROM %s ORDER BY l.memory_seq %s LIMIT ? OFFSET ?) p
JOIN memories m ON m.tenant_id = p.tenant AND m.seq = p.seq
JOIN links l ON l.tenant_id = p.tenant AND l.memory_seq = p.seq
 AND l.user_id = p.one AND l.agent_id = p.other AND l.run_id = p.run
ORDER BY p.seq %s"""


class _Events(EventsTable):
    last: Witness | None = None

    async def append(self, events: Iterable[Event]) -> None:
        remaining = list(events)
        await super().append(remaining)
        for event in remaining[-1:]:
            self.last = _EVENT, (event.scope.tenant_id, event.memory_id, event.id)


class _Signals(SignalsTable):
    _sql: PostgresSql
    last: Witness | None = None

    def __init__(self, sql: PostgresSql) -> None:
        super().__init__(sql)
        self.called: list[str] = []

    async def due(self, tenant_id: str | None, now: Instant, limit: int, offset: int = 0) -> list[Scope]:
        """Return whose work is due.

        Whoever takes work from all tenants has to see whose turn it is, before there is a tenant to speak for.
        """
        if tenant_id is not None:
            return await super().due(tenant_id, now, limit, offset)
        await self._sql.say("memstone.queue", "all")
        found = await super().due(None, now, limit, offset)
        await self._sql.say("memstone.queue", "")
        return found

    async def free(self, sessions: Sequence[tuple[Scope, str]], now: Instant) -> int | None:
        """Return which is free.

        Few are asked about at a time: of many that wait nearly always one of the first is free.
        """
        for start in range(0, len(sessions), _LOOKED_AT):
            part = sessions[start : start + _LOOKED_AT]
            owner = ([getattr(scope, name) for scope, _ in part] for name in ("user_id", "agent_id", "run_id"))
            asked = (*owner, [lease for _, lease in part], part[0][0].tenant_id, now)
            row = await self._sql.one(_FREE, asked)
            if row is not None:
                return start + int(row[0]) - 1
        return None

    async def put(self, signals: Iterable[Signal]) -> None:
        """Keep signals, and call those who work."""
        remaining = list(signals)
        await super().put(remaining)
        for signal in remaining[-1:]:
            self.last = _SIGNAL, (signal.scope.tenant_id, signal.id)
        for tenant in {one.scope.tenant_id for one in remaining}:
            self._call(tenant, [one.due_at for one in remaining if one.scope.tenant_id == tenant])

    async def hurry(self, scope: Scope, now: Instant) -> int:
        hurried = await super().hurry(scope, now)
        self._call(scope.tenant_id, [now] if hurried else [])
        return hurried

    async def mark(
        self,
        tenant_id: str,
        ids: Iterable[str],
        status: str,
        error: str | None = None,
        *,
        counts: bool = True,
        due_at: Instant | None = None,
    ) -> int:
        marked = await super().mark(tenant_id, ids, status, error, counts=counts, due_at=due_at)
        self._call(tenant_id, [due_at] if status == "pending" else [])
        return marked

    def _call(self, tenant_id: str, due: Iterable[Instant | None]) -> None:
        self.called += build_notify_payloads(tenant_id, due)


class _ApiKeys(ApiKeysTable):
    _sql: PostgresSql

    async def find(self, key_id: str) -> ApiKey | None:
        """Return a key: the wall lets this one row through, the caller, as it is what tells the tenant."""
        await self._sql.say("memstone.key", key_id)
        return await super().find(key_id)


_MATCHING: Final = """
SELECT DISTINCT m.seq FROM words w
JOIN memories m ON m.tenant_id = w.tenant_id AND m.seq = w.seq
JOIN links l ON l.tenant_id = m.tenant_id AND l.memory_seq = m.seq
WHERE w.terms @@ ?::tsquery AND {} AND {} ORDER BY m.seq {} LIMIT ?"""
_HAS_WORD: Final = "position(? in ' ' || w.body || ' ' || w.key || ' ') > 0"
"""The lexemes of a row are also of who spoke and when; what is typed is looked for in the text and its key."""


class _Browse(BrowseTable):
    async def match(
        self, where: Where, words: Sequence[WordPattern], scope: Sequence[str], order: BrowseOrder, limit: int
    ) -> list[FoundMemory]:
        """Return those of which the full text has all words; whose they are says the condition."""
        del scope
        wanted = where_after(where, order)
        condition, params = self._where(wanted)
        asked = [[*(f" {term} " for term in one.terms), *([f" {one.prefix}"] if one.prefix else [])] for one in words]
        in_text = " AND ".join(f"({' OR '.join([_HAS_WORD] * len(one))})" for one in asked)
        query = _MATCHING.format(in_text, condition, "DESC" if order.descending else "ASC")
        found = [part for one in asked for part in one]
        rows = await self._sql.rows(query, [" & ".join(map(_any_lexeme, words)), *found, *params, limit])
        return await self._hydrate([int(row[0]) for row in rows], wanted, order, limit)

    def contains(self, text: str) -> str:
        """Return a test that a text has the bound value in it."""
        return f"strpos({text}, ?) > 0"


def _any_lexeme(pattern: WordPattern) -> str:
    begins = [f"{_quote_lexeme(pattern.prefix[:_LONGEST])}:*"] if pattern.prefix else []
    return f"({' | '.join([*map(_quote_lexeme, pattern.terms), *begins])})"


class _PostgresRows(StoredTexts):
    async def tidy(self) -> None:
        """Do nothing: what is deleted from the full text is gone with its row."""


class _PostgresErasure(ErasureTable):
    async def rebuild(self) -> None:
        """Do nothing: the full text is part of its row."""

    async def merge_words(self, *, first: bool) -> bool:
        """Return False: there are no words to merge."""
        del first
        return False

    async def _drop_words(self, seqs: Sequence[int]) -> None:
        for part in split_chunks(seqs):
            await self._sql.run(f"DELETE FROM words WHERE seq IN ({placeholder_list(len(part))})", tuple(part))


class _Vault(VaultTable):
    _sql: PostgresSql

    async def copies(self, tenant_id: str) -> list[KnownCopy]:
        return await super().copies(tenant_id or await self._holder())

    async def note_copies(self, tenant_id: str, copies: Iterable[KnownCopy]) -> None:
        await super().note_copies(tenant_id or await self._holder(), copies)

    async def forget_copy(self, tenant_id: str, path: str) -> None:
        await super().forget_copy(tenant_id or await self._holder(), path)

    async def _holder(self) -> str:
        """Return a copy holds what the role may see: the whole store only for one above the wall, else one tenant."""
        await self._sql.say("role", "none")
        row = await self._sql.one(_HOLDER)
        return str(row[0]) if row else ""


class _Bulk(BulkTables):
    _sql: PostgresSql

    async def tables(self) -> list[BulkTable]:
        return build_bulk_tables(await self._sql.rows(_COLUMNS))

    async def tenants(self) -> list[str] | None:
        """Return None unless connected as one above the tenants: row-level security lets nobody look past their own."""
        await self._sql.say("role", "none")
        row = await self._sql.one("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
        return await super().tenants() if row and row[0] else None

    async def put(self, tenant_id: str, table: BulkTable, rows: Iterable[BulkRow]) -> None:
        if table.name == "vectors":
            at = table.columns.index("vector")
            rows = ((*row[:at], PgVector(row[at]), *row[at + 1 :]) for row in rows)
        await super().put(tenant_id, table, rows)

    async def put_words(self, rows: Iterable[BulkRow]) -> None:
        await PostgresFullText(self._sql).put_many(to_text_docs(rows))

    async def reserve(self, table: BulkTable, count: int) -> list[int]:
        sequence = f"memstone.{table.name}_{table.number}_seq"
        query = "SELECT nextval(?::text::regclass) FROM generate_series(1, ?)"
        return sorted(int(row[0]) for row in await self._sql.rows(query, (sequence, count)))


class _Admin(AdminTable):
    async def clear_texts(self, tenant_id: str) -> None:
        await PostgresFullText(self._sql).clear(tenant_id)
