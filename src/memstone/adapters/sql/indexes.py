"""The analysed words of memories, and an FTS5 index over them.

A row of words is written in the transaction of its memory. To index it costs as much as everything else a write does,
and for many rows together hardly more than for one; so the index follows, a few hundred rows behind, and a search also
looks at the rows it does not know yet. They are those behind its last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from memstone.adapters.sql.rows import (
    SELECT_RECORD,
    Row,
    SqlConnection,
    dump_json,
    load_json_object,
    placeholder_list,
    split_chunks,
    to_record,
)
from memstone.model.memory import INDEXED, Record, TextDoc, Vector
from memstone.model.message import MAY_ASK
from memstone.model.query import TextQuery
from memstone.model.scope import Scope
from memstone.ports.ledger import IndexInfo, LinkedVector, TextRow, VectorRow
from memstone.ports.tables import TABLES, Key, StoredRow

# --- the analysed words of every memory, and an FTS5 index over them --------------------------------------------------


BEHIND: Final = 256
"""How many rows the index may be behind, and a few more."""

_LOOK: Final = 16
_LONG: Final = 16_000
"""A text of so many characters is looked at once whether the index is too far behind."""

BEHIND_CHARS: Final = 262_144
"""How much text it may be behind: the caller reads all of that, for every question."""

_COLUMNS: Final = "body, key, speaker, day, scope"
_INSERT: Final = f"INSERT INTO words (seq, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
_INDEX: Final = f"INSERT INTO fulltext (rowid, {_COLUMNS}) SELECT seq, {_COLUMNS} FROM words WHERE "
_UNINDEX: Final = (
    f"INSERT INTO fulltext (fulltext, rowid, {_COLUMNS}) SELECT 'delete', seq, {_COLUMNS} FROM words WHERE "
)
# The text itself, its key, speaker and day count alike; the scope words select rows and must not score.
_MATCH: Final = (
    "SELECT rowid, -bm25(fulltext, 1.0, 1.0, 1.0, 1.0, 0.0) AS score FROM fulltext "
    "WHERE fulltext MATCH ? ORDER BY bm25(fulltext, 1.0, 1.0, 1.0, 1.0, 0.0) LIMIT ?"
)
_BEHIND: Final = f"SELECT seq, {_COLUMNS} FROM words WHERE seq > ?"
_PAGE: Final = 2000
_RARE: Final = 2.0
"""What a word counts in a row that is not indexed yet: as much as one that is in a tenth of all rows."""

# Only a text that may ask is wanted whole. Looking for every question mark there is takes ten times as long as looking
# for the one of ASCII, and only a text beyond ASCII can have another one.
_MAY_ASK: Final = (
    f"instr(m.text, '?') > 0 OR (length(CAST(m.text AS BLOB)) > length(m.text) AND m.text GLOB '*[{MAY_ASK}]*')"
)
# When it was said tells its place in a conversation, and is asked for only where there is one.
_ROW: Final = f"""coalesce(l.agent_id, ''), coalesce(l.run_id, ''), coalesce(m.layer, ''),
       CASE WHEN l.run_id <> '' OR m.layer = 'turn' THEN m.created_at ELSE '' END,
       CASE WHEN l.run_id <> '' OR m.layer = 'turn' THEN m.occurred_at ELSE '' END,
       coalesce(m.layer = 'turn' OR m.source = 'manual', 0), coalesce(m.status = 'active', 0),
       CASE WHEN m.version > 1 AND (l.run_id <> '' OR m.layer = 'turn')
            THEN (SELECT min(v.seq) FROM memories v WHERE v.tenant_id = m.tenant_id AND v.id = m.id)
            ELSE coalesce(l.memory_seq, 0) END,
       coalesce(json_extract(m.data, '$.speaker'), ''), iif({_MAY_ASK}, m.text, ''), f.body,
       coalesce(f.key, ''), coalesce(f.speaker, ''), coalesce(f.day, '')"""
_ALL: Final = f"""
SELECT l.memory_seq, {_ROW}
FROM links l
JOIN memories m ON m.seq = l.memory_seq
JOIN words f ON f.seq = l.memory_seq
WHERE l.tenant_id = ? AND l.user_id = ? AND l.memory_seq > ?
ORDER BY l.memory_seq LIMIT ?"""
_CHANGED: Final = f"""
SELECT t.memory_seq, {_ROW}
FROM (SELECT DISTINCT tenant_id, memory_seq FROM changes WHERE tenant_id = ? AND user_id = ? AND id > ?) t
LEFT JOIN links l ON l.tenant_id = t.tenant_id AND l.memory_seq = t.memory_seq AND l.user_id = ?
LEFT JOIN memories m ON m.seq = l.memory_seq
LEFT JOIN words f ON f.seq = l.memory_seq
ORDER BY t.memory_seq"""


class FullTextTable:
    """See ``memstone.ports.ledger.FullText``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def put(self, seq: int, doc: TextDoc) -> None:
        await self.put_back([(seq, doc)])

    async def put_many(self, docs: Iterable[tuple[int, TextDoc]]) -> None:
        rows = await self._insert(docs)
        # They are the last there are, so the index knows none of them; how far it is behind is looked at now and then.
        if not rows:
            return
        if rows[-1][0] // _LOOK != (rows[0][0] - 1) // _LOOK or any(len(row[1]) > _LONG for row in rows):
            await self._follow(rows[-1][0], await self._last_indexed())

    async def put_back(self, docs: Iterable[tuple[int, TextDoc]]) -> None:
        """Do the same for versions that may be older than others."""
        rows = await self._insert(docs)
        if not rows:
            return
        last = await self._last_indexed()
        again = [(row[0],) for row in rows if row[0] <= last]
        if again:
            await self._sql.many(f"{_INDEX}seq = ?", again)
        await self._follow(max(row[0] for row in rows), last)

    async def _insert(self, docs: Iterable[tuple[int, TextDoc]]) -> list[tuple[int, str, str, str, str, str]]:
        rows = [(seq, one.body, one.key, one.speaker, one.day, one.scope) for seq, one in docs]
        if rows:
            await self._sql.many(_INSERT, rows)
        return rows

    async def _follow(self, newest: int, last: int) -> None:
        if newest - last >= BEHIND or await self._chars_behind(last) > BEHIND_CHARS:
            await self._sql.run(f"{_INDEX}seq > ?", (last,))

    async def _chars_behind(self, last: int) -> int:
        row = await self._sql.one("SELECT sum(length(body)) FROM words WHERE seq > ?", (last,))
        return int(row[0] or 0) if row else 0

    async def drop(self, seqs: Iterable[int]) -> None:
        gone = [(seq,) for seq in seqs]
        last = await self._last_indexed()
        await self._sql.many(f"{_UNINDEX}seq = ?", (one for one in gone if one[0] <= last))
        await self._sql.many("DELETE FROM words WHERE seq = ?", gone)

    async def clear(self, tenant_id: str) -> None:
        other = "seq IN (SELECT seq FROM memories WHERE tenant_id = ?)"
        await self._sql.run(f"{_UNINDEX}{other} AND seq <= ?", (tenant_id, await self._last_indexed()))
        await self._sql.run(f"DELETE FROM words WHERE {other}", (tenant_id,))

    async def match(self, query: TextQuery, limit: int) -> list[tuple[int, float]]:
        if not query.words:
            return []
        rows = await self._sql.rows(_MATCH, (_match_expression(query), limit))
        found = [(int(seq), float(score)) for seq, score in rows]
        behind = await self._sql.rows(_BEHIND, (await self._last_indexed(),))
        fresh = [(seq, score) for seq, *texts in behind if (score := _score_unindexed(query, *texts))]
        if not fresh:
            return found
        every = sorted([*found, *fresh], key=lambda one: (-one[1], -one[0]))
        return every if limit < 0 else every[:limit]

    async def _last_indexed(self) -> int:
        row = await self._sql.one("SELECT max(id) FROM fulltext_docsize")
        return int(row[0]) if row and row[0] is not None else 0

    async def partition(self, tenant_id: str, user_id: str, since: int | None) -> list[TextRow]:
        if since is None:
            return await self._read_all(tenant_id, user_id)
        return list(map(TextRow._make, await self._sql.rows(_CHANGED, (tenant_id, user_id, since, user_id))))

    async def _read_all(self, tenant_id: str, user_id: str) -> list[TextRow]:
        """Read all rows, a page at a time: of most columns the rows share a few values, and each is kept once."""
        found: list[TextRow] = []
        shared: dict[str, str] = {}
        after, limit = -1, _PAGE
        while True:
            page = await self._sql.rows(_ALL, (tenant_id, user_id, after, limit))
            is_last = len(page) < limit
            remaining = page if is_last else _without_last(page)
            found += [_text_row(row, shared.setdefault) for row in remaining]
            if is_last:
                return found
            after, limit = (remaining[-1][0], limit) if remaining else (after, 2 * limit)


