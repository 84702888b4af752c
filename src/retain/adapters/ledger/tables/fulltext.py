"""The analysed mirror on FTS5."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from retain.adapters.ledger.seam import Sql
from retain.model.memory import TextDoc
from retain.model.query import TextQuery

_INSERT: Final = (
    "INSERT INTO fulltext (rowid, body, key, near1, near2, speaker, day, scope) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
# Measured weights: the text itself, its key, the neighbouring turns with falling weight, speaker and day;
# the scope words select rows and must not score.
_MATCH: Final = (
    "SELECT rowid, -bm25(fulltext, 1.0, 1.0, 0.5, 0.25, 1.0, 1.0, 0.0) AS score FROM fulltext "
    "WHERE fulltext MATCH ? ORDER BY bm25(fulltext, 1.0, 1.0, 0.5, 0.25, 1.0, 1.0, 0.0) LIMIT ?"
)


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


def _expression(query: TextQuery) -> str:
    """Every word quoted, so that no text of a caller is ever read as query syntax."""
    scope = " AND ".join(f"scope : {_quoted(token)}" for token in query.scope)
    words = _any_of(query.words)
    return f"{scope} AND {{body key near1 near2 speaker day}} : ({words})"


def _any_of(words: Sequence[str]) -> str:
    return " OR ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'
