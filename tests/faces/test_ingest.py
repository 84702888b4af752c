"""Transcripts, kept turn by turn as they are."""

from __future__ import annotations

from typing import Any, Final

import pytest

from memstone.errors import InvalidInput, ScopeError, TooLarge
from tests.faces.harness import ON_DISK, Face, Opens, texts
from tests.faces.infer_steps import kept, said_in, turns

_CHAT: Final[list[dict[str, Any]]] = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": "I live in Oslo.", "name": "Ann", "timestamp": "2026-03-02T09:00:00Z"},
    {"role": "assistant", "content": "Noted.", "timestamp": "2026-03-02T09:00:05Z"},
    {"role": "user", "content": "I have two cats.", "name": "Ann"},
]


async def lines(face: Face) -> list[dict[str, Any]]:
    return [line for line in await kept(face) if line["layer"] == "turn"]


@pytest.mark.req("S-8")
async def test_every_turn_is_kept_with_speaker_time_run_and_order(face: Face) -> None:
    answer = await face.ingest(_CHAT, user_id="alice", agent_id="guide", run_id="monday", metadata={"from": "chat"})

    assert answer == {
        "stored": 3, "known": 0, "deleted": 0, "masked": 0, "dropped": 0, "skipped": 1, "queued": 0,
    }  # fmt: skip
    visible = (await face.get_all(user_id="alice", layers=["turn"]))["results"]
    visible.sort(key=lambda turn: turn["order"])
    assert texts({"results": visible}) == ["I live in Oslo.", "Noted.", "I have two cats."]
    assert [turn["actor"] for turn in visible] == ["Ann", "assistant", "Ann"]
    assert [turn["occurred_at"][11:19] for turn in visible] == ["09:00:00", "09:00:05", "09:00:05"]
    assert {(turn["run_id"], turn["agent_id"], turn["metadata"]["from"]) for turn in visible} == {
        ("monday", "guide", "chat")
    }
    assert await face.listed() == []
    assert (await face.stats())["pending"] == 0


@pytest.mark.req("S-8")
async def test_turns_may_name_their_run_and_their_time_in_many_ways(face: Face, opens: Opens) -> None:
    texts = [
        "Just text.",
        {"text": "By seconds.", "speaker": "Bo", "timestamp": 1_772_442_000, "session_id": "one"},
        {"content": "By milliseconds.", "timestamp": 1_772_442_060_000, "conversation_id": "two"},
        {"content": [{"type": "text", "text": "By a day."}], "occurred_at": "2026-03-03", "run_id": 7},
    ]

    await face.ingest(texts, user_id="alice", occurred_at="2026-01-05", run_id="zero")

    assert [
        (turn["memory"], turn["run_id"], turn["actor"], turn["occurred_at"][:19])
        for turn in sorted(await turns(face), key=lambda turn: turn["order"])
    ] == [
        ("Just text.", "zero", "user", "2026-01-05T00:00:00"),
        ("By seconds.", "one", "Bo", "2026-03-02T09:00:00"),
        ("By milliseconds.", "two", "user", "2026-03-02T09:01:00"),
        ("By a day.", "7", "user", "2026-03-03T00:00:00"),
    ]


@pytest.mark.req("S-8")
async def test_a_transcript_may_be_sent_again_and_may_have_grown(face: Face) -> None:
    texts = [{"role": "user", "content": text} for text in ("Yes.", "Well.", "Yes.", "Yes.")]
    assert (await face.ingest(texts, user_id="alice"))["stored"] == 4
    again = await face.ingest([*texts, {"role": "user", "content": "Yes."}], user_id="alice")

    assert (again["stored"], again["known"]) == (1, 4)
    assert await said_in(face) == ["Well.", "Yes.", "Yes.", "Yes.", "Yes."]


async def test_what_add_has_kept_is_known(face: Face) -> None:
    await face.add([{"role": "user", "content": "I live in Oslo."}], user_id="alice")

    answer = await face.ingest(["I live in Oslo.", "I have a boat."], user_id="alice")

    assert (answer["stored"], answer["known"]) == (1, 1)
    assert await said_in(face) == ["I have a boat.", "I live in Oslo."]


