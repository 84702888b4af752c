"""After an erasure no file holds a byte of what somebody said, and everybody else has every row they had."""

from __future__ import annotations

import json
import random
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Final

import pytest

from memstone import Memory
from memstone.engine.change.erase import Pieces, pieces_of

_SYLLABLES: Final = "ba ke lo mu ni po ra se ti vu xa ye zo qui fro gla".split()
_PREFIX: Final = 4
"""An index of words leaves out how a word begins when the one before begins alike."""


class Said:
    """What one user says, in words that nobody else uses."""

    def __init__(self, user: str, count: int, chance: random.Random) -> None:
        self.user = user
        who = user[-2:]
        self.words = [f"{''.join(chance.choices(_SYLLABLES, k=4))}{who}w{number}" for number in range(count)]
        self.texts = [f"The {word} of the {self.words[at - 1]} is near {word}" for at, word in enumerate(self.words)]

    def pieces(self) -> set[bytes]:
        """Every text, and what of every word an index may hold."""
        return {text.encode() for text in self.texts} | {word[_PREFIX:].encode() for word in self.words}


def filled(path: Path, users: int, each: int) -> tuple[Memory, dict[str, Said]]:
    """A store with facts, versions, deletions, batches under a key, conversations, contexts and two backups."""
    chance = random.Random(5)  # noqa: S311 - test data
    settings = {"store": {"url": f"sqlite:///{path}", "durable": False}, "embedder": {"provider": "hash"}}
    memory = Memory(settings)
    names = [f"somebody{number:02d}" for number in range(users)]
    everybody = {name: Said(name, each, chance) for name in names}
    for message in everybody.values():
        _tell(memory, message)
    memory.admin.backups.create(path.with_name("first.backup"))
    for message in everybody.values():
        memory.add(f"My cat is called {message.words[3].title()}", user_id=message.user, run_id="r")
        memory.context(f"Where is the {message.words[5]}?", user_id=message.user)
    memory.admin.backups.create(path.with_name("second.backup"))
    return memory, everybody


def _tell(memory: Memory, message: Said) -> None:
    for start in range(0, len(message.texts), 500):
        items = [
            {"messages": text, "user_id": message.user, "infer": False, "metadata": {"about": message.words[7]}}
            for text in message.texts[start : start + 500]
        ]
        answer = memory.add_many(items, idempotency_key=f"{start} {message.user[-2:]}")
        ids = [one["results"][0]["id"] for one in answer["results"]]
        memory.update_many([{"memory_id": one, "text": f"{message.words[2]} again {one[:8]}"} for one in ids[:3]])
        memory.delete(ids[5])


def files(path: Path) -> dict[str, bytes]:
    """The raw bytes of everything in the store's folder."""
    return {one.name: one.read_bytes() for one in path.parent.rglob("*") if one.is_file()}


def vectors(path: Path, user: str) -> list[bytes]:
    query = "SELECT v.vector FROM vectors v JOIN links l ON l.memory_seq = v.memory_seq WHERE l.user_id = ?"
    with closing(connect(path)) as database:
        return [bytes(row[0]) for row in database.execute(query, (user,)).fetchall()]


def exported(memory: Memory, without: str) -> list[str]:
    """Every line of the whole store, but for those of one user and of what was deleted of theirs."""
    lines = [(line, json.dumps(line, sort_keys=True)) for line in memory.export(everybody=True)]
    other = {line.get("memory_id") for line, text in lines if f'"user_id": "{without}"' in text}
    stored = (text for line, text in lines if line["type"] != "suppressed" or line["memory_id"] not in other)
    return [text for text in stored if f'"user_id": "{without}"' not in text]


def _assert_gone(path: Path, users: int, each: int) -> None:
    memory, everybody = filled(path, users, each)
    victim = everybody.pop("somebody07")
    others, other_items = exported(memory, victim.user), vectors(path, victim.user)
    assert len(others) > (users - 1) * each
    before = files(path)
    assert all(text.encode() in before["second.backup"] for text in victim.texts[10:20]), "the test can fail"

    report = memory.admin.erase(user_id=victim.user)

    assert report["complete"], report["checks"]
    assert report["erased"]["memories"] > each
    after = files(path)
    assert {"memstone.db", "first.backup", "second.backup"} <= after.keys()
    for name, raw in after.items():
        assert [piece for piece in victim.pieces() if piece in raw] == [], name
        assert [vector for vector in other_items[:50] if vector in raw] == [], name
        assert victim.user.encode() not in raw, name
    assert exported(memory, "") == others, "every row of everybody else, and no other"
    assert memory.admin.verify_erasure(json.loads(json.dumps(report)))["ok"]
    for copy in ("first.backup", "second.backup"):
        assert memory.admin.backups.verify(path.with_name(copy))["ok"]
    one = everybody["somebody03"]
    assert memory.search(one.words[9], user_id=one.user, strategy="text")["results"]
    memory.close()


