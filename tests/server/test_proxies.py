"""Addresses: a caller's own, whatever a request says about it, unless a proxy says so that the settings name."""

from __future__ import annotations

from collections import Counter

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from memstone.config import Settings
from memstone.errors import ConfigError
from memstone.server.connections import FORWARDED_HEADERS, parse_address
from memstone.server.limits import address_of
from tests.patience import LONG
from tests.security.asgi import Call
from tests.server.conftest import CONFIG
from tests.server.place import listening
from tests.server.world import World

PROXY = "10.0.0.2"
FEW = {"per_minute": 1, "burst": 3}


def saying(header: str, address: str) -> dict[str, str]:
    """A header that says for whom a request is made."""
    return {header: f"for={address}" if header == "forwarded" else address}


def at(world: World, address: str) -> TestClient:
    """Somebody at an address."""
    client = TestClient(world.app, client=(address, 50_000))
    client.portal = world.portal
    return client


def wrong_key(number: int) -> str:
    return f"rt_0123456789abcdef_{number}"


def guess(client: TestClient, number: int, headers: dict[str, str]) -> int:
    status: int = client.get("/v1/me", headers={"X-API-Key": wrong_key(number), **headers}).status_code
    return status


@pytest.mark.slow
@pytest.mark.req("N-42")
def test_three_thousand_wrong_keys_from_one_address_are_stopped_whatever_address_they_claim() -> None:
    with World.of(CONFIG) as world:

        async def statuses_of(numbers: range) -> Counter[int]:
            statuses = Counter[int]()
            for number in numbers:
                claimed = f"198.51.{number // 250}.{number % 250}"
                headers = {name: value for one in FORWARDED_HEADERS for name, value in saying(one, claimed).items()}
                headers["x-api-key"] = wrong_key(number)
                statuses[(await Call("GET", "/v1/me", {}, headers).send_to(world.app)).status] += 1
            return statuses

        statuses = world.run(statuses_of, range(3_000))
        assert statuses.keys() == {401, 429}
        assert statuses[401] < 200


def test_the_service_as_it_is_run_believes_no_header_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # what uvicorn would read
    with listening({**CONFIG, "server": {"failed_logins": FEW}}) as place, httpx2.Client(timeout=LONG) as http:
        claims = [{"x-forwarded-for": f"198.51.100.{n}", "x-api-key": f"wrong{n}"} for n in range(5)]
        statuses = [http.get(f"{place.url}/v1/me", headers=claim).status_code for claim in claims]
    assert statuses == [401, 401, 401, 429, 429]


@pytest.mark.parametrize("header", sorted(FORWARDED_HEADERS))
def test_nobody_is_locked_out_by_requests_that_claim_to_be_theirs(header: str) -> None:
    with World.of({**CONFIG, "server": {"failed_logins": FEW}}) as world:
        forged = [guess(at(world, "127.0.0.1"), n, saying(header, "203.0.113.7")) for n in range(5)]
        assert forged == [401, 401, 401, 429, 429]
        assert guess(at(world, "203.0.113.7"), 9, {}) == 401
        assert at(world, "203.0.113.7").get("/v1/me", headers=dict(world.client.headers)).status_code == 200


@pytest.mark.parametrize("header", sorted(FORWARDED_HEADERS))
def test_a_named_proxy_says_for_whom_it_asks_in_one_header_only(header: str) -> None:
    server = {"failed_logins": FEW, "proxies": ["10.0.0.0/30"], "proxy_header": header}
    with World.of({**CONFIG, "server": server}) as world:
        proxy = at(world, PROXY)
        first = [guess(proxy, n, saying(header, "203.0.113.7")) for n in range(4)]
        assert first == [401, 401, 401, 429]
        assert guess(proxy, 9, saying(header, "203.0.113.8")) == 401
        others = {name: f"198.51.100.{n}" for n, name in enumerate(FORWARDED_HEADERS - {header})}
        assert guess(proxy, 9, {**others, **saying(header, "203.0.113.7")}) == 429
        assert guess(at(world, "203.0.113.7"), 9, {}) == 429  # it is the same address
        assert guess(at(world, "10.0.0.9"), 9, saying(header, "203.0.113.7")) == 401  # not one of the proxies


@pytest.mark.parametrize(
    ("header", "value", "address"),
    [
        ("x-forwarded-for", "203.0.113.7", "203.0.113.7"),
        ("x-forwarded-for", "1.1.1.1, 203.0.113.7", "203.0.113.7"),  # what the caller wrote comes first
        ("x-forwarded-for", "1.1.1.1, 203.0.113.7, 10.0.0.3", "203.0.113.7"),  # two proxies, one behind the other
        ("x-forwarded-for", "203.0.113.7:8080", "203.0.113.7"),
        ("x-forwarded-for", "[2001:db8:1:2::7]:8080", "2001:db8:1:2::/64"),
        ("x-forwarded-for", "1.1.1.1, what?", PROXY),
        ("x-forwarded-for", "", PROXY),
        ("x-forwarded-for", "10.0.0.3", "10.0.0.3"),  # the proxies themselves ask
        ("forwarded", "for=1.1.1.1, for=203.0.113.7;proto=https;by=10.0.0.3", "203.0.113.7"),
        ("forwarded", 'For="[2001:db8:1:2::7]:4711"', "2001:db8:1:2::/64"),
        ("forwarded", "for=1.1.1.1, for=_hidden", PROXY),
        ("forwarded", "proto=https", PROXY),
        ("x-real-ip", "203.0.113.7", "203.0.113.7"),
    ],
)
def test_of_several_addresses_the_last_that_is_no_proxy_counts(header: str, value: str, address: str) -> None:
    seen = list[str]()
    with World.of({**CONFIG, "server": {"proxies": ["10.0.0.0/30"], "proxy_header": header}}) as world:
        world.app.state.memstone.failures.check = lambda request: seen.append(address_of(request))
        guess(at(world, PROXY), 1, {header: value})
    assert seen == [address]


def test_who_comes_through_a_proxy_on_this_machine_is_not_taken_for_somebody_on_it() -> None:
    with World.of({**CONFIG, "server": {"open_loopback": True}}) as world:
        local = at(world, "127.0.0.1")
        assert local.get("/v1/me").status_code == 200
        assert at(world, "203.0.113.7").get("/v1/me").status_code == 401
        for header in (*FORWARDED_HEADERS, "via", "x-forwarded-proto", "x-forwarded-host"):
            for claimed in ("127.0.0.1", "203.0.113.7", "x"):
                assert local.get("/v1/me", headers={header: claimed}).status_code == 401, header
    with World.of({**CONFIG, "server": {"open_loopback": True, "proxies": [PROXY]}}) as world:
        claim = {"x-forwarded-for": "127.0.0.1"}
        assert at(world, PROXY).get("/v1/me", headers=claim).status_code == 401


def test_a_proxy_that_is_no_address_is_refused_with_the_name_of_the_setting() -> None:
    with pytest.raises(ConfigError, match=r"server\.proxies.*'nginx' is not an address or network"):
        Settings.of({"server": {"proxies": ["nginx"]}})


@given(st.text(max_size=60))
def test_what_a_header_says_is_an_address_or_nothing(text: str) -> None:
    address = parse_address(text)
    assert address is None or parse_address(str(address)) == address
