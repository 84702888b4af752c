from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import HTTPConnection
from starlette.testclient import TestClient

from memstone.async_memory import AsyncMemory
from memstone.config import Settings
from memstone.errors import LLMError, TooManyRequests
from memstone.ports.models import Prompt, Reply
from memstone.sections_service import RateSettings
from memstone.server.app import create_app
from memstone.server.limits import SPENT, Failures, Governor, Rate, address_of
from memstone.testing.clock import FakeClock
from memstone.testing.llm import ScriptedLlm
from tests.server.conftest import CONFIG
from tests.server.world import World

SAID = {"messages": "I live in Oslo", "user_id": "alice"}


@pytest.mark.req("N-42")
def test_who_asks_too_often_is_told_how_long_to_wait() -> None:
    with World.of({**CONFIG, "server": {"rate": {"per_minute": 1, "burst": 2}}}) as world:
        client, other = world.as_key(), world.as_key()
        answers = [client.get("/v1/memories?user_id=a") for _ in range(3)]
        assert [one.status_code for one in answers] == [200, 200, 429]
        assert 1 <= int(answers[2].headers["retry-after"]) <= 60
        assert (answers[2].json()["code"], answers[2].json()["retryable"]) == ("too_many_requests", True)
        assert other.get("/v1/memories?user_id=a").status_code == 200
        assert client.get("/healthz").status_code == 200


@given(st.integers(1, 600), st.integers(1, 50), st.lists(st.floats(0, 20), min_size=1, max_size=200))
def test_nobody_gets_more_than_the_burst_and_what_has_filled_up_since(
    per_minute: int, burst: int, waits: list[float]
) -> None:
    now = 0.0
    rate = Rate(RateSettings(per_minute=per_minute, burst=burst), lambda: now)
    passed, lines = 0, list[float]()
    for wait in waits:
        now += wait
        try:
            rate.take("key")
            passed += 1
        except TooManyRequests as refused:
            lines.append(refused.retry_after)
    assert all(0 < seconds <= 60 / per_minute + 1e-6 for seconds in lines)
    assert passed <= burst + now * per_minute / 60 + 1e-6
    assert passed >= min(len(waits), burst)


def test_a_key_that_was_refused_gets_in_after_the_time_it_was_told() -> None:
    now = 0.0
    rate = Rate(RateSettings(per_minute=30, burst=1), lambda: now)
    rate.take("key")
    with pytest.raises(TooManyRequests) as refused:
        rate.take("key")
    now += refused.value.retry_after + 1e-6
    rate.take("key")


def at(world: World, address: str, token: str) -> TestClient:
    """Somebody at an address, with some key."""
    client = TestClient(world.app, headers={"Authorization": f"Bearer {token}"}, client=(address, 50_000))
    client.portal = world.portal
    return client


def key_of(client: TestClient) -> str:
    return client.headers["authorization"].removeprefix("Bearer ")


@pytest.mark.req("N-42", "R-23")
def test_who_guesses_keys_is_stopped_and_nobody_elsewhere_notices() -> None:
    with World.of({**CONFIG, "server": {"failed_logins": {"per_minute": 1, "burst": 3}}}) as world:
        token, other = key_of(world.as_key()), key_of(world.as_key())
        assert at(world, "203.0.113.7", token).get("/v1/me").status_code == 200
        guesses = [at(world, "203.0.113.7", f"rt_0123456789abcdef_{n}").get("/v1/me") for n in range(5)]
        assert [one.status_code for one in guesses] == [401, 401, 401, 429, 429]
        assert 1 <= int(guesses[4].headers["retry-after"]) <= 60
        assert (guesses[4].json()["code"], guesses[4].json()["retryable"]) == ("too_many_requests", True)
        assert at(world, "203.0.113.7", token).get("/v1/me").status_code == 200  # it was known before
        assert at(world, "203.0.113.7", other).get("/v1/me").status_code == 429  # it might as well be a guess
        assert at(world, "203.0.113.8", other).get("/v1/me").status_code == 200
        assert at(world, "203.0.113.7", "").get("/healthz").status_code == 200
        assert at(world, "203.0.113.7", "").get("/v1/me").status_code == 401  # who sends no key guesses none


