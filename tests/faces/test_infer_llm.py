"""``add(infer=True)`` with a language model behind a real HTTP server: what it is asked, how often, and what counts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.testing.wire import KEY, WireReply, WireRequest, WireServer, completion_reply
from tests.faces.harness import ON_DISK, Face, Opens
from tests.faces.infer_model import Model


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def server(model: Model) -> Iterator[WireServer]:
    with WireServer(model) as running:
        yield running


def configured(server: WireServer, **more: Any) -> dict[str, Any]:
    """A memory whose facts are found by the model at this server."""
    config = {"base_url": f"{server.url}/v1", "api_key": KEY, "model": "m", "retries": 0}
    return {"llm": {"provider": "openai", "config": config}, **more}


@pytest.fixture
def face(opens: Opens, server: WireServer) -> Face:
    return opens(configured(server))


async def told(face: Face, message: Any, **rest: Any) -> list[tuple[str, str]]:
    answer = await face.add(message, **{"user_id": "alice", "infer": True, **rest})
    assert answer["status"] == "ok", answer
    assert "degraded" not in answer, answer
    return [(result["event"], result["memory"]) for result in answer["results"]]


# --- how often it is asked --------------------------------------------------------------------------------------------

_CITIES: Final = "Rome Paris Oslo Lima Cairo Delhi Tokyo Quito Accra Dakar".split()
_TEN: Final = {f"visited {city}": f"User visited {city}." for city in _CITIES}


@pytest.mark.req("N-33", "C-58.2", "C-20")
async def test_while_nothing_is_near_one_question_is_enough_for_any_number_of_facts(
    face: Face, model: Model, server: WireServer
) -> None:
    model.knows = {"I live in Oslo": "User lives in Oslo.", "two cats": "User has two cats.", "tea": "User loves tea."}

    found = await told(face, ["I live in Oslo.", "I have two cats and I love tea."])

    assert found == [("ADD", "User lives in Oslo."), ("ADD", "User has two cats."), ("ADD", "User loves tea.")]
    assert model.asked == ["operations"]
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert (request.json["temperature"], request.json["model"]) == (0, "m")


async def been_everywhere(face: Face, model: Model) -> None:
    model.knows = _TEN
    found = await told(face, [f"I visited {city}." for city in _CITIES])
    assert [event for event, _ in found] == ["ADD"] * 10
    assert len(set(found)) == 10
    model.asked.clear()


@pytest.mark.req("N-33", "C-22")
async def test_ten_facts_near_ten_memories_cost_one_question(face: Face, model: Model) -> None:
    await been_everywhere(face, model)
    model.knows = {f"again to {city}": f"User visited {city} twice." for city in _CITIES}
    model.decides = {fact: {"operation": "UPDATE", "target": fact[:-7]} for fact in model.knows.values()}

    found = await told(face, [f"I went again to {city}." for city in _CITIES])

    assert [event for event, _ in found] == ["UPDATE"] * 10
    assert sorted(await face.listed()) == sorted(f"User visited {city} twice." for city in _CITIES)
    assert model.asked == ["operations"]


@pytest.mark.req("C-22", "N-33")
async def test_two_questions_are_asked_where_the_policy_wants_them(
    opens: Opens, server: WireServer, model: Model
) -> None:
    face = opens(configured(server, extract={"questions": 2}))
    await been_everywhere(face, model)
    model.knows = {f"again to {city}": f"User visited {city} twice." for city in _CITIES}
    model.decides = {fact: {"operation": "UPDATE", "target": fact[:-7]} for fact in model.knows.values()}

    found = await told(face, [f"I went again to {city}." for city in _CITIES])

    assert [event for event, _ in found] == ["UPDATE"] * 10
    assert model.asked == ["facts", "decisions"]


@pytest.mark.req("C-22")
async def test_a_fact_is_shown_with_its_five_nearest_memories(opens: Opens, server: WireServer, model: Model) -> None:
    face = opens(configured(server, extract={"questions": 2}))
    await been_everywhere(face, model)
    model.knows = {"visited Berlin": "User visited Berlin."}

    await told(face, "I visited Berlin.")

    output = model.questions[-1][-1]["content"].partition("New facts:")[0]
    assert model.asked[-1] == "decisions"
    assert len(re.findall(r"^\d+\. \(2026-01-01\) User visited ", output, re.MULTILINE)) == 5


@pytest.mark.req("C-22", "X-40")
async def test_the_memories_near_a_talk_are_shown_by_number_and_day_whatever_the_run(
    face: Face, model: Model, opens: Opens
) -> None:
    model.knows = {"in Oslo": "User lives in Oslo.", "in Bergen": "User lives in Bergen."}
    model.decides = {"User lives in Bergen.": {"operation": "UPDATE", "target": "Oslo"}}
    await told(face, "I live in Oslo.", run_id="monday")
    opens.clock.advance(days=1)

    assert await told(face, "I live in Bergen.", run_id="tuesday") == [("UPDATE", "User lives in Bergen.")]

    assert model.questions[-1][-1]["content"].startswith("Memories:\n1. (2026-01-01) User lives in Oslo.\n\n")
    assert await face.listed() == ["User lives in Bergen."]


@pytest.mark.req("C-58.14", "C-27")
async def test_the_same_fact_again_needs_no_decision(face: Face, model: Model) -> None:
    model.knows = {"love tea": "User loves tea."}
    await told(face, "I love tea.")

    assert await told(face, "Did I mention that I love tea?") == [("NONE", "User loves tea.")]
    assert model.asked == ["operations", "operations"]
    assert (await face.stats())["events"] == 1


async def test_nothing_the_model_may_read_is_no_reason_to_ask_it(
    opens: Opens, server: WireServer, model: Model
) -> None:
    face = opens(configured(server, extract={"roles": ["assistant"]}))

    assert await told(face, "I love tea.") == []
    assert model.asked == []


async def test_the_same_question_is_answered_from_what_was_answered_before(
    opens: Opens, server: WireServer, model: Model
) -> None:
    face = opens(configured(server))
    model.knows = {"love tea": "User loves tea."}
    await told(face, "I love tea.")

    assert await told(face, "I love tea.", user_id="bob") == [("ADD", "User loves tea.")]
    assert model.asked == ["operations"], "another user, the same words at the same time: the same question"


async def test_a_conversation_that_is_sent_again_costs_no_call(face: Face, model: Model, opens: Opens) -> None:
    model.knows = {"love tea": "User loves tea."}
    chat = [{"role": "user", "content": "I love tea."}, {"role": "assistant", "content": "Noted."}]
    await told(face, chat)
    before, asked = await face.export(everybody=True), len(model.asked)
    opens.clock.advance(hours=1)

    assert await told(face, chat) == [("NONE", "User loves tea.")]

    assert len(model.asked) == asked
    assert await face.export(everybody=True) == before


# --- what it is shown -------------------------------------------------------------------------------------------------


@pytest.mark.req("R-8")
async def test_no_id_ever_leaves_for_the_model(face: Face, model: Model, server: WireServer) -> None:
    model.knows = {"in Oslo": "User lives in Oslo.", "in Bergen": "User lives in Bergen."}
    model.decides = {"User lives in Bergen.": {"operation": "UPDATE", "target": "Oslo"}}
    await told(face, "I live in Oslo.", user_id="customer-4711", run_id="run-0815")
    assert (await told(face, "I live in Bergen.", user_id="customer-4711", run_id="run-0815"))[0][0] == "UPDATE"

    sent = b"".join(request.body for request in server.requests).decode()
    exported = await face.export(everybody=True)
    identities = {line["id"] for line in exported if line["type"] != "header"}
    assert len(identities) >= 4
    assert not any(one in sent for one in identities)
    assert "customer-4711" not in sent
    assert "run-0815" not in sent
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", sent)


@pytest.mark.req("C-21", "C-58.39")
async def test_a_prompt_of_ones_own_replaces_the_instructions_for_that_call(face: Face, model: Model) -> None:
    model.knows = {"love tea": "User loves tea.", "love rum": "User loves rum."}
    await told(face, "I love tea.")
    assert await told(face, "I love rum.", prompt="Only look for drinks.") == [("ADD", "User loves rum.")]

    ours, other = (messages[0] for messages in (model.questions[0], model.questions[1]))
    assert other["role"] == "system"
    assert other["content"].startswith("Only look for drinks.")
    assert "long-term memory" in ours["content"]
    assert "long-term memory" not in other["content"]
    assert model.asked[:2] == ["operations", "facts"], "whoever brings a prompt for facts is asked for facts"
    assert '"facts"' in other["content"], "the form of the answer is always asked for"


@pytest.mark.req("C-21", "C-58.39", "C-44")
async def test_prompts_and_instructions_can_be_configured(opens: Opens, server: WireServer, model: Model) -> None:
    prompts = {"fact_extraction": "Look for places.", "update_decision": "Keep the newest."}
    face = opens(configured(server, custom_prompts=prompts, extract={"instructions": "Ignore weekends."}))
    model.knows = {"in Oslo": "User lives in Oslo.", "in Bergen": "User lives in Bergen."}
    await told(face, "I live in Oslo.")
    await told(face, "I live in Bergen.")

    assert model.asked == ["facts", "facts", "decisions"]
    first, _, decision = (messages[0]["content"] for messages in model.questions)
    assert first.startswith("Look for places.")
    assert "Ignore weekends." in first
    assert decision.startswith("Keep the newest.")


@pytest.mark.req("N-34")
async def test_what_was_said_before_in_the_scope_is_shown_for_understanding(face: Face, model: Model) -> None:
    await told(face, "My sister Ingrid is a doctor.")
    await told(face, "Somebody else's words.", user_id="bob")
    model.knows = {"She moved to Rome": "User's sister Ingrid moved to Rome."}

    assert await told(face, "She moved to Rome.") == [("ADD", "User's sister Ingrid moved to Rome.")]

    output = model.questions[-1][-1]["content"]
    before, _, now = output.partition("\nNew turns:\n")
    assert "[1] user: My sister Ingrid is a doctor." in before
    assert "Somebody else" not in output
    assert now.startswith("[2] user: She moved to Rome.\n\nDate: ")


@pytest.mark.req("X-9", "C-18")
async def test_the_conversation_is_lines_of_role_and_content_without_system_and_tools(face: Face, model: Model) -> None:
    chat = [
        {"role": "system", "content": "secret instructions"},
        {"role": "user", "content": "I love tea.", "name": "ann"},
        {"role": "tool", "content": "tool output"},
        {"role": "assistant", "content": "Noted."},
    ]
    await told(face, chat)

    sent = str(model.questions)
    assert "secret instructions" not in sent
    assert "tool output" not in sent
    assert (
        "New turns:\n[1] user (ann): I love tea.\n[2] assistant: Noted.\n\nDate:" in model.questions[0][-1]["content"]
    )


async def test_secrets_do_not_leave_for_the_model(face: Face, server: WireServer) -> None:
    await told(face, "My card is 4111 1111 1111 1111.")
    assert b" 4111" not in b"".join(request.body for request in server.requests)
    assert b"redacted:card" in server.requests[0].body


# --- what it proposes -------------------------------------------------------------------------------------------------


async def test_a_fact_nobody_said_is_not_believed(face: Face, server: WireServer) -> None:
    invented = [
        {"text": "User is a pilot.", "turn": 1, "quote": "I am a pilot"},
        {"text": "User loves tea.", "turn": 1, "quote": "I love tea"},
        {"text": "User lives in Paris with three children.", "turn": 7, "quote": ""},
    ]
    server.script(completion_reply(json.dumps({"facts": invented})))

    assert await told(face, "I love tea.") == [("ADD", "User loves tea.")]


async def test_the_models_facts_carry_the_words_they_come_from(face: Face, model: Model) -> None:
    model.knows = {"love tea": "User loves tea."}
    await told(face, ["Hello.", "You know, I love tea, really."])

    lines = [line for line in await face.export(everybody=True) if line["type"] == "memory"]
    texts = {line["id"]: line["text"] for line in lines if line["layer"] == "turn"}
    (fact,) = [line for line in lines if line["layer"] == "fact"]
    evidence = fact["data"]["evidence"]
    assert (fact["source"], evidence["quote"]) == ("facts", "love tea")
    assert texts[evidence["turn"]][evidence["start"] : evidence["end"]] == "love tea"


_BERGEN: Final = {"in Oslo": "User lives in Oslo by the sea.", "in Bergen": "User lives in Bergen."}


@pytest.mark.req("C-23", "C-25", "C-26", "C-27", "C-58.15", "C-58.17")
@pytest.mark.parametrize(
    ("decision", "event", "left"),
    [
        ({"operation": "ADD"}, "ADD", ["User lives in Bergen.", "User lives in Oslo by the sea."]),
        ({"operation": "UPDATE", "target": "Oslo"}, "UPDATE", ["User lives in Bergen."]),
        (
            {"operation": "UPDATE", "target": "Oslo", "text": "User lives in Bergen by the sea."},
            "UPDATE",
            ["User lives in Bergen by the sea."],
        ),
        ({"operation": "DELETE", "target": "Oslo"}, "DELETE", []),
        ({"operation": "NONE", "target": "Oslo"}, "NONE", ["User lives in Oslo by the sea."]),
    ],
)
async def test_what_the_model_decides_is_done(
    face: Face, model: Model, opens: Opens, decision: dict[str, Any], event: str, left: list[str]
) -> None:
    model.knows = _BERGEN
    await told(face, "I live in Oslo by the sea.")
    (before,) = (await face.get_all(user_id="alice"))["results"]
    model.decides = {"User lives in Bergen.": decision}
    opens.clock.advance(days=1)

    ((happened, _),) = await told(face, "I live in Bergen.")

    assert happened == event
    assert sorted(await face.listed()) == left
    past = await face.history(before["id"])
    if event in ("UPDATE", "DELETE"):
        assert (past[-1]["event"], past[-1]["old_value"]) == (event, before["memory"])
        assert past[-1]["new_value"] == (left[0] if left else None)
        assert past[-1]["is_deleted"] is (event == "DELETE")
        assert past[-1]["reason"] == "because"
    else:
        assert len(past) == 1
        assert await face.get(before["id"]) == before


@pytest.mark.req("C-58.18", "C-23")
async def test_one_answer_may_add_update_delete_and_leave_alone(face: Face, model: Model, opens: Opens) -> None:
    model.knows = {
        "live in Oslo": "User lives in Oslo.",
        "love tea": "User loves tea.",
        "play chess": "User plays chess.",
    }
    await told(face, ["I live in Oslo.", "I love tea.", "I play chess."])
    model.knows = {
        "live in Rome": "User lives in Rome.",
        "tea a lot": "User loves tea a lot.",
        "stopped chess": "User stopped playing chess.",
        "play golf": "User plays golf.",
    }
    model.decides = {
        "User lives in Rome.": {"operation": "UPDATE", "target": "Oslo"},
        "User loves tea a lot.": {"operation": "NONE", "target": "tea"},
        "User stopped playing chess.": {"operation": "DELETE", "target": "chess"},
        "User plays golf.": {"operation": "ADD"},
    }
    opens.clock.advance(days=1)

    found = await told(face, ["I live in Rome.", "I love tea a lot.", "I stopped chess.", "I play golf."])

    assert [event for event, _ in found] == ["UPDATE", "NONE", "ADD", "DELETE"], "what ends comes last"
    assert sorted(await face.listed()) == ["User lives in Rome.", "User loves tea.", "User plays golf."]


@pytest.mark.req("C-58.16")
async def test_a_new_wording_that_goes_beyond_its_sources_leaves_the_memory_alone(
    face: Face, model: Model, opens: Opens
) -> None:
    model.knows = _BERGEN
    await told(face, "I live in Oslo by the sea.")
    invented = "User lives in a castle in Bergen with a butler and nine horses."
    model.decides = {"User lives in Bergen.": {"operation": "UPDATE", "target": "Oslo", "text": invented}}
    opens.clock.advance(days=1)

    assert await told(face, "I live in Bergen.") == [("ADD", invented)]

    results = (await face.get_all(user_id="alice"))["results"]
    doubts = {one["memory"]: one.get("doubt") for one in results}
    assert doubts["User lives in Oslo by the sea."] is None
    assert doubts[invented] is not None, "it is stored, and marked"


@pytest.mark.req("P-21", "D-13")
async def test_the_model_cannot_let_old_words_replace_newer_ones(face: Face, model: Model) -> None:
    model.knows = _BERGEN
    await told(face, "I live in Oslo by the sea.", occurred_at="2025-06-01")
    for operation in ("UPDATE", "DELETE"):
        model.decides = {"User lives in Bergen.": {"operation": operation, "target": "Oslo"}}
        ((event, _),) = await told(face, "I live in Bergen.", occurred_at="2024-06-01", run_id=operation)
        assert event in ("NONE", "ADD")
        assert "User lives in Oslo by the sea." in await face.listed()


@ON_DISK
@pytest.mark.req("C-23")
async def test_a_decision_about_a_version_that_has_changed_meanwhile_does_not_count(
    opens: Opens, server: WireServer, model: Model
) -> None:
    face = opens(configured(server))
    model.knows = {"love tea": "User loves tea.", "hate tea": "User hates tea."}
    await told(face, "I love tea.")
    (tea,) = (await face.get_all(user_id="alice"))["results"]
    model.decides = {"User hates tea.": {"operation": "UPDATE", "target": "tea"}}
    opens.clock.advance(days=1)

    def change_it_meanwhile(request: WireRequest) -> WireReply:
        answer = model(request)
        with Memory({"store": {"url": opens.url}, "embedder": {"provider": "hash"}}, clock=opens.clock) as other:
            other.update(tea["id"], f"User loves tea with milk, {len(model.asked)} spoons.")
        return answer

    server.handler = change_it_meanwhile

    assert await told(face, "I hate tea.") == [("ADD", "User hates tea.")], "nothing is lost"
    assert len(model.asked) == 3, "it is asked once more, and not again and again"
    assert [one["event"] for one in await face.history(tea["id"])] == ["ADD", "UPDATE", "UPDATE"]
    assert sorted(await face.listed()) == ["User hates tea.", "User loves tea with milk, 3 spoons."]
