"""A dry run answers what a deletion would, and changes nothing: on every store, through both faces."""

from __future__ import annotations

from typing import Any

import pytest

from memstone.errors import InvalidInput, NotFoundError
from tests.faces.harness import Face, verb_of


async def stocked(face: Face) -> dict[str, Any]:
    """Something of everything, and how each of it is deleted: the method, and its arguments."""
    own, stored_text = await face.remember("I live in Oslo"), await face.remember("I like tea", agent_id="coach")
    await face.sharing.share(own, user_id="bob")
    await face.review.quarantine(stored_text)
    await face.vectors.insert([{"id": "v1", "values": [0.1, 0.2], "metadata": {}}], user_id="alice")
    await face.identity.add_override("Call me Al", user_id="alice")
    await face.settings.set({"context.budget": 500}, user_id="alice")
    await face.settings.pause(user_id="carol")
    key = (await face.admin.keys.create("app"))["id"]
    account = (await face.admin.accounts.create("ada@example.org", "a long sentence of mine"))["id"]
    return {
        "delete": {"memory_id": own},
        "delete_many": {"ids": [own, stored_text]},
        "delete_all": {"user_id": "alice"},
        "agents.delete": {"agent_id": "coach"},
        "vectors.delete": {"ids": ["v1"]},
        "admin.erase": {"user_id": "alice"},
        "review.reject": {"memory_id": stored_text},
        "admin.accounts.remove": {"account": account},
        "identity.remove_override": {"position": 0, "user_id": "alice"},
        "settings.resume": {"user_id": "carol"},
        "admin.keys.revoke": {"key_id": key},
        "vectors.unlink": {"vector_id": "v1", "user_id": "alice"},
        "settings.unset": {"user_id": "alice"},
        "sharing.unshare": {"memory_id": own, "user_id": "bob"},
    }


async def everything(face: Face) -> list[Any]:
    seen = [
        await face.export(everybody=True),
        await face.identity.get(user_id="alice"),
        await face.settings.get(user_id="alice"),
    ]
    more = [
        await face.settings.pauses(everybody=True),
        await face.admin.keys.list(),
        await face.admin.accounts.list(),
        await face.vectors.get(["v1"]),
    ]
    return [*seen[0][1:], *seen[1:], *more]


async def test_a_dry_run_changes_nothing_and_answers_what_the_deletion_would(face: Face) -> None:
    for name in await stocked(face):
        await face.reset()
        for one in await face.admin.accounts.list():
            await face.admin.accounts.remove(one["id"])
        arguments = (await stocked(face))[name]
        before = await everything(face)
        would = await verb_of(face, name)(**arguments, dry_run=True)
        assert would.pop("dry_run") is True, name
        assert await everything(face) == before, name
        done = await verb_of(face, name)(**arguments)
        assert {key: done[key] for key in would if key not in {"revoked_at", "updated_at"}} == {
            key: value for key, value in would.items() if key not in {"revoked_at", "updated_at"}
        }, name
        assert await everything(face) != before, name


async def test_a_dry_run_fails_as_the_deletion_would(face: Face) -> None:
    with pytest.raises(NotFoundError):
        await face.delete("00000000-0000-4000-8000-000000000000", dry_run=True)
    for wrong in ("", "false", 0, None):
        with pytest.raises(InvalidInput, match="dry_run"):
            await face.delete_all(user_id="alice", dry_run=wrong)


async def test_a_batch_that_was_only_tried_is_carried_out_afterwards(face: Face) -> None:
    own = await face.remember("I live in Oslo")
    await face.delete_many([own], idempotency_key="k", dry_run=True)
    answer = await face.delete_many([own], idempotency_key="k")
    assert "replayed" not in answer
    assert await face.get(own) is None
