from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from retain import Memory

FOREIGN = {
    "links": "INSERT INTO links (tenant_id, memory_seq, user_id, created_at) VALUES ('acme', 1, 'eve', 'now')",
    "vectors": "INSERT INTO vectors (tenant_id, memory_seq, signature, vector) VALUES ('acme', 1, 'x', x'00')",
}


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
