"""Accounts and their tokens through both faces, below the service."""

from __future__ import annotations

from typing import Any

import pytest

from memstone.core.access import passwords
from memstone.core.access.passwords import Cost
from memstone.engine.access import accounts
from memstone.engine.access import accounts as access_accounts
from memstone.errors import (
    Conflict,
    InvalidInput,
    NotFoundError,
    ScopeError,
    TokenExpired,
    Unauthenticated,
)
from tests.faces.account_steps import ADA, OTHER, SENTENCE, cheap, logged_in, recognised, refreshed, run
from tests.faces.harness import Face, Opens

__all__ = ["cheap"]  # a fixture


@pytest.mark.req("N-42")
async def test_an_account_is_made_listed_changed_and_removed(face: Face) -> None:
    made = await face.admin.accounts.create(ADA, SENTENCE, name="Ada", role="editor")
    assert (made["login"], made["role"], made["verbs"]) == ("ada@example.org", "editor", ["read", "write"])
    assert await face.admin.accounts.list() == [made]
    assert "scrypt" not in str(made)
    changed = await face.admin.accounts.update("ADA@example.org", name="", role="admin", user_id="alice")
    assert (changed["name"], changed["role"], changed["user_id"]) == ("", "admin", "alice")
    assert (await face.admin.accounts.update(made["id"], user_id="", login="lovelace"))["user_id"] is None
    assert (await face.admin.accounts.remove("lovelace"))["removed"]
    assert await face.admin.accounts.list() == []


@pytest.mark.req("N-42")
async def test_a_login_is_there_once_however_it_is_written(face: Face) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    await face.admin.accounts.create("bob", SENTENCE)
    for same in ("ada@example.org", " ADA@EXAMPLE.ORG ", "\uff21da@example.org"):
        with pytest.raises(Conflict):
            await face.admin.accounts.create(same, SENTENCE)
    with pytest.raises(Conflict):
        await face.admin.accounts.update("bob", login=ADA)
    assert len(await face.admin.accounts.list()) == 2


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"login": ""}, InvalidInput),
        ({"login": "two words"}, InvalidInput),
        ({"login": "x" * 257}, InvalidInput),
        ({"login": 7}, InvalidInput),
        ({"password": "short"}, InvalidInput),
        ({"password": None}, InvalidInput),
        ({"role": "emperor"}, InvalidInput),
        ({"name": "x" * 201}, InvalidInput),
        ({"user_id": "a b"}, ScopeError),
        ({"user_id": ""}, ScopeError),
        ({"agent_id": ""}, ScopeError),
    ],
)
async def test_an_account_that_makes_no_sense_is_not_made(face: Face, wrong: dict[str, Any], error: type) -> None:
    with pytest.raises(error):
        await face.admin.accounts.create(**{"login": ADA, "password": SENTENCE, **wrong})
    assert await face.admin.accounts.list() == []


async def test_an_account_that_is_not_there_cannot_be_changed(face: Face) -> None:
    for verb in (face.admin.accounts.update, face.admin.accounts.remove):
        with pytest.raises(NotFoundError):
            await verb("nobody")


@pytest.mark.req("N-42")
async def test_who_knows_the_password_gets_tokens_that_say_who_they_are(face: Face) -> None:
    made = await face.admin.accounts.create(ADA, SENTENCE, role="editor", agent_id="bot")
    answer = await logged_in(face, " ADA@example.org")
    who = await recognised(face, answer)
    assert (who.account.id, who.key.id, who.key.tenant_id) == (made["id"], made["id"], "default")
    assert (who.key.verbs, who.key.subjects.agent_id) == (("read", "write"), "bot")
    assert (await face.admin.accounts.list())[0]["last_login_at"]
    assert answer["expires_in"] == 900


