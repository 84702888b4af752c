"""Memories for the database, written as rows: many users with a few each, and one user with many.

Vectors lie the way those of sentence models do: in a space of a few dozen directions, spread over many, with some
noise, around a few thousand things that are talked about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import psycopg

from retain.adapters.ledger.postgres_types import PgVector, register

SIGNATURE: Final = "bench:made:{dim}"
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
    vectors: Any
    queries: Any

    @classmethod
    def of(cls, size: Size, queries: int = 64) -> Corpus:
        """The same for the same size."""
        users = [f"user{number:04}" for number in range(size.users) for _ in range(size.each)] + [LARGE] * size.large
        chance = np.random.default_rng(7)
        order = chance.permutation(len(users))
        space = _Space(size.dim, chance)
        return cls(size, [users[at] for at in order], space.some(len(users)), space.some(queries))

    def seqs(self, user: str) -> Any:
        """The numbers of a user's memories."""
        return np.array([number for number, owner in enumerate(self.users, start=1) if owner == user])


class _Space:
    def __init__(self, dim: int, chance: Any) -> None:
        self._chance, self._dim = chance, dim
        self._topics = chance.normal(size=(_TOPICS, _DIRECTIONS))
        self._spread = chance.normal(size=(_DIRECTIONS, dim)) / np.sqrt(dim)

    def some(self, count: int) -> Any:
        topics = self._topics[self._chance.integers(0, _TOPICS, count)]
        inner = topics + 0.7 * self._chance.normal(size=topics.shape)
        noise = 0.05 * self._chance.normal(size=(count, self._dim))
        vectors = (inner @ self._spread + noise).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def words(number: int, count: int = 12) -> list[str]:
    """The words of a memory: a few are everywhere, most are rare."""
    chance = np.random.default_rng(number)
    return [f"w{int(_WORDS ** chance.random())}" for _ in range(count)]


def load(url: str, corpus: Corpus) -> None:
    """Write all rows, past the product, as a role above the wall."""
    with psycopg.connect(url) as connection:
        know_vectors(connection)
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute("SET LOCAL search_path = retain, public")
        for table, rows in _tables(corpus):
            with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        info = (TENANT, corpus.size.signature, corpus.size.dim)
        connection.execute("INSERT INTO indexes (tenant_id, signature, dim, state) VALUES (%s, %s, %s, 'active')", info)
        connection.execute("SELECT setval('memories_seq_seq', %s)", (len(corpus.users) + 1,))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def know_vectors(connection: psycopg.Connection[Any]) -> None:
    """Let a connection read and write vectors."""
    info = psycopg.types.TypeInfo.fetch(connection, "vector")
    assert info is not None, "pgvector is there"
    register(connection, info.oid)


def _tables(corpus: Corpus) -> Iterator[tuple[str, Iterator[tuple[Any, ...]]]]:
    numbered = list(enumerate(corpus.users, start=1))
    columns = "seq, tenant_id, id, valid_from, origin, layer, kind, text, hash, anchor_at, source, occurred_at"
    yield (
        f"memories ({columns}, created_at, updated_at)",
        ((seq, TENANT, f"m{seq}", *_memory(seq), _NOW, _NOW) for seq, _ in numbered),
    )
    yield (
        "links (tenant_id, memory_seq, user_id, created_at)",
        ((TENANT, seq, user, _NOW) for seq, user in numbered),
    )
    yield (
        "vectors (tenant_id, memory_seq, signature, vector)",
        (
            (TENANT, seq, corpus.size.signature, str(vector.tolist()))
            for (seq, _), vector in zip(numbered, corpus.vectors, strict=True)
        ),
    )
    yield (
        "words (tenant_id, seq, body, scope, terms)",
        ((TENANT, seq, " ".join(words(seq)), f"u:{user}", " ".join(sorted(set(words(seq))))) for seq, user in numbered),
    )
    yield (
        "changes (tenant_id, user_id, memory_seq)",
        ((TENANT, user, seq) for seq, user in numbered),
    )


def _memory(seq: int) -> tuple[str, ...]:
    layer = _LAYERS[seq % len(_LAYERS)]
    return _NOW, "user", layer, "factual", " ".join(words(seq)), f"h{seq}", _NOW, "facts", _NOW


def stored(vector: Any) -> PgVector:
    """A vector as the database takes it."""
    return PgVector(np.ascontiguousarray(vector, dtype="<f4").tobytes())
