"""What is said several times in one batch, before and after other things, is stored once."""

from __future__ import annotations

import pytest

from tests.faces.harness import Face


@pytest.mark.req("N-49")
async def test_whatever_stands_between_them_repeats_are_known(face: Face) -> None:
    await face.remember("known before")
    texts = ["one", "two", "one", "three", "one", "two", "known before", "three", "One!"]
    answer = await face.store_many([{"messages": text, "user_id": "alice"} for text in texts])

    events = [result["results"][0]["event"] for result in answer["results"]]
    assert events == ["ADD", "ADD", "NONE", "ADD", "NONE", "NONE", "NONE", "NONE", "NONE"]
    ids = [result["results"][0]["id"] for result in answer["results"]]
    assert ids[0] == ids[2] == ids[4] == ids[8]
    assert await face.listed() == ["three", "two", "one", "known before"]


@pytest.mark.req("N-49")
async def test_the_last_word_under_one_key_counts(face: Face) -> None:
    items = [("blue", "colour"), ("tea", "drink"), ("green", "colour"), ("coffee", "drink"), ("green", "colour")]
    answer = await face.store_many([{"messages": text, "key": key, "user_id": "alice"} for text, key in items])

    assert [result["results"][0]["event"] for result in answer["results"]] == ["ADD", "ADD", "UPDATE", "UPDATE", "NONE"]
    assert sorted(await face.listed()) == ["coffee", "green"]
