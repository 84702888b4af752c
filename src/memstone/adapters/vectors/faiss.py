"""FAISS in this process, with ids, vectors and payloads in an SQLite file beside it.

The file is what lasts: an index is made from it when it is first asked for, and made again when another process has
changed the file. Without a folder everything ends with the process.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import faiss as faiss_library
import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from memstone.adapters.forks import ForkSafeLock
from memstone.adapters.sqlite.driver import PLAIN, CipherDriver, Driver
from memstone.adapters.vectors.collection_store import CollectionStore, StoredPoint, clip_score
from memstone.adapters.vectors.labels import Clause
from memstone.model.query import Where, is_match
from memstone.ports.index import CollectionInfo, Point, PointHit, StoreCapabilities
from memstone.ports.io import Io
from memstone.ports.storage import EncryptionKeys

T = TypeVar("T")
_REBUILD_HINT: Final = "close the memory, delete points.sqlite in the folder of vector_store, and it is built again"
faiss: Any = faiss_library  # what it says of its own types is not whole
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS collections (name TEXT PRIMARY KEY, dimension INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS points (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    collection TEXT NOT NULL,
    id TEXT NOT NULL,
    vector BLOB NOT NULL,
    payload TEXT NOT NULL,
    UNIQUE (collection, id)
) STRICT;
"""
_LINKS: Final = 32


