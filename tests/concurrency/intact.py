"""Whether a store agrees with itself, asked of the file and not of Memstone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from memstone import Memory

_LIVE = "SELECT seq FROM memories WHERE valid_to IS NULL AND status IN ('active', 'disabled', 'quarantined')"
_ACTIVE = """
SELECT v.memory_seq FROM vectors v JOIN indexes i ON i.signature = v.signature AND i.tenant_id = v.tenant_id
WHERE i.state = 'active'"""
_WRONG = {
    "a version is missing, or a number was given twice": """
        SELECT id FROM memories GROUP BY tenant_id, id
        HAVING min(version) <> 1 OR max(version) <> count(*) OR count(DISTINCT version) <> count(*)""",
    "a memory without the events of its versions": """
        SELECT m.id FROM memories m GROUP BY m.tenant_id, m.id
        HAVING count(*) <> (SELECT count(*) FROM events e
                            WHERE e.tenant_id = m.tenant_id AND e.memory_id = m.id
                              AND e.event IN ('ADD', 'UPDATE'))""",
    "an event without its memory": "SELECT memory_id FROM events WHERE memory_id NOT IN (SELECT id FROM memories)",
    "deleted without an event, or the other way round": """
        SELECT m.id FROM memories m GROUP BY m.tenant_id, m.id
        HAVING max(m.status = 'deleted') <> (SELECT count(*) FROM events e
                                             WHERE e.tenant_id = m.tenant_id AND e.memory_id = m.id
                                               AND e.event = 'DELETE')""",
    "a live version nobody is linked to, or an ended one that still holds its text": """
        SELECT seq FROM memories
        WHERE (valid_to IS NULL) <> (seq IN (SELECT memory_seq FROM links WHERE dedupe IS NOT NULL))""",
    "a version the indexes were not told about": """
        SELECT seq FROM memories WHERE seq NOT IN (SELECT memory_seq FROM changes)""",
}


def rows(path: Path, query: str, *params: object) -> list[tuple[Any, ...]]:
    """The rows of a query on a connection of its own."""
    with closing(sqlite3.connect(path, timeout=120)) as connection:
        return connection.execute(query, params).fetchall()


def assert_sound(path: Path) -> int:
    """The file is whole and the full text agrees with the ledger; gives how many memories are live."""
    with closing(sqlite3.connect(path, timeout=120)) as connection:
        ask = connection.execute
        assert ask("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert ask("PRAGMA foreign_key_check").fetchall() == []
        ask("INSERT INTO fulltext (fulltext) VALUES ('integrity-check')")  # raises when the index is wrong
        live = sorted(ask(_LIVE).fetchall())
        assert sorted(ask("SELECT rowid FROM fulltext").fetchall()) == live
        return len(live)


def assert_intact(path: Path) -> int:
    """Ledger, history, full text and vectors agree; gives how many memories are live."""
    for what, query in _WRONG.items():
        assert rows(path, query) == [], what
    assert sorted(rows(path, _ACTIVE)) == sorted(rows(path, _LIVE))
    return assert_sound(path)


def texts(path: Path) -> list[str]:
    """The texts of all live memories, sorted."""
    return sorted(text for (text,) in rows(path, "SELECT text FROM memories WHERE valid_to IS NULL"))


def assert_counted(memory: Memory, expected: int) -> None:
    """The public numbers agree with one another."""
    stats = memory.stats()
    assert [stats[name] for name in ("memories", "fulltext", "vectors", "pending")] == [expected] * 3 + [0]


def assert_found(memory: Memory, wanted: Iterable[str], user_id: str) -> None:
    """Each text is the first hit for itself, by its words as well as by its vector, and is there once."""
    for text in wanted:
        for strategy in ("text", "vector", "hybrid"):
            hits = memory.search(text, strategy=strategy, limit=50, user_id=user_id)["results"]
            found = [hit["memory"] for hit in hits]
            assert found[0] == text, (strategy, text, found[:3])
            assert found.count(text) == 1, (strategy, text)
