"""Logging in over HTTP, and what people try who should not get in."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from typing import Any, Final

import pytest

from memstone.async_memory import AsyncMemory
from memstone.core.access import jwt, passwords
from memstone.core.access.passwords import Cost
from memstone.server.app import create_app
from memstone.server.observe import redact_value
from memstone.testing.clock import FakeClock
from tests.server.calls import call_verb
from tests.server.conftest import CONFIG
from tests.server.world import World

SENTENCE: Final = "a long sentence of mine"
OTHER: Final = "another sentence of mine"
ADA: Final = "ada@example.org"
LIST: Final = "/v1/memories?user_id=alice"


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords that are quick to try."""
    monkeypatch.setattr(passwords, "COST", Cost(4, 8, 1))


@pytest.fixture(params=["memory:", pytest.param("postgres", marks=pytest.mark.postgres)])
def clocked(request: pytest.FixtureRequest) -> Iterator[tuple[World, FakeClock]]:
    """A service whose time we tell."""
    url = request.getfixturevalue("postgres").fresh() if request.param == "postgres" else request.param
    config, clock = {**CONFIG, "store": {"url": url}}, FakeClock()
    with World.over(create_app(config, memory=AsyncMemory(config, clock=clock))) as world:
        yield world, clock
        world.run(world.app.state.memstone.memory.close)


def account(world: World, login: str = ADA, **more: Any) -> dict[str, Any]:
    answer = world.client.post("/v1/accounts", json={"login": login, "password": SENTENCE, **more})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def login(world: World, login: str = ADA, password: str = SENTENCE, **more: Any) -> Any:
    return world.anonymous().post("/v1/auth/login", json={"login": login, "password": password, **more})


def bearer(world: World, token: str) -> Any:
    return world.anonymous(Authorization=f"Bearer {token}")


def logged_in(world: World, *args: Any, **more: Any) -> tuple[Any, dict[str, Any]]:
    tokens = login(world, *args, **more).json()
    return bearer(world, tokens["access_token"]), tokens


def refresh(world: World, token: str) -> Any:
    return world.anonymous().post("/v1/auth/refresh", json={"refresh_token": token})


@pytest.mark.req("N-42")
def test_who_logs_in_asks_with_the_token_as_with_a_key(clocked: tuple[World, FakeClock]) -> None:
    world, _ = clocked
    made = account(world, role="editor", name="Ada")
    answer = login(world)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert "set-cookie" not in answer.headers
    ada = bearer(world, answer.json()["access_token"])
    assert ada.post("/v1/memories", json={"messages": "I live in Oslo", "user_id": "alice"}).status_code == 200
    assert len(ada.get(LIST).json()["results"]) == 1
    who = ada.get("/v1/auth/me").json()
    assert (who["kind"], who["account"]["id"], who["verbs"]) == ("account", made["id"], ["read", "write"])
    assert ada.get("/v1/me").json()["verbs"] == ["read", "write"]
    assert ada.get("/v1/accounts").status_code == 403
    assert world.client.get("/v1/auth/me").json()["kind"] == "key"


@pytest.mark.req("N-42", "X-24")
@pytest.mark.parametrize(
    ("role", "may"), [("viewer", (200, 403, 403)), ("editor", (200, 200, 403)), ("admin", (200, 200, 200))]
)
def test_a_role_allows_what_it_says(world: World, role: str, may: tuple[int, ...]) -> None:
    account(world, role=role)
    ada, _ = logged_in(world)
    reads, writes = ada.get(LIST), ada.post("/v1/memories", json={"messages": "I like tea", "user_id": "alice"})
    assert (reads.status_code, writes.status_code, ada.get("/v1/keys").status_code) == may


