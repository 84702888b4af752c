"""Conversations of a few people over many days, made up, the same every time.

People repeat themselves: some sessions are the same every week, favourite subjects come back, and most of what is told
once is never mentioned again.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

PEOPLE: Final = (("alice", "pal"), ("alice", "coach"), ("bob", "pal"))
_THINGS: Final = "bicycle kettle tent guitar camera lamp sofa telescope kayak clock rug drill piano scarf globe".split()
_COLOURS: Final = "red green blue yellow black white brown silver".split()
_NAMES: Final = "Mia Jonas Ada Levi Nora Emil Ida Oskar Tuva Felix Alma Theo Selma Hugo Vera Anton".split()
_KIN: Final = "daughter brother sister cousin aunt uncle neighbour colleague".split()
_TOWNS: Final = "Oslo Bergen Lisbon Porto Turin Graz Leeds Nantes Gdansk Malmo Cork Bilbao".split()
_FIRMS: Final = "Nordlys Havbris Fjordtech Solvang Granitt Bjerk Lysverk Tindvik".split()
_SUBJECTS: Final = "sailing baking chess gardening climbing painting fencing astronomy pottery beekeeping".split()
_DISHES: Final = "risotto ramen paella goulash curry lasagne dumplings falafel".split()
_ANSWERS: Final = ("Good to know.", "That sounds nice.", "Tell me more.", "I see.", "Shall I make a note of it?")
_ROUTINES: Final = (
    ("Let us go through my week.", "I go running on Tuesdays.", "I swim on Thursdays.", "I call my mother on Sundays."),
    (
        "Time for the shopping list.",
        "I buy oat milk every week.",
        "I never buy peanuts.",
        "I get rye bread on Fridays.",
    ),
)
"""Sessions that are the same each time."""


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: when (in hours from the start), whose, what was said, and what was asked."""

    at: float
    user_id: str
    agent_id: str
    run_id: str
    messages: tuple[dict[str, str], ...]
    question: str


def sessions(count: int, days: int, seed: int = 7) -> list[Session]:
    """Return so many conversations, spread over so many days, in order."""
    random = Random(seed)  # noqa: S311 - the same every time is the point
    times = sorted(random.uniform(0, 24 * days - 1) for _ in range(count))
    habits = {person: random.sample(_SUBJECTS, 3) for person in PEOPLE}
    answer: dict[tuple[str, str], list[str]] = {person: [] for person in PEOPLE}
    found = []
    for number, at in enumerate(times):
        person = random.choices(PEOPLE, (5, 2, 3))[0]
        texts, asked = _make_lines(random, habits[person], answer[person])
        found.append(Session(at, *person, f"session-{number}", _turns(random, texts), asked))
    return found


def _make_lines(random: Random, habits: list[str], answers: list[str]) -> tuple[list[str], str]:
    if random.random() < 0.25:
        return list(random.choice(_ROUTINES)), "What do I do on Thursdays?"
    lines = [_news(random) for _ in range(random.randint(1, 3))]
    subject = random.choice(habits)
    lines.append(f"I love {subject}, I do it whenever I can.")
    if answers and random.random() < 0.3:
        lines.append(random.choice(answers[-40:]))
    answers += lines[:-1]
    asked = random.choice(answers[-60:]) if random.random() < 0.5 else f"Do I like {subject}?"
    random.shuffle(lines)
    return lines, f"What did I say about this: {asked}" if asked in answers else asked


def _news(random: Random) -> str:
    name, town = random.choice(_NAMES), random.choice(_TOWNS)
    return random.choice(
        (
            f"I bought a {random.choice(_COLOURS)} {random.choice(_THINGS)} in {town}.",
            f"My {random.choice(_KIN)} {name} works at {random.choice(_FIRMS)}.",
            f"My {random.choice(_KIN)} {name} lives in {town}.",
            f"I cooked {random.choice(_DISHES)} for {name}.",
            f"I am planning a trip to {town} with {name}.",
            f"I lent my {random.choice(_THINGS)} to {name}.",
        )
    )


def _turns(random: Random, texts: list[str]) -> tuple[dict[str, str], ...]:
    pairs = (
        ({"role": "user", "content": line}, {"role": "assistant", "content": random.choice(_ANSWERS)}) for line in texts
    )
    return tuple(turn for pair in pairs for turn in pair)
