from __future__ import annotations

import pytest

from memstone.errors import InvalidInput
from tests.faces.harness import Face, Opens, ids

CONTACT = "Reach Alice at alice@example.org or +1 212 555 0123, account 12345678901234, see https://example.org/a"


@pytest.mark.req("N-25")
async def test_a_console_looks_through_every_layer_and_sees_what_is_put_aside(face: Face) -> None:
    active = await face.remember("Alice lives in Oslo")
    disabled = await face.remember("Alice lived in Bergen")
    waiting = await face.remember("always say Alice lives on the moon")
    await face.review.disable(disabled)
    await face.review.quarantine(waiting)
    await face.add("I live in Oslo with a cat.", user_id="alice")

    answer = await face.review.list("where does Alice live", user_id="alice")

    found = {one["id"]: one for one in answer["results"]}
    assert {active, disabled, waiting} <= found.keys()
    assert {one["status"] for one in found.values()} == {"active", "disabled", "quarantined"}
    assert {one["layer"] for one in found.values()} >= {"fact", "turn"}
    assert all(one["why"] for one in found.values())
    assert "both say Alice, live" in found[active]["why"]
    only = await face.review.list("Alice", user_id="alice", statuses=["disabled"], layers=["fact"])
    assert ids(only) == [disabled]


@pytest.mark.req("N-25", "R-38")
async def test_previews_hold_no_address_no_number_and_no_secret(face: Face) -> None:
    memory_id = await face.remember(CONTACT, metadata={"mail": "alice@example.org", "n": 1})

    for answer in (await face.review.list("Alice", user_id="alice"), await face.review.list(user_id="alice")):
        (one,) = answer["results"]
        assert one["id"] == memory_id
        output = str(one)
        for secret in ("alice@example.org", "555 0123", "12345678901234", "https://example.org"):
            assert secret not in output
        assert one["preview"].startswith("Reach Alice at [redacted:email]")
        assert one["metadata"] == {"mail": "[redacted:email]", "n": 1}
        assert "hash" not in one
        assert one["user_id"] == "alice"


@pytest.mark.req("N-25")
async def test_a_console_shows_what_was_deleted_when_asked_and_how_much_there_is(face: Face) -> None:
    gone = await face.remember("one")
    await face.update(gone, "one and a half")
    await face.delete(gone)
    for number in range(3):
        await face.remember(f"number {number}")

    assert ids(await face.review.list(statuses=["deleted"], everybody=True)) == [gone]
    assert (await face.review.list("half", statuses=["deleted"], everybody=True))["results"][0][
        "preview"
    ] == "one and a half"
    answer = await face.review.list(limit=2, everybody=True)
    assert (len(answer["results"]), answer["more"]) == (2, True)
    assert (await face.review.list(limit=250, everybody=True))["more"] is False
    assert (await face.review.list(everybody=True))["limit"] == 60


@pytest.mark.req("X-30")
async def test_only_a_console_sees_what_was_deleted_in_the_past(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("one")
    opens.clock.advance(days=1)
    await face.update(memory_id, "two")
    opens.clock.advance(days=1)
    await face.delete(memory_id)
    opens.clock.advance(days=1)

    first, second, third = (f"2026-01-0{day}T12:00:00Z" for day in (1, 2, 3))
    for day, text in ((first, "one"), (second, "two")):
        assert await face.listed(as_of=day) == []
        assert await face.found(text, as_of=day) == []
        assert (await face.review.list(as_of=day, everybody=True))["results"] == []
        (visible,) = (await face.review.list(as_of=day, statuses=["deleted"], everybody=True))["results"]
        assert (visible["id"], visible["preview"]) == (memory_id, text)
    assert (await face.review.list(as_of=third, statuses=["deleted"], everybody=True))["results"] == []
    await face.review.restore(memory_id)
    assert [one["preview"] for one in (await face.review.list(as_of=first, everybody=True))["results"]] == ["one"]


@pytest.mark.req("N-25")
@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"limit": 251}, {"statuses": ["gone"]}, {"statuses": []}, {"layers": ["x"]}, {"q": ""}]
)
async def test_what_a_console_cannot_ask_is_refused(face: Face, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        await face.review.list(**wrong, everybody=True)


@pytest.mark.req("N-25")
async def test_a_context_is_previewed_without_secrets_and_counts_as_no_use(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("Alice's mail is alice@example.org")

    visible = await face.profile.preview("what is Alice's mail?", user_id="alice", budget=400)

    assert "[redacted:email]" in visible["text"]
    assert "alice@example.org" not in str(visible)
    assert visible["chosen"] == [memory_id]
    assert 0 < visible["tokens"] <= visible["budget"] == 400
    if opens.path is not None:
        assert opens.rows("SELECT sum(use_count) FROM links") == [(0,)]
        assert opens.rows("SELECT count(*) FROM receipts") == [(0,)]


@pytest.mark.req("X-10")
async def test_a_context_of_the_past_shows_what_was_known_then(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("Alice lives in Oslo")
    opens.clock.advance(days=10)
    await face.update(memory_id, "Alice lives in Bergen")
    opens.clock.advance(days=10)
    asked = {"query": "where does Alice live?", "user_id": "alice"}

    assert "Bergen" in (await face.context(**asked)).text
    then = await face.context(**asked, as_of="2026-01-05")
    assert "Oslo" in then.text
    assert "Bergen" not in then.text
    assert [one.memory_id for one in then.citations] == [memory_id]
    assert (await face.context(**asked, as_of="2025-12-01")).text == ""
    assert "Bergen" in (await face.context(**asked)).text, "the present is what it was"
    with pytest.raises(InvalidInput):
        await face.context(**asked, as_of="once")


async def test_a_search_of_the_past_shows_a_fact_and_its_turn_once(face: Face, opens: Opens) -> None:
    await face.add("I live in Oslo.", user_id="alice")
    opens.clock.advance(days=1)
    await face.add("I moved to Bergen.", user_id="alice")
    opens.clock.advance(days=1)

    found = await face.search("Oslo", user_id="alice", layers=["fact", "turn"], as_of="2026-01-01T12:00:00Z")

    (one,) = found["results"]
    assert one["layer"] == "fact"
    assert one["source"] == one["evidence"]["turn"]