@pytest.mark.req("R-9")
async def test_a_turn_that_a_person_deleted_does_not_come_back_with_an_old_transcript(face: Face) -> None:
    await face.ingest(["I live in Oslo.", "I have a boat."], user_id="alice")
    (turn,) = [one for one in await turns(face) if "boat" in one["memory"]]
    await face.delete(turn["id"])

    answer = await face.ingest(["I live in Oslo.", "I have a boat."], user_id="alice", learn=True)
    await face.sessions.flush(everybody=True)

    assert (answer["stored"], answer["known"], answer["deleted"]) == (0, 1, 1)
    assert await said_in(face) == ["I live in Oslo."]
    assert "boat" not in str(await face.listed())


async def test_long_transcripts_are_stored_in_parts_and_say_how_far_they_are(face: Face) -> None:
    messages: list[tuple[int, int]] = []
    message = ({"content": f"This is number {number}."} for number in range(450))

    answer = await face.ingest(message, user_id="alice", progress=lambda done, total: messages.append((done, total)))

    assert answer["stored"] == 450
    assert messages == [(200, 450), (400, 450), (450, 450)]
    stored = (await face.get_all(user_id="alice", layers=["turn"], limit=1000))["results"]
    stored.sort(key=lambda turn: turn["order"])
    assert [turn["memory"] for turn in stored] == [f"This is number {number}." for number in range(450)]


@pytest.mark.req("S-22")
async def test_learning_is_put_off_until_flush_and_done_once(face: Face) -> None:
    texts = [
        {"content": "I live in Oslo.", "timestamp": "2025-03-02", "run_id": "one"},
        {"content": "I work at Acme.", "timestamp": "2025-03-02", "run_id": "two"},
        {"content": "I moved to Bergen.", "timestamp": "2025-05-02", "run_id": "two"},
    ]
    answer = await face.ingest(texts, user_id="alice", learn=True, metadata={"from": "mail"})

    assert (answer["stored"], answer["queued"]) == (3, 2)
    assert await face.listed() == []
    assert (await face.ingest(texts, user_id="alice", learn=True))["queued"] == 0
    assert await face.sessions.flush(everybody=True) == {"stored": 2, "waiting": 0}
    assert await face.sessions.flush(everybody=True) == {"stored": 0, "waiting": 0}
    facts = (await face.get_all(user_id="alice"))["results"]
    assert {fact["metadata"]["from"] for fact in facts} == {"mail"}
    by_text = {fact["memory"]: fact for fact in facts}
    assert by_text["User works at Acme."]["occurred_at"].startswith("2025-03-02")
    words = await face.get(by_text["User works at Acme."]["evidence"]["turn"])
    assert words["memory"] == "I work at Acme."
    assert len(await turns(face)) == 3


async def test_a_person_who_says_something_does_not_wait_for_transcripts(opens: Opens) -> None:
    asked: list[str] = []

    def model(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        return '{"facts": []}'

    face = opens(llm=model)
    await face.ingest([f"This is number {number}." for number in range(60)], user_id="alice", learn=True)
    await face.add("Hello there, how are you?", user_id="alice")

    assert len(asked) == 1
    assert (await face.stats())["pending"] == 3
    await face.sessions.flush(everybody=True)
    assert len(asked) == 4


@pytest.mark.req("X-25")
async def test_without_an_embedder_turns_are_kept_and_found_by_their_words(opens: Opens) -> None:
    def fails(texts: list[str]) -> Any:
        if texts == ["dimension"]:
            return [[1.0] * 8]
        raise OSError("out of order")

    face = opens(embedder=fails)
    answer = await face.ingest(["I live in Oslo.", "I have a boat."], user_id="alice")

    assert answer["stored"] == 2
    assert answer["degraded"][0]["step"] == "embedding"
    assert (await face.found("boat", layers=["turn"]))[0] == "I have a boat."


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ([], "turns is empty"),
        (7, "turns must be messages"),
        (["fine", {"role": "robot", "content": "x"}], r"turns\[1\].role"),
        (["fine", {"content": "x", "timestamp": "yesterday"}], r"turns\[1\].occurred_at"),
        (["fine", {"colour": "red"}], r"turns\[1\].content is missing"),
    ],
)
async def test_what_is_wrong_is_found_before_anything_is_stored(
    face: Face, opens: Opens, said: Any, wrong: str
) -> None:
    with pytest.raises(InvalidInput, match=wrong):
        await face.ingest(said, user_id="alice")
    assert (await face.stats())["memories"] == 0


