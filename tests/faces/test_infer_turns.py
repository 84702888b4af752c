"""What ``add(infer=True)`` keeps of a conversation: turns, the words facts come from, nothing it injected itself."""

from __future__ import annotations

from typing import Final

import pytest

from memstone.core.prompt.fence import Fence
from tests.faces.harness import ON_DISK, Face, Opens, ids, texts
from tests.faces.infer_steps import LOCAL, kept, told, turns


@pytest.fixture
def real(opens: Opens) -> Face:
    return opens(LOCAL)


_CHAT: Final = [
    {"role": "system", "content": "You are a helpful bot. I love cheese and I live in the cloud."},
    {"role": "user", "content": "I live in Oslo.", "name": "ann"},
    {"role": "tool", "content": "I love wine.", "tool_call_id": "1"},
    {"role": "assistant", "content": "I love Oslo too. I live in Norway."},
    {"role": "user", "content": "I have two cats.", "name": "ann"},
]


@pytest.mark.req("X-9", "C-18")
async def test_what_users_and_assistants_say_is_kept_as_turns_and_only_users_are_learned_from(face: Face) -> None:
    answer = await face.add(_CHAT, user_id="alice", agent_id="guide", run_id="monday", infer=True)

    assert len(answer["results"]) == 2
    assert not any(word in str(answer) for word in ("cheese", "wine", "cloud", "Norway"))
    lines = [line for line in await kept(face) if line["layer"] == "turn"]
    assert [line["text"] for line in lines] == [
        "I live in Oslo.",
        "I love Oslo too. I live in Norway.",
        "I have two cats.",
    ]
    assert [line["source_role"] for line in lines] == ["user", "assistant", "user"]
    assert [line["data"]["speaker"] for line in lines] == ["ann", "assistant", "ann"]
    assert [line["data"]["index"] for line in lines] == [0, 1, 2]
    for line in lines:
        (link,) = line["links"]
        assert (link["user_id"], link["agent_id"], link["run_id"]) == ("alice", "guide", "monday")
    visible = await turns(face)
    assert {(turn["run_id"], turn["layer"]) for turn in visible} == {("monday", "turn")}
    stored = str(await kept(face))
    assert "cheese" not in stored
    assert "wine" not in stored


@pytest.mark.req("X-9")
async def test_turns_are_found_only_by_those_who_ask_for_turns(face: Face, opens: Opens) -> None:
    await told(face, "I live in Oslo.", opens)

    assert await face.listed() == ["User lives in Oslo."]
    assert await face.found("Oslo") == ["User lives in Oslo."]
    assert texts(await face.search("Oslo", user_id="alice", layers=["turn"])) == ["I live in Oslo."]


@pytest.mark.req("X-9")
async def test_whose_words_are_read_is_a_setting(opens: Opens) -> None:
    chat = [
        {"role": "user", "content": "I live in Oslo."},
        {"role": "assistant", "content": "I live in Norway."},
    ]
    only_assistant = opens({"extract": {"roles": ["assistant"], "assistant_first_person": True}})
    answer = await only_assistant.add(chat, user_id="u1", infer=True)
    assert len(answer["results"]) == 1
    (item,) = (await only_assistant.get_all(user_id="u1"))["results"]
    assert "Norway" in item["memory"]
    assert item["role"] == "assistant"
    only_user = opens({"extract": {"roles": ["user"], "assistant_first_person": True}})
    await only_user.add(chat, user_id="u2", infer=True)
    (item,) = (await only_user.get_all(user_id="u2"))["results"]
    assert (item["memory"], item["role"]) == ("User lives in Oslo.", "user")


@pytest.mark.req("X-9")
async def test_every_fact_shows_the_words_it_comes_from(face: Face, opens: Opens) -> None:
    await told(face, _CHAT, opens)
    await told(face, "By the way, I work at Acme as a nurse. Anyway!\nI hate tea.", opens)

    lines = await kept(face)
    texts = {line["id"]: line["text"] for line in lines if line["layer"] == "turn"}
    facts = [line for line in lines if line["layer"] == "fact"]
    assert len(facts) == 4
    for fact in facts:
        evidence = fact["data"]["evidence"]
        assert evidence["quote"]
        assert texts[evidence["turn"]][evidence["start"] : evidence["end"]] == evidence["quote"]
    tea = next(fact for fact in facts if "tea" in fact["text"])
    assert tea["data"]["evidence"]["quote"] == "I hate tea."


async def test_secrets_are_masked_before_anything_is_stored(face: Face, opens: Opens) -> None:
    answer = await face.add(
        ["I love tea.", "My card is 4111 1111 1111 1111, and I live in Oslo."], user_id="alice", infer=True
    )

    assert any("card" in warning and "messages[1]" in warning for warning in answer["warnings"])
    everything = str(await face.export(everybody=True)) + str(answer)
    assert " 4111" not in everything  # a random id may hold the digits, and no blank
    assert any("[redacted:card]" in turn["memory"] for turn in await turns(face))
    assert "User lives in Oslo." in await face.listed()
    assert await face.found("4111", layers=["turn", "fact"], strategy="text") == []


