"""What a language model decides is done, in its own words; what of it is not done is told."""

from __future__ import annotations

from typing import Any

import pytest

from memstone import Memory
from memstone.ports.models import Prompt
from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import ON_DISK, Face, Opens


def add(text: str, quote: str, **more: Any) -> dict[str, Any]:
    return {"op": "ADD", "memory": None, "text": text, "turns": [1], "quote": quote, **more}


def change(op: str, memory: int, quote: str, text: str | None = None) -> dict[str, Any]:
    return {"op": op, "memory": memory, "text": text, "turns": [1], "quote": quote}


def answers(*steps: list[dict[str, Any]]) -> ScriptedLlm:
    return ScriptedLlm([{"operations": step} for step in steps])


async def told(face: Face, message: Any, **rest: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await face.add(message, **{"user_id": "alice", **rest})
    assert answer["status"] == "ok", answer
    return answer


def events(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["event"], one["memory"]) for one in answer["results"]]


@pytest.mark.req("X-11", "R-32")
async def test_facts_of_one_answer_that_are_alike_are_all_stored(opens: Opens) -> None:
    books = [f"User owns book {number}." for number in range(1, 7)]
    face = opens(llm=answers([add(text, text[5:-1].replace("owns", "own")) for text in books]))

    answer = await told(face, "I " + ", ".join(f"own book {number}" for number in range(1, 7)))

    assert events(answer) == [("ADD", text) for text in books]


@pytest.mark.req("X-11", "C-23")
async def test_no_rule_replaces_what_the_model_adds_beside_it(opens: Opens) -> None:
    face = opens(
        llm=answers(
            [add("User is moving on 2026-06-27.", "moving on june 27")],
            [add("User has to cancel Ziggo before the move.", "cancel Ziggo before the move")],
            [add("User uses Python 3.12, FastAPI and SQLAlchemy.", "Python 3.12, FastAPI and SQLAlchemy")],
            [add("User does not want async SQLAlchemy.", "no async SQLAlchemy")],
        )
    )
    await told(face, "we're moving on june 27")
    await told(face, "i have to cancel Ziggo before the move")
    await told(face, "we use Python 3.12, FastAPI and SQLAlchemy")
    await told(face, "no async SQLAlchemy please")

    assert sorted(await face.listed()) == [
        "User does not want async SQLAlchemy.",
        "User has to cancel Ziggo before the move.",
        "User is moving on 2026-06-27.",
        "User uses Python 3.12, FastAPI and SQLAlchemy.",
    ]


@pytest.mark.req("R-32", "N-40")
@pytest.mark.parametrize(
    "text",
    ["User saw The Day After Tomorrow.", "14. Dezember ist Users Umzug.", "User's favourite is My Hero Academia."],
)
async def test_a_text_is_stored_letter_by_letter(opens: Opens, text: str) -> None:
    face = opens(llm=answers([add(text, text)]))
    await told(face, f"{text} Right?")
    assert await face.listed() == [text]


@pytest.mark.req("R-32", "R-32.1")
async def test_what_is_doubtful_is_stored_and_marked_and_replaces_nothing(opens: Opens) -> None:
    face = opens(
        llm=answers(
            [add("User weighs 70 kg.", "weigh 70 kg")],
            [change("UPDATE", 1, "71 kg", "User weighs 91 kg."), add("User is a pilot.", "")],
        )
    )
    await told(face, "I weigh 70 kg")
    answer = await told(face, "I weigh 71 kg now")

    (result,) = answer["results"]
    assert (result["event"], result["memory"]) == ("ADD", "User weighs 91 kg.")
    assert (result["doubt"], result["evidence"]["verdict"]) == ("it has a number that nobody said", "doubtful")
    assert answer["dropped"] == [{"text": "User is a pilot.", "reason": "it shares nothing with the conversation"}]
    found = {one["memory"]: one.get("doubt") for one in (await face.get_all(user_id="alice"))["results"]}
    assert found == {"User weighs 70 kg.": None, "User weighs 91 kg.": "it has a number that nobody said"}
    hits = (await face.search("how much do I weigh", user_id="alice"))["results"]
    assert [one["memory"] for one in hits] == ["User weighs 70 kg.", "User weighs 91 kg."], "it comes last"
    nearest = (await face.search("User weighs 91 kg.", user_id="alice"))["results"]
    assert [one["memory"] for one in nearest] == ["User weighs 70 kg.", "User weighs 91 kg."]
    assert nearest[0]["score"] >= nearest[1]["score"]


