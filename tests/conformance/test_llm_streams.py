"""Every dialect of a language model that answers piece by piece: the vendor's own client first, then ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator
from time import sleep
from typing import Any

import pytest

from memstone import Memory
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
from memstone.testing.wire import WireReply, WireRequest, WireServer
from memstone.testing.wire_chat import WireAnswer
from tests.conformance.chat_dialects import DIALECTS, Asked, Dialect, status_of
from tests.conformance.cut_short import CutShort
from tests.conformance.test_llm_dialects import BY_SCHEMA, PLAIN, ROUND_TRIPS, WITH_TOOL, WORDS, without_form

both = pytest.mark.parametrize("mode", MODES)
every = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)

SAID = WireAnswer("Grüße aus Köln")


def streamed(
    dialect: Dialect, server: WireServer, prompt: Prompt, **options: Any
) -> Callable[[Io], Coroutine[Any, Any, Reply]]:
    async def scenario(io: Io) -> Reply:
        config = dialect.config(server.url, stream=True, **options)
        llm: Llm = build_adapter("llm", dialect.provider, config, io)
        return await llm.generate(prompt)

    return scenario


def count_events(dialect: Dialect) -> int:
    """Of how many events the fake makes an answer."""
    with WireServer(dialect.fake(SAID)) as server:
        replies: list[WireReply] = []

        def handler(request: WireRequest) -> WireReply:
            replies.append(dialect.fake(SAID)(request))
            return replies[-1]

        server.handler = handler
        run("blocking", streamed(dialect, server, PLAIN))
    return len(list(replies[-1].chunks or ()))


# --- the vendor's own client accepts the fake -------------------------------------------------------------------------


@every
@pytest.mark.req("C-40", "C-48")
@pytest.mark.parametrize(("prompt", "answer", "reply"), ROUND_TRIPS)
def test_the_official_client_makes_the_round_trip(
    dialect: Dialect, prompt: Prompt, answer: WireAnswer, reply: Reply
) -> None:
    with WireServer(dialect.fake(answer)) as server:
        assert dialect.official(f"{server.url}{dialect.path}", Asked(prompt, stream=True)) == reply


@every
@pytest.mark.req("C-53")
@pytest.mark.parametrize(
    ("asked", "statuses"),
    [(Asked(PLAIN, key="wrong", stream=True), (400, 401)), (Asked(PLAIN, model="none-such", stream=True), (404,))],
    ids=["wrong_key", "unknown_model"],
)
def test_the_official_client_sees_the_refusals_of_the_fake(
    dialect: Dialect, asked: Asked, statuses: tuple[int, ...]
) -> None:
    with WireServer(dialect.fake(SAID)) as server, pytest.raises(Exception, match=r".") as caught:
        dialect.official(f"{server.url}{dialect.path}", asked)
    assert status_of(caught.value) in statuses


@every
@pytest.mark.req("C-53")
@pytest.mark.parametrize("reply", [WireReply(chunks=CutShort()), WireReply(delay=600)], ids=["cut", "slow"])
def test_the_official_client_gets_no_answer_from_a_fake_that_stops(dialect: Dialect, reply: WireReply) -> None:
    with WireServer(dialect.fake(reply)) as server, pytest.raises(Exception) as caught:  # noqa: PT011 - each its own
        dialect.official(f"{server.url}{dialect.path}", Asked(PLAIN, timeout=0.3, stream=True))
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
        assert run(mode, streamed(dialect, server, prompt)) == reply
        assert len(server.requests) == 1


@every
@pytest.mark.req("C-48")
@pytest.mark.parametrize("prompt", [PLAIN, BY_SCHEMA, WITH_TOOL], ids=["plain", "structured", "tool"])
def test_the_server_is_asked_as_its_own_client_asks(dialect: Dialect, prompt: Prompt) -> None:
    with WireServer(dialect.fake(WireAnswer(WORDS))) as server:
        dialect.official(f"{server.url}{dialect.path}", Asked(prompt, stream=True))
        run("blocking", streamed(dialect, server, prompt))
        official, ours = server.requests
    assert ours.path.replace("/v1beta/", "/v1/") == official.path
    added = {"stream_options"} if dialect.provider == "mistral" else set()  # whose client leaves it out
    assert {name: value for name, value in without_form(ours.json).items() if name not in added} == without_form(
        official.json
    )
    assert ours.json.get("stream") == official.json.get("stream")


@both
@pytest.mark.req("C-40")
def test_several_calls_of_tools_stay_apart(mode: str) -> None:
    calls = (("weather", {"city": "Oslo"}), ("weather", {"city": "Köln", "days": 3}))
    for dialect in DIALECTS.values():
        with WireServer(dialect.fake(WireAnswer("Let me see.", calls))) as server:
            reply = run(mode, streamed(dialect, server, WITH_TOOL))
        assert reply == Reply("Let me see.", tuple(ToolCall(*call) for call in calls), 11, 7)


@both
@every
@pytest.mark.req("C-53")
def test_a_stream_that_ends_too_early_is_no_answer(mode: str, dialect: Dialect) -> None:
    # What comes after the reason for the end (the usage, the mark) may be missing.
    last = count_events(dialect) - {"openai": 2, "azure_openai": 2, "mistral": 2}.get(dialect.provider, 0)
    for count in range(last):
        with WireServer(dialect.fake(SAID, events=count)) as server, pytest.raises(BackendUnavailable):
            run(mode, streamed(dialect, server, PLAIN, retries=0))
    with WireServer(dialect.fake(SAID, events=last)) as server:
        assert run(mode, streamed(dialect, server, PLAIN, retries=0)).text == SAID.text


@both
@every
@pytest.mark.req("C-53")
def test_a_stream_that_is_cut_on_its_way_is_asked_for_again(mode: str, dialect: Dialect) -> None:
    naps: list[float] = []
    with WireServer(dialect.fake(WireReply(chunks=CutShort()), SAID)) as server:
        assert run(mode, streamed(dialect, server, PLAIN), naps=naps).text == SAID.text
    assert len(naps) == 1


@both
@every
@pytest.mark.req("C-40", "C-53", "R-38")
def test_what_is_refused_or_fails_before_a_stream_is_as_without_one(mode: str, dialect: Dialect) -> None:
    naps: list[float] = []
    with WireServer(dialect.fake(SAID)) as server, pytest.raises(AuthenticationFailed):
        run(mode, streamed(dialect, server, PLAIN, api_key="wrong"), naps=naps)
    options = {"deployment": "model-1"} if dialect.provider == "azure_openai" else {}
    with WireServer(dialect.fake(SAID)) as server, pytest.raises(LLMError, match="none-such"):
        run(mode, streamed(dialect, server, PLAIN, model="none-such", **options), naps=naps)
    assert naps == []
    busy = WireReply(429, json={"error": {"message": "slow down"}}, headers={"Retry-After": "7"})
    with WireServer(dialect.fake(busy, WireReply(500), SAID)) as server:
        assert run(mode, streamed(dialect, server, PLAIN), naps=naps).text == SAID.text
    assert [7 <= naps[0] <= 8.4, 2 <= naps[1] <= 2.4, len(naps)] == [True, True, 2]
    with WireServer(dialect.fake(WireReply(delay=600))) as server, pytest.raises(BackendTimeout):
        run(mode, streamed(dialect, server, PLAIN, timeout=0.2, retries=0))


FAILURES = [
    ("openai", b'data: {"error": {"message": "busy", "code": 429}}\n\n', RateLimited),
    ("openai", b'data: {"choices": []}\n\ndata: {"error": {"message": "down", "type": "server_error"}}\n\n', None),
    ("anthropic", b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n', None),
    ("anthropic", b'event: error\ndata: {"type": "error", "error": {"type": "rate_limit_error"}}\n\n', RateLimited),
    ("gemini", b'data: {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}\n\n', None),
    ("ollama", b'{"message": {"content": "a"}, "done": false}\n{"error": "out of memory"}\n', None),
]


@both
@pytest.mark.req("C-53")
@pytest.mark.parametrize(("provider", "body", "error"), FAILURES)
def test_an_error_in_the_middle_of_a_stream_is_what_it_says(mode: str, provider: str, body: bytes, error: Any) -> None:
    dialect, naps = DIALECTS[provider], list[float]()
    with WireServer(dialect.fake(WireReply(chunks=[body]), SAID)) as server:
        assert run(mode, streamed(dialect, server, PLAIN), naps=naps).text == SAID.text
    assert len(naps) == 1
    with WireServer(dialect.fake(WireReply(chunks=[body]))) as server, pytest.raises(error or BackendUnavailable):
        run(mode, streamed(dialect, server, PLAIN, retries=0))


@both
@every
@pytest.mark.req("C-48")
def test_what_is_no_complete_answer_is_a_typed_error(mode: str, dialect: Dialect) -> None:
    cut, refused = WireAnswer('{"words": ["a', stop="cut"), WireAnswer("No.", stop="refused")
    with WireServer(dialect.fake(cut)) as server, pytest.raises(AnswerCutOff) as caught:
        run(mode, streamed(dialect, server, PLAIN))
    assert caught.value.raw == '{"words": ["a'
    if dialect.provider != "ollama":  # has no word for it
        with WireServer(dialect.fake(refused)) as server, pytest.raises(ModelRefused):
            run(mode, streamed(dialect, server, PLAIN))
    for reply in (WireAnswer(""), WireReply(json={"hello": "world"}), WireReply(json=[]), WireReply(body=b"<html>")):
        with WireServer(dialect.fake(reply)) as server, pytest.raises(BadModelOutput):
            run(mode, streamed(dialect, server, PLAIN))


@both
@every
@pytest.mark.req("C-48")
def test_a_server_that_does_not_stream_is_understood(mode: str, dialect: Dialect) -> None:
    bodies: list[Any] = []

    def keep(request: WireRequest) -> WireReply:
        bodies.append(dialect.fake(SAID)(request).json)
        return WireReply(json=bodies[-1])

    with WireServer(keep) as server:
        run(mode, build_plain(dialect, server))
    pretty = json.dumps(bodies[0], indent=1).encode()
    for body in (json.dumps(bodies[0]).encode(), pretty):
        with WireServer(lambda _, body=body: WireReply(body=body)) as server:  # type: ignore[misc]
            if dialect.provider != "ollama" or body is not pretty:  # whose lines are events
                assert run(mode, streamed(dialect, server, PLAIN)).text == SAID.text


def build_plain(dialect: Dialect, server: WireServer) -> Callable[[Io], Coroutine[Any, Any, Reply]]:
    async def scenario(io: Io) -> Reply:
        llm: Llm = build_adapter("llm", dialect.provider, dialect.config(server.url), io)
        return await llm.generate(PLAIN)

    return scenario


@both
@pytest.mark.req("C-40")
def test_usage_is_done_without_where_it_is_refused_and_not_asked_for_twice(mode: str) -> None:
    dialect = DIALECTS["openai"]

    async def scenario(io: Io) -> list[int]:
        llm: Llm = build_adapter("llm", "openai", dialect.config(server.url, stream=True), io)
        return [(await llm.generate(PLAIN)).output_tokens for _ in range(2)]

    with WireServer(dialect.fake(SAID, refuses=["stream_options"])) as server:
        assert run(mode, scenario) == [0, 0]
        assert len(server.requests) == 3


class Slowly:
    """An answer whose pieces come one after the other, and take longer together than one may alone."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            sleep(0.5)
            yield piece


