"""``add(strict=True)`` and an embedder that fails: the error is raised, and nothing is written, learned or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memstone.errors import EmbeddingError
from tests.faces.harness import Face, Opens, texts


class _Picky:
    """An embedding function that fails for some texts."""

    def __init__(self) -> None:
        self.bad: set[str] = set()

    def __call__(self, items: list[str]) -> Any:
        if self.bad & set(items):
            raise RuntimeError("down")
        return [np.random.default_rng(list(text.encode())).standard_normal(32) for text in items]


@pytest.fixture
def model() -> _Picky:
    return _Picky()


@pytest.fixture
def face(opens: Opens, model: _Picky) -> Face:
    return opens({"embedding_cache": {"entries": 0}}, embedder=model)


@pytest.mark.req("X-25", "C-55")
@pytest.mark.parametrize(
    ("said", "bad", "infer"),
    [
        ("a note", "a note", False),
        (["a note", "another"], "another", False),
        (["I have two cats.", "I love tea."], "User loves tea.", True),
    ],
)
async def test_whoever_is_strict_gets_the_error_and_nothing_is_written(
    face: Face, model: _Picky, said: Any, bad: str, *, infer: bool
) -> None:
    await face.remember("before")
    before = await face.export(everybody=True)
    model.bad = {bad}

    with pytest.raises(EmbeddingError, match="down"):
        await face.add(said, user_id="alice", infer=infer, strict=True)

    assert await face.export(everybody=True) == before
    assert (await face.stats())["pending"] == 0


@pytest.mark.req("X-25", "N-49")
async def test_in_a_batch_the_strict_item_fails_by_itself(face: Face, model: _Picky) -> None:
    model.bad = {"bad"}
    items = [
        {"messages": ["fine", "bad"], "user_id": "alice", "strict": True},
        {"messages": ["good", "bad"], "user_id": "alice"},
        {"messages": "well", "user_id": "alice", "strict": True},
    ]

    answer = await face.store_many(items)

    assert [one["status"] for one in answer["results"]] == ["error", "partial", "ok"]
    assert (answer["results"][0]["error"]["code"], answer["results"][0]["results"]) == ("embedding", [])
    assert texts(answer["results"][1]) == ["good"]
    assert sorted(await face.listed()) == ["good", "well"]
    assert (await face.stats())["pending"] == 1


@pytest.mark.req("C-55")
@pytest.mark.parametrize("infer", [True, False])
async def test_whatever_is_put_off_says_why_in_the_same_place(face: Face, model: _Picky, *, infer: bool) -> None:
    model.bad = {"I love tea.", "User loves tea."}

    answer = await face.add("I love tea.", user_id="alice", infer=infer)

    assert answer["status"] == "deferred"
    assert (answer["error"]["code"], answer["error"]["message"].endswith("RuntimeError: down")) == ("embedding", True)
