"""The preset for many users, from a chat that recalls to the memory that it forms, with vectors worked out beforehand.

What happens behind an answer is looked for by whether it is there and how many there are, never by scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.server.gate import Gate, ask, gated, until

COMPUTED: Final = {"provider": "tests.server.computed:ComputedEmbedder"}
ALICE: Final = {"x-openwebui-user-id": "alice"}
BOB: Final = {"x-openwebui-user-id": "bob"}
QUESTION: Final = "Where do I live?"
NEAR: Final = ("User's flat is by the harbour.", "User lives in Oslo.")
FAR: Final = ("User's house number is just on the line.", "User likes the view at home.", "User plays chess.")


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    nearest = {"gate": "always", "min_score": None}
    with gated(tmp_path, preset="shared", embedder=COMPUTED, context=nearest) as made:
        yield made


def known(gate: Gate, *texts: str, user: str = "alice") -> None:
    for text in texts:
        gate.memory.add(text, user_id=user, infer=False)


def shown(answer: Any) -> list[str]:
    return [one["memory"] for one in answer.model_extra["memories"]]


@pytest.mark.req("P-8", "P-9", "P-10", "P-27")
def test_a_chat_is_shown_what_is_nearer_than_the_bound_best_first_in_its_system_prompt(gate: Gate) -> None:
    known(gate, *FAR, *NEAR)
    client = gate.openai(may_assert_user=True)
    prompt = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": QUESTION}]
    client.chat.completions.create(model="m", messages=prompt, extra_headers=ALICE)  # type: ignore[arg-type]
    system, *rest = gate.upstream.seen[-1]["messages"]
    assert rest == prompt[1:]
    assert system["role"] == "system"
    assert system["content"].startswith("You are brief.")
    assert "ignore the rest" in system["content"], "the model may leave out what does not fit"
    lines = [line for line in system["content"].splitlines() if line.startswith("- ")]
    assert [line.rpartition("] ")[2] for line in lines] == list(reversed(NEAR)), "0.8 is not above 0.8"


@pytest.mark.req("X-4", "P-27")
def test_by_default_a_chat_is_shown_the_profile_whatever_is_asked(tmp_path: Path) -> None:
    with gated(tmp_path, preset="shared", embedder=COMPUTED) as gate:
        known(gate, *FAR, *NEAR)
        client = gate.openai(may_assert_user=True)
        answer = ask(client, "What is 17 * 23?", extra_headers={**ALICE, "X-Memstone-Include": "memories"})
        assert set(shown(answer)) == {*FAR, *NEAR}
        assert "Known about the user:" in gate.sent
        ask(client, QUESTION, extra_headers=BOB)
        assert "chess" not in gate.sent


@pytest.mark.req("P-8", "P-27")
def test_of_many_that_are_near_ten_are_shown(gate: Gate) -> None:
    known(gate, *(f"User keeps spare key {number} at home." for number in range(12)))
    client = gate.openai(may_assert_user=True)
    answer = ask(client, QUESTION, extra_headers={**ALICE, "X-Memstone-Include": "memories"})
    assert len(shown(answer)) == 10
    assert all(f"spare key {number} " in gate.sent for number in range(10))
    assert not any(f"spare key {number} " in gate.sent for number in (10, 11))


@pytest.mark.req("P-7", "P-19", "P-27")
def test_each_user_is_shown_their_own_and_nobody_without_a_name_anything(gate: Gate) -> None:
    known(gate, NEAR[1])
    known(gate, NEAR[0], user="bob")
    client = gate.openai(may_assert_user=True)
    include = {"X-Memstone-Include": "memories"}
    for who, own, foreign in ((ALICE, "Oslo", "harbour"), (BOB, "harbour", "Oslo")):
        (one,) = shown(ask(client, QUESTION, extra_headers={**who, **include}))
        assert own in one
        assert own in gate.sent
        assert foreign not in gate.sent
    ask(client, QUESTION)
    assert "Oslo" not in gate.sent
    assert "harbour" not in gate.sent


@pytest.mark.req("P-1", "P-12", "P-15", "P-16", "P-27")
def test_what_a_chat_says_replaces_what_was_known_for_the_next_one(gate: Gate) -> None:
    known(gate, "User lives in Oslo.")
    client = gate.openai(may_assert_user=True)
    assert "Oslo" in str(shown(ask(client, QUESTION, extra_headers={**ALICE, "X-Memstone-Include": "memories"})))
    ask(client, "I moved to Bergen.", extra_headers=ALICE)
    until(lambda: any("Bergen" in one for one in gate.facts("alice")))
    assert len(gate.facts("alice")) == 1
    assert gate.facts("bob") == []
    replaced = [one for one in gate.memory.export(everybody=True) if one.get("event") == "UPDATE"]
    assert len(replaced) == 1
    ask(client, QUESTION, extra_headers=BOB)
    assert "Bergen" not in gate.sent


@pytest.mark.req("P-27")
def test_an_answer_without_recall_carries_no_memories(gate: Gate) -> None:
    known(gate, "User plays chess.")
    client = gate.openai(may_assert_user=True)
    answer = ask(client, QUESTION, extra_headers={**ALICE, "X-Memstone-Include": "memories"})
    assert not (answer.model_extra or {}).get("memories")
    assert "chess" not in gate.sent
