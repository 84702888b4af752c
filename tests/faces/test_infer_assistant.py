"""What is learned from the assistant's words: what they say about the user and what was agreed, never more trusted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from memstone import ScopeError
from memstone.adapters.embed.curator import LocalCurator
from memstone.language.en.facts import read_message
from memstone.testing.wire import WireServer
from tests.faces.harness import Face, Opens
from tests.faces.infer_model import Model, configured
from tests.faces.infer_steps import kept

_STAMP: Final = {"category", "extractedAt", "source"}


def says(*texts: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text} for text in texts]


async def facts(face: Face) -> list[dict[str, Any]]:
    return [line for line in await kept(face) if line["layer"] != "turn"]


@pytest.mark.req("X-36", "R-32")
async def test_by_default_only_what_it_says_about_the_user_and_what_was_agreed_is_learned(face: Face) -> None:
    chat = says(
        "I love Norway and I usually travel in May. Oslo is a city. You should try the fish soup.",
        "Noted: you're allergic to peanuts. So we agreed on weekly reports.",
    )

    answer = await face.add(chat, user_id="alice", infer=True)

    assert answer["status"] == "ok"
    assert sorted(await face.listed()) == ["User decided on weekly reports.", "User is allergic to peanuts."]


@pytest.mark.req("X-36", "R-32")
async def test_it_is_of_the_assistants_origin_and_stays_an_ordinary_fact(face: Face) -> None:
    await face.add(says("Your name is Anna."), user_id="alice", infer=True)

    (fact,) = await facts(face)
    assert (fact["text"], fact["origin"], fact["source_role"]) == ("User's name is Anna.", "assistant", "assistant")
    assert (fact["layer"], fact["status"]) == ("fact", "active"), "never identity, never pinned"
    assert fact["trust"] < 1
    quote = fact["data"]["evidence"]["quote"]
    assert quote == "Your name is Anna."


@pytest.mark.req("X-36")
async def test_it_overturns_nothing_the_user_said(face: Face, opens: Opens) -> None:
    await face.add("I live in Oslo.", user_id="alice", infer=True)
    opens.clock.advance(days=1)

    answer = await face.add(says("Got it, you live in Paris."), user_id="alice", infer=True)

    assert [one["event"] for one in answer["results"]] == ["NONE"]
    assert await face.listed() == ["User lives in Oslo."]


@pytest.mark.req("X-36", "O-29", "O-30", "O-31")
async def test_what_it_says_of_itself_is_read_when_the_configuration_asks_for_it(opens: Opens) -> None:
    chat = says("I really like tabs. I'll use Postgres. I usually run at 6. You live in Oslo.")
    face = opens({"extract": {"assistant_first_person": True}})

    await face.add(chat, user_id="alice", infer=True)

    found = {line["data"]["category"]: line["text"] for line in await facts(face)}
    assert "tabs" in found["preference"]
    assert "Postgres" in found["decision"]
    assert "usually runs" in found["pattern"]
    assert "Oslo" in found["home"]
    assert {line["origin"] for line in await facts(face)} == {"assistant"}


@pytest.mark.req("O-35")
async def test_a_fact_from_an_answer_carries_category_time_and_source(face: Face, opens: Opens) -> None:
    chat = [{"role": "user", "content": "I love tea."}, *says("You told me that you speak Norwegian.")]

    await face.add(chat, user_id="alice", metadata={"via": "app"}, infer=True)

    items = {item["memory"]: item for item in (await face.get_all(user_id="alice"))["results"]}
    spoken, tea = items["User speaks Norwegian."]["metadata"], items["User loves tea."]["metadata"]
    assert spoken["category"] == "skill"
    assert spoken["source"] == "llm_response"
    assert spoken["extractedAt"] == items["User speaks Norwegian."]["created_at"]
    assert spoken["via"] == tea["via"] == "app"
    assert not _STAMP & tea.keys(), "the user's own words need no such mark"
    assert items["User speaks Norwegian."]["expires_at"] is None


@pytest.fixture
def server() -> Iterator[WireServer]:
    model = Model()
    model.knows = {"you play chess": "User plays chess.", "love Norway": "User loves Norway."}
    with WireServer(model) as running:
        yield running


@pytest.mark.req("X-36")
async def test_the_same_holds_when_a_model_finds_it(opens: Opens, server: WireServer) -> None:
    face = opens(configured(server.url))

    await face.add(says("You told me that you play chess. I love Norway."), user_id="alice", infer=True)

    found = {one["memory"]: one for one in (await face.get_all(user_id="alice"))["results"]}
    item = found.pop("User plays chess.")
    assert (item["role"], item.get("doubt")) == ("assistant", None)
    assert item["metadata"].keys() == _STAMP
    assert {one["doubt"] for one in found.values()} <= {"it was said of somebody else"}


@pytest.mark.req("O-37")
@pytest.mark.parametrize("text", ["", " \n ", "...", "12:30", "The capital of Norway is Oslo.", "How are you?"])
def test_nothing_to_read_gives_no_facts(text: str) -> None:
    assert read_message(text, LocalCurator()).facts == []


@pytest.mark.req("O-37")
async def test_with_nobody_to_own_it_nothing_is_extracted(opens: Opens, server: WireServer) -> None:
    face = opens(configured(server.url))
    with pytest.raises(ScopeError):
        await face.add("I live in Oslo.", infer=True)
    assert ((await face.stats())["memories"], server.requests) == (0, [])


@pytest.mark.req("O-37")
@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "system", "content": "I live in Oslo."},
        {"role": "tool", "content": "I live in Oslo."},
    ],
)
async def test_a_message_without_words_of_anybody_is_passed_over_in_silence(
    opens: Opens, server: WireServer, message: dict[str, Any]
) -> None:
    face = opens(configured(server.url))

    assert await face.add(message, user_id="alice", infer=True) == {"results": [], "status": "ok"}

    stats = await face.stats()
    assert (stats["memories"], stats["pending"]) == (0, 0)
    assert server.requests == [], "and nobody is asked about it"
