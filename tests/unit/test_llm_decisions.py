from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.llm.decisions import DecisionKind, Decisions, LlmDecision, decision_prompt, parse_decisions
from memstone.core.llm.operations import KnownFact
from memstone.core.llm.parse import UnreadableAnswer

FACTS = ["User lives in Oslo.", "User has a dog.", "User no longer skis."]
BERGEN = KnownFact("0b5c6a1e-bergen", "User lives in\nBergen.", "2025-12-24")
CAT = KnownFact("7f00-cat", "User has a cat.")
SKI = KnownFact("99aa-ski", "User skis every winter.")


def read(*items: Any, facts: int = 3, memories: int = 3) -> Decisions:
    return parse_decisions(json.dumps({"decisions": items}), facts, memories)


def decide(fact: Any, operation: Any, target: Any = None, text: Any = None) -> dict[str, Any]:
    return {"fact": fact, "operation": operation, "target": target, "text": text, "reason": "because"}


@pytest.mark.req("R-8", "C-23", "P-15")
def test_all_facts_and_memories_are_asked_about_at_once_and_by_number() -> None:
    question = decision_prompt(FACTS, [[BERGEN, CAT], [CAT], []])
    system, asked = (message["content"] for message in question.messages)
    assert asked == (
        "Stored memories:\n1. (2025-12-24) User lives in Bergen.\n2. User has a cat.\n\n"
        "New facts:\n1. User lives in Oslo. (similar memories: 1, 2)\n2. User has a dog. (similar memories: 2)\n"
        "3. User no longer skis. (no similar memory)"
    )
    assert question.targets == (BERGEN.id, CAT.id)
    assert not any(memory.id in system + asked for memory in (BERGEN, CAT))
    for word in ("ADD", "UPDATE", "DELETE", "NONE", "JSON"):
        assert word in system


def test_facts_without_any_memory_are_asked_about_too() -> None:
    assert "Stored memories:\n(none)" in decision_prompt(FACTS[:1], [[]]).messages[1]["content"]


@pytest.mark.req("C-44")
def test_a_custom_prompt_replaces_the_instructions_and_keeps_the_format() -> None:
    question = decision_prompt(FACTS[:1], [[BERGEN]], custom_prompt="Always add.")
    assert question.messages[0]["content"].startswith("Always add.\n\nAnswer with one JSON object")
    assert question.version == "custom"


@pytest.mark.req("C-44")
def test_a_custom_prompt_may_say_where_memories_and_facts_stand() -> None:
    own = 'Known: {existing_memories_list} New: {new_facts_list} Answer {"memory": []} and {other}.'
    system = decision_prompt(["{existing_memories_list}"], [[CAT]], custom_prompt=own).messages[0]["content"]
    assert system.startswith(
        f"Known: 1. {CAT.text} New: 1. {{existing_memories_list}} (similar memories: 1) "
        'Answer {"memory": []} and {other}.'
    )
    assert (
        decision_prompt(["a"], [[]], custom_prompt="[{existing_memories_list}]")
        .messages[0]["content"]
        .startswith("[(none)]")
    )


def test_the_schema_is_in_the_strict_form() -> None:
    schema = decision_prompt(FACTS[:1], [[]]).schema
    item = schema["properties"]["decisions"]["items"]
    assert item["required"] == [*item["properties"]]
    assert item["additionalProperties"] is schema["additionalProperties"] is False
    assert item["properties"]["operation"]["enum"] == [*DecisionKind]


@pytest.mark.req("C-23", "P-15")
def test_each_operation_is_read() -> None:
    found = read(
        decide(1, "UPDATE", 1, "User lives in Oslo."), decide(2, "ADD"), decide(3, "DELETE", 3), decide(3, "NONE", 2)
    )
    assert found.decisions == [
        LlmDecision(1, DecisionKind.UPDATE, 1, "User lives in Oslo.", "because"),
        LlmDecision(2, DecisionKind.ADD, None, "", "because"),
        LlmDecision(3, DecisionKind.DELETE, 3, "", "because"),
        LlmDecision(3, DecisionKind.NONE, 2, "", "because"),
    ]
    assert found.log == []
    assert found.for_fact(3) == found.decisions[2:]


@pytest.mark.req("C-23", "P-15", "S-18")
@pytest.mark.parametrize(
    "answer",
    [
        '[{"event": "UPDATE", "id": "1", "old_memory": "User lives in Bergen.", "data": "User lives in Oslo."}]',
        '{"memory": [{"id": 1, "event": "update", "text": "User lives in Oslo.", "old_memory": "x"}]}',
        '{"action": "replace", "target_id": "[1]", "text": "User lives in Oslo."}',
        '```json\n[{"fact": "F1", "operation": "Revise", "target": 1.0, "text": "User lives in Oslo."},]\n```',
        "[{'operation': 'merge', 'target': 'memory 1', 'text': 'User lives in Oslo.'}",
    ],
)
def test_operations_are_read_in_every_usual_shape(answer: str) -> None:
    assert parse_decisions(answer, 1, 2).decisions == [LlmDecision(1, DecisionKind.UPDATE, 1, "User lives in Oslo.")]


