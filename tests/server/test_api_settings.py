"""``/api/settings``: what holds, in the gateway's own names; backends and their keys."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from memstone.config import Settings
from memstone.engine import backends
from memstone.server.stored_settings import apply_choices, with_stored
from memstone.server.urls import UrlGuard
from tests.server.conftest import CONFIG
from tests.server.upstream import served
from tests.server.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient

KEY = "qd-0123456789-secret-WXYZ"


@pytest.fixture
def world() -> Iterator[World]:
    """A service for which every name stands for a public machine."""
    with World.of(CONFIG) as made:
        made.app.state.memstone.guard = UrlGuard([], lambda _host, _port: ["93.184.216.34"])
        yield made


@pytest.mark.req("O-81", "D-2")
def test_the_settings_are_given_in_normal_form(client: TestClient) -> None:
    found = client.get("/api/settings/memory").json()
    own = {name: found[name] for name in ("enabled", "maxTokens", "strategy", "skillsEnabled", "retentionDays")}
    assert own == {
        "enabled": True,
        "maxTokens": 1_400,
        "strategy": "hybrid",
        "skillsEnabled": False,
        "retentionDays": None,
    }


@pytest.mark.req("O-81")
def test_the_preset_of_a_gateway_has_its_defaults() -> None:
    with World.of({**CONFIG, "preset": "gateway"}) as world:
        found = world.client.get("/api/settings/memory").json()
        assert (found["maxTokens"], found["retentionDays"], found["strategy"]) == (2_000, 30, "hybrid")


@pytest.mark.req("O-82", "D-2")
def test_any_subset_is_set_rounded_moved_into_its_range_and_holds_at_once(client: TestClient) -> None:
    changed = client.put("/api/settings/memory", json={"maxTokens": 99_999, "retentionDays": 6.6}).json()
    assert (changed["maxTokens"], changed["retentionDays"], changed["enabled"]) == (16_000, 7, True)
    assert client.put("/api/settings/memory", json={"strategy": "recent", "skillsEnabled": True}).status_code == 200
    found = client.get("/api/settings/memory").json()
    assert (found["strategy"], found["skillsEnabled"], found["maxTokens"]) == ("recent", True, 16_000)
    client.put("/api/settings/memory", json={"enabled": False})
    message = client.post("/v1/memories", json={"messages": "I live in Oslo", "user_id": "alice"}).json()
    assert message["status"] == "disabled"


@pytest.mark.req("O-82", "O-66", "O-67", "O-70")
@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("retentionDays", 0, 1),
        ("retentionDays", 400, 365),
        ("retentionDays", 6.6, 7),
        ("maxTokens", -1, 0),
        ("maxTokens", 2_000.4, 2_000),
        ("maxTokens", 1e300, 16_000),
    ],
)
def test_a_number_is_rounded_and_moved_into_its_range(client: TestClient, name: str, given: float, kept: int) -> None:
    before = client.get("/api/settings/memory").json()
    assert client.put("/api/settings/memory", json={name: given}).json() == {**before, name: kept}
    assert client.put("/api/settings/memory", json={}).json() == {**before, name: kept}, "nothing is a subset, too"


@pytest.mark.req("O-82")
def test_unknown_fields_and_wrong_types_are_refused_and_nothing_is_set(client: TestClient) -> None:
    several: list[dict[str, Any]] = [
        {"surprise": 1},
        {"enabled": "yes"},
        {"maxTokens": "many"},
        {"strategy": "psychic"},
        {"max_token": 1},
    ]
    for wrong in several:
        before = client.get("/api/settings/memory").json()
        answer = client.put("/api/settings/memory", json={"maxTokens": 5, **wrong})
        assert answer.status_code == 400
        assert answer.json()["error"]["message"]
        assert client.get("/api/settings/memory").json() == before


@pytest.mark.req("O-82")
def test_a_body_that_is_no_json_is_said_to_be_none(client: TestClient) -> None:
    answer = client.put("/api/settings/memory", content="{oops", headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert {"message": "Invalid JSON body", "details": []}.items() <= answer.json()["error"].items()


def test_settings_are_for_administrators_of_the_whole_tenant(world: World) -> None:
    for client in (world.as_key(verbs=["write"]), world.as_key(user_id="a", verbs=["read", "write", "admin"])):
        for path in ("/api/settings/memory", "/api/settings/qdrant", "/api/settings/qdrant/health"):
            assert client.get(path).status_code == 403
        assert client.put("/api/settings/memory", json={"enabled": False}).status_code == 403
        assert client.put("/api/settings/qdrant", json={"enabled": True}).status_code == 403


def test_another_tenant_has_settings_of_its_own_and_chooses_no_backends(world: World) -> None:
    other = world.as_key("acme", verbs=["read", "write", "admin"])
    assert other.put("/api/settings/memory", json={"maxTokens": 100}).json()["maxTokens"] == 100
    assert world.client.get("/api/settings/memory").json()["maxTokens"] == 1_400
    assert other.put("/api/settings/memory", json={"rerankEnabled": False}).status_code == 403
    assert other.get("/api/settings/qdrant").status_code == 403
    assert other.put("/api/settings/qdrant", json={"host": "q.example.com"}).status_code == 403


@pytest.mark.req("N-6")
def test_the_backends_have_names_and_defaults(client: TestClient) -> None:
    found = client.get("/api/settings/memory").json()
    names = ("embeddingSource", "embeddingProviderModel", "transformersEnabled", "staticEnabled", "rerankEnabled")
    assert [found[name] for name in names] == ["auto", None, True, False, False]
    names = ("rerankProviderModel", "vectorStore", "primaryBackend", "fallbackBackends", "backendConfigs")
    assert [found[name] for name in names] == [None, "auto", "ledger", [], {}]
    assert found["restartRequired"] is False


@pytest.mark.req("N-6")
def test_a_backend_that_cannot_be_used_here_is_refused(client: TestClient) -> None:
    several: list[dict[str, Any]] = [
        {"embeddingSource": "remote"},
        {"embeddingSource": "remote", "embeddingProviderModel": "nobody/model"},
        {"embeddingProviderModel": "no-model"},
        {"embeddingProviderModel": "static/model"},
        {"rerankEnabled": True},
        {"primaryBackend": "elsewhere"},
        {"fallbackBackends": ["elsewhere"]},
        {"backendConfigs": {"openai": {"baseUrl": "file:///etc/passwd"}}},
        {"backendConfigs": {"openai": {"nested": {"a": 1}}}},
    ]
    for wrong in several:
        before = client.get("/api/settings/memory").json()
        assert client.put("/api/settings/memory", json=wrong).status_code == 400
        assert client.get("/api/settings/memory").json() == before


@pytest.mark.req("N-2.1", "N-6")
def test_the_static_model_is_chosen_by_name_or_before_the_built_in_one_where_it_is_enabled() -> None:
    settings, guard = Settings.of(CONFIG), UrlGuard([], lambda _host, _port: ["93.184.216.34"])
    expected = {
        ("static", False): "static",
        ("auto", True): "static",
        ("auto", False): settings.embedder.provider,
        ("transformers", True): "local",
    }
    for (source, enabled), provider in expected.items():
        chosen = apply_choices(settings, {"embeddingSource": source, "staticEnabled": enabled}, {}, guard)
        assert (chosen.settings.embedder.provider, chosen.problems) == (provider, {})


@pytest.mark.req("N-2.1", "N-6")
def test_the_static_model_is_refused_where_its_package_is_missing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    for wrong in ({"embeddingSource": "static"}, {"staticEnabled": True}):
        answer = client.put("/api/settings/memory", json=wrong)
        assert answer.status_code == 400, answer.text
        assert "not installed" in answer.text


@pytest.mark.req("N-6")
def test_a_stored_choice_holds_from_the_next_start(tmp_path: Path) -> None:
    settings = Settings.of({**CONFIG, "store": {"url": f"sqlite:///{tmp_path / 'm.db'}"}})
    public = UrlGuard([], lambda _host, _port: ["93.184.216.34"])
    chosen = {
        "embeddingSource": "remote",
        "embeddingProviderModel": "openai/text-embedding-3-large",
        "backendConfigs": {"openai": {"baseUrl": "https://models.example.com/v1", "apiKey": KEY}},
        "rerankEnabled": True,
        "rerankProviderModel": "openai/rank-1",
    }
    with World.of(settings) as world:  # type: ignore[arg-type]
        world.app.state.memstone.guard = public
        changed = world.client.put("/api/settings/memory", json=chosen).json()
        assert changed["restartRequired"] is True
        assert changed["backendConfigs"]["openai"]["apiKey"] == "***WXYZ"
    later = with_stored(settings, public)
    assert later.embedder.provider == "openai"
    assert later.embedder.config["model"] == "text-embedding-3-large"
    assert later.embedder.config["base_url"] == "https://models.example.com/v1"
    assert later.embedder.config["api_key"] == KEY
    assert later.reranker is not None
    assert later.reranker.config["model"] == "rank-1"
    assert KEY not in repr(later)
    with World.of(later) as world:  # type: ignore[arg-type]
        world.app.state.memstone.guard = public
        assert world.client.get("/api/settings/memory").json()["restartRequired"] is False
        assert world.client.get("/api/memory/engine-status").json()["embedding"]["provider"] == "openai"


@pytest.mark.req("N-6")
def test_a_choice_that_cannot_be_followed_any_more_does_not_stop_the_start(tmp_path: Path) -> None:
    settings = Settings.of({**CONFIG, "store": {"url": f"sqlite:///{tmp_path / 'm.db'}"}})
    with World.of(settings) as world:  # type: ignore[arg-type]
        world.app.state.memstone.guard = UrlGuard([], lambda _host, _port: ["93.184.216.34"])
        config = {"openai": {"baseUrl": "http://models.example.com/v1"}}
        chosen = {"embeddingSource": "remote", "embeddingProviderModel": "openai/m", "backendConfigs": config}
        assert world.client.put("/api/settings/memory", json=chosen).status_code == 200
    moved = with_stored(
        settings, UrlGuard([], lambda _host, _port: ["10.0.0.7"])
    )  # the name stands for another machine now
    assert moved == settings
    pinned = with_stored(settings, UrlGuard([], lambda _host, _port: ["93.184.216.34"]))
    assert pinned.embedder.config["base_url"] == "http://93.184.216.34/v1"


def test_a_model_that_is_not_there_is_refused_after_its_source_was_chosen(world: World) -> None:
    config = {"openai": {"baseUrl": "https://a.example.com/v1"}}
    chosen = {"embeddingSource": "remote", "embeddingProviderModel": "openai/m", "backendConfigs": config}
    assert world.client.put("/api/settings/memory", json=chosen).status_code == 200
    assert world.client.put("/api/settings/memory", json={"embeddingProviderModel": "nobody/m"}).status_code == 400
    assert world.client.get("/api/settings/memory").json()["embeddingProviderModel"] == "openai/m"


def test_a_key_of_the_configuration_file_is_not_sent_to_a_stored_address(tmp_path: Path) -> None:
    embedder = {"provider": "openai", "config": {"api_key": "from-the-file", "model": "m"}}
    settings = Settings.of({"store": {"url": f"sqlite:///{tmp_path / 'm.db'}"}, "embedder": embedder})
    with World.of(settings) as world:  # type: ignore[arg-type]
        world.app.state.memstone.guard = UrlGuard([], lambda _host, _port: ["93.184.216.34"])
        config = {"openai": {"baseUrl": "https://elsewhere.example.com/v1"}}
        chosen = {"embeddingSource": "remote", "embeddingProviderModel": "openai/m", "backendConfigs": config}
        assert world.client.put("/api/settings/memory", json=chosen).status_code == 200
    later = with_stored(settings, UrlGuard([], lambda _host, _port: ["93.184.216.34"]))
    assert later.embedder.config == {"base_url": "https://elsewhere.example.com/v1", "model": "m"}


@pytest.mark.req("O-72", "N-7")
def test_the_settings_of_qdrant_have_names_and_defaults(world: World) -> None:
    found = world.client.get("/api/settings/qdrant").json()
    assert (found["enabled"], found["host"], found["port"], found["apiKey"]) == (False, "", 6_333, "")
    assert found["collection"] == "omniroute_memory"
    assert found["embeddingModel"] == "openai/text-embedding-3-small"
    assert found["status"] == "not_configured"
    stored = world.run(lambda: world.app.state.memstone.memory.engine.run(backends.get_backends))["settings"]
    names = ("qdrantEnabled", "qdrantHost", "qdrantPort", "qdrantCollection", "qdrantEmbeddingModel", "qdrantApiKey")
    assert set(names) <= set(stored)
    for model in ("no-model", "/m", "p/", ""):
        assert world.client.put("/api/settings/qdrant", json={"embeddingModel": model}).status_code == 400


@pytest.mark.req("N-7")
def test_the_key_of_qdrant_is_masked_and_an_empty_one_removes_it(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    first = world.client.put("/api/settings/qdrant", json={"host": "q.example.com", "apiKey": KEY, "enabled": True})
    assert first.json()["apiKey"] == "***WXYZ"
    assert first.json()["hasApiKey"] is True
    again = world.client.put("/api/settings/qdrant", json={"apiKey": "***WXYZ", "collection": "mine"}).json()
    assert (again["apiKey"], again["collection"]) == ("***WXYZ", "mine")
    everything = [
        world.client.get(path).text
        for path in ("/api/settings/qdrant", "/api/settings/memory", "/api/memory/engine-status", "/v1/stats")
    ]
    everything.append(str(world.run(world.app.state.memstone.memory.settings.get)))
    everything.append(str(world.run(lambda: world.app.state.memstone.memory.engine.run(backends.get_backends))))
    everything.append(caplog.text)
    assert not any(KEY in text for text in everything)
    gone = world.client.put("/api/settings/qdrant", json={"apiKey": ""}).json()
    assert (gone["apiKey"], gone["hasApiKey"]) == ("", False)


def test_of_a_short_key_nothing_is_shown(world: World) -> None:
    changed = world.client.put("/api/settings/qdrant", json={"host": "q.example.com", "apiKey": "abcd1234"}).json()
    assert changed["apiKey"] == "***"


@pytest.mark.req("N-7")
def test_enabling_qdrant_selects_the_store_and_says_what_is_missing(world: World) -> None:
    changed = world.client.put("/api/settings/qdrant", json={"host": "q.example.com", "enabled": True}).json()
    assert changed["status"] in ("not_configured", "restart_required")
    assert world.client.get("/api/settings/memory").json()["vectorStore"] == "qdrant"
    world.client.put("/api/settings/qdrant", json={"enabled": False})
    assert world.client.get("/api/settings/memory").json()["vectorStore"] == "auto"
    found = world.client.post("/api/settings/qdrant/search", json={"query": "tea"}).json()
    assert (found["ok"], found["status"], found["results"]) == (False, "not_configured", [])
    assert world.client.post("/api/settings/qdrant/cleanup").json()["status"] == "not_configured"
    for wrong in ({"query": "x", "topK": 51}, {"query": "x", "topK": 0}, {"query": ""}):
        assert world.client.post("/api/settings/qdrant/search", json=wrong).status_code == 400
    models = [one["id"] for one in world.client.get("/api/settings/qdrant/embedding-models").json()["models"]]
    assert "openai/text-embedding-3-small" in models


@pytest.mark.req("N-7")
@pytest.mark.parametrize("change", [{"host": "other.example.com"}, {"port": 6_444}, {"host": "https://q.example.com"}])
def test_a_stored_key_does_not_follow_to_another_place(world: World, change: dict[str, Any]) -> None:
    world.client.put("/api/settings/qdrant", json={"host": "q.example.com", "apiKey": KEY})
    moved = world.client.put("/api/settings/qdrant", json=change).json()
    assert (moved["apiKey"], moved["cleared"]) == ("", ["qdrantApiKey"])
    # A mask that comes along with another place is no key either.
    world.client.put("/api/settings/qdrant", json={"apiKey": KEY})
    masked = world.client.put("/api/settings/qdrant", json={"host": "third.example.com", "apiKey": "***WXYZ"}).json()
    assert masked["hasApiKey"] is False
    together = world.client.put("/api/settings/qdrant", json={"host": "4.example.com", "apiKey": KEY}).json()
    assert (together["hasApiKey"], together["cleared"]) == (True, [])


def test_the_key_of_a_backend_does_not_follow_to_another_address_either(world: World) -> None:
    config = {"openai": {"baseUrl": "https://a.example.com/v1", "apiKey": KEY}}
    world.client.put("/api/settings/memory", json={"backendConfigs": config})
    same = {"openai": {"baseUrl": "https://a.example.com/v1", "apiKey": "***WXYZ"}}
    stored = world.client.put("/api/settings/memory", json={"backendConfigs": same}).json()
    assert stored["backendConfigs"]["openai"]["apiKey"] == "***WXYZ"
    moved = {"openai": {"baseUrl": "https://b.example.com/v1", "apiKey": "***WXYZ"}}
    gone = world.client.put("/api/settings/memory", json={"backendConfigs": moved}).json()
    assert "apiKey" not in gone["backendConfigs"]["openai"]


class Store:
    """A loopback service that answers as Qdrant does, and keeps the headers it was sent."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.answer: Any = JSONResponse({"result": {"status": "green"}})
        self.app = FastAPI()
        self.app.get("/collections/{name}")(self._collection)
        self.app.get("/elsewhere")(self._collection)

    async def _collection(self, request: Request) -> Any:
        self.headers.append(dict(request.headers))
        return self.answer


