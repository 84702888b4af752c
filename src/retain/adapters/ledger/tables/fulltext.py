"""The analysed words of every memory, and an FTS5 index over them.

A row of words is written in the transaction of its memory. To index it costs as much as everything else a write does,
and for many rows together hardly more than for one; so the index follows, a few hundred rows behind, and a search also
looks at the rows it does not know yet. They are those behind its last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from retain.adapters.ledger.seam import Sql
from retain.model.memory import TextDoc
from retain.model.query import TextQuery
from retain.ports.ledger import TextRow

BEHIND: Final = 256
"""How many rows the index may be behind."""

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
_RARE: Final = 2.0
"""What a word counts in a row that is not indexed yet: as much as one that stands in a tenth of all rows."""

_ROW: Final = """coalesce(l.agent_id, ''), coalesce(l.run_id, ''), coalesce(m.layer, ''), coalesce(m.created_at, ''),
       coalesce(m.occurred_at, ''), coalesce(m.layer = 'turn' OR m.source = 'manual', 0),
       coalesce(json_extract(m.data, '$.speaker'), ''), iif(instr(m.text, '?'), m.text, ''), f.body,
       coalesce(f.key, ''), coalesce(f.speaker, ''), coalesce(f.day, '')"""
_ALL: Final = f"""
SELECT l.memory_seq, {_ROW}
FROM links l
JOIN memories m ON m.seq = l.memory_seq
JOIN words f ON f.seq = l.memory_seq
WHERE l.tenant_id = ? AND l.user_id = ?
ORDER BY l.memory_seq"""
_CHANGED: Final = f"""
SELECT t.memory_seq, {_ROW}
FROM (SELECT DISTINCT tenant_id, memory_seq FROM changes WHERE tenant_id = ? AND user_id = ? AND id > ?) t
LEFT JOIN links l ON l.tenant_id = t.tenant_id AND l.memory_seq = t.memory_seq AND l.user_id = ?
LEFT JOIN memories m ON m.seq = l.memory_seq
LEFT JOIN words f ON f.seq = l.memory_seq
ORDER BY t.memory_seq"""


class FullTextTable:
    """See ``retain.ports.ledger.FullText``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def put(self, seq: int, doc: TextDoc) -> None:
        await self.put_many([(seq, doc)])

    async def put_many(self, docs: Iterable[tuple[int, TextDoc]]) -> None:
        rows = [(seq, one.body, one.key, one.speaker, one.day, one.scope) for seq, one in docs]
        if not rows:
            return
        await self._sql.many(_INSERT, rows)
        last = await self._last_indexed()
        again = [(row[0],) for row in rows if row[0] <= last]  # an older memory whose words changed
        if again:
            await self._sql.many(f"{_INDEX}seq = ?", again)
        if max(row[0] for row in rows) - last >= BEHIND:
            await self._sql.run(f"{_INDEX}seq > ?", (last,))

    async def drop(self, seqs: Iterable[int]) -> None:
        gone = [(seq,) for seq in seqs]
        last = await self._last_indexed()
        await self._sql.many(f"{_UNINDEX}seq = ?", (one for one in gone if one[0] <= last))
        await self._sql.many("DELETE FROM words WHERE seq = ?", gone)

    async def clear(self, tenant_id: str) -> None:
        theirs = "seq IN (SELECT seq FROM memories WHERE tenant_id = ?)"
        await self._sql.run(f"{_UNINDEX}{theirs} AND seq <= ?", (tenant_id, await self._last_indexed()))
        await self._sql.run(f"DELETE FROM words WHERE {theirs}", (tenant_id,))

    async def match(self, query: TextQuery, limit: int) -> list[tuple[int, float]]:
        if not query.words:
            return []
        rows = await self._sql.rows(_MATCH, (_expression(query), limit))
        found = [(int(seq), float(score)) for seq, score in rows]
        behind = await self._sql.rows(_BEHIND, (await self._last_indexed(),))
        fresh = [(seq, score) for seq, *texts in behind if (score := _score(query, *texts))]
        if not fresh:
            return found
        every = sorted([*found, *fresh], key=lambda one: (-one[1], -one[0]))
        return every if limit < 0 else every[:limit]

    async def _last_indexed(self) -> int:
        row = await self._sql.one("SELECT max(id) FROM fulltext_docsize")
        return int(row[0]) if row and row[0] is not None else 0

    async def partition(self, tenant_id: str, user_id: str, since: int | None) -> list[TextRow]:
        if since is None:
            rows = await self._sql.rows(_ALL, (tenant_id, user_id))
        else:
            rows = await self._sql.rows(_CHANGED, (tenant_id, user_id, since, user_id))
        return [TextRow(*row) for row in rows]


def _expression(query: TextQuery) -> str:
    """Every word quoted, so that no text of a caller is ever read as query syntax."""
    scope = " AND ".join(f"scope : {_quoted(token)}" for token in query.scope)
    words = _any_of(query.words)
    return f"{scope} AND {{body key speaker day}} : ({words})"


def _any_of(words: Sequence[str]) -> str:
    return " OR ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _score(query: TextQuery, body: str, key: str, speaker: str, day: str, scope: str) -> float:
    """How well a row that is not indexed yet answers; 0 outside the scope."""
    if not set(query.scope) <= set(scope.split()):
        return 0.0
    held = {*body.split(), *key.split(), *speaker.split(), *day.split()}
    return _RARE * sum(word in held for word in query.words)
