"""Sessions that are distilled: one episode each, facts with evidence, and who the user is."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from memstone.core.checks.filters import where_visible
from memstone.engine.layers.distill import distill_session
from memstone.engine.store.turns import turns_of
from memstone.model.message import Message
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import Face, Opens

pytestmark = pytest.mark.parametrize("store", ["in_memory"], indirect=True)

COMPANION: Final = {"preset": "companion", "write": {"mode": "manual"}}
WHO: Final = {"user_id": "alice", "agent_id": "bot"}
NURSE: Final = (
    "Hello there, nice to meet you! My name is Alice and I live in Oslo. I work as a nurse at the harbour clinic."
)


async def held(face: Face, opens: Opens, run: str, *text: str, **who: Any) -> dict[str, Any]:
    """Hold a session an hour later; what begins with ">" the assistant says. Gives how it was distilled."""
    opens.clock.advance(minutes=60)
    messages = [
        {"role": "assistant", "content": one[1:].strip()} if one.startswith(">") else {"role": "user", "content": one}
        for one in text
    ]
    scope = {**WHO, **who, "run_id": run}
    await face.add(messages, **scope)
    (result,) = (await face.sessions.end(**scope))["results"]
    return dict(result)


async def episodes(face: Face, **who: Any) -> list[dict[str, Any]]:
    return list((await face.sessions.episodes(**(who or WHO)))["results"])


async def pinned(face: Face, **who: Any) -> dict[str, dict[str, Any]]:
    """The facts by their text."""
    return {one["content"]: one for one in (await face.profile.facts(**(who or WHO)))["results"]}


async def derived(face: Face, user: str = "alice") -> list[str]:
    """What is derived about who a user is."""
    return [one["text"] for one in (await face.identity.get(user_id=user))["derived"]]


def digest(summary: str = "Alice spoke about her work.", **more: Any) -> dict[str, Any]:
    """What a model answers."""
    episode = {"summary": summary, "topics": ["work"], "decisions": [], "action_items": [], "salience": 0.7}
    return {"episode": episode, "entities": ["Alice"], "pinned_candidates": [], "identity_facts": [], **more}


@pytest.mark.req("S-1", "S-7")
async def test_a_session_leaves_one_episode(opens: Opens) -> None:
    face = opens(COMPANION)
    answer = await held(face, opens, "r1", NURSE, "> Nice!", "We decided to use Postgres. I have to call Ida tomorrow.")

    assert answer["distillation"] == "distilled"
    (one,) = await episodes(face)
    assert one["run_id"] == "r1"
    assert 1 <= len(one["summary"].splitlines()) <= 3
    assert "harbour clinic" in one["topics"]
    assert {"Alice", "Oslo", "Postgres", "Ida"} <= set(one["entities"])
    assert one["decisions"] == ["User: We decided to use Postgres."]
    assert one["action_items"] == ["User: I have to call Ida tomorrow."]
    assert 0 <= one["salience"] <= 1
    assert one["token_count"] > 0
    assert (one["status"], one["model"]) == ("active", None)
    assert one["occurred_at"] == "2026-01-01T01:00:00.000000Z"
    layers = [(await face.get_all(**WHO, layers=[layer]))["results"] for layer in ("turn", "fact", "episode")]
    assert all(layers)
    assert (await face.identity.get(user_id="alice"))["derived"]


@pytest.mark.req("S-7")
async def test_a_session_that_goes_on_has_the_next_version_of_its_episode(opens: Opens) -> None:
    face = opens(COMPANION)
    await held(face, opens, "r1", NURSE, "> Nice! How long have you been there?")
    first = (await episodes(face))[0]
    await held(face, opens, "r1", "Since May. I am allergic to peanuts, so please never suggest a recipe with those.")

    (one,) = await episodes(face)
    assert (one["id"], one["version"]) == (first["id"], 2)
    assert one["occurred_at"] == first["occurred_at"]
    assert "harbour clinic" in one["summary"]
    assert "peanuts" in one["summary"]
    assert set(first["facts"]) < set(one["facts"])
    events = [event["event"] for event in await face.history(one["id"])]
    assert events == ["ADD", "UPDATE"]


async def test_sessions_without_a_run_are_told_apart_by_their_time(opens: Opens) -> None:
    face = opens(COMPANION)
    for message in (NURSE, "I bought a red sailing boat in Bergen and I called it Runner, after my grandfather."):
        opens.clock.advance(minutes=60)
        await face.add(message, **WHO)
        await face.sessions.end(**WHO)

    assert len(await episodes(face)) == 2


@pytest.mark.req("S-5", "D-11")
async def test_a_fact_carries_its_weight_and_where_it_comes_from(opens: Opens) -> None:
    face = opens(COMPANION)
    await held(face, opens, "r1", NURSE, "> Nice!", "I own a red sailing boat with a blue stripe.")
    facts = await pinned(face)
    (episode,) = await episodes(face)

    nurse = facts["User works as a nurse at the harbour clinic."]
    assert nurse["salience"] == 0.8
    assert (nurse["source_count"], nurse["source_episode_id"]) == (1, episode["id"])
    assert (nurse["use_count"], nurse["last_used"], nurse["status"]) == (0, None, "active")
    assert nurse["id"] in episode["facts"]
    boat = next(fact for text, fact in facts.items() if "boat" in text)
    assert boat["salience"] == 0.6, "nobody said how much it matters"

    await held(face, opens, "r2", "As I said, I work as a nurse at the harbour clinic. It is quite far from my house.")
    await held(face, opens, "r2", "And did I say that I work as a nurse at the harbour clinic? I think I told you so.")
    assert (await pinned(face))["User works as a nurse at the harbour clinic."]["source_count"] == 2
    assert len(await pinned(face)) == len(facts)


@pytest.mark.req("S-9")
async def test_counters_never_fall_below_nothing(opens: Opens) -> None:
    face = opens(COMPANION)
    await held(face, opens, "r1", NURSE)
    ledger = face.memory.engine.runtime.ledger
    where = where_visible(Scope("default", "alice"), "2026-02-01T00:00:00.000000Z")
    rows = await ledger.read(lambda tx: tx.memories.salient(where, limit=2))
    assert [found.record.salience for found in rows] == [0.9, 0.8], "the most salient first"
    await ledger.write(lambda tx: tx.memories.add_source_count([found.record.seq for found in rows], -5))

    assert sorted(one["source_count"] for one in (await pinned(face)).values()) == [0, 0, 1]


@pytest.mark.req("S-20")
async def test_a_change_is_no_repetition(opens: Opens) -> None:
    face = opens(COMPANION)
    await held(
        face, opens, "r1", "My favourite colour is blue. I live in Oslo. My daughter Anna plays chess very well."
    )
    await held(
        face, opens, "r2", "My favourite colour is red now. I moved to Bergen. My daughter Emma plays chess well."
    )

    texts = " ".join(await pinned(face))
    assert "colour is red" in texts
    assert "colour is blue" not in texts
    assert "Bergen" in texts
    assert "Oslo" not in texts
    assert "Anna" in texts
    assert "Emma" in texts


@pytest.mark.req("S-16", "S-19")
async def test_one_question_brings_all_of_a_session(opens: Opens) -> None:
    fact = {"content": "User works as a nurse.", "salience": 0.7, "tags": ["work"], "quote": "I work as a nurse"}
    who = {"content": "User's name is Alice.", "turn": 1, "quote": "My name is Alice"}
    llm = ScriptedLlm([digest(pinned_candidates=[fact], identity_facts=[who])])
    face = opens(COMPANION, llm=llm)
    answer = await held(face, opens, "r1", NURSE, "> Nice!")

    assert answer["distillation"] == "distilled"
    assert len(llm.prompts) == 1
    (one,) = await episodes(face)
    assert (one["summary"], one["model"], one["salience"]) == ("Alice spoke about her work.", "scripted", 0.7)
    facts = await pinned(face)
    assert facts["User works as a nurse."]["tags"] == ["work"]
    assert facts["User works as a nurse."]["salience"] == 0.7
    assert [entry["text"] for entry in (await face.identity.get(user_id="alice"))["derived"]] == [
        "User's name is Alice."
    ]
    (job,) = (await face.admin.jobs(task="distill", everybody=True))["results"]
    assert (job["status"], job["details"]["facts"], job["details"]["identity"]) == ("success", 2, 1)


@pytest.mark.req("S-19")
async def test_all_of_a_session_is_stored_in_the_transaction_that_ends_it_or_nothing(opens: Opens) -> None:
    face = opens(COMPANION)
    await face.identity.get(user_id="alice")  # the store is open now
    runtime, scope = face.memory.engine.runtime, Scope("default", "alice", "bot", "r1")
    made = await distill_session(
        runtime, scope, turns_of(scope, [Message("user", NURSE)], runtime.now(), dated=True), occurred_at=runtime.now()
    )
    assert made.commit is not None
    commit = made.commit

    async def broken(tx: Tx) -> None:
        assert (await commit(tx, runtime.now()))["facts"] == 3
        raise RuntimeError("the signals could not be marked")

    with pytest.raises(RuntimeError):
        await runtime.ledger.write(broken)
    assert await episodes(face) == []
    assert await pinned(face) == {}
    assert await derived(face) == []

    async def full(tx: Tx) -> dict[str, Any]:
        return await commit(tx, runtime.now())

    details = await runtime.ledger.write(full)
    assert (details["facts"], details["identity"]) == (3, 3)
    (one,) = await episodes(face)
    assert one["id"] == details["episode_id"]
    assert len(await pinned(face)) == len(await derived(face)) == 3


@pytest.mark.req("S-17")
async def test_a_model_knows_the_narrative_and_recent_episodes(opens: Opens) -> None:
    llm = ScriptedLlm([digest(f"Alice spoke, part {number}.") for number in range(6)])
    face = opens(COMPANION, llm=llm)
    await face.identity.set_narrative("Alice is a nurse from Oslo.", user_id="alice")
    await held(face, opens, "old", NURSE)
    opens.clock.advance(days=91)
    for number in range(1, 5):
        await held(face, opens, f"r{number}", f"{NURSE} This is part {number}.")
    await held(face, opens, "last", f"{NURSE} The last part.")

    asked = llm.prompts[-1].messages[1]["content"]
    assert "Known about the user:\nAlice is a nurse from Oslo." in asked
    earlier = asked.partition("Earlier conversations:\n")[2].partition("\n\n")[0].splitlines()
    assert earlier == [f"- 2026-04-02: Alice spoke, part {number}." for number in (4, 3, 2)]


@pytest.mark.req("R-32", "X-36")
async def test_what_the_assistant_claims_is_neither_fact_nor_identity(opens: Opens) -> None:
    claimed = [
        {"content": "User's name is Robert.", "turn": 2, "quote": "your name is Robert"},
        {"content": "User owns a castle in France.", "turn": 1, "quote": "I own a castle"},
    ]
    llm = ScriptedLlm([digest("They spoke.", pinned_candidates=claimed, identity_facts=claimed)])
    with_model, by_rules = opens(COMPANION, llm=llm), opens(COMPANION)
    texts = ("Tell me what you know about me, please, I am curious about it.", "> I know that your name is Robert.")
    await held(with_model, opens, "r1", *texts)
    await held(by_rules, opens, "r2", *texts, user_id="bob")

    for face, user in ((with_model, "alice"), (by_rules, "bob")):
        assert await pinned(face, user_id=user) == {}
        assert (await face.identity.get(user_id=user))["derived"] == []
    (job,) = (await with_model.admin.jobs(task="distill", user_id="alice"))["results"]
    reasons = {one["text"]: one["reason"] for one in job["details"]["dropped"]}
    assert reasons == {
        "User's name is Robert.": "the assistant says it, and the user does not",
        "User owns a castle in France.": "it shares nothing with the conversation",
    }


async def test_an_episode_is_trusted_as_little_as_who_spoke_in_it(opens: Opens) -> None:
    face = opens(COMPANION)
    await held(face, opens, "r1", NURSE, "> Nice!")
    await held(face, opens, "r2", f"{NURSE} I have a boat in Bergen.")

    rows = [
        line for line in await face.export(everybody=True) if line["type"] == "memory" and line["layer"] == "episode"
    ]
    assert sorted((row["origin"], row["trust"]) for row in rows) == [("derived", 0.5), ("derived", 1.0)]
    facts = [line for line in await face.export(everybody=True) if line["type"] == "memory" and line["layer"] == "fact"]
    assert {(row["origin"], row["trust"]) for row in facts} == {("user", 1.0)}


@pytest.mark.req("R-32")
async def test_a_model_that_only_invents_is_answered_with_what_was_said(opens: Opens) -> None:
    face = opens(COMPANION, llm=ScriptedLlm([digest("Napoleon married Ingrid in Paris.")]))
    answer = await held(face, opens, "r1", NURSE)

    assert answer["distillation"] == "distilled"
    (one,) = await episodes(face)
    assert "Napoleon" not in one["summary"]
    assert "nurse" in one["summary"]


async def test_an_answer_without_a_summary_ends_a_session(opens: Opens) -> None:
    face = opens(COMPANION, llm=ScriptedLlm([digest("")]))
    answer = await held(face, opens, "r1", NURSE)

    assert answer["distillation"] == "empty:empty_summary"
    assert await episodes(face) == []
    assert await pinned(face) == {}


@pytest.mark.req("S-19", "S-22")
@pytest.mark.parametrize(
    ("answers", "code"),
    [([{"entities": []}], "no_episode"), (["I would rather chat."] * 2, "bad_model_output")],
)
async def test_what_no_model_can_digest_the_rules_do_and_the_log_says_so(
    opens: Opens, answers: list[Any], code: str
) -> None:
    face = opens(COMPANION, llm=ScriptedLlm(answers))
    answer = await held(face, opens, "r1", NURSE)

    assert answer["distillation"] == "distilled"
    (one,) = await episodes(face)
    assert "nurse" in one["summary"]
    (job,) = (await face.admin.jobs(task="distill", user_id="alice"))["results"]
    assert job["details"]["degraded"] == [{"step": "digest", "code": code}]


async def test_what_a_person_deleted_comes_back_only_when_it_is_said_again(opens: Opens) -> None:
    face = opens(COMPANION)
    await held(face, opens, "r1", "I am allergic to peanuts, so please do not suggest recipes with peanuts to me ever.")
    (fact,) = [one for text, one in (await pinned(face)).items() if "allergic" in text]
    opens.clock.advance(minutes=1)
    await face.delete(fact["id"])

    await held(face, opens, "r1", "Thanks, by the way what a lovely and sunny day it is today here in Oslo, is it not?")
    assert not any("allergic" in text for text in await pinned(face))
    await held(face, opens, "r2", "I am allergic to peanuts, so please do not suggest recipes with peanuts to me ever.")
    assert any("allergic" in text for text in await pinned(face))


@pytest.mark.parametrize("by_model", [False, True])
async def test_an_episode_tells_nothing_that_a_person_deleted(opens: Opens, *, by_model: bool) -> None:
    fact = {"content": "User is allergic to peanuts.", "quote": "I am allergic to peanuts"}
    worded = digest("She has an old yellow house, and peanuts are bad for her.", pinned_candidates=[fact])
    config = {**COMPANION, "context": {"gate": "always", "false_injection": 0}}
    face = opens(config, llm=ScriptedLlm([worded])) if by_model else opens(config)
    await held(
        face,
        opens,
        "r1",
        "I painted my old house in Oslo yellow last year.",
        "> Oh, nice!",
        "I am allergic to peanuts, sadly.",
    )

    async def visible() -> str:
        pack = await face.context("What did we say about my house?", **WHO)
        return str(pack.text)

    assert "peanuts" in await visible()
    for one in (await face.profile.facts(**WHO))["results"]:
        if "allergic" in one["content"]:
            await face.delete(one["id"])
    assert "peanuts" not in await visible()
    assert ("yellow" in await visible()) is not by_model, "what a model worded is not shown at all"


async def test_a_fact_lives_no_longer_than_the_words_it_comes_from(opens: Opens) -> None:
    face = opens(COMPANION)
    await face.add(NURSE, **WHO, run_id="r1", expires_at="2026-01-02")
    await face.sessions.end(**WHO, run_id="r1")
    assert await pinned(face)
    assert await episodes(face)

    opens.clock.advance(days=2)
    assert await pinned(face) == {}
    assert await episodes(face) == []
    assert (await face.identity.get(user_id="alice"))["derived"] == []


async def test_what_was_said_is_not_kept_when_it_should_not_be(opens: Opens) -> None:
    face = opens(COMPANION)
    await face.add(NURSE, **WHO, run_id="r1", keep_turns=False)
    await face.sessions.end(**WHO, run_id="r1")
    assert (await face.get_all(**WHO, layers=["turn"]))["results"] == []
    assert (await pinned(face)).keys() >= {"User lives in Oslo."}

    await face.add(
        "I have a boat in Bergen harbour and I paint it blue every spring, as my father did.",
        **WHO,
        run_id="r1",
        keep_turns=False,
    )
    await face.sessions.end(**WHO, run_id="r1")
    (one,) = await episodes(face)
    assert "Alice" in one["summary"]
    assert "boat" in one["summary"]


@pytest.mark.req("N-32")
async def test_conflicts_of_all_facts_are_one_question(opens: Opens) -> None:
    def answer(prompt: Any) -> Any:
        if prompt.schema["title"] == "facts":
            asked = prompt.messages[-1]["content"].partition("Conversation:")[2]
            lines = ["User lives in Bergen.", "User drinks tea."] if "Bergen" in asked else ["User lives in Oslo."]
            quotes = {"Bergen": "I live in Bergen", "tea": "I drink tea", "Oslo": "I live in Oslo"}
            return {"facts": [{"text": one, "turn": 1, "quote": quotes[one.rstrip(".").split()[-1]]} for one in lines]}
        return {"decisions": []}

    llm = ScriptedLlm(answer)
    face = opens({"extract": {"questions": 2}}, llm=llm)
    await face.add("I live in Oslo.", user_id="alice")
    before = len(llm.prompts)
    opens.clock.advance(minutes=1)
    await face.add("I live in Bergen. I drink tea.", user_id="alice")

    extraction, decision = llm.prompts[before:]
    assert extraction.schema is not None
    assert extraction.schema["title"] == "facts"
    assert "1. (2026-01-01) User lives in Oslo." in extraction.messages[-1]["content"]
    text = json.dumps([message["content"] for message in decision.messages])
    assert "User lives in Bergen." in text
    assert "User lives in Oslo." in text
