"""People who guess passwords and tokens have to wait, and disturb nobody."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from memstone.engine.access.accounts import LongToken
from memstone.errors import TooManyRequests
from memstone.server.accounts import Guesses, reception_of
from memstone.testing.clock import FakeClock
from tests.patience import until
from tests.server.conftest import CONFIG
from tests.server.test_auth import ADA, LIST, OTHER, SENTENCE, account, cheap, clocked, logged_in, login, refresh
from tests.server.world import World

__all__ = ["cheap", "clocked"]  # fixtures


@pytest.mark.req("N-42")
def test_who_guesses_refresh_tokens_has_to_wait_and_disturbs_nobody(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    account(world)
    _, tokens = logged_in(world)
    state = world.app.state.memstone
    until(lambda: not state.doorkeeper._tasks)  # that a key was used is noted behind an answer
    monkeypatch.setattr(state.failures, "_now", lambda: 0.0)  # nothing is forgiven while the machine is busy
    forgotten, written = list[None](), list[None]()
    monkeypatch.setattr(state.doorkeeper, "forget", lambda: forgotten.append(None))
    ledger = state.memory.engine.runtime.ledger
    write = ledger.write

    def counted(work: Any) -> Any:
        written.append(None)
        return write(work)

    monkeypatch.setattr(ledger, "write", counted)
    wrong = str(LongToken.new("default", "11111111-1111-4111-8111-111111111111"))
    session = tokens["refresh_token"].split(".")[1]
    guesses = [refresh(world, token) for token in ("nonsense", wrong, str(LongToken.new("default", session))) * 20]
    assert (forgotten, written) == ([], [])
    assert {one.status_code for one in guesses} <= {401, 429}
    assert guesses[-1].status_code == 429
    assert int(guesses[-1].headers["retry-after"]) >= 1
    assert refresh(world, tokens["refresh_token"]).status_code == 429, "nothing is looked up any more"


@pytest.mark.req("N-42")
def test_only_a_session_that_ended_is_forgotten(
    clocked: tuple[World, FakeClock], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, _ = clocked
    account(world)
    _, tokens = logged_in(world)
    forgotten = list[None]()
    monkeypatch.setattr(world.app.state.memstone.doorkeeper, "forget", lambda: forgotten.append(None))
    unknown = LongToken.new("default", "11111111-1111-4111-8111-111111111111")
    assert refresh(world, str(unknown)).status_code == 401
    assert not forgotten
    assert refresh(world, tokens["refresh_token"]).status_code == 200
    assert refresh(world, tokens["refresh_token"]).status_code == 401
    assert len(forgotten) == 1, "a token that comes back ends the session"


@pytest.mark.req("N-42")
def test_who_guesses_has_to_wait_and_others_do_not(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.app.state.memstone.failures, "_now", lambda: 0.0)
    account(world)
    ada, _ = logged_in(world)
    assert ada.get(LIST).status_code == 200
    codes = [login(world, password=f"guess number {number}").status_code for number in range(100)]
    assert codes[0] == 401
    assert codes.count(401) <= 25
    assert codes[-1] == 429
    waits = login(world)
    assert (waits.status_code, waits.json()["code"]) == (429, "too_many_requests"), "even with the right one"
    assert int(waits.headers["retry-after"]) >= 1
    assert ada.get(LIST).status_code == 200


def test_an_account_is_guessed_slowly_from_many_places_and_nobody_is_locked_out() -> None:
    now, who = 0.0, ("default", ADA)
    guesses = Guesses(3, lambda: now)
    guesses.note(who, "home", right=True)
    for place in ("a", "b", "c"):
        guesses.check(who, place)
        guesses.note(who, place, right=False)
    for place in ("a", "b", "c"):
        with pytest.raises(TooManyRequests) as refused:
            guesses.check(who, place)
    for _ in range(1_000):  # the attack goes on from everywhere, without a pause
        now += 0.1
        for place in ("a", "b", "c"):
            with contextlib.suppress(TooManyRequests):
                guesses.check(who, place)
                guesses.note(who, place, right=False)
        guesses.check(who, "home")
        guesses.check(who, f"a new place {now}")
    assert guesses._wrong[who] == 3 + 3, "each place has had one try a minute"
    guesses.check(("default", "bob"), "a")
    guesses.note(who, "a new place", right=False)
    with pytest.raises(TooManyRequests) as refused:
        guesses.check(who, "a new place")
    now += refused.value.retry_after + 0.001
    guesses.check(who, "a new place")
    guesses.note(who, "a new place", right=True)
    guesses.check(who, "b")


@pytest.mark.req("N-42")
def test_a_hundred_wrong_passwords_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    patient = {"server": {"failed_logins": {"per_minute": 0}, "accounts": {"failures": 3}}}
    with World.of({**CONFIG, **patient}) as world:
        account(world)
        reception = reception_of(Request({"type": "http", "app": world.app, "headers": []}))
        monkeypatch.setattr(reception._guesses, "_now", lambda: 0.0)

        def from_address(address: str, password: str) -> int:
            client = TestClient(world.app, client=(address, 1))
            client.portal = world.portal
            body = {"login": ADA, "password": password}
            return int(client.post("/v1/auth/login", json=body).status_code)

        assert from_address("198.51.100.7", SENTENCE) == 200
        assert [from_address("203.0.113.9", f"a wrong guess {n}") for n in range(5)] == [401, 401, 401, 429, 429]
        assert from_address("203.0.113.9", SENTENCE) == 429, "who guesses waits"
        assert from_address("198.51.100.7", SENTENCE) == 200, "the person where they always are does not"
        assert [from_address("203.0.113.9", f"a wrong guess {n}") for n in range(5)][-1] == 429
        assert from_address("192.0.2.1", SENTENCE) == 200, "nor elsewhere"


def test_a_login_is_one_login_however_it_is_written(world: World) -> None:
    account(world)
    for written in (ADA.upper(), f" {ADA}", "\uff21da@example.org"):
        assert login(world, written, OTHER).status_code == 401
    assert list(world.app.state.reception._guesses._wrong) == [("default", ADA)]
    assert login(world).status_code == 200
    assert not world.app.state.reception._guesses._wrong


def test_passwords_are_compared_few_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    account(world)
    monkeypatch.setattr("memstone.server.accounts._WAITING", 0)
    crowded = login(world)
    assert (crowded.status_code, crowded.headers["retry-after"]) == (429, "1")
