"""``add(infer=True)`` when a model fails: nothing said is lost, nothing is learned twice, and the answer says it."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from typing import Any, Final

import pytest

from memstone.errors import BackendTimeout, LLMError, MemstoneError
from memstone.testing.wire import KEY, FakeChat, WireReply, WireRequest, WireServer, completion_reply
from tests.faces.harness import ON_DISK, Face, Opens
from tests.faces.infer_steps import said_in

_TEA: Final = {"text": "User loves tea.", "turn": 1, "quote": "love tea"}
_OSLO: Final = {"text": "User lives in Oslo.", "turn": 1, "quote": "live in Oslo"}
_SAID: Final = "I love tea and I live in Oslo."


def facts(*found: dict[str, Any]) -> str:
    return json.dumps({"facts": found})


class Model:
    """A chat server that is down, or answers with the facts that were said."""

    def __init__(self) -> None:
        self.fails_with: WireReply | None = None
        self.decision: str | WireReply = '{"decisions": []}'
        self.asked: list[str] = []
        self._checks = FakeChat("{}")

    def __call__(self, request: WireRequest) -> WireReply:
        """The answer to a request that is well formed."""
        checked = self._checks(request)
        if checked.status != 200:
            return checked
        name = request.json["response_format"]["json_schema"]["name"]
        self.asked.append(name)
        if self.fails_with is not None:
            return self.fails_with
        if name == "decisions":
            return completion_reply(self.decision) if isinstance(self.decision, str) else self.decision
        user = request.json["messages"][-1]["content"]
        visible, _, message = user.rpartition("Conversation:\n" if name == "facts" else "New turns:\n")
        known = [_TEA, _OSLO, {"text": "User hates tea.", "turn": 1, "quote": "hate tea"}]
        found = [fact for fact in known if str(fact["quote"]) in message]
        loved = re.search(r"^(\d+)\. \S+ User loves tea\.", visible, re.MULTILINE)
        if name == "operations" and loved:
            change = {"op": "UPDATE", "memory": int(loved[1])}
            found = [{**one, **change} if one["quote"] == "hate tea" else one for one in found]
        return completion_reply(facts(*found))


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def server(model: Model) -> Iterator[WireServer]:
    with WireServer(model) as running:
        yield running


def configured(url: str, **options: Any) -> dict[str, Any]:
    config = {"base_url": f"{url}/v1", "api_key": KEY, "model": "m", "retries": 0, **options}
    return {"llm": {"provider": "openai", "config": config}}


@pytest.fixture
def twice(opens: Opens, server: WireServer) -> Face:
    """A memory that asks for facts first, and then what becomes of them."""
    return opens({**configured(server.url), "extract": {"questions": 2}})


@pytest.fixture
def face(opens: Opens, server: WireServer) -> Face:
    return opens(configured(server.url))


# --- the model that finds facts ---------------------------------------------------------------------------------------

_OUTAGES: Final = {
    "rate limit": (WireReply(429, headers={"Retry-After": "30"}), "rate_limited"),
    "server error": (WireReply(500), "backend_unavailable"),
    "gateway page": (WireReply(503, body=b"<html>busy</html>"), "backend_unavailable"),
    "hung up": (WireReply(hang_up=True), "backend_unavailable"),
    "a page instead of an answer": (WireReply(200, body=b"<html>hello</html>"), None),
    "empty": (completion_reply(""), None),
    "cut off": (completion_reply(facts(_TEA)[:-20], finish_reason="length"), None),
    "refused": (completion_reply(None, refusal="I cannot help with that."), "model_refused"),
    "two megabytes": (completion_reply("x" * (2 * 1024 * 1024 + 1)), None),
    "prose": (completion_reply("Sure! The user seems to like tea."), "bad_model_output"),
    "another shape": (completion_reply('"User loves tea."'), "bad_model_output"),
}


@pytest.mark.req("C-54", "C-58.36", "X-25", "R-29")
@pytest.mark.parametrize("outage", _OUTAGES)
async def test_what_cannot_be_learned_now_is_learned_with_the_next_words(
    face: Face, model: Model, opens: Opens, outage: str
) -> None:
    model.fails_with, code = _OUTAGES[outage]

    answer = await face.add(_SAID, user_id="alice", metadata={"via": "app"}, infer=True)

    assert (answer["status"], answer["results"]) == ("deferred", [])
    assert answer["error"]["code"] == code or code is None
    assert answer["error"]["message"]
    assert (await face.stats())["pending"] == 1
    assert await said_in(face) == [_SAID]
    assert await face.listed() == []

    model.fails_with = None
    opens.clock.advance(minutes=5)
    after = await face.add("How is the weather?", user_id="alice", infer=True)

    assert after == {"results": [], "status": "ok"}, "what was learned late belongs to the call before"
    assert sorted(await face.listed()) == ["User lives in Oslo.", "User loves tea."]
    assert {str(item["metadata"]) for item in (await face.get_all(user_id="alice"))["results"]} == {"{'via': 'app'}"}
    stats = await face.stats()
    assert (stats["pending"], stats["events"]) == (0, 2)
    assert await said_in(face) == ["How is the weather?", _SAID]
    asked = len(model.asked)
    assert await face.sessions.flush(everybody=True) == {"stored": 0, "waiting": 0}
    assert len(model.asked) == asked


@pytest.mark.req("X-25", "C-54")
@pytest.mark.parametrize("outage", _OUTAGES)
async def test_whoever_is_strict_gets_the_error_and_nothing_waits(face: Face, model: Model, outage: str) -> None:
    model.fails_with, code = _OUTAGES[outage]

    with pytest.raises(LLMError) as caught:
        await face.add(_SAID, user_id="alice", infer=True, strict=True)

    underneath = caught.value.__cause__
    original = underneath if isinstance(underneath, MemstoneError) else caught.value
    assert original.code == code or code is None
    assert caught.value.retryable is original.retryable
    assert caught.value.hint
    stats = await face.stats()
    assert (stats["pending"], stats["memories"], stats["events"]) == (0, 0, 0)
    model.fails_with = None
    assert len((await face.add(_SAID, user_id="alice", infer=True, strict=True))["results"]) == 2


@pytest.mark.req("C-54", "X-25")
async def test_nobody_at_the_address_defers_as_well(opens: Opens) -> None:
    with socket.socket() as taken:  # bound and not listening: refuses, and nobody else gets the port meanwhile
        taken.bind(("127.0.0.1", 0))
        face = opens(configured(f"http://127.0.0.1:{taken.getsockname()[1]}"))
        answer = await face.add(_SAID, user_id="alice", infer=True)
    assert (answer["status"], answer["error"]["code"]) == ("deferred", "backend_unavailable")
    assert answer["error"]["retryable"] is True
    assert (await face.stats())["pending"] == 1


@ON_DISK
@pytest.mark.req("C-54", "C-58.36", "X-25", "R-29")
async def test_a_model_that_takes_too_long_defers_as_well(opens: Opens, model: Model, server: WireServer) -> None:
    model.fails_with = WireReply(delay=600)
    hasty = opens(configured(server.url, timeout=0.2))

    with pytest.raises(LLMError) as caught:
        await hasty.add(_SAID, user_id="alice", infer=True, strict=True)
    assert isinstance(caught.value.__cause__, BackendTimeout)
    answer = await hasty.add(_SAID, user_id="alice", infer=True)

    assert (answer["status"], answer["results"], answer["error"]["code"]) == ("deferred", [], "backend_timeout")
    assert (await hasty.stats())["pending"] == 1
    assert await said_in(hasty) == [_SAID]
    model.fails_with = None
    patient = opens(configured(server.url))
    assert await patient.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}
    assert sorted(await patient.listed()) == ["User lives in Oslo.", "User loves tea."]


@pytest.mark.req("R-29", "X-25")
async def test_nothing_to_learn_is_not_an_outage(face: Face, model: Model) -> None:
    assert await face.add("Hello!", user_id="alice", infer=True) == {"results": [], "status": "ok"}
    assert (await face.stats())["pending"] == 0


@pytest.mark.req("X-25", "R-29")
async def test_flush_learns_what_waits_once_and_in_its_own_scope(face: Face, model: Model) -> None:
    model.fails_with = WireReply(500)
    await face.add(_SAID, user_id="alice", infer=True)
    assert await face.sessions.flush(user_id="alice") == {"stored": 0, "waiting": 1}
    model.fails_with = None

    assert await face.sessions.flush(user_id="bob") == {"stored": 0, "waiting": 0}
    assert await face.sessions.flush(user_id="alice") == {"stored": 1, "waiting": 0}
    assert await face.sessions.flush(everybody=True) == {"stored": 0, "waiting": 0}

    assert sorted(await face.listed()) == ["User lives in Oslo.", "User loves tea."]
    assert await face.listed(user_id="bob") == []
    assert (await face.stats())["events"] == 2


@pytest.mark.req("R-29", "X-25")
async def test_another_scope_does_not_learn_what_waits(face: Face, model: Model) -> None:
    model.fails_with = WireReply(500)
    await face.add(_SAID, user_id="alice", infer=True)
    model.fails_with = None

    await face.add("Hello!", user_id="bob", infer=True)

    assert (await face.stats())["pending"] == 1
    assert await face.listed() == []


@pytest.mark.req("R-29", "X-25")
async def test_several_conversations_wait_in_line_and_are_kept_as_they_were_said(
    face: Face, model: Model, opens: Opens
) -> None:
    model.fails_with = completion_reply("I would rather chat.")  # no outage, after which nobody would ask for a while
    for message in ("I love tea.", "I live in Oslo.", "I hate tea."):
        opens.clock.advance(minutes=1)
        assert (await face.add(message, user_id="alice", infer=True))["status"] == "deferred"
    model.fails_with = None

    assert await face.sessions.flush(everybody=True) == {"stored": 3, "waiting": 0}

    assert sorted(await face.listed()) == ["User hates tea.", "User lives in Oslo."]
    assert (await face.stats())["pending"] == 0
    assert await said_in(face) == ["I hate tea.", "I live in Oslo.", "I love tea."], "each was said once"


@ON_DISK
@pytest.mark.req("R-29", "X-25")
async def test_what_waits_survives_the_process(face: Face, model: Model, opens: Opens, server: WireServer) -> None:
    model.fails_with = WireReply(500)
    await face.add(_SAID, user_id="alice", infer=True, prompt="Only drinks and places.")
    await face.close()
    model.fails_with = None

    again = opens(configured(server.url))
    assert await again.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}

    assert sorted(await again.listed()) == ["User lives in Oslo.", "User loves tea."]
    assert server.requests[-1].json["messages"][0]["content"].startswith("Only drinks and places.")


@pytest.mark.req("X-25", "P-21")
async def test_what_waited_does_not_overturn_what_was_said_since(face: Face, model: Model, opens: Opens) -> None:
    model.fails_with = WireReply(500)
    await face.add("I love tea.", user_id="alice", infer=True)
    model.fails_with = None
    opens.clock.advance(minutes=1)
    await face.add("I hate tea.", user_id="alice", run_id="other", infer=True)

    assert await face.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}

    assert await face.listed(run_id="other", user_id="alice") == ["User hates tea."]
    assert (await face.stats())["pending"] == 0


@pytest.mark.req("C-20")
@pytest.mark.parametrize(
    "content",
    [
        f"Sure, here you are:\n```json\n{facts(_TEA, _OSLO)}\n```\nAnything else?",
        f"The facts are {facts(_TEA, _OSLO)}. I hope that helps!",
        json.dumps([_TEA, _OSLO]),
        json.dumps({"memory": [_TEA, _OSLO]}),
        json.dumps({"facts": ["User loves tea.", "User lives in Oslo."]}),
        facts({**_TEA, "turn": 99}, {**_OSLO, "turn": "seven"}),
        "{'facts': [" + str(_TEA) + ", " + str(_OSLO) + ",]}",
    ],
)
async def test_an_answer_in_any_usual_shape_is_understood(face: Face, server: WireServer, content: str) -> None:
    server.script(completion_reply(content))

    answer = await face.add(_SAID, user_id="alice", infer=True)

    assert answer["status"] == "ok"
    assert sorted(await face.listed()) == ["User lives in Oslo.", "User loves tea."]
    assert len(server.requests) == 1


@pytest.mark.req("C-20")
async def test_after_an_answer_that_cannot_be_read_it_is_asked_once_more(face: Face, server: WireServer) -> None:
    server.script(completion_reply("I would rather chat."), completion_reply(facts(_TEA)))

    answer = await face.add(_SAID, user_id="alice", infer=True)

    assert [result["memory"] for result in answer["results"]] == ["User loves tea."]
    first, second = (request.json["messages"] for request in server.requests)
    assert second[: len(first)] == first
    assert second[len(first)] == {"role": "assistant", "content": "I would rather chat."}


# --- the model that decides -------------------------------------------------------------------------------------------

_BAD_DECISIONS: Final = {
    "server error": WireReply(500),
    "rate limit": WireReply(429, headers={"Retry-After": "30"}),
    "prose": completion_reply("I think it is an update."),
    "empty": completion_reply(""),
}


@pytest.mark.req("X-25", "C-58.15")
@pytest.mark.parametrize("failure", _BAD_DECISIONS)
async def test_without_a_decision_of_the_model_facts_are_added_and_the_answer_says_so(
    twice: Face, model: Model, opens: Opens, failure: str
) -> None:
    await twice.add("I love tea.", user_id="alice", infer=True)
    model.decision = _BAD_DECISIONS[failure]
    opens.clock.advance(minutes=1)

    answer = await twice.add("I hate tea.", user_id="alice", infer=True)

    assert (answer["status"], model.asked[-1]) == ("ok", "decisions")
    (why,) = answer["degraded"]
    assert why["step"] == "decision"
    assert why["code"]
    assert [result["event"] for result in answer["results"]] == ["ADD"], "rules do not stand in for the model"
    assert sorted(await twice.listed()) == ["User hates tea.", "User loves tea."]
    assert (await twice.stats())["pending"] == 0


@pytest.mark.req("R-8", "C-23")
@pytest.mark.parametrize(
    "decision",
    [
        {"fact": 1, "operation": "UPDATE", "target": 77, "text": "User hates everything."},
        {"fact": 1, "operation": "DELETE", "target": "0b0e7b5c-2f39-4a3f-9a31-d2a6f5b6a111"},
        {"fact": 9, "operation": "DELETE", "target": 1},
        {"fact": 1, "operation": "EXPLODE", "target": 1},
        {"fact": 1, "operation": "UPDATE", "target": -1},
        {},
    ],
)
async def test_numbers_and_operations_that_do_not_exist_are_ignored(
    twice: Face, model: Model, opens: Opens, decision: dict[str, Any]
) -> None:
    await twice.add("I love tea.", user_id="alice", infer=True)
    model.decision = json.dumps({"decisions": [decision]})
    opens.clock.advance(minutes=1)

    answer = await twice.add("I hate tea.", user_id="alice", infer=True)

    assert (answer["status"], model.asked[-1]) == ("ok", "decisions")
    assert sorted(await twice.listed()) == ["User hates tea.", "User loves tea."]


@pytest.mark.req("R-8", "C-23")
@pytest.mark.parametrize(
    ("operation", "kept"),
    [
        ({"op": "UPDATE", "memory": 77, "text": "User hates tea."}, ["User hates tea.", "User loves tea."]),
        ({"op": "REMOVE", "memory": "0b0e7b5c-2f39-4a3f-9a31-d2a6f5b6a111", "text": None}, ["User loves tea."]),
        ({"op": "EXPLODE", "memory": 1, "text": "User hates tea."}, ["User loves tea."]),
        ({"op": "FORGET", "memory": -1, "text": None}, ["User loves tea."]),
        ({}, ["User loves tea."]),
    ],
)
async def test_an_operation_on_nothing_that_was_shown_changes_nothing_and_is_reported(
    face: Face, server: WireServer, opens: Opens, operation: dict[str, Any], kept: list[str]
) -> None:
    await face.add("I love tea.", user_id="alice", infer=True)
    reply = {"turns": [1], "quote": "hate tea", **operation}
    server.script(completion_reply(json.dumps({"operations": [reply]})))
    opens.clock.advance(minutes=1)

    answer = await face.add("I hate tea.", user_id="alice", infer=True)

    assert answer["status"] == "ok"
    assert sorted(await face.listed()) == kept
    assert ("dropped" in answer) is (len(kept) == 1)
