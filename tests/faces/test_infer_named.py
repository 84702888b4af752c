"""What ``add(infer=True)`` learns from speakers who have a name."""

from __future__ import annotations

from typing import Any

import pytest

from memstone.testing.wire import KEY, WireServer
from tests.faces.harness import Face, Opens
from tests.faces.infer_model import Model
from tests.faces.infer_steps import LOCAL, told, turns


@pytest.fixture
def real(opens: Opens) -> Face:
    return opens(LOCAL)


def by(name: str, words: str) -> dict[str, str]:
    return {"role": "user", "name": name, "content": words}


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("first", "second", "events", "left"),
    [
        (
            "I love hiking",
            "I do not like running",
            [("ADD", "Maya does not like running.")],
            ["Maya does not like running.", "Maya loves hiking."],
        ),
        (
            "I do not like coffee",
            "I prefer green tea",
            [("ADD", "Maya prefers green tea.")],
            ["Maya does not like coffee.", "Maya prefers green tea."],
        ),
        ("I live in Oslo", "I moved to Bergen", [("UPDATE", "Maya moved to Bergen.")], ["Maya moved to Bergen."]),
        ("I live in Oslo", "I live in Oslo", [("NONE", "Maya lives in Oslo.")], ["Maya lives in Oslo."]),
        (
            "I live in Oslo",
            "My sister moved to Bergen",
            [("ADD", "Maya's sister moved to Bergen.")],
            ["Maya lives in Oslo.", "Maya's sister moved to Bergen."],
        ),
    ],
)
async def test_a_name_changes_no_decision(
    real: Face, opens: Opens, first: str, second: str, events: list[tuple[str, str]], left: list[str]
) -> None:
    await told(real, by("Maya", first), opens)
    assert await told(real, by("Maya", second), opens) == events
    assert sorted(await real.listed()) == left


@pytest.mark.req("P-17")
async def test_who_has_moved_no_longer_lives_where_they_did(real: Face, opens: Opens) -> None:
    for words in ("I live in Oslo", "I moved to Bergen"):
        await told(real, by("Maya", words), opens)
    await told(real, by("Maya", "I no longer live in Oslo"), opens)
    assert set(await real.listed()) <= {"Maya moved to Bergen.", "Maya no longer lives in Oslo."}


@pytest.mark.req("P-17")
async def test_speakers_never_change_what_others_said(real: Face, opens: Opens) -> None:
    await told(real, by("Maya", "I live in Oslo"), opens)
    await told(real, by("Maya", "I love hiking"), opens)
    await told(real, "I live in Madrid", opens)
    texts = [by("Tom", "I moved to Bergen"), by("Tom", "I do not like hiking"), by("Tom", "Maya lives in Vienna")]
    for one in [*texts, "I no longer like hiking"]:
        assert [event for event, _ in await told(real, one, opens)] == ["ADD"]
    assert {"Maya lives in Oslo.", "Maya loves hiking.", "User lives in Madrid."} <= set(await real.listed())


@pytest.mark.req("P-17")
async def test_what_others_told_of_somebody_changes_with_their_own_words(real: Face, opens: Opens) -> None:
    await told(real, by("Tom", "Maya lives in Vienna"), opens)
    assert await told(real, by("Maya", "I moved to Bergen"), opens) == [("UPDATE", "Maya moved to Bergen.")]


@pytest.mark.req("P-17")
async def test_what_was_stored_as_it_was_said_belongs_to_its_speaker(real: Face, opens: Opens) -> None:
    await real.store([by("Maya", "I live in Oslo"), by("Tom", "Maya, I live in Rome")], user_id="alice")
    assert await told(real, by("Maya", "I moved to Bergen"), opens) == [("UPDATE", "Maya moved to Bergen.")]
    assert sorted(await real.listed()) == ["Maya moved to Bergen.", "Maya, I live in Rome"]


async def test_a_fact_keeps_its_speaker(real: Face, opens: Opens) -> None:
    await told(real, by("Maya", "I live in Oslo"), opens)
    await told(real, by("Maya", "I moved to Bergen"), opens)
    await told(real, "I play chess", opens)
    facts = (await real.get_all(user_id="alice"))["results"]
    assert {fact["memory"]: (fact["role"], fact["actor"]) for fact in facts} == {
        "Maya moved to Bergen.": ("user", "Maya"),
        "User plays chess.": ("user", "user"),
    }


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    ("name", "words", "fact", "quote"),
    [
        ("Maya", "Maya: I moved to Bergen.", "Maya moved to Bergen.", "I moved to Bergen."),
        ("Jon", "Jon: I love tea.", "Jon loves tea.", "I love tea."),
    ],
)
async def test_the_name_before_what_is_said_is_not_part_of_it(
    real: Face, opens: Opens, name: str, words: str, fact: str, quote: str
) -> None:
    assert await told(real, by(name, words), opens) == [("ADD", fact)]
    (learned,) = (await real.get_all(user_id="alice"))["results"]
    (turn,) = await turns(real)
    evidence: dict[str, Any] = learned["evidence"]
    assert turn["memory"] == words
    assert evidence["turn"] == turn["id"]
    assert words[evidence["start"] : evidence["end"]] == evidence["quote"] == quote


@pytest.mark.req("P-17")
async def test_what_the_assistant_repeats_of_a_speaker_is_the_same_fact(real: Face, opens: Opens) -> None:
    await told(real, by("Maya", "I live in Oslo"), opens)
    talk = [by("Maya", "What do you know about me?"), {"role": "assistant", "content": "You live in Oslo."}]
    assert {event for event, _ in await told(real, talk, opens)} <= {"NONE"}
    assert await real.listed() == ["Maya lives in Oslo."]


@pytest.mark.req("P-17")
async def test_facts_that_a_model_finds_belong_to_the_speaker_of_their_turn(opens: Opens) -> None:
    model = Model()
    model.knows = {"I live in Oslo": "Maya lives in Oslo.", "I moved to Bergen": "User moved to Bergen."}
    model.decides = {"User moved to Bergen.": {"operation": "UPDATE", "target": "Oslo"}}
    with WireServer(model) as server:
        config = {"base_url": f"{server.url}/v1", "api_key": KEY, "model": "m", "retries": 0}
        face = opens({**LOCAL, "llm": {"provider": "openai", "config": config}})
        await told(face, by("Maya", "I live in Oslo"), opens)
        assert await told(face, by("Maya", "I moved to Bergen"), opens) == [("UPDATE", "User moved to Bergen.")]
        (fact,) = (await face.get_all(user_id="alice"))["results"]
    assert fact["actor"] == "Maya"
