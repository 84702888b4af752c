"""Memories for the database, written as rows: many users with a few each, and one user with many.

Vectors lie the way those of sentence models do: in a space of a few dozen directions, spread over many, with some
noise, around a few thousand things that are talked about. Questions are about the same things. They are drawn by a
number of their own, so that settings which were found with some questions can be judged by others.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import psycopg

from memstone.adapters.postgres.connection import PgVector, register_vector_type

SIGNATURE: Final = "callable:Given:{dim}"
LARGE: Final = "large"
TENANT: Final = "default"
_NOW: Final = "2026-01-01T00:00:00.000000Z"
_DIRECTIONS: Final = 48
_TOPICS: Final = 2_000
_WORDS: Final = 20_000
_LAYERS: Final = ("fact", "fact", "turn", "turn", "episode")


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is."""

    users: int
    each: int
    large: int
    dim: int

    @property
    def signature(self) -> str:
        """The name of the vector space."""
        return SIGNATURE.format(dim=self.dim)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Everything that is stored, in the order of its numbers, which begin at 1."""

    size: Size
    users: list[str]
    words: list[str]
    vectors: Any
    queries: Any
    asked: list[str]

    @classmethod
    def of(cls, size: Size, queries: int, questions: int) -> Corpus:
        """Return the same for the same size, and the same ``queries`` for the same number of ``questions``."""
        users = [f"user{number:04}" for number in range(size.users) for _ in range(size.each)] + [LARGE] * size.large
        chance = np.random.default_rng(7)
        order = chance.permutation(len(users))
        space = _Space(size.dim, chance)
        vectors, words = space.some(len(users)), _texts(len(users), 12, chance)
        space.chance = fresh = np.random.default_rng(questions)
        return cls(size, [users[at] for at in order], words, vectors, space.some(queries), _texts(queries, 5, fresh))

    def seqs(self, user: str) -> Any:
        """Return the numbers of a user's memories."""
        return np.array([number for number, owner in enumerate(self.users, start=1) if owner == user])


class _Space:
    def __init__(self, dim: int, chance: Any) -> None:
        self.chance, self._dim = chance, dim
        self._topics = chance.normal(size=(_TOPICS, _DIRECTIONS))
        self._spread = chance.normal(size=(_DIRECTIONS, dim)) / np.sqrt(dim)

    def some(self, count: int) -> Any:
        topics = self._topics[self.chance.integers(0, _TOPICS, count)]
        inner = topics + 0.7 * self.chance.normal(size=topics.shape)
        noise = 0.05 * self.chance.normal(size=(count, self._dim))
        vectors = (inner @ self._spread + noise).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _texts(count: int, words: int, chance: Any) -> list[str]:
    """Return texts of a few words each, of which a few are everywhere and most are rare."""
    return [
        " ".join(f"w{word}" for word in row) for row in (_WORDS ** chance.random((count, words))).astype(int).tolist()
    ]


def load(url: str, corpus: Corpus) -> None:
    """Write all rows, past the product, as a role above the wall."""
    with psycopg.connect(url) as connection:
        know_vectors(connection)
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute("SET LOCAL search_path = memstone, public")
        for table, rows in _tables(corpus):
            with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        columns = "vectors (tenant_id, memory_seq, signature, vector)"
        with connection.cursor().copy(f"COPY {columns} FROM STDIN (FORMAT BINARY)") as copy:
            for piece in binary(_vectors(corpus)):
                copy.write(piece)
        info = (TENANT, corpus.size.signature, corpus.size.dim)
        connection.execute("INSERT INTO indexes (tenant_id, signature, dim, state) VALUES (%s, %s, %s, 'active')", info)
        connection.execute("SELECT setval('memories_seq_seq', %s)", (len(corpus.users) + 1,))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def know_vectors(connection: psycopg.Connection[Any]) -> None:
    """Let a connection read and write vectors."""
    info = psycopg.types.TypeInfo.fetch(connection, "vector")
    assert info is not None, "pgvector is there"
    register_vector_type(connection, info.oid)


def _tables(corpus: Corpus) -> Iterator[tuple[str, Iterator[tuple[Any, ...]]]]:
    numbered = list(enumerate(corpus.users, start=1))
    lines = list(zip(numbered, corpus.words, strict=True))
    columns = "seq, tenant_id, id, valid_from, origin, layer, kind, text, hash, anchor_at, source, occurred_at"
    yield (
        f"memories ({columns}, created_at, updated_at)",
        ((seq, TENANT, f"m{seq}", *_memory(seq, text), _NOW, _NOW) for (seq, _), text in lines),
    )
    yield (
        "links (tenant_id, memory_seq, user_id, created_at)",
        ((TENANT, seq, user, _NOW) for seq, user in numbered),
    )
    yield (
        "words (tenant_id, seq, body, scope, terms)",
        ((TENANT, seq, text, f"u:{user}", " ".join(sorted(set(text.split())))) for (seq, user), text in lines),
    )
    yield (
        "changes (tenant_id, user_id, memory_seq)",
        ((TENANT, user, seq) for seq, user in numbered),
    )


def _memory(seq: int, text: str) -> tuple[str, ...]:
    return _NOW, "user", layer(seq), "factual", text, f"h{seq}", _NOW, "facts", _NOW


def layer(seq: int) -> str:
    """Return to which layer a memory belongs."""
    return _LAYERS[seq % len(_LAYERS)]


def _vectors(corpus: Corpus) -> Iterator[tuple[bytes, ...]]:
    tenant, signature = TENANT.encode(), corpus.size.signature.encode()
    for seq, vector in enumerate(corpus.vectors, start=1):
        yield tenant, struct.pack(">q", seq), signature, stored(vector).wire()


def binary(rows: Iterator[Sequence[bytes]]) -> Iterator[bytes]:
    """Yield rows as COPY takes them in binary: vectors as text would be most of the work."""
    yield b"PGCOPY\n\xff\r\n\0" + bytes(8)
    for row in rows:
        yield struct.pack(">h", len(row)) + b"".join(struct.pack(">i", len(one)) + one for one in row)
    yield struct.pack(">h", -1)


def stored(vector: Any) -> PgVector:
    """Return a vector as the database takes it."""
    return PgVector(np.ascontiguousarray(vector, dtype="<f4").tobytes())
