"""The text channel: windows, speakers, days, scopes, and being up to date."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from memstone.adapters.sqlite.ledger import SqliteConfig, SqliteLedger
from memstone.adapters.text.local import LocalText, LocalTextConfig
from memstone.engine.store.status import next_status
from memstone.engine.store.versions import end_version, insert_version, supersede_version
from memstone.language.text.tokens import query_terms
from memstone.model.ids import new_id
from memstone.model.memory import Layer, Link, Record, Status
from memstone.model.query import WordsQuery
from memstone.model.scope import Scope
from memstone.ports.io import Io
from memstone.ports.ledger import Ledger, Tx
from memstone.testing.modes import MODES, run
from tests.english import ENGLISH

NOW = "2026-03-01T09:00:00.000000Z"
ALICE = Scope(user_id="alice")
TALK = Scope(user_id="alice", run_id="monday")
both_modes = pytest.mark.parametrize("mode", MODES)


@dataclass(slots=True)
class Talk:
    """A ledger that is written to as the engine does."""

    ledger: Ledger
    index: LocalText
    records: dict[str, Record] = field(default_factory=dict)
    said: int = 0

    @classmethod
    async def begin(cls, io: Io) -> Talk:
        """With nothing said."""
        ledger = SqliteLedger(SqliteConfig(path=None, durable=False), io)
        await ledger.open()
        return cls(ledger, LocalText(LocalTextConfig(), io, ledger))

    async def say(self, text: str, scope: Scope = TALK, speaker: str = "", **more: Any) -> int:
        """Store a turn; gives its number."""
        self.said += 1
        fields = {"layer": Layer.TURN, "occurred_at": NOW, "created_at": f"2026-03-01T10:00:00.{self.said:06}Z", **more}
        record = Record(
            id=new_id(),
            text=text,
            hash="",
            updated_at=NOW,
            valid_from=NOW,
            anchor_at=NOW,
            data={"speaker": speaker},
            **fields,
        )
        await self.ledger.write(lambda tx: insert_version(tx, ENGLISH, record, [Link(scope, NOW, new_id())], []))
        self.records[text] = record
        return record.seq

    async def forget(self, text: str) -> None:
        """Delete a turn."""

        async def work(tx: Tx) -> None:
            await end_version(tx, self.records[text], Status.DELETED, NOW)

        await self.ledger.write(work)

    async def become(self, text: str, status: str) -> None:
        """Put a turn aside, or bring it back: as its next version."""

        async def work(tx: Tx) -> Record:
            old = self.records[text]
            new = next_status(old, status, NOW)
            await supersede_version(tx, ENGLISH, old, new, await tx.links.of(old.tenant_id, old.seq), [])
            return new

        self.records[text] = await self.ledger.write(work)

    async def find(self, words: str, scope: Scope = ALICE, **more: Any) -> list[str]:
        """The texts that are found, best first."""
        hits = await self.index.search(WordsQuery(query_terms(words), more.pop("limit", 10), scope, **more))
        by_seq = {record.seq: text for text, record in self.records.items()}
        return [by_seq[hit.seq] for hit in hits if hit.score > 0]


@both_modes
def test_what_is_said_around_a_turn_helps_to_find_it(mode: str) -> None:
    async def scenario(io: Io) -> None:
        talk = await Talk.begin(io)
        await talk.say("Where did you go in summer?")
        await talk.say("To Lofoten, by boat.")
        await talk.say("Was it cold?")
        await talk.say("Quite.")
        await talk.say("And then?")
        await talk.say("Nothing of that.", Scope(user_id="alice", run_id="tuesday"))
        found = await talk.find("lofoten")
        assert found[0] == "To Lofoten, by boat."
        assert set(found) == {"Where did you go in summer?", "To Lofoten, by boat.", "Was it cold?", "Quite."}
        near = (await talk.index.around(ALICE, [2], ["lofoten", "quit", "nowher"])).near
        assert sorted(near[2]) == [(1, 1), (3, 1), (4, 2)]

    run(mode, scenario)


@both_modes
def test_what_is_put_aside_lends_its_words_to_nobody_and_keeps_its_place(mode: str) -> None:
    async def scenario(io: Io) -> None:
        talk = await Talk.begin(io)
        texts = ["To Lofoten, by boat.", "Was it cold?", "Quite.", "And then?"]
        for text in texts:
            await talk.say(text, created_at=NOW)
        lent = await talk.find("boat")
        assert lent == texts[:3]
        await talk.become(texts[0], Status.DISABLED)
        await talk.become(texts[2], Status.DISABLED)
        assert await talk.find("boat") == texts[:1], "itself, for those who may see it"
        near = (await talk.index.around(ALICE, [talk.records[texts[1]].seq], [])).near
        assert list(near.values()) == [[(talk.records[texts[3]].seq, 1)]]
        for text in (texts[2], texts[0]):
            await talk.become(text, Status.ACTIVE)
        assert await talk.find("boat") == lent

    run(mode, scenario)


@both_modes
def test_a_rare_word_tells_more_than_a_common_one(mode: str) -> None:
    async def scenario(io: Io) -> None:
        talk = await Talk.begin(io)
        for n in range(20):
            await talk.say(f"tea number {n}", Scope(user_id="alice", run_id=f"r{n}"))
        await talk.say("saffron", Scope(user_id="alice", run_id="x"))
        rarity = (await talk.index.around(ALICE, [], ["tea", "saffron", "unheard"])).rarity
        assert rarity["unheard"] > rarity["saffron"] > rarity["tea"]
        assert (await talk.find("saffron tea"))[0] == "saffron"

    run(mode, scenario)


@both_modes
def test_speakers_are_known_by_name_and_what_they_said_is_marked(mode: str) -> None:
    async def scenario(io: Io) -> None:
        talk = await Talk.begin(io)
        await talk.say("I love tea", speaker="Maya")
        await talk.say("I love tea too", speaker="Tom")
        await talk.say("So do I love tea", speaker="user")
        await talk.say("Maya loves tea", layer=Layer.FACT, source="pattern", speaker="Maya")
        assert await talk.index.speakers(ALICE) == {"maya", "tom"}
        hits = await talk.index.search(WordsQuery(["tea"], 10, ALICE, named="maya"))
        assert {hit.seq: (hit.speaker, hit.own_words) for hit in hits} == {
            1: (1.0, True),
            2: (0.0, True),
            3: (0.0, True),
            4: (0.0, False),
        }

    run(mode, scenario)


@both_modes
def test_days_are_found_by_their_names(mode: str) -> None:
    async def scenario(io: Io) -> None:
        talk = await Talk.begin(io)
        await talk.say("We met at the lake", occurred_at="2023-05-07T10:00:00.000000Z")
        await talk.say(
            "Nothing happened", Scope(user_id="alice", run_id="b"), occurred_at="2023-06-07T10:00:00.000000Z"
        )
        assert await talk.find("7 May 2023") == ["We met at the lake", "Nothing happened"]
        assert await talk.find("2023-05-07") == ["We met at the lake", "Nothing happened"]
        await talk.say(
            "I saw Anna yesterday", Scope(user_id="alice", run_id="c"), occurred_at="2023-08-02T10:00:00.000000Z"
        )
        assert (await talk.find("1 August 2023"))[0] == "I saw Anna yesterday"

    run(mode, scenario)


@both_modes
def test_the_share_of_a_text_that_asks(mode: str) -> None:
    async def scenario(io: Io) -> None:
        talk = await Talk.begin(io)
        await talk.say("Do you like tea?")
        await talk.say("I like tea. Do you?")
        await talk.say("I like tea.")
        hits = await talk.index.search(WordsQuery(["tea"], 10, ALICE))
        asking = {hit.seq: round(hit.asking, 2) for hit in hits}
        assert (asking[1], asking[3]) == (1.0, 0.0)
        assert 0.3 < asking[2] < 0.6
        texts = ("I like tea. Do you?", "I like tea, do you?", "Tea, anyone?", "\u304a\u8336 tea\uff1f")
        seqs = [await talk.say(text, speaker="user") for text in texts]
        hits = await talk.index.search(WordsQuery(["tea"], 10, ALICE))
        alone = {hit.seq: hit.asking for hit in hits}
        assert [alone[seq] for seq in seqs] == [0.0, 0.0, 1.0, 1.0], "of a person and an assistant: whether it states"

    run(mode, scenario)


@both_modes
@pytest.mark.req("R-4", "P-5")
def test_only_the_scope_the_layers_and_the_chosen_are_found(mode: str) -> None:
    async def scenario(io: Io) -> None:
        talk = await Talk.begin(io)
        await talk.say("tea one")
        await talk.say("tea two", Scope(user_id="alice", agent_id="bot"))
        await talk.say("tea three", Scope(user_id="bob", agent_id="bot"))
        await talk.say("tea four", layer=Layer.FACT)
        assert set(await talk.find("tea")) == {"tea one", "tea two", "tea four"}
        assert await talk.find("tea", Scope(user_id="alice", agent_id="bot")) == ["tea two"]
        assert set(await talk.find("tea", Scope(agent_id="bot"))) == {"tea two", "tea three"}
        assert await talk.find("tea", Scope(user_id="carol")) == []
        assert await talk.find("tea", layers=("fact",)) == ["tea four"]
        assert await talk.find("tea", among=frozenset({2})) == ["tea two"]
        assert await talk.find("tea", limit=1, layers=("turn",)) != []
        also = await talk.index.search(WordsQuery([], 0, ALICE, also=(1, 3)))
        assert [(hit.seq, hit.score) for hit in also] == [(1, 0.0)]

    run(mode, scenario)


@both_modes
def test_without_a_run_a_pause_ends_a_conversation(mode: str) -> None:
    async def scenario(io: Io) -> None:
        talk = await Talk.begin(io)
        await talk.say("I went to Lofoten", ALICE)
        await talk.say("It was cold", ALICE, occurred_at="2026-03-01T09:20:00.000000Z")
        await talk.say("The printer is broken", ALICE, occurred_at="2026-03-01T12:20:00.000000Z")
        assert await talk.find("lofoten") == ["I went to Lofoten", "It was cold"]

    run(mode, scenario)


def state(hits: Sequence[Any]) -> list[tuple[int, float, float, float]]:
    return [(hit.seq, round(hit.score, 4), hit.speaker, round(hit.asking, 4)) for hit in hits]


@pytest.mark.parametrize("seed", range(12))
def test_brought_up_to_date_it_says_what_a_fresh_one_says(seed: int) -> None:
    async def scenario(io: Io) -> None:
        chance = random.Random(seed)  # noqa: S311 - test data
        words = ["tea", "lake", "boat", "cold", "Anna", "lofoten", "why?", "never", "blue"]
        talk = await Talk.begin(io)
        for step in range(160):
            text = f"{' '.join(chance.choices(words, k=chance.randint(1, 7)))} {step}"
            scope = Scope(user_id=chance.choice(["alice", "bob"]), run_id=chance.choice(["", "r1", "r2"]))
            await talk.say(text, scope, speaker=chance.choice(["Maya", "Tom", ""]))
            if chance.random() < 0.2:
                gone = chance.choice(list(talk.records))
                await talk.forget(gone)
                del talk.records[gone]
            if talk.records and chance.random() < 0.2:
                changed = chance.choice(list(talk.records))
                await talk.become(changed, chance.choice([Status.DISABLED, Status.ACTIVE]))
            if step % 7 == 0:
                fresh = LocalText(LocalTextConfig(), io, talk.ledger)
                asked = WordsQuery(query_terms(" ".join(chance.choices(words, k=3))), 1000, ALICE, named="maya")
                hits, anew = await talk.index.search(asked), await fresh.search(asked)
                assert {hit.seq for hit in hits} <= {record.seq for record in talk.records.values()}
                assert state(hits) == state(anew)

    run("blocking", scenario)


@both_modes
def test_many_additions_after_it_was_loaded(mode: str) -> None:
    async def scenario(io: Io) -> None:
        talk = await Talk.begin(io)
        for n in range(700):
            await talk.say(f"item {n} of the list", Scope(user_id="alice", run_id=f"run{n // 50}"))
            if n % 100 == 0:
                assert (await talk.find(f"item {n}"))[0] == f"item {n} of the list"
        fresh = LocalText(LocalTextConfig(), io, talk.ledger)
        asked = WordsQuery(query_terms("item 555"), 10, ALICE)
        assert state(await talk.index.search(asked)) == state(await fresh.search(asked))
        await talk.index.forget("default")
        assert state(await talk.index.search(asked)) == state(await fresh.search(asked))

    run(mode, scenario)
