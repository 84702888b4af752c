"""Rerankers, against loopback servers that speak as the vendors document."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from importlib import import_module
from typing import Any

import pytest
from pydantic import ValidationError

from memstone import registry
from memstone.adapters.rerank.callable import CallableReranker
from memstone.adapters.rerank.http import HttpReranker
from memstone.errors import AuthenticationFailed, BackendError, BackendRejected, BackendUnavailable, ConfigError
from memstone.ports.io import Io
from memstone.ports.models import Reranker
from memstone.testing.modes import MODES, run
from memstone.testing.wire import WIRE_RERANK_KEY, Handler, WireReply, WireServer, fake_cohere, fake_jina, fake_tei

both = pytest.mark.parametrize("mode", MODES)

TEXTS = ["lives in Oslo", "drinks tea", "likes green tea", "has two cats"]
DIALECTS: dict[str, tuple[Handler, str, dict[str, Any]]] = {
    "cohere": (fake_cohere, "/v2", {"model": "rerank-v3.5", "api_key": WIRE_RERANK_KEY}),
    "jina": (fake_jina, "/v1", {"model": "jina-reranker-v2-base-multilingual", "api_key": WIRE_RERANK_KEY}),
    "tei": (fake_tei, "", {"dialect": "tei"}),
}

Scenario = Callable[[Io], Coroutine[Any, Any, Any]]


class Service:
    """A server and the options with which it is reached."""

    def __init__(self, server: WireServer, path: str, options: dict[str, Any]) -> None:
        self.server = server
        self._options = {"base_url": f"{server.url}{path}", **options}

    def reranker(self, io: Io, **options: Any) -> HttpReranker:
        """One that is set up for this server."""
        return HttpReranker(HttpReranker.Config.model_validate({**self._options, **options}), io)

    def asked(self, texts: list[str], top: int = 10, **options: Any) -> Scenario:
        """What it says about green tea."""
        return lambda io: self.reranker(io, **options).rerank("green tea", texts, top)


@pytest.fixture(params=list(DIALECTS))
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    handler, path, options = DIALECTS[request.param]
    with WireServer(handler) as server:
        yield Service(server, path, options)


@pytest.fixture
def cohere_service() -> Iterator[Service]:
    handler, path, options = DIALECTS["cohere"]
    with WireServer(handler) as server:
        yield Service(server, path, options)


def answer(*rows: Any) -> WireReply:
    return WireReply(json={"results": [{"index": place, "relevance_score": score} for place, score in rows]})


# --- over HTTP --------------------------------------------------------------------------------------------------------


def test_the_official_cohere_client_accepts_the_fake_and_asks_as_we_do(cohere_service: Service) -> None:
    cohere: Any = import_module("cohere")
    server = cohere_service.server
    with cohere.ClientV2(api_key=WIRE_RERANK_KEY, base_url=server.url) as client:
        created = client.rerank(model="rerank-v3.5", query="green tea", documents=TEXTS, top_n=2)
    with cohere.ClientV2(api_key="wrong", base_url=server.url) as client, pytest.raises(cohere.UnauthorizedError):
        client.rerank(model="rerank-v3.5", query="green tea", documents=TEXTS)
    assert [(row.index, row.relevance_score) for row in created.results] == [(2, 1.0), (1, 0.5)]
    run("blocking", cohere_service.asked(TEXTS, top=2))
    wire_request, ours = server.requests[0], server.requests[-1]
    assert (ours.method, ours.path, ours.json) == (wire_request.method, wire_request.path, wire_request.json)
    assert ours.headers["authorization"] == wire_request.headers["authorization"]


@both
def test_documents_come_best_first_in_every_dialect(mode: str, service: Service) -> None:
    assert run(mode, service.asked(TEXTS)) == [(2, 1.0), (1, 0.5), (0, 0.0), (3, 0.0)]
    assert run(mode, service.asked(TEXTS, top=2)) == [(2, 1.0), (1, 0.5)]
    assert len(service.server.requests) == 2


@both
def test_many_documents_go_in_batches_and_keep_their_places(mode: str, service: Service) -> None:
    texts = [f"note {number}" for number in range(99)] + ["likes green tea"]
    assert run(mode, service.asked(texts, top=2, batch_size=30)) == [(99, 1.0), (0, 0.0)]
    assert len(service.server.requests) == 4
    assert run(mode, service.asked(texts, top=1)) == [(99, 1.0)]


@both
def test_documents_without_content_are_not_sent(mode: str, service: Service) -> None:
    assert run(mode, service.asked(["", "green tea", " \n", "tea"])) == [(1, 1.0), (3, 0.5)]
    assert run(mode, service.asked(["", " "])) == run(mode, service.asked([])) == []
    assert len(service.server.requests) == 1


@both
@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (WireReply(401, json={"message": "invalid api token"}), AuthenticationFailed),
        (WireReply(400, json={"message": "too many tokens"}), BackendRejected),
        (WireReply(503), BackendUnavailable),
        (WireReply(hang_up=True), BackendUnavailable),
        (WireReply(json={"results": None}), BackendError),
        (WireReply(json={"answer": []}), BackendError),
        (WireReply(json="yes"), BackendError),
        (WireReply(body=b"\xff not json"), BackendError),
        (answer((0, 0.5), (0, 0.6)), BackendError),
        (answer((4, 0.5)), BackendError),
        (answer((-1, 0.5)), BackendError),
        (answer((1.5, 0.5)), BackendError),
        (answer((0, "much")), BackendError),
        (answer((0, float("nan"))), BackendError),
        (answer((0, 10**400)), BackendError),
    ],
)
def test_what_is_no_ranking_is_a_typed_error_at_once(
    mode: str, reply: WireReply, error: type[Exception], cohere_service: Service
) -> None:
    cohere_service.server.script(reply)
    with pytest.raises(error):
        run(mode, cohere_service.asked(TEXTS))
    assert len(cohere_service.server.requests) == 1


@both
def test_a_passing_failure_is_tried_again_only_when_asked_to(mode: str, cohere_service: Service) -> None:
    naps: list[float] = []
    cohere_service.server.script(WireReply(503))
    assert run(mode, cohere_service.asked(TEXTS, top=1, retries=1), naps=naps) == [(2, 1.0)]
    assert [int(nap) for nap in naps] == [1]


def test_settings_are_checked_and_hide_the_key() -> None:
    config = HttpReranker.Config.model_validate(
        {"base_url": "https://api.cohere.com/v2", "model": "m", "api_key": WIRE_RERANK_KEY}
    )
    assert (config.timeout, config.retries) == (5.0, 0)
    assert WIRE_RERANK_KEY not in repr(config) + config.model_dump_json()
    for wrong in ({"model": "m"}, {"base_url": "localhost", "model": "m"}, {"base_url": "http://x"}):
        with pytest.raises(ValidationError):
            HttpReranker.Config.model_validate(wrong)


@both
def test_a_reranker_is_found_by_name_and_says_where_text_goes(mode: str, cohere_service: Service) -> None:
    async def scenario(io: Io) -> list[tuple[str, str]]:
        made: list[Reranker] = [cohere_service.reranker(io), CallableReranker(lengths, io)]
        return [(one.model, one.destination) for one in made]

    assert run(mode, scenario) == [("rerank-v3.5", "127.0.0.1"), ("lengths", "your own function")]
    assert registry.load_adapter("reranker", "http") is HttpReranker
    assert registry.load_adapter("reranker", "callable") is CallableReranker


# --- a function -------------------------------------------------------------------------------------------------------


def lengths(query: str, documents: list[str]) -> list[int]:
    return [len(document) - len(query) for document in documents]


def ranks_of(mode: str, function: Any, top: int = 10) -> Any:
    return run(mode, lambda io: CallableReranker(function, io).rerank("tea", ["aaaa", "a", "aaaaaa"], top))


@both
def test_a_function_gives_a_number_for_each_document(mode: str) -> None:
    assert ranks_of(mode, lengths) == [(2, 3.0), (0, 1.0), (1, -2.0)]
    assert ranks_of(mode, lengths, top=1) == [(2, 3.0)]


@both
@pytest.mark.parametrize("given", [[1.0], [1.0] * 4, None, "abc", [None] * 3])
def test_a_function_that_gives_something_else_is_an_error(mode: str, given: Any) -> None:
    with pytest.raises(BackendError, match="reranker"):
        ranks_of(mode, lambda *_: given)


@both
def test_the_exception_of_a_function_is_the_cause_of_the_error(mode: str) -> None:
    with pytest.raises(BackendError, match="no route") as caught:
        ranks_of(mode, failing)
    assert isinstance(caught.value.__cause__, ConnectionError)


def failing(query: str, documents: list[str]) -> list[float]:
    raise ConnectionError("no route")


async def waiting(query: str, documents: list[str]) -> list[int]:
    return lengths(query, documents)


def test_an_async_function_is_refused_where_nobody_awaits_it() -> None:
    with pytest.raises(ConfigError, match="async"):
        ranks_of("blocking", waiting)
    assert ranks_of("asyncio", waiting) == ranks_of("asyncio", lengths)