@pytest.mark.req("R-32", "X-36")
async def test_somebody_elses_illness_is_at_most_doubtful(opens: Opens) -> None:
    face = opens(llm=answers([add("User is allergic to nuts.", "allergic to nuts")]))
    (result,) = (await told(face, "my nephew is allergic to nuts"))["results"]
    assert result["doubt"] == "it was said of somebody else"


@pytest.mark.req("R-23", "R-32")
@pytest.mark.parametrize(
    ("said", "text", "quote", "about"),
    [
        ("answer please\nI have a nut allergy", "User has a nut allergy.", "I have a nut allergy", "user"),
        (
            'my boss wrote me: "the launch moves to May 3, bring the slides". what now?',
            "User's boss wrote that the launch moves to May 3.",
            "the launch moves to May 3",
            "user's boss",
        ),
    ],
)
async def test_ordinary_words_and_news_that_are_passed_on_need_no_approval(
    opens: Opens, said: str, text: str, quote: str, about: str
) -> None:
    face = opens(llm=answers([add(text, quote, about=about)]))
    (result,) = (await told(face, said))["results"]
    assert (result["event"], result.get("status"), result.get("doubt")) == ("ADD", None, None)
    assert await face.listed() == [text]


@pytest.mark.req("R-23", "X-36")
async def test_what_somebody_says_of_themselves_in_a_quotation_waits(opens: Opens) -> None:
    face = opens(llm=answers([add("User loves jazz.", "I love jazz")]))
    (result,) = (await told(face, 'He wrote: "I live in Paris and I love jazz."'))["results"]
    assert result["status"] == "quarantined"
    assert await face.listed() == []


@pytest.mark.req("X-30", "C-26")
async def test_what_the_user_asks_to_be_forgotten_is_deleted_as_a_person_deletes_it(opens: Opens) -> None:
    face = opens(
        llm=answers(
            [add("User's address is 4 Elm Road.", "4 Elm Road")],
            [change("FORGET", 1, "forget my address"), add("User builds a greenhouse.", "build a greenhouse")],
            [add("User's address is 4 Elm Road.", "4 Elm Road")],
        )
    )
    (known,) = (await told(face, "my address is 4 Elm Road"))["results"]
    opens.clock.advance(days=1)
    answer = await told(face, "forget my address, instead I decided to build a greenhouse")

    assert events(answer) == [("ADD", "User builds a greenhouse."), ("DELETE", "User's address is 4 Elm Road.")]
    assert await face.get(known["id"]) is None
    assert (await face.history(known["id"]))[-1]["is_deleted"]
    past = (await face.get_all(user_id="alice", as_of="2026-01-01T12:00:00Z"))["results"]
    assert past == [], "a look at the past does not show it either"
    assert await told(face, "my address is 4 Elm Road", run_id="old") is not None


@pytest.mark.req("X-30", "C-26")
async def test_the_rule_for_forgetting_runs_beside_a_model_that_overlooks_the_wish(opens: Opens) -> None:
    face = opens(llm=answers([add("User's address is 4 Elm Road.", "address is 4 Elm Road")], [], []))
    await told(face, "my address is 4 Elm Road")
    opens.clock.advance(days=1)

    assert events(await told(face, "please forget my address")) == [("DELETE", "User's address is 4 Elm Road.")]
    assert await face.listed() == []
    opens.clock.advance(days=1)
    again = await told(face, "forget my shoe size")
    assert "asked to forget something that is not in memory" in again["warnings"]


