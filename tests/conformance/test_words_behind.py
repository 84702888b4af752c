"""The full-text index may be behind the words; nobody who asks may notice."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from memstone.adapters.sql.indexes import BEHIND, BEHIND_CHARS
from memstone.adapters.sqlite.ledger import SqliteConfig, SqliteLedger
from memstone.engine.store.versions import end_version, insert_version
from memstone.model.ids import new_id
from memstone.model.memory import Link, Record, Status
from memstone.model.query import TextQuery
from memstone.model.scope import Scope
from memstone.ports.io import Io
from memstone.ports.ledger import Ledger, Tx
from memstone.testing.modes import MODES, run
from tests.english import ENGLISH

NOW = "2026-03-01T09:00:00.000000Z"
WORDS = ("tea", "lake", "boat", "cold", "oslo", "bread", "moon")


def record(text: str) -> Record:
    return Record(new_id(), text, "", NOW, NOW, NOW, NOW, NOW)


async def opened(io: Io) -> Ledger:
    ledger = SqliteLedger(SqliteConfig(path=None, durable=False), io)
    await ledger.open()
    return ledger


def asked(words: list[str], user: str = "alice") -> TextQuery:
    from memstone.engine.store.draft import scope_tokens

    return TextQuery(words, scope_tokens(Scope(user_id=user)))


async def stored(tx: Tx, *, row: Record) -> None:
    await insert_version(tx, ENGLISH, row, [Link(Scope(user_id="alice"), NOW, new_id())], [])


async def holding(tx: Tx, *, word: str) -> list[tuple[int, float]]:
    return await tx.text.match(asked([word]), -1)


@pytest.mark.req("O-15", "O-16", "R-1")
@pytest.mark.parametrize("mode", MODES)
def test_what_is_not_indexed_yet_is_found_like_the_rest(mode: str) -> None:
    async def scenario(io: Io) -> None:
        ledger = await opened(io)
        for number in range(3 * BEHIND // 2):
            row = record(f"note {number} about tea")
            await ledger.write(partial(stored, row=row))
        found = await ledger.read(lambda tx: tx.text.match(asked(["tea"]), -1))
        assert len({seq for seq, _ in found}) == len(found) == 3 * BEHIND // 2
        newest = await ledger.read(lambda tx: tx.text.match(asked([str(3 * BEHIND // 2 - 1)]), 5))
        assert [seq for seq, _ in newest] == [3 * BEHIND // 2]
        assert await ledger.read(lambda tx: tx.text.match(asked(["tea"], "bob"), -1)) == []
        assert len(await ledger.read(lambda tx: tx.text.match(asked(["tea"]), 7))) == 7

    run(mode, scenario)


@pytest.mark.req("O-15", "O-16")
@pytest.mark.parametrize("seed", range(6))
def test_any_order_of_changes_leaves_index_and_words_in_step(seed: int) -> None:
    async def scenario(io: Io) -> None:
        chance = random.Random(seed)  # noqa: S311 - test data
        ledger, live = await opened(io), dict[int, Record]()

        async def add(tx: Tx) -> None:
            row = record(" ".join(chance.choices(WORDS, k=4)))
            await insert_version(tx, ENGLISH, row, [Link(Scope(user_id="alice"), NOW, new_id())], [])
            live[row.seq] = row

        async def remove(tx: Tx) -> None:
            await end_version(tx, live.pop(chance.choice(list(live))), Status.DELETED, NOW)

        for step in range(3 * BEHIND):
            await ledger.write(remove if live and chance.random() < 0.3 else add)
            if step % 97 == 0:
                word = chance.choice(WORDS)
                found = await ledger.read(partial(holding, word=word))
                assert {seq for seq, _ in found} == {seq for seq, row in live.items() if word in row.text.split()}
        await ledger.write(lambda tx: tx.admin.reset("default"))
        assert await ledger.read(lambda tx: tx.text.match(asked(list(WORDS)), -1)) == []

    run("blocking", scenario)


@pytest.mark.parametrize("mode", MODES)
def test_the_index_is_behind_by_little_text_however_long_the_texts_are(mode: str) -> None:
    async def scenario(io: Io) -> None:
        ledger = await opened(io)
        for number in range(40):
            await ledger.write(partial(stored, row=record(f"note{number} " + "tea lake boat " * 1_500)))
        behind = await ledger.read(_chars_behind)
        assert behind <= BEHIND_CHARS
        assert len(await ledger.read(lambda tx: tx.text.match(asked(["tea"]), -1))) == 40

    run(mode, scenario)


async def _chars_behind(tx: Tx) -> int:
    table: Any = tx.text
    return int(await table._chars_behind(await table._last_indexed()))
