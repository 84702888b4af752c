"""Somebody by name is understood as "User" is, and is nobody else."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from memstone.core.changes.reconcile import Decision, Known, decide
from memstone.core.changes.statement import Statement, understand
from memstone.core.curate import candidates
from memstone.core.rules.named import begins_with, person_of, speaker_name, without_prefix

OPEN: Final = Path(__file__).parents[1] / "data" / "curation" / "changes_open.jsonl"
NEAR: Final = 0.55
NAMES: Final = ("Maya", "maya", "Will", "Xiulan", "Jon Lindqvist", "Mr. O'Neil", "user42")


def settle(new: str, known: str, speaker: str = "Maya", before: str | None = None) -> Decision:
    """What becomes of what a speaker says, beside something that the same speaker, or another, said before."""
    memory = understand(known, (), speaker if before is None else before)
    return decide(understand(new, (), speaker), [Known(memory, NEAR)])


def nameless(statement: Statement, name: str) -> list[Statement]:
    """A statement and those about others without the words it was made of, and with "self" for the name."""
    own = " ".join(name.casefold().split())

    def about(subject: str) -> str:
        return "self" if subject == own else subject.removeprefix(f"{own}: ")

    return [replace(one, text="", subject=about(one.subject), others=()) for one in statement.everybody]


def texts() -> list[str]:
    cases = [json.loads(line) for line in OPEN.read_text(encoding="utf-8").splitlines()]
    return [text for case in cases for text in (case["new"], *(known["text"] for known in case["existing"]))]


@pytest.mark.req("P-17")
@pytest.mark.parametrize("name", NAMES)
def test_a_name_changes_nothing_of_what_a_sentence_says(name: str) -> None:
    for text in texts():
        told = re.sub(r"\bUser\b", lambda _: name, text)
        assert nameless(understand(told, (), name), name) == nameless(understand(text), ""), told


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "known", "action"),
    [
        ("Maya does not like running.", "Maya loves hiking.", "add"),
        ("Maya prefers green tea.", "Maya does not like coffee.", "add"),
        ("Maya moved to Bergen.", "Maya lives in Oslo.", "revise"),
        ("Maya no longer likes hiking.", "Maya loves hiking.", "revise"),
        ("Maya is 35 years old.", "Maya is 34 years old.", "revise"),
        ("Maya's favourite colour is green.", "Maya's favourite colour is blue.", "revise"),
        ("Maya lives in Oslo.", "I live in Oslo", "ignore"),
        ("Maya moved to Bergen.", "User lives in Oslo", "revise"),
        ("Maya's sister moved to Bergen.", "Maya lives in Oslo.", "add"),
        ("Maya's sister moved to Bergen.", "Maya's sister lives in Oslo.", "revise"),
        ("Maya's name is Maya Berg.", "Maya's name is Maya Lind.", "revise"),
    ],
)
def test_what_a_speaker_with_a_name_says_changes_what_they_said(new: str, known: str, action: str) -> None:
    assert settle(new, known).action == action


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "speaker", "known", "before"),
    [
        ("Tom moved to Bergen.", "Tom", "Maya lives in Oslo.", "Maya"),
        ("Tom does not like hiking.", "Tom", "Maya loves hiking.", "Maya"),
        ("Tom's sister moved to Paris.", "Tom", "Maya's sister lives in Rome.", "Maya"),
        ("Tom moved to Bergen.", "Tom", "I live in Oslo", "Maya"),
        ("Maya moved to Bergen.", "Maya", "User lives in Oslo.", ""),
        ("User moved to Bergen.", "", "Maya lives in Oslo.", "Maya"),
        ("User's sister moved to Paris.", "", "Maya's sister lives in Rome.", "Maya"),
        ("Tom lives in Bergen.", "Maya", "Maya lives in Oslo.", "Maya"),
        ("Tom lives in Bergen.", "", "User lives in Oslo.", ""),
        ("Tom's sister lives in Bergen.", "", "User's sister lives in Oslo.", ""),
        ("Tom lives in Bergen.", "Maya", "Tom lives in Oslo.", "Tom"),
    ],
)
def test_different_people_never_touch_one_another(new: str, speaker: str, known: str, before: str) -> None:
    assert settle(new, known, speaker, before).action == "add"


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("text", "speaker", "person"),
    [
        ("Tom lives in Oslo.", "", "Tom"),
        ("Tom lives in Oslo.", "Maya", "Tom"),
        ("Tom no longer works at Acme.", "Maya", "Tom"),
        ("Tom is 34 years old.", "", "Tom"),
        ("Tom's birthday is on 3 May.", "", "Tom"),
        ("Xiulan loves hiking.", "", "Xiulan"),
        ("Maya lives in Oslo.", "Maya", "Maya"),
        ("Tom and Maya moved to Oslo.", "Maya", "Maya"),
        ("Red wine gives Maya migraines.", "Maya", "Maya"),
        ("Languages Maya speaks: Dutch and Greek.", "Maya", "Maya"),
        ("Tom is my manager now", "", ""),
        ("Tom owns the billing service.", "", ""),
        ("Standup moved to Mondays.", "", ""),
        ("Firefox is my browser now", "", ""),
        ("Grandma lives in Oslo.", "", ""),
        ("User lives in Oslo.", "", ""),
        ("moved to Oslo", "", ""),
    ],
)
def test_whom_a_sentence_is_about_by_name(text: str, speaker: str, person: str) -> None:
    assert person_of(text, speaker) == person


@pytest.mark.req("P-17")
@pytest.mark.parametrize("speaker", ["", "Maya"])
@pytest.mark.parametrize(
    ("new", "known", "action"),
    [
        ("{} no longer lives in Oslo.", "{} moved to Bergen.", "ignore"),
        ("{} does not work at Acme anymore.", "{} works at Globex now.", "ignore"),
        ("{} no longer lives in Oslo.", "{} lives in Oslo.", "revise"),
        ("{} no longer lives in Oslo.", "{} loves tea.", "add"),
        ("{} no longer lives in Oslo.", "{}'s sister moved to Bergen.", "add"),
        ("{} used to live in Oslo.", "{} moved to Bergen.", "add"),
    ],
)
def test_what_has_ended_before_is_not_ended_again(new: str, known: str, action: str, speaker: str) -> None:
    who = speaker or "User"
    for cosine in (0.3, NEAR, 0.8):
        memory = Known(understand(known.format(who), (), speaker), cosine)
        assert decide(understand(new.format(who), (), speaker), [memory]).action == action


@pytest.mark.req("P-17")
def test_the_end_of_something_is_found_though_another_memory_has_the_new_value() -> None:
    known = ["Maya moved to Bergen.", "Maya shares a flat in Oslo with friends."]
    memories = [Known(understand(text, (), "Maya"), NEAR) for text in known]
    assert decide(understand("Maya no longer lives in Oslo.", (), "Maya"), memories).target == 1


@pytest.mark.parametrize(
    ("text", "name", "begins"),
    [
        ("Maya loves tea", "Maya", True),
        ("Maya's sister loves tea", "Maya", True),
        ("Maya, I love tea", "Maya", False),
        ("Mayan ruins are great", "Maya", False),
        ("I love tea", "Maya", False),
        ("Maya loves tea", "", False),
    ],
)
def test_a_text_is_told_about_the_name_it_begins_with(text: str, name: str, begins: bool) -> None:  # noqa: FBT001
    assert begins_with(text, name) is begins


@pytest.mark.parametrize(
    ("text", "speaker", "words"),
    [
        ("Maya: I moved to Bergen.", "Maya", "I moved to Bergen."),
        ("maya:  I moved", "Maya", "I moved"),
        ("**Maya:** I moved", "Maya", "I moved"),
        ("[Maya]: I moved", "Maya", "I moved"),
        ("Jon Lind: I moved", "Jon Lind", "I moved"),
        ("Tom: I moved", "Maya", "Tom: I moved"),
        ("Maya:I moved", "Maya", "Maya:I moved"),
        ("My sister Maya: she moved", "Maya", "My sister Maya: she moved"),
        ("Maya moved: to Bergen", "Maya", "Maya moved: to Bergen"),
        ("I moved", "", "I moved"),
    ],
)
def test_a_prefix_with_the_name_of_the_speaker_is_not_said(text: str, speaker: str, words: str) -> None:
    assert without_prefix(text, speaker) == words


@pytest.mark.parametrize(("given", "name"), [(" Maya ", "Maya"), ("user", ""), ("Assistant", ""), ("", "")])
def test_a_role_is_no_name(given: str, name: str) -> None:
    assert speaker_name(given) == name


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    "said",
    [
        "thinking of building a treehouse for the kids this summer",
        "Dropped my Pixel in the lake, so it's an iPhone 15 for me from today",
        "I have the dentist on Tuesday at 9",
    ],
)
def test_one_line_of_a_speaker_with_a_name_is_read_as_one_without(said: str) -> None:
    named = [one.text for one in candidates(said, speaker="Maya")]
    assert named
    assert named == [re.sub(r"\bUser\b", "Maya", one.text) for one in candidates(said)]


@pytest.mark.req("R-32")
def test_a_note_about_somebody_of_the_speaker_is_a_fact() -> None:
    (fact,) = candidates("Maya's sister started as a pharmacist at Boots", speaker="Maya")
    assert fact.text == "Maya's sister started as a pharmacist at Boots."