@pytest.mark.req("N-42", "X-1")
def test_an_account_of_one_user_reaches_no_other(world: World) -> None:
    world.client.post("/v1/memories", json={"messages": "I live in Oslo", "user_id": "bob"})
    account(world, role="admin", user_id="alice")
    ada, _ = logged_in(world)
    assert ada.get("/v1/memories?user_id=bob").status_code == 403
    assert ada.get("/v1/memories").json()["results"] == []
    assert ada.get("/v1/accounts").status_code == 403
    assert call_verb(ada, "admin.accounts.create", {"login": "eve", "password": SENTENCE}).status_code == 403
    assert ada.get("/v1/auth/me").json()["user_id"] == "alice"
    assert ada.post("/v1/auth/password", json={"current": SENTENCE, "new": OTHER}).status_code == 200


@pytest.mark.req("N-42")
def test_accounts_are_managed_by_administrators_of_the_tenant(world: World) -> None:
    made = account(world)
    assert world.client.post("/v1/accounts", json={"login": "ADA@example.org", "password": OTHER}).status_code == 409
    path = f"/v1/accounts/{made['id']}"
    assert world.client.patch(path, json={"role": "admin"}).json()["role"] == "admin"
    assert [one["login"] for one in world.client.get("/v1/accounts").json()["results"]] == [ADA]
    assert world.as_key("acme", verbs=["admin"]).patch(path, json={"role": "viewer"}).status_code == 404
    assert world.as_key(verbs=["write"]).delete(path).status_code == 403
    assert world.client.delete(path).json()["login"] == ADA
    assert world.client.delete(path).status_code == 404
    assert login(world).status_code == 401


@pytest.mark.req("N-42")
@pytest.mark.parametrize("change", [{"disabled": True}, {"password": OTHER}, None])
def test_who_is_disabled_or_removed_is_out_at_once(world: World, change: dict[str, Any] | None) -> None:
    made = account(world)
    ada, tokens = logged_in(world)
    assert ada.get(LIST).status_code == 200
    path = f"/v1/accounts/{made['id']}"
    answer = world.client.delete(path) if change is None else world.client.patch(path, json=change)
    assert answer.status_code == 200
    assert ada.get(LIST).status_code == 401
    assert refresh(world, tokens["refresh_token"]).status_code == 401


@pytest.mark.req("N-42")
def test_another_role_holds_at_once_whatever_the_token_says(world: World) -> None:
    made = account(world, role="admin")
    ada, _ = logged_in(world)
    assert ada.get("/v1/keys").status_code == 200
    call_verb(world.client, "admin.accounts.update", {"account": made["id"], "role": "viewer"})
    assert ada.get("/v1/keys").status_code == 403


@pytest.mark.req("N-42")
def test_tokens_expire_and_are_exchanged(clocked: tuple[World, FakeClock]) -> None:
    world, clock = clocked
    account(world)
    ada, tokens = logged_in(world)
    assert ada.get(LIST).status_code == 200
    clock.advance(minutes=15)
    expired = ada.get(LIST)
    assert (expired.status_code, expired.json()["code"]) == (401, "token_expired")
    assert "refresh" in expired.json()["hint"]
    new = refresh(world, tokens["refresh_token"])
    assert new.headers["cache-control"] == "no-store"
    assert bearer(world, new.json()["access_token"]).get(LIST).status_code == 200


def test_tokens_that_have_expired_are_no_attempts_to_guess(clocked: tuple[World, FakeClock]) -> None:
    world, clock = clocked
    account(world)
    ada, tokens = logged_in(world)
    clock.advance(minutes=16)
    assert {ada.get(LIST).status_code for _ in range(40)} == {401}
    assert refresh(world, tokens["refresh_token"]).status_code == 200


@pytest.mark.req("N-42")
def test_a_refresh_token_that_comes_back_ends_the_session(clocked: tuple[World, FakeClock]) -> None:
    world, _ = clocked
    account(world)
    _, first = logged_in(world)
    second = refresh(world, first["refresh_token"]).json()
    ada = bearer(world, second["access_token"])
    assert ada.get(LIST).status_code == 200
    assert refresh(world, first["refresh_token"]).status_code == 401
    assert ada.get(LIST).status_code == 401
    assert refresh(world, second["refresh_token"]).status_code == 401


