"""The rows of the table about reading, changing and deleting."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Any

from tests.mem0.behaviours import ALICE, TODAY, Subject, behaviour, refuses

YESTERDAY, TOMORROW = TODAY - timedelta(days=1), TODAY + timedelta(days=1)
CITIES = (("Flew to Rome", "Rome", 240), ("Dinner in Oslo", "Oslo", 60), ("Walk in Bergen", "Bergen", 0))


def trips(subject: Subject) -> Any:
    """Return a memory with three trips."""
    memory = subject.memory()
    for text, city, cost in CITIES:
        subject.note(memory, text, metadata={"city": city, "cost": cost})
    return memory


# --- get --------------------------------------------------------------------------------------------------------------


@behaviour("get")
def get_gives_the_memory(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    assert (memory.get(one)["id"], memory.get(one)["memory"]) == (one, "Alice rows")


@behaviour("get")
def get_of_an_unknown_id_is_none(subject: Subject) -> None:
    assert subject.memory().get("0f8fad5b-d9cb-469f-a165-70867728950e") is None


@behaviour("get")
def the_hash_is_the_md5_of_the_text(subject: Subject) -> None:
    memory = subject.memory()
    expected = hashlib.md5(b"Alice rows").hexdigest()  # noqa: S324 - that is what both tell
    assert memory.get(subject.note(memory, "Alice rows"))["hash"] == expected


@behaviour("get")
def times_are_iso_8601_in_utc(subject: Subject) -> None:
    memory = subject.memory()
    item = memory.get(subject.note(memory, "Alice rows"))
    for name in ("created_at", "updated_at"):
        assert datetime.fromisoformat(item[name]).utcoffset() == timedelta(0)
        assert item[name].endswith("+00:00")


@behaviour("get")
def a_new_memory_was_updated_when_it_was_created(subject: Subject) -> None:
    memory = subject.memory()
    item = memory.get(subject.note(memory, "Alice rows"))
    assert item["created_at"] == item["updated_at"]


@behaviour("get")
def ids_that_are_not_set_are_not_told(subject: Subject) -> None:
    memory = subject.memory()
    item = memory.get(subject.note(memory, "Alice rows"))
    assert item["user_id"] == "alice"
    assert not {"agent_id", "run_id", "actor_id", "expiration_date"} & item.keys()


@behaviour("get")
def every_id_that_is_set_is_told(subject: Subject) -> None:
    memory = subject.memory()
    item = memory.get(subject.note(memory, "Alice rows", agent_id="boat", run_id="r1"))
    assert (item["user_id"], item["agent_id"], item["run_id"]) == ("alice", "boat", "r1")


@behaviour("get")
def the_speaker_is_told(subject: Subject) -> None:
    memory = subject.memory()
    message = {"role": "user", "content": "I row", "name": "bob"}
    (one,) = memory.add([message], **ALICE, infer=False)["results"]
    assert (memory.get(one["id"])["actor_id"], memory.get(one["id"])["role"]) == ("bob", "user")


@behaviour("get")
def no_metadata_is_none(subject: Subject) -> None:
    memory = subject.memory()
    assert memory.get(subject.note(memory, "Alice rows"))["metadata"] is None


@behaviour("get")
def an_item_has_a_fixed_set_of_fields(subject: Subject) -> None:
    memory = subject.memory()
    item = memory.get(subject.note(memory, "Alice rows"))
    assert {"id", "memory", "hash", "metadata", "score", "created_at", "updated_at", "user_id"} <= item.keys()


# --- get_all ----------------------------------------------------------------------------------------------------------


@behaviour("get_all")
def get_all_gives_what_belongs_to_a_user(subject: Subject) -> None:
    memory = subject.memory()
    subject.note(memory, "Alice rows")
    subject.note(memory, "Bob paints", user_id="bob")
    assert subject.texts(memory.get_all(filters=ALICE)) == ["Alice rows"]


@behaviour("get_all")
def get_all_of_a_stranger_is_empty(subject: Subject) -> None:
    assert subject.memory().get_all(filters={"user_id": "carol"}) == {"results": []}


@behaviour("get_all")
def get_all_needs_somebody(subject: Subject) -> None:
    memory = subject.memory()
    refuses(memory.get_all)
    refuses(memory.get_all, filters={"topic": "sport"})


@behaviour("get_all")
def get_all_refuses_a_blank_user(subject: Subject) -> None:
    memory = subject.memory()
    refuses(memory.get_all, filters={"user_id": "  "})
    refuses(memory.get_all, filters={"user_id": "a b"})


@behaviour("get_all")
def get_all_gives_at_most_top_k(subject: Subject) -> None:
    assert len(trips(subject).get_all(filters=ALICE, top_k=2)["results"]) == 2


@behaviour("get_all")
def get_all_gives_twenty_by_default(subject: Subject) -> None:
    memory = subject.memory()
    for number in range(23):
        subject.note(memory, f"Note number {number}")
    assert len(memory.get_all(filters=ALICE)["results"]) == 20


@behaviour("get_all")
def get_all_refuses_a_negative_top_k(subject: Subject) -> None:
    refuses(subject.memory().get_all, filters=ALICE, top_k=-1)


@behaviour("get_all")
def get_all_refuses_a_top_k_that_is_no_number(subject: Subject) -> None:
    memory = subject.memory()
    refuses(memory.get_all, filters=ALICE, top_k="many")
    refuses(memory.get_all, filters=ALICE, top_k=True)


@behaviour("get_all")
def get_all_items_have_no_score(subject: Subject) -> None:
    assert "score" not in trips(subject).get_all(filters=ALICE)["results"][0]


@behaviour("get_all")
def get_all_filters_by_metadata(subject: Subject) -> None:
    assert subject.texts(trips(subject).get_all(filters={**ALICE, "city": "Oslo"})) == ["Dinner in Oslo"]


@behaviour("get_all")
def get_all_narrows_by_agent_and_run(subject: Subject) -> None:
    memory = subject.memory()
    subject.note(memory, "Alice rows", agent_id="boat", run_id="r1")
    subject.note(memory, "Alice paints", agent_id="brush")
    assert subject.texts(memory.get_all(filters={**ALICE, "agent_id": "boat"})) == ["Alice rows"]
    assert subject.texts(memory.get_all(filters={**ALICE, "run_id": "r1"})) == ["Alice rows"]
    assert len(memory.get_all(filters=ALICE)["results"]) == 2


@behaviour("get_all", "code for mem0 1.x names the user beside the query, and that still works")
def get_all_refuses_a_user_beside_the_filters(subject: Subject) -> None:
    refuses(subject.memory().get_all, user_id="alice")


# --- search -----------------------------------------------------------------------------------------------------------


@behaviour("search")
def search_finds_the_memory(subject: Subject) -> None:
    assert trips(subject).search("dinner", filters=ALICE)["results"][0]["memory"] == "Dinner in Oslo"


@behaviour("search")
def hits_come_best_first_with_a_score(subject: Subject) -> None:
    scores = [hit["score"] for hit in trips(subject).search("dinner in Oslo", filters=ALICE, threshold=0.0)["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@behaviour("search")
def search_needs_somebody(subject: Subject) -> None:
    memory = subject.memory()
    refuses(memory.search, "rowing")
    refuses(memory.search, "rowing", filters={"topic": "sport"})


@behaviour("search")
def search_refuses_a_blank_user(subject: Subject) -> None:
    memory = subject.memory()
    refuses(memory.search, "rowing", filters={"user_id": "  "})
    refuses(memory.search, "rowing", filters={"user_id": "a\tb"})


@behaviour("search")
def search_refuses_a_blank_query(subject: Subject) -> None:
    memory = subject.memory()
    for query in ("", "   ", "\n\t"):
        refuses(memory.search, query, filters=ALICE)


@behaviour("search")
def search_refuses_a_query_that_is_no_text(subject: Subject) -> None:
    refuses(subject.memory().search, None, filters=ALICE)


@behaviour("search")
def search_trims_the_query(subject: Subject) -> None:
    memory = trips(subject)
    before = len(subject.models.asked)
    memory.search("  dinner  ", filters=ALICE)
    embedded = [body["input"] for body in subject.models.asked[before:] if "input" in body]
    assert all(text in ("dinner", ["dinner"]) for text in embedded)


@behaviour("search")
def search_gives_at_most_top_k(subject: Subject) -> None:
    assert len(trips(subject).search("in", filters=ALICE, top_k=1, threshold=0.0)["results"]) == 1


@behaviour("search")
def search_takes_a_top_k_of_zero(subject: Subject) -> None:
    assert trips(subject).search("in", filters=ALICE, top_k=0) == {"results": []}


@behaviour("search")
def search_refuses_a_wrong_top_k(subject: Subject) -> None:
    memory = subject.memory()
    for wrong in (-5, "many", True, 2.5):
        refuses(memory.search, "rowing", filters=ALICE, top_k=wrong)


@behaviour("search")
def search_refuses_a_wrong_threshold(subject: Subject) -> None:
    memory = subject.memory()
    for wrong in (1.5, -0.5, "high"):
        refuses(memory.search, "rowing", filters=ALICE, threshold=wrong)


@behaviour("search")
def search_takes_a_threshold_of_zero_and_of_one(subject: Subject) -> None:
    memory = subject.memory()
    assert memory.search("rowing", filters=ALICE, threshold=0) == {"results": []}
    assert memory.search("rowing", filters=ALICE, threshold=1.0) == {"results": []}


@behaviour("search")
def nothing_below_the_threshold_is_found(subject: Subject) -> None:
    hits = trips(subject).search("dinner in Oslo", filters=ALICE, threshold=0.5)["results"]
    assert [hit["memory"] for hit in hits] == ["Dinner in Oslo"]
    assert all(hit["score"] >= 0.5 for hit in hits)


@behaviour("search")
def what_is_not_alike_is_not_found_by_default(subject: Subject) -> None:
    memory = subject.memory()
    subject.note(memory, "Alice rows")
    assert memory.search("quantum chromodynamics", filters=ALICE)["results"] == []


@behaviour("search")
def search_finds_only_what_belongs_to_the_user(subject: Subject) -> None:
    memory = subject.memory()
    subject.note(memory, "Alice rows")
    subject.note(memory, "Bob rows", user_id="bob")
    assert subject.search(memory, "rows") == ["Alice rows"]


@behaviour("search")
def search_in_an_empty_store_finds_nothing(subject: Subject) -> None:
    assert subject.memory().search("rowing", filters=ALICE) == {"results": []}


@behaviour("search")
def a_hit_has_the_fields_of_a_memory(subject: Subject) -> None:
    hit = trips(subject).search("dinner", filters=ALICE)["results"][0]
    assert hit["metadata"] == {"city": "Oslo", "cost": 60}
    assert {"id", "memory", "hash", "created_at", "updated_at", "score", "user_id", "role"} <= hit.keys()


@behaviour("search")
def explain_tells_the_parts_of_the_score(subject: Subject) -> None:
    hit = trips(subject).search("dinner", filters=ALICE, explain=True)["results"][0]
    details = hit["score_details"]
    assert {"semantic_score", "bm25_score", "entity_boost", "final_score", "threshold"} <= details.keys()
    assert (details["final_score"], details["threshold"]) == (hit["score"], 0.1)


@behaviour("search")
def without_explain_no_parts_are_told(subject: Subject) -> None:
    assert "score_details" not in trips(subject).search("dinner", filters=ALICE)["results"][0]


@behaviour("search")
def rerank_without_a_reranker_changes_nothing(subject: Subject) -> None:
    memory = trips(subject)
    plain, again = (memory.search("dinner", filters=ALICE, rerank=rerank) for rerank in (False, True))
    assert subject.texts(plain) == subject.texts(again)


@behaviour("search", "code for mem0 1.x names the user beside the query, and that still works")
def search_refuses_a_user_beside_the_filters(subject: Subject) -> None:
    refuses(subject.memory().search, "rowing", user_id="alice")


# --- filters ----------------------------------------------------------------------------------------------------------


FILTERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "equality": ({"city": "Rome"}, ["Flew to Rome"]),
    "eq": ({"city": {"eq": "Rome"}}, ["Flew to Rome"]),
    "ne": ({"city": {"ne": "Rome"}}, ["Dinner in Oslo", "Walk in Bergen"]),
    "in": ({"city": {"in": ["Rome", "Oslo"]}}, ["Dinner in Oslo", "Flew to Rome"]),
    "nin": ({"city": {"nin": ["Rome", "Oslo"]}}, ["Walk in Bergen"]),
    "gt": ({"cost": {"gt": 60}}, ["Flew to Rome"]),
    "gte": ({"cost": {"gte": 60}}, ["Dinner in Oslo", "Flew to Rome"]),
    "lt": ({"cost": {"lt": 60}}, ["Walk in Bergen"]),
    "lte": ({"cost": {"lte": 60}}, ["Dinner in Oslo", "Walk in Bergen"]),
    "a_range": ({"cost": {"gte": 50, "lte": 100}}, ["Dinner in Oslo"]),
    "contains": ({"city": {"contains": "Oslo"}}, ["Dinner in Oslo"]),
    "icontains": ({"city": {"icontains": "OSLO"}}, ["Dinner in Oslo"]),
    "any_value": ({"city": "*"}, ["Dinner in Oslo", "Flew to Rome", "Walk in Bergen"]),
    "and": ({"AND": [{"cost": {"gt": 10}}, {"cost": {"lt": 100}}]}, ["Dinner in Oslo"]),
    "and_of_several_fields": ({"AND": [{"cost": {"gt": 10}}, {"city": "Rome"}]}, ["Flew to Rome"]),
    "or": ({"OR": [{"city": "Rome"}, {"cost": {"lt": 10}}]}, ["Flew to Rome", "Walk in Bergen"]),
    "not": ({"NOT": [{"city": "Rome"}]}, ["Dinner in Oslo", "Walk in Bergen"]),
    "not_any": ({"NOT": [{"city": "Rome"}, {"city": "Oslo"}]}, ["Walk in Bergen"]),
    "several_fields": ({"city": "Oslo", "cost": 60}, ["Dinner in Oslo"]),
    "nothing_matches": ({"city": "Paris"}, []),
    "an_absent_field": ({"country": "Norway"}, []),
    "a_number_is_no_text": ({"cost": "60"}, []),
}


def _enter_filter(name: str, filters: dict[str, Any], expected: list[str]) -> None:
    def run(subject: Subject) -> None:
        assert subject.search(trips(subject), "in Rome Oslo Bergen", **filters) == expected

    run.__name__ = f"a_filter_by_{name}"
    behaviour("filters")(run)


for _name, (_filters, _expected) in FILTERS.items():
    _enter_filter(_name, _filters, _expected)


@behaviour("filters")
def a_filter_by_speaker(subject: Subject) -> None:
    memory = subject.memory()
    for name in ("bob", "carol"):
        memory.add([{"role": "user", "content": f"{name} rows", "name": name}], **ALICE, infer=False)
    assert subject.search(memory, "rows", actor_id="bob") == ["bob rows"]


@behaviour("filters")
def a_filter_by_role(subject: Subject) -> None:
    memory = subject.memory()
    memory.add(
        [{"role": "user", "content": "I row"}, {"role": "assistant", "content": "You row"}], **ALICE, infer=False
    )
    assert subject.search(memory, "row", role="assistant") == ["You row"]


@behaviour("filters")
def an_unknown_operator_is_refused(subject: Subject) -> None:
    filters = {**ALICE, "city": {"eq": "Rome", "near": "Oslo"}}
    refuses(subject.memory().search, "rowing", filters=filters)


@behaviour("filters")
def logic_without_a_list_is_refused(subject: Subject) -> None:
    memory = subject.memory()
    refuses(memory.search, "rowing", filters={**ALICE, "AND": {"city": "Rome"}})
    refuses(memory.search, "rowing", filters={**ALICE, "OR": []})
    refuses(memory.search, "rowing", filters={**ALICE, "NOT": []})


@behaviour("filters")
def the_filter_of_the_caller_is_not_changed(subject: Subject) -> None:
    filters = {"user_id": " alice ", "AND": [{"city": "Rome"}]}
    subject.memory().search("rowing", filters=filters)
    assert filters == {"user_id": " alice ", "AND": [{"city": "Rome"}]}


# --- update -----------------------------------------------------------------------------------------------------------


@behaviour("update")
def update_answers_with_a_message(subject: Subject) -> None:
    memory = subject.memory()
    assert memory.update(subject.note(memory, "Alice rows"), "Alice sails") == {
        "message": "Memory updated successfully!"
    }


@behaviour("update")
def update_changes_text_and_hash(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    before = memory.get(one)
    memory.update(one, text="Alice sails")
    after = memory.get(one)
    assert after["memory"] == "Alice sails"
    assert after["hash"] != before["hash"]


@behaviour("update")
def data_is_an_older_name_of_text(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    memory.update(one, data="Alice sails")
    assert memory.get(one)["memory"] == "Alice sails"


@behaviour("update")
def text_wins_over_data(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    memory.update(one, text="Alice sails", data="Alice swims")
    assert memory.get(one)["memory"] == "Alice sails"


@behaviour("update")
def update_keeps_id_owner_speaker_and_creation(subject: Subject) -> None:
    memory = subject.memory()
    message = {"role": "user", "content": "I row", "name": "bob"}
    (added,) = memory.add([message], **ALICE, infer=False)["results"]
    before = memory.get(added["id"])
    memory.update(added["id"], "I sail")
    after = memory.get(added["id"])
    for name in ("id", "user_id", "actor_id", "role", "created_at"):
        assert before[name] == after[name], name
    assert after["updated_at"] > before["updated_at"]


@behaviour("update")
def update_merges_metadata(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows", metadata={"topic": "sport", "level": "high"})
    memory.update(one, "Alice sails", {"level": "low", "boat": "red"})
    assert memory.get(one)["metadata"] == {"topic": "sport", "level": "low", "boat": "red"}


@behaviour("update")
def update_of_the_text_keeps_the_metadata(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows", metadata={"topic": "sport"})
    memory.update(one, "Alice sails")
    assert memory.get(one)["metadata"] == {"topic": "sport"}


@behaviour("update")
def update_of_the_metadata_keeps_the_text(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    memory.update(one, metadata={"topic": "sport"})
    assert (memory.get(one)["memory"], memory.get(one)["metadata"]) == ("Alice rows", {"topic": "sport"})


@behaviour("update")
def empty_metadata_changes_nothing(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows", metadata={"topic": "sport"})
    memory.update(one, "Alice sails", metadata={})
    assert memory.get(one)["metadata"] == {"topic": "sport"}


@behaviour("update")
def update_cannot_change_the_owner(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    memory.update(one, "Alice sails", metadata={"user_id": "bob", "actor_id": "carol", "topic": "sport"})
    item = memory.get(one)
    assert (item["user_id"], item["metadata"]) == ("alice", {"topic": "sport"})
    assert "actor_id" not in item


@behaviour("update")
def an_update_of_nothing_is_refused(subject: Subject) -> None:
    memory = subject.memory()
    refuses(memory.update, subject.note(memory, "Alice rows"))


@behaviour("update")
def an_update_of_an_unknown_memory_is_refused(subject: Subject) -> None:
    refuses(subject.memory().update, "0f8fad5b-d9cb-469f-a165-70867728950e", "Alice sails")


@behaviour("update")
def an_updated_memory_is_found_by_its_new_words(subject: Subject) -> None:
    memory = subject.memory()
    one = subject.note(memory, "Alice rows")
    memory.update(one, "Bob paints")
    assert memory.search("Bob paints", filters=ALICE)["results"][0]["id"] == one
    assert memory.search("Alice rows", filters=ALICE, threshold=0.3)["results"] == []
