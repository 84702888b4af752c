from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from benchmarks.tokens import report, script
from benchmarks.tokens.child import MARK_PATH, VECTORS_PATH
from benchmarks.tokens.embedding import WORDS, embedder
from benchmarks.tokens.judge import Verdict, judge
from benchmarks.tokens.meter import Call, Meter
from benchmarks.tokens.model import ScriptedModel
from memstone.core.llm.decisions import (
    DecisionKind,
    decision_prompt,
    extraction_prompt,
    parse_decisions,
    parse_extraction,
)
from memstone.core.llm.operations import KnownFact, Talk, learn_question, parse_operations
from memstone.core.llm.questions import ModelQuestion
from memstone.model.instant import datetime_from_instant
from memstone.model.message import Message
from memstone.testing.wire import KEY, WireRequest
from tests.english import ENGLISH

# The script


def test_the_words_that_show_a_fact_stand_in_one_message_of_its_conversation_and_in_no_other() -> None:
    turns = [(at, message) for at, one in enumerate(script.CONVERSATIONS) for message in one.messages]
    for at, conversation in enumerate(script.CONVERSATIONS):
        for fact in conversation.facts:
            assert [(where, who.role) for where, who in turns if fact.quote in who.content] == [(at, "user")], fact


def test_conversations_have_two_to_six_messages_and_all_kinds_of_news() -> None:
    assert len(script.CONVERSATIONS) == 12
    assert all(2 <= len(one.messages) <= 6 for one in script.CONVERSATIONS)
    assert any(not one.facts for one in script.CONVERSATIONS)
    assert any(fact.ends for fact in script.facts())
    assert any(fact.covers for fact in script.facts())
    meanings = [fact.meaning for fact in script.facts()]
    assert len(set(meanings)) < len(meanings) > len({fact.text for fact in script.facts()})


def test_what_ends_and_what_is_covered_was_said_before() -> None:
    known: set[str] = set()
    for fact in script.facts():
        assert known.issuperset((*fact.ends, *fact.covers)), fact
        known.add(fact.meaning)


def test_what_is_true_in_the_end_leaves_out_what_changed() -> None:
    true, optional = script.true_at_the_end()
    assert {"leipzig", "vegan", "teacher"} <= true
    assert true.isdisjoint({"berlin", "omnivore", "vegetarian", "nurse", "allergy", "cello", "marathon"})
    assert optional == {"no allergy", "no cello", "no marathon", "dog"}


# The judge


def test_a_memory_of_everything_true_is_spotless() -> None:
    true, optional = script.true_at_the_end()
    first = {fact.meaning: fact.text for fact in reversed([*script.facts()])}
    verdict = judge([first[meaning] for meaning in true - optional])
    assert verdict == Verdict(live=len(true - optional))


def test_the_judge_names_what_is_stale_said_twice_missing_and_unheard_of() -> None:
    verdict = judge(
        ["User lives in Berlin.", "User lives in Leipzig.", "user's home is Leipzig", "User has a dog.", "Pigs fly."]
    )
    assert verdict.stale == ["User lives in Berlin."]
    assert verdict.duplicates == ["user's home is Leipzig"]
    assert verdict.unknown == ["Pigs fly."]
    assert "vegan" in verdict.missing
    assert "leipzig" not in verdict.missing


def test_what_a_more_exact_memory_says_is_a_duplicate() -> None:
    assert judge(["User has a dog.", "User has a beagle named Milo."]).duplicates == ["User has a dog."]


# The model


def asked(question: ModelQuestion) -> dict[str, Any]:
    form = {"type": "json_schema", "json_schema": {"name": question.schema["title"], "schema": question.schema}}
    return {"model": "m", "messages": list(question.messages), "response_format": form}


def talk_of(at: int, known: tuple[str, ...] = ()) -> Talk:
    turns = [Message(script_turns.role, script_turns.content) for script_turns in script.CONVERSATIONS[at].messages]
    near = [KnownFact(text, text, "2026-01-01") for text in known]
    return Talk(turns, (), near, datetime_from_instant("2026-01-05T10:00:00Z"), language=ENGLISH)


