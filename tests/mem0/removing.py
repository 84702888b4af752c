"""The rows of the table about deleting, history and expiry."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.mem0.behaviours import ALICE, TABLE, TODAY, Subject, behaviour, refuses
from tests.mem0.reading import TOMORROW, YESTERDAY

NOWHERE = "0f8fad5b-d9cb-469f-a165-70867728950e"


@behaviour("delete")
def delete_answers_with_a_message(subject: Subject) -> None:
    memory = subject.memory()
    assert memory.delete(subject.note(memory, "Alice rows")) == {"message": "Memory deleted successfully!"}


@behaviour("delete")
def a_deleted_memory_is_gone(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    memory.delete(one)
    assert memory.get(one) is None
    assert memory.get_all(filters=ALICE)["results"] == []
    assert memory.search("rows", filters=ALICE, threshold=0.0)["results"] == []


@behaviour("delete")
def a_delete_of_an_unknown_memory_is_refused(subject: Subject) -> None:
    refuses(subject.memory().delete, NOWHERE)


@behaviour("delete")
def a_second_delete_is_refused(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    memory.delete(one)
    refuses(memory.delete, one)


@behaviour("delete")
def delete_all_answers_with_a_message(subject: Subject) -> None:
    memory = subject.memory()
    subject.note(memory, "Alice rows")
    assert memory.delete_all(user_id="alice") == {"message": "Memories deleted successfully!"}


@behaviour("delete")
def delete_all_spares_the_others(subject: Subject) -> None:
    memory = subject.memory()
    for name in ("alice", "bob"):
        subject.note(memory, f"{name} rows", user_id=name)
    memory.delete_all(user_id="alice")
    assert memory.get_all(filters=ALICE)["results"] == []
    assert subject.texts(memory.get_all(filters={"user_id": "bob"})) == ["bob rows"]


@behaviour("delete")
def delete_all_of_a_run_spares_the_other_runs(subject: Subject) -> None:
    memory = subject.memory()
    for run in ("r1", "r2"):
        subject.note(memory, f"{run} rows", run_id=run)
    memory.delete_all(user_id="alice", run_id="r1")
    assert subject.texts(memory.get_all(filters=ALICE)) == ["r2 rows"]


@behaviour("delete")
def delete_all_deletes_more_than_one_page(subject: Subject) -> None:
    memory = subject.memory()
    for number in range(120):
        subject.note(memory, f"Note number {number}")
    memory.delete_all(user_id="alice")
    assert memory.get_all(filters=ALICE)["results"] == []


@behaviour("delete")
def delete_all_needs_somebody(subject: Subject) -> None:
    refuses(subject.memory().delete_all)


@behaviour("delete")
def delete_all_refuses_a_blank_user(subject: Subject) -> None:
    refuses(subject.memory().delete_all, user_id="  ")


@behaviour("delete")
def delete_all_of_a_stranger_is_no_error(subject: Subject) -> None:
    assert subject.memory().delete_all(user_id="carol") == {"message": "Memories deleted successfully!"}


@behaviour("delete")
def delete_all_leaves_the_store_usable(subject: Subject) -> None:
    memory = subject.memory()
    subject.note(memory, "Alice rows")
    memory.delete_all(user_id="alice")
    subject.note(memory, "Alice paints")
    assert subject.texts(memory.get_all(filters=ALICE)) == ["Alice paints"]


@behaviour("reset")
def reset_removes_everything(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    memory.reset()
    assert memory.get_all(filters=ALICE)["results"] == []
    assert memory.history(one) == []


@behaviour("reset")
def a_store_works_after_a_reset(subject: Subject) -> None:
    memory = subject.memory()
    subject.note(memory, "Alice rows")
    memory.reset()
    subject.note(memory, "Alice paints")
    assert subject.texts(memory.get_all(filters=ALICE)) == ["Alice paints"]


# --- history ----------------------------------------------------------------------------------------------------------


def changed(subject: Subject) -> tuple[Any, str]:
    """Return a memory and the id of something that was changed and deleted in it."""
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    memory.update(one, "Alice sails")
    memory.delete(one)
    return memory, one


@behaviour("history")
def history_tells_every_change_in_order(subject: Subject) -> None:
    memory, one = changed(subject)
    assert [event["event"] for event in memory.history(one)] == ["ADD", "UPDATE", "DELETE"]


@behaviour("history")
def history_tells_the_text_before_and_after(subject: Subject) -> None:
    memory, one = changed(subject)
    told = [(event["old_memory"], event["new_memory"]) for event in memory.history(one)]
    assert told == [(None, "Alice rows"), ("Alice rows", "Alice sails"), ("Alice sails", None)]


@behaviour("history")
def history_marks_the_deletion(subject: Subject) -> None:
    memory, one = changed(subject)
    assert [event["is_deleted"] for event in memory.history(one)] == [False, False, True]


@behaviour("history")
def history_has_the_times(subject: Subject) -> None:
    memory, one = changed(subject)
    events = memory.history(one)
    assert len({event["created_at"] for event in events}) == 1
    times = [datetime.fromisoformat(event["updated_at"]) for event in events]
    assert times == sorted(times)


@behaviour("history")
def history_has_a_fixed_set_of_fields(subject: Subject) -> None:
    memory, one = changed(subject)
    fields = {"id", "memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at", "is_deleted"}
    for event in memory.history(one):
        assert event.keys() == {*fields, "actor_id", "role"}
        assert event["memory_id"] == one


@behaviour("history")
def history_names_the_speaker(subject: Subject) -> None:
    memory = subject.memory()
    (one,) = memory.add([{"role": "user", "content": "I row", "name": "bob"}], **ALICE, infer=False)["results"]
    memory.update(one["id"], "I sail")
    assert {(event["actor_id"], event["role"]) for event in memory.history(one["id"])} == {("bob", "user")}


@behaviour("history")
def history_of_an_unknown_memory_is_empty(subject: Subject) -> None:
    assert subject.memory().history(NOWHERE) == []


@behaviour("history")
def delete_all_is_in_the_history(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    memory.delete_all(user_id="alice")
    assert [event["event"] for event in memory.history(one)] == ["ADD", "DELETE"]


@behaviour("history")
def a_change_of_the_metadata_is_in_the_history(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    memory.update(one, metadata={"topic": "sport"})
    last = memory.history(one)[-1]
    assert (last["event"], last["old_memory"], last["new_memory"]) == ("UPDATE", "Alice rows", "Alice rows")


# --- expiry -----------------------------------------------------------------------------------------------------------


@behaviour("expiry")
def an_expiration_date_is_told(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows", expiration_date=TOMORROW.isoformat())
    assert memory.get(one)["expiration_date"] == TOMORROW.isoformat()


@behaviour("expiry")
def an_expiration_date_may_be_a_date_or_a_time(subject: Subject) -> None:
    memory = subject.memory()
    for value in (TOMORROW, datetime(TOMORROW.year, TOMORROW.month, TOMORROW.day, 9)):  # noqa: DTZ001 - as callers do
        one = subject.note(memory, f"Alice rows {value}", expiration_date=value)
        assert memory.get(one)["expiration_date"] == TOMORROW.isoformat()


@behaviour("expiry")
def a_wrong_expiration_date_is_refused(subject: Subject) -> None:
    memory = subject.memory()
    for wrong in ("tomorrow", "2026-13-01", 5):
        refuses(memory.add, "Alice rows", **ALICE, infer=False, expiration_date=wrong)


@behaviour("expiry")
def what_expires_today_is_still_there(subject: Subject) -> None:
    memory = subject.memory()
    subject.note(memory, "Alice rows", expiration_date=TODAY.isoformat())
    assert subject.texts(memory.get_all(filters=ALICE)) == ["Alice rows"]


@behaviour("expiry")
def what_has_expired_is_not_listed(subject: Subject) -> None:
    memory = subject.memory()
    subject.note(memory, "Alice rows", expiration_date=YESTERDAY.isoformat())
    assert memory.get_all(filters=ALICE)["results"] == []
    assert memory.search("rows", filters=ALICE)["results"] == []


@behaviour("expiry")
def show_expired_lists_it(subject: Subject) -> None:
    memory = subject.memory()
    subject.note(memory, "Alice rows", expiration_date=YESTERDAY.isoformat())
    assert subject.texts(memory.get_all(filters=ALICE, show_expired=True)) == ["Alice rows"]
    assert subject.texts(memory.search("rows", filters=ALICE, show_expired=True)) == ["Alice rows"]


@behaviour("expiry")
def update_sets_an_expiration_date(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    memory.update(one, expiration_date=YESTERDAY.isoformat())
    assert memory.get_all(filters=ALICE)["results"] == []


@behaviour("expiry")
def update_clears_an_expiration_date(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows", expiration_date=YESTERDAY.isoformat())
    memory.update(one, expiration_date=None)
    assert subject.texts(memory.get_all(filters=ALICE)) == ["Alice rows"]


@behaviour("expiry")
def learned_facts_expire_as_well(subject: Subject) -> None:
    subject.models.facts = ["Alice rows"]
    memory = subject.memory()
    memory.add("I row", **ALICE, expiration_date=YESTERDAY.isoformat())
    assert memory.get_all(filters=ALICE)["results"] == []


@behaviour("expiry", "Memstone does not return expired memories: use `get_all` with `show_expired`")
def get_shows_what_has_expired(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows", expiration_date=YESTERDAY.isoformat())
    assert memory.get(one)["memory"] == "Alice rows"


ROWS = TABLE
"""The complete table: this module is the last to enter its rows."""
