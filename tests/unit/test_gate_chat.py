from __future__ import annotations

import pytest

from memstone.compose import compose_engine
from memstone.core.gate import TOO_SHORT, decide_route
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
