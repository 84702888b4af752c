"""What an agent did becomes one memory of the agent: in a model's words, or as it was said."""

from __future__ import annotations

from typing import Any, Final

import pytest

from memstone.errors import InvalidInput, LLMError, ModelError
from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import Opens

RUN: Final = [
    {"role": "user", "content": "Deploy the shop to stage 3."},
    {"role": "assistant", "content": "I ran make deploy-3; the health check answered 200."},
]
BOT: Final[dict[str, Any]] = {"user_id": "alice", "agent_id": "ops", "kind": "procedural"}
DONE: Final = "Goal: deploy the shop to stage 3.\n1. make deploy-3: the health check answered 200.\nDone."


@pytest.mark.req("N-39.1")
@pytest.mark.parametrize("answer", [{"procedure": DONE}, DONE, {"summary": DONE}])
async def test_a_model_writes_down_what_the_agent_did(opens: Opens, answer: Any) -> None:
    llm = ScriptedLlm([answer])
    face = opens(llm=llm)

    made = await face.add(RUN, **BOT, metadata={"task": "deploy"})

    (one,) = made["results"]
    assert (made["status"], one["event"], one["memory"]) == ("ok", "ADD", DONE)
    item = await face.get(one["id"])
    assert (item["kind"], item["agent_id"], item["role"], item["metadata"]) == (
        "procedural", "ops", "assistant", {"task": "deploy"}
    )  # fmt: skip
    (prompt,) = llm.prompts
    assert "user: Deploy the shop to stage 3.\nassistant: I ran make deploy-3" in prompt.messages[1]["content"]
    assert await face.listed() == [one["memory"]], "nothing else is learned, and no turn is kept"
    assert (await face.identity.instructions(user_id="alice"))["instructions"] == [], "it is no wish of the user"
    assert [hit["id"] for hit in (await face.search("deploy the shop", agent_id="ops"))["results"]] == [one["id"]]


@pytest.mark.req("N-39.1")
async def test_without_a_model_it_is_stored_as_it_was_said_and_add_says_so(opens: Opens) -> None:
    face = opens()
    made = await face.add(RUN, **BOT)
    (one,) = made["results"]
    assert (
        one["memory"]
        == "user: Deploy the shop to stage 3.\nassistant: I ran make deploy-3; the health check answered 200."
    )
    assert made["warnings"] == ["no language model summarises what the agent did here, so it was stored as it was said"]
    assert [one["event"] for one in (await face.add(RUN, **BOT))["results"]] == ["NONE"]


@pytest.mark.req("N-39.1")
async def test_a_model_that_fails_loses_nothing_and_is_an_error_for_who_is_strict(opens: Opens) -> None:
    face = opens(llm=ScriptedLlm(lambda _: LLMError("out of order")))
    made = await face.add(RUN, **BOT)
    assert "make deploy-3" in made["results"][0]["memory"]
    assert [one["step"] for one in made["degraded"]] == ["procedure"]
    with pytest.raises(ModelError):
        await face.add("I ran make rollback.", **BOT, strict=True)
    assert len(await face.listed()) == 1


@pytest.mark.req("N-39.1")
async def test_a_prompt_replaces_the_instructions_and_a_secret_does_not_reach_the_model(opens: Opens) -> None:
    llm = ScriptedLlm([{"procedure": DONE}])
    face = opens(llm=llm)
    said = [*RUN, {"role": "assistant", "content": "The token was ghp_0123456789abcdefghijABCDEFGHIJ012345."}]
    made = await face.add(said, **BOT, prompt="Only list the commands.")
    assert llm.prompts[0].messages[0]["content"].startswith("Only list the commands.")
    assert "ghp_0123" not in str(llm.prompts[0].messages)
    assert made["warnings"]


@pytest.mark.req("N-39.1")
async def test_every_item_of_a_batch_can_be_one_and_switches_hold(opens: Opens) -> None:
    face = opens(llm=ScriptedLlm([{"procedure": DONE}]))
    batch = await face.add_many([{"messages": RUN, **BOT}])
    assert [one["memory"] for one in batch["results"][0]["results"]] == [DONE]
    await face.settings.set({"policy.learns": False}, agent_id="ops")
    assert (await face.add(RUN, **BOT))["status"] == "disabled"


@pytest.mark.req("N-39.1")
async def test_only_an_agent_has_procedures(opens: Opens) -> None:
    face = opens()
    with pytest.raises(InvalidInput, match="a kind describes one memory"):
        await face.add(RUN, user_id="alice", kind="procedural")
    with pytest.raises(InvalidInput, match="a kind describes one memory"):
        await face.add(RUN, user_id="alice", agent_id="ops", kind="semantic")
    with pytest.raises(InvalidInput, match="the messages say nothing"):
        await face.add([{"role": "system", "content": "Be brief."}], **BOT)
