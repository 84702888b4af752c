"""The analysed words of every memory, as lexemes of a ``tsvector``.

Words are taken as they are: no dictionary and no parser of the database looks at them again, so that a word is the
same word on every store.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from memstone.adapters.ledger.seam import Row, Sql, chunks, marks
from memstone.model.memory import TextDoc
from memstone.model.query import TextQuery
from memstone.model.questions import MAY_ASK
from memstone.ports.ledger import TextRow

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

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def put(self, seq: int, doc: TextDoc) -> None:
        await self.put_many([(seq, doc)])

    async def put_many(self, docs: Iterable[tuple[int, TextDoc]]) -> None:
        await self._sql.many(_INSERT, (_params(seq, doc) for seq, doc in docs))

    async def drop(self, seqs: Iterable[int]) -> None:
        for part in chunks(list(seqs)):
            await self._sql.run(f"DELETE FROM words WHERE seq IN ({marks(len(part))})", part)

    async def clear(self, tenant_id: str) -> None:
        await self._sql.run("DELETE FROM words WHERE tenant_id = ?", (tenant_id,))

    async def match(self, query: TextQuery, limit: int) -> list[tuple[int, float]]:
        words = list(dict.fromkeys(word[:_LONGEST] for word in query.words))[:_AT_ONCE]
        if not words:
            return []
        # Which of the words a row has comes back as bits, so that how rare each of them is among the rows of the scope
        # need not be asked for apart.
        bits = " | ".join(f"((terms @@ ?::tsquery)::int << {place})" for place in range(len(words)))
        lexemes, within = [_quoted(word) for word in words], _within(query)
        statement = f"SELECT seq, {bits}, length(terms) FROM words{within[0]} AND terms @@ ?::tsquery"
        rows = await self._sql.rows(statement, (*lexemes, *within[1], " | ".join(lexemes)))
        return _best(rows, len(words), limit)

    async def partition(self, tenant_id: str, user_id: str, since: int | None) -> list[TextRow]:
        if since is None:
            rows = await self._sql.rows(_ALL, (tenant_id, user_id))
        else:
            rows = await self._sql.rows(_CHANGED, (tenant_id, user_id, since, user_id))
        return [TextRow(*row) for row in rows]


def _params(seq: int, doc: TextDoc) -> tuple[object, ...]:
    fields = (doc.body, doc.key, doc.speaker, doc.day)
    terms = sorted({word[:_LONGEST] for field in fields for word in field.split()})
    return (seq, *fields, doc.scope, terms)


def _within(query: TextQuery) -> tuple[str, tuple[object, ...]]:
    """Which rows are looked at: those of the owner, by the links, which have an index that row-level security can use.

    ``@@`` may tell something about rows it is not shown (it is not leakproof), so that behind row-level security no
    index over words is ever asked: without an owner all rows of the tenant are read.
    """
    owner = query.owner
    if owner is None:
        return f" WHERE {_SCOPED}", (list(query.scope),)
    named = {"user_id": owner.user_id, "agent_id": owner.agent_id, "run_id": owner.run_id}
    given = {name: value for name, value in named.items() if value}
    linked = "".join(f" AND l.{name} = ?" for name in given)
    join = f" JOIN (SELECT DISTINCT l.memory_seq FROM links l WHERE l.tenant_id = ?{linked}) l ON l.memory_seq = seq"
    return f"{join} WHERE tenant_id = ?", (owner.tenant_id, *given.values(), owner.tenant_id)


def _quoted(word: str) -> str:
    """A word as a question for it, so that no text of a caller is ever read as query syntax."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _best(rows: Sequence[Row], words: int, limit: int) -> list[tuple[int, float]]:
    """The rows that have the rarest words, short ones before long ones; equal ones: what was written last."""
    held = Counter(place for _, bits, _ in rows for place in range(words) if bits >> place & 1)
    rarity = {place: math.log(1 + len(rows) / count) for place, count in held.items()}
    scored = [
        (int(seq), sum(told for place, told in rarity.items() if bits >> place & 1) / (1 + 0.01 * length))
        for seq, bits, length in rows
    ]
    scored.sort(key=lambda one: (-one[1], -one[0]))
    return scored if limit < 0 else scored[:limit]
