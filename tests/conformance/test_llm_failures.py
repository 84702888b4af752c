"""What becomes of curation when a language model fails, refuses or answers nonsense."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from memstone.adapters.llm.breaker import GuardedLlm
from memstone.adapters.llm.openai import MAX_ANSWER_BYTES, OpenAiLlm
from memstone.core.llm.decisions import parse_decisions, parse_extraction
from memstone.core.llm.operations import Talk
from memstone.core.llm.parse import UnreadableAnswer
from memstone.errors import (
    AnswerCutOff,
    AuthenticationFailed,
    BackendTimeout,
    BackendUnavailable,
    BadModelOutput,
    ConfigError,
    LLMError,
    LlmUnavailable,
    MemstoneError,
    ModelRefused,
    RateLimited,
)
from memstone.model.message import Message
from memstone.ports.io import Io
from memstone.ports.models import Prompt
from memstone.testing.modes import MODES, run
from memstone.testing.wire import KEY, FakeChat, WireReply, WireServer, completion_reply, wrong_request
from tests.english import ENGLISH

both = pytest.mark.parametrize("mode", MODES)

PROMPT = Prompt([{"role": "user", "content": "Answer in JSON."}], response_format="json")
TURNS = [Message("user", "I moved to Oslo in May and I have two cats.")]
OSLO = {"text": "User moved to Oslo.", "turn": 1, "quote": "I moved to Oslo"}
CATS = {"text": "User has two cats.", "turn": 1, "quote": "I have two cats"}


def answer(
    mode: str, *replies: str | WireReply, prompt: Prompt = PROMPT, naps: list[float] | None = None, **options: Any
) -> tuple[str, int]:
    """What the model's client makes of the replies, and how often it asked."""
    with WireServer(FakeChat(*replies)) as server:
        values = {"base_url": f"{server.url}/v1", "api_key": KEY, **options}

        async def scenario(io: Io) -> str:
            return (await OpenAiLlm(OpenAiLlm.Config.model_validate(values), io).generate(prompt)).text

        return run(mode, scenario, naps=[] if naps is None else naps), len(server.requests)


def facts(mode: str, reply: str) -> tuple[list[str], int, str]:
    found = parse_extraction(answer(mode, reply)[0], Talk(TURNS, language=ENGLISH))
    return [fact.text for fact in found.operations], len(found.dropped), found.how


# --- the way there ----------------------------------------------------------------------------------------------------


@both
@pytest.mark.req("C-53")
@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (WireReply(429, json={"error": {"message": "slow down"}}), RateLimited),
        (WireReply(500), BackendUnavailable),
        (WireReply(503, body=b"<html>busy</html>"), BackendUnavailable),
        (WireReply(504), BackendTimeout),
        (WireReply(hang_up=True), BackendUnavailable),
    ],
)
def test_a_passing_failure_is_tried_three_times_more(mode: str, reply: WireReply, error: type[Exception]) -> None:
    naps: list[float] = []
    assert answer(mode, reply, reply, reply, "ok", naps=naps) == ("ok", 4)
    with pytest.raises(error):
        answer(mode, reply, naps=naps)
    assert [int(nap) for nap in naps] == [1, 2, 4] * 2


@both
@pytest.mark.req("C-53")
@pytest.mark.parametrize(("status", "error"), [(429, RateLimited), (503, BackendUnavailable)])
def test_a_model_is_left_alone_as_long_as_it_asks_but_nobody_waits_for_an_hour(
    mode: str, status: int, error: type[Exception]
) -> None:
    naps: list[float] = []
    assert answer(mode, WireReply(status, headers={"Retry-After": "7"}), "ok", naps=naps) == ("ok", 2)
    assert [int(nap) for nap in naps] in ([7], [8])
    with pytest.raises(error):
        answer(mode, WireReply(status, headers={"Retry-After": "3600"}), "ok", naps=naps)
    assert len(naps) == 1


@both
@pytest.mark.req("C-53")
def test_an_answer_that_takes_too_long_is_a_timeout(mode: str) -> None:
    with pytest.raises(BackendTimeout) as caught:
        answer(mode, WireReply(delay=600), timeout=0.2, retries=0)
    assert caught.value.retryable


@both
def test_nobody_at_the_address_is_said_so(mode: str) -> None:
    with socket.socket() as taken:  # bound and not listening: refuses, and nobody else gets the port meanwhile
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(BackendUnavailable) as caught:
            answer(mode, base_url=url, retries=1)
    assert "127.0.0.1" in str(caught.value)
    assert caught.value.hint