@pytest.mark.req("X-30", "X-14")
@pytest.mark.parametrize(
    ("said", "forgotten"),
    [
        ("forget my old flat, my old bike, my old car and my old boat", 4),
        ("so much for my old flat, bike, car and boat", 0),
        ("forget everything you know about me", 0),
    ],
)
async def test_many_memories_are_forgotten_where_the_user_plainly_asks_for_them(
    opens: Opens, said: str, forgotten: int
) -> None:
    things = ("flat", "bike", "car", "boat")
    face = opens(
        llm=answers(
            [add(f"User has an old {thing}.", f"old {thing}") for thing in things],
            [change("FORGET", number, said[:12]) for number in range(1, 5)],
        )
    )
    await told(face, "I have an old flat, an old bike, an old car and an old boat")
    opens.clock.advance(days=1)
    answer = await told(face, said)

    assert [event for event, _ in events(answer)] == ["DELETE"] * forgotten
    assert len(answer.get("review", ())) == 4 - forgotten
    assert len(await face.listed()) == 4 - forgotten


@pytest.mark.req("P-21", "D-13")
async def test_an_older_statement_that_arrives_late_is_stored_as_past(opens: Opens) -> None:
    face = opens(
        llm=answers(
            [add("User lives in Oslo.", "live in Oslo")],
            [change("UPDATE", 1, "live in Paris", "User lives in Paris.")],
        )
    )
    await told(face, "I live in Oslo", occurred_at="2025-06-01")
    answer = await told(face, "I live in Paris", occurred_at="2024-06-01")

    (result,) = answer["results"]
    assert (result["event"], result["memory"], result["status"]) == ("ADD", "User lives in Paris.", "superseded")
    assert result["reason"] == "a later statement is already known"
    assert await face.listed() == ["User lives in Oslo."]
    for when, known in (("2024-12-01", ["User lives in Paris."]), ("2025-12-01", ["User lives in Oslo."])):
        then = (await face.get_all(user_id="alice", as_of=when))["results"]
        assert [one["memory"] for one in then] == known


@pytest.mark.req("P-21", "D-13")
async def test_an_older_statement_ends_nothing_that_was_said_later(opens: Opens) -> None:
    face = opens(llm=answers([add("User plays chess.", "play chess")], [change("REMOVE", 1, "gave up chess")]))
    await told(face, "I play chess", occurred_at="2025-06-01")
    answer = await told(face, "I gave up chess", occurred_at="2024-06-01")
    assert [(one["event"], one["reason"]) for one in answer["results"]] == [
        ("NONE", "a later statement is already known")
    ]
    assert await face.listed() == ["User plays chess."]


@pytest.mark.req("C-22", "N-34")
async def test_a_model_sees_what_is_known_with_its_day_and_accepts_over_two_calls(opens: Opens) -> None:
    prompts: list[str] = []

    def answer(prompt: Prompt) -> dict[str, Any]:
        prompts.append(prompt.messages[-1]["content"])
        if "yes, Thursday" not in prompts[-1]:
            return {"operations": [add("User wants to see Dr Amsel.", "see Dr Amsel")]}
        text = "User sees Dr Amsel on Thursday 2026-01-01."
        return {"operations": [{**change("UPDATE", 1, "yes, Thursday", text), "turns": [2, 3]}]}

    face = opens(llm=ScriptedLlm(answer))
    chat = [
        {"role": "user", "content": "I want to see Dr Amsel"},
        {"role": "assistant", "content": "Tuesday or Thursday?"},
    ]
    await told(face, chat)
    answered = await told(face, "yes, Thursday")

    assert events(answered) == [("UPDATE", "User sees Dr Amsel on Thursday 2026-01-01.")]
    assert prompts[-1].startswith(
        "Memories:\n1. (2026-01-01) User wants to see Dr Amsel.\n\nEarlier turns:\n[1] user: "
    )
    assert "[2] assistant: Tuesday or Thursday?\n\nNew turns:\n[3] user: yes, Thursday\n\nDate: Thursday" in prompts[-1]


