"""Names, pages and headers: what browsers are kept from, and what they are told."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from starlette.routing import Route

from memstone.server.middleware import SAFETY_HEADERS
from tests.server.conftest import CONFIG
from tests.server.world import World

PAGE = "https://app.example.com"
ELSEWHERE = "https://evil.example.com"


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    """A service that a web page elsewhere may ask."""
    with World.of({**CONFIG, "server": {"origins": [f"{PAGE}/"], "hosts": ["memory.example.com"]}}) as made:
        yield made


def test_a_name_that_is_not_ours_is_refused(shared: World) -> None:
    assert shared.client.get("/healthz", headers={"Host": "memory.example.com:8420"}).status_code == 200
    answer = shared.client.get("/healthz", headers={"Host": "evil.example.com"})
    assert (answer.status_code, answer.json()["code"]) == (400, "unknown_host")


@pytest.mark.parametrize("hosts", [[], ["*"]])
def test_what_can_be_no_name_is_refused_and_breaks_nothing(hosts: list[str]) -> None:
    with World.of({**CONFIG, "server": {"hosts": hosts}}) as world:
        for header, status in (
            ({"Host": "["}, 400),
            ({"Host": "[::1"}, 400),
            ({"Origin": "http://["}, 403),
            ({"Content-Length": "9" * 5_000}, 413),
            ({"Content-Length": "-1"}, 413),
        ):
            assert world.client.get("/healthz", headers=header).status_code == status, header


def test_without_configured_pages_no_browser_is_told_that_it_may_ask(world: World) -> None:
    wanted = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
    for answer in (
        world.client.options("/v1/memories", headers=wanted),
        world.client.get("/v1/me", headers={"Origin": PAGE}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "unknown_origin")
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_configured_page_may_ask_with_a_key_and_reads_the_answer(shared: World) -> None:
    wanted = {
        "Origin": PAGE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    before = shared.anonymous().options("/v1/memories", headers=wanted)
    assert before.status_code == 200
    assert before.headers["access-control-allow-origin"] == PAGE
    assert "authorization" in before.headers["access-control-allow-headers"].lower()
    for path, status in (("/v1/me", 200), ("/v1/memories/none", 404)):
        answer = shared.client.get(path, headers={"Origin": PAGE})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (status, PAGE)
        assert "access-control-allow-credentials" not in answer.headers
    refused = shared.client.get("/v1/me", headers={"Origin": ELSEWHERE})
    assert (refused.status_code, "access-control-allow-origin" in refused.headers) == (403, False)


@pytest.mark.parametrize(
    "sent",
    [
        "authorization,content-type,x-stainless-lang,x-stainless-os,x-stainless-retry-count",
        "anthropic-dangerous-direct-browser-access,anthropic-version,content-type,x-api-key",
        "authorization,content-type,x-memory,x-memstone-user,x-memstone-session",
        "authorization,content-type,idempotency-key,last-event-id,x-request-id",
    ],
)
def test_a_configured_page_may_use_the_official_clients_and_reads_its_receipts(shared: World, sent: str) -> None:
    wanted = {"Origin": PAGE, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": sent}
    before = shared.anonymous().options("/v1/chat/completions", headers=wanted)
    assert (before.status_code, before.headers["access-control-allow-origin"]) == (200, PAGE)
    allowed = {name.strip() for name in before.headers["access-control-allow-headers"].lower().split(",")}
    assert set(sent.split(",")) <= allowed
    refused = shared.anonymous().options("/v1/chat/completions", headers={**wanted, "Origin": ELSEWHERE})
    assert (refused.status_code, "access-control-allow-headers" in refused.headers) == (403, False)
    answer = shared.client.get("/v1/me", headers={"Origin": PAGE})
    assert "x-memstone-receipt" in answer.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in {*before.headers, *answer.headers}


@pytest.mark.parametrize("path", ["/healthz", "/v1/me", "/nothing-here", "/openapi.json", "/api/openapi.json"])
def test_every_answer_has_its_safety_headers(shared: World, path: str) -> None:
    headers = shared.anonymous().get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]


def test_no_route_answers_without_its_safety_headers_and_nothing_is_kept_in_caches(shared: World) -> None:
    # The pages of the console have stricter ones, which ``tests/console/test_refusals.py`` looks at.
    routes = [route for route in shared.app.routes if isinstance(route, Route) and route.name != "console"]
    assert len(routes) > 100
    client = shared.anonymous()
    for route in routes:
        path = re.sub(r"\{[^}]*\}", "x", route.path)
        for method in (*sorted(route.methods or {"POST"}), "OPTIONS"):
            headers = dict(client.request(method, path).headers)
            assert SAFETY_HEADERS.items() <= headers.items(), (method, path)
    made = shared.client.post("/v1/keys", json={})
    assert (made.json()["key"][:3], made.headers["cache-control"]) == ("rt_", "no-store")


def test_a_configured_page_can_read_why_it_was_refused(shared: World) -> None:
    length = {"Content-Length": "9" * 12}
    refused = shared.client.get("/v1/me", headers={"Origin": PAGE, **length})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (413, PAGE)
    assert "access-control-allow-origin" not in shared.client.get("/v1/me", headers=length).headers