@pytest.mark.req("N-42")
@pytest.mark.parametrize(
    ("login", "password"),
    [
        (ADA, OTHER),
        (ADA, ""),
        (ADA, SENTENCE + "x"),
        ("nobody", SENTENCE),
        ("", ""),
        ("a b", SENTENCE),
        (ADA, "x" * 9_999),
    ],
)
async def test_whatever_is_wrong_the_answer_and_the_work_are_the_same(
    face: Face, monkeypatch: pytest.MonkeyPatch, login: str, password: str
) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    compared: list[str] = []

    def counted(text: str, stored: str) -> bool:
        compared.append(stored)
        return passwords.is_correct_password(text, stored)

    monkeypatch.setattr(accounts, "is_correct_password", counted)
    with pytest.raises(Unauthenticated) as refused:
        await logged_in(face, login, password)
    assert refused.value.message == "the login or the password is wrong"
    assert [one.rpartition(",p=")[0] for one in compared] == ["$scrypt$ln=4,r=8"], "compared once, at the same cost"


@pytest.mark.req("N-42")
async def test_a_disabled_account_neither_logs_in_nor_stays_logged_in(face: Face) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    answer = await logged_in(face)
    await face.admin.accounts.update(ADA, disabled=True)
    for attempt in (logged_in(face), recognised(face, answer), refreshed(face, answer["refresh_token"])):
        with pytest.raises(Unauthenticated):
            await attempt
    await face.admin.accounts.update(ADA, disabled=False)
    assert await logged_in(face)
    with pytest.raises(Unauthenticated):
        await recognised(face, answer)


@pytest.mark.req("N-42")
async def test_a_token_expires_and_another_one_is_had_for_the_long_one(face: Face, opens: Opens) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    first = await logged_in(face)
    opens.clock.advance(minutes=14, seconds=59)
    assert await recognised(face, first)
    opens.clock.advance(seconds=1)
    with pytest.raises(TokenExpired):
        await recognised(face, first)
    second = await refreshed(face, first["refresh_token"])
    assert await recognised(face, second)
    opens.clock.advance(days=13)
    assert await recognised(face, await refreshed(face, second["refresh_token"]))


async def test_a_session_ends_when_nobody_refreshes_it_and_after_all_its_days(face: Face, opens: Opens) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    left = await logged_in(face)
    opens.clock.advance(days=14)
    with pytest.raises(Unauthenticated):
        await refreshed(face, left["refresh_token"])
    stored = await logged_in(face)
    for _ in range(9):
        opens.clock.advance(days=9)
        stored = await refreshed(face, stored["refresh_token"])
    opens.clock.advance(days=9)
    with pytest.raises(Unauthenticated):
        await refreshed(face, stored["refresh_token"])


@pytest.mark.req("N-42")
async def test_a_long_token_that_comes_back_ends_the_session_for_both(face: Face) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    first, elsewhere = await logged_in(face), await logged_in(face)
    second = await refreshed(face, first["refresh_token"])
    with pytest.raises(Unauthenticated, match="already been used"):
        await refreshed(face, first["refresh_token"])
    for attempt in (refreshed(face, second["refresh_token"]), recognised(face, second)):
        with pytest.raises(Unauthenticated):
            await attempt
    assert await recognised(face, elsewhere), "another session goes on"


async def test_a_long_token_that_was_never_given_out_ends_nothing(face: Face) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    answer = await logged_in(face)
    tenant, session, family, own = answer["refresh_token"].removeprefix("rr_").split(".")
    made_up = [
        f"rr_{tenant}.{session}.{'x' * len(family)}.{own}",
        f"rr_{tenant}.{'0' * 36}.{family}.{own}",
        f"rr_b3RoZXI.{session}.{family}.{own}",
        f"rr_{tenant}.{session}.{family}",
        f"rr_%%.{session}.{family}.{own}",
        answer["access_token"],
        "",
        "rr_" + "." * 3,
        "rr_\u00e4.a.a.a",
        "x" * 9_999,
    ]
    for token in made_up:
        with pytest.raises(Unauthenticated):
            await refreshed(face, token)
    assert await refreshed(face, answer["refresh_token"])