def test_without_fact_numbers_one_decision_each_goes_by_place() -> None:
    found = parse_decisions('[{"event": "ADD"}, {"event": "NONE", "id": 1}]', 2, 1)
    assert [decision.fact for decision in found.decisions] == [1, 2]
    found = parse_decisions('[{"event": "ADD"}, {"event": "NONE", "id": 1}]', 3, 1)
    assert found.decisions == []
    assert len(found.log) == 2


@pytest.mark.req("R-8")
@pytest.mark.parametrize("target", [0, 4, -1, 17, "0b5c6a1e-bergen", "1f", None, True, [1], 1.5, 1e999, "", "1, 2"])
@pytest.mark.parametrize("operation", ["UPDATE", "DELETE"])
def test_a_memory_that_was_not_offered_is_not_touched(operation: str, target: Any) -> None:
    found = read(decide(1, operation, target, "User lives in Oslo."))
    assert found.decisions == []
    assert len(found.log) == 1
    assert f"{operation} of unknown memory" in found.log[0]


@pytest.mark.req("R-8")
def test_an_invented_number_does_not_spoil_what_needs_none() -> None:
    found = read(decide(1, "ADD", 77), decide(2, "NONE", 77))
    assert [(one.operation, one.target) for one in found.decisions] == [
        (DecisionKind.ADD, None),
        (DecisionKind.NONE, None),
    ]


@pytest.mark.parametrize(
    ("item", "log"),
    [
        (decide(1, "EXPLODE"), "unknown operation 'EXPLODE'"),
        (decide(1, None), "unknown operation None"),
        (decide(9, "ADD"), "unknown fact 9"),
        (decide("x", "ADD"), "unknown fact 'x'"),
        ("ADD", "it is not an object"),
        (decide(1, "UPDATE", 1, "x" * 1_001), "unusable: it has 1001 characters"),
        (decide(1, "UPDATE", 1, "x"), "unusable: it has 1 characters"),
        (decide(1, "y" * 500), "unknown operation 'yyy"),
    ],
)
@pytest.mark.req("R-8")
def test_what_cannot_be_used_is_dropped_and_logged(item: Any, log: str) -> None:
    found = read(item, decide(2, "ADD"))
    assert [decision.fact for decision in found.decisions] == [2]
    assert log in found.log[0]
    assert len(found.log[0]) < 150


def test_a_fact_without_a_decision_is_left_to_the_caller() -> None:
    found = read(decide(2, "ADD"))
    assert [found.for_fact(number) for number in (1, 2, 3)] == [None, found.decisions, None]
    assert read().for_fact(1) is None


def test_an_update_without_text_takes_the_facts_own_words() -> None:
    assert read(decide(1, "UPDATE", 1)).decisions == [LlmDecision(1, DecisionKind.UPDATE, 1, "", "because")]


@pytest.mark.req("X-14")
def test_a_memory_is_changed_once_and_the_last_decision_counts() -> None:
    found = read(
        decide(1, "DELETE", 1),
        decide(2, "NONE", 1),
        decide(3, "UPDATE", 1, "User lives in Oslo."),
        decide(1, "DELETE", 2),
    )
    assert [(one.fact, one.operation, one.target) for one in found.decisions] == [
        (2, DecisionKind.NONE, 1),
        (3, DecisionKind.UPDATE, 1),
        (1, DecisionKind.DELETE, 2),
    ]
    assert found.log == ["DELETE of memory 1 for fact 1: a later decision changes it"]


@pytest.mark.parametrize("answer", ["", "ok", "42", '{"x": 1}', "null", '"ADD"'])
def test_what_is_no_list_of_decisions_is_refused(answer: str) -> None:
    with pytest.raises(UnreadableAnswer):
        parse_decisions(answer, 1, 1)


scalars = st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | st.text(max_size=5)
operations = st.sampled_from(["ADD", "UPDATE", "DELETE", "NONE", "x"])


@given(
    st.lists(st.builds(decide, scalars, operations, scalars, scalars), max_size=8), st.integers(1, 4), st.integers(0, 3)
)
@pytest.mark.req("R-8", "X-14")
def test_whatever_is_answered_only_what_was_offered_is_changed_and_only_once(
    items: list[dict[str, Any]], facts: int, memories: int
) -> None:
    found = read(*items, facts=facts, memories=memories)
    changed = [one.target for one in found.decisions if one.operation in ("UPDATE", "DELETE")]
    assert all(target in range(1, memories + 1) for target in changed)
    assert len(changed) == len(set(changed))
    assert all(1 <= one.fact <= facts for one in found.decisions)
    assert len(found.decisions) + len(found.log) == len(items)
