from __future__ import annotations

from typing import Any

import pytest

from memstone.errors import BackendUnavailable, ConfigError, EmbeddingError
from tests.faces.harness import ON_DISK, Face, Opens, texts

SMALL = {"embedder": {"provider": "hash", "config": {"dim": 64}}}
LARGE = {"embedder": {"provider": "hash", "config": {"dim": 128}}}


async def built_small(opens: Opens) -> None:
    face = opens(SMALL)
    for text in ("apple pie", "bicycle repair", "garden chair"):
        await face.remember(text)
    await face.close()


@ON_DISK
@pytest.mark.req("X-20", "R-28", "X-38")
async def test_another_embedder_is_noticed_and_never_mixed_in(opens: Opens) -> None:
    await built_small(opens)
    face = opens(LARGE)

    answer = await face.search("apple", user_id="alice", explain=True)

    assert texts(answer) == ["apple pie"], "words still find it"
    assert "semantic" not in answer["results"][0]["score_parts"]
    (degraded,) = answer["degraded"]
    assert (degraded["channel"], degraded["code"]) == ("dense", "needs_reindex")
    assert "hash:bow-v1:64" in degraded["message"]
    assert "hash:bow-v1:128" in degraded["message"]


@ON_DISK
@pytest.mark.req("X-20", "R-28")
async def test_a_new_index_is_built_beside_the_old_one_and_then_switched_to(opens: Opens) -> None:
    await built_small(opens)
    face = opens(LARGE)
    added = await face.remember("apple tart")
    assert opens.rows("SELECT signature, state FROM indexes ORDER BY dim") == [
        ("hash:bow-v1:64", "active"),
        ("hash:bow-v1:128", "building"),
    ]

    progress: list[tuple[int, int]] = []
    report = await face.admin.reindex(lambda done, total: progress.append((done, total)))

    assert report == {"signature": "hash:bow-v1:128", "indexed": 3, "failed": 0, "dropped": 3, "sent": 0}
    assert progress == [(3, 3)]
    assert opens.rows("SELECT signature, state FROM indexes") == [("hash:bow-v1:128", "active")]
    assert opens.rows("SELECT DISTINCT signature, length(vector) FROM vectors") == [("hash:bow-v1:128", 512)]
    answer = await face.search("apple tart", user_id="alice", strategy="vector", limit=1)
    assert (answer["results"][0]["id"], "degraded" in answer) == (added, False)
    assert (await face.admin.reindex())["indexed"] == 0, "a second time there is nothing to do"


@ON_DISK
@pytest.mark.req("X-20")
async def test_the_old_index_serves_until_the_switch(opens: Opens) -> None:
    await built_small(opens)
    old, new = opens(SMALL), opens(LARGE)
    seen: list[str] = []
    await new.remember("apple tart")
    assert await old.found("apple pie", strategy="vector", limit=1) == ["apple pie"]

    await new.admin.reindex(
        lambda *_: seen.append(opens.rows("SELECT signature FROM indexes WHERE state = 'active'")[0][0])
    )

    assert seen == ["hash:bow-v1:64"]
    late = await old.search("apple", user_id="alice")
    assert late["degraded"][0]["code"] == "needs_reindex"
    assert "apple pie" in texts(late)


@ON_DISK
@pytest.mark.req("X-20", "O-11")
async def test_changing_metadata_keeps_the_vectors_of_every_index(opens: Opens) -> None:
    await built_small(opens)
    new = opens(LARGE)
    (apple,) = (await new.search("apple", user_id="alice"))["results"]

    await new.update(apple["id"], metadata={"a": 1})

    old = opens(SMALL)
    assert await old.found("apple pie", strategy="vector", limit=1) == ["apple pie"]
    assert opens.rows("SELECT count(*) FROM vectors WHERE signature = 'hash:bow-v1:64'") == [(3,)]


