"""Vectors by signature, the change counter, and the list of vector spaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from memstone.adapters.ledger.codec import SELECT_RECORD, to_record
from memstone.adapters.ledger.seam import Row, Sql, chunks, marks
from memstone.model.memory import INDEXED, Record
from memstone.model.vector import Vector
from memstone.ports.ledger import IndexInfo, LinkedVector, VectorRow

_ALL: Final = """
SELECT l.memory_seq, l.agent_id, l.run_id, m.layer, v.vector, m.layer = 'turn' OR m.source = 'manual'
FROM links l
JOIN vectors v ON v.tenant_id = l.tenant_id AND v.memory_seq = l.memory_seq AND v.signature = ?
JOIN memories m ON m.seq = l.memory_seq
WHERE l.tenant_id = ? AND l.user_id = ?
ORDER BY l.memory_seq"""
_CHANGED: Final = """
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
_LINKED: Final = """
SELECT l.memory_seq, m.id, l.user_id, l.agent_id, l.run_id, m.layer, m.status, v.vector
FROM links l
JOIN vectors v ON v.tenant_id = l.tenant_id AND v.memory_seq = l.memory_seq AND v.signature = ?
JOIN memories m ON m.seq = l.memory_seq
WHERE l.tenant_id = ? AND l.memory_seq IN"""
_WITHOUT: Final = f"""
FROM memories m
WHERE m.tenant_id = ? AND m.seq > ? AND m.valid_to IS NULL AND m.status IN ({marks(len(INDEXED))})
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

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def put(self, tenant_id: str, signature: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        await self._sql.many(_PUT, ((tenant_id, seq, signature, one, words_of(one)) for seq, one in vectors))

    async def get(self, tenant_id: str, seq: int, signature: str) -> Vector | None:
        query = "SELECT vector, words FROM vectors WHERE tenant_id = ? AND memory_seq = ? AND signature = ?"
        row = await self._sql.one(query, (tenant_id, seq, signature))
        return None if row is None else Vector(row[0], row[1] or b"")

    async def drop(self, tenant_id: str, seqs: Iterable[int]) -> None:
        for part in chunks(list(seqs)):
            await self._sql.run(
                f"DELETE FROM vectors WHERE tenant_id = ? AND memory_seq IN ({marks(len(part))})", (tenant_id, *part)
            )

    async def note(self, tenant_id: str, news: Iterable[tuple[str, int]]) -> None:
        await self._sql.many(
            "INSERT INTO changes (tenant_id, user_id, memory_seq) VALUES (?, ?, ?)",
            ((tenant_id, user, seq) for user, seq in news),
        )

    async def touch(self, tenant_id: str, seqs: Iterable[int]) -> None:
        for part in chunks(list(seqs)):
            await self._sql.many(
                "INSERT INTO changes (tenant_id, user_id, memory_seq) SELECT DISTINCT tenant_id, user_id, memory_seq "
                f"FROM links WHERE tenant_id = ? AND memory_seq IN ({marks(len(part))})",
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

    async def noted(self, tenant_id: str, user_id: str, stamp: int) -> bool:
        query = "SELECT 1 FROM changes WHERE id = ? AND tenant_id = ? AND user_id = ?"
        return await self._sql.one(query, (stamp, tenant_id, user_id)) is not None

    async def partition(self, tenant_id: str, user_id: str, signature: str, since: int | None) -> list[VectorRow]:
        if since is None:
            rows = await self._sql.rows(_ALL, (signature, tenant_id, user_id))
        else:
            rows = await self._sql.rows(_CHANGED, (tenant_id, user_id, since, user_id, signature))
        return list(map(VectorRow._make, rows))

    async def changes_after(self, tenant_id: str, cursor: int, limit: int) -> list[tuple[int, int]]:
        return [(change, seq) for change, seq in await self._sql.rows(_LOG, (cursor, tenant_id, limit))]

    async def rows_of(self, tenant_id: str, signature: str, seqs: Iterable[int]) -> list[LinkedVector]:
        rows: list[Row] = []
        for part in chunks(list(seqs)):
            rows += await self._sql.rows(f"{_LINKED} ({marks(len(part))})", (signature, tenant_id, *part))
        return [LinkedVector(*row) for row in rows]

    async def many(self, tenant_id: str, signature: str, seqs: Iterable[int]) -> list[tuple[int, bytes]]:
        rows: list[Row] = []
        for part in chunks(list(seqs)):
            rows += await self._sql.rows(f"{_SOME} ({marks(len(part))})", (tenant_id, signature, *part))
        return [(seq, vector) for seq, vector in rows]

    async def words_of(self, tenant_id: str, signature: str, seqs: Iterable[int]) -> list[tuple[int, bytes]]:
        rows: list[Row] = []
        for part in chunks(list(seqs)):
            rows += await self._sql.rows(f"{_WORDS} ({marks(len(part))})", (tenant_id, signature, *part))
        return [(seq, words) for seq, words in rows]

    async def missing(self, tenant_id: str, signature: str, after: int, limit: int) -> list[Record]:
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
    """The vectors of its words, if the model told them."""
    return (vector.words or None) if isinstance(vector, Vector) else None


class IndexesTable:
    """See ``memstone.ports.ledger.Indexes``."""

    def __init__(self, sql: Sql) -> None:
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
