"""A session in few words by a language model: how it is asked, and what of its answer is believed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from memstone.core.llm.digest import (
    EMPTY_SUMMARY,
    INVENTED,
    NO_EPISODE,
    Before,
    LlmDigest,
    digest_prompt,
    narrative_prompt,
    parse_digest,
    parse_narrative,
)
from memstone.core.llm.operations import KnownFact
from memstone.core.llm.parse import UnreadableAnswer
from memstone.model.message import Message
from tests.english import ENGLISH

TALK = [
    Message("user", "Tom here. I am taking the job at the harbour office in Bergen."),
    Message("assistant", "Congratulations! Your colleague Kari told me you also love sailing."),
    Message("user", "I have three cats. Should I move to Oslo?"),
]


def answer(**changes: Any) -> dict[str, Any]:
    """An answer as it should be, with changes."""
    episode = {"summary": "Tom takes a job in Bergen.", "topics": ["new job"], "decisions": [], "action_items": []}
    full = {
        "episode": {**episode, "salience": 0.8},
        "entities": ["Tom"],
        "pinned_candidates": [],
        "identity_facts": [],
    }
    return {**full, **changes}


def read(**changes: Any) -> LlmDigest:
    """What is believed of an answer."""
    return parse_digest(json.dumps(answer(**changes)), TALK, language=ENGLISH)


@pytest.mark.req("S-17")
def test_a_model_is_told_the_date_what_is_known_and_what_happened_before() -> None:
    before = Before("Tom is a nurse.", (("2026-02-01", "y" * 300),))
    known = [KnownFact("7", "User lives in Bergen.", "2026-01-05")]
    question = digest_prompt(TALK, now=datetime(2026, 3, 2, tzinfo=UTC), before=before, known=known)

    system, user = (message["content"] for message in question.messages)
    assert user.startswith("Conversation date: 2026-03-02 (Monday), time zone UTC.")
    assert "Known memories:\n1. (2026-01-05) User lives in Bergen." in user
    assert question.targets == ("7",)
    assert "Known about the user:\nTom is a nurse." in user
    assert f"- 2026-02-01: {'y' * 160}\n" in user
    assert user.endswith("[3] user: I have three cats. Should I move to Oslo?")
    for wanted in ("Invent nothing", "none to two", "0.9 and more", "0.6 to 0.8", "0.3 to 0.5", "below 0.3", "JSON"):
        assert wanted in system


@pytest.mark.req("S-16")
def test_the_answer_has_the_shape_that_is_asked_for() -> None:
    properties = digest_prompt(TALK, now=datetime(2026, 3, 2, tzinfo=UTC)).schema["properties"]

    assert set(properties) == {"episode", "entities", "pinned_candidates", "identity_facts"}
    assert set(properties["episode"]["properties"]) == {"summary", "topics", "decisions", "action_items", "salience"}
    assert {"content", "salience", "tags"} <= set(properties["pinned_candidates"]["items"]["properties"])


@pytest.mark.req("S-18")
@pytest.mark.parametrize("wrapped", ["{}", "```json\n{}\n```", "Sure, here you go: {} Anything else?"])
def test_an_answer_is_read_bare_fenced_or_from_within_prose(wrapped: str) -> None:
    read_back = parse_digest(wrapped.replace("{}", json.dumps(answer())), TALK, language=ENGLISH)

    assert read_back.digest is not None
    assert read_back.digest.summary == "Tom takes a job in Bergen."


@pytest.mark.req("S-18")
def test_sloppy_fields_are_understood() -> None:
    sloppy = {"content": "User is taking the job at the harbour office.", "salience": "0.9", "tags": "decision, work"}
    episode = {"summary": "Sure! Here is a summary: Tom takes a job in Bergen.", "topics": "job, moving"}
    found = read(episode={**episode, "salience": "1.7"}, pinned_candidates=sloppy, entities="Tom; Bergen")

    assert found.digest is not None
    assert found.digest.summary == "Tom takes a job in Bergen."
    assert (found.digest.topics, found.digest.entities) == (("job", "moving"), ("Tom", "Bergen"))
    assert found.digest.salience == 1.0
    (fact,) = found.facts
    assert (fact.salience, fact.tags) == (0.9, ("decision", "work"))


@pytest.mark.req("S-18")
@pytest.mark.parametrize(
    "summary",
    [
        "Tom has news. It is a job. It is in Bergen. He is glad. He has three cats.",
        "Toms neuer Job in Bergen beginnt am 2. M\u00e4rz um 9 Uhr. Er hat drei Katzen.",
    ],
)
def test_a_summary_is_kept_as_it_was_written_without_the_chat_before_it(summary: str) -> None:
    found = read(episode={"summary": f"Summary: {summary}"})

    assert found.digest is not None
    assert found.digest.summary == summary
    assert found.digest.salience == 0.5


@pytest.mark.req("S-9")
def test_what_a_model_writes_is_cut() -> None:
    found = read(episode={"summary": "Tom has cats " * 10_000})

    assert found.digest is not None
    assert len(found.digest.summary) == 50_000


def test_without_an_episode_or_a_summary_the_reason_is_told() -> None:
    assert read(episode=None).reason == NO_EPISODE
    assert read(episode={"summary": "  ", "topics": []}).reason == EMPTY_SUMMARY
    assert parse_digest("{}", TALK, language=ENGLISH).reason == NO_EPISODE
    with pytest.raises(UnreadableAnswer):
        parse_digest("I cannot do that.", TALK, language=ENGLISH)
    with pytest.raises(UnreadableAnswer, match="not a digest"):
        parse_digest("[1, 2]", TALK, language=ENGLISH)


@pytest.mark.req("R-32", "S-17")
def test_a_fact_needs_words_of_the_user() -> None:
    found = read(
        pinned_candidates=[
            {"content": "User is taking the job at the harbour office in Bergen.", "quote": "I am taking the job"},
            {"content": "User loves sailing.", "turn": 2, "quote": "you also love sailing"},
            {"content": "User plays the violin in an orchestra.", "turn": 1, "quote": "I play the violin"},
            {"content": "User has 7 cats.", "turn": 3, "quote": "I have three cats"},
            {"content": "User has 3 cats.", "turn": 3, "quote": "I have three cats"},
        ]
    )

    lines = [(fact.operation.text, fact.operation.turn, fact.operation.doubt) for fact in found.facts]
    assert lines == [
        ("User is taking the job at the harbour office in Bergen.", 1, ""),
        ("User has 7 cats.", 3, "it has a number that nobody said"),
        ("User has 3 cats.", 3, ""),
    ]
    first = found.facts[0].operation
    assert TALK[0].text[first.start : first.end] == "I am taking the job"
    assert {one.text: one.reason for one in found.dropped} == {
        "User loves sailing.": "the assistant says it, and the user does not",
        "User plays the violin in an orchestra.": "it shares nothing with the conversation",
    }


@pytest.mark.req("S-16", "S-17")
def test_a_digest_says_what_becomes_of_what_is_known() -> None:
    known = [KnownFact("7", "User has two cats.", "2026-01-05"), KnownFact("8", "User looks for a job.", "2026-01-05")]
    reply = answer(
        pinned_candidates=[
            {"op": "UPDATE", "memory": 1, "content": "User has three cats.", "turn": 3, "quote": "I have three cats"},
            {"op": "REMOVE", "memory": 2, "content": "", "turn": 1, "quote": "I am taking the job"},
        ],
        identity_facts=[
            {"op": "ADD", "memory": None, "content": "User's name is Tom.", "turn": 1, "quote": "Tom here"}
        ],
    )
    found = parse_digest(json.dumps(reply), TALK, known, language=ENGLISH)

    assert [(str(one.operation.op), one.operation.memory, one.is_identity) for one in found.facts] == [
        ("ADD", None, True),
        ("UPDATE", 1, False),
        ("REMOVE", 2, False),
    ]


@pytest.mark.req("R-32")
def test_a_summary_of_another_talk_is_no_summary() -> None:
    assert read(episode={"summary": "Napoleon married Ingrid."}).reason == INVENTED
    assert read(episode={"summary": "\u30c8\u30e0\u306f\u4ed5\u4e8b\u3092\u5f97\u305f\u3002"}).digest is not None, (
        "another script may say the same"
    )


def test_of_many_facts_few_are_kept() -> None:
    talk = [Message("user", f"I own a boat called Runner{number}.") for number in range(40)]
    many = [{"content": f"User owns a boat called Runner{number}."} for number in range(40)]
    found = parse_digest(json.dumps(answer(pinned_candidates=many)), talk, language=ENGLISH)

    assert len(found.facts) == 12


@pytest.mark.req("S-4")
def test_a_narrative_is_kept_as_it_was_written_if_the_facts_bear_it_out() -> None:
    facts = ["User's name is Ada.", "User lives in Oslo.", "Ada hat am 2. M\u00e4rz Geburtstag."]
    full_text = "Ada lives in Oslo. Ihr Geburtstag ist am 2. M\u00e4rz."
    text = json.dumps({"narrative": full_text})

    assert parse_narrative(text, facts, 100, ENGLISH).text == full_text
    assert parse_narrative(text, facts, 5, ENGLISH).text == "Ada lives in Oslo."
    assert parse_narrative(text, facts, 1, ENGLISH).text == ""
    invented = json.dumps({"narrative": "Ada studied medicine at Harvard and flies planes. She is 42."})
    assert parse_narrative(invented, facts, 100, ENGLISH).text == ""
    assert "- User lives in Oslo." in narrative_prompt(facts).messages[1]["content"]
    assert "- (2026-01-05) User's name is Ada.\n" in narrative_prompt(facts, days=["2026-01-05"]).messages[1]["content"]
    with pytest.raises(UnreadableAnswer):
        parse_narrative('{"x": 1}', facts, 100, ENGLISH)
