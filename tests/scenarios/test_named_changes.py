"""The labelled changes once more, told by somebody with a name: a name changes no decision."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.testing.clock import FakeClock
from tests.scenarios.test_changes import DATA

NAME: Final = "Maya"
ENDS: Final = {"UPDATE": "ENDED", "DELETE": "ENDED"}
MOST_DIFFERENT: Final = 3
"""An embedding knows the name and may be a little nearer or farther; nothing else may make a difference."""


def message(text: str, name: str) -> dict[str, str]:
    named = {"name": name, "content": re.sub(r"\bUser\b", name, text)}
    return {"role": "user", **(named if name else {"content": text})}


def happened(memory: Memory, case: dict[str, Any], user: str, name: str) -> list[tuple[str, str]]:
    """What a statement changed, and which memory of a case; what is known already changes nothing.

    A memory ends in two ways, with words that take its place or without: what no rule can put into words of its own is
    not told of somebody by name.
    """
    ids: dict[str, str] = {}
    for known in case["existing"]:
        (stored,) = memory.add(message(known["text"], name), user_id=user, infer=False)["results"]
        ids[stored["id"]] = known["id"]
    results = memory.add(message(case["new"], name), user_id=user, infer=True)["results"]
    events = [(ENDS.get(one["event"], one["event"]), ids.get(one["id"], "")) for one in results]
    return sorted(one for one in events if one[0] != "NONE")


@pytest.mark.slow
@pytest.mark.req("P-17")
def test_changes_end_the_same_for_a_speaker_with_a_name() -> None:
    cases = [json.loads(line) for line in (DATA / "changes_open.jsonl").read_text(encoding="utf-8").splitlines()]
    different: list[str] = []
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock()) as memory:
        for number, case in enumerate(cases):
            without = happened(memory, case, f"user-{number}", "")
            named = happened(memory, case, f"named-{number}", NAME)
            if named != without:
                different.append(f"{case['id']}: {without} became {named}")
    assert len(different) <= MOST_DIFFERENT, different