@pytest.mark.req("N-42")
def test_who_logs_out_is_out_at_once(world: World) -> None:
    account(world)
    here, tokens = logged_in(world)
    there, _ = logged_in(world)
    assert here.post("/v1/auth/logout").json() == {"sessions_ended": 1}
    assert here.get(LIST).status_code == 401
    assert refresh(world, tokens["refresh_token"]).status_code == 401
    assert there.get(LIST).status_code == 200
    assert there.post("/v1/auth/logout", json={"everywhere": True}).json() == {"sessions_ended": 1}
    assert world.client.post("/v1/auth/logout").status_code == 403


@pytest.mark.req("N-42")
def test_one_changes_ones_own_password_by_knowing_it(world: World) -> None:
    account(world)
    here, _ = logged_in(world)
    there, _ = logged_in(world)
    change = "/v1/auth/password"
    assert here.post(change, json={"current": OTHER, "new": OTHER}).status_code == 401
    assert here.post(change, json={"current": SENTENCE, "new": "short"}).status_code == 400
    assert here.post(change, json={"current": SENTENCE, "new": OTHER}).json()["sessions_ended"] == 1
    assert (here.get(LIST).status_code, there.get(LIST).status_code) == (200, 401)
    assert (login(world).status_code, login(world, password=OTHER).status_code) == (401, 200)
    assert world.client.post(change, json={"current": OTHER, "new": SENTENCE}).status_code == 403


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.req("N-42")
def test_a_token_that_somebody_made_or_changed_is_none(world: World) -> None:
    made = account(world, role="viewer")
    _, tokens = logged_in(world)
    token = tokens["access_token"]
    head, body, signature = token.split(".")
    message = json.loads(base64.urlsafe_b64decode(body + "=="))
    parsed = jwt.parse_token(token)
    assert parsed is not None
    attacks = {
        "alg none": f"{part({'alg': 'none', 'typ': 'JWT', 'kid': parsed.kid})}.{body}.",
        "alg none with the signature": f"{part({'alg': 'none', 'typ': 'JWT', 'kid': parsed.kid})}.{body}.{signature}",
        "no signature": f"{head}.{body}.",
        "another role": f"{head}.{part({**message, 'role': 'admin'})}.{signature}",
        "another tenant": f"{head}.{part({**message, 'tenant': 'acme'})}.{signature}",
        "a later end": f"{head}.{part({**message, 'exp': message['exp'] + 999})}.{signature}",
        "another secret": jwt.issue_token(parsed.claims, b"x" * 32),
        "an empty secret": jwt.issue_token(parsed.claims, b""),
        "the id as the secret": jwt.issue_token(parsed.claims, made["id"].encode()),
        "the refresh token": tokens["refresh_token"],
        "a tenant that is none": f"{head}.{part({**message, 'tenant': 'a b'})}.{signature}",
        "dots": "..",
    }
    for name, forged in attacks.items():
        world.app.state.memstone.failures._left.clear()
        assert bearer(world, forged).get(LIST).status_code == 401, name
    assert bearer(world, token).get(LIST).status_code == 200


@pytest.mark.req("N-42")
def test_a_login_belongs_to_one_tenant(clocked: tuple[World, FakeClock]) -> None:
    world, _ = clocked
    account(world)
    acme = world.as_key("acme", verbs=["admin"])
    acme.post("/v1/memories", json={"messages": "I live in Rome", "user_id": "alice"})
    assert acme.post("/v1/accounts", json={"login": ADA, "password": OTHER}).status_code == 201
    assert login(world, password=OTHER).status_code == 401
    assert login(world, tenant_id="acme").status_code == 401
    assert login(world, tenant_id="nobody").status_code == 401
    other, _ = logged_in(world, password=OTHER, tenant_id="acme")
    ours, _ = logged_in(world)
    assert (len(other.get(LIST).json()["results"]), len(ours.get(LIST).json()["results"])) == (1, 0)


