"""What a person deleted is told by nothing that is made of the talk it was said in."""

from __future__ import annotations

from typing import Any, Final

import pytest

from memstone.language.text.statements import blank_spans
from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import Face, Opens
from tests.faces.test_distill import COMPANION, WHO, digest, held

SAID: Final = (
    "I live in Oslo and I work as a nurse at the harbour clinic.",
    "> Good to know.",
    "I am allergic to hazelnuts and my sister Ida is vegan. I was diagnosed with diabetes in 2019.",
)
LATER: Final = "Today I bought a new bicycle, a blue one from the shop in Hamar, and rode it to work along the river."
GONE: Final = ("hazelnuts", "diabetes")


async def forgotten(face: Face, opens: Opens) -> None:
    """Delete what is about health."""
    opens.clock.advance(minutes=1)
    for one in (await face.get_all(user_id="alice"))["results"]:
        if any(word in one["memory"] for word in GONE):
            await face.delete(one["id"])


def without_them(visible: Any) -> bool:
    return not any(word in str(visible) for word in GONE)


@pytest.mark.req("X-30", "S-7")
@pytest.mark.parametrize("keep_turns", [True, False])
async def test_the_next_version_of_an_episode_leaves_out_what_was_deleted(opens: Opens, *, keep_turns: bool) -> None:
    face = opens({**COMPANION, "extract": {"keep_turns": keep_turns}})
    await held(face, opens, "r1", *SAID)
    await forgotten(face, opens)
    await held(face, opens, "r1", LATER)

    (episode,) = (await face.sessions.episodes(**WHO))["results"]

    assert without_them(episode)
    assert "bicycle" in episode["summary"]
    assert without_them(
        [one for one in await face.export(everybody=True) if one.get("layer") == "episode" and not one["valid_to"]]
    )
    if keep_turns:
        assert "Ida is vegan" in episode["summary"]
        assert {"Oslo", "Ida", "Hamar"} <= set(episode["entities"])


@pytest.mark.req("X-30")
async def test_an_episode_of_before_is_listed_and_found_without_it(opens: Opens) -> None:
    face = opens(COMPANION)
    await held(face, opens, "r1", *SAID)
    assert not without_them((await face.sessions.episodes(**WHO))["results"])
    await forgotten(face, opens)

    (listed,) = (await face.sessions.episodes(**WHO))["results"]
    (found,) = (await face.search("the harbour clinic", **WHO, layers=["episode"]))["results"]

    assert without_them([listed, found])
    assert "harbour clinic" in listed["summary"]
    assert listed["summary"] == found["memory"]


@pytest.mark.req("X-30")
async def test_an_episode_that_a_model_worded_is_neither_listed_nor_found(opens: Opens) -> None:
    fact = {"content": "User has diabetes.", "quote": "I was diagnosed with diabetes"}
    face = opens(COMPANION, llm=ScriptedLlm([digest("She is a nurse and is ill.", pinned_candidates=[fact])]))
    await held(face, opens, "r1", *SAID)
    assert (await face.sessions.episodes(**WHO))["results"]
    await forgotten(face, opens)

    assert (await face.sessions.episodes(**WHO))["results"] == []
    assert (await face.search("nurse", **WHO, layers=["episode"]))["results"] == []


@pytest.mark.req("X-30")
async def test_a_model_that_distils_the_rest_is_not_shown_it(opens: Opens) -> None:
    fact = {"content": "User has diabetes.", "quote": "I was diagnosed with diabetes"}
    scripted = ScriptedLlm([digest("She is a nurse and is ill.", pinned_candidates=[fact]), digest("A bicycle.")])
    face = opens(COMPANION, llm=scripted)
    await held(face, opens, "r1", *SAID)
    await forgotten(face, opens)
    await held(face, opens, "r1", LATER)

    assert "diabetes" in str(scripted.prompts[0])
    assert "diabetes" not in str(scripted.prompts[1])
    assert "vegan" in str(scripted.prompts[1])


@pytest.mark.req("X-30", "R-20")
async def test_names_go_with_what_was_deleted_and_come_back_with_it(opens: Opens) -> None:
    face = opens(COMPANION)
    await held(
        face, opens, "r1", "I met Hans in Bergen last summer. My sister Ida is vegan and lives in Oslo, I think."
    )

    async def names() -> set[str]:
        return {one["name"] for one in (await face.graph.entities(user_id="alice"))["results"]}

    assert {"Hans", "Ida"} <= await names()
    (met,) = [one for one in (await face.get_all(user_id="alice"))["results"] if "Hans" in one["memory"]]
    await face.delete(met["id"])
    assert "Hans" not in await names()
    assert "Ida" in await names()

    await face.undo((await face.history(met["id"]))[-1]["id"])

    assert {"Hans", "Ida"} <= await names()


@pytest.mark.req("X-30")
async def test_what_was_changed_by_hand_and_deleted_hides_the_words_it_came_from_and_no_others(opens: Opens) -> None:
    face = opens()
    (home, _) = (await face.add("I live in Oslo. My sister Ida works at Nordlys.", user_id="alice"))["results"]
    await face.update(home["id"], "User lives in Bergen.")

    await face.delete(home["id"])

    named = {one["name"]: one["mentions"] for one in (await face.graph.entities(user_id="alice"))["results"]}
    assert "Oslo" not in named
    assert (named["Ida"], named["Nordlys"]) == (2, 2), "the turn and the fact"


@pytest.mark.parametrize(
    ("text", "gone", "left"),
    [
        ("I am allergic to nuts and my sister Ida is vegan.", "I am allergic to nuts", "my sister Ida is vegan."),
        ("My sister Ida is vegan, and I am allergic to nuts.", "I am allergic to nuts", "My sister Ida is vegan."),
        ("I like tea. Doctor Lind says that I am ill. Bye!", "I am ill", "I like tea. Bye!"),
        ("I am ill since I came home from Rome. Bye!", "I am ill", "Bye!"),
        ("I am ill. Bye!", "I am ill.", "Bye!"),
        ("I am ill", "I am ill", ""),
        ("I cook, I am ill and I read", "I am ill", "I read"),
    ],
)
def test_words_are_blanked_with_what_hangs_on_them(text: str, gone: str, left: str) -> None:
    start = text.index(gone)
    output = blank_spans(text, [(start, start + len(gone))])
    assert (" ".join(output.split()), len(output)) == (left, len(text))
