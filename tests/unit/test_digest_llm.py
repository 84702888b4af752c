"""A session in few words by a language model: how it is asked, and what of its answer is believed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from memstone.core.llm.digest import EMPTY_SUMMARY, NO_EPISODE, Before, LlmDigest, digest_prompt, parse_digest
from memstone.core.llm.narrative import narrative_prompt, parse_narrative
from memstone.core.llm.parse import UnreadableAnswer
from memstone.model.message import Message

TALK = [
    Message("user", "Tom here. I am taking the job at the harbour office in Bergen."),
    Message("assistant", "Congratulations! Your colleague Kari told me you also love sailing."),
    Message("user", "I have three cats. Should I move to Oslo?"),
]


def answer(**changes: Any) -> dict[str, Any]:
    """An answer as it should be, with changes."""
    episode = {"summary": "Tom takes a job in Bergen.", "topics": ["new job"], "decisions": [], "action_items": []}
    whole = {
        "episode": {**episode, "salience": 0.8},
        "entities": ["Tom"],
        "pinned_candidates": [],
        "identity_facts": [],
    }
    return {**whole, **changes}


def read(**changes: Any) -> LlmDigest:
    """What is believed of an answer."""
    return parse_digest(json.dumps(answer(**changes)), TALK)


@pytest.mark.req("S-17")
def test_a_model_is_told_the_date_what_is_known_and_what_happened_before() -> None:
    before = Before("Tom is a nurse.", (("2026-02-01", "y" * 300),))
    question = digest_prompt(TALK, now=datetime(2026, 3, 2, tzinfo=UTC), before=before)

    system, user = (message["content"] for message in question.messages)
    assert user.startswith("Conversation date: 2026-03-02 (Monday), time zone UTC.")
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
    read_back = parse_digest(wrapped.replace("{}", json.dumps(answer())), TALK)

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
def test_of_a_chatty_summary_three_sentences_are_kept() -> None:
    found = read(episode={"summary": "Summary: Tom has news. It is a job. It is in Bergen. He is glad. He has cats."})

    assert found.digest is not None
    assert found.digest.summary == "Tom has news. It is a job. It is in Bergen."
    assert found.digest.salience == 0.5


@pytest.mark.req("S-9")
def test_what_a_model_writes_is_cut() -> None:
    found = read(episode={"summary": "Tom has cats " * 10_000})

    assert found.digest is not None
    assert len(found.digest.summary) == 50_000


def test_without_an_episode_or_a_summary_the_reason_is_told() -> None:
    assert read(episode=None).reason == NO_EPISODE
    assert read(episode={"summary": "  ", "topics": []}).reason == EMPTY_SUMMARY
    assert parse_digest("{}", TALK).reason == NO_EPISODE
    with pytest.raises(UnreadableAnswer):
        parse_digest("I cannot do that.", TALK)
    with pytest.raises(UnreadableAnswer, match="not a digest"):
        parse_digest("[1, 2]", TALK)


@pytest.mark.req("R-32")
def test_a_fact_needs_words_of_the_user() -> None:
    found = read(
        pinned_candidates=[
            {"content": "User is taking the job at the harbour office in Bergen.", "quote": "I am taking the job"},
            {"content": "User loves sailing.", "turn": 2, "quote": "you also love sailing"},
            {"content": "User plays the violin in an orchestra.", "turn": 1, "quote": "I play the violin"},
            {"content": "User moves to Oslo.", "turn": 3, "quote": "Should I move to Oslo?"},
            {"content": "User has 7 cats.", "turn": 3, "quote": "I have three cats"},
            {"content": "User has 3 cats.", "turn": 3, "quote": "I have three cats"},
            {"content": "Job."},
        ]
    )

    assert [(fact.text, fact.turn) for fact in found.facts] == [
        ("User is taking the job at the harbour office in Bergen.", 1),
        ("User has 3 cats.", 3),
    ]
    fact = found.facts[0]
    assert TALK[0].text[fact.start : fact.end] == "I am taking the job"
    assert found.dropped == {"no evidence": 2, "question": 1, "invented": 1, "too short": 1}


@pytest.mark.req("R-32")
def test_what_nobody_said_does_not_come_into_a_digest() -> None:
    invented = "He will marry Ingrid in Paris. He owns 9 boats. Napoleon was glad. She was glad."
    episode = {"summary": f"Tom takes a job in Bergen. {invented}"}
    found = read(episode={**episode, "topics": ["new job", "trip to Madrid"]}, entities=["Tom", "Kari", "Napoleon"])

    assert found.digest is not None
    assert found.digest.summary == "Tom takes a job in Bergen. She was glad."
    assert found.digest.topics == ("new job",)
    assert "Napoleon" not in found.digest.entities


def test_a_fact_in_the_first_person_is_put_into_the_third() -> None:
    (fact,) = read(identity_facts=["I am taking the job at the harbour office in Bergen."]).identity

    assert fact.text.startswith("User is taking the job")


def test_of_many_facts_few_are_kept() -> None:
    talk = [Message("user", f"I own a boat called Runner{number}.") for number in range(40)]
    many = [{"content": f"User owns a boat called Runner{number}."} for number in range(40)]
    found = parse_digest(json.dumps(answer(pinned_candidates=many)), talk)

    assert len(found.facts) == 12
    assert found.dropped["too many"] == 28


@pytest.mark.req("S-4")
def test_a_narrative_says_what_the_facts_say() -> None:
    facts = ["User's name is Ada.", "User lives in Oslo."]
    told = json.dumps({"narrative": "Ada lives in Oslo. She studied at Harvard. She is 42."})

    assert parse_narrative(told, facts, 100).text == "Ada lives in Oslo."
    assert parse_narrative(told, facts, 100).dropped == 2
    assert parse_narrative(told, facts, 1).text == ""
    assert "- User lives in Oslo." in narrative_prompt(facts).messages[1]["content"]
    with pytest.raises(UnreadableAnswer):
        parse_narrative('{"x": 1}', facts, 100)
