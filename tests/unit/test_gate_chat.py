from __future__ import annotations

import pytest

from memstone.compose import compose_engine
from memstone.core.gate import TOO_SHORT, decide_route, query_of
from memstone.core.llm.parse import UnreadableAnswer
from memstone.core.llm.questions import MAX_MESSAGE, gate_question, parse_route
from memstone.drive import drive
from memstone.engine.recall.gate import run_gate
from memstone.errors import LlmUnavailable
from memstone.model.context_gate import GateDecision, Route
from memstone.model.scope import Scope
from memstone.testing.llm import Answer, ScriptedLlm
from tests.english import ENGLISH

NOTHING = "How do volcanoes form?"
SCOPE = Scope("default", "alice")


# --- the query of a chat ----------------------------------------------------------------------------------------------


@pytest.mark.req("O-53")
def test_the_query_is_the_newest_text_of_the_user() -> None:
    chat = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "yes?"},
        {"role": "user", "content": " second "},
        {"role": "assistant", "content": "well"},
    ]
    assert query_of(chat) == "second"
    assert query_of(" only text ") == "only text"
    assert query_of([]) == ""


@pytest.mark.req("O-53")
@pytest.mark.parametrize(
    "kind",
    [
        "function_call",
        "function_call_output",
        "tool_call",
        "tool_result",
        "reasoning",
        "computer_call",
        "computer_call_output",
        "web_search_call",
        "file_search_call",
    ],
)
def test_calls_of_tools_their_output_and_reasoning_are_skipped(kind: str) -> None:
    item = {"type": kind, "role": "user", "content": "noise", "output": "noise"}
    assert query_of([{"type": "message", "role": "user", "content": "real"}, item]) == "real"


@pytest.mark.req("O-53")
def test_the_parts_of_a_message_are_joined_by_a_blank() -> None:
    parts = [
        {"type": "input_text", "text": "look at"},
        {"type": "input_image", "image_url": "data:..."},
        {"type": "tool_result", "content": "noise"},
        {"type": "text", "text": " this "},
    ]
    assert query_of([{"role": "user", "content": parts}]) == "look at this"


@pytest.mark.req("O-53")
def test_a_message_without_text_is_passed_over() -> None:
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}
    assert query_of([{"role": "user", "content": "before"}, picture, {"role": "user", "content": None}]) == "before"


# --- a language model as the second opinion ---------------------------------------------------------------------------


def gated(message: str, *answers: Answer, mode: str = "llm", names: tuple[str, ...] = ()) -> tuple[GateDecision, int]:
    """What the gate decides, and how often the model was asked."""
    llm = ScriptedLlm(answers)
    engine = compose_engine({"store": {"url": "memory:"}}, "blocking", llm=llm)
    return drive(run_gate(engine.runtime, SCOPE, message, mode, names)), len(llm.prompts)


@pytest.mark.req("S-28", "D-10")
def test_the_model_is_asked_once_where_the_rules_find_nothing() -> None:
    decision, calls = gated(NOTHING, {"route": "pinned"})
    assert (decision.route, calls) == (Route.PINNED, 1)
    assert "gate.v3" in decision.reason


@pytest.mark.req("S-28")
def test_the_model_is_not_asked_where_the_rules_decide_or_nothing_is_said() -> None:
    assert gated("What is my name?")[1] == 0
    assert gated("Is Quillfeather done?", names=("Quillfeather",)) == (
        decide_route("Quillfeather", ENGLISH, names=["Quillfeather"]),
        0,
    )
    assert gated("ok") == (TOO_SHORT, 0)


@pytest.mark.req("S-28", "X-4")
@pytest.mark.parametrize("mode", ["heuristic", "always", "off"])
def test_other_modes_never_ask_the_model(mode: str) -> None:
    assert gated(NOTHING, mode=mode) == (decide_route(NOTHING, ENGLISH, mode=mode), 0)


@pytest.mark.req("S-28", "D-10")
@pytest.mark.parametrize(
    "answer", [LlmUnavailable("down"), RuntimeError("somebody else's adapter"), "I am not sure.", "", {"route": "moon"}]
)
def test_a_model_that_fails_leaves_what_the_rules_said_and_the_reason_tells(answer: Answer) -> None:
    decision, calls = gated(NOTHING, answer)
    assert (decision.route, calls) == (Route.NONE, 1)
    assert "the language model failed" in decision.reason


@pytest.mark.req("D-10")
def test_without_a_model_the_rules_decide_and_the_reason_tells() -> None:
    engine = compose_engine({"store": {"url": "memory:"}}, "blocking")
    decision = drive(run_gate(engine.runtime, SCOPE, NOTHING, "llm"))
    assert (decision.route, "no language model" in decision.reason) == (Route.NONE, True)


@pytest.mark.req("D-10")
@pytest.mark.parametrize(
    "answer",
    [
        '{"route": "episode"}',
        'Sure! ```json\n{"route": "Episode"}\n```',
        "episode",
        '["episode"]',
        '[{"layer": "episode"}]',
        "{'route': 'episode',}",
    ],
)
def test_the_layer_is_read_from_what_models_answer(answer: str) -> None:
    assert parse_route(answer) is Route.EPISODE


@pytest.mark.parametrize("answer", ["", "none or pinned", "{}", '{"route": 3}', "yes"])
def test_an_answer_that_names_no_layer_or_several_is_unreadable(answer: str) -> None:
    with pytest.raises(UnreadableAnswer):
        parse_route(answer)


@pytest.mark.req("D-10")
def test_the_model_sees_the_message_as_material_and_of_a_long_one_both_ends() -> None:
    system, asked = (message["content"] for message in gate_question("begin " + "x" * 5_000 + " end").messages)
    assert "not an instruction" in system
    assert '"route"' in system
    assert asked.startswith("The message:\n<message>\nbegin")
    assert asked.endswith("end\n</message>")
    assert len(asked) < MAX_MESSAGE + 100
