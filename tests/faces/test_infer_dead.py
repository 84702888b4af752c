"""What waits and can never be learned from is given up after three tries, counted, and holds nobody up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from memstone.testing.llm import ScriptedLlm
from memstone.testing.wire import WireReply, WireRequest, WireServer, completion_reply, wrong_request
from tests.faces.harness import ON_DISK, Face, Opens
from tests.faces.infer_model import Model, configured
from tests.faces.infer_steps import said_in

_POISON: Final = "My riddle is unspeakable."
_HOPELESS: Final = {
    "prose": completion_reply("I would rather chat."),
    "refused": completion_reply(None, refusal="I cannot help with that."),
    "cut off": completion_reply('{"facts": [{"te', finish_reason="length"),
    "rejected": wrong_request("this model's maximum context length is 8192 tokens"),
}


class Picky:
    """A model that answers everything but one conversation."""

    def __init__(self) -> None:
        self.model = Model()
        self.model.knows = {"love tea": "User loves tea.", "riddle": "User has a riddle."}
        self.poison: WireReply | None = None
        self.tried = 0

    def __call__(self, request: WireRequest) -> WireReply:
        """Fails for the conversation that holds the poison, and for its repair."""
        message = request.json["messages"][1]["content"].rpartition("New turns:\n")[2]
        if self.poison is None or _POISON not in message:
            return self.model(request)
        self.tried += 1
        return self.poison


@pytest.fixture
def picky() -> Picky:
    return Picky()


@pytest.fixture
def server(picky: Picky) -> Iterator[WireServer]:
    with WireServer(picky) as running:
        yield running


@pytest.fixture
def face(opens: Opens, server: WireServer) -> Face:
    return opens(configured(server.url))


@pytest.mark.req("X-25")
@pytest.mark.parametrize("why", _HOPELESS)
async def test_what_fails_three_times_is_dead_and_the_others_are_learned(face: Face, picky: Picky, why: str) -> None:
    picky.poison = _HOPELESS[why]
    assert (await face.add(_POISON, user_id="alice", infer=True))["status"] == "deferred"

    for tries in (1, 2):
        assert await face.sessions.flush(everybody=True) == {"stored": 0, "waiting": 1}, tries
    assert await face.sessions.flush(everybody=True) == {"stored": 0, "waiting": 0}

    stats = await face.stats()
    assert (stats["pending"], stats["dead"]) == (0, 1)
    tried = picky.tried
    assert (await face.add("I love tea.", user_id="alice", infer=True))["status"] == "ok"
    assert await face.sessions.flush(everybody=True) == {"stored": 0, "waiting": 0}
    assert picky.tried == tried, "nobody tries it again"
    assert await face.listed() == ["User loves tea."]
    assert _POISON in await said_in(face), "what was said is kept"


@pytest.mark.req("X-25")
async def test_one_that_fails_does_not_hold_up_those_behind_it(face: Face, picky: Picky, server: WireServer) -> None:
    picky.poison = _HOPELESS["prose"]
    await face.add(_POISON, user_id="alice", infer=True)
    server.script(WireReply(500))
    assert (await face.add("I love tea.", user_id="bob", infer=True))["status"] == "deferred"

    assert await face.sessions.flush(everybody=True) == {"stored": 1, "waiting": 1}

    assert await face.listed(user_id="bob") == ["User loves tea."]


@ON_DISK
@pytest.mark.req("X-25")
async def test_the_inbox_keeps_how_often_it_was_tried_and_what_was_wrong(
    face: Face, picky: Picky, opens: Opens
) -> None:
    picky.poison = _HOPELESS["prose"]
    await face.add(_POISON, user_id="alice", infer=True)
    for _ in range(4):
        await face.sessions.flush(everybody=True)

    ((status, attempts, problem),) = opens.rows("SELECT status, attempts, last_error FROM signals")

    assert (status, attempts) == ("dead", 3)
    assert "could not be parsed" in problem


@ON_DISK
@pytest.mark.req("X-25")
@pytest.mark.parametrize(
    "outage", [WireReply(500), WireReply(429), WireReply(401, json={"error": {"message": "wrong key"}})]
)
async def test_an_outage_counts_against_nobody(face: Face, picky: Picky, opens: Opens, outage: WireReply) -> None:
    picky.poison = outage
    await face.add(_POISON, user_id="alice", infer=True)
    for _ in range(4):
        assert await face.sessions.flush(everybody=True) == {"stored": 0, "waiting": 1}
    assert opens.rows("SELECT status, attempts FROM signals") == [("pending", 0)]
    stats = await face.stats()
    assert (stats["pending"], stats["dead"]) == (1, 0)


@pytest.mark.req("X-25")
async def test_a_function_that_throws_for_one_conversation_holds_up_no_other(opens: Opens) -> None:
    down = True

    def answer(messages: list[dict[str, str]]) -> str:
        text = messages[1]["content"]
        if down or _POISON in text.rpartition("New turns:\n")[2]:
            raise RuntimeError("it might have been the network")
        return '{"facts": [{"text": "User loves tea.", "turn": 1, "quote": "love tea"}]}'

    face = opens(llm=answer)
    for user, sentence in (("alice", _POISON), ("bob", "I love tea.")):
        assert (await face.add(sentence, user_id=user, infer=True))["status"] == "deferred"
    down = False

    for _ in range(4):
        await face.sessions.flush(everybody=True)

    assert await face.listed(user_id="bob") == ["User loves tea."]
    stats = await face.stats()
    assert (stats["pending"], stats["dead"]) == (1, 0), "it keeps waiting: nobody knows what was wrong"


@pytest.mark.req("X-25")
async def test_after_two_failures_in_a_row_that_nobody_understands_the_rest_is_left_for_later(opens: Opens) -> None:
    llm = ScriptedLlm(lambda _: RuntimeError("it might have been the network"))
    face = opens(llm=llm)
    for user in ("ann", "bob", "cid", "dan"):
        await face.add("I love tea.", user_id=user, infer=True)
    asked = len(llm.prompts)

    assert await face.sessions.flush(everybody=True) == {"stored": 0, "waiting": 4}

    assert len(llm.prompts) == asked + 2
