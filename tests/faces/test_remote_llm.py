"""A language model outside this machine is told nothing, but by agents that have opted in."""

from __future__ import annotations

from typing import Any, Final

import pytest

from memstone.errors import Forbidden
from memstone.ports.models import Prompt
from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import Opens

HOME: Final[dict[str, Any]] = {"write": {"remote_llm": False}}
SESSION: Final[dict[str, Any]] = {"write": {"remote_llm": False, "mode": "manual", "digest": True}}
_LONG: Final = "I live in Oslo. " + "We talked about the harbour, the boats and the weather for a good while. " * 2


def model_at(destination: str) -> ScriptedLlm:
    """A model that finds one thing to remember, wherever it stands."""

    def answer(_: Prompt) -> dict[str, object]:
        return {"operations": [{"op": "ADD", "text": "User lives in Oslo, says the model.", "quote": "I live in Oslo"}]}

    made = ScriptedLlm(answer)
    made.destination = destination
    return made


@pytest.mark.req("N-31.1")
async def test_only_what_an_agent_that_opted_in_is_told_leaves_the_machine(opens: Opens) -> None:
    llm = model_at("api.example.com")
    face = opens(HOME, llm=llm)
    await face.settings.set({"write.remote_llm": True}, agent_id="open")

    await face.add("I live in Oslo.", user_id="alice")
    await face.add("I live in Oslo.", user_id="bob", agent_id="closed")
    assert llm.prompts == []
    assert await face.listed() == ["User lives in Oslo."], "rules have learned it"

    await face.add("I live in Oslo.", user_id="carl", agent_id="open")
    assert len(llm.prompts) == 1
    assert await face.listed(user_id="carl") == ["User lives in Oslo, says the model."]

    await face.add("I live in Lima.", user_id="bob", agent_id="closed")
    await face.settings.unset(["write.remote_llm"], agent_id="open")
    await face.add("I live in Oslo.", user_id="dora", agent_id="open")
    assert len(llm.prompts) == 1


@pytest.mark.req("N-31.1")
@pytest.mark.parametrize("destination", ["this machine", "localhost", "127.0.0.1", "::1", "your own function"])
async def test_a_model_on_this_machine_may_always_be_asked(opens: Opens, destination: str) -> None:
    llm = model_at(destination)
    face = opens(HOME, llm=llm)
    await face.add("I live in Oslo.", user_id="alice")
    assert len(llm.prompts) == 1


@pytest.mark.req("N-31.1")
async def test_a_session_is_distilled_outside_only_for_an_agent_that_opted_in(opens: Opens) -> None:
    llm = model_at("api.example.com")
    face = opens(SESSION, llm=llm)
    await face.settings.set({"write.remote_llm": True}, agent_id="open")
    for agent in ("closed", "open"):
        await face.add(_LONG, user_id="alice", agent_id=agent, run_id=agent)

    await face.sessions.flush(user_id="alice", agent_id="closed", run_id="closed")
    assert llm.prompts == []
    assert await face.found("harbour", layers=["episode"]), "rules have distilled it"

    await face.sessions.flush(user_id="alice", agent_id="open", run_id="open")
    assert llm.prompts


@pytest.mark.req("N-31.1")
async def test_the_text_about_a_person_follows_the_setting_of_the_person(opens: Opens) -> None:
    llm = model_at("api.example.com")
    face = opens(HOME, llm=llm)
    await face.settings.set({"write.remote_llm": True}, agent_id="open")
    await face.add("My name is Alice. I work as a nurse.", user_id="alice")
    await face.admin.consolidate(user_id="alice", agent_id="open")
    assert llm.prompts == []


@pytest.mark.req("N-31.1")
async def test_who_is_bound_to_an_agent_cannot_opt_in_for_it(opens: Opens) -> None:
    face = opens(HOME, llm=model_at("api.example.com"))
    bound = face.memory.acting_for("default", agent_id="closed")
    with pytest.raises(Forbidden):
        await type(face)(bound).settings.set({"write.remote_llm": True}, agent_id="closed")