@both
@pytest.mark.req("R-38")
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_rises_at_once_and_is_not_shown(mode: str, status: int) -> None:
    texts = {"error": {"message": f"Wrong key {KEY}", "code": "invalid_api_key"}}
    naps: list[float] = []
    with pytest.raises(AuthenticationFailed, match="invalid_api_key") as caught:
        answer(mode, WireReply(status, json=texts), naps=naps)
    assert KEY not in str(caught.value)
    assert naps == []
    with pytest.raises(AuthenticationFailed):
        answer(mode, "ok", api_key="wrong")


@both
@pytest.mark.req("R-38")
def test_a_wrong_request_rises_at_once_with_the_servers_words_and_without_the_key(mode: str) -> None:
    naps: list[float] = []
    with pytest.raises(LLMError) as caught:
        answer(mode, wrong_request(f"the model does not exist, Bearer {KEY}"), naps=naps)
    assert "the model does not exist" in str(caught.value)
    assert KEY not in str(caught.value)
    assert naps == []


@both
def test_a_key_that_cannot_be_sent_is_a_config_error(mode: str) -> None:
    with pytest.raises(ConfigError):
        answer(mode, "ok", api_key="sk-\x00")


@both
def test_without_a_key_none_is_sent(mode: str) -> None:
    with pytest.raises(AuthenticationFailed):
        answer(mode, "ok", api_key=None)


@both
def test_messages_that_are_too_long_have_their_own_hint(mode: str) -> None:
    with pytest.raises(LLMError, match="send fewer at once"):
        answer(mode, wrong_request("too many tokens", code="context_length_exceeded"))


@both
def test_a_response_format_that_was_chosen_and_is_refused_is_an_error(mode: str) -> None:
    refused = wrong_request("'response_format' is not supported")
    with pytest.raises(LLMError, match="response_format"):
        answer(mode, refused, "ok", json_mode="object")
    assert answer(mode, refused, "ok", json_mode="auto") == ("ok", 2)


@both
def test_a_server_that_refuses_every_form_is_asked_a_few_times_and_not_for_ever(mode: str) -> None:
    refused = wrong_request("no response_format, no max_completion_tokens, no temperature")
    with WireServer(lambda _: refused) as server:

        async def scenario(io: Io) -> None:
            await OpenAiLlm(OpenAiLlm.Config(base_url=f"{server.url}/v1"), io).generate(PROMPT)

        with pytest.raises(LLMError):
            run(mode, scenario)
        assert len(server.requests) == 4


