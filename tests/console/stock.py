"""A store with three weeks of conversations, as an application would leave it: for screenshots and for tests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from memstone import Memory
from memstone.testing.clock import FakeClock

TALKS: Final[tuple[tuple[int, str, str, str, tuple[str, ...]], ...]] = (
    (20, "alice", "concierge", "trip-1", (
        "Hi! I'm Alice. I live in Oslo and work as a marine biologist at the university.",
        "I'm allergic to peanuts, so please keep that in mind for restaurants.",
        "My sister Mia moved to Rome last spring.",
    )),
    (18, "ben", "coach", "run-1", (
        "I'm training for the Berlin marathon in September.",
        "I run four times a week, usually before work.",
        "My left knee hurts after long runs.",
    )),
    (16, "alice", "concierge", "trip-2", (
        "I prefer window seats and I never check in luggage.",
        "My favourite food is ramen.",
        "I'm vegetarian since January.",
    )),
    (13, "chiara", "support", "ticket-88", (
        "Our team uses PostgreSQL 17 on Hetzner.",
        "We deploy on Fridays, and the staging server is called heron.",
        "My manager is Tomasz.",
    )),
    (12, "alice", "concierge", "trip-3", (
        "I have a cat called Biscuit.",
        "I speak Norwegian, English and a little Japanese.",
    )),
    (9, "ben", "coach", "run-2", (
        "I ran a half marathon in 1:42 on Sunday.",
        "I live in Ghent and I bike to work.",
    )),
    (8, "dana", "tutor", "math-4", (
        "I'm preparing for my linear algebra exam in December.",
        "I understand things best with pictures and short examples.",
        "Please answer in German.",
    )),
    (6, "alice", "concierge", "trip-4", (
        "I moved to Bergen in October, the new flat is near the harbour.",
        "I want to visit Kyoto in April with Mia.",
    )),
    (5, "chiara", "support", "ticket-91", (
        "We moved from Hetzner to a data centre in Milan.",
        "My birthday is on March 14.",
    )),
    (3, "ben", "coach", "run-3", (
        "My knee is fine again.",
        "I drink my coffee black.",
    )),
    (1, "alice", "concierge", "trip-5", (
        "Please keep answers short and skip the small talk.",
        "I take the night train whenever there is one.",
    )),
    (0, "dana", "tutor", "math-9", (
        "My exam was moved to January 12.",
        "I play the cello in a student orchestra.",
    )),
)  # fmt: skip
ENDED: Final = {
    "kyoto": (
        "We want to see the cherry blossoms in Kyoto in April.",
        "Mia and I decided to travel by night train to Tokyo first, then two weeks in Kyoto.",
        "Please remind me to book the ryokan before Christmas.",
    ),
    "flat": (
        "The new flat has a small terrace, and I'd like to grow tomatoes.",
        "I decided to buy two raised beds.",
        "I still have to measure the terrace.",
    ),
}
"""Sessions that came to an end: each has a digest."""

ASKED: Final = (
    (15, "alice", "Where should we eat tonight?"),
    (14, "alice", "Book a flight to my sister, please."),
    (11, "ben", "What should I do about my knee?"),
    (10, "chiara", "How do I connect to our database?"),
    (7, "ben", "Plan my runs for next week."),
    (6, "dana", "Explain eigenvalues to me."),
    (5, "alice", "What is the weather at home?"),
    (4, "alice", "Suggest a restaurant near my flat."),
    (4, "chiara", "When do we deploy?"),
    (2, "ben", "How far should I run tomorrow?"),
    (2, "alice", "Find me a way to Stockholm."),
    (1, "dana", "When is my exam?"),
    (0, "alice", "What do I need to pack for Kyoto?"),
    (0, "alice", "Who could come along to Japan?"),
)


def fill_store(config: Mapping[str, Any], now: datetime | None = None) -> None:
    """Fill a store as if three weeks had passed."""
    end = now or datetime.now(UTC)
    today = end.replace(hour=9, minute=12, second=4, microsecond=0)
    today -= timedelta(days=today > end - timedelta(minutes=30))  # nothing happens in the future
    clock = FakeClock(today - timedelta(days=21))
    with Memory(config, clock=clock) as memory:
        for days, happening in sorted(
            [*((one[0], one) for one in TALKS), *((one[0], one) for one in ASKED)], reverse=True, key=lambda one: one[0]
        ):
            clock.set(today - timedelta(days=days))
            _let_happen(memory, clock, happening)
        _tend(memory)


def _let_happen(memory: Memory, clock: FakeClock, happening: tuple[Any, ...]) -> None:
    if len(happening) == 3:
        _, user, question = happening
        memory.context(question, user_id=user)
        return
    _, user, agent, session, texts = happening
    for text in texts:
        memory.add(text, user_id=user, agent_id=agent, run_id=session)
        clock.advance(seconds=47)


def _tend(memory: Memory) -> None:
    """Do what people do in a console: pin, tag, put aside, add by hand."""
    known = {
        one["memory"]: one["id"]
        for user in ("alice", "ben", "chiara")
        for one in memory.get_all(user_id=user)["results"]
    }
    for text, memory_id in known.items():
        if "peanuts" in text:
            memory.profile.set_visibility(memory_id, "pinned")
            memory.update(memory_id, metadata={"tags": ["health"]})
        if "coffee" in text:
            memory.review.disable(memory_id, "not relevant")
        if "Tomasz" in text:
            memory.review.quarantine(memory_id, "who said so?")
    memory.settings.set({"write.digest": True})
    for session, texts in ENDED.items():
        turns = [{"role": "user", "content": text} for text in texts]
        memory.sessions.ingest(turns, user_id="alice", agent_id="concierge", run_id=session)
    memory.agents.save(
        "concierge", name="Concierge", model="small", system_prompt="You plan trips and dinners. Be brief and warm."
    )
    memory.admin.keys.create("alice's phone", user_id="alice", verbs=["read"])
    memory.admin.keys.create("shop backend", verbs=["read", "write"])
    memory.admin.accounts.create("nora@example.com", "correct horse battery", name="Nora Vik", role="admin")
    for text, user in (("Ben works at Umicore.", "ben"), ("Chiara was born in 1989.", "chiara")):
        held = memory.add(text, user_id=user, infer=False)["results"][0]["id"]
        memory.review.quarantine(held, "imported, and not yet looked at")
    memory.add(
        "Prefers trains to planes below 800 km",
        user_id="alice",
        infer=False,
        kind="procedural",
        metadata={"tags": ["travel"]},
    )
