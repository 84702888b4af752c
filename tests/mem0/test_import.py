from __future__ import annotations

import json
import pickle
import sqlite3
from pathlib import Path
from typing import Any

from qdrant_client import QdrantClient
from qdrant_client.models import Distance, PointStruct, VectorParams

from memstone import Memory

SETTINGS = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}
NORA, BOB, ROUTE = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "123")


def payload(text: str, user: str, **more: Any) -> dict[str, Any]:
    """What mem0 stores with a vector."""
    times = {"created_at": "2025-03-04T10:00:00+00:00", "updated_at": "2025-03-05T10:00:00+00:00"}
    return {"data": text, "hash": "h", "user_id": user, "text_lemmatized": text.lower(), **times, **more}


def embedded_store(folder: Path) -> Path:
    """Qdrant's own local mode writes the file, as mem0 has it write."""
    client = QdrantClient(path=str(folder))
    client.create_collection("mem0", vectors_config=VectorParams(size=2, distance=Distance.COSINE))
    procedure = {"memory_type": "procedural_memory"}
    rows = [
        PointStruct(
            id=NORA, vector=[1.0, 0.0], payload=payload("Nora sails", "nora", topic="sport", actor_id="nora-s")
        ),
        PointStruct(id=BOB, vector=[0.0, 1.0], payload=payload("Bob paints", "bob", expiration_date="2031-01-01")),
        PointStruct(id=ROUTE, vector=[1.0, 1.0], payload=payload("Oars first", "bob", agent_id="boat", **procedure)),
    ]
    client.upsert("mem0", points=rows)
    client.close()
    return folder / "collection" / "mem0" / "storage.sqlite"


def test_the_embedded_store_of_mem0_comes_over_with_its_ids(tmp_path: Path) -> None:
    path = embedded_store(tmp_path)
    with Memory(SETTINGS) as memory:
        answer = memory.admin.import_from(path, trusted=True)
        assert (answer["format"], answer["stored"], answer["quarantined"]) == ("mem0_db", 3, 0)
        nora, bob, route = (memory.get(one) for one in (NORA, BOB, ROUTE))
        assert nora is not None
        assert bob is not None
        assert route is not None
        assert (nora["memory"], nora["user_id"], nora["metadata"]) == ("Nora sails", "nora", {"topic": "sport"})
        assert (nora["occurred_at"], nora["actor"]) == ("2025-03-04T10:00:00.000000Z", "nora-s")
        assert bob["expires_at"] == "2031-01-02T00:00:00.000000Z", "it is shown on its last day"
        assert (route["kind"], route["agent_id"]) == ("procedural", "boat")
        again = memory.admin.import_from(path, trusted=True)
        assert (again["stored"], again["known"]) == (0, 3)


def test_without_trust_they_wait_under_ids_of_their_own(tmp_path: Path) -> None:
    with Memory(SETTINGS) as memory:
        assert memory.admin.import_from(embedded_store(tmp_path))["quarantined"] == 3
        assert memory.get(NORA) is None


def test_a_list_of_get_all_keeps_its_ids() -> None:
    rows = {"results": [{"id": NORA, "memory": "Nora sails", "user_id": "nora", "expiration_date": "2031-01-01"}]}
    with Memory(SETTINGS) as memory:
        memory.admin.import_from(json.dumps(rows).encode(), trusted=True)
        item = memory.get(NORA)
        assert item is not None
        assert (item["memory"], item["expires_at"]) == ("Nora sails", "2031-01-02T00:00:00.000000Z")


def test_the_history_gives_the_last_texts_to_whom_the_caller_names(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE history (id TEXT, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, "
            "created_at TEXT, updated_at TEXT, is_deleted INTEGER, actor_id TEXT, role TEXT)"
        )
        rows = [
            ("a", NORA, None, "Nora rows", "ADD", "2025-01-01", "2025-01-01", 0, None, "user"),
            ("b", NORA, "Nora rows", "Nora sails", "UPDATE", "2025-01-01", "2025-01-02", 0, None, "user"),
            ("c", BOB, None, "Bob paints", "ADD", "2025-01-03", "2025-01-03", 0, None, "user"),
            ("d", BOB, "Bob paints", None, "DELETE", "2025-01-03", "2025-01-04", 1, None, "user"),
        ]
        database.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    database.close()
    with Memory(SETTINGS) as memory:
        memory.admin.import_from(path, user_id="nora", trusted=True)
        assert [(one["id"], one["memory"]) for one in memory.get_all(user_id="nora")["results"]] == [
            (NORA, "Nora sails")
        ]


class Trap:
    """Creates a file when it is unpickled by whoever trusts a pickle."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_nothing_in_a_foreign_store_is_run(tmp_path: Path) -> None:
    trap, path = tmp_path / "sprung", tmp_path / "storage.sqlite"
    raw = pickle.dumps(Trap(trap))
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        database.executemany("INSERT INTO points VALUES (?, ?)", [("a", raw), ("b", b"\x80\x04broken"), ("c", b"x")])
    database.close()
    with Memory(SETTINGS) as memory:
        answer = memory.admin.import_from(path, user_id="nora", trusted=True)
    assert (answer["stored"], answer["skipped"]) == (0, {"not a memory": 3})
    assert not trap.exists()
    pickle.loads(raw)  # noqa: S301 - on purpose
    assert trap.exists(), "the trap works"
