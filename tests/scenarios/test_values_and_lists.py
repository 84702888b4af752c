"""What becomes of a memory when only a part of it changes: a value, one of several things, or what was said wrong."""

from __future__ import annotations

from typing import Any

import pytest

from memstone import Memory
from memstone.testing.clock import FakeClock


def known_after(*messages: str) -> set[str]:
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock()) as memory:
        for day, message in enumerate(messages, 1):
            memory.add(message, user_id="ada", occurred_at=f"2026-03-{day:02d}T10:00:00Z")
        return {one["memory"] for one in memory.get_all(user_id="ada")["results"]}


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("messages", "known"),
    [
        (("I weigh 92 kg", "down to 89 kg!"), {"User weighs 89 kg."}),
        (("I weigh 92 kg", "down to 89 kg"), {"User weighs 89 kg."}),
        (("My email is joe@gmail.com", "correction: joe@outlook.com"), {"User's email is joe@outlook.com."}),
        (("I'm 41 and live in Leeds", "turned 42 today"), {"User is 42 and lives in Leeds."}),
        (("I weigh 92 kg", "lost 3 kg already"), {"User weighs 92 kg.", "User lost 3 kg already."}),
        (
            ("My appointment with Dr. Kim is on Friday at 3pm", "they moved it to Tuesday at 10"),
            {"User's appointment with Dr. Kim is on Tuesday (3 March 2026) at 10."},
        ),
    ],
)
def test_a_value_that_is_told_alone_is_not_lost(messages: tuple[str, ...], known: set[str]) -> None:
    assert known_after(*messages) == known


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("messages", "known"),
    [
        (
            ("I'm allergic to peanuts and shellfish", "turns out I'm not allergic to shellfish"),
            {"User is allergic to peanuts.", "User is not allergic to shellfish."},
        ),
        (
            ("I subscribe to Netflix, Hulu and Disney+", "cancelled Hulu"),
            {"User subscribes to Netflix and Disney+.", "User cancelled Hulu."},
        ),
        (("I have two cats, Mia and Tom, and a parrot", "Tom died"), {"User has 1 cat, Mia and a parrot."}),
    ],
)
def test_one_of_several_things_that_is_over_leaves_the_others(messages: tuple[str, ...], known: set[str]) -> None:
    assert known_after(*messages) == known


@pytest.mark.parametrize(
    ("messages", "known"),
    [
        (
            ("My flight to Lisbon is on May 12th", "no wait, I meant May 21st"),
            {"User's flight to Lisbon is on May 21st."},
        ),
        (
            ("I have a meeting on Tuesday", "sorry, I meant Wednesday"),
            {"User has a meeting on Wednesday (4 March 2026)."},
        ),
        (("I switched from neovim to helix", "no, I meant zed, not helix"), {"User switched from neovim to zed."}),
        (("My bus leaves at 7:30", "I like tea", "oops, 7:45"), {"User's bus leaves at 7:45.", "User likes tea."}),
        (("I love my job", "I meant well"), {"User loves their job."}),
    ],
)
def test_whoever_puts_something_right_means_what_was_said_last(messages: tuple[str, ...], known: set[str]) -> None:
    assert known_after(*messages) == known


@pytest.mark.parametrize(
    "messages",
    [
        ("I'm not vegan", "I don't have a car, I bike everywhere"),
        ("I got promoted to lead UX designer", "I don't climb anymore since my shoulder injury"),
        ("I have a son, Noah, 3", "Noah is jealous of the baby. any advice? he stopped sleeping through the night"),
        ("stop calling me captain", "speak to me in Spanish from now on"),
        ("I work remotely for a company based in Toronto", "I live in Bonn"),
        ("We raised the budget to 30k, the contractor quoted 32k for the kitchen", "what now?"),
    ],
)
def test_what_has_nothing_to_do_with_a_memory_leaves_it_as_it_is(messages: tuple[str, ...]) -> None:
    (first,) = known_after(messages[0])
    assert first in known_after(*messages)


def test_a_shortened_memory_keeps_where_it_comes_from_and_can_be_undone() -> None:
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock()) as memory:
        (first,) = memory.add("I play guitar and piano", user_id="ada", metadata={"app": "x"})["results"]
        memory.add("I stopped playing piano", user_id="ada")
        found: Any = memory.get(first["id"])
        assert (found["memory"], found["metadata"]) == ("User plays guitar.", {"app": "x"})
        assert found["evidence"]["quote"] == "I play guitar and piano"
        (change,) = [one for one in memory.history(first["id"]) if one["event"] == "UPDATE"]
        memory.undo(change["id"])
        restored: Any = memory.get(first["id"])
        assert restored["memory"] == "User plays guitar and piano."


def test_a_pasted_talk_is_nobodys_own_words() -> None:
    assert known_after("User: I live in Tokyo\nAssistant: Great!\nUser: I like sushi") == set()


def test_it_may_be_put_right_within_one_talk() -> None:
    talk = ["My flight is on May 12th", "Noted!", "no wait, I meant May 21st"]
    messages = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(talk)]
    with Memory({"store": {"url": "memory:"}}, clock=FakeClock()) as memory:
        memory.add(messages, user_id="ada")
        assert [one["memory"] for one in memory.get_all(user_id="ada")["results"]] == ["User's flight is on May 21st."]