@pytest.mark.req("N-42")
def test_wrong_logins_and_wrong_passwords_are_told_alike(world: World) -> None:
    account(world)
    account(world, "off@example.org")
    world.client.patch("/v1/accounts/off@example.org", json={"disabled": True})
    answers = [login(world, *who) for who in ((ADA, OTHER), ("nobody", SENTENCE), ("off@example.org", SENTENCE))]
    lines = [{name: value for name, value in one.json().items() if name != "request_id"} for one in answers]
    assert {one.status_code for one in answers} == {401}
    assert lines[0] == lines[1] == lines[2]


@pytest.mark.req("N-42", "R-38")
def test_no_password_and_no_token_is_ever_logged_or_told(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    account(world)
    ada, tokens = logged_in(world)
    lines = [
        login(world, ADA, "wrong-but-mine"),
        world.anonymous().post("/v1/auth/login", json={"login": ADA, "password": ["wrong-but-mine"]}),
        world.anonymous().post("/v1/auth/login", json={"login": ADA, "password": "wrong-but-mine", "x": 1}),
        ada.post("/v1/auth/password", json={"current": "wrong-but-mine", "new": OTHER}),
        world.client.post("/v1/accounts", json={"login": "b b", "password": "wrong-but-mine"}),
        call_verb(world.client, "admin.accounts.create", {"login": 7, "password": "wrong-but-mine"}),
        refresh(world, tokens["refresh_token"] + "x"),
        world.client.get("/v1/accounts"),
    ]
    assert not [
        token for token in (tokens["access_token"], tokens["refresh_token"]) if token in redact_value(f"it is {token}!")
    ]
    logged = caplog.text + str([record.__dict__ for record in caplog.records])
    for secret in ("wrong-but-mine", SENTENCE, OTHER, tokens["access_token"], tokens["refresh_token"]):
        assert secret not in logged
        assert not [answer for answer in lines if secret in answer.text]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"login": ADA},
        {"login": ADA, "password": ""},
        {"login": ADA, "password": "x" * 1_025},
        {"login": "x" * 257, "password": "y"},
    ],
)
def test_a_login_without_what_it_needs_is_a_wrong_request(world: World, wrong: dict[str, Any]) -> None:
    assert world.anonymous().post("/v1/auth/login", json=wrong).status_code == 400


def test_a_token_works_wherever_a_key_does(world: World) -> None:
    account(world, role="admin")
    ada, tokens = logged_in(world)
    assert world.anonymous(**{"X-API-Key": tokens["access_token"]}).get(LIST).status_code == 200
    for path in ("/v1/stats", "/v1/keys", "/v1/requests", "/metrics"):
        expected = world.client.get(path).status_code
        assert ada.get(path).status_code == expected, path
    assert call_verb(ada, "search", {"query": "tea", "user_id": "alice"}).status_code == 200


def test_what_is_set_decides_how_long_tokens_are_valid() -> None:
    with World.of({**CONFIG, "server": {"accounts": {"access_minutes": 1, "refresh_days": 1}}}) as world:
        account(world)
        _, tokens = logged_in(world)
        assert tokens["expires_in"] == 60


@pytest.mark.req("N-42")
def test_instructions_are_suggested_to_whoever_may_write_and_spend(world: World) -> None:
    answer = world.as_key(verbs=["read", "write"]).post("/v1/instructions", json={"use_case": "support desk of a bank"})
    assert (answer.status_code, answer.json()["domains"]) == (200, ["support", "finance"])
    assert answer.json()["example_settings"]["extract"]["categories"]
    assert world.client.post("/v1/instructions", json={"use_case": "?"}).status_code == 400
    assert world.anonymous().post("/v1/instructions", json={"use_case": "a coach"}).status_code == 401
