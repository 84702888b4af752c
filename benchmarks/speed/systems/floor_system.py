"""A bare floor: SQLite and numpy in a few lines, without any feature of a memory engine.

It stores, indexes text and vectors, and fuses two rankings; it does not validate, deduplicate, version,
isolate or share. No engine on these parts can be quicker, so it shows what features cost.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.corpus import FUNCTION_WORDS, Item
from benchmarks.speed.systems import LIMIT
from benchmarks.speed.vectors import DIMENSIONS, VectorTable

SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS memories (
    seq INTEGER PRIMARY KEY, id TEXT UNIQUE, user TEXT, text TEXT, at REAL, vector BLOB);
CREATE INDEX IF NOT EXISTS memories_user ON memories (user);
CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, memory_id TEXT, event TEXT, text TEXT, at REAL);
CREATE INDEX IF NOT EXISTS events_memory ON events (memory_id);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (user, text, content='');
"""
STOP_WORDS = frozenset(FUNCTION_WORDS)
POOL = 60
RRF = 60


class Partition:
    """The vectors of one user, in a matrix that doubles when it is full."""

    def __init__(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Take the stored rows."""
        self.size = len(rows)
        self.seqs = np.zeros(max(64, 2 * self.size), dtype=np.int64)
        self.matrix = np.zeros((len(self.seqs), DIMENSIONS), dtype=np.float32)
        for at, (seq, blob) in enumerate(rows):
            self.seqs[at] = seq
            self.matrix[at] = np.frombuffer(blob, dtype=np.float32)

    def append(self, seq: int, vector: Any) -> None:
        """Append one more row."""
        if self.size == len(self.seqs):
            self.seqs = np.concatenate([self.seqs, np.zeros_like(self.seqs)])
            self.matrix = np.concatenate([self.matrix, np.zeros_like(self.matrix)])
        self.seqs[self.size], self.matrix[self.size] = seq, vector
        self.size += 1

    def nearest(self, vector: Any, limit: int) -> list[int]:
        """Return the nearest rows, best first."""
        cosines = self.matrix[: self.size] @ vector
        some = np.argpartition(-cosines, limit)[:limit] if self.size > limit else np.arange(self.size)
        return [int(seq) for seq in self.seqs[some[np.argsort(-cosines[some])]]]


class Floor:
    """The floor as a system."""

    def __init__(self, directory: Path, vectors: VectorTable) -> None:
        """Open the file; vectors are read when a user is first asked about."""
        self._db = sqlite3.connect(directory / "floor.db", isolation_level=None, check_same_thread=False)
        self._db.executescript(SCHEMA)
        self._vectors = vectors
        self._partitions: dict[str, Partition] = {}

    def add(self, item: Item) -> str:
        """Add in one transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        memory_id = self._insert(item)
        self._db.execute("COMMIT")
        return memory_id

    def add_many(self, items: Sequence[Item]) -> None:
        """Add all in one transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        for item in items:
            self._insert(item)
        self._db.execute("COMMIT")

    def _insert(self, item: Item) -> str:
        memory_id, now, vector = str(uuid.uuid4()), time.time(), self._vectors[item.text]
        seq = self._db.execute(
            "INSERT INTO memories (id, user, text, at, vector) VALUES (?, ?, ?, ?, ?)",
            (memory_id, item.user, item.text, now, vector.tobytes()),
        ).lastrowid
        self._db.execute("INSERT INTO words (rowid, user, text) VALUES (?, ?, ?)", (seq, item.user, item.text))
        self._db.execute(
            "INSERT INTO events (memory_id, event, text, at) VALUES (?, 'ADD', ?, ?)", (memory_id, item.text, now)
        )
        if item.user in self._partitions and seq is not None:
            self._partitions[item.user].append(seq, vector)
        return memory_id

    def _partition(self, user: str) -> Partition:
        if user not in self._partitions:
            rows = self._db.execute("SELECT seq, vector FROM memories WHERE user = ?", (user,)).fetchall()
            self._partitions[user] = Partition(rows)
        return self._partitions[user]

    def _texts(self, seqs: Sequence[int]) -> list[str]:
        marks = ",".join("?" * len(seqs))
        rows = self._db.execute(f"SELECT seq, text FROM memories WHERE seq IN ({marks})", seqs)  # noqa: S608
        texts = dict(rows.fetchall())
        return [texts[seq] for seq in seqs]

    def search(self, query: Item) -> list[str]:
        """Return both rankings, fused by reciprocal rank."""
        dense = self._partition(query.user).nearest(self._vectors[query.text], POOL)
        words = [word for word in query.text.split() if word not in STOP_WORDS] or query.text.split()
        wanted = " OR ".join(f'"{word}"' for word in words)
        match = f'user : "{query.user}" AND text : ({wanted})'
        rows = self._db.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (match, POOL))
        scores: dict[int, float] = {}
        for ranking in (dense, [int(row[0]) for row in rows]):
            for rank, seq in enumerate(ranking):
                scores[seq] = scores.get(seq, 0.0) + 1.0 / (RRF + rank)
        return self._texts(sorted(scores, key=lambda seq: -scores[seq])[:LIMIT])

    def nearest(self, query: Item) -> list[str] | None:
        """Return the dense ranking alone."""
        return self._texts(self._partition(query.user).nearest(self._vectors[query.text], LIMIT))

    def get(self, memory_id: str) -> object:
        """Return one row."""
        return self._db.execute("SELECT id, user, text, at FROM memories WHERE id = ?", (memory_id,)).fetchone()

    def history(self, memory_id: str) -> object:
        """Return all rows of it."""
        return self._db.execute("SELECT event, text, at FROM events WHERE memory_id = ?", (memory_id,)).fetchall()

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def open_system(directory: Path, vectors: VectorTable) -> Floor:
    """Open the floor."""
    return Floor(directory, vectors)
