"""Where accounts stand: in their tenant, beyond bounds, in erasures, backups and copies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memstone.engine.access import accounts, keys
from memstone.engine.runtime import Runtime
from memstone.engine.transfer import copy_store
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
    await face.admin.accounts.create(ADA, SENTENCE)
    await other.admin.accounts.create(ADA, OTHER, role="admin")
    ours, others = await logged_in(face), await logged_in(other, ADA, OTHER)
    assert (await recognised(face, others)).key.tenant_id == "acme", "whoever asks, the token tells the tenant"
    assert (await recognised(other, ours)).key.tenant_id == "default"
    with pytest.raises(Unauthenticated):
        await logged_in(other)
    assert (await refreshed(face, others["refresh_token"]))["account"]["tenant_id"] == "acme"
    assert [one["tenant_id"] for one in await other.admin.accounts.list()] == ["acme"]


@pytest.mark.req("N-42", "R-9")
async def test_a_token_of_one_tenant_is_none_in_another(face: Face) -> None:
    from memstone.core.access import jwt

    other = Face(face.memory.acting_for("acme"))
    await face.admin.accounts.create(ADA, SENTENCE)
    await other.admin.accounts.create(ADA, SENTENCE, role="admin")
    answer, target = await logged_in(face), await logged_in(other)
    secret = await face.memory.engine.runtime.ledger.read(lambda tx: tx.vault.secret("default", "tokens"))
    token = jwt.parse_token(target["access_token"])
    assert token is not None
    assert secret is not None
    assert jwt.parse_token(answer["access_token"]).kid != token.kid  # type: ignore[union-attr]
    with pytest.raises(Unauthenticated):
        await run(face, accounts.authenticate_token, jwt.issue_token(token.claims, secret.value))


async def test_accounts_are_beyond_the_bounds_of_a_user(face: Face) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    bound = Face(face.memory.acting_for("default", user_id="alice"))
    for attempt in (
        bound.admin.accounts.list(),
        bound.admin.accounts.create("eve", SENTENCE),
        bound.admin.accounts.remove(ADA),
    ):
        with pytest.raises(Forbidden):
            await attempt
    assert (await bound.settings.suggest_instructions("a cooking coach"))["source"] == "rules"


@pytest.mark.req("X-30")
async def test_who_is_erased_can_no_longer_log_in_and_leaves_no_name(face: Face) -> None:
    await face.admin.accounts.create("alice@example.org", SENTENCE, name="Alice", user_id="alice")
    await face.admin.accounts.create("bob@example.org", SENTENCE, user_id="bob")
    answer = await logged_in(face, "alice@example.org")
    report = await face.admin.erase(user_id="alice")
    assert passed(report), report["checks"]
    assert report["erased"]["accounts"] == 1
    assert [one["login"] for one in await face.admin.accounts.list()] == ["bob@example.org"]
    with pytest.raises(Unauthenticated):
        await recognised(face, answer)


@ON_DISK
async def test_nothing_that_could_be_used_is_stored(face: Face, opens: Opens) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    answer = await logged_in(face)
    stored = str(opens.rows("SELECT * FROM accounts")) + str(opens.rows("SELECT * FROM account_sessions"))
    secrets = [SENTENCE, answer["access_token"], *answer["refresh_token"].split(".")[2:]]
    assert not [one for one in secrets if one in stored]


@ON_DISK
@pytest.mark.req("X-30")
async def test_a_backup_brings_back_accounts_but_not_of_who_was_erased(
    face: Face, opens: Opens, tmp_path: Path
) -> None:
    await face.admin.accounts.create("alice@example.org", SENTENCE, user_id="alice")
    await face.admin.accounts.create(ADA, SENTENCE)
    known, elsewhere = tmp_path / "known.backup", tmp_path / "elsewhere.backup"
    await face.admin.backups.create(known)
    shutil.copy(known, elsewhere)
    await face.admin.erase(user_id="alice")
    assert b"alice@example.org" not in known.read_bytes()
    assert (await face.admin.backups.restore(elsewhere))["erased_again"] == 1
    assert [one["login"] for one in await face.admin.accounts.list()] == ["ada@example.org"]
    assert await logged_in(face)
    other = opens({"store": {"url": f"sqlite:///{tmp_path / 'other.db'}", "durable": False}})
    await other.admin.backups.restore(known, foreign=True)
    assert await other.admin.accounts.list() == [], "another store's backup lets nobody in"


async def test_an_account_that_was_removed_does_not_come_back_with_an_older_backup(
    face: Face, opens: Opens, tmp_path: Path
) -> None:
    gone = await face.admin.accounts.create(ADA, SENTENCE, role="admin")
    await face.admin.accounts.create("bob@example.org", SENTENCE)
    await face.admin.backups.create(tmp_path / "older.backup")
    await face.admin.accounts.remove(ADA)
    notes = await run(face, _notes)
    assert notes == [("default", f"removed:{gone['id']}", b"")], "a number, and nothing about anybody"

    for _ in range(2):  # the note outlives the restore, too
        await face.admin.backups.restore(tmp_path / "older.backup")
        assert [one["login"] for one in await face.admin.accounts.list()] == ["bob@example.org"]
        with pytest.raises(Unauthenticated):
            await logged_in(face)

    again = await face.admin.accounts.create(ADA, OTHER)
    assert again["id"] != gone["id"]
    await face.admin.backups.restore(tmp_path / "older.backup")
    assert await logged_in(face, ADA, OTHER), "who was let in again stays in"
    await face.admin.accounts.create("alice@example.org", SENTENCE, user_id="alice")
    await face.admin.accounts.remove("alice@example.org")
    assert (await face.admin.verify_erasure(await face.admin.erase(user_id="alice")))["ok"], "a note is in nobody's way"


async def _notes(runtime: Runtime) -> list[tuple[str, str, bytes]]:
    found = await runtime.ledger.read(lambda tx: tx.vault.secrets())
    return [(tenant, name, one.value) for tenant, name, one in found if name.startswith("removed:")]


async def test_an_older_backup_lets_nobody_in_who_was_shut_out_since(face: Face, tmp_path: Path) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    revoked, rotated = await face.admin.keys.create("revoked"), await face.admin.keys.create("rotated")
    logged = await logged_in(face)
    await face.admin.backups.create(tmp_path / "older.backup")

    await face.admin.keys.revoke(revoked["id"])
    fresh = await face.admin.keys.rotate(rotated["id"], grace_seconds=0)
    await face.admin.accounts.update(ADA, password=OTHER)
    await face.admin.accounts.rotate_token_key(grace=False)
    await face.admin.backups.restore(tmp_path / "older.backup")

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
    await face.admin.accounts.create(ADA, SENTENCE)
    answer = await logged_in(face)
    other = opens({"store": {"url": f"sqlite:///{tmp_path}/other.db", "durable": False}})
    await other.admin.accounts.list()
    await copy_store.copy_store(face.memory.engine.runtime.ledger, other.memory.engine.runtime.ledger, None, None)
    assert await recognised(other, answer)
    assert await refreshed(other, answer["refresh_token"])


async def test_a_reset_keeps_accounts_as_it_keeps_keys(face: Face) -> None:
    await face.admin.accounts.create(ADA, SENTENCE)
    answer = await logged_in(face)
    await face.reset()
    assert await recognised(face, answer)
