"""An embedding service that answers nobody: calls do not wait for it, and a search answers by words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memstone.testing.wire import KEY, WireReply, WireServer, fake_openai
from tests.faces.harness import Face, Opens, texts

DOWN = WireReply(503)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(fake_openai) as running:
        yield running


def configured(server: WireServer, **options: Any) -> dict[str, Any]:
    config = {"base_url": f"{server.url}/v1", "api_key": KEY, "dimensions": 16, **options}
    return {"embedder": {"provider": "openai", "config": config}, "embedding_cache": {"entries": 0}}


@pytest.mark.req("C-53", "R-28")
async def test_a_search_asks_once_and_answers_by_words(opens: Opens, server: WireServer) -> None:
    face = opens(configured(server, retries=3))
    await face.remember("the cello stands in the hall")
    asked = len(server.requests)
    server.script(*[DOWN] * 4)

    found = await face.search("cello", user_id="alice")

    assert texts(found) == ["the cello stands in the hall"]
    assert found["degraded"][0]["code"] == "backend_unavailable"
    assert len(server.requests) == asked + 1


@pytest.mark.req("C-53", "R-28")
async def test_a_search_of_a_store_without_an_index_says_so_too(opens: Opens, server: WireServer) -> None:
    face = opens(configured(server, retries=0))
    server.script(*[DOWN] * 2)
    assert (await face.store("the cello stands in the hall", user_id="alice"))["status"] == "deferred"

    found = await face.search("cello", user_id="alice")

    assert (found["results"], found["degraded"][0]["code"]) == ([], "backend_unavailable")


@pytest.mark.req("C-53", "C-55")
async def test_a_service_that_is_down_is_not_asked_by_everybody(opens: Opens, server: WireServer) -> None:
    face = opens(configured(server, retries=0))
    await face.remember("the cello stands in the hall")
    server.script(*[DOWN] * 4)
    for number in range(4):
        await face.search(f"cello {number}", user_id="alice")
    asked = len(server.requests)

    found = await face.search("cello", user_id="alice")
    added = await face.add("I live in Rome.", user_id="alice")

    assert texts(found) == ["the cello stands in the hall"]
    assert "not be called" in found["degraded"][0]["message"]
    assert (added["status"], added["error"]["retryable"]) == ("deferred", True)
    assert len(server.requests) == asked


@pytest.mark.req("C-53", "C-55")
async def test_an_add_that_learns_sends_its_texts_once(opens: Opens, server: WireServer) -> None:
    face = opens(configured(server, retries=0))
    server.script(*[DOWN] * 2)

    assert (await face.add("I live in Rome.", user_id="alice"))["status"] == "deferred"

    assert len(server.requests) == 1
    assert texts(await face.get_all(user_id="alice", layers=["turn"])) == ["I live in Rome."]


async def test_a_text_that_is_refused_is_no_outage(opens: Opens, server: WireServer) -> None:
    face: Face = opens(configured(server, retries=0))
    server.script(*[WireReply(400, json={"error": {"message": "too long"}})] * 5)
    for number in range(5):
        assert (await face.store(f"fact {number}", user_id=f"user{number}"))["status"] == "deferred"

    assert (await face.store("fine", user_id="alice"))["status"] == "ok"
