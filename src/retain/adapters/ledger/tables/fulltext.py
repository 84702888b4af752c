"""The analysed mirror on FTS5."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from retain.adapters.ledger.seam import Sql
from retain.model.memory import TextDoc
from retain.model.query import TextQuery
from retain.ports.ledger import TextRow

_INSERT: Final = (
    "INSERT INTO fulltext (rowid, body, key, near1, near2, speaker, day, scope) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
# Measured weights: the text itself, its key, the neighbouring turns with falling weight, speaker and day;
# the scope words select rows and must not score.
_MATCH: Final = (
    "SELECT rowid, -bm25(fulltext, 1.0, 1.0, 0.5, 0.25, 1.0, 1.0, 0.0) AS score FROM fulltext "
    "WHERE fulltext MATCH ? ORDER BY bm25(fulltext, 1.0, 1.0, 0.5, 0.25, 1.0, 1.0, 0.0) LIMIT ?"
)
# Read from the table behind the index (c0: body, c1: key, c4: speaker, c5: day), which takes a third of the time.
_ROW: Final = """coalesce(l.agent_id, ''), coalesce(l.run_id, ''), coalesce(m.layer, ''), coalesce(m.created_at, ''),
       coalesce(m.occurred_at, ''), coalesce(m.layer = 'turn' OR m.source = 'manual', 0),
       coalesce(json_extract(m.data, '$.speaker'), ''), coalesce(m.text, ''), f.c0, coalesce(f.c1, ''),
       coalesce(f.c4, ''), coalesce(f.c5, '')"""
_ALL: Final = f"""
SELECT l.memory_seq, {_ROW}
FROM links l
JOIN memories m ON m.seq = l.memory_seq
JOIN fulltext_content f ON f.id = l.memory_seq
WHERE l.tenant_id = ? AND l.user_id = ?
ORDER BY l.memory_seq"""
_CHANGED: Final = f"""
SELECT t.memory_seq, {_ROW}
FROM (SELECT DISTINCT tenant_id, memory_seq FROM changes WHERE tenant_id = ? AND user_id = ? AND id > ?) t
LEFT JOIN links l ON l.tenant_id = t.tenant_id AND l.memory_seq = t.memory_seq AND l.user_id = ?
LEFT JOIN memories m ON m.seq = l.memory_seq
LEFT JOIN fulltext_content f ON f.id = l.memory_seq
ORDER BY t.memory_seq"""


class FullTextTable:
    """See ``retain.ports.ledger.FullText``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def put(self, seq: int, doc: TextDoc) -> None:
        await self.put_many([(seq, doc)])

    async def put_many(self, docs: Iterable[tuple[int, TextDoc]]) -> None:
        await self._sql.many(
            _INSERT,
            ((seq, one.body, one.key, one.near1, one.near2, one.speaker, one.day, one.scope) for seq, one in docs),
        )

    async def drop(self, seqs: Iterable[int]) -> None:
        await self._sql.many("DELETE FROM fulltext WHERE rowid = ?", ((seq,) for seq in seqs))

    async def match(self, query: TextQuery, limit: int) -> list[tuple[int, float]]:
        if not query.words:
            return []
        rows = await self._sql.rows(_MATCH, (_expression(query), limit))
        return [(int(seq), float(score)) for seq, score in rows]

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
    return f"{scope} AND {{body key near1 near2 speaker day}} : ({words})"


def _any_of(words: Sequence[str]) -> str:
    return " OR ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'