def facts_question(at: int, known: tuple[str, ...] = ()) -> tuple[ModelQuestion, Talk]:
    talk = talk_of(at, known)
    return extraction_prompt(talk), talk


@pytest.mark.parametrize("at", range(len(script.CONVERSATIONS)))
def test_memstone_believes_every_fact_of_the_model(at: int) -> None:
    question, talk = facts_question(at)
    wanted = [fact.text for fact in script.CONVERSATIONS[at].facts]
    read = parse_extraction(ScriptedModel().answer(asked(question)).text, talk)
    assert [fact.text for fact in read.operations] == wanted
    both = parse_operations(ScriptedModel().answer(asked(learn_question(talk))).text, talk)
    assert [one.text for one in both.operations] == wanted
    assert not read.dropped
    assert not any(one.doubt for one in both.operations)


def test_one_answer_says_what_becomes_of_what_is_shown() -> None:
    talk = talk_of(7, ("User lives in Berlin.", "User plays the cello."))
    read = parse_operations(ScriptedModel().answer(asked(learn_question(talk))).text, talk)
    assert [(str(one.op), one.memory, one.text) for one in read.operations] == [("UPDATE", 1, "User lives in Leipzig.")]


def test_only_the_attentive_model_leaves_out_what_it_is_shown() -> None:
    question, _ = facts_question(2, known=("User lives in Berlin.",))
    found = {
        attentive: [
            one["text"] for one in json.loads(ScriptedModel(attentive=attentive).answer(asked(question)).text)["facts"]
        ]
        for attentive in (True, False)
    }
    assert found == {
        True: ["User is allergic to peanuts."],
        False: ["User's home is Berlin.", "User is allergic to peanuts."],
    }


def test_the_model_decides_about_repeats_changes_and_news() -> None:
    near = [KnownFact(text, text) for text in ("User lives in Berlin.", "User eats everything.", "User has a dog.")]
    new = ["User's home is Berlin.", "User is a vegetarian.", "User plays the cello.", "User has a beagle named Milo."]
    question = decision_prompt(new, [near] * len(new))
    read = parse_decisions(ScriptedModel().answer(asked(question)).text, len(new), len(question.targets))
    assert [(one.operation, one.target) for one in read.decisions] == [
        (DecisionKind.NONE, 1),
        (DecisionKind.UPDATE, 2),
        (DecisionKind.ADD, None),
        (DecisionKind.UPDATE, 3),
    ]


def peer_question(existing: list[dict[str, str]]) -> dict[str, Any]:
    text = "".join(f"{one.role}: {one.content}\n" for one in script.CONVERSATIONS[7].messages)
    user = f"## Existing Memories\n{json.dumps(existing)}\n\n## New Messages\n{text}\n\n## Observation Date\n2026-01-05"
    return {"model": "m", "messages": [{"role": "system", "content": "JSON"}, {"role": "user", "content": user}]}


def test_the_peer_is_told_the_same_facts_and_which_memories_they_are_about() -> None:
    existing = [{"id": "0", "text": "User lives in Berlin."}, {"id": "1", "text": "User plays the cello."}]
    answer = json.loads(ScriptedModel().answer(peer_question(existing)).text)["memory"]
    assert answer == [
        {"id": "0", "text": "User lives in Leipzig.", "attributed_to": "user", "linked_memory_ids": ["0"]}
    ]
    all_of_it = json.loads(ScriptedModel(attentive=False).answer(peer_question(existing)).text)["memory"]
    assert [one["text"] for one in all_of_it] == ["User lives in Leipzig.", "User plays the cello."]


def test_a_question_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="does not know"):
        ScriptedModel().answer({"messages": [{"role": "user", "content": "What is the time?"}]})


# The meter


def post(path: str, body: Any) -> WireRequest:
    return WireRequest("POST", path, {"authorization": f"Bearer {KEY}"}, json.dumps(body).encode())