async def test_somebody_must_be_named_and_a_turn_has_its_limit(face: Face, opens: Opens) -> None:
    with pytest.raises(ScopeError):
        await face.ingest(["x"])
    assert (await face.ingest([{"content": "x", "run_id": "r"}]))["stored"] == 1
    with pytest.raises(TooLarge):
        await opens({"limits": {"text_chars": 3}}).ingest(["fine", "ok"], user_id="alice")


@pytest.mark.req("N-34")
async def test_without_turns_facts_keep_their_quotes_and_nothing_else_is_kept(opens: Opens) -> None:
    questions: list[str] = []

    def model(messages: list[dict[str, str]]) -> str:
        questions.append(messages[-1]["content"])
        return '{"facts": []}'

    face = opens({"extract": {"keep_turns": False, "strategies": ["pattern"]}})
    await face.add("I live in Oslo. The weather is fine today.", user_id="alice")

    assert await turns(face) == []
    (fact,) = (await face.get_all(user_id="alice"))["results"]
    quote = "I live in Oslo."
    assert fact["evidence"] == {"turn": None, "start": 0, "end": len(quote), "quote": quote}
    assert "weather" not in str(await face.export(everybody=True))
    assert (await face.stats())["memories"] == 1
    asking = opens({"extract": {"keep_turns": False}}, llm=model)
    await asking.add("She has a dog, as I said.", user_id="alice")
    assert "weather" not in questions[0]


async def test_a_single_call_may_keep_or_not_keep_its_turns(opens: Opens) -> None:
    face = opens()
    await face.add("I live in Oslo.", user_id="alice", keep_turns=False)
    await face.add("I have two cats.", user_id="alice")
    assert await said_in(face) == ["I have two cats."]
    never = opens({"extract": {"keep_turns": False}})
    await never.add("I work at Acme.", user_id="bob", keep_turns=True)
    assert [turn["memory"] for turn in await turns(never, user_id="bob")] == ["I work at Acme."]


@pytest.mark.req("R-9")
async def test_without_turns_a_deleted_fact_does_not_come_back_when_the_conversation_is_sent_again(
    opens: Opens,
) -> None:
    face = opens({"extract": {"keep_turns": False}})
    chat = [{"role": "user", "content": "I live in Oslo."}, {"role": "user", "content": "I have two cats."}]
    await face.add(chat, user_id="alice")
    for fact in (await face.get_all(user_id="alice"))["results"]:
        if "Oslo" in fact["memory"]:
            await face.delete(fact["id"])

    await face.add(chat, user_id="alice")

    assert "Oslo" not in str(await face.listed())


@ON_DISK
async def test_without_turns_what_waited_for_a_model_is_gone_when_it_was_learned(opens: Opens) -> None:
    down = [True]

    def model(messages: list[dict[str, str]]) -> str:
        if down.pop() if down else False:
            raise OSError("down")
        return '{"facts": []}'

    face = opens({"extract": {"keep_turns": False}}, llm=model)
    answer = await face.add("I live in Oslo.", user_id="alice")
    assert answer["status"] == "deferred"
    assert opens.rows("SELECT count(*) FROM signals WHERE data LIKE '%Oslo%'") == [(1,)]
    assert (await face.sessions.flush(everybody=True))["stored"] == 1
    assert opens.rows("SELECT count(*) FROM signals") == [(0,)]
    assert opens.rows("SELECT count(*) FROM memories") == [(0,)]


async def test_where_turns_are_not_kept_a_transcript_can_only_be_learned_from(opens: Opens) -> None:
    face = opens({"extract": {"keep_turns": False}})
    with pytest.raises(InvalidInput, match="does not keep turns"):
        await face.ingest(["I live in Oslo."], user_id="alice")
    answer = await face.ingest(["I live in Oslo."], user_id="alice", learn=True)
    assert (answer["stored"], answer["queued"]) == (0, 1)
    await face.sessions.flush(everybody=True)
    assert await face.listed() == ["User lives in Oslo."]
    assert await turns(face) == []