@ON_DISK
@pytest.mark.req("X-20", "R-28")
async def test_a_model_that_is_down_switches_nothing(opens: Opens) -> None:
    await built_small(opens)
    for failure, raised in (
        (OSError("no route to host"), EmbeddingError),
        (BackendUnavailable("no route to host"), BackendUnavailable),
    ):
        face = opens(embedder=half_awake(failure))
        with pytest.raises(raised):
            await face.admin.reindex()
    assert opens.rows("SELECT signature FROM indexes WHERE state = 'active'") == [("hash:bow-v1:64",)]
    assert await opens(SMALL).found("apple pie", strategy="vector", limit=1) == ["apple pie"]


def half_awake(failure: Exception) -> Any:
    """Tells its dimension, and then nothing more."""

    def embed(items: list[str]) -> list[list[float]]:
        if items != ["dimension"]:
            raise failure
        return [[1.0, 0.0]]

    return embed


@ON_DISK
@pytest.mark.req("X-20")
async def test_one_text_that_cannot_be_embedded_does_not_hold_the_others_up(opens: Opens) -> None:
    await built_small(opens)

    def picky(items: list[str]) -> list[list[float]]:
        if any("bicycle" in text for text in items):
            raise ValueError("no bicycles")
        return [[1.0, float(len(text))] for text in items]

    face = opens(embedder=picky)
    for _ in range(2):
        report = await face.admin.reindex()
        assert report["failed"] == 1
    assert await face.found("bicycle", limit=1) == ["bicycle repair"]
    assert sorted(await face.found("apple", strategy="vector")) == ["apple pie", "garden chair"]


@ON_DISK
@pytest.mark.req("X-20")
async def test_what_was_stored_by_words_alone_gets_its_vectors_later(opens: Opens) -> None:
    await opens({"embedder": {"provider": "none"}}).remember("apple pie")
    face = opens(SMALL)

    assert (await face.admin.reindex())["indexed"] == 1
    assert await face.found("apple pie", strategy="vector") == ["apple pie"]


async def test_without_an_embedder_there_is_nothing_to_reindex(opens: Opens) -> None:
    with pytest.raises(ConfigError) as caught:
        await opens({"embedder": {"provider": "none"}}).admin.reindex()
    assert caught.value.hint


@pytest.mark.req("R-28", "X-20", "C-47")
async def test_the_dimension_is_asked_for_once(opens: Opens) -> None:
    asked: list[list[str]] = []

    def embed(items: list[str]) -> list[list[float]]:
        asked.append(items)
        return [[3.0, 4.0 * len(text)] for text in items]

    face = opens(embedder=embed)
    await face.store(["one", "two"], user_id="alice")
    await face.remember("three")
    await face.found("one")

    assert asked == [["dimension"], ["one", "two"], ["three"]], "known texts, and the question, come from the cache"


@ON_DISK
@pytest.mark.req("R-28")
async def test_vectors_are_normalised_and_zero_is_no_error(opens: Opens) -> None:
    import numpy as np

    face = opens(embedder=lambda value: [[0.0, 0.0] if text == "zero" else [3.0, 4.0] for text in value])
    await face.remember("zero")
    await face.remember("three four")

    stored = [np.frombuffer(row[0], "<f4").tolist() for row in opens.rows("SELECT vector FROM vectors ORDER BY rowid")]
    assert stored == [[0.0, 0.0], pytest.approx([0.6, 0.8])]
    answer = await face.search("anything", user_id="alice", strategy="vector", explain=True)
    assert [item["score"] for item in answer["results"]] == [pytest.approx(1.0), 0.0]
    assert len((await face.search("zero", user_id="alice", strategy="vector"))["results"]) == 2


@pytest.mark.req("N-3")
async def test_the_cache_of_embeddings_is_counted(face: Face) -> None:
    await face.remember("one")
    await face.found("one")
    await face.found("one")

    stats = (await face.stats())["embedding_cache"]
    assert stats == {"size": 1, "max_size": 1_000, "hits": 2, "misses": 1}
    await face.reset()
    assert (await face.stats())["embedding_cache"]["size"] == 0
