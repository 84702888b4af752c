"""People who guess passwords and tokens have to wait, and disturb nobody."""

from __future__ import annotations

from typing import Any

import pytest

from memstone.engine.access.accounts_tokens import LongToken
from memstone.errors import TooManyRequests
from memstone.server.accounts import Guesses
from memstone.testing.clock import FakeClock
from tests.patience import until
from tests.server.test_auth import ADA, LIST, OTHER, account, cheap, clocked, logged_in, login, refresh
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
    ledger = state.memory._engine.parts.ledger
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


def test_an_account_is_not_guessed_from_many_places() -> None:
    now, who = 0.0, ("default", ADA)
    guesses = Guesses(3, lambda: now)
    for _ in range(3):
        guesses.check(who)
        guesses.note(who, right=False)
    with pytest.raises(TooManyRequests) as refused:
        guesses.check(who)
    guesses.check(("default", "bob"))
    now += refused.value.retry_after + 0.001
    guesses.check(who)
    guesses.note(who, right=False)
    with pytest.raises(TooManyRequests):
        guesses.check(who)
    now += 61
    guesses.note(who, right=True)
    guesses.check(who)


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
