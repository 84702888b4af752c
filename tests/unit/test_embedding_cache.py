from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from memstone.adapters.embed.hash_embedder import HashEmbedder
from memstone.drive import drive
from memstone.engine.store.embedding import Embedding, VectorCache, checked_vectors
from memstone.errors import AuthenticationFailed, BackendUnavailable, DimensionMismatch, EmbeddingError, MemstoneError
from memstone.model.memory import Vector


class _Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.req("N-3")
def test_what_was_put_in_is_found_until_it_is_too_old() -> None:
    time = _Time()
    cache = VectorCache(10, 300.0, time)
    cache.set("a", Vector(b"1"))
    time.now = 300.0
    assert cache.get("a") == b"1"
    time.now = 300.1
    assert cache.get("a") is None
    assert cache.stats() == {"size": 0, "max_size": 10, "hits": 1, "misses": 1}


@pytest.mark.req("N-3")
def test_the_oldest_go_when_there_are_too_many() -> None:
    cache = VectorCache(entries=2)
    for key in "abc":
        cache.set(key, Vector(key.encode()))
    assert [cache.get(key) for key in "abc"] == [None, b"b", b"c"]
    cache.clear()
    assert cache.stats()["size"] == 0


@pytest.mark.req("N-3")
def test_a_cache_of_no_size_keeps_nothing() -> None:
    cache = VectorCache(entries=0)
    cache.set("a", Vector(b"1"))
    assert cache.get("a") is None


@pytest.mark.req("N-3")
def test_the_defaults_are_a_thousand_entries_for_five_minutes() -> None:
    time = _Time()
    cache = VectorCache(now=time)
    for number in range(1001):
        cache.set(str(number), Vector(b""))
    assert cache.stats()["size"] == 1000
    time.now = 299.9
    assert cache.get("1000") is not None
    time.now = 300.1
    assert cache.get("1000") is None


class _Counted(HashEmbedder):
    """Counts what it is asked."""

    asked: list[list[str]]

    async def embed(self, texts: Sequence[str]) -> Any:
        self.asked.append(list(texts))
        return await super().embed(texts)


def counted(dim: int = 16) -> _Counted:
    embedder = _Counted(HashEmbedder.Config(dim=dim))
    embedder.asked = []
    return embedder


@pytest.mark.req("N-3")
def test_a_text_is_embedded_once_and_only_what_is_new_is_asked_for() -> None:
    embedder = counted()
    embedding = Embedding(embedder)
    first = drive(embedding.many(["one", "two"]))
    second = drive(embedding.many(["two", "three", "one"]))
    assert embedder.asked == [["one", "two"], ["three"]]
    assert second[0] == first[1]
    assert second[2] == first[0]
    assert embedding.cache.stats() == {"size": 3, "max_size": 1000, "hits": 2, "misses": 3}


@pytest.mark.req("N-3", "X-20")
def test_two_spaces_never_share_an_entry() -> None:
    cache = VectorCache()
    small, large = Embedding(counted(16), cache), Embedding(counted(32), cache)
    assert drive(small.signature()) == "hash:bow-v1:16"
    assert len(drive(small.one("tea"))) == 16
    assert len(drive(large.one("tea"))) == 32


def test_without_an_embedder_there_is_no_space() -> None:
    embedding = Embedding(None)
    assert not embedding.on
    assert drive(embedding.signature()) == ""
    with pytest.raises(EmbeddingError):
        drive(embedding.one("tea"))


class _Failing(HashEmbedder):
    """Fails for some texts in a way that is chosen."""

    failure: Exception
    calls: list[int]

    async def embed(self, texts: Sequence[str]) -> Any:
        self.calls.append(len(texts))
        if "bad" in texts:
            raise self.failure
        return await super().embed(texts)


@pytest.mark.req("C-55", "C-47")
@pytest.mark.parametrize(
    ("failure", "calls", "lost"),
    [
        (EmbeddingError("cannot"), [3, 1, 1, 1], 1),
        (ValueError("cannot"), [3, 1, 1, 1], 1),
        (BackendUnavailable("cannot"), [3], 3),
        (AuthenticationFailed("cannot"), [3], 3),
    ],
)
def test_one_bad_text_costs_the_others_nothing_and_an_outage_is_not_probed(
    failure: Exception, calls: list[int], lost: int
) -> None:
    embedder = _Failing(HashEmbedder.Config(dim=16))
    embedder.failure, embedder.calls = failure, []
    vectors = drive(Embedding(embedder).many(["one", "bad", "two"]))
    assert embedder.calls == calls
    assert [isinstance(vector, MemstoneError) for vector in vectors].count(True) == lost
    assert isinstance(vectors[1], MemstoneError)
    assert "cannot" in vectors[1].message


@pytest.mark.req("R-28")
def test_vectors_are_checked_and_normalised() -> None:
    (unit, zero) = checked_vectors([[3.0, 4.0], [0.0, 0.0]], 2, 2)
    assert np.frombuffer(unit, "<f4").tolist() == pytest.approx([0.6, 0.8])
    assert np.frombuffer(zero, "<f4").tolist() == [0.0, 0.0]
    for wrong in ([[1.0, 2.0]], [1.0, 2.0], [[[1.0, 2.0]], [[1.0, 2.0]]]):
        with pytest.raises(EmbeddingError):
            checked_vectors(wrong, 2, 2)
    with pytest.raises(DimensionMismatch, match="3 dimensions"):
        checked_vectors([[1.0, 2.0, 3.0]], 1, 2)
    for wrong in ([[float("nan"), 1.0]], [[float("inf"), 1.0]]):
        with pytest.raises(DimensionMismatch, match="NaN or infinity"):
            checked_vectors(wrong, 1, 2)
