from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from memstone import Memory

FOREIGN = {
    "links": "INSERT INTO links (tenant_id, memory_seq, user_id, created_at) VALUES ('acme', 1, 'eve', 'now')",
    "vectors": "INSERT INTO vectors (tenant_id, memory_seq, signature, vector) VALUES ('acme', 1, 'x', x'00')",
}

AGAIN = """
INSERT INTO memories (tenant_id, id, valid_from, origin, layer, kind, text, hash, anchor_at, occurred_at, created_at,
                      updated_at, version, valid_to)
SELECT tenant_id, id, valid_from, origin, layer, kind, text, hash, anchor_at, occurred_at, created_at, updated_at, ?, ?
FROM memories WHERE valid_to IS NULL"""


@pytest.mark.parametrize("table", FOREIGN)
def test_nothing_of_one_tenant_can_hang_on_a_row_of_another(tmp_path: Any, table: str) -> None:
    path = tmp_path / "m.db"
    with Memory({"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "hash"}}) as memory:
        memory.add("tea", user_id="alice", infer=False)
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            connection.execute(FOREIGN[table])
    finally:
        connection.close()


def test_an_id_has_one_current_version_and_each_past_one_once(tmp_path: Any) -> None:
    path = tmp_path / "m.db"
    with Memory({"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "hash"}}) as memory:
        added = memory.add("tea", user_id="alice", infer=False)["results"][0]["id"]
        memory.update(added, "coffee")
    connection = sqlite3.connect(path)
    try:
        for version, ended in ((3, None), (1, "now")):
            with pytest.raises(sqlite3.IntegrityError, match="memories_versions"):
                connection.execute(AGAIN, (version, ended))
    finally:
        connection.close()
