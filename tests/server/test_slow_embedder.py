"""An embedder that is slow, hangs or fails costs the search by meaning; the profile and the words are still there."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from tests.server.gate import Gate, gated, until
from tests.server.upstream import served

_SAID = ("I live in Oslo.", "My cat is called Pixel.", "I am allergic to walnuts.")


class Embeddings:
    """Answers like the embeddings of OpenAI, after ``delay`` seconds, or with the status ``broken``."""

    def __init__(self) -> None:
        self.delay = 0.0
        self.broken = 0
        self.asked: list[str] = []
        self.app = FastAPI()
        self.app.post("/v1/embeddings")(self._embed)

    async def _embed(self, request: Request) -> Any:
        value = (await request.json())["input"]
        self.asked += value
        await asyncio.sleep(self.delay)
        if self.broken:
            return JSONResponse({"error": {"message": "no"}}, self.broken)
        rows = [{"index": at, "embedding": _vector(text)} for at, text in enumerate(value)]
        return {"data": rows, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def _vector(text: str) -> list[float]:
    words = {int(hashlib.sha256(word.encode()).hexdigest(), 16) % 32 for word in text.lower().split()}
    return [1.0 if at in words else 0.01 for at in range(32)]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[Gate, Embeddings]]:
    embeddings = Embeddings()
    with served(embeddings.app) as address:
        config = {"base_url": f"{address}/v1", "api_key": "sk", "model": "m", "retries": 0}
        embedder = {"provider": "openai", "config": config}
        with gated(tmp_path, embedder=embedder, context={"embed_seconds": 0.4}) as gate:
            for text in _SAID:
                gate.memory.add(text, user_id="alice")
            yield gate, embeddings


def _asked(gate: Gate, client: Any, text: str) -> tuple[str, dict[str, str]]:
    raw = client.chat.completions.with_raw_response.create(model="m", messages=[{"role": "user", "content": text}])
    assert raw.parse().choices[0].message.content == "Noted."
    return gate.sent, dict(raw.headers)


def _channels(gate: Gate, receipt: str) -> list[str]:
    """What a receipt says could not serve; it is written after the answer."""
    until(lambda: gate.memory.receipt(receipt) is not None)
    found = gate.memory.receipt(receipt)
    assert found is not None
    return [one["channel"] for one in found["degraded"]]


@pytest.mark.req("P-8", "O-5")
@pytest.mark.parametrize(("delay", "broken"), [(5.0, 0), (0.0, 500)], ids=["hangs", "fails"])
def test_the_profile_and_the_words_answer_and_the_answer_says_so(
    world: tuple[Gate, Embeddings], delay: float, broken: int
) -> None:
    gate, embeddings = world
    client = gate.openai(user_id="alice")
    embeddings.delay, embeddings.broken = delay, broken
    for question in ("Where do I live?", "what is my cat called?"):
        sent, headers = _asked(gate, client, question)
        assert all(word in sent for word in ("Oslo", "Pixel", "walnuts")), sent
        assert headers["x-memstone-degraded"] == "dense"
        assert _channels(gate, headers["x-memstone-receipt"]) == ["dense"]


@pytest.mark.req("P-8")
def test_an_embedder_that_takes_its_time_is_waited_for(world: tuple[Gate, Embeddings]) -> None:
    gate, embeddings = world
    embeddings.delay = 0.1
    sent, headers = _asked(gate, gate.openai(user_id="alice"), "Where do I live?")
    assert "Oslo" in sent
    assert "x-memstone-degraded" not in headers


@pytest.mark.req("P-8", "O-5")
def test_an_embedder_leaves_time_for_the_words(tmp_path: Path) -> None:
    embeddings = Embeddings()
    with served(embeddings.app) as address:
        config = {"base_url": f"{address}/v1", "api_key": "sk", "model": "m", "retries": 0}
        waits: dict[str, Any] = {
            "context": {"embed_seconds": 60.0},
            "gateway": {"recall_ms": 1_500, "profile_ms": 60_000},
        }
        with gated(tmp_path, embedder={"provider": "openai", "config": config}, **waits) as gate:
            cat, *_ = (gate.memory.add(text, user_id="alice")["results"][0] for text in (_SAID[1], _SAID[0]))
            gate.memory.profile.set_visibility(cat["id"], "hidden")  # so that it is recalled, or not shown at all
            embeddings.delay = 2.5  # longer than the whole may take
            sent, headers = _asked(gate, gate.openai(user_id="alice"), "what is my cat called?")
            assert ("Oslo" in sent, "Pixel" in sent) == (True, True), sent
            assert headers["x-memstone-degraded"] == "dense"


@pytest.mark.req("P-8")
def test_whom_a_message_names_is_looked_for_in_their_own_words_too(world: tuple[Gate, Embeddings]) -> None:
    gate, embeddings = world
    gate.memory.add([{"role": "user", "name": "Bea", "content": "I keep my bees in Bergen."}], user_id="alice")
    sent, headers = _asked(gate, gate.openai(user_id="alice"), "Where does Bea keep her bees?")
    assert "Bergen" in sent
    assert "x-memstone-degraded" not in headers
    assert "Where does I keep her bees?" in embeddings.asked


async def _hang(*_: Any, **__: Any) -> None:
    await asyncio.sleep(600)


@pytest.mark.req("P-8", "O-5")
@pytest.mark.parametrize("mode", ["profile", "heuristic"])
def test_a_search_that_hangs_costs_what_is_recalled_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    with gated(tmp_path, context={"gate": mode}, gateway={"recall_ms": 100, "profile_ms": 120_000}) as gate:
        gate.memory.add("My name is Alice and I live in Oslo.", user_id="alice")
        gate.memory.identity.add_override("Answer in one sentence.", user_id="alice")
        # not one unit on a thread, where nothing could be waited for
        monkeypatch.setattr("memstone.engine.runtime.Runtime.alone", False)
        monkeypatch.setattr("memstone.engine.recall.hits.understand_query", _hang)
        sent, headers = _asked(gate, gate.openai(user_id="alice"), "Where do I live?")
        assert all(words in sent for words in ("Oslo", "Answer in one sentence.")), sent
        assert headers["x-memstone-degraded"] == "recall"
        receipt = headers["x-memstone-receipt"]
        until(lambda: gate.memory.receipt(receipt) is not None)
        found = gate.memory.receipt(receipt)
        assert found is not None
        (note,) = found["degraded"]
        assert (note["step"], note["code"]) == ("recall", "deadline")


@pytest.mark.req("O-5")
def test_in_a_burst_every_chat_has_the_profile_however_late_its_search_is(tmp_path: Path) -> None:
    with gated(tmp_path, gateway={"recall_ms": 0, "profile_ms": 120_000}) as gate:
        gate.memory.add("I live in Oslo.", user_id="alice")
        client = gate.openai(user_id="alice")

        def one(number: int) -> dict[str, str]:
            raw = client.chat.completions.with_raw_response.create(
                model="m", messages=[{"role": "user", "content": f"Where do I live? ({number})"}]
            )
            return dict(raw.headers)

        with ThreadPoolExecutor(100) as crowd:
            answers = list(crowd.map(one, range(100)))
        assert sum("Oslo" in str(one) for one in gate.upstream.seen) == 100
        assert {one["x-memstone-degraded"] for one in answers} == {"recall"}
        assert "none" not in {one["x-memstone-receipt"] for one in answers}
