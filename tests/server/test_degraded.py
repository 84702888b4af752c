"""What an answer tells of a store that failed beside it: that it did, and nothing of its insides."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memstone import Memory
from memstone.errors import BackendError, Corrupted, MemstoneError, StorageBusy, StorageError, VectorStoreError
from memstone.server.errors import hide_store_details
from tests.server.gate import Gate, gated
from tests.server.world import World

INSIDE = "/srv/secret/memstone.db: no such column: SELECT text FROM memories"
WHERE = {"query": "Where do I live?", "user_id": "alice"}
HIDDEN = "the store is not available right now"


@pytest.fixture(params=[StorageError, Corrupted])
def broken(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[StorageError]:
    """A text index that fails and says where and at what."""
    kind: type[StorageError] = request.param

    async def fails(*_: Any) -> Any:
        raise kind(INSIDE)

    monkeypatch.setattr("memstone.adapters.text.local.LocalText.search", fails)
    return kind


CALLS = [
    ("/v1/context", {**WHERE, "gate": "always"}),
    ("/v1/context", {**WHERE, "gate": "always"}),
    ("/v1/memories/search", WHERE),
    ("/v1/memories/search", {**WHERE, "limit": 5}),
    ("/v1/memories/search/preview", WHERE),
]


@pytest.mark.parametrize(("path", "body"), CALLS)
def test_an_answer_names_the_code_of_a_failure_and_not_what_the_store_said(
    world: World, broken: type[StorageError], path: str, body: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    world.client.post("/v1/memories", json={"messages": "I live in Oslo", "user_id": "alice", "infer": False})
    with caplog.at_level(logging.WARNING, "memstone"):
        answer = world.client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert "secret" not in answer.text
    assert "SELECT" not in answer.text
    reply = answer.json().get("resolution", answer.json())
    (note,) = [one for one in reply["degraded"] if one.get("channel") == "text"]
    assert (note["code"], note["message"]) == (broken.code, HIDDEN)
    assert note["hint"] == broken.default_hint
    assert INSIDE in caplog.text or any(INSIDE in str(vars(one)) for one in caplog.records), "the log has it"


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path, context={"gate": "always"}) as made:
        made.memory.add("I live in Oslo", user_id="alice")
        yield made


def test_the_receipt_of_a_chat_tells_callers_no_more_and_the_library_all(
    gate: Gate, broken: type[StorageError]
) -> None:
    visible = gate.openai(user_id="alice").chat.completions.with_raw_response.create(
        model="m", messages=[{"role": "user", "content": "Where do I live?"}]
    )
    number = visible.headers["x-memstone-receipt"]
    headers = {"Authorization": f"Bearer {gate.key(user_id='alice')}"}
    for answer in (
        httpx2.get(f"{gate.url}/v1/receipts/{number}", headers=headers, timeout=120),
        httpx2.get(f"{gate.url}/v1/receipts/{number}", headers=headers, timeout=120),
    ):
        assert answer.status_code == 200, answer.text
        assert [one["code"] for one in answer.json()["degraded"]] == [broken.code]
        assert "secret" not in answer.text
    stored = gate.memory.receipt(number)
    assert stored is not None
    assert [one["message"] for one in stored["degraded"]] == [INSIDE]


def test_the_library_tells_what_the_store_said(broken: type[StorageError]) -> None:
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as memory:
        memory.add("I live in Oslo", user_id="alice", infer=False)
        (note,) = memory.search("Oslo", user_id="alice")["degraded"]
    assert (note["code"], note["message"]) == (broken.code, INSIDE)


@pytest.mark.parametrize("kind", [StorageError, StorageBusy, Corrupted])
@pytest.mark.parametrize("place", ["degraded", "checks", "results"])
def test_failures_are_found_where_answers_tell_of_them(kind: type[MemstoneError], place: str) -> None:
    answer = kind(INSIDE).as_dict()
    for note in ({"step": "x", **answer}, {"check": "x", "error": answer}):
        visible = hide_store_details({"job": {"result": 1}, "result": {place: (note, "other")}})
        assert INSIDE not in str(visible)
        assert kind.code in str(visible)
        assert visible["result"][place][1] == "other"


def test_what_is_no_failure_of_a_store_stays_as_it_is() -> None:
    outside = BackendError("the reranker says no", kind="rerank", name="x").as_dict()
    item = {"id": "1", "memory": "storage", "metadata": {"code": "storage", "message": "mine"}, "code": ["storage"]}
    for answer in ({"degraded": [outside]}, {"results": [item]}, item, [1, None], None, "text"):
        assert hide_store_details(answer) == answer
    other = VectorStoreError("10.0.0.3: relation does not exist", kind="vectors", name="pgvector").as_dict()
    assert hide_store_details({"degraded": [other]})["degraded"][0]["message"] == HIDDEN
