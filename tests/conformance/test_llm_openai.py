"""The chat dialect of OpenAI, against a loopback server that the official client accepts."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionMessageFunctionToolCall
from pydantic import BaseModel, ValidationError

from memstone.adapters.llm.openai import OpenAiLlm
from memstone.core.llm.decisions import decision_prompt, extraction_prompt, parse_extraction
from memstone.core.llm.operations import KnownFact, Talk
from memstone.model.message import Message
from memstone.ports.io import Io
from memstone.ports.models import Llm, Prompt, Reply, ToolCall
from memstone.testing.modes import MODES, run
from memstone.testing.wire import KEY, FakeChat, WireReply, WireServer, completion_reply
from tests.english import ENGLISH

both = pytest.mark.parametrize("mode", MODES)

HELLO: list[Any] = [
    {"role": "system", "content": "Be brief. Answer in JSON."},
    {"role": "user", "content": "Hello, Köln!"},
]
WEATHER = {"name": "weather", "description": "Tells the weather", "parameters": {"type": "object", "properties": {}}}
SCHEMA = {
    "title": "two words",
    "type": "object",
    "properties": {"words": {"type": "array", "items": {"type": "string"}}},
    "required": ["words"],
    "additionalProperties": False,
}


class Words(BaseModel):
    """What the official client is asked to parse."""

    words: list[str]


def chat(server: WireServer, io: Io, **options: Any) -> OpenAiLlm:
    options = {"base_url": f"{server.url}/v1", "api_key": KEY, **options}
    return OpenAiLlm(OpenAiLlm.Config.model_validate(options), io)


def asking(server: WireServer, prompt: Prompt, **options: Any) -> Callable[[Io], Coroutine[Any, Any, Reply]]:
    return lambda io: chat(server, io, **options).generate(prompt)


def official(server: WireServer, key: str = KEY) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0)


# --- the official client accepts the fake -----------------------------------------------------------------------------


@pytest.mark.req("C-48")
def test_the_official_client_gets_text_and_usage_from_the_fake() -> None:
    with WireServer(FakeChat("Hi.")) as server, official(server) as client:
        created = client.chat.completions.create(model="gpt-4o-mini", messages=HELLO, temperature=0, max_tokens=50)
    assert created.choices[0].message.content == "Hi."
    assert created.choices[0].finish_reason == "stop"
    assert created.usage is not None
    assert (created.usage.prompt_tokens, created.usage.completion_tokens, created.usage.total_tokens) == (11, 7, 18)


@pytest.mark.req("C-48")
def test_the_official_client_parses_structured_output_of_the_fake() -> None:
    with WireServer(FakeChat('{"words": ["a", "b"]}')) as server, official(server) as client:
        parsed = client.chat.completions.parse(model="gpt-4o-mini", messages=HELLO, response_format=Words)
    assert parsed.choices[0].message.parsed == Words(words=["a", "b"])


@pytest.mark.req("C-48")
def test_the_official_client_reads_tool_calls_and_refusals_of_the_fake() -> None:
    called = completion_reply(None, finish_reason="tool_calls", tool_calls=[("weather", '{"city": "Oslo"}')])
    with WireServer(FakeChat(called, completion_reply(None, refusal="No."))) as server, official(server) as client:
        tools: Any = [{"type": "function", "function": WEATHER}]
        first = client.chat.completions.create(model="m", messages=HELLO, tools=tools).choices[0].message
        second = client.chat.completions.create(model="m", messages=HELLO).choices[0].message
    assert first.tool_calls is not None
    call = first.tool_calls[0]
    assert isinstance(call, ChatCompletionMessageFunctionToolCall)
    assert (call.function.name, call.function.arguments) == ("weather", '{"city": "Oslo"}')
    assert (second.content, second.refusal) == (None, "No.")


@pytest.mark.req("C-48")
@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"messages": []}, openai.BadRequestError),
        ({"messages": [{"role": "king", "content": "x"}]}, openai.BadRequestError),
        ({"tools": [{"type": "function", "function": {}}]}, openai.BadRequestError),
        ({"max_tokens": 5}, openai.BadRequestError),
        ({"temperature": 0}, openai.BadRequestError),
        ({"response_format": {"type": "json_object"}}, openai.BadRequestError),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": ""}}}, openai.BadRequestError),
    ],
)
def test_the_official_client_sees_the_fakes_refusals_as_errors(asked: Any, error: type[Exception]) -> None:
    fake = FakeChat(reasoning=True, refuses=["json_object"])
    with WireServer(fake) as server, official(server) as client, pytest.raises(error):
        client.chat.completions.create(**{"model": "m", "messages": HELLO, **asked})


def test_the_official_client_sees_a_wrong_key_and_a_wrong_route() -> None:
    with WireServer(FakeChat()) as server:
        with official(server, "wrong") as client, pytest.raises(openai.AuthenticationError):
            client.chat.completions.create(model="m", messages=HELLO)
        with official(server) as client, pytest.raises(openai.NotFoundError):
            client.models.list()


def test_the_fake_refuses_a_schema_that_is_not_strict() -> None:
    loose = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": {"type": "object"}}}
    value: Any = loose
    with WireServer(FakeChat()) as server, official(server) as client:
        with pytest.raises(openai.BadRequestError, match="not strict"):
            client.chat.completions.create(model="m", messages=HELLO, response_format=value)
        value["json_schema"]["strict"] = False
        assert client.chat.completions.create(model="m", messages=HELLO, response_format=value).choices


# --- ours -------------------------------------------------------------------------------------------------------------


@both
@pytest.mark.req("C-48", "C-40")
@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        (Prompt(HELLO), {}),
        (Prompt(HELLO, tools=[WEATHER]), {"tools": [{"type": "function", "function": WEATHER}]}),
        (Prompt(HELLO, response_format="json"), {"response_format": {"type": "json_object"}}),
        (
            Prompt(HELLO, response_format="json", schema=SCHEMA),
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "two_words", "schema": SCHEMA, "strict": True},
                }
            },
        ),
    ],
)
def test_the_server_is_asked_as_its_own_client_asks(mode: str, prompt: Prompt, asked: Any) -> None:
    with WireServer(FakeChat('{"words": []}')) as server:
        with official(server) as client:
            client.chat.completions.create(model="gpt-4o-mini", messages=HELLO, temperature=0, max_tokens=2000, **asked)
        run(mode, asking(server, prompt))
        wire_request, ours = server.requests
    assert (ours.method, ours.path, ours.json) == (wire_request.method, wire_request.path, wire_request.json)
    assert ours.headers["authorization"] == wire_request.headers["authorization"] == f"Bearer {KEY}"


@both
@pytest.mark.req("C-48")
def test_an_answer_has_its_text_and_what_it_cost(mode: str) -> None:
    with WireServer(FakeChat(completion_reply("Grüße", usage=(120, 3)))) as server:
        assert run(mode, asking(server, Prompt(HELLO))) == Reply("Grüße", (), 120, 3)


@both
@pytest.mark.req("C-48")
def test_tool_calls_come_with_parsed_arguments(mode: str) -> None:
    calls = [("weather", '{"city": "Oslo", "days": 2}'), ("clock", "")]
    with WireServer(FakeChat(completion_reply(None, finish_reason="tool_calls", tool_calls=calls))) as server:
        reply = run(mode, asking(server, Prompt(HELLO, tools=[{"type": "function", "function": WEATHER}])))
    assert reply.text == ""
    assert list(reply.tool_calls) == [ToolCall("weather", {"city": "Oslo", "days": 2}), ToolCall("clock", {})]


@both
def test_content_in_parts_is_put_together(mode: str) -> None:
    parts = [{"type": "text", "text": "Hel"}, {"type": "thinking"}, {"type": "text", "text": "lo"}]
    with WireServer(lambda _: WireReply(json={"choices": [{"message": {"content": parts}}]})) as server:
        assert run(mode, asking(server, Prompt(HELLO))) == Reply("Hello")


@both
@pytest.mark.req("C-40")
def test_the_prompt_decides_and_else_the_configuration(mode: str) -> None:
    options = {"temperature": 0.7, "max_tokens": 90, "model": "mine"}
    with WireServer(FakeChat()) as server:
        run(mode, asking(server, Prompt(HELLO), **options))
        run(mode, asking(server, Prompt(HELLO, temperature=0.2, max_tokens=5), **options))
        asked = [(one.json["model"], one.json["temperature"], one.json["max_tokens"]) for one in server.requests]
    assert asked == [("mine", 0.7, 90), ("mine", 0.2, 5)]


def formats(server: WireServer) -> list[str]:
    return [one.json.get("response_format", {"type": "none"})["type"] for one in server.requests]


@both
@pytest.mark.parametrize(
    ("refuses", "asked"),
    [
        ([], ["json_schema", "json_schema"]),
        (["json_schema"], ["json_schema", "json_object", "json_object"]),
        (["json_schema", "json_object"], ["json_schema", "json_object", "none", "none"]),
    ],
)
def test_a_refused_response_format_is_replaced_and_remembered(mode: str, refuses: list[str], asked: list[str]) -> None:
    prompt = Prompt(HELLO, response_format="json", schema=SCHEMA)

    async def scenario(io: Io) -> list[str]:
        llm = chat(server, io)
        return [(await llm.generate(prompt)).text for _ in range(2)]

    with WireServer(FakeChat("{}", refuses=refuses)) as server:
        assert run(mode, scenario) == ["{}", "{}"]
        assert formats(server) == asked


@both
@pytest.mark.parametrize(
    ("json_mode", "asked"), [("schema", "json_schema"), ("object", "json_object"), ("none", "none")]
)
def test_a_chosen_json_mode_is_kept(mode: str, json_mode: str, asked: str) -> None:
    prompt = Prompt(HELLO, response_format="json", schema=SCHEMA)
    with WireServer(FakeChat("{}")) as server:
        run(mode, asking(server, prompt, json_mode=json_mode))
        assert formats(server) == [asked]


@both
@pytest.mark.parametrize(("title", "name"), [("Zwei Wörter!", "Zwei_W_rter_"), ("x" * 70, "x" * 64), ("", "answer")])
def test_a_schema_goes_under_a_name_the_server_accepts(mode: str, title: str, name: str) -> None:
    prompt = Prompt(HELLO, response_format="json", schema={**SCHEMA, "title": title})
    with WireServer(FakeChat("{}")) as server:
        run(mode, asking(server, prompt, json_mode="schema"))
        assert server.requests[0].json["response_format"]["json_schema"]["name"] == name


@both
def test_calls_side_by_side_learn_the_same_and_not_twice(mode: str) -> None:
    prompt = Prompt(HELLO, response_format="json", schema=SCHEMA)

    async def scenario(io: Io) -> None:
        llm = chat(server, io)
        await io.gather(*(llm.generate(prompt) for _ in range(4)))
        await llm.generate(prompt)

    with WireServer(FakeChat("{}", refuses=["json_schema"])) as server:
        run(mode, scenario)
        assert formats(server)[-1] == "json_object"
        assert "none" not in formats(server)


@both
def test_a_reasoning_model_is_asked_with_the_parameters_it_has(mode: str) -> None:
    async def scenario(io: Io) -> list[str]:
        llm = chat(server, io)
        return [(await llm.generate(Prompt(HELLO))).text for _ in range(2)]

    with WireServer(FakeChat("ok", reasoning=True)) as server:
        assert run(mode, scenario) == ["ok", "ok"]
        asked = [set(one.json) - {"model", "messages"} for one in server.requests]
    assert asked[1:] == [{"max_completion_tokens", "temperature"}, {"max_completion_tokens"}, {"max_completion_tokens"}]


@both
@pytest.mark.req("C-19", "C-23")
def test_our_own_questions_pass_the_servers_check_of_schemas_and_their_answers_are_read(mode: str) -> None:
    turns = [Message("user", "I moved to Oslo.")]
    fact = {"text": "User moved to Oslo.", "turn": 1, "quote": "I moved to Oslo", "category": "home"}
    facts = extraction_prompt(Talk(turns, now=datetime(2026, 1, 1, tzinfo=UTC), language=ENGLISH))
    decisions = decision_prompt(["User moved to Oslo."], [[KnownFact("id", "User lives in Bergen.")]])

    async def scenario(io: Io) -> list[str]:
        llm = chat(server, io)
        asked = [Prompt(one.messages, response_format="json", schema=one.schema) for one in (facts, decisions)]
        return [(await llm.generate(prompt)).text for prompt in asked]

    with WireServer(FakeChat(json.dumps({"facts": [fact]}))) as server:
        answer = run(mode, scenario)[0]
        names = [one.json["response_format"]["json_schema"]["name"] for one in server.requests]
    assert names == ["facts", "decisions"]
    assert [one.text for one in parse_extraction(answer, Talk(turns, language=ENGLISH)).operations] == [
        "User moved to Oslo."
    ]


@both
@pytest.mark.req("C-40")
def test_it_says_which_model_it_is_and_where_text_goes(mode: str) -> None:
    async def scenario(io: Io) -> tuple[str, str]:
        llm: Llm = OpenAiLlm(OpenAiLlm.Config(), io)
        return llm.model, llm.destination

    assert run(mode, scenario) == ("gpt-4o-mini", "api.openai.com")


@pytest.mark.req("C-40")
@pytest.mark.parametrize(
    "options", [{"modle": "x"}, {"max_tokens": 0}, {"base_url": "localhost:1"}, {"temperature": 3}, {"json_mode": "x"}]
)
def test_a_wrong_setting_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OpenAiLlm.Config.model_validate(options)


@pytest.mark.req("R-38")
def test_a_config_does_not_show_its_key() -> None:
    config = OpenAiLlm.Config.model_validate({"api_key": KEY})
    assert KEY not in repr(config) + str(config.model_dump()) + config.model_dump_json()
