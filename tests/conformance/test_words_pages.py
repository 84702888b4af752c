"""A user's words are loaded a page at a time; nobody who asks may notice where a page ends."""

from __future__ import annotations

from functools import partial

import pytest

from memstone.adapters.sql import indexes
from memstone.adapters.sqlite.ledger import SqliteConfig, SqliteLedger
from memstone.engine.store.versions import insert_version
from memstone.model.ids import new_id
from memstone.model.memory import Link, Record
from memstone.model.message import MAY_ASK
from memstone.model.scope import Scope
from memstone.ports.io import Io
from memstone.ports.ledger import TextRow, Tx
from memstone.testing.modes import run
from tests.english import ENGLISH

NOW = "2026-03-01T09:00:00.000000Z"
RUNS = (1, 2, 1, 5, 1, 1, 3, 2)
"""In how many runs each memory is linked."""


async def _stored(tx: Tx, *, number: int, runs: int, text: str = "") -> None:
    row = Record(new_id(), text or f"note {number}?", "", NOW, NOW, NOW, NOW, NOW, data={"speaker": "user"})
    links = [Link(Scope(user_id="alice", run_id=f"r{at}"), NOW, None) for at in range(runs)]
    await insert_version(tx, ENGLISH, row, [*links, Link(Scope(user_id="bob"), NOW, None)], [])


@pytest.mark.parametrize("page", [1, 2, 3, 4, 5, 7, 16, 1000])
def test_every_link_comes_once_wherever_a_page_ends(page: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "_PAGE", page)

    async def scenario(io: Io) -> list[TextRow]:
        ledger = SqliteLedger(SqliteConfig(path=None, durable=False), io)
        await ledger.open()
        for number, runs in enumerate(RUNS):
            await ledger.write(partial(_stored, number=number, runs=runs))
        return await ledger.read(lambda tx: tx.text.partition("default", "alice", None))

    rows = run("blocking", scenario)
    assert [row.seq for row in rows] == [at for at, runs in enumerate(RUNS, start=1) for _ in range(runs)]
    assert len({(row.seq, row.run_id) for row in rows}) == sum(RUNS)
    assert {row.text for row in rows} == {f"note {number}?" for number in range(len(RUNS))}


def test_the_day_something_was_said_is_told_only_where_it_is_part_of_a_conversation() -> None:
    async def scenario(io: Io) -> list[TextRow]:
        ledger = SqliteLedger(SqliteConfig(path=None, durable=False), io)
        await ledger.open()
        await ledger.write(partial(_stored, number=1, runs=1))
        return [
            *await ledger.read(lambda tx: tx.text.partition("default", "alice", None)),
            *await ledger.read(lambda tx: tx.text.partition("default", "bob", None)),
        ]

    alone = {row.run_id: (row.created_at, row.occurred_at) for row in run("blocking", scenario)}
    assert alone == {"r0": (NOW, NOW), "": ("", "")}


def test_only_texts_that_may_ask_are_read_whole() -> None:
    asking = {*(f"日本 {mark} и ещё" for mark in MAY_ASK), "is this ascii?", "τι είναι αυτό;"}
    stating = {"it is ascii; nothing else", "ça va très bien", "日本に住んでいます。"}

    async def scenario(io: Io) -> list[TextRow]:
        ledger = SqliteLedger(SqliteConfig(path=None, durable=False), io)
        await ledger.open()
        for text in sorted(asking | stating):
            await ledger.write(partial(_stored, number=0, runs=1, text=text))
        return await ledger.read(lambda tx: tx.text.partition("default", "alice", None))

    assert {row.text for row in run("blocking", scenario)} == {*asking, ""}
