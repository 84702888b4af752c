from __future__ import annotations

from typing import Any

import pytest

from memstone.errors import InvalidInput, TooLarge
from tests.faces.harness import ON_DISK, Face, Opens, ids, texts

NASTY = [
    "it's O'Brien's birthday",
    "state-of-the-art",
    "ratio 3:4",
    "channel #general",
    "C++ and C#",
    'he said "hello"',
    "NEAR(a b) AND OR NOT",
    "body: key*",
    "100% sure_thing",
    "caf\u00e9 na\u00efve \u00fcber",
    "\u6771\u4eac\u90fd\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059",
    "\uc11c\uc6b8\uc5d0 \uc0b4\uc544\uc694",
    "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0643",
    "\U0001f600 \U0001f1f3\U0001f1f4",
    "a@example.com node.js 3.11",
    "\\ ^ ~ { } [ ] ( ) * word",
    "tab\tand\nline",
]


@pytest.mark.req("R-2", "R-1")
@pytest.mark.parametrize("strategy", ["text", "hybrid"])
async def test_any_text_is_found_by_itself(face: Face, strategy: str) -> None:
    for text in NASTY:
        await face.remember(text)

    for text in NASTY:
        assert (await face.found(text, strategy=strategy))[0] == text


@pytest.mark.req("R-2", "O-17")
@pytest.mark.parametrize(
    "query", ["'", '"', "-", "()", "* OR *", "NOT", "AND", "^", "a:b", "??", "NEAR/2", "\u200b", "\n."]
)
async def test_no_query_is_an_error(face: Face, query: str) -> None:
    await face.remember("I live in Oslo")

    for strategy in ("text", "vector", "hybrid"):
        await face.search(query, user_id="alice", strategy=strategy)


@pytest.mark.req("O-17")
async def test_a_question_without_words_gets_the_newest_first(opens: Opens) -> None:
    face = opens({"embedder": {"provider": "none"}})
    for text in ("one", "two", "three"):
        await face.remember(text)
    await face.remember("theirs", user_id="bob")

    assert await face.found("?!", limit=2) == ["three", "two"]
    assert await face.found("?!", min_score=0.1) == []
    assert await face.found("nothing of the kind") == []


@ON_DISK
@pytest.mark.req("O-17")
async def test_without_its_full_text_a_search_says_so_and_goes_on(face: Face, opens: Opens) -> None:
    await face.remember("I live in Oslo")
    await face.remember("I work in Rome")
    with opens.sql() as database:
        database.execute("DROP TABLE words")

    answer = await face.search("Oslo", user_id="alice")
    assert texts(answer)[0] == "I live in Oslo"
    assert [entry["channel"] for entry in answer["degraded"]] == ["text"]
    answer = await face.search("Oslo", user_id="alice", strategy="text")
    assert texts(answer) == ["I work in Rome", "I live in Oslo"]
    assert answer["degraded"][0]["code"] == "storage"