def _without_last(page: list[Row]) -> list[Row]:
    """Return a page without its last memory, which may have more links than fit."""
    end = len(page)
    while end and page[end - 1][0] == page[-1][0]:
        end -= 1
    return page[:end]


def _text_row(row: Row, of: Callable[[str, str], str]) -> TextRow:
    seq, agent, run, layer, *texts, speaker, text, body, key, spoken, day = row
    who = of(agent, agent), of(run, run), of(layer, layer)
    return TextRow._make((seq, *who, *texts, of(speaker, speaker), text, body, key, of(spoken, spoken), of(day, day)))


def _match_expression(query: TextQuery) -> str:
    """Quote every word, so that no text of a caller is ever read as query syntax."""
    scope = " AND ".join(f"scope : {_quote_word(token)}" for token in query.scope)
    words = _any_of(query.words)
    return f"{scope} AND {{body key speaker day}} : ({words})"


def _any_of(words: Sequence[str]) -> str:
    return " OR ".join(map(_quote_word, words))


def _quote_word(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _score_unindexed(query: TextQuery, body: str, key: str, speaker: str, day: str, scope: str) -> float:
    """Return how well a row that is not indexed yet answers; 0 outside the scope."""
    if not set(query.scope) <= set(scope.split()):
        return 0.0
    existing = {*body.split(), *key.split(), *speaker.split(), *day.split()}
    return _RARE * sum(word in existing for word in query.words)


# --- vectors by signature, the change counter, and the list of vector spaces ------------------------------------------


_VECTORS_ALL: Final = """
SELECT l.memory_seq, l.agent_id, l.run_id, m.layer, v.vector, m.layer = 'turn' OR m.source = 'manual'
FROM links l
JOIN vectors v ON v.tenant_id = l.tenant_id AND v.memory_seq = l.memory_seq AND v.signature = ?
JOIN memories m ON m.seq = l.memory_seq
WHERE l.tenant_id = ? AND l.user_id = ?
ORDER BY l.memory_seq"""
_VECTORS_CHANGED: Final = """
SELECT t.memory_seq, coalesce(l.agent_id, ''), coalesce(l.run_id, ''), coalesce(m.layer, ''), v.vector,
       coalesce(m.layer = 'turn' OR m.source = 'manual', FALSE)
FROM (SELECT DISTINCT tenant_id, memory_seq FROM changes WHERE tenant_id = ? AND user_id = ? AND id > ?) t
LEFT JOIN links l ON l.tenant_id = t.tenant_id AND l.memory_seq = t.memory_seq AND l.user_id = ?
LEFT JOIN vectors v ON v.tenant_id = l.tenant_id AND v.memory_seq = l.memory_seq AND v.signature = ?
LEFT JOIN memories m ON m.seq = t.memory_seq
ORDER BY t.memory_seq"""
# tenant_id is hidden from the planner: by the index it would read the whole log of the tenant and sort it, by the
# primary key it begins at the cursor.
_LOG: Final = "SELECT id, memory_seq FROM changes WHERE id > ? AND tenant_id || '' = ? ORDER BY id LIMIT ?"
_LOG_LENGTH: Final = "SELECT count(*) FROM changes WHERE id > ? AND tenant_id || '' = ?"
_LINKED: Final = """
SELECT l.memory_seq, m.id, l.user_id, l.agent_id, l.run_id, m.layer, m.status, v.vector, m.created_at, m.expires_at,
       m.text
FROM links l
JOIN vectors v ON v.tenant_id = l.tenant_id AND v.memory_seq = l.memory_seq AND v.signature = ?
JOIN memories m ON m.seq = l.memory_seq
WHERE l.tenant_id = ? AND l.memory_seq IN"""
_WITHOUT: Final = f"""
FROM memories m
WHERE m.tenant_id = ? AND m.seq > ? AND m.valid_to IS NULL AND m.status IN ({placeholder_list(len(INDEXED))})
  AND NOT EXISTS (SELECT 1 FROM vectors v
                  WHERE v.tenant_id = m.tenant_id AND v.memory_seq = m.seq AND v.signature = ?)"""
_SOME: Final = "SELECT memory_seq, vector FROM vectors WHERE tenant_id = ? AND signature = ? AND memory_seq IN"
_WORDS: Final = """
SELECT memory_seq, words FROM vectors
WHERE tenant_id = ? AND signature = ? AND words IS NOT NULL AND memory_seq IN"""
_PUT: Final = """
INSERT INTO vectors (tenant_id, memory_seq, signature, vector, words) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, memory_seq, signature) DO UPDATE SET vector = excluded.vector, words = excluded.words"""
_FILL: Final = """
INSERT INTO vectors (tenant_id, memory_seq, signature, vector, words)
SELECT tenant_id, seq, ?, ?, ? FROM memories WHERE tenant_id = ? AND seq = ? AND valid_to IS NULL
ON CONFLICT (tenant_id, memory_seq, signature) DO UPDATE SET vector = excluded.vector, words = excluded.words"""


class VectorsTable:
    """See ``memstone.ports.ledger.VectorRows``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def put(self, tenant_id: str, signature: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        await self._sql.many(_PUT, ((tenant_id, seq, signature, one, words_of(one)) for seq, one in vectors))

    async def get(self, tenant_id: str, seq: int, signature: str) -> Vector | None:
        query = "SELECT vector, words FROM vectors WHERE tenant_id = ? AND memory_seq = ? AND signature = ?"
        row = await self._sql.one(query, (tenant_id, seq, signature))
        return None if row is None else Vector(row[0], row[1] or b"")

    async def drop(self, tenant_id: str, seqs: Iterable[int]) -> None:
        for part in split_chunks(list(seqs)):
            await self._sql.run(
                f"DELETE FROM vectors WHERE tenant_id = ? AND memory_seq IN ({placeholder_list(len(part))})",
                (tenant_id, *part),
            )

    async def note(self, tenant_id: str, news: Iterable[tuple[str, int]]) -> None:
        await self._sql.many(
            "INSERT INTO changes (tenant_id, user_id, memory_seq) VALUES (?, ?, ?)",
            ((tenant_id, user, seq) for user, seq in news),
        )

    async def touch(self, tenant_id: str, seqs: Iterable[int]) -> None:
        for part in split_chunks(list(seqs)):
            await self._sql.many(
                "INSERT INTO changes (tenant_id, user_id, memory_seq) SELECT DISTINCT tenant_id, user_id, memory_seq "
                f"FROM links WHERE tenant_id = ? AND memory_seq IN ({placeholder_list(len(part))})",
                [(tenant_id, *part)],
            )

    async def stamp(self, tenant_id: str, user_id: str) -> int:
        row = await self._sql.one(
            "SELECT max(id) FROM changes WHERE tenant_id = ? AND user_id = ?", (tenant_id, user_id)
        )
        return int(row[0]) if row and row[0] is not None else 0

    async def stamps(self, tenant_id: str, users: Sequence[str]) -> tuple[int, ...]:
        # Each by itself: grouped, the whole log of a user would be read for its last entry.
        each = ", ".join(["(SELECT max(id) FROM changes WHERE tenant_id = ? AND user_id = ?)"] * len(users))
        row = await self._sql.one(f"SELECT {each}", [value for user in users for value in (tenant_id, user)])
        return tuple(int(last or 0) for last in row or ())

    async def has_change(self, tenant_id: str, user_id: str, stamp: int) -> bool:
        query = "SELECT 1 FROM changes WHERE id = ? AND tenant_id = ? AND user_id = ?"
        return await self._sql.one(query, (stamp, tenant_id, user_id)) is not None

    async def partition(self, tenant_id: str, user_id: str, signature: str, since: int | None) -> list[VectorRow]:
        if since is None:
            rows = await self._sql.rows(_VECTORS_ALL, (signature, tenant_id, user_id))
        else:
            rows = await self._sql.rows(_VECTORS_CHANGED, (tenant_id, user_id, since, user_id, signature))
        return list(map(VectorRow._make, rows))

    async def changes_after(self, tenant_id: str, cursor: int, limit: int) -> list[tuple[int, int]]:
        return [(change, seq) for change, seq in await self._sql.rows(_LOG, (cursor, tenant_id, limit))]

    async def count_changes(self, tenant_id: str, cursor: int) -> int:
        rows = await self._sql.rows(_LOG_LENGTH, (cursor, tenant_id))
        return int(rows[0][0])

    async def rows_of(self, tenant_id: str, signature: str, seqs: Iterable[int]) -> list[LinkedVector]:
        rows: list[Row] = []
        for part in split_chunks(list(seqs)):
            rows += await self._sql.rows(f"{_LINKED} ({placeholder_list(len(part))})", (signature, tenant_id, *part))
        return [LinkedVector(*row) for row in rows]

    async def many(self, tenant_id: str, signature: str, seqs: Iterable[int]) -> list[tuple[int, bytes]]:
        rows: list[Row] = []
        for part in split_chunks(list(seqs)):
            rows += await self._sql.rows(f"{_SOME} ({placeholder_list(len(part))})", (tenant_id, signature, *part))
        return [(seq, vector) for seq, vector in rows]

    async def words_of(self, tenant_id: str, signature: str, seqs: Iterable[int]) -> list[tuple[int, bytes]]:
        rows: list[Row] = []
        for part in split_chunks(list(seqs)):
            rows += await self._sql.rows(f"{_WORDS} ({placeholder_list(len(part))})", (tenant_id, signature, *part))
        return [(seq, words) for seq, words in rows]

    async def list_missing(self, tenant_id: str, signature: str, after: int, limit: int) -> list[Record]:
        query = f"SELECT {SELECT_RECORD} {_WITHOUT} ORDER BY m.seq LIMIT ?"
        params = (tenant_id, after, *sorted(INDEXED), signature, limit)
        return [to_record(row) for row in await self._sql.rows(query, params)]

    async def missing_count(self, tenant_id: str, signature: str) -> int:
        row = await self._sql.one(f"SELECT count(*) {_WITHOUT}", (tenant_id, 0, *sorted(INDEXED), signature))
        return int(row[0]) if row else 0

    async def fill(self, tenant_id: str, signature: str, vectors: Iterable[tuple[int, bytes]]) -> int:
        params = ((signature, one, words_of(one), tenant_id, seq) for seq, one in vectors)
        return sum([await self._sql.run(_FILL, each) for each in params])


def words_of(vector: bytes) -> bytes | None:
    """Return the vectors of its words, if the model told them."""
    return (vector.words or None) if isinstance(vector, Vector) else None


class IndexesTable:
    """See ``memstone.ports.ledger.Indexes``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def all(self, tenant_id: str) -> list[IndexInfo]:
        query = "SELECT signature, dim, state, backend, quant FROM indexes WHERE tenant_id = ? ORDER BY signature"
        return [IndexInfo(*row) for row in await self._sql.rows(query, (tenant_id,))]

    async def state(self, tenant_id: str, signature: str) -> str | None:
        query = "SELECT state FROM indexes WHERE tenant_id = ? AND signature = ?"
        row = await self._sql.one(query, (tenant_id, signature))
        return None if row is None else str(row[0])

    async def put(self, tenant_id: str, info: IndexInfo) -> None:
        await self._sql.run(
            "INSERT INTO indexes (tenant_id, signature, dim, state, backend, quant) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (tenant_id, signature) DO UPDATE SET state = excluded.state, backend = excluded.backend",
            (tenant_id, info.signature, info.dim, info.state, info.backend, info.quant),
        )

    async def drop(self, tenant_id: str, signature: str) -> int:
        params = (tenant_id, signature)
        await self._sql.run("DELETE FROM indexes WHERE tenant_id = ? AND signature = ?", params)
        return await self._sql.run("DELETE FROM vectors WHERE tenant_id = ? AND signature = ?", params)


# --- every text that lies in the store, table by table ----------------------------------------------------------------


_NOT_SAID: Final = {"events": " AND event <> 'REDACT'"}
"""Rows that hold no words of anybody: they are written while the others are looked through."""

_KEYS: Final = {"receipts": "id", "idempotency": "key", "llm_cache": "key"}
_TEXTS: Final[dict[str, tuple[str, ...]]] = {
    "memories": ("text", "key", "data", "metadata"),
    "events": ("memory_id", "old_text", "new_text", "reason", "before", "after"),
    "signals": ("user_text", "assistant_text", "data", "last_error"),
    "receipts": ("body",),
    "idempotency": ("reply",),
    "llm_cache": ("reply",),
    "entities": ("name", "description"),
    "jobs": ("details",),
}
_JSON: Final = frozenset(
    {
        ("memories", "data"),
        ("memories", "metadata"),
        ("events", "before"),
        ("events", "after"),
        ("signals", "data"),
        ("receipts", "body"),
        ("idempotency", "reply"),
        ("jobs", "details"),
    }
)


class StoredTexts:
    """See ``memstone.ports.tables.StoredRows``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def count(self, tenant_id: str) -> int:
        counted = " + ".join(
            f"(SELECT count(*) FROM {table} WHERE tenant_id = ?{_NOT_SAID.get(table, '')})" for table in TABLES
        )
        row = await self._sql.one(f"SELECT {counted}", (tenant_id,) * len(TABLES))
        return int(row[0]) if row else 0

    async def page(self, tenant_id: str, table: str, after: Key | None, limit: int) -> list[StoredRow]:
        key = _key_column(table)
        later = "" if after is None else f" AND {key} > ?"
        query = (
            f"{_select_statement(table)} WHERE tenant_id = ?{later}{_NOT_SAID.get(table, '')} ORDER BY {key} LIMIT ?"
        )
        items = (tenant_id, limit) if after is None else (tenant_id, after, limit)
        return _to_stored_rows(table, await self._sql.rows(query, items))

    async def rows(self, tenant_id: str, table: str, keys: Sequence[Key]) -> list[StoredRow]:
        found: list[StoredRow] = []
        for part in split_chunks(keys):
            among = f"{_key_column(table)} IN ({placeholder_list(len(part))})"
            query = f"{_select_statement(table)} WHERE tenant_id = ? AND {among}"
            found += _to_stored_rows(table, await self._sql.rows(query, (tenant_id, *part)))
        return found

    async def rewrite(self, tenant_id: str, table: str, key: Key, values: Mapping[str, Any]) -> None:
        columns = ", ".join(f"{name} = ?" for name in values)
        written = [_encode_value(table, name, value) for name, value in values.items()]
        query = f"UPDATE {table} SET {columns} WHERE tenant_id = ? AND {_key_column(table)} = ?"
        await self._sql.run(query, (*written, tenant_id, key))

    async def drop(self, tenant_id: str, table: str, keys: Sequence[Key]) -> None:
        query = f"DELETE FROM {table} WHERE tenant_id = ? AND {_key_column(table)} = ?"
        await self._sql.many(query, ((tenant_id, key) for key in keys))

    async def list_citations(self, tenant_id: str, turn_id: str) -> list[StoredRow]:
        query = f"{_select_statement('memories')} WHERE tenant_id = ? AND origin_id = ?"
        return _to_stored_rows("memories", await self._sql.rows(query, (tenant_id, turn_id)))

    async def list_mentions(self, tenant_id: str, seq: int) -> list[StoredRow]:
        among = "SELECT entity_id FROM mentions WHERE tenant_id = ? AND memory_seq = ?"
        query = f"{_select_statement('entities')} WHERE tenant_id = ? AND id IN ({among})"
        return _to_stored_rows("entities", await self._sql.rows(query, (tenant_id, tenant_id, seq)))

    async def rename(self, tenant_id: str, seq: int, dedupe: str, new: str | None) -> None:
        query = "UPDATE links SET dedupe = ? WHERE tenant_id = ? AND memory_seq = ? AND dedupe = ?"
        await self._sql.run(query, (new, tenant_id, seq, dedupe))

    async def tidy(self) -> None:
        await self._sql.run("INSERT INTO fulltext (fulltext) VALUES ('optimize')")


def _key_column(table: str) -> str:
    return _KEYS.get(table, "seq")


def _select_statement(table: str) -> str:
    return f"SELECT {_key_column(table)}, {', '.join(_TEXTS[table])} FROM {table}"


def _to_stored_rows(table: str, rows: Iterable[Row]) -> list[StoredRow]:
    names = _TEXTS[table]
    return [
        StoredRow(key, {name: _decode_value(table, name, value) for name, value in zip(names, values, strict=True)})
        for key, *values in rows
    ]


def _decode_value(table: str, name: str, value: Any) -> Any:
    return load_json_object(value) if value is not None and (table, name) in _JSON else value


def _encode_value(table: str, name: str, value: Any) -> Any:
    return dump_json(value) if value is not None and (table, name) in _JSON else value


# --- what belongs to somebody besides memories ------------------------------------------------------------------------


class OwnedRows:
    """See ``memstone.ports.tables.RowsByOwner``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def hand_over(self, table: str, old: Scope, new: Scope) -> list[str]:
        values = _scope_ids(old)
        narrowed = "".join(f" AND {name} = ?" for name in values)
        query = f"SELECT id FROM {table} WHERE tenant_id = ?{narrowed}"
        ids = [str(row[0]) for row in await self._sql.rows(query, (old.tenant_id, *values.values()))]
        await self.hand_back(table, ids, new)
        return ids

    async def hand_back(self, table: str, ids: list[str], old: Scope) -> None:
        values = _scope_ids(old)
        named = ", ".join(f"{name} = ?" for name in values)
        query = f"UPDATE {table} SET {named} WHERE tenant_id = ? AND id = ?"
        await self._sql.many(query, ((*values.values(), old.tenant_id, one) for one in ids))


def _scope_ids(scope: Scope) -> dict[str, str]:
    named = {name: getattr(scope, name) for name in ("user_id", "agent_id", "run_id")}
    return {name: value for name, value in named.items() if value}