@ON_DISK
async def test_a_masked_secret_stands_nowhere_in_the_file(face: Face, opens: Opens) -> None:
    await told(face, "My card is 4111 1111 1111 1111.", opens)
    await face.close()
    assert opens.path is not None
    for file in opens.path.parent.iterdir():
        assert b"4111 1111" not in file.read_bytes(), file


async def test_a_message_with_a_secret_may_be_refused_altogether(opens: Opens) -> None:
    face = opens({"extract": {"redact": {"card": "drop"}}})
    answer = await face.add(["I love tea.", "I live in Oslo, card 4111 1111 1111 1111"], user_id="alice", infer=True)

    assert await face.listed() == ["User loves tea."]
    assert [turn["memory"] for turn in await turns(face)] == ["I love tea."]
    assert any("not stored" in warning for warning in answer["warnings"])


@pytest.mark.req("P-14", "R-31")
async def test_a_conversation_that_is_sent_again_as_a_whole_changes_nothing(face: Face, opens: Opens) -> None:
    chat = [
        {"role": "user", "content": "I love tea."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "I live in Oslo."},
    ]
    await told(face, chat, opens)
    before = await face.export(everybody=True)

    events = await told(face, chat, opens)

    assert {event for event, _ in events} == {"NONE"}
    assert await face.export(everybody=True) == before
    grown = [*chat, {"role": "assistant", "content": "Nice."}, {"role": "user", "content": "I have two cats."}]
    assert [event for event, _ in await told(face, grown, opens)] == ["NONE", "NONE", "ADD"]
    assert [turn["memory"] for turn in await turns(face)].count("I love tea.") == 1
    assert len(await turns(face)) == 5


@pytest.mark.req("P-21", "D-13")
async def test_a_conversation_sent_again_does_not_bring_back_what_it_has_itself_overturned(
    face: Face, opens: Opens
) -> None:
    chat = [{"role": "user", "content": "I love tea."}]
    await told(face, chat, opens)
    chat += [{"role": "assistant", "content": "Noted."}, {"role": "user", "content": "I hate tea."}]
    await told(face, chat, opens)
    chat += [{"role": "assistant", "content": "Oh."}, {"role": "user", "content": "I have two cats."}]
    await told(face, chat, opens)

    assert sorted(await face.listed()) == ["User has two cats.", "User hates tea."]
    tea = next(item for item in (await face.get_all(user_id="alice"))["results"] if "tea" in item["memory"])
    assert tea["version"] == 2, "the whole conversation was sent three times, and tea changed once"


async def test_what_a_person_deleted_does_not_come_back_with_the_old_words(face: Face, opens: Opens) -> None:
    chat = [{"role": "user", "content": "I love tea."}]
    await told(face, chat, opens)
    await face.delete(ids(await face.get_all(user_id="alice"))[0])

    await told(face, [*chat, {"role": "user", "content": "I live in Oslo."}], opens)
    assert await face.listed() == ["User lives in Oslo."]

    await told(face, "I love tea.", opens)
    assert "User loves tea." in await face.listed(), "but it may be said again"


# --- what was injected ------------------------------------------------------------------------------------------------


@pytest.mark.req("R-11")
async def test_ten_turns_with_everything_remembered_injected_do_not_grow_the_memory(real: Face, opens: Opens) -> None:
    fence = Fence(b"a secret of this tenant")
    await told(real, "I'm Alice. I live in Oslo. I love tea. I have two cats. I work at Acme as a nurse.", opens)
    before = await real.get_all(user_id="alice")
    assert len(before["results"]) == 5
    questions = ["What should I cook tonight?", "And for dessert?", "Which film is good?", "Is it late?", "Why?"]

    for number in range(10):
        known = "\n".join(f"- {text}" for text in await real.listed())
        injected = fence.wrap(f"What is known about the user:\n{known}")
        asked = questions[number % len(questions)]
        sentence = f"{injected}\n{asked}" if number % 2 else f"{asked}\n\n{injected}\n"
        assert await told(real, [sentence, {"role": "assistant", "content": f"Answer {number}."}], opens) == []

    assert await real.get_all(user_id="alice") == before
    stored = await kept(real)
    assert not any("memstone-memory" in line["text"] or "What is known" in line["text"] for line in stored)


@pytest.mark.req("R-11")
async def test_news_beside_what_was_injected_is_learned(face: Face, opens: Opens) -> None:
    injected = Fence(b"another process").wrap("- User loves tea.\n- User lives in Bergen.")

    assert await told(face, f"{injected}\nI live in Oslo.", opens) == [("ADD", "User lives in Oslo.")]
    assert await face.listed() == ["User lives in Oslo."]
    (turn,) = await turns(face)
    assert turn["memory"].strip() == "I live in Oslo."
