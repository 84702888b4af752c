"""Review: what is held back or doubted is approved, corrected or rejected, one or many, and taken back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.console.house import Guest, House

PAGE = "/console/review"


def hold(house: House, *texts: str, user: str = "alice") -> list[str]:
    """Store memories that wait for approval."""
    ids = [house.add(text, user) for text in texts]
    for one in ids:
        house.run(house.memory.review.quarantine, one, "look at it")
    return ids


def doubt(house: House, text: str) -> str:
    """Store a memory that is doubted, as a model that invents things would."""
    memory_id = house.add(text)

    async def mark(tx: Any) -> None:
        record = await tx.memories.current("default", memory_id)
        data = {**record.data, "doubt": "it has a number that nobody said"}
        await tx.stored_rows.rewrite("default", "memories", record.seq, {"data": data})

    house.run(house.memory.engine.runtime.ledger.write, mark)
    return memory_id


def active(house: House, user: str = "alice") -> set[str]:
    """What can be recalled."""
    return {one["memory"] for one in house.run(house.memory.get_all, user_id=user)["results"]}


def test_many_are_approved_at_once_and_undo_holds_them_back_again(house: House, operator: Guest) -> None:
    ids = hold(house, "I like tea", "I like rain")
    page = operator.see(PAGE)
    assert "I like tea" in page
    done = operator.submit(f"{PAGE}/decide", id=ids, decision="approve", queue="quarantined")
    assert "Approved 2 memories" in done.text
    assert active(house) == {"I like tea", "I like rain"}
    operator.submit("/console/undo", toast=done.url.params["toast"])
    assert active(house) == set()


def test_many_are_rejected_and_stay_away(house: House, operator: Guest) -> None:
    ids = hold(house, "I like tea", "I like rain")
    operator.see(PAGE)
    operator.submit(f"{PAGE}/decide", id=ids, decision="reject", queue="quarantined", reason="not true")
    assert "Nothing waits for you" in operator.see(PAGE)
    assert house.run(house.memory.history, ids[0])[-1]["reason"] == "not true"


def test_a_memory_is_corrected_and_approved_with_it(house: House, operator: Guest) -> None:
    (memory_id,) = hold(house, "I like te")
    operator.see(PAGE)
    operator.submit(f"{PAGE}/correct", memory=memory_id, text="I like tea", queue="quarantined")
    assert active(house) == {"I like tea"}
    assert operator.submit(f"{PAGE}/correct", memory=memory_id, text="  ", queue="quarantined").status_code == 400


def test_a_doubt_is_shown_with_its_reason_and_taken_away(house: House, operator: Guest) -> None:
    memory_id = doubt(house, "User weighs 91 kg.")
    page = operator.see(f"{PAGE}?queue=doubtful")
    assert "It has a number that nobody said" in page
    assert "User weighs 91 kg." in page
    done = operator.submit(f"{PAGE}/decide", id=[memory_id], decision="approve", queue="doubtful")
    assert "doubt" not in house.run(house.memory.get, memory_id)
    operator.submit("/console/undo", toast=done.url.params["toast"])
    assert house.run(house.memory.get, memory_id)["doubt"] == "it has a number that nobody said"


def test_a_doubtful_memory_is_corrected_or_rejected(house: House, operator: Guest) -> None:
    first, second = doubt(house, "User weighs 91 kg."), doubt(house, "User has 7 cats.")
    operator.see(f"{PAGE}?queue=doubtful")
    operator.submit(f"{PAGE}/correct", memory=first, text="User weighs 71 kg.", queue="doubtful")
    operator.submit(f"{PAGE}/decide", id=[second], decision="reject", queue="doubtful")
    assert active(house) == {"User weighs 71 kg."}
    assert "doubt" not in house.run(house.memory.get, first)


def test_what_cannot_be_decided_is_said_beside_what_was(house: House, operator: Guest) -> None:
    (memory_id,) = hold(house, "I like tea")
    operator.see(PAGE)
    done = operator.submit(f"{PAGE}/decide", id=[memory_id, "nowhere"], decision="approve", queue="quarantined").text
    assert "Approved 1 memory; 1 left as they are" in done
    assert operator.submit(f"{PAGE}/decide", id=["nowhere"], decision="approve").status_code == 404


@pytest.mark.parametrize("fields", [{"decision": "maybe", "id": "x"}, {"decision": "approve"}])
def test_a_form_that_says_nothing_is_explained(operator: Guest, fields: dict[str, Any]) -> None:
    operator.see(PAGE)
    assert operator.submit(f"{PAGE}/decide", **fields).status_code == 400


def test_only_an_administrator_reviews(house: House) -> None:
    hold(house, "I like tea")
    assert house.guest(user_id="alice").get(PAGE).status_code == 403


def test_pages_lead_to_older_ones(house: House, operator: Guest) -> None:
    hold(house, *(f"Fact {number}" for number in range(27)))
    assert "Fact 26" in operator.see(PAGE)
    older = operator.see(f"{PAGE}?page=2")
    assert "Fact 0" in older
    assert "Fact 26" not in older
