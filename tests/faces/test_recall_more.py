"""Words, meaning and names together: what a search falls back on, and what it is made of, through both faces."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pytest

from memstone.adapters.vectors.memory import MemoryConfig, MemoryVectors
from memstone.errors import BackendUnavailable
from memstone.model.memory import Kind, Layer
from memstone.model.query import Where
from memstone.ports.index import PointHit
from tests.faces.context_steps import keep
from tests.faces.harness import ON_DISK, Face, Opens, ids, texts

WORDS_ONLY: Final = {"embedder": {"provider": "none"}}
BOTH_WAYS: Final = "grandfather's zymurgy is about fermented drinks"
BY_WORD: Final = "the handbook of zymurgy is on the shelf"
BY_MEANING: Final = "he brews ale in the cellar"
NEITHER: Final = "the train leaves at noon"


def topics(items: Sequence[str]) -> Any:
    """Two directions: what is about drinks, and everything else."""
    about = ("zymurgy?", "ale", "drinks", "beverage")
    return [[1.0, 0.2] if any(word in text for word in about) else [0.0, 1.0] for text in items]


@pytest.mark.req("O-48", "N-35")
async def test_hybrid_finds_by_words_and_by_meaning_and_shows_each_memory_once(opens: Opens) -> None:
    face = opens(embedder=topics)
    for text in (NEITHER, BY_MEANING, BY_WORD, BOTH_WAYS):
        await face.remember(text)

    assert BY_MEANING not in await face.found("zymurgy?", strategy="text")
    assert set((await face.found("zymurgy?", strategy="vector"))[:2]) == {BOTH_WAYS, BY_MEANING}
    answer = await face.search("zymurgy?", user_id="alice", strategy="hybrid")
    assert texts(answer)[0] == BOTH_WAYS
    assert set(texts(answer)[:3]) == {BOTH_WAYS, BY_WORD, BY_MEANING}
    assert len(set(ids(answer))) == len(ids(answer)) <= 4


@pytest.mark.req("O-56")
async def test_a_search_works_where_nothing_is_put_into_prompts(opens: Opens) -> None:
    face = opens({"context": {"budget": 0}})
    await face.remember("I live in Oslo")

    assert not await face.context("Where do I live?", user_id="alice")
    assert await face.found("Where do I live?") == ["I live in Oslo"]
    assert (await face.context("Where do I live?", user_id="alice", budget=400)).text


@pytest.mark.req("O-56")
async def test_a_search_does_not_pass_the_gate(opens: Opens) -> None:
    face = opens({"context": {"gate": "heuristic"}})
    await face.remember("The capital of Peru was on my exam")

    assert not await face.context("What is the capital of Peru?", user_id="alice")
    assert await face.found("What is the capital of Peru?") == ["The capital of Peru was on my exam"]


class _Outside(MemoryVectors):
    """A store that may be out of reach."""

    down = False

    async def search(
        self, collection: str, vector: Sequence[float], limit: int, where: Where | None = None
    ) -> list[PointHit]:
        if self.down:
            raise BackendUnavailable("connection refused", kind="vectors", name="outside")
        return await super().search(collection, vector, limit, where)


class _Unreachable:
    """An index that cannot be searched."""

    async def search(self, _: object) -> list[object]:
        raise BackendUnavailable("no index", kind="vectors", name="embedded")

    async def forget(self, tenant_id: str) -> None:
        """Nothing is held."""


async def with_a_store_outside(face: Face) -> _Outside:
    """Put a store that can fail in the place of the configured one."""
    await face.stats()
    runtime = face.memory.engine.runtime
    index: Any = runtime.index
    index._store = _Outside(MemoryConfig(), runtime.io)
    store: _Outside = index._store
    return store


@pytest.mark.req("N-1", "N-15", "C-39")
async def test_with_the_store_outside_down_the_embedded_index_answers_and_says_why(opens: Opens) -> None:
    face = opens({"vector_store": {"provider": "memory"}}, embedder=topics)
    store = await with_a_store_outside(face)
    for text in (NEITHER, BY_MEANING, BY_WORD):
        await face.remember(text)
    full = await face.search("zymurgy?", user_id="alice")
    assert "degraded" not in full
    assert BY_MEANING in texts(full)[:2]

    store.down = True
    answer = await face.search("zymurgy?", user_id="alice")
    assert texts(answer) == texts(full)
    (why,) = answer["degraded"]
    assert (why["channel"], why["code"]) == ("vector_store", BackendUnavailable.code)
    assert "connection refused" in why["message"]
    pack = await face.context("What do you know about zymurgy?", user_id="alice", gate="always")
    assert BY_MEANING in pack.text
    assert [one["channel"] for one in pack.degraded] == ["vector_store"]
    status = await face.admin.status()
    assert status["vector_store"]["available"] is False
    assert "embedded index" in status["vector_store"]["reason"]

    index: Any = face.memory.engine.runtime.index
    assert index.failures == 1, "a store that failed is not asked again at once"
    store.down = False
    later = time.monotonic() + 31
    index._clock = lambda: later
    assert await face.search("zymurgy?", user_id="alice") == full


@pytest.mark.req("N-1", "N-15")
async def test_with_the_embedded_index_down_too_words_still_find(opens: Opens) -> None:
    face = opens({"vector_store": {"provider": "memory"}}, embedder=topics)
    store = await with_a_store_outside(face)
    for text in (NEITHER, BY_MEANING, BY_WORD):
        await face.remember(text)
    store.down = True
    index: Any = face.memory.engine.runtime.index
    index._embedded = _Unreachable()

    answer = await face.search("zymurgy?", user_id="alice")

    assert texts(answer) == [BY_WORD]
    assert [one["channel"] for one in answer["degraded"]] == ["dense"]


@pytest.mark.req("N-1", "S-60")
async def test_an_embedder_that_fails_leaves_the_words_and_one_that_is_not_there_is_not_missed(opens: Opens) -> None:
    broken = False

    def embed(items: Sequence[str]) -> Any:
        if broken:
            raise OSError("no route to host")
        return topics(items)

    face = opens({"embedding_cache": {"entries": 0}}, embedder=embed)
    for text in (BY_MEANING, BY_WORD):
        await face.remember(text)
    broken = True
    answer = await face.search("zymurgy?", user_id="alice")
    assert texts(answer) == [BY_WORD]
    assert [(one["channel"], one["code"]) for one in answer["degraded"]] == [("dense", "embedding")]

    without = opens({**WORDS_ONLY, "tenant": "other"})
    await without.remember(BY_WORD)
    answer = await without.search("zymurgy?", user_id="alice")
    assert texts(answer) == [BY_WORD]
    assert "degraded" not in answer


def held_of(face: Face) -> dict[str, int]:
    """How many rows the index in this process holds, by user."""
    index: Any = face.memory.engine.runtime.index
    local = getattr(index, "_local", index)  # on PostgreSQL it stands before the database's own
    return {name[1]: partition.rows for name, partition in local._partition_cache.partitions.items()}


@pytest.mark.req("S-54", "O-12")
async def test_vectors_are_held_by_user_built_on_demand_and_emptied_with_the_memories(face: Face) -> None:
    for number in range(3):
        await face.remember(f"tea number {number}", agent_id="bot", user_id="alice")
    await face.remember("tea of bob", user_id="bob", agent_id="bot")

    assert len(await face.found("tea", strategy="vector")) == 3
    assert held_of(face) == {"alice": 3}
    assert len(await face.found("tea", strategy="vector", agent_id="bot")) == 4
    assert held_of(face) == {"alice": 3, "bob": 1}

    index: Any = face.memory.engine.runtime.index
    await index.forget("default")
    assert held_of(face) == {}
    assert await face.found("tea", strategy="vector", user_id="bob") == ["tea of bob"]
    assert held_of(face) == {"bob": 1}

    await face.delete_all(user_id="alice")
    assert await face.found("tea", strategy="vector") == []
    assert held_of(face) == {"bob": 1, "alice": 0}
    assert await face.found("tea", strategy="vector", agent_id="bot") == ["tea of bob"]


@pytest.mark.req("N-8")
async def test_vectors_held_as_bytes_give_the_same_answers_and_the_mode_is_told(opens: Opens) -> None:
    def scattered(items: Sequence[str]) -> Any:
        return [np.random.default_rng(list(text.encode())).standard_normal(48) for text in items]

    quant = {"vector_store": {"provider": "local", "config": {"quant": "int8"}}}
    plain, quantised = opens(embedder=scattered), opens(quant, embedder=scattered)
    batch = [{"messages": f"note {n} about tea", "user_id": f"u{n % 2}", "agent_id": "bot"} for n in range(300)]
    for face in (plain,) if opens.path else (plain, quantised):
        await face.store_many(batch)

    for scope in ({"user_id": "u1"}, {"agent_id": "bot"}):
        for strategy in ("vector", "hybrid"):
            asked = {"strategy": strategy, "limit": 7, **scope}
            wanted, value = [await face.search("tea with milk", **asked) for face in (plain, quantised)]
            assert texts(value) == texts(wanted)
            assert [one["score"] for one in value["results"]] == [one["score"] for one in wanted["results"]]
    assert [(await face.stats())["indexes"][0]["quant"] for face in (plain, quantised)] == [None, "int8"]


@pytest.mark.req("S-55", "S-60")
async def test_without_embeddings_facts_episodes_and_turns_are_found_by_their_words(opens: Opens) -> None:
    face = opens(WORDS_ONLY)
    await keep(face, "Planned the crêpe party", layer=Layer.EPISODE, kind=Kind.EPISODIC)
    await face.add("The crêpes were burnt again.", user_id="alice")
    await face.remember("The good pan is for crêpes")

    every = {layer: await face.found("crepe", layers=[layer]) for layer in ("fact", "episode", "turn")}
    assert every == {
        "fact": ["The good pan is for crêpes"],
        "episode": ["Planned the crêpe party"],
        "turn": ["The crêpes were burnt again."],
    }
    await face.delete_all(user_id="alice")
    assert await face.found("crepe", layers=["fact", "episode", "turn"]) == []


@pytest.mark.req("S-60")
async def test_without_embeddings_a_question_of_signs_finds_where_they_stand(opens: Opens) -> None:
    face = opens(WORDS_ONLY)
    for text in ("Prices go up: ***", "I live in Oslo", "100 % cotton_only", "She said :-)"):
        await face.remember(text)
    assert await face.found(":-)") == ["She said :-)"]
    assert await face.found("***") == ["Prices go up: ***"]
    assert await face.found("%", min_score=0.1) == ["100 % cotton_only"], "a sign is a sign and no wildcard"
    assert await face.found("_", min_score=0.1) == ["100 % cotton_only"]
    assert await face.found(":-)", user_id="bob") == []


@pytest.mark.req("S-60")
async def test_without_embeddings_the_beginning_of_a_word_finds_it(opens: Opens) -> None:
    face = opens(WORDS_ONLY)
    await face.add("The cappuccino at the harbour was cold.", user_id="alice")
    await face.remember("I am allergic to peanuts")
    await face.remember("Peanutbutter and peanuts are forbidden")

    assert await face.found("cappu", layers=["turn"]) == ["The cappuccino at the harbour was cold."]
    assert await face.found("peanu") == ["Peanutbutter and peanuts are forbidden", "I am allergic to peanuts"]
    assert await face.found("allergic peanu") == ["I am allergic to peanuts"], "a whole word comes first"
    assert await face.found("ani") == [], "three letters begin too many words"
    assert await face.found("nuts") == [], "and a word does not begin in its middle"
    assert await face.found("peanu", user_id="bob") == []
    assert await face.found("peanu", min_score=0.1) == []


@pytest.mark.req("S-60")
async def test_beginnings_are_looked_for_among_the_newest_only(opens: Opens) -> None:
    face = opens(WORDS_ONLY)
    await face.remember("an old cappuccino")
    for number in range(260):
        await face.remember(f"number {number}")
    assert await face.found("cappu", limit=5, layers=["fact"]) == []
    assert await face.found("cappu", limit=6, layers=["fact"]) == ["an old cappuccino"], "300 for six hits"


@pytest.mark.parametrize("settings", [WORDS_ONLY, {}], ids=["words", "vectors"])
@pytest.mark.parametrize("query", ["?!", "...", '"', "*", "'; --", "()", "AND", "NEAR(", "-", "¿?"])
@pytest.mark.req("S-60", "S-55")
async def test_a_question_of_signs_only_harms_nothing(opens: Opens, settings: dict[str, Any], query: str) -> None:
    face = opens(settings)
    for text in ("the first", "the second", "the third"):
        await face.remember(text)

    for strategy in ("hybrid", "semantic", "vector", "exact", "recent", "text"):
        answer = await face.search(query, user_id="alice", strategy=strategy)
        assert set(texts(answer)) <= {"the first", "the second", "the third"}
    if settings and query not in {"AND", "NEAR("}:
        assert await face.found(query) == ["the third", "the second", "the first"]


async def about_anna(face: Face) -> None:
    """Who works where, and what is done there, each told in a conversation of its own."""
    lines = ("My sister Anna works at Contoso.", "Contoso makes lighthouses out of paper.")
    others = ("My brother Felix works at Fabrikam.", "Fabrikam grows tomatoes.", "I love long walks.")
    for number, text in enumerate((*lines, *others)):
        await face.add(text, user_id="alice", run_id=f"r{number}")


@pytest.mark.req("C-58.33", "C-58.34", "D-19", "C-28")
async def test_who_works_where_is_known_as_a_relation_beside_the_memories(face: Face) -> None:
    await face.add("I'm Alice and I work at Acme Corp. My sister Anna works at Contoso.", user_id="alice")

    types = {one["name"]: one["type"] for one in (await face.graph.entities(user_id="alice"))["results"]}
    assert (types["Anna"], types["Acme Corp"], types["Contoso"]) == ("person", "organization", "organization")
    edges = (await face.graph.relations(user_id="alice"))["results"]
    known = {(one["source"], one["relation"], one["target"]) for one in edges}
    assert {("user", "works_at", "Acme Corp"), ("Anna", "works_at", "Contoso")} <= known
    assert any("Contoso" in text for text in await face.listed())


@pytest.mark.req("C-29", "C-58.35", "D-19")
async def test_a_question_about_somebody_brings_what_is_related_though_no_word_matches(opens: Opens) -> None:
    face = opens(WORDS_ONLY)
    await about_anna(face)

    asked, layers = "How does Anna earn money?", ["fact", "turn"]
    plain = await face.found(asked, strategy="text", layers=layers)
    assert not any("lighthouses" in text for text in plain)
    answer = await face.search(asked, user_id="alice", layers=layers, explain=True)
    (related,) = (one for one in answer["results"] if "lighthouses" in one["memory"])
    assert related["score_parts"]["entity"] > 0
    assert not any("tomatoes" in text for text in texts(answer))


@ON_DISK
@pytest.mark.req("C-57")
async def test_without_the_graph_a_search_still_answers_and_says_what_is_missing(face: Face, opens: Opens) -> None:
    await about_anna(face)
    before = await face.found("Where does Anna work?")
    with opens.sql() as database:
        for table in ("relations", "mentions", "entities"):
            database.execute(f"DROP TABLE {table}")

    for strategy in ("hybrid", "text", "vector"):
        assert await face.found("Where does Anna work?", strategy=strategy), strategy
    answer = await face.search("Where does Anna work?", user_id="alice")
    assert set(before[:2]) & set(texts(answer)[:2])
    assert {(one["channel"], one["code"]) for one in answer["degraded"]} == {("entity", "storage")}


@pytest.mark.req("D-19", "C-28", "C-13")
async def test_forgetting_one_user_leaves_the_names_that_others_speak_of(face: Face) -> None:
    for user in ("alice", "bob"):
        await face.add("My sister Anna works at Contoso.", user_id=user)
    await face.delete_all(user_id="alice")

    assert (await face.graph.entities(user_id="alice"))["results"] == []
    assert (await face.graph.relations(user_id="alice"))["results"] == []
    assert {"Anna", "Contoso"} <= {one["name"] for one in (await face.graph.entities(user_id="bob"))["results"]}
    assert len((await face.graph.relations(user_id="bob"))["results"]) >= 2
    assert any("Contoso" in text for text in await face.found("Where does Anna work?", user_id="bob"))


@pytest.mark.req("O-49", "O-50", "O-47")
@pytest.mark.parametrize("strategy", ["exact", "text", "hybrid"])
async def test_where_no_text_holds_a_word_keys_and_metadata_are_looked_through(opens: Opens, strategy: str) -> None:
    face = opens({"embedder": {"provider": "none"}})
    await face.remember("The launch is in May", metadata={"project": "Apollo", "town": "Zürich"})
    await face.remember("I like tea", key="drinks:greenish", metadata={"project": "Gemini"})
    await face.remember("Mercury is a planet", metadata={"seen": "apollonian"})

    assert set(await face.found("apollo", strategy=strategy)) == {"The launch is in May", "Mercury is a planet"}
    assert await face.found("zürich", strategy=strategy) == ["The launch is in May"]
    assert await face.found("greenis", strategy=strategy) == ["I like tea"]
    assert await face.found("planet", strategy=strategy) == ["Mercury is a planet"]
    assert await face.found("nothing of it", strategy=strategy) == []