@both
@pytest.mark.req("C-53")
def test_a_long_answer_may_take_as_long_as_it_keeps_coming(mode: str) -> None:
    def piece(text: str, reason: str | None = None) -> bytes:
        return f"data: {json.dumps({'choices': [{'delta': {'content': text}, 'finish_reason': reason}]})}\n\n".encode()

    slow = WireReply(chunks=Slowly([piece("a"), b": still here\n\n", piece("b"), piece("c"), piece("d", "stop")]))
    dialect = DIALECTS["openai"]
    with WireServer(dialect.fake(slow)) as server:
        assert run(mode, streamed(dialect, server, PLAIN, timeout=2, retries=0)).text == "abcd"


@pytest.mark.req("C-40", "C-48")
def test_a_memory_learns_from_a_streamed_answer() -> None:
    fact = {"text": "User lives in Oslo.", "turn": 1, "quote": "I live in Oslo"}
    answer = WireAnswer(json.dumps({"operations": [{"event": "ADD", **fact}]}))
    dialect = DIALECTS["anthropic"]
    with WireServer(dialect.fake(answer)) as server:
        chosen = {"provider": "anthropic", "config": dialect.config(server.url, stream=True)}
        with Memory({"store": {"url": "memory:"}, "llm": chosen}) as memory:
            added = memory.add("I live in Oslo", user_id="alice")
            assert [one["memory"] for one in added["results"]] == ["User lives in Oslo."], added
