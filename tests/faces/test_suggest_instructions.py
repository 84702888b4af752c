from __future__ import annotations

from typing import Any

import pytest

from memstone.errors import InvalidInput, LLMError, TooLarge
from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import ANYWHERE, Face, Opens

COACH = "a cooking coach"
ADVICE: dict[str, Any] = {
    "include": ["allergies of everybody at the table", "how hot the oven really gets"],
    "exclude": ["recipes"],
    "categories": [{"name": "oven", "about": "oven, hot, degrees"}],
}


@pytest.mark.req("N-42")
@ANYWHERE
async def test_without_a_model_rules_suggest_and_nothing_is_changed(face: Face) -> None:
    before = await face.settings.get()
    found = await face.settings.suggest_instructions(COACH)
    assert (found["source"], found["domains"]) == ("rules", ["cooking"])
    assert found["example_settings"]["extract"]["instructions"] == found["instructions"]
    assert await face.settings.get() == before


@pytest.mark.req("N-42")
@ANYWHERE
async def test_what_is_suggested_can_be_set_and_sorts_what_is_learned(opens: Opens) -> None:
    face = opens()
    found = await face.settings.suggest_instructions(COACH)
    extract = found["example_settings"]["extract"]
    await face.settings.set({f"extract.{name}": value for name, value in extract.items()})
    learned = (await face.add("I am allergic to peanuts", user_id="alice"))["results"]
    assert [one["category"] for one in await categories(face)] == ["diet"], learned


async def categories(face: Face) -> list[dict[str, Any]]:
    found = (await face.get_all(user_id="alice"))["results"]
    return [{"category": (one.get("metadata") or {}).get("category", one.get("category"))} for one in found]


@pytest.mark.req("N-42")
@ANYWHERE
async def test_a_model_is_asked_once_and_again_for_another_use_case_only(opens: Opens) -> None:
    llm = ScriptedLlm(lambda _: ADVICE)
    face = opens(llm=llm)
    assert (await face.settings.suggest_instructions("half a character: \ud83d"))["source"] == "llm"
    llm.prompts.clear()
    found = [await face.settings.suggest_instructions(COACH) for _ in range(2)]
    assert found[0] == found[1]
    assert len(llm.prompts) == 1
    assert llm.prompts[0].schema is not None
    assert (found[0]["source"], found[0]["include"], found[0]["categories"]) == (
        "llm",
        ADVICE["include"],
        {"oven": "oven, hot, degrees"},
    )
    assert found[0]["exclude"][0] == "recipes"
    assert found[0]["exclude"][-1].startswith("what the law protects")


@ANYWHERE
@pytest.mark.parametrize("answer", [LLMError("it is down"), {"include": []}, "no idea"])
async def test_when_the_model_is_of_no_use_rules_answer_and_say_so(opens: Opens, answer: Any) -> None:
    face = opens(llm=ScriptedLlm(lambda _: answer))
    found = await face.settings.suggest_instructions(COACH)
    assert found["source"] == "rules"
    assert [one["step"] for one in found["degraded"]] == ["instructions"]
    assert found["include"]


@ANYWHERE
@pytest.mark.parametrize(
    ("wrong", "error"), [("", InvalidInput), (" ?! ", InvalidInput), (7, InvalidInput), ("x" * 2_001, TooLarge)]
)
async def test_a_use_case_must_say_something(face: Face, wrong: Any, error: type) -> None:
    with pytest.raises(error):
        await face.settings.suggest_instructions(wrong)
