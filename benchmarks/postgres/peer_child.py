"""What runs in the peer's own environment; see ``peer``. It knows nothing of Memstone."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import numpy as np

LIMIT: Final = 10
_TABLE: Final = "memories"
_LAYERS: Final = ("fact", "fact", "turn", "turn", "episode")
_NOW: Final = "2026-01-01T00:00:00+00:00"


class GivenVectors:
    """Its embedder interface, over vectors made in advance."""

    def __init__(self, known: dict[str, list[float]], config: Any) -> None:
        self._known, self.config = known, config

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - the peer's signature
        """Return a list of floats, as its own embedders give."""
        return self._known[text]


class Mem0:
    """The peer, filled."""

    def __init__(self, url: str, folder: Path) -> None:
        self._corpus = json.loads((folder / "corpus.json").read_text("utf-8"))
        self._queries = np.load(folder / "queries.npy").tolist()
        self._memory = import_module("mem0").Memory.from_config(_config(url, folder, self._corpus["dim"]))
        known = dict(zip(self._corpus["asked"], self._queries, strict=True))
        self._memory.embedding_model = GivenVectors(known, self._memory.embedding_model.config)
        self._store = self._memory.vector_store
        self._fill(np.load(folder / "vectors.npy"))
        with self._store._get_cursor() as cursor:  # noqa: SLF001 - it has no other way
            self.pid = int(cursor.execute("SELECT pg_backend_pid()").fetchone()[0])

    def _fill(self, vectors: Any) -> None:
        """Fill its own table, all rows, then make its own indexes: in this order they are built in minutes."""
        self._store.create_col()
        with self._store._get_cursor(commit=True) as cursor:  # noqa: SLF001
            cursor.execute(f"DROP INDEX {_TABLE}_hnsw_idx, {_TABLE}_text_lemmatized_idx")
            with cursor.copy(f"COPY {_TABLE} (id, vector, payload) FROM STDIN (FORMAT BINARY)") as copy:
                for piece in self._rows(vectors):
                    copy.write(piece)
        self._store.create_col()
        with self._store._get_cursor(commit=True) as cursor:  # noqa: SLF001
            cursor.execute(f"ANALYZE {_TABLE}")

    def _rows(self, vectors: Any) -> Iterator[bytes]:
        number = int.to_bytes
        yield b"PGCOPY\n\xff\r\n\0" + bytes(8)
        rows = zip(vectors, self._corpus["users"], self._corpus["words"], strict=True)
        for seq, (vector, user, text) in enumerate(rows, start=1):
            payload = b"\x01" + json.dumps(_payload(seq, user, text)).encode()
            wire = number(len(vector), 2, "big") + bytes(2) + vector.astype(">f4").tobytes()
            fields = (UUID(int=seq).bytes, wire, payload)
            yield number(3, 2, "big") + b"".join(number(len(one), 4, "big") + one for one in fields)
        yield number(0xFFFF, 2, "big")

    def store(self, user: str, at: int, *, facts: bool) -> set[int]:
        """Return the nearest ten, asked of its vector store."""
        filters = {"user_id": user, **({"layer": "fact"} if facts else {})}
        text = self._corpus["asked"][at]
        found = self._store.search(query=text, vectors=self._queries[at], top_k=LIMIT, filters=filters)
        return {UUID(one.id).int for one in found}

    def search(self, user: str, at: int, *, facts: bool) -> set[int]:
        """Search with its own defaults but for the number of results."""
        filters = {"user_id": user, **({"layer": "fact"} if facts else {})}
        found = self._memory.search(self._corpus["asked"][at], filters=filters, top_k=LIMIT)
        return {UUID(one["id"]).int for one in found["results"]}


def _payload(seq: int, user: str, text: str) -> dict[str, str]:
    """Return what it keeps beside a vector."""
    answer = {
        "user_id": user,
        "role": "user",
        "layer": _LAYERS[seq % len(_LAYERS)],
        "data": text,
        "hash": f"{seq:032x}",
    }
    return {**answer, "created_at": _NOW, "updated_at": _NOW, "text_lemmatized": text}


def _config(url: str, folder: Path, dim: int) -> dict[str, Any]:
    unused = {"api_key": "unused", "openai_base_url": "http://127.0.0.1:9/v1"}
    store = {"connection_string": url, "collection_name": _TABLE, "embedding_model_dims": dim}
    return {
        # One connection, so that whose time is counted is known.
        "vector_store": {"provider": "pgvector", "config": {**store, "minconn": 1, "maxconn": 1}},
        "embedder": {"provider": "openai", "config": {**unused, "embedding_dims": dim}},
        "llm": {"provider": "openai", "config": unused},
        "history_db_path": str(folder / "history.db"),
    }


def _server_seconds(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text("ascii").split()[0]) / 1e9


def _timed(peer: Mem0, asked: dict[str, Any]) -> list[Any]:
    call = getattr(peer, asked["call"])
    wall, client, server = time.perf_counter(), time.process_time(), _server_seconds(peer.pid)
    found = call(asked["user"], asked["number"], facts=asked["facts"])
    times = time.perf_counter() - wall, time.process_time() - client, _server_seconds(peer.pid) - server
    return [times, sorted(found)]


def main(url: str, folder: str) -> None:
    """Answer every line; what it prints itself goes to standard error."""
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        peer = Mem0(url, Path(folder))
        print(json.dumps("ready"), file=out, flush=True)
        for line in sys.stdin:
            print(json.dumps(_timed(peer, json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