# --- an answer that is none -------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (completion_reply(None, refusal="I can't help with that."), ModelRefused, "another model"),
        (completion_reply("", finish_reason="content_filter"), ModelRefused, "content filter"),
        (wrong_request("filtered", code="content_filter"), ModelRefused, "content filter"),
        (completion_reply('{"facts": ["a", "b', finish_reason="length"), AnswerCutOff, "max_tokens"),
        (completion_reply(None, finish_reason="length"), AnswerCutOff, "max_tokens"),
        (completion_reply(""), BadModelOutput, "empty"),
        (completion_reply(" \n"), BadModelOutput, "empty"),
        (completion_reply(None), BadModelOutput, "empty"),
        (WireReply(json={"choices": []}), BadModelOutput, "base_url"),
        (WireReply(json={"choices": [{"message": "hi"}]}), BadModelOutput, "base_url"),
        (WireReply(json={"choices": ["hi"]}), BadModelOutput, "base_url"),
        (WireReply(json=[]), BadModelOutput, "base_url"),
        (WireReply(body=b"<html>welcome</html>"), BadModelOutput, "base_url"),
        (WireReply(body=b"\xff\xfe"), BadModelOutput, "base_url"),
        (WireReply(body=b"[" * 100_000), BadModelOutput, "base_url"),
        (completion_reply(None, tool_calls=[("weather", '{"city": ')]), BadModelOutput, "tool"),
        (completion_reply(None, tool_calls=[("weather", "[1]")]), BadModelOutput, "tool"),
    ],
)
def test_an_unusable_answer_is_a_typed_error_with_a_hint(
    mode: str, reply: WireReply, error: type[LLMError], words: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        answer(mode, reply)
    assert caught.value.code == error.code
    assert issubclass(error, LLMError)
    assert not caught.value.retryable


@both
def test_what_there_is_of_a_cut_off_answer_is_kept(mode: str) -> None:
    with pytest.raises(AnswerCutOff) as caught:
        answer(mode, completion_reply(json.dumps({"facts": [OSLO, CATS]})[:-20], finish_reason="length"))
    assert [fact.text for fact in parse_extraction(caught.value.raw, Talk(TURNS, language=ENGLISH)).operations] == [
        "User moved to Oslo."
    ]


@both
def test_an_answer_of_more_than_two_megabytes_is_not_read(mode: str) -> None:
    huge = json.dumps({"facts": ["User moved to Oslo. " * 60_000]})
    with pytest.raises(BadModelOutput, match="lower max_tokens"):
        answer(mode, huge + " " * MAX_ANSWER_BYTES)
    assert facts(mode, huge)[:2] == ([], 1)


# --- an answer that is not what was asked for -------------------------------------------------------------------------


@both
@pytest.mark.req("S-18", "C-20")
@pytest.mark.parametrize(
    ("reply", "how"),
    [
        (json.dumps({"facts": [OSLO]}), "bare"),
        (f"Of course! ```json\n{json.dumps([OSLO])}\n``` Done.", "fenced"),
        (f"Here is what I found: {json.dumps([OSLO])} I hope this helps.", "embedded"),
        (json.dumps({"facts": [OSLO, CATS]})[:-20], "truncated"),
        ("{'facts': ['User moved to Oslo.',]}", "repaired"),
    ],
)
def test_sloppy_answers_are_understood(mode: str, reply: str, how: str) -> None:
    assert facts(mode, reply) == (["User moved to Oslo."], 0, how)


@both
@pytest.mark.parametrize("reply", ["I have no facts for you.", '{"facts": [{"text": "User mov', '{"error": "busy"}'])
def test_an_answer_without_facts_in_it_is_not_taken_for_no_facts(mode: str, reply: str) -> None:
    with pytest.raises(UnreadableAnswer):
        facts(mode, reply)


@both
@pytest.mark.req("R-32", "N-40")
def test_invented_facts_are_dropped_and_another_language_is_none(mode: str) -> None:
    reply = json.dumps(
        {"facts": [OSLO, "User is a pilot at SAS.", {**CATS, "text": "用户有两只猫。"}, "John Doe likes X"]}
    )
    assert facts(mode, reply) == (["User moved to Oslo.", "用户有两只猫。"], 2, "bare")


@both
@pytest.mark.req("R-8", "X-14")
def test_invented_ids_and_unknown_events_touch_nothing(mode: str) -> None:
    operations = [
        {"event": "DELETE", "id": "6b1f0c1e-2a52-4c0a-9d7e-0a6f4dd2c001", "fact": 1},
        {"event": "OBLITERATE", "id": 1, "fact": 1},
        {"event": "UPDATE", "id": 1, "fact": 2, "data": "User lives in Oslo."},
        {"event": "DELETE", "id": 9, "fact": 2},
    ]
    found = parse_decisions(answer(mode, json.dumps(operations))[0], 2, 3)
    assert [(one.fact, one.operation, one.target) for one in found.decisions] == [(2, "UPDATE", 1)]
    assert len(found.log) == 3


# --- the guard around it ----------------------------------------------------------------------------------------------


@both
@pytest.mark.req("C-53")
def test_a_model_that_stays_down_is_left_alone_and_asked_again_later(mode: str) -> None:
    seconds = [0.0]
    with WireServer(FakeChat(*[WireReply(500)] * 3, "back")) as server:

        async def scenario(io: Io) -> list[str]:
            config = OpenAiLlm.Config.model_validate({"base_url": f"{server.url}/v1", "api_key": KEY, "retries": 0})
            guard = GuardedLlm(OpenAiLlm(config, io), io, lambda: seconds[0], open_after=3)
            found = []
            for wait in (0, 0, 0, 10, 20, 0):
                seconds[0] += wait
                found.append(await outcome(guard))
            return found

        codes = run(mode, scenario)
        assert codes == [*["backend_unavailable"] * 3, LlmUnavailable.code, "back", "back"]
        assert len(server.requests) == 5


async def outcome(guard: GuardedLlm) -> str:
    try:
        return (await guard.generate(PROMPT)).text
    except MemstoneError as error:
        return error.code
