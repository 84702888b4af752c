"""Steps that scenarios about what a model is shown of a person share."""

from __future__ import annotations

from typing import Any, Final

from tests.faces.harness import Face, Opens

STORY: Final = (
    "I love jazz.",
    "My sister Ada plays chess.",
    "I'm allergic to hazelnuts.",
    "My name is Ida.",
    "I live in Oslo.",
)
JAZZ: Final = "I love jazz. The weather forecast mumbles about drizzle over the fjord."
"""Of the first sentence a fact is made; no fact holds the second."""

BEES: Final = "Bees all over my porch again, what a day!"
"""No fact is made of it."""

IDLE: Final = "What is the capital of Peru?"
NEAR: Final = "Does the forecast mumble about drizzle over the fjord? The weather? And do I love jazz?"


async def tell(face: Face, opens: Opens, *sentence: str, **rest: Any) -> None:
    """Say things on one day, and let it pass."""
    for text in sentence:
        await face.add(text, **{"user_id": "alice", **rest})
    opens.clock.advance(days=1)


async def fact_of(face: Face, word: str) -> str:
    """The id of the fact with a word."""
    (found,) = [one for one in (await face.get_all(user_id="alice"))["results"] if word in one["memory"]]
    return str(found["id"])


async def block(face: Face, query: str = IDLE, **rest: Any) -> str:
    """All that a model is told for a message."""
    return str((await face.context(query, **{"user_id": "alice", **rest})).text)