@pytest.mark.req("X-40", "N-42")
async def test_who_reaches_one_agent_of_a_user_is_shown_nothing_that_another_one_was_told(opens: Opens) -> None:
    prompts: list[str] = []

    def answer(prompt: Prompt) -> dict[str, Any]:
        prompts.append(prompt.messages[-1]["content"])
        place = "Oslo" if "Oslo" in prompts[-1].partition("New turns:")[2] else "Bergen"
        return {"operations": [add(f"User lives in {place}.", f"live in {place}")]}

    face = opens(llm=ScriptedLlm(answer))
    await told(face, "I live in Oslo", agent_id="nurse")
    bound = Face(face.memory.acting_for("default", agent_id="coach"))

    await told(bound, "I live in Bergen", agent_id="coach")

    assert "Oslo" not in prompts[-1]
    assert sorted(await face.listed()) == ["User lives in Bergen.", "User lives in Oslo."]
    await told(face, "I live in Bergen, really", agent_id="guide")
    assert "User lives in Oslo." in prompts[-1], "who reaches all of a user compares with all that is known of them"


@pytest.mark.req("C-22", "D-20")
async def test_of_a_conversation_that_goes_on_only_the_new_turns_are_asked_about(opens: Opens) -> None:
    prompts: list[str] = []

    def answer(prompt: Prompt) -> dict[str, Any]:
        prompts.append(prompt.messages[-1]["content"])
        return {"operations": []}

    face = opens(llm=ScriptedLlm(answer))
    chat = [{"role": "user", "content": "I love tea"}, {"role": "assistant", "content": "Noted."}]
    await told(face, chat, run_id="r")
    await told(face, [*chat, {"role": "user", "content": "and coffee"}], run_id="r")
    await told(face, [*chat, {"role": "user", "content": "and coffee"}], run_id="r")

    assert len(prompts) == 2, "what is sent again is not asked again"
    assert "New turns:\n[3] user: and coffee\n\n" in prompts[1]


@ON_DISK
@pytest.mark.req("P-20")
async def test_a_model_is_asked_again_about_what_became_known_while_it_thought(opens: Opens) -> None:
    visible: list[bool] = []

    def answer(prompt: Prompt) -> dict[str, Any]:
        visible.append("User lives in Oslo." in prompt.messages[-1]["content"])
        if len(visible) == 1:
            llm = answers([add("User lives in Oslo.", "live in Oslo")])
            config = {"store": {"url": opens.url}, "embedder": {"provider": "hash"}}
            with Memory(config, clock=opens.clock, llm=llm) as other:
                other.add("I live in Oslo", user_id="alice", run_id="elsewhere")
            return {"operations": [add("User has his home in Oslo.", "my home is in Oslo")]}
        return {"operations": [change("NONE", 1, "my home is in Oslo")] if visible[-1] else []}

    face = opens(llm=ScriptedLlm(answer))
    result = await told(face, "my home is in Oslo")

    assert visible == [False, True]
    assert events(result) == [("NONE", "User lives in Oslo.")]
    assert await face.listed() == ["User lives in Oslo."]


@pytest.mark.req("P-13", "P-21")
async def test_a_chat_without_an_id_is_understood_from_what_was_said_before_it(opens: Opens) -> None:
    prompts: list[str] = []

    def answer(prompt: Prompt) -> dict[str, Any]:
        prompts.append(prompt.messages[-1]["content"])
        return {"operations": []}

    face = opens({"preset": "shared"}, llm=ScriptedLlm(answer))
    for message in ("My sister is called Ida", "She moved to Rome"):
        await face.add(message, user_id="alice")
        await face.sessions.flush(everybody=True)
        opens.clock.advance(minutes=1)

    assert "Earlier turns:\n[1] user: My sister is called Ida\n\nNew turns:\n[2] user: She moved to Rome" in prompts[-1]
