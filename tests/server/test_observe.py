from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from memstone import Client, Memory
from memstone.core.redact import redact_preview
from memstone.errors import StorageBusy
from memstone.server import observe
from memstone.server.app import create_app
from memstone.server.observe import _FORWARDED, configure_logging, log, redact_value, speak_softly
from tests.server.upstream import Upstream, served
from tests.server.world import World

Lines = Callable[[], list[dict[str, Any]]]
CANARY = "sk-proj-canary0Q7f3kLm9ZxW2vB5nT8"
CARD = "4111 1111 1111 1111"
CONFIG: dict[str, Any] = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Iterator[Lines]:
    """The log as it is written, line by line; the loggers are put back afterwards."""
    before = {one.name: (list(one.handlers), one.level, one.propagate) for one in map(_logger, _FORWARDED)}
    configure_logging("json", getattr(request, "param", logging.INFO))
    yield lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    structlog.reset_defaults()
    for name, (handlers, level, propagate) in before.items():
        one = _logger(name)
        one.handlers, one.propagate = handlers, propagate
        one.setLevel(level)


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(name)


def named(found: list[dict[str, Any]], event: str) -> list[dict[str, Any]]:
    return [line for line in found if line["event"] == event]


@pytest.mark.req("N-42")
def test_every_request_is_one_line_with_its_id_and_route_and_nothing_of_its_query(lines: Lines, world: World) -> None:
    answer = world.client.get("/v1/memories/unknown-id?canary=tulip", headers={"X-Request-ID": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
    (line,) = named(lines(), "request")
    assert (line["method"], line["route"], line["status"]) == ("GET", "/v1/memories/{memory_id}", 400)
    assert (line["request_id"], line["key"]) == ("mine-1", world.client.get("/v1/keys").json()["results"][0]["id"])
    assert line["ms"] > 0
    assert "tulip" not in json.dumps(line)
    assert "unknown-id" not in json.dumps(line)


def test_an_id_that_could_break_a_log_is_not_taken_over(lines: Lines, world: World) -> None:
    answer = world.client.get("/v1/stats", headers={"X-Request-ID": "a b\tc"})
    assert answer.headers["x-request-id"] != "a b\tc"
    assert named(lines(), "request")[0]["request_id"] == answer.headers["x-request-id"]


def test_what_is_not_there_is_one_route_however_it_is_spelled(lines: Lines, world: World) -> None:
    for path in ("/a", "/b/c"):
        world.client.get(path)
    assert [line["route"] for line in named(lines(), "request")] == ["unmatched", "unmatched"]


@pytest.mark.req("O-98", "O-54", "O-38", "P-23")
def test_the_log_names_what_happened_under_the_id_of_the_request_and_not_what_was_said(
    lines: Lines, world: World
) -> None:
    header = {"X-Request-ID": "r1"}
    texts = {"messages": "I live in Oslo", "user_id": "alice"}
    stored = world.client.post("/v1/memories", json=texts, headers=header).json()["results"][0]["id"]
    world.client.post("/v1/context", json={"query": "Where do I live?", "user_id": "alice"})
    world.client.put(f"/v1/memories/{stored}", json={"text": "User lives in Bergen."})
    world.client.delete(f"/v1/memories/{stored}")
    found = lines()
    assert {line["request_id"] for line in found[:5]} == {"r1"}
    about = [
        "memory.extraction.start",
        "memory.extraction.complete",
        "memory.stored",
        "memory_decision",
        "memory.retrieval.start",
        "memory.retrieval.complete",
        "memory.updated",
        "memory.deleted",
    ]
    assert [line["event"] for line in found if line["event"] in about] == about
    (new,) = named(found, "memory.stored")
    assert (new["owner"], new["type"], new["id"]) == ("alice", "factual", stored)
    assert named(found, "memory.updated")[0]["id"] == named(found, "memory.deleted")[0]["id"] == stored
    text = json.dumps(found).lower()
    assert not [word for word in ("oslo", "bergen", "where do") if word in text]


@pytest.mark.req("O-98", "O-54")
def test_a_change_is_told_with_the_key_of_the_memory(lines: Lines, world: World) -> None:
    texts = {"messages": "likes tea", "user_id": "alice", "infer": False, "key": "drink"}
    stored = world.client.post("/v1/memories", json=texts).json()["results"][0]["id"]
    world.client.put(f"/v1/memories/{stored}", json={"text": "likes green tea"})
    (answer,) = named(lines(), "memory.updated")
    assert {name: answer[name] for name in ("owner", "type", "id", "key")} == {
        "owner": "alice",
        "type": "factual",
        "id": stored,
        "key": "drink",
    }


@pytest.mark.req("O-54", "O-38")
@pytest.mark.parametrize("lines", [logging.DEBUG], indirect=True)
def test_chosen_ids_and_facts_that_were_found_are_told_to_those_who_ask_for_details(lines: Lines, world: World) -> None:
    texts = {"messages": "likes tea", "user_id": "alice", "infer": False, "key": "drink"}
    stored = world.client.post("/v1/memories", json=texts).json()["results"][0]["id"]
    world.client.put(f"/v1/memories/{stored}", json={"text": "likes green tea"})
    world.client.post("/v1/context", json={"query": "What do I like to drink?", "user_id": "alice", "gate": "always"})
    world.client.post("/v1/memories", json={"messages": "I love tea.", "user_id": "bob"})
    found = lines()
    assert named(found, "memory.retrieval.selected")[0]["ids"] == [stored]
    assert named(found, "memory.extraction.fact_found")[0]["category"] == "preference"
    assert {line["level"] for line in named(found, "memory.retrieval.selected")} == {"debug"}


def test_what_was_not_stored_is_not_told(lines: Lines) -> None:
    with Memory(CONFIG) as memory:
        memory.add("likes tea", user_id="a", infer=False)
        assert memory.add("likes tea", user_id="a", infer=False)["results"][0]["event"] == "NONE"
        with pytest.raises(KeyError):
            memory.update("no-such-id", "x")
    assert [line["event"] for line in lines() if line["event"].startswith("memory.")] == ["memory.stored"]


def test_many_changes_at_once_are_counted(lines: Lines) -> None:
    with Memory(CONFIG) as memory:
        memory.add_many([{"messages": f"number {n}", "user_id": "a", "infer": False} for n in range(60)])
        memory.delete_all(user_id="a")
    found = lines()
    assert named(found, "memory.stored") == [{**named(found, "memory.stored")[0], "count": 60}]
    assert [line["count"] for line in named(found, "memory.deleted")] == [60]


@pytest.mark.req("O-62")
def test_the_gateway_tells_what_it_showed_and_why_it_showed_nothing(lines: Lines, tmp_path: Any) -> None:
    upstream = Upstream()
    with served(upstream.app) as behind:
        gateway = {"upstreams": [{"name": "up", "base_url": f"{behind}/v1"}], "recall_ms": 120_000}
        context = {"false_injection": 0.0, "min_score": 0.0}
        config = {**CONFIG, "preset": "gateway", "gateway": gateway, "context": context}
        with World.of({**config, "store": {"url": f"sqlite:///{tmp_path}/o.db"}}) as world:
            chat = {"model": "m", "messages": [{"role": "user", "content": "Where do I live?"}]}
            alice = world.as_key(user_id="alice")
            assert alice.post("/v1/chat/completions", json=chat).status_code == 200
            world.client.post("/v1/memories", json={"messages": "lives in Oslo", "user_id": "alice", "infer": False})
            assert alice.post("/v1/chat/completions", json=chat).status_code == 200
    found = lines()
    (skipped,), (output,) = named(found, "memory.injection.skipped"), named(found, "memory.injection.injected")
    assert (skipped["reason"], skipped["model"]) == ("no_memories", "m")
    assert (output["count"], output["model"], bool(output["strategy"])) == (1, "m", True)
    assert "oslo" not in json.dumps(found).lower()


@pytest.mark.req("R-38")
def test_secrets_reach_neither_log_nor_errors_nor_description_nor_figures(lines: Lines, world: World) -> None:
    token = world.client.headers["authorization"].removeprefix("Bearer ")
    answers = [
        world.client.post("/v1/memories", json={"messages": f"my key is {CANARY}, card {CARD}", "user_id": "a"}),
        world.client.post("/v1/memories", json={"messages": 7, CANARY: CANARY, "user_id": {"x": CANARY}}),
        world.client.get(f"/v1/memories?limit={CANARY}"),
        world.client.get("/v1/stats", headers={"X-API-Key": CANARY, "Authorization": ""}),
        world.anonymous(Authorization=f"Bearer {token}x").get("/v1/stats"),
        world.client.post("/v1/memories", content=f'{{"messages": {CANARY}'),
        world.client.get("/openapi.json"),
        world.client.get("/metrics"),
    ]
    log.error("broken", exc_info=ValueError(f"bad {CANARY} {token}"), where={"deep": [f"{token} {CARD}"]})
    for name in ("uvicorn.error", "psycopg.pool", "mcp.server", "asyncio"):
        logging.getLogger(name).error("lost %s", CANARY)
    text = json.dumps(lines()) + "".join(answer.text for answer in answers)
    assert [answer.status_code for answer in answers] == [200, 400, 400, 401, 401, 400, 200, 200]
    assert not [secret for secret in (CANARY, CARD, token) if secret in text]


def test_a_crash_is_told_by_its_kind_and_place_and_not_by_its_message(lines: Lines) -> None:
    try:
        dict[str, int]()["Anna lives in Oslo"]
    except KeyError as error:
        log.error("request.crashed", exc_info=error)
    (line,) = lines()
    assert line["error"] == "KeyError"
    assert "test_observe.py" in line["trace"][0]
    assert "Oslo" not in json.dumps(line)


def _broken() -> Any:
    app = create_app({**CONFIG, "server": {"origins": ["https://app.example.com"]}})

    @app.get("/broken")
    async def broken() -> None:
        raise ValueError("Anna lives in Oslo")

    @app.get("/busy")
    async def busy() -> None:
        raise StorageBusy("postgresql://db.internal/memstone: no connection")

    return app


def test_what_nobody_foresaw_has_its_id_its_headers_and_its_line(lines: Lines) -> None:
    headers = {"X-Request-ID": "abc", "Origin": "https://app.example.com"}
    with World.over(_broken()) as world:
        answer = TestClient(world.app, raise_server_exceptions=False).get("/broken", headers=headers)
    assert (answer.status_code, answer.json()["code"], answer.json()["request_id"]) == (500, "internal", "abc")
    assert (answer.headers["x-request-id"], answer.headers["x-content-type-options"]) == ("abc", "nosniff")
    assert answer.headers["access-control-allow-origin"] == "https://app.example.com"
    (line,) = named(lines(), "request.crashed")
    assert (line["request_id"], line["kind"]) == ("abc", "ValueError")


def test_where_the_store_is_says_the_log_and_not_the_answer(lines: Lines) -> None:
    with World.over(_broken()) as world:
        answer = world.client.get("/busy")
    assert (answer.status_code, answer.json()["code"], answer.json()["retryable"]) == (503, "storage_busy", True)
    assert "internal" not in answer.text
    (line,) = named(lines(), "request.failed")
    assert "no connection" in line["reason"]


def test_cleaning_keeps_what_is_no_secret() -> None:
    stored = {"id": "6e1f0b3e-5b9c-4f4e-9d3e-2b1c0a9f8e7d", "n": 3, "ok": True, "ms": 1.5, "none": None, "list": ["a"]}
    assert redact_value(stored) == stored


@given(st.from_regex(r"[a-z][a-z_./{}]{0,39}", fullmatch=True))
def test_names_are_left_alone_because_no_rule_finds_a_secret_in_them(name: str) -> None:
    assert redact_value(name) == name == redact_preview(name)


def test_of_what_nobody_listens_to_nothing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_through = list[object]()

    def noted(value: object) -> object:
        looked_through.append(value)
        return value

    monkeypatch.setattr(observe, "redact_value", noted)
    structlog.reset_defaults()
    speak_softly()
    log.debug("quiet", note="anything")
    assert not looked_through
    log.error("loud", note="anything")
    assert looked_through == ["anything", "loud"]
    structlog.reset_defaults()


def test_the_log_can_be_read_by_people(capsys: pytest.CaptureFixture[str], lines: Lines) -> None:
    assert lines() == []
    configure_logging("console")
    log.info("memory.stored", owner="alice", note=f"key {CANARY}")
    text = capsys.readouterr().err
    assert "memory.stored" in text
    assert "alice" in text
    assert CANARY not in text


@pytest.mark.req("O-38", "O-54")
@pytest.mark.parametrize(("level", "is_shown"), [("debug", True), ("info", False)])
def test_a_service_shows_details_when_its_settings_ask_for_them(tmp_path: Any, level: str, *, is_shown: bool) -> None:
    chosen = {"EMBEDDER__PROVIDER": "hash", "SERVER__LOG": "json", "SERVER__LOG_LEVEL": level}
    command = [sys.executable, "-m", "memstone.cli", "--db", f"{tmp_path}/m.db", "serve", "--port", "0"]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", **{f"MEMSTONE_{name}": chosen[name] for name in chosen}}
    with (
        (tmp_path / "log").open("w") as log_file,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log_file, text=True) as service,  # noqa: S603
    ):
        assert service.stdout is not None
        texts = [service.stdout.readline() for _ in range(4)]
        url, key = (re.search(pattern, "".join(texts)) for pattern in (r"listening on (\S+)", r"MEMSTONE_KEY=(\S+)"))
        assert url, texts
        assert key, texts
        with Client(url[1], key[1]) as client:
            client.add("I love tea.", user_id="alice")
        service.terminate()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines() if line.startswith("{")]
    found = [line for line in lines if line["event"] == "memory.extraction.fact_found"]
    assert [line["category"] for line in found] == (["preference"] if is_shown else [])
    assert named(lines, "memory.stored")


