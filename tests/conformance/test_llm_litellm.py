"""Models by way of litellm. The library is an extra that no other needs, so most of this runs only where it is."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from memstone.compose import build_adapter
from memstone.errors import (
    AnswerCutOff,
    AuthenticationFailed,
    BackendTimeout,
    BackendUnavailable,
    LLMError,
    MissingExtra,
    ModelRefused,
    RateLimited,
)
from memstone.ports.io import Io
from memstone.ports.models import Llm, Prompt, Reply, ToolCall
from memstone.testing.modes import MODES, run
from memstone.testing.wire import KEY, WireReply, WireServer
from memstone.testing.wire_chat import MODEL, FakeCompatible, WireAnswer

both = pytest.mark.parametrize("mode", MODES)
needs_library = pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed")

HELLO = [{"role": "system", "content": "Answer in JSON."}, {"role": "user", "content": "Hello, Köln!"}]
PLAIN = Prompt(HELLO)
SCHEMA = {
    "title": "words",
    "type": "object",
    "properties": {"words": {"type": "array", "items": {"type": "string"}}},
    "required": ["words"],
    "additionalProperties": False,
}
WEATHER = {"name": "weather", "description": "Tells the weather", "parameters": {"type": "object", "properties": {}}}


def asked(server: WireServer, prompt: Prompt, **options: Any) -> Any:
    async def scenario(io: Io) -> Reply:
        config = {"model": f"openai/{MODEL}", "base_url": f"{server.url}/v1", "api_key": KEY, **options}
        llm: Llm = build_adapter("llm", "litellm", config, io)
        return await llm.generate(prompt)

    return scenario


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)

    async def scenario(io: Io) -> None:
        build_adapter("llm", "litellm", {"model": "bedrock/x"}, io)

    with pytest.raises(MissingExtra, match=r"memstone\[litellm\]"):
        run("blocking", scenario)


@both
@needs_library
@pytest.mark.req("C-40", "C-48")
@pytest.mark.parametrize(
    ("prompt", "answer", "reply"),
    [
        (PLAIN, WireAnswer("Grüße"), Reply("Grüße", (), 11, 7)),
        (Prompt(HELLO, response_format="json", schema=SCHEMA), WireAnswer("{}"), Reply("{}", (), 11, 7)),
        (
            Prompt(HELLO, tools=[WEATHER]),
            WireAnswer(calls=(("weather", {"city": "Oslo"}),)),
            Reply("", (ToolCall("weather", {"city": "Oslo"}),), 11, 7),
        ),
    ],
)
def test_the_library_carries_a_round_trip(mode: str, prompt: Prompt, answer: WireAnswer, reply: Reply) -> None:
    with WireServer(FakeCompatible(answer)) as server:
        assert run(mode, asked(server, prompt)) == reply
        sent = server.requests[0].json
    assert (sent["max_tokens"], sent["messages"]) == (2000, HELLO)
    assert ("response_format" in sent) == (prompt.response_format == "json")


@both
@needs_library
@pytest.mark.req("C-53")
@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (WireReply(401, json={"error": {"message": f"wrong key {KEY}"}}), AuthenticationFailed),
        (WireReply(500, json={"error": {"message": "down"}}), BackendUnavailable),
        (WireReply(400, json={"error": {"message": "no"}}), LLMError),
        (WireReply(delay=600), BackendTimeout),
        (WireAnswer("{", stop="cut"), AnswerCutOff),
        (WireAnswer("No.", stop="refused"), ModelRefused),
    ],
)
def test_failures_of_the_library_are_ours(mode: str, reply: Any, error: type[Exception]) -> None:
    with WireServer(FakeCompatible(reply)) as server, pytest.raises(error) as caught:
        run(mode, asked(server, PLAIN, timeout=2 if error is BackendTimeout else 30, retries=0))
    assert KEY not in str(caught.value)


@both
@needs_library
@pytest.mark.req("C-53")
def test_a_rate_limit_is_waited_for(mode: str) -> None:
    busy = WireReply(429, json={"error": {"message": "slow down"}}, headers={"Retry-After": "7"})
    naps: list[float] = []
    with WireServer(FakeCompatible(busy, WireAnswer("Hi."))) as server:
        assert run(mode, asked(server, PLAIN), naps=naps).text == "Hi."
        assert len(server.requests) == 2
    assert [7 <= nap <= 8.4 for nap in naps] == [True]
    with WireServer(FakeCompatible(busy)) as server, pytest.raises(RateLimited):
        run(mode, asked(server, PLAIN, retries=0))


@needs_library
def test_it_says_where_text_goes_and_takes_arguments_of_the_library() -> None:
    async def scenario(io: Io) -> list[str]:
        options = ({"model": "bedrock/x"}, {"model": "x", "base_url": "https://example.com/v1"})
        return [build_adapter("llm", "litellm", one, io).destination for one in options]

    assert run("blocking", scenario) == ["bedrock (by way of litellm)", "example.com"]
    with WireServer(FakeCompatible(WireAnswer("Hi."))) as server:
        run("blocking", asked(server, PLAIN, parameters={"seed": 4}))
        assert json.loads(server.requests[0].body)["seed"] == 4