def test_a_key_that_has_ended_is_no_longer_known() -> None:
    with World.of({**CONFIG, "server": {"failed_logins": {"per_minute": 1, "burst": 2}}}) as world:
        made = world.client.post("/v1/keys", json={}).json()
        client = at(world, "203.0.113.7", made["key"])
        assert client.get("/v1/me").status_code == 200
        world.client.delete(f"/v1/keys/{made['id']}")
        assert [client.get("/v1/me").status_code for _ in range(4)] == [401, 401, 429, 429]
        assert world.client.get("/v1/me").status_code == 200


def test_wrong_keys_are_not_limited_where_that_is_configured() -> None:
    with World.of({**CONFIG, "server": {"failed_logins": {"per_minute": 0}}}) as world:
        assert {at(world, "203.0.113.7", f"wrong{n}").get("/v1/me").status_code for n in range(50)} == {401}


def request_from(host: str) -> HTTPConnection:
    return HTTPConnection({"type": "http", "client": (host, 1)})


@given(st.integers(1, 60), st.integers(1, 20), st.lists(st.tuples(st.floats(0, 30), st.booleans()), max_size=100))
def test_no_more_is_tried_than_the_burst_and_what_was_forgiven_since(
    per_minute: int, burst: int, tries: list[tuple[float, bool]]
) -> None:
    now, wrong, waited = 0.0, 0, list[float]()
    failures = Failures(RateSettings(per_minute=per_minute, burst=burst), lambda: now)
    for wait, right in tries:
        now += wait
        try:
            failures.check(request_from("203.0.113.7"))
        except TooManyRequests as refused:
            waited.append(refused.retry_after)
            now += refused.retry_after + 1e-6
            failures.check(request_from("203.0.113.7"))
        if not right:
            wrong += 1
            failures.note(request_from("203.0.113.7"))
    assert all(0 < seconds <= 60 / per_minute + 1e-6 for seconds in waited)
    assert wrong <= burst + now * per_minute / 60 + 1e-6


def test_many_at_once_run_into_debt_and_only_so_many_addresses_are_held() -> None:
    now = 0.0
    failures = Failures(RateSettings(per_minute=60, burst=5), lambda: now)
    for _ in range(100):
        failures.note(request_from("203.0.113.7"))
    with pytest.raises(TooManyRequests) as refused:
        failures.check(request_from("203.0.113.7"))
    assert refused.value.retry_after == pytest.approx(6.0)
    for number in range(10_050):
        failures.note(request_from(f"10.1.{number // 256}.{number % 256}"))
    assert len(failures._left) == 10_000


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("testclient", "testclient"),
    ],
)
def test_a_network_of_version_6_is_one_address(host: str, address: str) -> None:
    assert address_of(request_from(host)) == address


