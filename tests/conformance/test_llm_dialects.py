"""Every dialect of a language model, in the same round trips: the vendor's own client first, then ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from memstone.compose import build_adapter
from memstone.errors import (
    AnswerCutOff,
    AuthenticationFailed,
    BackendTimeout,
    BackendUnavailable,
    BadModelOutput,
    LLMError,
    ModelRefused,
    RateLimited,
)
from memstone.ports.io import Io
from memstone.ports.models import Llm, Prompt, Reply, ToolCall
from memstone.testing.modes import MODES, run
from memstone.testing.wire import KEY, WireReply, WireServer
from memstone.testing.wire_chat import WireAnswer
from tests.conformance.chat_dialects import DIALECTS, Asked, Dialect, status_of
from tests.conformance.cut_short import CutShort

both = pytest.mark.parametrize("mode", MODES)
every = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)

HELLO = [{"role": "system", "content": "Answer in JSON."}, {"role": "user", "content": "Hello, Köln!"}]
WEATHER = {
    "name": "weather",
    "description": "Tells the weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
SCHEMA = {
    "title": "words",
    "type": "object",
    "properties": {"words": {"type": "array", "items": {"type": "string"}}},
    "required": ["words"],
    "additionalProperties": False,
}
PLAIN = Prompt(HELLO)
BY_SCHEMA = Prompt(HELLO, response_format="json", schema=SCHEMA)
WITH_TOOL = Prompt(HELLO, tools=[WEATHER])
WORDS = '{"words": ["a", "ü"]}'

ROUND_TRIPS = [
    pytest.param(PLAIN, WireAnswer("Grüße"), Reply("Grüße", (), 11, 7), id="plain"),
    pytest.param(BY_SCHEMA, WireAnswer(WORDS, usage=(120, 9)), Reply(WORDS, (), 120, 9), id="structured"),
    pytest.param(
        WITH_TOOL,
        WireAnswer(calls=(("weather", {"city": "Oslo"}),)),
        Reply("", (ToolCall("weather", {"city": "Oslo"}),), 11, 7),
        id="tool",
    ),
]


def generate(
    dialect: Dialect, server: WireServer, prompt: Prompt, **options: Any
) -> Callable[[Io], Coroutine[Any, Any, Reply]]:
    async def scenario(io: Io) -> Reply:
        llm: Llm = build_adapter("llm", dialect.provider, dialect.config(server.url, **options), io)
        return await llm.generate(prompt)

    return scenario


# --- the vendor's own client accepts the fake -------------------------------------------------------------------------


@every
@pytest.mark.req("C-40", "C-48")
@pytest.mark.parametrize(("prompt", "answer", "reply"), ROUND_TRIPS)
def test_the_official_client_makes_the_round_trip(
    dialect: Dialect, prompt: Prompt, answer: WireAnswer, reply: Reply
) -> None:
    with WireServer(dialect.fake(answer)) as server:
        assert dialect.official(f"{server.url}{dialect.path}", Asked(prompt)) == reply


@every
@pytest.mark.req("C-48")
@pytest.mark.parametrize(
    ("asked", "statuses"),
    [(Asked(PLAIN, key="wrong"), (400, 401)), (Asked(PLAIN, model="none-such"), (404,))],
    ids=["wrong_key", "unknown_model"],
)
def test_the_official_client_sees_the_refusals_of_the_fake(
    dialect: Dialect, asked: Asked, statuses: tuple[int, ...]
) -> None:
    with WireServer(dialect.fake(WireAnswer("Hi."))) as server, pytest.raises(Exception, match=r".") as caught:
        dialect.official(f"{server.url}{dialect.path}", asked)
    assert status_of(caught.value) in statuses


@every
@pytest.mark.req("C-53")
@pytest.mark.parametrize("status", [429, 500])
def test_the_official_client_sees_a_service_that_fails(dialect: Dialect, status: int) -> None:
    failed = WireReply(status, json={"error": {"message": "busy", "code": status, "status": "X"}})
    with WireServer(dialect.fake(failed)) as server, pytest.raises(Exception, match=r".") as caught:
        dialect.official(f"{server.url}{dialect.path}", Asked(PLAIN))
    assert status_of(caught.value) == status


@every
@pytest.mark.req("C-53")
@pytest.mark.parametrize("reply", [WireReply(chunks=CutShort()), WireReply(delay=600)], ids=["cut", "slow"])
def test_the_official_client_gets_no_answer_from_a_fake_that_stops(dialect: Dialect, reply: WireReply) -> None:
    with WireServer(dialect.fake(reply)) as server, pytest.raises(Exception) as caught:  # noqa: PT011 - each its own
        dialect.official(f"{server.url}{dialect.path}", Asked(PLAIN, timeout=0.3))
    assert status_of(caught.value) is None


# --- ours -------------------------------------------------------------------------------------------------------------


@both
@every
@pytest.mark.req("C-40", "C-48", "C-48.1", "C-58.40", "S-18")
@pytest.mark.parametrize(("prompt", "answer", "reply"), ROUND_TRIPS)
def test_ours_makes_the_round_trip(
    mode: str, dialect: Dialect, prompt: Prompt, answer: WireAnswer, reply: Reply
) -> None:
    with WireServer(dialect.fake(answer)) as server:
        assert run(mode, generate(dialect, server, prompt)) == reply
        assert len(server.requests) == 1


@every
@pytest.mark.req("C-48")
@pytest.mark.parametrize("prompt", [PLAIN, BY_SCHEMA, WITH_TOOL], ids=["plain", "structured", "tool"])
def test_the_server_is_asked_as_its_own_client_asks(dialect: Dialect, prompt: Prompt) -> None:
    with WireServer(dialect.fake(WireAnswer(WORDS))) as server:
        dialect.official(f"{server.url}{dialect.path}", Asked(prompt))
        run("blocking", generate(dialect, server, prompt))
        official, ours = server.requests
    assert ours.method == official.method
    assert ours.path.replace("/v1beta/", "/v1/") == official.path  # Google has two versions of the same
    assert without_form(ours.json) == without_form(official.json)


def without_form(sent: dict[str, Any]) -> dict[str, Any]:
    """A request without what a client adds of itself and does not change the answer."""
    schema = sent.get("generationConfig", {}).get("responseSchema", {})
    for name in ("additional_properties", "property_ordering"):
        schema.pop(name, None)
    return {name: value for name, value in sent.items() if value and name != "stream"}


@both
@every
@pytest.mark.req("C-40", "R-38")
@pytest.mark.parametrize("options", [{"api_key": "wrong"}, {"api_key": None}], ids=["wrong", "none"])
def test_a_refused_key_rises_at_once_and_is_not_shown(mode: str, dialect: Dialect, options: Any) -> None:
    naps: list[float] = []
    with WireServer(dialect.fake()) as server, pytest.raises(AuthenticationFailed) as caught:
        run(mode, generate(dialect, server, PLAIN, **options), naps=naps)
    assert "wrong" not in caught.value.message
    assert naps == []


@both
@every
@pytest.mark.req("C-40")
def test_an_unknown_model_is_named_and_not_tried_again(mode: str, dialect: Dialect) -> None:
    naps: list[float] = []
    options = {"deployment": "model-1"} if dialect.provider == "azure_openai" else {}
    with WireServer(dialect.fake()) as server, pytest.raises(LLMError, match="none-such"):
        run(mode, generate(dialect, server, PLAIN, model="none-such", **options), naps=naps)
    assert naps == []


@both
@every
@pytest.mark.req("C-53")
def test_a_rate_limit_is_waited_for_as_long_as_the_service_asks(mode: str, dialect: Dialect) -> None:
    busy = WireReply(429, json={"error": {"message": "slow down"}}, headers={"Retry-After": "7"})
    naps: list[float] = []
    with WireServer(dialect.fake(busy, WireAnswer("Hi."))) as server:
        assert run(mode, generate(dialect, server, PLAIN), naps=naps).text == "Hi."
    assert [7 <= nap <= 8.4 for nap in naps] == [True]
    with WireServer(dialect.fake(busy)) as server, pytest.raises(RateLimited) as caught:
        run(mode, generate(dialect, server, PLAIN, retries=1), naps=naps)
    assert caught.value.retry_after == 7


@both
@every
@pytest.mark.req("C-53")
@pytest.mark.parametrize(
    "reply",
    [WireReply(500), WireReply(529, json={"error": {"message": "overloaded"}}), WireReply(hang_up=True)],
    ids=["500", "529", "hang_up"],
)
def test_a_service_that_fails_is_tried_again_later_and_later(mode: str, dialect: Dialect, reply: WireReply) -> None:
    naps: list[float] = []
    with WireServer(dialect.fake(reply, reply, WireAnswer("Hi."))) as server:
        assert run(mode, generate(dialect, server, PLAIN), naps=naps).text == "Hi."
    assert [1 <= naps[0] <= 1.2, 2 <= naps[1] <= 2.4, len(naps)] == [True, True, 2]
    with WireServer(dialect.fake(reply)) as server, pytest.raises(BackendUnavailable):
        run(mode, generate(dialect, server, PLAIN, retries=0))


@both
@every
@pytest.mark.req("C-53")
def test_an_answer_that_is_cut_on_its_way_is_no_answer(mode: str, dialect: Dialect) -> None:
    cut = WireReply(chunks=CutShort())
    with WireServer(dialect.fake(cut)) as server, pytest.raises(BackendUnavailable):
        run(mode, generate(dialect, server, PLAIN, retries=0))
    with WireServer(dialect.fake(WireReply(chunks=CutShort()), WireAnswer("Hi."))) as server:
        assert run(mode, generate(dialect, server, PLAIN), naps=[]).text == "Hi."


@both
@every
@pytest.mark.req("C-53")
def test_a_first_byte_that_does_not_come_is_a_timeout(mode: str, dialect: Dialect) -> None:
    with WireServer(dialect.fake(WireReply(delay=600))) as server, pytest.raises(BackendTimeout):
        run(mode, generate(dialect, server, PLAIN, timeout=0.2, retries=0))


@both
@every
@pytest.mark.req("C-48")
def test_what_is_no_complete_answer_is_a_typed_error(mode: str, dialect: Dialect) -> None:
    cut, empty, odd = WireAnswer('{"words": ["a', stop="cut"), WireAnswer(""), WireReply(json={"hello": "world"})
    with WireServer(dialect.fake(cut)) as server, pytest.raises(AnswerCutOff) as caught:
        run(mode, generate(dialect, server, PLAIN))
    assert caught.value.raw == '{"words": ["a'
    for reply in (empty, odd, WireReply(json=[]), WireReply(body=b"<html>")):
        with WireServer(dialect.fake(reply)) as server, pytest.raises(BadModelOutput):
            run(mode, generate(dialect, server, PLAIN))


@both
@pytest.mark.req("C-48")
@pytest.mark.parametrize(
    "dialect", [one for one in DIALECTS.values() if one.provider != "ollama"]
)  # has no word for it
def test_a_model_that_refuses_says_so(mode: str, dialect: Dialect) -> None:
    with WireServer(dialect.fake(WireAnswer("No.", stop="refused"))) as server, pytest.raises(ModelRefused):
        run(mode, generate(dialect, server, PLAIN))


REFUSALS = [
    ("openai", ["json_schema"], 2),
    ("openai", ["json_schema", "json_object"], 3),
    ("mistral", ["json_schema"], 2),
    ("azure_openai", ["json_schema"], 2),
    ("anthropic", ["output_config"], 2),
    ("anthropic", ["output_config", "tool_choice"], 3),
    ("gemini", ["responseSchema"], 2),
    ("ollama", ["format"], 3),
]


@both
@pytest.mark.req("C-48", "S-18")
@pytest.mark.parametrize(("provider", "refuses", "requests"), REFUSALS)
def test_json_is_asked_for_in_the_next_way_when_one_is_refused(
    mode: str, provider: str, refuses: list[str], requests: int
) -> None:
    dialect = DIALECTS[provider]

    async def scenario(io: Io) -> list[str]:
        llm: Llm = build_adapter("llm", provider, dialect.config(server.url), io)
        return [(await llm.generate(BY_SCHEMA)).text for _ in range(2)]

    with WireServer(dialect.fake(WireAnswer(WORDS), refuses=refuses)) as server:
        assert [json.loads(text) for text in run(mode, scenario)] == [json.loads(WORDS)] * 2
        assert len(server.requests) == requests + 1  # the second time in the way that was accepted


@both
@every
@pytest.mark.req("C-40")
def test_headers_and_parameters_of_ones_own_are_sent(mode: str, dialect: Dialect) -> None:
    with WireServer(dialect.fake(WireAnswer("Hi."))) as server:
        extra = {"extra_body": {"metadata": {"a": "b"}}, "headers": {"x-team": "blue"}}
        try:
            run(mode, generate(dialect, server, PLAIN, **extra))
        except LLMError as error:
            assert "metadata" in error.message  # noqa: PT017 - dialects without it say that it arrived
        request = server.requests[0]
    assert (request.json["metadata"], request.headers["x-team"]) == ({"a": "b"}, "blue")


@both
@pytest.mark.req("C-53")
def test_google_says_in_the_body_how_long_to_wait(mode: str) -> None:
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "9s"}
    busy = WireReply(429, json={"error": {"code": 429, "message": "quota", "details": [delay]}})
    naps: list[float] = []
    with WireServer(DIALECTS["gemini"].fake(busy, WireAnswer("Hi."))) as server:
        assert run(mode, generate(DIALECTS["gemini"], server, PLAIN), naps=naps).text == "Hi."
    assert [9 <= nap <= 10.8 for nap in naps] == [True]


@both
@pytest.mark.req("C-40")
def test_a_temperature_is_sent_to_anthropic_only_when_wanted_and_not_twice_when_refused(mode: str) -> None:
    dialect = DIALECTS["anthropic"]
    options = {"send_temperature": True, "version": "2026-10-21", "temperature": 0.5}
    with WireServer(dialect.fake(WireAnswer("Hi."))) as server:
        run(mode, generate(dialect, server, PLAIN))
        run(mode, generate(dialect, server, PLAIN, **options))
        sent = [one.json.get("temperature") for one in server.requests]
    assert sent == [None, 0.5, None]


def test_the_key_is_where_each_vendor_expects_it() -> None:
    places = {"azure_openai": "api-key", "anthropic": "x-api-key", "gemini": "x-goog-api-key"}
    for provider, dialect in DIALECTS.items():
        with WireServer(dialect.fake(WireAnswer("Hi."))) as server:
            run("blocking", generate(dialect, server, PLAIN))
            headers = server.requests[0].headers
        name = places.get(provider, "authorization")
        assert headers[name].removeprefix("Bearer ") == KEY
        assert [value for value in headers.values() if KEY in value] == [headers[name]]
