from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.quality import abstention, extraction, facts, gate, updates
from benchmarks.quality.embedding import KeptEmbedder
from memstone.adapters.embed.hash_embedder import HashEmbedder

LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "session_1": [{"speaker": "Ben", "dia_id": "D1:1", "text": "Look!"}],
            "session_2": [{"speaker": "Ada", "dia_id": "D2:1", "text": "I adopted a greyhound called Comet."}],
            "session_2_date_time": "4:05 pm on 3 June, 2024",
        },
        "observation": {"session_2_observation": {"Ada": [["Ada adopted a greyhound called Comet.", "D2:1"]]}},
    }
]

# Gate


def test_the_gate_is_scored_against_labels(tmp_path: Path) -> None:
    rows = [
        {"text": "What is my sister's name?", "needs_memory": True, "kind": "identity"},
        {"text": "Thanks!", "needs_memory": False, "kind": "thanks"},
        {"text": "Hello", "needs_memory": True, "kind": "thanks"},
    ]
    path = tmp_path / "some.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    by_file, by_kind = gate.tables([path])
    assert by_file.rows[0][:3] == ("some.jsonl", "3", "2")
    assert [cell.partition(" ")[0] for cell in by_file.rows[0][3:]] == ["1.000", ".500", ".667", ".667"]
    assert {row[0]: row[2] for row in by_kind.rows} == {"identity": "1 of 1", "thanks": "1 of 2"}


# Updates


@pytest.mark.parametrize(
    ("label", "events", "is_right", "touched"),
    [
        ("SUPERSEDE", [("UPDATE", "m1")], True, True),
        ("SUPERSEDE", [("DELETE", "m1"), ("ADD", None)], True, True),
        ("SUPERSEDE", [("UPDATE", "m2")], False, True),
        ("SUPERSEDE", [("UPDATE", "m1"), ("DELETE", "m2")], False, True),
        ("SUPERSEDE", [("ADD", None)], False, False),
        ("ADD", [("ADD", None)], True, False),
        ("ADD", [("ADD", None), ("UPDATE", "m1")], False, True),
        ("ADD", [("NONE", "m1")], False, False),
        ("ADD", [], False, False),
        ("NONE", [], True, False),
        ("NONE", [("NONE", "m1")], True, False),
        ("NONE", [("ADD", None)], False, False),
        ("NONE", [("UPDATE", "m1")], False, True),
    ],
)
def test_a_case_is_judged_by_what_happened_to_which_memory(
    label: str,
    events: list[tuple[str, str | None]],
    *,
    is_right: bool,
    touched: bool,
) -> None:
    assert updates.judge({"label": label, "target": "m1"}, events) == updates.Verdict(label, is_right, touched)


def test_the_macro_is_the_mean_of_the_labels_however_many_cases_each_has() -> None:
    added = updates.Verdict("ADD", is_right=True, touched=False)
    repeated = updates.Verdict("NONE", is_right=False, touched=False)
    found = [added] * 8 + [repeated] * 2
    row = updates._row("fact", found)
    assert row[1].startswith(".500 (")
    assert row[3].startswith("1.000")
    assert row[4].startswith(".000")


def test_news_are_learned_by_the_library_against_what_it_knows() -> None:
    existing = [{"id": "m0", "text": "User lives in Berlin"}, {"id": "m1", "text": "User has two cats"}]
    cases: list[dict[str, Any]] = [
        {"label": "SUPERSEDE", "target": "m0", "existing": existing, "new_fact": "I live in Lisbon now"},
        {"label": "NONE", "existing": existing, "new_fact": "User lives in Berlin", "new_event": None},
    ]
    found = updates.verdicts(cases, "event", KeptEmbedder(HashEmbedder.make()))
    assert [one.is_right for one in found] == [True, True]


# Extraction


@pytest.mark.parametrize(
    ("one", "other", "cosine", "same"),
    [
        ("Ada adopted a dog", "Ada got a puppy", 0.81, True),
        ("Ada adopted a dog", "Ada adopted a dog from a shelter", 0.70, True),
        ("Ada adopted a dog", "Ben sails on lakes", 0.70, False),
        ("Ada adopted a dog", "Ada adopted a dog from a shelter", 0.60, False),
        ("Ada has 2 dogs", "Ada has three dogs", 0.95, False),
        ("Ada has 2 dogs", "Ada has two dogs", 0.95, True),
        ("Ada eats meat", "Ada doesn't eat meat", 0.95, False),
    ],
)
def test_facts_say_the_same_when_they_are_near_and_contradict_in_nothing(
    one: str, other: str, cosine: float, *, same: bool
) -> None:
    assert facts.say_the_same(one, other, cosine, frozenset({"ada"})) is same


def test_precision_and_recall_of_facts_are_over_all_sessions() -> None:
    sessions = [facts.Agreement(4, 2, 3, 2), facts.Agreement(0, 6, 0, 0)]
    precision, recall, f1 = facts.precision_recall_f1(sessions)
    assert (precision.value, recall.value) == (0.75, 0.25)
    assert f1.value == pytest.approx(0.375)


def test_what_the_rules_learn_is_compared_with_what_people_noted(tmp_path: Path) -> None:
    (tmp_path / "locomo.json").write_text(json.dumps(LOCOMO), "utf-8")
    table = extraction.table(tmp_path / "locomo.json", tmp_path / "out", HashEmbedder.make())
    row = dict(zip(table.header, table.rows[0], strict=True))
    assert (row["sessions"], row["facts noted"]) == ("2", "1")
    assert row["recall"].startswith("1.000")
    assert row["evidence verbatim"].startswith("1.000")
    learned = [json.loads(line) for line in (tmp_path / "out" / "pred.jsonl").read_text("utf-8").splitlines()]
    assert sum(len(one["facts"]) for one in learned) == int(row["facts learned"])


# Abstention


def test_what_is_shown_is_counted_for_both_kinds_of_questions(tmp_path: Path) -> None:
    files = abstention.Files(*(tmp_path / f"{name}.jsonl" for name in ("memories", "answerable", "unrelated")))
    memories = [{"id": f"m{at}", "text": f"I keep {at + 2} bees near hive {at}."} for at in range(20)]
    files.memories.write_text("\n".join(map(json.dumps, memories)), "utf-8")
    files.answerable.write_text('{"text": "bees near hive 7", "answers": ["m7"]}', "utf-8")
    files.unrelated.write_text('{"text": "zzyzx"}', "utf-8")
    table = abstention.table(files, HashEmbedder.make())
    assert [row[0] for row in table.rows] == ["1%", "5%", "10%", "20%"]
    assert {row[-1] for row in table.rows} == {"1.000 (1.000–1.000)"}  # noqa: RUF001 - a range


def test_an_answer_that_is_held_back_is_found_but_not_shown() -> None:
    found = abstention.SearchOutcome(frozenset({"m1", "m2"}), {rate: frozenset({"m2"}) for rate in abstention.RATES})
    nothing = abstention.SearchOutcome(frozenset({"m1"}), {rate: frozenset() for rate in abstention.RATES})
    row = abstention._row(0.05, [(found, {"m1"}), (found, {"m2"})], [nothing, nothing])
    assert [cell.partition(" ")[0] for cell in row] == ["5%", ".000", "1.000", ".500", "1.000"]
