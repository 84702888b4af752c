"""What is said and known is counted without a write of its own, and the figures tell it all the same."""

from __future__ import annotations

import pytest

from tests.faces.harness import ON_DISK, Opens

KNOWN = "I live in a house by the sea"


@ON_DISK
@pytest.mark.req("P-24", "D-15")
async def test_saying_what_is_known_changes_nothing_on_disk_and_is_counted(opens: Opens) -> None:
    face = opens()
    await face.remember(KNOWN)
    assert opens.path is not None
    log = opens.path.with_name(f"{opens.path.name}-wal")
    before = log.stat().st_size
    for _ in range(3):
        await face.remember(KNOWN)
    assert log.stat().st_size == before > 0
    assert opens.rows("SELECT count(*) FROM counters") == [(0,)]

    assert (await face.admin.metrics(user_id="alice"))["counts"]["redundant"] == 3
    assert (await face.admin.metrics(user_id="alice"))["counts"]["redundant"] == 3, "each once"


@ON_DISK
@pytest.mark.req("P-24")
async def test_what_was_counted_is_there_after_closing(opens: Opens) -> None:
    first = opens()
    await first.remember(KNOWN)
    await first.remember(KNOWN)
    await first.close()
    assert (await opens().admin.metrics(everybody=True))["counts"]["redundant"] == 1


@ON_DISK
@pytest.mark.req("P-24")
async def test_beside_something_new_it_is_counted_at_once(opens: Opens) -> None:
    face = opens()
    await face.remember(KNOWN)
    await face.store([{"role": "user", "content": KNOWN}, {"role": "user", "content": "I like tea"}], user_id="alice")
    assert opens.rows("SELECT user_id, name, value FROM counters") == [("alice", "redundant", 1)]


@ON_DISK
async def test_now_and_then_it_is_written_down_by_itself(opens: Opens) -> None:
    face = opens()
    await face.remember(KNOWN)
    for _ in range(256):
        await face.remember(KNOWN)
    assert opens.rows("SELECT value FROM counters") == [(256,)]


@ON_DISK
async def test_who_was_erased_is_not_written_down_again(opens: Opens) -> None:
    face, other = opens(), opens()
    await face.remember(KNOWN)
    shared = await face.remember("The office is in Lisbon")
    await face.sharing.share(shared, user_id="bob")
    for text in (KNOWN, "The office is in Lisbon"):
        await face.remember(text)

    await other.admin.erase(user_id="alice")
    await face.admin.metrics(everybody=True)

    assert opens.rows("SELECT * FROM counters") == []
