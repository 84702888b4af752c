"""The analysed words of every memory, and an FTS5 index over them.

A row of words is written in the transaction of its memory. To index it costs as much as everything else a write does,
and for many rows together hardly more than for one; so the index follows, a few hundred rows behind, and a search also
looks at the rows it does not know yet. They are those behind its last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from memstone.adapters.ledger.seam import Row, Sql
from memstone.model.memory import TextDoc
from memstone.model.query import TextQuery
from memstone.model.questions import MAY_ASK
from memstone.ports.ledger import TextRow

BEHIND: Final = 256
"""How many rows the index may be behind, and a few more."""

_LOOK: Final = 16
_LONG: Final = 16_000
"""A text of so many characters is looked at once whether the index is too far behind."""

BEHIND_CHARS: Final = 262_144
"""How much text it may be behind: whoever asks reads all of that, for every question."""

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
"""What a word counts in a row that is not indexed yet: as much as one that stands in a tenth of all rows."""

# When it was said tells its place in a conversation, and is asked for only where there is one.
_ROW: Final = f"""coalesce(l.agent_id, ''), coalesce(l.run_id, ''), coalesce(m.layer, ''),
       CASE WHEN l.run_id <> '' OR m.layer = 'turn' THEN m.created_at ELSE '' END,
       CASE WHEN l.run_id <> '' OR m.layer = 'turn' THEN m.occurred_at ELSE '' END,
       coalesce(m.layer = 'turn' OR m.source = 'manual', 0), coalesce(m.status = 'active', 0),
       CASE WHEN m.version > 1 AND (l.run_id <> '' OR m.layer = 'turn')
            THEN (SELECT min(v.seq) FROM memories v WHERE v.tenant_id = m.tenant_id AND v.id = m.id)
            ELSE coalesce(l.memory_seq, 0) END,
       coalesce(json_extract(m.data, '$.speaker'), ''), iif(m.text GLOB '*[{MAY_ASK}]*', m.text, ''), f.body,
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

    def __init__(self, sql: Sql) -> None:
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
        """The same for versions that may be older than others."""
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
            return await self._whole(tenant_id, user_id)
        return list(map(TextRow._make, await self._sql.rows(_CHANGED, (tenant_id, user_id, since, user_id))))

    async def _whole(self, tenant_id: str, user_id: str) -> list[TextRow]:
        """All rows, a page at a time: of most columns the rows share a few values, and each is kept once."""
        found: list[TextRow] = []
        shared: dict[str, str] = {}
        after, limit = -1, _PAGE
        while True:
            page = await self._sql.rows(_ALL, (tenant_id, user_id, after, limit))
            is_last = len(page) < limit
            kept = page if is_last else _without_last(page)
            found += [_text_row(row, shared.setdefault) for row in kept]
            if is_last:
                return found
            after, limit = (kept[-1][0], limit) if kept else (after, 2 * limit)


def _without_last(page: list[Row]) -> list[Row]:
    """A page without its last memory, which may have more links than fit."""
    end = len(page)
    while end and page[end - 1][0] == page[-1][0]:
        end -= 1
    return page[:end]


def _text_row(row: Row, of: Callable[[str, str], str]) -> TextRow:
    seq, agent, run, layer, *said, speaker, text, body, key, spoken, day = row
    who = of(agent, agent), of(run, run), of(layer, layer)
    return TextRow._make((seq, *who, *said, of(speaker, speaker), text, body, key, of(spoken, spoken), of(day, day)))


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