@pytest.mark.req("N-42")
async def test_who_logs_out_is_out_here_or_everywhere(face: Face) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    one, two, three = [await logged_in(face) for _ in range(3)]
    who = await recognised(face, one)
    assert await run(face, accounts.logout_account, who.account, who.session_id, everywhere=False) == 1
    with pytest.raises(Unauthenticated):
        await recognised(face, one)
    assert await recognised(face, two)
    assert await run(face, accounts.logout_account, who.account, who.session_id, everywhere=True) == 2
    for answer in (two, three):
        with pytest.raises(Unauthenticated):
            await recognised(face, answer)


@pytest.mark.req("N-42")
async def test_another_password_ends_every_other_session(face: Face) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    here, there = await logged_in(face), await logged_in(face)
    who = await recognised(face, here)
    with pytest.raises(Unauthenticated):
        await run(face, accounts.change_password, who.account, who.session_id, OTHER, OTHER)
    for new in ("short", SENTENCE):
        with pytest.raises(InvalidInput):
            await run(face, accounts.change_password, who.account, who.session_id, SENTENCE, new)
    changed = await run(face, accounts.change_password, who.account, who.session_id, SENTENCE, OTHER)
    assert changed == {"changed": True, "sessions_ended": 1}
    assert await recognised(face, here)
    for attempt in (recognised(face, there), logged_in(face)):
        with pytest.raises(Unauthenticated):
            await attempt
    await face.admin.accounts.update(ADA, password=SENTENCE)
    with pytest.raises(Unauthenticated):
        await recognised(face, here)
    assert await logged_in(face)


async def test_an_account_has_so_many_sessions_and_the_oldest_goes(face: Face, opens: Opens) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    answers = []
    for _ in range(accounts.SESSIONS + 2):
        opens.clock.advance(seconds=1)
        answers.append(await logged_in(face))
    for gone in answers[:2]:
        with pytest.raises(Unauthenticated):
            await recognised(face, gone)
    for current in (answers[2], answers[-1]):
        assert await recognised(face, current)


async def test_a_password_that_was_stored_at_another_cost_is_stored_anew(
    face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await face.admin.accounts.create(ADA, SENTENCE)

    async def stored() -> str:
        runtime = face.memory.engine.runtime
        found = await runtime.ledger.peek(lambda tx: tx.accounts.find("default", made["id"]))
        assert found is not None
        return found.password

    before = await stored()
    await logged_in(face)
    assert await stored() == before
    monkeypatch.setattr(passwords, "COST", Cost(5, 8, 1))
    await logged_in(face)
    assert (await stored()).startswith("$scrypt$ln=5,")
    assert await logged_in(face)


@pytest.mark.req("N-42")
async def test_another_key_to_sign_with_lets_tokens_run_out_or_ends_them(face: Face, opens: Opens) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    first = await logged_in(face)
    opens.clock.advance(seconds=1)
    await face.admin.accounts.rotate_token_key()
    second = await refreshed(face, first["refresh_token"])
    assert await recognised(face, first)
    assert await recognised(face, second)
    await face.admin.accounts.rotate_token_key(grace=False)
    for answer in (first, second):
        with pytest.raises(Unauthenticated):
            await recognised(face, answer)
    assert await recognised(face, await refreshed(face, second["refresh_token"]))


async def test_a_key_that_was_replaced_signs_nothing_new(face: Face, opens: Opens) -> None:
    from memstone.core.access import jwt

    await face.admin.accounts.create(ADA, SENTENCE)
    answer = await logged_in(face)
    runtime = face.memory.engine.runtime
    stolen = await runtime.ledger.read(lambda tx: tx.vault.secret("default", "tokens"))
    await face.admin.accounts.rotate_token_key()
    opens.clock.advance(hours=1)
    token = jwt.parse_token(answer["access_token"])
    assert token is not None
    assert stolen is not None
    at = int(opens.clock.now().timestamp())
    claims = jwt.Claims(token.claims.sub, "default", "admin", token.claims.sid, at, at, at + 900)
    with pytest.raises(Unauthenticated):
        await run(face, access_accounts.authenticate_token, jwt.issue_token(claims, stolen.value))
