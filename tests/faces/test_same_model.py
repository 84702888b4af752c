"""A model passed as a function: another one under the same name is noticed by what it makes of a stored text."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memstone import AsyncMemory, Memory
from tests.faces.harness import ON_DISK, Face, Opens, texts


class Model:
    """A model of eight dimensions; one seed, one model. ``noise`` is how much its answers vary."""

    def __init__(self, seed: int, noise: float = 0.0) -> None:
        self._letters = np.random.default_rng(seed).normal(size=(256, 8))
        self._random = np.random.default_rng(seed + 1000)
        self._noise = noise
        self.down = False
        self.calls = 0

    def encode(self, items: list[str]) -> Any:
        """One row per text."""
        self.calls += 1
        if self.down:
            raise ConnectionError("no route to host")
        rows = np.array([sum((self._letters[ord(one) % 256] for one in text), np.zeros(8)) for text in items])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows + self._noise * self._random.normal(size=rows.shape)


async def signatures(face: Face) -> dict[str, str]:
    return {one["signature"]: one["state"] for one in (await face.stats())["indexes"]}


async def built(opens: Opens, model: Model) -> None:
    face = opens(embedder=model.encode)
    await face.remember("tea in the morning")
    await face.close()


@ON_DISK
@pytest.mark.req("R-28", "X-20")
async def test_another_model_under_the_same_name_is_noticed_and_reindex_rebuilds(opens: Opens) -> None:
    await built(opens, Model(1))
    other = Model(2)

    face = opens(embedder=other.encode)
    found = await face.search("tea in the morning", user_id="alice", explain=True)

    assert texts(found) == ["tea in the morning"]
    assert found["degraded"][0]["code"] == "needs_reindex"
    assert "semantic" not in found["results"][0]["score_parts"]
    report = await face.admin.reindex()
    assert (report["signature"], report["indexed"], report["dropped"]) == ("callable:Model.encode~2:8", 1, 1)
    again = await face.search("tea in the morning", user_id="alice", explain=True)
    assert "degraded" not in again
    assert again["results"][0]["score_parts"]["semantic"] == pytest.approx(1.0)
    await face.close()
    reopened = opens(embedder=other.encode)
    assert "degraded" not in await reopened.search("tea in the morning", user_id="alice")
    assert await signatures(reopened) == {"callable:Model.encode~2:8": "active"}


@ON_DISK
@pytest.mark.req("R-28", "X-20")
async def test_what_is_added_meanwhile_does_not_mix_with_the_old_vectors(opens: Opens) -> None:
    await built(opens, Model(1))

    face = opens(embedder=Model(2).encode)
    assert (await face.store("coffee at noon", user_id="alice"))["status"] == "ok"

    assert await signatures(face) == {"callable:Model.encode:8": "active", "callable:Model.encode~2:8": "building"}
    stored_text = "SELECT signature, count(*) FROM vectors GROUP BY signature ORDER BY signature"
    assert opens.rows(stored_text) == [("callable:Model.encode:8", 1), ("callable:Model.encode~2:8", 1)]
    await face.close()
    for model, degraded in ((Model(1), False), (Model(2), True)):  # each knows its own
        reopened = opens(embedder=model.encode)
        assert ("degraded" in await reopened.search("tea", user_id="alice")) is degraded
        await reopened.close()


@ON_DISK
@pytest.mark.req("R-28")
async def test_a_model_whose_answers_vary_a_little_stays_the_same(opens: Opens) -> None:
    await built(opens, Model(1, noise=1e-3))
    for seed_of_noise in range(5):
        model = Model(1, noise=1e-3)
        model._random = np.random.default_rng(seed_of_noise)
        face = opens(embedder=model.encode)
        assert "degraded" not in await face.search("tea in the morning", user_id="alice")
        assert await signatures(face) == {"callable:Model.encode:8": "active"}
        await face.close()


@ON_DISK
@pytest.mark.req("R-28", "C-55")
async def test_a_model_that_is_down_when_the_store_is_opened_is_recognised_later(opens: Opens) -> None:
    await built(opens, Model(1))
    other = Model(2)
    other.down = True
    face = opens(embedder=other.encode)
    assert (await face.store("coffee at noon", user_id="alice"))["status"] == "deferred"
    other.down = False

    await face.store("milk at night", user_id="bob", strict=True)

    assert await face.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}
    assert (await face.search("tea", user_id="alice"))["degraded"][0]["code"] == "needs_reindex"
    stored_text = "SELECT count(*) FROM vectors WHERE signature = 'callable:Model.encode:8'"
    assert opens.rows(stored_text) == [(1,)]


@pytest.mark.req("R-28")
async def test_a_store_without_vectors_of_this_name_costs_no_call(opens: Opens) -> None:
    model = Model(1)
    face = opens(embedder=model.encode)
    await face.get_all(user_id="alice")
    assert model.calls == 0


@ON_DISK
@pytest.mark.req("R-28")
async def test_reading_by_id_asks_no_model(opens: Opens) -> None:
    await built(opens, Model(1))
    other = Model(2)
    face = opens(embedder=other.encode)

    await face.get_all(user_id="alice")

    assert other.calls == 0


def _spaces(path: Path) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(path)) as store:
        return store.execute("SELECT signature, count(*) FROM vectors GROUP BY signature ORDER BY 1").fetchall()


@pytest.mark.req("R-28", "X-20")
def test_many_first_calls_at_once_find_the_same_name(tmp_path: Path) -> None:
    """Side by side on a loop, and in threads: nobody writes under the old name while another is still finding out."""
    for kind, file in (("tasks", tmp_path / "tasks.db"), ("threads", tmp_path / "threads.db")):
        config = {"store": {"url": f"sqlite:///{file}"}}
        with Memory(config, embedder=Model(1).encode) as memory:
            memory.add("tea in the morning", user_id="alice", infer=False)
        notes = [f"note {number}" for number in range(6)]
        if kind == "threads":
            with Memory(config, embedder=Model(2).encode) as memory, ThreadPoolExecutor(6) as pool:
                list(pool.map(lambda note: memory.add(note, user_id="bob", infer=False), notes))
        else:
            asyncio.run(_side_by_side(config, notes))

        assert _spaces(file) == [("callable:Model.encode:8", 1), ("callable:Model.encode~2:8", 6)]


async def _side_by_side(config: dict[str, Any], notes: list[str]) -> None:
    async with AsyncMemory(config, embedder=Model(2).encode) as memory:
        await asyncio.gather(*(memory.add(note, user_id="bob", infer=False) for note in notes))