class FaissConfig(BaseModel):
    """``path`` is the folder where points are kept; ``index`` compares with every vector, or by a graph."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path | None = None
    index: Literal["flat", "hnsw"] = "flat"
    ef_search: int = Field(default=200, ge=1)


@dataclass(slots=True)
class _Index:
    """An index with what FAISS does not hold, by number."""

    faiss: Any
    ids: dict[int, str] = field(default_factory=dict)
    payloads: dict[int, dict[str, Any]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)


class FaissStore(CollectionStore):
    """See ``memstone.ports.index.VectorStore``. Safe to share between threads."""

    Config = FaissConfig
    name = "faiss"
    in_process = True

    encrypts_file = True

    def __init__(self, config: FaissConfig, io: Io, keys: EncryptionKeys | None = None) -> None:
        """With ``keys``, the file is encrypted like the store."""
        super().__init__(io)
        self._config = config
        self._driver: Driver = PLAIN if keys is None or config.path is None else CipherDriver(keys)
        self.capabilities = StoreCapabilities(exact=config.index == "flat", durable=config.path is not None)
        self.misses_behind_filters = config.index == "hnsw"
        self._guard = ForkSafeLock()
        self._file: sqlite3.Connection | None = None
        self._indexes: dict[str, _Index] = {}
        self._version = 0

    async def check_health(self) -> None:
        await self._run(lambda file: file.execute("SELECT 1").fetchone())

    async def collections(self) -> list[CollectionInfo]:
        statement = (
            "SELECT name, (SELECT count(*) FROM points WHERE collection = name), dimension FROM collections ORDER BY 1"
        )
        return await self._run(lambda file: [CollectionInfo(*row) for row in file.execute(statement)])

    async def close(self) -> None:
        """Close the file; what was only in memory is gone."""
        await self._io.run(self._close)

    async def _read_dimension(self, collection: str) -> int | None:
        statement = "SELECT dimension FROM collections WHERE name = ?"
        row = await self._run(lambda file: file.execute(statement, (collection,)).fetchone())
        return None if row is None else int(row[0])

    async def _make(self, collection: str, dimension: int) -> None:
        def work(file: sqlite3.Connection) -> None:
            file.execute("INSERT OR IGNORE INTO collections VALUES (?, ?)", (collection, dimension))

        await self._run(work)

    async def _remove(self, collection: str) -> None:
        def work(file: sqlite3.Connection) -> None:
            self._indexes.pop(collection, None)
            file.execute("DELETE FROM points WHERE collection = ?", (collection,))
            file.execute("DELETE FROM collections WHERE name = ?", (collection,))

        await self._run(work)

    async def _write(self, collection: str, rows: Sequence[StoredPoint]) -> None:
        def work(file: sqlite3.Connection) -> None:
            index = self._load(file, collection)
            self._take_out(file, collection, index, [row.id for row in rows])
            for row in rows:
                values = (collection, row.id, row.vector.tobytes(), row.payload_json())
                statement = "INSERT INTO points (collection, id, vector, payload) VALUES (?, ?, ?, ?)"
                _enter(index, int(file.execute(statement, values).lastrowid or 0), row.id, json.loads(values[3]))
            block = np.stack([row.vector for row in rows])
            index.faiss.add_with_ids(block, np.array([index.numbers[row.id] for row in rows], np.int64))

        await self._run(work)

    async def _delete(self, collection: str, ids: Sequence[str]) -> None:
        await self._run(lambda file: self._take_out(file, collection, self._load(file, collection), ids))

    async def _read(self, collection: str, point_id: str) -> Point | None:
        found = await self._run(lambda file: _read_points(file, collection, [point_id]))
        return found[0] if found else None

    async def _nearest(self, collection: str, vector: Any, limit: int, clause: Clause) -> list[PointHit]:
        return await self._run(lambda file: self._search(self._load(file, collection), vector, limit, clause))

    async def _matches(self, collection: str, clause: Clause) -> list[Point]:
        def work(file: sqlite3.Connection) -> list[Point]:
            index = self._load(file, collection)
            chosen = [index.ids[number] for number in _choose_numbers(index, clause)]
            return _read_points(file, collection, chosen)

        return await self._run(work)

    def _translate(self, where: Where | None) -> Clause:
        return True if where is None else where

    # --- in one thread at a time --------------------------------------------------------------------------------------

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run one transaction at a time, away from the event loop."""

        def run_locked() -> T:
            with self._guard:
                file = self._open()
                try:
                    with file:
                        return work(file)
                except BaseException:
                    self._indexes.clear()  # they may hold what the file does not
                    raise

        try:
            return await self._io.run(run_locked)
        except sqlite3.Error as error:
            raise self.store_error(f"the file of points cannot be used: {error}", _REBUILD_HINT) from error

    def _open(self) -> sqlite3.Connection:
        if self._file is None:
            place = ":memory:"
            if self._config.path is not None:
                place = str(self._make_folder(self._config.path.expanduser()) / "points.sqlite")
            self._file = self._driver.connect(place)
            self._file.isolation_level = "DEFERRED"
            self._file.executescript(_SCHEMA)
        try:
            version = self._file.execute("PRAGMA data_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            if not self._driver.is_other_key(error):
                raise
            self._file.close()  # somebody gave the file another key
            self._file = None
            return self._open()
        if version != self._version:  # another connection has written
            self._version = version
            self._indexes.clear()
            self._dimensions.clear()
        return self._file

    def _make_folder(self, folder: Path) -> Path:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = f"the folder {folder} cannot be made: {error.strerror}"
            raise self.store_error(problem, "set vector_store.config.path to a folder that you may write to") from error
        return folder

    def _close(self) -> None:
        with self._guard:
            self._indexes.clear()
            if self._file is not None:
                self._file.close()
                self._file = None

    def _load(self, file: sqlite3.Connection, collection: str) -> _Index:
        if collection in self._indexes:
            return self._indexes[collection]
        row = file.execute("SELECT dimension FROM collections WHERE name = ?", (collection,)).fetchone()
        if row is None:
            raise self.missing_error(collection)
        index = self._indexes[collection] = _Index(self._new_index(row[0]))
        statement = "SELECT number, id, payload, vector FROM points WHERE collection = ?"
        rows = file.execute(statement, (collection,)).fetchall()
        for number, point_id, payload, _ in rows:
            _enter(index, number, point_id, json.loads(payload))
        if rows:
            block = np.frombuffer(b"".join(row[3] for row in rows), "<f4").reshape(len(rows), -1)
            index.faiss.add_with_ids(block, np.array([row[0] for row in rows], np.int64))
        return index

    def _new_index(self, dimension: int) -> Any:
        if self._config.index == "flat":
            return faiss.IndexIDMap2(faiss.IndexFlatIP(dimension))
        graph = faiss.IndexHNSWFlat(dimension, _LINKS, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efSearch = self._config.ef_search
        return faiss.IndexIDMap2(graph)

    def _take_out(self, file: sqlite3.Connection, collection: str, index: _Index, ids: Sequence[str]) -> None:
        """Remove points; a graph keeps their vectors, which no search chooses any more."""
        gone = [index.numbers[one] for one in set(ids) if one in index.numbers]
        for number in gone:
            point_id = index.ids.pop(number)
            del index.numbers[point_id], index.payloads[number]
            file.execute("DELETE FROM points WHERE collection = ? AND id = ?", (collection, point_id))
        if gone and self._config.index == "flat":
            index.faiss.remove_ids(np.array(gone, np.int64))

    def _search(self, index: _Index, vector: Any, limit: int, clause: Clause) -> list[PointHit]:
        chosen = _choose_numbers(index, clause)
        if not chosen:
            return []
        asked, most = vector[None], min(limit, len(chosen))
        selector = faiss.IDSelectorBatch(np.array(chosen, np.int64))
        if self._config.index == "flat":
            options = faiss.SearchParameters(sel=selector)
        else:
            options = faiss.SearchParametersHNSW(sel=selector, efSearch=max(self._config.ef_search, most))
        scores, numbers = index.faiss.search(asked, most, params=options)
        return [
            PointHit(index.ids[number], clip_score(score), json.loads(json.dumps(index.payloads[number])))
            for score, number in zip(scores[0].tolist(), numbers[0].tolist(), strict=True)
            if number >= 0
        ]


def _enter(index: _Index, number: int, point_id: str, payload: dict[str, Any]) -> None:
    index.ids[number], index.payloads[number], index.numbers[point_id] = point_id, payload, number


def _choose_numbers(index: _Index, clause: Clause) -> list[int]:
    if isinstance(clause, bool):
        return list(index.ids)
    return [number for number, payload in index.payloads.items() if is_match(clause, payload)]


def _read_points(file: sqlite3.Connection, collection: str, ids: Sequence[str]) -> list[Point]:
    statement = "SELECT id, vector, payload FROM points WHERE collection = ? AND id = ?"
    rows = [file.execute(statement, (collection, one)).fetchone() for one in ids]
    return [Point(row[0], np.frombuffer(row[1], "<f4").tolist(), json.loads(row[2])) for row in rows if row is not None]