@pytest.mark.req("N-42")
def test_a_call_of_a_tool_counts_as_one_request() -> None:
    with World.of({**CONFIG, "server": {"rate": {"per_minute": 6, "burst": 3}, "mcp_remote": True}}) as world:
        client = world.as_key(user_id="alice")
        call = {"name": "memory_search", "arguments": {"query": "tea"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        accept = {"accept": "application/json, text/event-stream"}
        answers = [client.post("/mcp", json=message, headers=accept) for _ in range(4)]
        assert [one.status_code for one in answers] == [200, 200, 200, 429]
        assert all(one.json()["result"]["structuredContent"]["success"] for one in answers[:3])
        lines = world.client.get("/v1/console/requests").json()["results"]
        assert [line["route"] for line in lines].count("/mcp") == 3


@pytest.mark.req("N-42")
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused_whether_or_not_it_says_so(*, chunked: bool) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"messages": "'
        for _ in range(64):
            yield b"x" * 64
        yield b'"}'

    with World.of({**CONFIG, "server": {"body_bytes": 2_048}}) as world:
        body: Any = pieces() if chunked else b"".join(pieces())
        answer = world.client.post("/v1/memories", content=body, headers={"content-type": "application/json"})
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert "server.body_bytes" in answer.json()["hint"]
        assert world.client.post("/v1/memories", json=SAID).status_code == 200


MODEL_ROUTES = [
    "/v1/chat/completions",
    "/chat/completions/",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/responses",
    "/v1/embeddings",
    "/agents/nurse/run",
    "/agents/ward/nurse/run",
]


@pytest.mark.req("N-42")
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("path", MODEL_ROUTES)
def test_what_goes_to_a_model_has_a_limit_of_its_own(path: str, *, chunked: bool) -> None:
    def body(size: int) -> Any:
        full = json.dumps({"model": "nobody's", "messages": [{"role": "user", "content": "x" * size}]}).encode()
        return iter([full[:100], full[100:]]) if chunked else full

    with World.of({**CONFIG, "server": {"body_bytes": 2_048}, "gateway": {"body_bytes": 8_192}}) as world:
        for agent in ("nurse", "ward/nurse"):
            world.run(world.app.state.memstone.memory.agents.save, agent)
        passed = world.client.post(path, content=body(4_000))
        assert "no upstream serves the model" in passed.json()["detail"]
        refused = world.client.post(path, content=body(9_000))
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
        assert "gateway.body_bytes" in refused.json()["hint"]
        assert world.client.post("/v1/memories", content=body(4_000)).status_code == 413


def test_a_full_quota_is_forbidden_with_a_hint() -> None:
    with World.of({**CONFIG, "quota": {"user_memories": 1}}) as world:
        note = {"user_id": "alice", "infer": False}
        assert world.client.post("/v1/memories", json={**note, "messages": "one"}).status_code == 200
        answer = world.client.post("/v1/memories", json={**note, "messages": "two"})
        assert (answer.status_code, answer.json()["code"]) == (403, "quota_exceeded")
        assert "quota.user_memories" in answer.json()["hint"]


@pytest.mark.req("N-42")
def test_a_key_that_asks_without_end_is_slowed_down_by_default() -> None:
    default, now = Settings().server.rate, 0.0
    rate = Rate(default, lambda: now)
    for _ in range(default.per_minute):
        rate.take("key")
    with pytest.raises(TooManyRequests) as refused:
        rate.take("key")
    assert 0 < refused.value.retry_after < 1
    rate.take("another key")
    with World.of(CONFIG) as world:
        empty, (key,) = world.app.state.memstone.rate, world.client.get("/v1/keys").json()["results"]
        empty._now, empty._buckets[key["id"]] = (lambda: 0.0), (0.0, 0.0)
        answer = world.client.get("/v1/me")
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")


@pytest.mark.parametrize(("given", "limit"), [({"burst": 5}, 5), ({"per_minute": 7}, 7), ({"per_minute": 0}, None)])
def test_half_of_a_rate_leaves_the_other_half_as_it_is(given: dict[str, int], limit: int | None) -> None:
    rate = Rate(Settings.of({"server": {"rate": given}}).server.rate, lambda: 0.0)
    taken = 0
    with suppress(TooManyRequests):
        for taken in range(100):  # noqa: B007 - it is asked for below
            rate.take("key")
    assert taken == (99 if limit is None else limit)


@pytest.mark.req("N-50")
@pytest.mark.parametrize(
    ("config", "memories"),
    [
        ({}, 100_000),
        ({"server": {"quota": {"memories": 5}}}, 5),
        ({"server": {"quota": {"memories": 0}}}, None),
        ({"quota": {"user_memories": 7}}, 7),
        ({"quota": {"user_memories": 7}, "server": {"quota": {"memories": 5}}}, 7),
    ],
)
def test_one_user_cannot_fill_the_disk_of_all_by_default(config: dict[str, Any], memories: int | None) -> None:
    with World.of({**CONFIG, **config}) as world:
        quotas = world.app.state.memstone.memory.engine.runtime.policy.quotas
    assert quotas.user_memories == memories
    assert (quotas.user_turns, quotas.user_chars) == (500_000, 100_000_000)
    assert quotas.tenant_memories is None
    assert Settings.of(config).as_policy().quotas.user_turns is None  # a library has no users but yours


def facts(_: Prompt) -> Any:
    """An answer that costs 60 tokens, of either kind that is asked for."""
    return Reply('{"facts": []}', input_tokens=50, output_tokens=10)


def served(path: Any, llm: ScriptedLlm, clock: FakeClock, per_day: int, **more: Any) -> Any:
    config = {**CONFIG, "store": {"url": f"sqlite:///{path}/g.db"}, "server": {"llm_tokens_per_day": per_day}, **more}
    return create_app(config, memory=AsyncMemory(config, llm=llm, clock=clock))


def said(client: Any, number: int, **more: Any) -> dict[str, Any]:
    messages = f"I live in Oslo, house {number}"
    answer: dict[str, Any] = client.post("/v1/memories", json={"messages": messages, "user_id": "alice", **more}).json()
    return answer


def test_a_day_costs_no_more_than_its_tokens_and_rules_go_on(tmp_path: Any) -> None:
    llm, clock = ScriptedLlm(facts), FakeClock()
    for run in range(2):  # a restart forgives nothing
        with World.over(served(tmp_path, llm, clock, 100)) as world:
            if run == 0:
                assert [said(world.client, number).get("degraded") for number in range(2)] == [None, None]
            asked = len(llm.prompts)
            answer = said(world.client, 2 + run)
            assert len(llm.prompts) == asked == 2
            assert answer["degraded"][0]["step"] == "extraction"
            assert {one["code"] for one in answer["degraded"]} == {"llm_budget_spent"}
            assert answer["results"]
            assert "memstone_llm_tokens_today 120.0" in world.client.get("/metrics").text
            assert "degraded" not in said(world.as_key("acme"), 9)  # each tenant has its own
            del llm.prompts[2:]
    clock.advance(days=1)
    with World.over(served(tmp_path, llm, clock, 100)) as world:
        assert said(world.client, 7).get("degraded") is None
        assert len(llm.prompts) == 3


def test_tokens_are_estimated_where_a_provider_does_not_tell(tmp_path: Any) -> None:
    llm = ScriptedLlm(lambda _: '{"facts": []}')
    with World.over(served(tmp_path, llm, FakeClock(), 1_000_000)) as world:
        said(world.client, 1)
        memory = world.app.state.memstone.memory
        parts = memory.engine.runtime
        counted = world.run(parts.ledger.peek, lambda tx: tx.metrics.sum_counts("default", "", parts.now()))
        sent = sum(len(one["content"]) for one in llm.prompts[0].messages)
        assert sent / 8 < counted[SPENT] < sent


def test_what_fails_costs_nothing_and_without_a_budget_nothing_is_written(tmp_path: Any) -> None:
    llm = ScriptedLlm(lambda _: LLMError("no"))
    with World.over(served(tmp_path, llm, FakeClock(), 50)) as world:
        said(world.client, 1)
        governor: Governor = world.app.state.memstone.governor
        assert world.run(governor.count_spent, "default") == 0
        assert world.run(world.app.state.memstone.memory.stats)["pending"] == 1


def test_sessions_that_are_formed_later_go_on_by_rules_too(tmp_path: Any) -> None:
    llm, later = ScriptedLlm(facts), {"write": {"mode": "manual", "novelty_chars": 0}}
    with World.over(served(tmp_path, llm, FakeClock(), 1, **later)) as world:
        memory = world.app.state.memstone.memory
        world.run(world.app.state.memstone.governor.count, "default", 60)
        said(world.client, 1, run_id="s1")
        formed = world.run(memory.sessions.end, user_id="alice")
        assert [one["distillation"] for one in formed["results"]] == ["distilled"]
        assert llm.prompts == []
        assert world.run(memory.stats)["pending"] == 0
        assert world.run(memory.get_all, user_id="alice")["results"]