@contextmanager
def stored(private: list[str]) -> Iterator[tuple[World, Store, int]]:
    """A service, and a store on this machine under a name."""
    store = Store()
    with served(store.app) as url, World.of(CONFIG) as world:
        guard = UrlGuard(private, lambda _host, _port: ["127.0.0.1"])
        world.app.state.memstone.guard = guard
        yield world, store, int(url.rpartition(":")[2])


@pytest.mark.req("N-7")
def test_health_asks_the_store_with_its_key_under_its_name() -> None:
    with stored(["qdrant.internal"]) as (world, store, port):
        assert world.client.get("/api/settings/qdrant/health").json()["status"] == "not_configured"
        change = {"host": "qdrant.internal", "port": port, "apiKey": KEY, "enabled": True}
        assert world.client.put("/api/settings/qdrant", json=change).status_code == 200
        health = world.client.get("/api/settings/qdrant/health").json()
        assert (health["ok"], health["status"]) == (True, "ok")
        assert health["latencyMs"] > 0
        assert store.headers[0]["api-key"] == KEY
        assert store.headers[0]["host"] == f"qdrant.internal:{port}"
        store.answer = JSONResponse({}, 401)
        refused = world.client.get("/api/settings/qdrant/health").json()
        assert (refused["ok"], refused["error"]) == (False, "qdrant.internal answered 401")


def test_health_follows_no_redirect() -> None:
    with stored(["qdrant.internal"]) as (world, store, port):
        world.client.put(
            "/api/settings/qdrant", json={"host": "qdrant.internal", "port": port, "apiKey": KEY, "enabled": True}
        )
        store.answer = JSONResponse({}, 302, headers={"location": "/elsewhere"})
        health = world.client.get("/api/settings/qdrant/health").json()
        assert (health["ok"], health["status"]) == (False, "error")
        assert len(store.headers) == 1


def test_a_private_address_is_refused_unless_the_configuration_names_it() -> None:
    with stored([]) as (world, store, port):
        answer = world.client.put("/api/settings/qdrant", json={"host": "127.0.0.1", "port": port})
        assert answer.status_code == 400
        assert "server.private_urls" in answer.json()["hint"]
        assert world.client.put("/api/settings/qdrant", json={"host": "qdrant.internal"}).status_code == 400
        assert store.headers == []