@pytest.mark.slow
@pytest.mark.req("X-30")
def test_of_a_thousand_memories_of_twenty_users_not_a_byte_of_one_is_left(tmp_path: Path) -> None:
    _assert_gone(tmp_path / "memstone.db", users=20, each=50)


@pytest.mark.system
@pytest.mark.timeout(900)
@pytest.mark.req("X-30")
def test_of_ten_thousand_memories_of_fifty_users_not_a_byte_of_one_is_left(tmp_path: Path) -> None:
    _assert_gone(tmp_path / "memstone.db", users=50, each=200)


@pytest.mark.req("X-30")
def test_deleting_alone_leaves_words_in_the_full_text(tmp_path: Path) -> None:
    """Why the full text is made anew: what is taken out of it stays in its segments, whatever is zeroed or vacuumed."""
    path = tmp_path / "memstone.db"
    message = Said("u01", 600, random.Random(1))  # noqa: S311 - test data
    with Memory({"store": {"url": f"sqlite:///{path}", "durable": False}, "embedder": {"provider": "none"}}) as memory:
        _tell(memory, message)
    with closing(connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA secure_delete = ON")
        columns = "body, key, speaker, day, scope"
        database.execute(
            f"INSERT INTO fulltext (fulltext, rowid, {columns}) SELECT 'delete', seq, {columns} FROM words "  # noqa: S608
            "WHERE seq <= (SELECT max(id) FROM fulltext_docsize)"
        )
        for table in ("words", "links", "vectors", "events", "idempotency", "memories"):
            database.execute(f"DELETE FROM {table}")  # noqa: S608
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert any(word[_PREFIX:].encode() in path.read_bytes() for word in message.words)
    with Memory({"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "none"}}) as memory:
        assert memory.admin.erase(user_id="u01")["complete"]
    assert not any(word[_PREFIX:].encode() in path.read_bytes() for word in message.words)


def test_a_trace_that_is_left_is_found_and_the_report_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memstone.adapters.sqlite.copies import SqliteCopies

    path = tmp_path / "memstone.db"

    def _leaky(_: SqliteCopies) -> bool:
        with path.open("ab") as file:
            file.write(b"\0" * 50 + b"the kerosene is in the basement" + b"\0" * 50)
        return True

    monkeypatch.setattr(SqliteCopies, "_wipe", _leaky)
    with Memory({"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "hash"}}) as memory:
        memory.add("the kerosene is in the basement", user_id="alice", infer=False)
        report = memory.admin.erase(user_id="alice")
        assert not report["complete"]
        assert report["checks"][-1]["found"]["memstone.db"] >= 1
        assert not memory.admin.verify_erasure(report)["ok"]


def test_pieces_are_found_wherever_they_stand() -> None:
    chance = random.Random(3)  # noqa: S311 - test data
    texts = [" ".join(chance.choices(_SYLLABLES, k=chance.randint(4, 400))) for _ in range(200)] + [
        "æøå £ 日本語のテキスト"
    ]
    pieces = pieces_of(texts)
    look = Pieces(pieces)
    assert look.count == len(pieces) > 200
    for text in texts:
        raw = chance.randbytes(chance.randint(0, 99)) + text.encode() + chance.randbytes(9)
        assert look(raw) == {piece for piece in pieces if piece in raw} != set()
    assert look(chance.randbytes(100_000)) == look(b"") == look(b"short") == set()
    assert Pieces(pieces_of(["too short"]))(b"too short") == set()


def test_a_piece_across_two_parts_of_a_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memstone.adapters.sqlite import copies

    monkeypatch.setattr(copies, "_READ", 64)
    look = Pieces(pieces_of(["the kerosene is in the basement"]))
    for before in range(70):
        path = tmp_path / str(before)
        path.write_bytes(b"x" * before + b"the kerosene is in the basement" + b"y" * 20)
        found = {piece for part in copies.read_blocks(path, look.overlap) for piece in look(part)}
        assert len(found) == look.count