def test_an_application_that_configured_nothing_finds_the_log_in_its_own(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], world: World
) -> None:
    structlog.reset_defaults()
    speak_softly()
    with caplog.at_level(logging.INFO, "memstone"):
        world.client.get("/v1/stats", headers={"X-Request-ID": "r7"})
        log.error("broken", exc_info=ValueError("Anna lives in Oslo"), note=f"key {CANARY}")
    request, broken = (one for one in caplog.records if one.name == "memstone.server")
    assert (request.getMessage(), vars(request)["route"], vars(request)["request_id"]) == ("request", "/v1/stats", "r7")
    assert vars(broken)["error"] == "ValueError"
    assert not [word for word in ("Oslo", CANARY) if word in str(vars(broken))]
    assert capsys.readouterr().out == ""


def test_a_warning_that_comes_again_and_again_is_written_a_few_times_and_summed_up(lines: Lines) -> None:
    now = [0.0]
    repeats = observe.Repeats(most=3, seconds=60, now=lambda: now[0])
    structlog.configure(processors=_with(repeats))
    for number in range(50):
        logging.getLogger("asyncio").warning("accept failed on socket %s", number)
        log.warning("request.failed", code="storage_busy" if number % 2 else "corrupted")
        log.info("something.else", number=number)
    now[0] = 59.0
    repeats.write_sums()
    first = lines()
    assert [line["event"] for line in first].count("something.else") == 50
    assert [line["code"] for line in named(first, "request.failed")] == ["corrupted", "storage_busy"] * 3
    assert len([line for line in first if line["event"].startswith("accept failed")]) == 3
    assert not named(first, "log.repeated")
    now[0] = 61.0
    repeats.write_sums()
    sums = lines()
    assert {line["level"] for line in sums} == {"warning"}
    assert [(line["repeated"], line["about"].get("code"), line["times"]) for line in sums] == [
        ("accept failed on socket 0", None, 47),
        ("request.failed", "corrupted", 22),
        ("request.failed", "storage_busy", 22),
    ]
    log.warning("request.failed", code="corrupted")
    assert len(lines()) == 1  # another minute


def _with(repeats: observe.Repeats) -> list[Any]:
    """The processors of the log, with another in the place of the one that sums up."""
    return [repeats if isinstance(one, observe.Repeats) else one for one in structlog.get_config()["processors"]]


def test_requests_of_nobody_are_summed_up_and_those_of_a_key_are_not(lines: Lines, world: World) -> None:
    for _ in range(30):
        assert world.anonymous().get("/v1/me").status_code == 401
        assert world.client.get("/v1/me").status_code == 200
    found = named(lines(), "request")
    assert [line["status"] for line in found].count(401) == 20
    assert [line["status"] for line in found].count(200) == 30
    structlog.get_config()["processors"][1].write_sums(at_once=True)
    (total,) = lines()
    assert (total["event"], total["repeated"], total["times"]) == ("log.repeated", "request", 10)
    assert total["level"] == "info"
    assert total["about"] == {"method": "GET", "route": "/v1/me", "status": 401}
    assert "request_id" not in total
