"""Where accounts stand: in their tenant, beyond bounds, in erasures, backups and copies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memstone.engine.access import accounts, keys
from memstone.engine.moving import copying
from memstone.engine.runtime import Parts
from memstone.errors import (
    Forbidden,
    Unauthenticated,
)
from tests.faces.account_steps import ADA, OTHER, SENTENCE, cheap, logged_in, recognised, refreshed, run
from tests.faces.harness import ON_DISK, Face, Opens, passed

__all__ = ["cheap"]  # a fixture


@pytest.mark.req("N-42")
async def test_tenants_have_accounts_keys_and_tokens_of_their_own(face: Face) -> None:
    other = Face(face.memory.acting_for("acme"))
    await face.create_account(ADA, SENTENCE)
    await other.create_account(ADA, OTHER, role="admin")
    ours, theirs = await logged_in(face), await logged_in(other, ADA, OTHER)
    assert (await recognised(face, theirs)).key.tenant_id == "acme", "whoever asks, the token tells the tenant"
    assert (await recognised(other, ours)).key.tenant_id == "default"
    with pytest.raises(Unauthenticated):
        await logged_in(other)
    assert (await refreshed(face, theirs["refresh_token"]))["account"]["tenant_id"] == "acme"
    assert [one["tenant_id"] for one in await other.accounts()] == ["acme"]


@pytest.mark.req("N-42", "R-9")
async def test_a_token_of_one_tenant_is_none_in_another(face: Face) -> None:
    from memstone.core.access import jwt

    other = Face(face.memory.acting_for("acme"))
    await face.create_account(ADA, SENTENCE)
    await other.create_account(ADA, SENTENCE, role="admin")
    answer, target = await logged_in(face), await logged_in(other)
    secret = await face.memory._engine.parts.ledger.read(lambda tx: tx.vault.secret("default", "tokens"))
    shown = jwt.parse_token(target["access_token"])
    assert shown is not None
    assert secret is not None
    assert jwt.parse_token(answer["access_token"]).kid != shown.kid  # type: ignore[union-attr]
    with pytest.raises(Unauthenticated):
        await run(face, accounts.authenticate_token, jwt.issue_token(shown.claims, secret.value))


async def test_accounts_are_beyond_the_bounds_of_a_user(face: Face) -> None:
    await face.create_account(ADA, SENTENCE)
    bound = Face(face.memory.acting_for("default", user_id="alice"))
    for attempt in (bound.accounts(), bound.create_account("eve", SENTENCE), bound.remove_account(ADA)):
        with pytest.raises(Forbidden):
            await attempt
    assert (await bound.suggest_instructions("a cooking coach"))["source"] == "rules"


@pytest.mark.req("X-30")
async def test_who_is_erased_can_no_longer_log_in_and_leaves_no_name(face: Face) -> None:
    await face.create_account("alice@example.org", SENTENCE, name="Alice", user_id="alice")
    await face.create_account("bob@example.org", SENTENCE, user_id="bob")
    answer = await logged_in(face, "alice@example.org")
    report = await face.erase(user_id="alice")
    assert passed(report), report["checks"]
    assert report["erased"]["accounts"] == 1
    assert [one["login"] for one in await face.accounts()] == ["bob@example.org"]
    with pytest.raises(Unauthenticated):
        await recognised(face, answer)


@ON_DISK
async def test_nothing_that_could_be_used_is_stored(face: Face, opens: Opens) -> None:
    await face.create_account(ADA, SENTENCE)
    answer = await logged_in(face)
    stored = str(opens.rows("SELECT * FROM accounts")) + str(opens.rows("SELECT * FROM account_sessions"))
    secrets = [SENTENCE, answer["access_token"], *answer["refresh_token"].split(".")[2:]]
    assert not [one for one in secrets if one in stored]


@ON_DISK
@pytest.mark.req("X-30")
async def test_a_backup_brings_back_accounts_but_not_of_who_was_erased(
    face: Face, opens: Opens, tmp_path: Path
) -> None:
    await face.create_account("alice@example.org", SENTENCE, user_id="alice")
    await face.create_account(ADA, SENTENCE)
    known, elsewhere = tmp_path / "known.backup", tmp_path / "elsewhere.backup"
    await face.backup(known)
    shutil.copy(known, elsewhere)
    await face.erase(user_id="alice")
    assert b"alice@example.org" not in known.read_bytes()
    assert (await face.restore_backup(elsewhere))["erased_again"] == 1
    assert [one["login"] for one in await face.accounts()] == ["ada@example.org"]
    assert await logged_in(face)
    other = opens({"store": {"url": f"sqlite:///{tmp_path / 'other.db'}", "durable": False}})
    await other.restore_backup(known, foreign=True)
    assert await other.accounts() == [], "another store's backup lets nobody in"


async def test_an_account_that_was_removed_does_not_come_back_with_an_older_backup(
    face: Face, opens: Opens, tmp_path: Path
) -> None:
    gone = await face.create_account(ADA, SENTENCE, role="admin")
    await face.create_account("bob@example.org", SENTENCE)
    await face.backup(tmp_path / "older.backup")
    await face.remove_account(ADA)
    notes = await run(face, _notes)
    assert notes == [("default", f"removed:{gone['id']}", b"")], "a number, and nothing about anybody"

    for _ in range(2):  # the note outlives the restore, too
        await face.restore_backup(tmp_path / "older.backup")
        assert [one["login"] for one in await face.accounts()] == ["bob@example.org"]
        with pytest.raises(Unauthenticated):
            await logged_in(face)

    again = await face.create_account(ADA, OTHER)
    assert again["id"] != gone["id"]
    await face.restore_backup(tmp_path / "older.backup")
    assert await logged_in(face, ADA, OTHER), "who was let in again stays in"
    await face.create_account("alice@example.org", SENTENCE, user_id="alice")
    await face.remove_account("alice@example.org")
    assert (await face.verify_erasure(await face.erase(user_id="alice")))["ok"], "a note is in nobody's way"


async def _notes(parts: Parts) -> list[tuple[str, str, bytes]]:
    found = await parts.ledger.read(lambda tx: tx.vault.secrets())
    return [(tenant, name, one.value) for tenant, name, one in found if name.startswith("removed:")]


async def test_an_older_backup_lets_nobody_in_who_was_shut_out_since(face: Face, tmp_path: Path) -> None:
    await face.create_account(ADA, SENTENCE)
    revoked, rotated = await face.create_key("revoked"), await face.create_key("rotated")
    logged = await logged_in(face)
    await face.backup(tmp_path / "older.backup")

    await face.revoke_key(revoked["id"])
    fresh = await face.rotate_key(rotated["id"], grace_seconds=0)
    await face.set_account(ADA, password=OTHER)
    await face.rotate_token_key(grace=False)
    await face.restore_backup(tmp_path / "older.backup")

    for token in (revoked["key"], rotated["key"]):
        with pytest.raises(Unauthenticated):
            await run(face, keys.authenticate_key, token)
    assert (await run(face, keys.authenticate_key, fresh["key"])).id == rotated["id"]
    with pytest.raises(Unauthenticated):
        await logged_in(face)
    with pytest.raises(Unauthenticated):
        await recognised(face, logged)
    with pytest.raises(Unauthenticated):
        await refreshed(face, logged["refresh_token"])
    assert await logged_in(face, ADA, OTHER)


@ON_DISK
async def test_a_copy_of_the_store_lets_the_same_people_in(face: Face, opens: Opens, tmp_path: Path) -> None:
    await face.create_account(ADA, SENTENCE)
    answer = await logged_in(face)
    other = opens({"store": {"url": f"sqlite:///{tmp_path}/other.db", "durable": False}})
    await other.accounts()
    await copying.copy_store(face.memory._engine.parts.ledger, other.memory._engine.parts.ledger, None, None)
    assert await recognised(other, answer)
    assert await refreshed(other, answer["refresh_token"])


async def test_a_reset_keeps_accounts_as_it_keeps_keys(face: Face) -> None:
    await face.create_account(ADA, SENTENCE)
    answer = await logged_in(face)
    await face.reset()
    assert await recognised(face, answer)
