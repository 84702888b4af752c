"""An answer that was cut off: what is complete in it is learned, the rest waits, and the answer says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from memstone.errors import AnswerCutOff
from memstone.testing.wire import WireReply, WireServer, completion_reply
from tests.faces.harness import Face, Opens
from tests.faces.infer_model import Model, configured

_SAID: Final = "I love tea and I live in Oslo."
_TEA: Final = {"text": "User loves tea.", "turn": 1, "quote": "love tea"}
_OSLO: Final = {"text": "User lives in Oslo.", "turn": 1, "quote": "live in Oslo"}
_WHOLE: Final = json.dumps({"facts": [_TEA, _OSLO]})
_HALF: Final = _WHOLE[:-30]
_NOTHING: Final = _WHOLE[:30]

_CUT: Final = {
    "by the limit of tokens": completion_reply(_HALF, finish_reason="length"),
    "without saying so": completion_reply(_HALF),
}


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(Model()) as running:
        yield running


@pytest.fixture
def face(opens: Opens, server: WireServer) -> Face:
    return opens(configured(server.url))


async def said(face: Face, **rest: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await face.add(_SAID, user_id="alice", infer=True, **rest)
    return answer


@pytest.mark.req("C-20", "X-25")
@pytest.mark.parametrize("how", _CUT)
@pytest.mark.parametrize(
    "again",
    [_CUT["by the limit of tokens"], completion_reply("Sure!"), WireReply(500)],
    ids=["cut again", "prose", "down"],
)
async def test_what_is_complete_is_learned_and_the_rest_waits(
    face: Face, server: WireServer, how: str, again: WireReply
) -> None:
    server.script(_CUT[how], again)

    answer = await said(face)

    assert (answer["status"], answer["error"]["code"]) == ("partial", "answer_cut_off")
    assert [(one["event"], one["memory"]) for one in answer["results"]] == [("ADD", "User loves tea.")]
    assert await face.listed() == ["User loves tea."]
    assert (await face.stats())["pending"] == 1
    assert len(server.requests) == 2, "it was asked once more"

    server.script(completion_reply(_WHOLE))
    assert await face.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}
    assert sorted(await face.listed()) == ["User lives in Oslo.", "User loves tea."]
    stats = await face.stats()
    assert (stats["pending"], stats["events"]) == (0, 2), "nothing was learned twice"


@pytest.mark.req("C-20")
@pytest.mark.parametrize("how", _CUT)
async def test_a_second_answer_that_is_whole_is_all_there_is_to_it(face: Face, server: WireServer, how: str) -> None:
    server.script(_CUT[how], completion_reply(_WHOLE))

    assert (await said(face))["status"] == "ok"

    assert sorted(await face.listed()) == ["User lives in Oslo.", "User loves tea."]
    assert (await face.stats())["pending"] == 0
    assert "was cut off" in str(server.requests[1].json) or "cut off" in str(server.requests[1].json)


@pytest.mark.req("C-20")
async def test_of_two_answers_that_break_off_the_longer_counts(face: Face, server: WireServer) -> None:
    server.script(completion_reply(_NOTHING, finish_reason="length"), completion_reply(_HALF, finish_reason="length"))

    assert (await said(face))["status"] == "partial"
    assert await face.listed() == ["User loves tea."]


@pytest.mark.req("C-20", "X-25")
async def test_an_answer_that_breaks_off_before_anything_is_complete_is_a_failure(
    face: Face, server: WireServer
) -> None:
    cut = completion_reply(_NOTHING, finish_reason="length")
    server.script(cut, cut)

    answer = await said(face)

    assert (answer["status"], answer["results"], answer["error"]["code"]) == ("deferred", [], "answer_cut_off")
    assert (await face.stats())["pending"] == 1


@pytest.mark.req("C-20")
async def test_an_answer_that_ends_at_the_limit_and_is_whole_is_whole(face: Face, server: WireServer) -> None:
    server.script(completion_reply(_WHOLE + "\n" * 50, finish_reason="length"))

    assert (await said(face))["status"] == "ok"
    assert len(await face.listed()) == 2
    assert len(server.requests) == 1


@pytest.mark.req("X-25", "C-54")
async def test_whoever_is_strict_hears_of_it_and_nothing_is_learned(face: Face, server: WireServer) -> None:
    server.script(_CUT["without saying so"], _CUT["without saying so"])

    with pytest.raises(AnswerCutOff) as caught:
        await said(face, strict=True)

    assert caught.value.hint
    stats = await face.stats()
    assert (stats["memories"], stats["events"], stats["pending"]) == (0, 0, 0)


@pytest.mark.req("C-20", "C-58.15")
async def test_of_decisions_that_break_off_the_complete_ones_count(
    face: Face, server: WireServer, opens: Opens
) -> None:
    face = opens(configured(server.url, extract={"questions": 2}))
    server.script(completion_reply(_WHOLE))
    await said(face)
    hates = {"text": "User hates tea.", "turn": 1, "quote": "hate tea"}
    rome = {"text": "User lives in Rome.", "turn": 1, "quote": "live in Rome"}
    server.script(completion_reply(json.dumps({"facts": [hates, rome]})))
    decisions = json.dumps(
        {
            "decisions": [
                {"fact": 1, "operation": "ADD", "target": None, "text": None, "reason": "because"},
                {"fact": 2, "operation": "ADD", "target": None, "text": None, "reason": "because"},
            ]
        }
    )
    cut = completion_reply(decisions[:-40], finish_reason="length")
    server.script(cut, cut)
    opens.clock.advance(days=1)

    answer = await face.add("I hate tea and I live in Rome.", user_id="alice", infer=True)

    assert answer["status"] == "ok"
    (why,) = answer["degraded"]
    assert (why["step"], why["code"]) == ("decision", "answer_cut_off")
    assert [(one["event"], one["memory"]) for one in answer["results"]] == [
        ("ADD", "User hates tea."),
        ("ADD", "User lives in Rome."),
    ], "what the model did not get to say changes nothing"
