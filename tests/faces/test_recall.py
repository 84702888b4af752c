"""Finding the right memory, through both faces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstone import Memory
from memstone.errors import InvalidInput, ScopeError
from tests.faces.harness import Face, Opens, texts


def contrary(texts: Sequence[str]) -> Any:
    """Vectors that put whatever holds the rare word last: only its words can find it."""
    rows = np.array([np.abs(np.random.default_rng(list(text.encode())).standard_normal(16)) for text in texts])
    rows[["zymurgy" in text and len(text) > 10 for text in texts]] *= -1
    return rows


@pytest.mark.req("D-1", "N-35", "S-59")
async def test_what_meaning_ranks_last_is_found_first_by_its_rare_word(opens: Opens) -> None:
    face = opens(embedder=contrary)
    await face.store_many([{"messages": f"note number {n} about nothing", "user_id": "alice"} for n in range(1000)])
    await face.store_many([{"messages": f"remark number {n} about nothing", "user_id": "alice"} for n in range(200)])
    await face.remember("Grandfather taught me zymurgy")

    by_meaning = await face.found("zymurgy", strategy="vector", limit=1201)
    assert by_meaning.index("Grandfather taught me zymurgy") > 1000
    assert (await face.found("zymurgy", limit=3))[0] == "Grandfather taught me zymurgy"


@pytest.mark.req("R-2")
async def test_c_plus_plus_is_one_word(face: Face) -> None:
    for text in ("I take vitamin C", "I write C# at work", "I write C++ at home", "Plan C is ready"):
        await face.remember(text)

    assert await face.found("C++", strategy="text") == ["I write C++ at home"]
    assert await face.found("c#", strategy="text") == ["I write C# at work"]


@pytest.mark.req("R-2")
async def test_a_word_of_a_script_without_blanks(face: Face) -> None:
    await face.remember("我喜欢喝咖啡")
    await face.remember("我喜欢喝绿茶")

    assert (await face.found("咖啡"))[0] == "我喜欢喝咖啡"
    assert await face.found("咖啡", strategy="text") == ["我喜欢喝咖啡"]


@pytest.mark.slow
@pytest.mark.req("R-4")
async def test_three_own_memories_among_thousands_of_others(opens: Opens) -> None:
    face = opens()
    for start in range(0, 3_000, 1000):
        batch = [{"messages": f"I like tea and boats {n}", "user_id": f"u{n % 50}"} for n in range(start, start + 1000)]
        await face.store_many(batch)
    own = {"I like tea and boats", "I sail boats on Sundays", "Tea is best with milk"}
    for text in own:
        await face.remember(text)

    for strategy in ("hybrid", "text", "vector", "semantic", "exact", "recent"):
        assert set(await face.found("tea and boats", strategy=strategy, limit=50)) == own, strategy


@pytest.mark.req("O-55", "R-22", "O-46")
async def test_recent_ignores_the_query(face: Face) -> None:
    for text in ("I like tea", "I live in Oslo", "I sail boats"):
        await face.remember(text)

    assert await face.found("tea", strategy="recent") == ["I sail boats", "I live in Oslo", "I like tea"]
    assert await face.found("", strategy="recent", limit=2) == ["I sail boats", "I live in Oslo"]


@pytest.mark.req("O-55", "D-22")
async def test_the_newest_and_the_literal_of_the_past(face: Face, opens: Opens) -> None:
    await face.remember("I like tea")
    then = opens.clock.advance(days=1)
    opens.clock.advance(days=1)
    await face.remember("I like coffee, not tea")

    assert await face.found("", strategy="recent", as_of=then) == ["I like tea"]
    assert await face.found("coffee", strategy="exact", as_of=then) == []
    assert await face.found("tea", strategy="exact", as_of=then) == ["I like tea"]


@pytest.mark.req("O-46", "O-49", "O-50", "O-51", "O-26")
async def test_exact_keeps_what_holds_the_words(face: Face) -> None:
    await face.remember("I like tea", key="drinks")
    await face.remember("Tea, tea and more tea")
    await face.remember("I live in Oslo")
    await face.remember("I teach (a.*b) patterns")

    found = await face.search("tea", user_id="alice", strategy="exact", explain=True)
    assert texts(found) == ["Tea, tea and more tea", "I teach (a.*b) patterns", "I like tea"]
    assert found["results"][0]["score"] == 1.0
    assert await face.found("(a.*b)", strategy="exact") == ["I teach (a.*b) patterns"]
    assert await face.found("zebra", strategy="exact") == []


@pytest.mark.req("O-46")
async def test_exact_looks_at_the_newest_hundred(face: Face) -> None:
    await face.remember("the oldest tea")
    await face.store_many([{"messages": f"filler {n}", "user_id": "alice"} for n in range(100)])

    assert await face.found("tea", strategy="exact") == []


@pytest.mark.req("O-47")
async def test_semantic_finds_by_meaning_and_shows_the_newest_rather_than_nothing(face: Face, opens: Opens) -> None:
    await face.remember("I like tea")
    assert await face.found("tea", strategy="semantic") == ["I like tea"]

    words_only = opens({"embedder": {"provider": "none"}, "tenant": "other"})
    await words_only.remember("I like tea")
    await words_only.remember("I live in Oslo")
    assert await words_only.found("tea", strategy="semantic") == ["I like tea"]
    assert await words_only.found("zebra", strategy="semantic") == ["I live in Oslo", "I like tea"]
    assert await words_only.found("zebra", strategy="text") == []


@pytest.mark.req("O-26", "O-45", "X-31", "D-3")
async def test_a_search_in_the_session_of_the_owner_or_in_what_is_everybodys(face: Face) -> None:
    await face.remember("tea in this run", user_id="alice", run_id="r1")
    await face.remember("tea in that run", user_id="alice", run_id="r2")
    await face.remember("tea of bob", user_id="bob")
    await face.remember("tea for all", user_id="*")
    for n in range(5):
        await face.remember(f"something else {n}", user_id="alice")

    session = {"user_id": "alice", "run_id": "r1"}
    assert await face.found("tea", strategy="text", scope="session", **session) == ["tea in this run"]
    assert set(await face.found("tea", strategy="text", scope="owner", **session)) == {
        "tea in this run",
        "tea in that run",
    }
    everything = {"tea in this run", "tea in that run", "tea for all"}
    assert set(await face.found("tea", strategy="text", scope="global", **session)) == everything
    assert set(await face.found("tea", strategy="text")) == {"tea in this run", "tea in that run"}
    with pytest.raises(InvalidInput, match="run_id"):
        await face.search("tea", user_id="alice", scope="session")
    with pytest.raises(InvalidInput, match="planet"):
        await face.search("tea", user_id="alice", scope="planet")
    with pytest.raises(ScopeError):
        await face.search("tea", run_id="r1", scope="owner")


@pytest.mark.req("X-31", "D-22")
@pytest.mark.parametrize("strategy", ["hybrid", "text", "recent"])
async def test_what_was_everybodys_at_another_time_is_found_where_it_is_asked_for(
    face: Face, opens: Opens, strategy: str
) -> None:
    shared = await face.remember("tea for all", user_id="*")
    await face.remember("tea of alice")
    then = opens.clock.now()
    opens.clock.advance(days=1)
    await face.update(shared, "no tea for anybody")

    found = await face.found("tea", as_of=then, scope="global", strategy=strategy)
    assert sorted(found) == ["tea for all", "tea of alice"]
    assert await face.found("tea", as_of=then, strategy=strategy) == ["tea of alice"]


@pytest.mark.req("X-31")
async def test_who_has_little_of_their_own_also_sees_what_is_everybodys(opens: Opens) -> None:
    face = opens()
    await face.remember("our office opens at nine, tea is free", user_id="*")
    for n in range(4):
        await face.remember(f"tea {n}")
    assert len(await face.found("tea", strategy="text")) == 5
    await face.remember("tea 4")
    assert len(await face.found("tea", strategy="text")) == 5
    assert await face.listed() == [f"tea {n}" for n in reversed(range(5))]
    assert await face.found("office", user_id="carol", strategy="text") == ["our office opens at nine, tea is free"]

    alone = opens({"recall": {"bootstrap_min": 0}})
    if opens.path:
        assert await alone.found("office", user_id="carol", strategy="text") == []


@pytest.mark.req("D-22")
async def test_a_day_that_is_only_hinted_at(opens: Opens) -> None:
    face = opens()
    await face.remember("We met at the lake", occurred_at="2025-12-31T10:00:00Z", run_id="a", user_id="alice")
    await face.remember("We met at the station", occurred_at="2025-11-02T10:00:00Z", run_id="b", user_id="alice")
    await face.remember("I had seen Anna yesterday", occurred_at="2025-06-11T10:00:00Z", run_id="c", user_id="alice")

    assert (await face.found("where did we meet yesterday?", strategy="text"))[0] == "We met at the lake"
    assert (await face.found("where did we meet two months ago?", strategy="text"))[0] == "We met at the station"
    assert (await face.found("what happened on 10 June 2025?", strategy="text"))[0] == "I had seen Anna yesterday"


@pytest.mark.req("D-17", "P-25", "X-16", "X-17", "R-13")
async def test_what_is_old_fades_at_read_and_no_row_changes(opens: Opens) -> None:
    face = opens({"recall": {"decay_days": 30}})
    old = await face.remember("I like green tea")
    opens.clock.advance(days=60)
    await face.remember("I like green tea, mostly")

    found = await face.search("green tea", user_id="alice", explain=True)
    assert texts(found) == ["I like green tea, mostly", "I like green tea"]
    faded = found["results"][1]["score_parts"]["decay"]
    assert faded == pytest.approx(np.exp(-2))
    again = await face.search("green tea", user_id="alice", explain=True)
    assert again["results"][1]["score_parts"]["decay"] == faded
    assert (await face.get(old))["version"] == 1


@pytest.mark.req("D-17", "S-6", "X-16")
async def test_what_is_used_stays_fresh(opens: Opens) -> None:
    face = opens(
        {"recall": {"decay_days": 30}, "context": {"gate": "always", "false_injection": 0, "cache_seconds": 0}}
    )
    await face.remember("I like green tea")
    opens.clock.advance(days=60)
    assert "green tea" in (await face.context("What do I drink?", user_id="alice")).text
    opens.clock.advance(days=30)

    found = await face.search("green tea", user_id="alice", explain=True)
    assert found["results"][0]["score_parts"]["decay"] == pytest.approx(np.exp(-1))


@pytest.mark.req("S-59")
async def test_what_says_the_same_does_not_crowd_out_the_rest(opens: Opens) -> None:
    spread = opens({"recall": {"mmr": 0.3}})
    for n in range(4):
        await spread.remember(f"I drink green tea every single morning at home {n}")
    await spread.remember("Green is the colour of my bike")

    found = await spread.found("green tea every morning", limit=2)
    assert found[1] == "Green is the colour of my bike"


@pytest.mark.req("N-4")
async def test_reciprocal_ranks_are_available(opens: Opens) -> None:
    face = opens({"recall": {"fusion": "rrf", "rrf_k": 10}})
    for text in ("I like tea", "I live in Oslo"):
        await face.remember(text)

    found = await face.search("tea", user_id="alice", explain=True)
    assert texts(found)[0] == "I like tea"
    assert found["results"][0]["score_parts"]["rrf"] == 1.0


@pytest.mark.req("N-11")
async def test_a_closer_look_and_what_happens_when_it_fails(opens: Opens) -> None:
    def longest_first(query: str, documents: list[str]) -> list[float]:
        return [float(len(document)) for document in documents]

    def broken(query: str, documents: list[str]) -> list[float]:
        raise OSError("no route to host")

    face = opens(reranker=longest_first)
    for text in ("tea", "tea with milk", "tea with milk and sugar"):
        await face.remember(text)
    assert await face.found("tea", limit=2) == ["tea with milk and sugar", "tea with milk"]

    other = opens({"tenant": "other"}, reranker=broken)
    await other.remember("tea")
    found = await other.search("tea", user_id="alice")
    assert texts(found) == ["tea"]
    assert found["degraded"][0]["channel"] == "rerank"


@pytest.mark.req("O-45")
async def test_what_was_stored_too_long_ago_is_not_found(opens: Opens) -> None:
    face = opens({"recall": {"visible_days": 30}})
    await face.remember("I like old tea")
    opens.clock.advance(days=31)
    await face.remember("I like new tea")

    assert await face.found("tea") == ["I like new tea"]
    assert await face.found("", strategy="recent") == ["I like new tea"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=4), st.text())
@pytest.mark.req("R-2", "S-61")
def test_no_text_and_no_question_breaks_a_channel(stored: list[str], query: str) -> None:
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as memory:
        for text in stored:
            if text.strip() and "\x00" not in text:
                memory.add([{"role": "user", "name": "Maya", "content": text}], user_id="a", run_id="r", infer=False)
        if not query.strip() or "\x00" in query or any("\ud800" <= char <= "\udfff" for char in query):
            return
        for strategy in ("hybrid", "semantic", "exact", "recent", "vector", "text"):
            for hit in memory.search(query, user_id="a", strategy=strategy)["results"]:
                assert 0 <= hit["score"] <= 1
