"""What one person tells an assistant over a year, and the facts a good listener takes from it.

New facts, the same ones in the same and in other words, changes, ends, small talk. Every fact has the words that show
it (``quote``, found in one message only) and a ``meaning``: two wordings of one thing have the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

USER: Final = "nora"


class ScriptTurn(NamedTuple):
    """One message."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ScriptFact:
    """A fact, what it makes untrue (``ends``), and what it says more exactly than before (``covers``).

    A ``closing`` fact only tells that something is over: to keep it is right, and so is to keep nothing.
    """

    meaning: str
    text: str
    quote: str
    ends: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    category: str = "other"
    closing: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages that are added together, and the facts in them."""

    title: str
    messages: tuple[ScriptTurn, ...]
    facts: tuple[ScriptFact, ...] = ()


def _talk(*texts: str) -> tuple[ScriptTurn, ...]:
    """Return user and assistant in turns; the user begins."""
    return tuple(ScriptTurn("assistant" if at % 2 else "user", text) for at, text in enumerate(texts))


CONVERSATIONS: Final = (
    Conversation(
        "introduction",
        _talk(
            "Hi, my name is Nora. I live in Berlin and work as a nurse at the Charité.",
            "Nice to meet you, Nora! What can I do for you?",
            "Dinner ideas, please. I eat everything. And I have a dog who begs for all of it.",
            "Then how about a roast with root vegetables? The trimmings are for the dog.",
        ),
        (
            ScriptFact("name", "User's name is Nora.", "my name is Nora", category="identity"),
            ScriptFact("berlin", "User lives in Berlin.", "I live in Berlin", category="home"),
            ScriptFact(
                "nurse", "User works as a nurse at the Charité.", "work as a nurse at the Charité", category="work"
            ),
            ScriptFact("omnivore", "User eats everything.", "I eat everything", category="preference"),
            ScriptFact("dog", "User has a dog.", "I have a dog", category="possession"),
        ),
    ),
    Conversation(
        "small talk",
        _talk("Good morning! How are you today?", "Very well, thank you. And you?", "Fine, just a bit sleepy."),
    ),
    Conversation(
        "a repeat in other words, and something new",
        _talk(
            "Which lake is nice for a swim? My home is Berlin, so not too far away please.",
            "The Schlachtensee is lovely and easy to reach by train.",
            "Great. Is there a snack bar? I am allergic to peanuts, so I always ask.",
            "There is one; their list of allergens hangs at the counter.",
        ),
        (
            ScriptFact("berlin", "User's home is Berlin.", "My home is Berlin", category="home"),
            ScriptFact("allergy", "User is allergic to peanuts.", "I am allergic to peanuts", category="health"),
        ),
    ),
    Conversation(
        "a change of diet",
        _talk(
            "No roast this time: I am a vegetarian now.",
            "Noted. Stuffed peppers with feta then?",
            "Perfect. My brother Jonas comes for dinner every Sunday, so make it for two.",
        ),
        (
            ScriptFact(
                "vegetarian",
                "User is a vegetarian.",
                "I am a vegetarian now",
                ends=("omnivore",),
                category="preference",
            ),
            ScriptFact(
                "brother",
                "User's brother Jonas comes for dinner every Sunday.",
                "My brother Jonas comes for dinner every Sunday",
                category="family",
            ),
        ),
    ),
    Conversation(
        "something more exact, and an exact repeat",
        _talk(
            "I have a beagle named Milo, and he has eaten half a cushion. What now?",
            "Watch him for a day; if he vomits or does not eat, call the vet.",
            "He looks proud, not ill. By the way, I am a vegetarian, so no cushion for me.",
            "That is a relief for the cushions.",
        ),
        (
            ScriptFact(
                "beagle",
                "User has a beagle named Milo.",
                "I have a beagle named Milo, and",
                covers=("dog",),
                category="possession",
            ),
            ScriptFact("vegetarian", "User is a vegetarian.", "I am a vegetarian, so", category="preference"),
        ),
    ),
    Conversation(
        "a new job and a plan",
        _talk(
            "Big news: I no longer work at the Charité, I teach at a nursing school.",
            "Congratulations! How do you like it?",
            "A lot. More free evenings, too: I want to run the Hamburg marathon.",
            "Then let us make a training plan.",
            "Later, I have to prepare a lesson first.",
            "Good luck with the lesson!",
        ),
        (
            ScriptFact(
                "teacher",
                "User teaches at a nursing school.",
                "I teach at a nursing school",
                ends=("nurse",),
                category="work",
            ),
            ScriptFact(
                "marathon",
                "User wants to run the Hamburg marathon.",
                "I want to run the Hamburg marathon",
                category="goal",
            ),
        ),
    ),
    Conversation(
        "a text to work on",
        _talk(
            "Please translate this into English: Ich wohne in Köln und habe zwei Katzen.",
            "Here it is: a person from Cologne who has two cats.",
        ),
    ),
    Conversation(
        "a move",
        _talk(
            "We moved, I live in Leipzig now. Where do people go for coffee here?",
            "Around the Karl-Heine-Straße there are many small places.",
            "Lovely. I also play the cello; is there an amateur orchestra?",
            "Several, and most of them look for cellists.",
        ),
        (
            ScriptFact("leipzig", "User lives in Leipzig.", "I live in Leipzig now", ends=("berlin",), category="home"),
            ScriptFact("cello", "User plays the cello.", "I also play the cello", category="skill"),
        ),
    ),
    Conversation(
        "two things that are over",
        _talk(
            "The doctor tested me again: I am not allergic to peanuts after all.",
            "That makes snack bars a lot easier!",
            "Yes! Something sad as well: I no longer play the cello, my wrist does not allow it.",
            "I am sorry to hear that.",
        ),
        (
            ScriptFact(
                "no allergy",
                "User is not allergic to peanuts.",
                "I am not allergic to peanuts",
                ends=("allergy",),
                category="health",
                closing=True,
            ),
            ScriptFact(
                "no cello",
                "User no longer plays the cello.",
                "I no longer play the cello",
                ends=("cello",),
                category="skill",
                closing=True,
            ),
        ),
    ),
    Conversation(
        "repeats in other words",
        _talk(
            "Leipzig is my home now, and it starts to feel like it.",
            "How is the school?",
            "Good! My job is teaching at the nursing school, and my class is lively.",
        ),
        (
            ScriptFact("leipzig", "User's home is Leipzig.", "Leipzig is my home now", category="home"),
            ScriptFact(
                "teacher",
                "User's job is teaching at the nursing school.",
                "My job is teaching at the nursing school",
                category="work",
            ),
        ),
    ),
    Conversation(
        "another change of diet, and a plan given up",
        _talk(
            "I am vegan now: no cheese, no eggs.",
            "Then the lentil bolognese is for you.",
            "And no long runs: I no longer want to run the Hamburg marathon, my knee hurts.",
            "Swimming may be kinder to it.",
        ),
        (
            ScriptFact(
                "vegan",
                "User is vegan.",
                "I am vegan now",
                ends=("vegetarian", "omnivore"),
                category="preference",
            ),
            ScriptFact(
                "no marathon",
                "User no longer wants to run the Hamburg marathon.",
                "I no longer want to run the Hamburg marathon",
                ends=("marathon",),
                category="goal",
                closing=True,
            ),
        ),
    ),
    Conversation(
        "new facts beside known ones",
        _talk(
            "My sister Lena is a pilot. What could I give her for her birthday?",
            "A good headset, or a flight log bound in leather.",
            "The log! And I prefer short answers, like this one.",
            "Noted.",
            "Now a walk, since I have a beagle named Milo who stares at me.",
        ),
        (
            ScriptFact("sister", "User's sister Lena is a pilot.", "My sister Lena is a pilot", category="family"),
            ScriptFact("brevity", "User prefers short answers.", "I prefer short answers", category="instruction"),
            ScriptFact(
                "beagle", "User has a beagle named Milo.", "since I have a beagle named Milo", category="possession"
            ),
        ),
    ),
)


def facts() -> Iterator[ScriptFact]:
    """Yield all facts in the order in which they are said."""
    for conversation in CONVERSATIONS:
        yield from conversation.facts


def true_at_the_end() -> tuple[frozenset[str], frozenset[str]]:
    """Return which meanings hold after the last conversation, and which of them a memory may do without."""
    true: set[str] = set()
    covered: set[str] = set()
    closing: set[str] = set()
    for fact in facts():
        true.difference_update(fact.ends)
        true.add(fact.meaning)
        covered.update(fact.covers)
        if fact.closing:
            closing.add(fact.meaning)
    return frozenset(true), frozenset(true & (closing | covered))
