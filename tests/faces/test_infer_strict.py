"""``add(strict=True)``: whatever goes wrong with the model is an ``LLMError``, and nothing is half learned."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Final

import pytest

from memstone.errors import (
    AuthenticationFailed,
    BackendUnavailable,
    LLMError,
    LlmUnavailable,
    MemstoneError,
    RateLimited,
)
from memstone.testing.llm import ScriptedLlm
from memstone.testing.wire import WireReply, WireServer, completion_reply, wrong_request
from tests.faces.harness import Face, Opens
from tests.faces.infer_model import Model, configured

_TEA: Final = {"I love tea": "User loves tea.", "I hate tea": "User hates tea."}


@pytest.fixture
def model() -> Model:
    made = Model()
    made.knows = _TEA
    return made


@pytest.fixture
def server(model: Model) -> Iterator[WireServer]:
    with WireServer(model) as running:
        yield running


@pytest.fixture
def face(opens: Opens, server: WireServer) -> Face:
    return opens(configured(server.url))


async def refused(face: Face, text: str = "I love tea.") -> LLMError:
    before = await face.export(everybody=True)
    with pytest.raises(LLMError) as caught:
        await face.add(text, user_id="alice", infer=True, strict=True)
    assert caught.value.hint
    assert (await face.export(everybody=True))[1:] == before[1:], "nothing was stored"
    assert (await face.stats())["pending"] == 0
    return caught.value


@pytest.mark.req("X-25", "C-54")
@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (WireReply(429, headers={"Retry-After": "30"}), RateLimited),
        (WireReply(500), BackendUnavailable),
        (WireReply(hang_up=True), BackendUnavailable),
        (WireReply(401, json={"error": {"message": "no"}}), AuthenticationFailed),
    ],
)
async def test_the_original_error_is_the_cause(
    face: Face, server: WireServer, reply: WireReply, cause: type[MemstoneError]
) -> None:
    server.script(reply)

    error = await refused(face)

    assert isinstance(error.__cause__, cause)
    assert error.retryable is cause.retryable
    assert str(error.__cause__.args[0]) in error.message


@pytest.mark.req("X-25", "C-54")
async def test_nobody_at_the_address_is_an_llm_error(opens: Opens) -> None:
    with socket.socket() as taken:  # bound and not listening: refuses, and nobody else gets the port meanwhile
        taken.bind(("127.0.0.1", 0))
        error = await refused(opens(configured(f"http://127.0.0.1:{taken.getsockname()[1]}")))
    assert isinstance(error.__cause__, BackendUnavailable)


@pytest.mark.req("X-25", "C-54")
async def test_a_request_the_service_rejects_and_an_answer_nobody_can_read_are_llm_errors(
    face: Face, server: WireServer
) -> None:
    server.script(wrong_request("the model does not exist"))
    await refused(face)
    server.script(completion_reply("Sure!"), completion_reply("Sure!"))
    assert isinstance((await refused(face)).__cause__, ValueError)


@pytest.mark.req("X-25", "C-54")
async def test_a_model_that_is_not_asked_after_many_failures_is_an_llm_error(face: Face, server: WireServer) -> None:
    server.script(*[WireReply(500)] * 5)
    for _ in range(5):
        await refused(face)
    asked = len(server.requests)

    error = await refused(face)

    assert isinstance(error, LlmUnavailable)
    assert "not called" in error.message
    assert error.retryable
    assert len(server.requests) == asked


@pytest.mark.req("X-25", "C-54")
async def test_a_model_of_ones_own_that_throws_is_an_llm_error(opens: Opens) -> None:
    broken = opens(llm=ScriptedLlm(lambda _: KeyError("somebody else's bug")))

    error = await refused(broken)

    assert isinstance(error.__cause__, KeyError)
    answer = await broken.add("I love tea.", user_id="alice", infer=True)
    assert (answer["status"], answer["error"]["code"]) == ("deferred", "llm"), "and without strict it waits"


@pytest.mark.req("X-25", "C-54")
@pytest.mark.parametrize("failures", [[WireReply(500)], [completion_reply("I think it is an update.")] * 2])
async def test_a_decision_that_fails_is_one_too(
    server: WireServer, model: Model, opens: Opens, failures: list[WireReply]
) -> None:
    twice = opens(configured(server.url, extract={"questions": 2}))
    await twice.add("I love tea.", user_id="alice", infer=True, strict=True)
    opens.clock.advance(days=1)
    hates = [{"text": "User hates tea.", "turn": 1, "quote": "I hate tea"}]
    server.script(completion_reply(json.dumps({"facts": hates})), *failures)

    await refused(twice, "I hate tea.")

    model.decides = {"User hates tea.": {"operation": "UPDATE", "target": "tea"}}
    answer = await twice.add("I hate tea.", user_id="alice", infer=True, strict=True)
    assert [one["event"] for one in answer["results"]] == ["UPDATE"]
