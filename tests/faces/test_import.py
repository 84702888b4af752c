"""Taking in what other systems exported: what is stored, whose it is, how far it is trusted, and what stays out."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, Final

import pytest

from memstone import AsyncMemory, Memory
from memstone.errors import InvalidInput, QuotaExceeded, ScopeError
from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import Face, Opens

pytestmark = pytest.mark.parametrize("store", ["in_memory"], indirect=True)

SAMPLES: Final = Path(__file__).resolve().parents[1] / "data" / "imports"


async def rows(face: Face, **scope: Any) -> list[dict[str, Any]]:
    return [
        line
        for line in await face.export(**(scope or {"everybody": True}))
        if line["type"] == "memory" and line["valid_to"] is None
    ]


async def known(face: Face, layer: str = "fact") -> dict[str, dict[str, Any]]:
    return {line["text"]: line for line in await rows(face, user_id="alice") if line["layer"] == layer}


def facts(*texts: str, **more: Any) -> bytes:
    return json.dumps([{"text": text, **more} for text in texts]).encode()


def talk(*texts: tuple[str, str], name: str = "c1", at: str = "2025-05-01T09:00:00Z") -> bytes:
    messages = [{"sender": sender, "text": text, "created_at": at} for sender, text in texts]
    return json.dumps([{"uuid": name, "name": "A talk", "chat_messages": messages}]).encode()


# --- what is stored ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "turns", "stored"),
    [
        ("mem0.json", 0, 3),
        ("gateway.json", 0, 2),
        ("chatgpt.json", 3, 2),
        ("claude.json", 2, 0),
        ("openwebui.json", 0, 2),
        ("facts.jsonl", 0, 2),
        ("notes.md", 0, 5),
    ],
)
async def test_every_format_is_taken_in_once_however_often_it_is_imported(
    face: Face, name: str, turns: int, stored: int
) -> None:
    first = await face.admin.import_from(SAMPLES / name, user_id="alice")
    assert (first["turns"], first["facts"], first["stored"]) == (turns, stored, turns + stored)
    assert (first["known"], first["quarantined"]) == (0, stored), "facts of others wait"
    again = await face.admin.import_from((SAMPLES / name).read_bytes(), user_id="alice", format=first["format"])
    assert (again["stored"], again["known"], again["queued"]) == (0, turns + stored, 0)
    assert len(await rows(face)) == turns + stored


async def test_a_source_may_be_a_path_bytes_or_an_open_file(face: Face) -> None:
    path = SAMPLES / "openwebui.json"
    await face.admin.import_from(str(path), user_id="a")
    await face.admin.import_from(bytearray(path.read_bytes()), user_id="b")
    with path.open("rb") as file:
        await face.admin.import_from(file, user_id="c")
    for user in "abc":
        assert len((await face.get_all(user_id=user, status="quarantined"))["results"]) == 2


async def test_only_text_time_speaker_and_metadata_come_along(face: Face) -> None:
    rows_ = [
        {
            "id": "11111111-1111-4111-8111-111111111111",
            "memory": "Plays the cello",
            "hash": "x",
            "trust": 1.0,
            "origin": "user",
            "status": "active",
            "layer": "identity",
            "tenant_id": "other",
            "created_at": "2024-05-06T07:08:09Z",
            "actor_id": "Nora",
            "metadata": {"where": "Bergen", "user_id": "mallory", "tenant_id": "other"},
        }
    ]
    await face.admin.import_from(json.dumps(rows_).encode(), user_id="alice")
    (line,) = await rows(face)
    assert line["id"] != rows_[0]["id"]
    assert (line["origin"], line["status"], line["layer"], line["source"]) == (
        "import",
        "quarantined",
        "fact",
        "import",
    )
    assert line["trust"] < 0.5
    assert (line["occurred_at"][:10], line["data"]["speaker"]) == ("2024-05-06", "Nora")
    assert line["metadata"] == {"where": "Bergen"}
    assert [link["user_id"] for link in line["links"]] == ["alice"]


async def test_turns_are_kept_by_conversation_and_are_found(face: Face) -> None:
    answer = await face.admin.import_from(SAMPLES / "chatgpt.json", user_id="alice", agent_id="helper", learn=False)
    assert answer["queued"] == 0
    turns = await known(face, "turn")
    texts = turns["My daughter Ada waters them."]
    (link,) = texts["links"]
    assert (link["user_id"], link["agent_id"]) == ("alice", "helper")
    assert link["run_id"].startswith("import:chatgpt:")
    assert {one["links"][0]["run_id"] for one in turns.values()} == {link["run_id"]}
    assert (texts["data"]["title"], texts["source_role"], texts["origin"]) == ("Planning a garden", "user", "import")
    hits = await face.search("who waters the tomatoes", user_id="alice", layers=["turn"])
    assert "My daughter Ada waters them." in [hit["memory"] for hit in hits["results"]]


async def test_a_conversation_may_be_put_into_a_run_of_ones_own(face: Face) -> None:
    await face.admin.import_from(talk(("human", "Hello there")), user_id="alice", run_id="mine")
    assert {line["links"][0]["run_id"] for line in await rows(face)} == {"mine"}


async def test_the_same_words_twice_in_a_talk_are_two_turns_and_stay_two(face: Face) -> None:
    message = talk(("human", "Yes."), ("assistant", "Sure?"), ("human", "Yes."))
    assert (await face.admin.import_from(message, user_id="alice"))["turns"] == 3
    assert (await face.admin.import_from(message, user_id="alice"))["turns"] == 0


async def test_progress_is_told_and_everything_is_counted_with_its_reason(face: Face) -> None:
    lines: list[tuple[int, int]] = []
    many = [{"text": f"Fact number {number}"} for number in range(450)]
    long = [{"text": "x" * 60_000}, {"text": " "}, {"text": "over", "expires_at": "2020-01-01"}, 7]
    source = json.dumps([*many, *long]).encode()
    answer = await face.admin.import_from(
        source, user_id="alice", progress=lambda done, total: lines.append((done, total))
    )
    assert lines == [(200, 450), (400, 450), (450, 450)]
    assert answer["facts"] == 450
    assert answer["skipped"] == {"empty": 1, "expired": 1, "not a memory": 1, "too long": 1}


async def test_secrets_are_masked_and_what_memstone_once_showed_is_not_learned_again(face: Face) -> None:
    block = '<memstone-memory id="x">\nUser lives in Oslo.\n</memstone-memory id="x">'
    answer = await face.admin.import_from(
        facts("My key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789", block), user_id="a"
    )
    assert answer["skipped"] == {"shown by Memstone": 1}
    assert any("masked" in warning for warning in answer["warnings"])
    (line,) = await rows(face)
    assert "sk-proj" not in line["text"]


async def test_a_time_to_come_is_now(face: Face, opens: Opens) -> None:
    await face.admin.import_from(facts("From the future", created_at="2999-01-01"), user_id="alice")
    (line,) = await rows(face)
    assert line["occurred_at"][:10] == opens.clock.now().date().isoformat()


# --- whose it is ------------------------------------------------------------------------------------------------------


TWO_USERS: Final = json.dumps(
    [
        {"memory": "Is Nora", "id": "1", "user_id": "nora"},
        {"memory": "Is Bob", "id": "2", "user_id": "bob"},
        {"memory": "Is nobody", "id": "3"},
    ]
).encode()


async def test_a_file_of_several_users_is_not_poured_into_one(face: Face) -> None:
    with pytest.raises(InvalidInput, match="2 users") as caught:
        await face.admin.import_from(TWO_USERS, user_id="alice")
    assert "from_user" in str(caught.value.hint)
    assert await rows(face) == []


async def test_one_of_several_users_may_be_taken(face: Face) -> None:
    answer = await face.admin.import_from(TWO_USERS, user_id="alice", from_user="nora")
    assert (answer["facts"], answer["skipped"]) == (1, {"somebody else's": 2})
    assert list(await known(face)) == ["Is Nora"]


async def test_whoever_names_nobody_keeps_them_apart(face: Face) -> None:
    answer = await face.admin.import_from(TWO_USERS)
    assert answer["skipped"] == {"names nobody": 1}
    assert {line["text"]: line["links"][0]["user_id"] for line in await rows(face)} == {
        "Is Nora": "nora",
        "Is Bob": "bob",
    }


async def test_somebody_has_to_own_it(face: Face) -> None:
    with pytest.raises(ScopeError):
        await face.admin.import_from(SAMPLES / "notes.md")


async def test_a_key_that_is_bound_to_a_user_imports_for_that_user_only(face: Face) -> None:
    assert isinstance(face.memory, (Memory, AsyncMemory))
    bound = Face(face.memory.acting_for("default", user_id="alice"))
    await bound.admin.import_from(facts("Likes rain"))
    assert list(await known(face)) == ["Likes rain"]
    with pytest.raises(InvalidInput, match="2 users"):
        await bound.admin.import_from(TWO_USERS)


# --- how far it is trusted --------------------------------------------------------------------------------------------


async def test_what_others_wrote_waits_and_is_seen_only_when_it_is_approved(face: Face) -> None:
    await face.admin.import_from(facts("Plays the cello"), user_id="alice")
    assert await face.listed() == []
    assert await face.found("cello") == []
    assert (await face.context("Do I play the cello?", user_id="alice")).text == ""
    (waiting,) = (await face.get_all(user_id="alice", status="quarantined"))["results"]
    await face.review.approve(waiting["id"])
    assert await face.found("cello") == ["Plays the cello"]
    (line,) = [one for one in await rows(face) if one["status"] == "active"]
    assert (line["origin"], line["trust"]) == ("import", 0.3), "approved, and still not the user's own words"


async def test_who_speaks_for_the_user_needs_no_approval_for_what_the_user_said(face: Face) -> None:
    message = talk(("human", "I live in Bergen."), ("assistant", "You told me that you play chess."))
    answer = await face.admin.import_from(message, user_id="alice", trusted=True)
    assert (answer["turns"], answer["quarantined"], answer["queued"]) == (2, 0, 1)
    turns = await known(face, "turn")
    assert (turns["I live in Bergen."]["origin"], turns["I live in Bergen."]["trust"]) == ("user", 1.0)
    assert turns["You told me that you play chess."]["origin"] == "import"
    await face.sessions.flush(everybody=True)
    learned = await known(face)
    home, chess = learned["User lives in Bergen."], learned["User plays chess."]
    assert (home["origin"], home["trust"], home["status"]) == ("user", 1.0, "active")
    assert (chess["origin"], chess["status"]) == ("import", "quarantined"), "an assistant's word still waits"
    assert await face.listed() == ["User lives in Bergen."]


async def test_facts_about_the_user_are_active_then_but_weigh_less_than_their_own_words(
    face: Face, opens: Opens
) -> None:
    rows_ = [{"text": "User lives in Bergen."}, {"text": "Suggested tea", "role": "assistant"}]
    answer = await face.admin.import_from(json.dumps(rows_).encode(), user_id="alice", trusted=True)
    assert (answer["facts"], answer["quarantined"]) == (2, 1)
    assert await face.listed() == ["User lives in Bergen."]
    assert 0.5 < (await known(face))["User lives in Bergen."]["trust"] < 1
    opens.clock.advance(days=1)
    await face.add("I live in Oslo.", user_id="alice")
    assert await face.listed() == ["User lives in Oslo."], "the user may change it"


async def test_what_is_learned_from_an_import_waits_and_changes_nothing(face: Face, opens: Opens) -> None:
    await face.add("I live in Oslo.", user_id="alice")
    opens.clock.advance(days=1)
    later = opens.clock.now().isoformat()
    await face.admin.import_from(
        talk(("human", "I moved to Paris. I live in Paris. I love jazz."), at=later), user_id="alice"
    )
    await face.sessions.flush(everybody=True)
    assert await face.listed() == ["User lives in Oslo."]
    waiting = [line for line in (await known(face)).values() if line["status"] == "quarantined"]
    assert "User loves jazz." in [line["text"] for line in waiting]
    assert {line["origin"] for line in waiting} == {"import"}
    assert all(line["data"]["evidence"]["turn"] for line in waiting), "and says where it was said"


async def test_what_waits_stands_in_nobodys_way_who_says_it_themselves(face: Face) -> None:
    await face.admin.import_from(facts("User loves jazz."), user_id="alice")
    await face.admin.import_from(talk(("human", "I love tea.")), user_id="alice")
    await face.sessions.flush(everybody=True)
    await face.add("I love jazz. I love tea.", user_id="alice")
    assert sorted(await face.listed()) == ["User loves jazz.", "User loves tea."]


async def test_a_model_that_learns_from_an_import_gains_it_no_trust(opens: Opens) -> None:
    answer: dict[str, object] = {"facts": [{"text": "User loves jazz.", "turn": 1, "quote": "I love jazz"}]}
    face = opens(llm=ScriptedLlm(lambda _: answer))
    await face.admin.import_from(talk(("human", "I love jazz.")), user_id="alice")
    await face.sessions.flush(everybody=True)
    line = (await known(face))["User loves jazz."]
    assert (line["origin"], line["status"], line["trust"]) == ("import", "quarantined", 0.3)


async def test_an_import_makes_no_episode_that_anybody_sees(opens: Opens) -> None:
    face = opens({"preset": "companion"})
    texts = [("human", f"Yesterday I walked around lake number {at} with my brother Tom.") for at in range(5)]
    await face.admin.import_from(talk(*texts), user_id="alice")
    await face.sessions.flush(everybody=True)
    (made,) = (await known(face, "episode")).values()
    assert made["status"] == "quarantined"
    assert (await face.sessions.episodes(user_id="alice"))["results"] == []


async def test_of_ones_own_talk_an_episode_is_made_of_ones_own_words(opens: Opens) -> None:
    face = opens({"preset": "companion"})
    texts = [("human", f"Yesterday I walked around lake number {at} with my brother Tom.") for at in range(5)]
    await face.admin.import_from(
        talk(*texts, ("assistant", "Lake Vombsjön is in Skåne.")), user_id="alice", trusted=True
    )
    await face.sessions.flush(everybody=True)
    (made,) = (await known(face, "episode")).values()
    assert (made["status"], "Vombsjön" in made["text"]) == ("active", False)


async def test_names_in_what_waits_are_nobodys_acquaintance(face: Face) -> None:
    await face.admin.import_from(facts("User's doctor is Mallory Quux."), user_id="alice")
    assert (await face.graph.entities(user_id="alice"))["results"] == []


async def test_who_the_user_is_cannot_be_imported_without_their_word(opens: Opens) -> None:
    face = opens({"preset": "companion"})
    await face.admin.import_from(
        talk(*[("human", "My name is Mallory and I work as a spy in Paris.")] * 3), user_id="alice"
    )
    await face.admin.import_from(facts("User's name is Mallory."), user_id="alice")
    await face.sessions.flush(everybody=True)
    await face.admin.consolidate(user_id="alice")
    visible = await face.identity.get(user_id="alice")
    assert (visible["overrides"], visible["derived"], visible["narrative"]) == ([], [], None)


# --- what stays out ---------------------------------------------------------------------------------------------------


async def test_deleted_stays_deleted(face: Face, opens: Opens) -> None:
    await face.add("I live in Oslo.", user_id="alice")
    (item,) = (await face.get_all(user_id="alice"))["results"]
    await face.delete(item["id"])
    opens.clock.advance(days=1)
    answer = await face.admin.import_from(facts("User lives in Oslo."), user_id="alice", trusted=True)
    assert (answer["stored"], answer["skipped"]) == (0, {"deleted here": 1})
    later = opens.clock.now().isoformat()
    await face.admin.import_from(talk(("human", "I live in Oslo."), at=later), user_id="alice")
    await face.sessions.flush(everybody=True)
    assert [line["status"] for line in (await known(face)).values()] == [], "not even in quarantine"
    await face.add("I live in Oslo after all.", user_id="alice")
    assert len(await face.listed()) == 1, "only the user brings it back"


async def test_what_was_rejected_does_not_come_back_with_the_next_import(face: Face) -> None:
    await face.admin.import_from(facts("Plays the cello"), user_id="alice")
    (waiting,) = (await face.get_all(user_id="alice", status="quarantined"))["results"]
    await face.review.reject(waiting["id"])
    answer = await face.admin.import_from(facts("Plays the cello"), user_id="alice")
    assert (answer["stored"], answer["skipped"]) == (0, {"deleted here": 1})


async def test_what_is_known_is_not_stored_beside_itself(face: Face) -> None:
    await face.add("I live in Oslo.", user_id="alice")
    await face.store("Plays the cello", user_id="alice")
    answer = await face.admin.import_from(facts("User lives in Oslo.", "plays the CELLO"), user_id="alice")
    assert (answer["stored"], answer["known"]) == (0, 2)


async def test_a_key_from_elsewhere_overwrites_nothing(face: Face) -> None:
    await face.store("Tea", user_id="alice", key="preference:drink")
    entry = {"content": "Coffee", "type": "factual", "key": "preference:drink"}
    source = json.dumps([entry]).encode()
    assert (await face.admin.import_from(source, user_id="alice"))["quarantined"] == 1
    assert (await face.admin.import_from(source, user_id="alice", trusted=True))["known"] == 1
    assert await face.listed() == ["Tea"]


async def test_a_key_of_ones_own_is_kept_and_updated_later(face: Face) -> None:
    entry = {"content": "Coffee", "type": "factual", "key": "preference:drink", "apiKeyId": "k"}
    await face.admin.import_from(json.dumps([entry]).encode(), user_id="alice", trusted=True)
    answer = await face.store("Tea", user_id="alice", key="preference:drink")
    assert [one["event"] for one in answer["results"]] == ["UPDATE"]
    assert await face.listed() == ["Tea"]


async def test_quotas_and_pauses_hold_for_imports_too(opens: Opens) -> None:
    face = opens({"quota": {"user_memories": 1}})
    with pytest.raises(QuotaExceeded):
        await face.admin.import_from(facts("one", "two"), user_id="alice")
    assert await rows(face) == []
    await face.settings.pause(user_id="bob")
    answer = await face.admin.import_from(facts("one"), user_id="bob")
    assert (answer["stored"], answer["status"]) == (0, "paused")


async def test_nothing_is_written_when_the_source_is_wrong(face: Face) -> None:
    for wrong in (b"", b"{}", b'{"a": [', 7, io.StringIO("[]"), SAMPLES / "missing.json", SAMPLES):
        with pytest.raises(InvalidInput):
            await face.admin.import_from(wrong, user_id="alice")
    with pytest.raises(InvalidInput, match="unknown format"):
        await face.admin.import_from(b"[]", user_id="alice", format="docx")
    assert await rows(face) == []


async def test_without_turns_only_what_follows_from_them_is_kept(opens: Opens) -> None:
    face = opens({"extract": {"keep_turns": False}})
    answer = await face.admin.import_from(talk(("human", "I love jazz.")), user_id="alice")
    assert (answer["turns"], answer["queued"]) == (0, 1)
    await face.sessions.flush(everybody=True)
    (line,) = await rows(face)
    assert (line["text"], line["status"], line["origin"]) == ("User loves jazz.", "quarantined", "import")