@pytest.mark.req("C-9", "X-6", "N-37")
async def test_the_best_comes_first_with_scores_between_nothing_and_one(face: Face) -> None:
    await face.remember("Gardening is what I do on Sundays")
    await face.remember("My dog is called Rex")
    await face.remember("Rex the dog sleeps in the garden")

    answer = await face.search("dog Rex", user_id="alice", explain=True)

    scores = [item["score"] for item in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    best = answer["results"][0]["score_parts"]
    assert best["keyword"] == 1.0
    assert 0 < best["semantic"] <= 1
    covered, named = 1.0, 0.1 * best["entity"]  # it holds every word of the question, and the name in it
    assert answer["results"][0]["score"] == pytest.approx(((covered + best["semantic"] + named) / 2) ** 0.5, abs=1e-6)
    assert "score_parts" not in (await face.search("dog", user_id="alice"))["results"][0]


@pytest.mark.req("C-58.5", "C-9", "N-37")
async def test_limit_and_its_alias_are_respected(face: Face) -> None:
    for number in range(130):
        await face.remember(f"apple number {number}")

    assert len(await face.found("apple", limit=7)) == 7
    assert len(await face.found("apple", limit=3)) == 3
    assert len(await face.found("apple")) == 100
    assert len(await face.found("apple", limit=1000)) == 130


@pytest.mark.req("N-37", "X-6")
async def test_a_threshold_removes_what_only_meaning_found(face: Face) -> None:
    await face.remember("apple pie")
    await face.remember("quarterly tax report")

    everything = await face.search("apple", user_id="alice", explain=True)
    assert len(everything["results"]) == 2
    assert await face.found("apple", min_score=0.5) == ["apple pie"]
    assert await face.found("apple", min_score=1.0) == ["apple pie"], "what the words found stays"
    assert await face.found("apple", min_score=1.0, strategy="vector") == []
    assert await face.found("apple", min_score=0.5, strategy="vector") == ["apple pie"]


@pytest.mark.req("X-6")
async def test_a_threshold_can_be_configured(opens: Opens) -> None:
    face = opens({"policy": {"min_score": 0.5, "strategy": "vector"}})
    await face.remember("apple pie")
    await face.remember("quarterly tax report")

    assert await face.found("apple pie") == ["apple pie"]
    assert len(await face.found("apple pie", min_score=0.0)) == 2


@pytest.mark.req("R-5", "X-19")
async def test_foreign_memories_do_not_crowd_out_ones_own(face: Face) -> None:
    for start in (0, 1000):
        items = [{"messages": f"apple pie recipe {n}", "user_id": "bob"} for n in range(start, start + 1000)]
        await face.store_many(items)
    for text in ("apple trees", "an apple a day", "my apple tart"):
        await face.remember(text)

    for strategy in ("vector", "text", "hybrid"):
        answer = await face.search("apple pie recipe", user_id="alice", limit=10, strategy=strategy)
        assert sorted(texts(answer)) == ["an apple a day", "apple trees", "my apple tart"]
        assert {item["user_id"] for item in answer["results"]} == {"alice"}


@pytest.mark.req("R-1", "O-15", "O-16")
async def test_full_text_follows_every_change(face: Face) -> None:
    memory_id = await face.remember("I adore marzipan", key="sweet:nougat")
    assert await face.found("marzipan", strategy="text") == ["I adore marzipan"]
    assert await face.found("nougat", strategy="text") == ["I adore marzipan"]

    await face.update(memory_id, "I adore liquorice", key="sweet:caramel")
    assert await face.found("marzipan", strategy="text") == []
    assert await face.found("nougat", strategy="text") == []
    assert await face.found("liquorice", strategy="text") == ["I adore liquorice"]
    assert await face.found("caramel", strategy="text") == ["I adore liquorice"]

    await face.delete(memory_id)
    assert await face.found("liquorice", strategy="text") == []
    assert (await face.stats())["fulltext"] == 0


@ON_DISK
@pytest.mark.req("R-1", "O-15", "O-16", "O-12")
async def test_every_live_row_is_in_every_mirror_once_and_no_other(face: Face, opens: Opens) -> None:
    stored_text = await face.remember("I adore marzipan")
    changed = await face.remember("I adore nougat")
    gone = await face.remember("I adore tofu")
    await face.update(changed, "I adore liquorice")
    await face.delete(gone)

    live = opens.rows("SELECT seq FROM memories WHERE valid_to IS NULL ORDER BY seq")
    assert opens.rows("SELECT id FROM memories WHERE valid_to IS NULL ORDER BY seq") == [(stored_text,), (changed,)]
    assert opens.rows("SELECT rowid FROM fulltext ORDER BY rowid") == live
    assert opens.rows("SELECT memory_seq FROM vectors ORDER BY memory_seq") == live
    assert opens.rows("SELECT rowid FROM fulltext WHERE fulltext MATCH 'tofu OR nougat'") == []


@pytest.mark.req("X-37")
async def test_a_search_looks_at_facts_unless_told_otherwise(face: Face) -> None:
    await face.remember("I live in Oslo")

    assert await face.found("Oslo", layers=["fact", "episode"]) == ["I live in Oslo"]
    assert await face.found("Oslo", layers="fact") == ["I live in Oslo"]
    assert await face.found("Oslo", layers={"fact"}) == ["I live in Oslo"]
    assert await face.found("Oslo", layers=["turn"]) == []
    assert await face.listed(layers=["identity"]) == []


@pytest.mark.req("C-38", "R-26")
async def test_a_search_by_meaning_without_an_embedder_says_so(opens: Opens) -> None:
    face = opens({"embedder": {"provider": "none"}})
    await face.remember("I live in Oslo")

    hybrid = await face.search("Oslo", user_id="alice")
    assert (texts(hybrid), hybrid["results"][0]["score"]) == (["I live in Oslo"], 1.0)
    assert "degraded" not in hybrid
    vector = await face.search("Oslo", user_id="alice", strategy="vector")
    assert vector["degraded"][0]["channel"] == "dense"


@pytest.mark.req("N-37")
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"query": ""}, InvalidInput),
        ({"query": " \n "}, InvalidInput),
        ({"query": None}, InvalidInput),
        ({"query": 7}, InvalidInput),
        ({"query": "a\0b"}, InvalidInput),
        ({"query": "x" * 50_001}, TooLarge),
        ({"limit": 0}, InvalidInput),
        ({"limit": -1}, InvalidInput),
        ({"limit": 10_001}, InvalidInput),
        ({"limit": True}, InvalidInput),
        ({"limit": "5"}, InvalidInput),
        ({"min_score": 1.5}, InvalidInput),
        ({"min_score": -0.1}, InvalidInput),
        ({"min_score": float("nan")}, InvalidInput),
        ({"min_score": "0.5"}, InvalidInput),
        ({"strategy": "magic"}, InvalidInput),
        ({"layers": []}, InvalidInput),
        ({"layers": ["facts"]}, InvalidInput),
        ({"layers": 5}, InvalidInput),
        ({"as_of": "yesterday"}, InvalidInput),
    ],
)
async def test_a_question_that_makes_no_sense_is_refused(face: Face, wrong: dict[str, Any], error: type) -> None:
    await face.remember("I live in Oslo")
    with pytest.raises(error):
        await face.search(**{"query": "Oslo", "user_id": "alice", **wrong})


@pytest.mark.req("R-4", "C-58.5")
async def test_hits_that_may_not_be_seen_leave_no_gap(face: Face, opens: Opens) -> None:
    """The best hits have expired: those behind them move up, on every channel."""
    items = [{"messages": f"apple {n} apple", "user_id": "alice", "expires_at": "2026-01-02"} for n in range(150)]
    await face.store_many(items)
    await face.remember("one apple that stays, among very many other words")
    opens.clock.advance(days=3)

    for strategy in ("text", "vector", "hybrid"):
        answer = await face.search("apple", user_id="alice", limit=2, strategy=strategy)
        assert texts(answer) == ["one apple that stays, among very many other words"]
    assert len(ids(await face.search("apple", user_id="alice", show_expired=True, limit=1000))) == 151