def test_the_meter_counts_a_quarter_of_the_characters_under_the_add_that_is_marked() -> None:
    meter = Meter(ScriptedModel(), embedder(WORDS))
    meter(post(MARK_PATH, {"title": "small talk", "resend": False}))
    meter(post(MARK_PATH, {"title": "a move", "resend": True}))
    question = peer_question([])
    reply = meter(post("/v1/chat/completions", question))
    first, second = meter.adds
    (call,) = second.calls
    user = len(question["messages"][1]["content"])
    answer = reply.json["choices"][0]["message"]["content"]
    assert not first.calls
    assert (second.title, second.resend) == ("a move", True)
    assert (call.system, call.tokens_in, call.out) == (1, 1 + -(-user // 4), -(-len(answer) // 4))
    assert 0 < call.conversation < call.tokens_in
    assert reply.json["usage"] == {
        "prompt_tokens": call.tokens_in,
        "completion_tokens": call.out,
        "total_tokens": call.tokens_in + call.out,
    }


def test_a_schema_is_counted_apart() -> None:
    meter = Meter(ScriptedModel(), embedder(WORDS))
    meter(post(MARK_PATH, {"title": "a move", "resend": False}))
    question, _ = facts_question(7)
    assert meter(post("/v1/chat/completions", asked(question))).status == 200
    (call,) = meter.adds[0].calls
    assert call.schema == -(-len(json.dumps(question.schema)) // 4)
    assert call.tokens_in == sum(-(-len(message["content"]) // 4) for message in question.messages)


def test_vectors_are_served_and_not_counted() -> None:
    meter = Meter(ScriptedModel(), embedder(WORDS))
    rows = meter(post(VECTORS_PATH, ["red green", "blue"])).json
    assert np.allclose(rows, embedder(WORDS)(["red green", "blue"]))
    assert not meter.adds


# The report


def reading(*per_add: int, stale: tuple[str, ...] = ()) -> dict[str, Any]:
    """A system whose adds cost so many tokens in, and one out; every second one is a resend."""
    call = {"shape": "facts", "system": 0, "conversation": 0, "context": 0, "schema": 0, "out": 1}
    adds = [
        {"resend": at % 2 == 1, "calls": [{**call, "system": cost}] if cost else []} for at, cost in enumerate(per_add)
    ]
    verdict = {"live": 3, "duplicates": [], "stale": list(stale), "missing": [], "unknown": []}
    return {"adds": adds, "verdict": verdict}


def test_the_table_has_means_maxima_and_the_ratio_of_first_adds_and_of_resends() -> None:
    table = {
        row[0]: row[1:] for row in report.costs({"memstone": reading(10, 0, 30, 0), "mem0": reading(100, 50, 60, 50)})
    }
    assert table["tokens in, first time, mean"] == ("20", "80", "4.00x")
    assert table["tokens in, first time, max"] == ("30", "100", "3.33x")
    assert table["tokens, first time, mean"] == ("21", "81", "3.86x")
    assert table["LLM calls, resend, mean"] == ("0", "1", "")


def test_fewer_tokens_are_fewer_over_all_adds_with_their_schemas() -> None:
    assert report.cheaper({"memstone": reading(10, 10), "mem0": reading(20, 20)})
    assert not report.cheaper({"memstone": reading(20, 20), "mem0": reading(20, 20)})


def test_the_report_names_what_is_stale() -> None:
    systems = {"memstone": reading(1, 1), "mem0": reading(2, 2, stale=("User lives in Berlin.",))}
    text = report.markdown("Tokens", [("commit", "abc")], {"attentive": systems})
    assert "- mem0, stale: User lives in Berlin." in text
    assert "| stale facts still live | 0        | 1    |" in text
    assert "- commit: abc" in text


def test_a_call_is_its_messages() -> None:
    assert Call("facts", system=5, conversation=3, context=2, schema=7, out=1).tokens_in == 10
