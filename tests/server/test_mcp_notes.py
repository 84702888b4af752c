"""What a model asks to be remembered is remembered, also where nothing is to be learned in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from memstone import AsyncMemory
from memstone.server.mcp.tools import Asked, tools, used
from memstone.testing.clock import FakeClock

PLAIN: Final = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}
TOOLS: Final = tools()


class Model:
    """One that uses its tools, a minute after the other."""

    def __init__(self, memory: AsyncMemory, clock: FakeClock) -> None:
        self.memory, self.clock = memory, clock

    async def adds(self, content: str, **more: Any) -> dict[str, Any]:
        """Use ``memory_add``; gives what it is told."""
        self.clock.advance(minutes=1)
        answer = await used(TOOLS["memory_add"], Asked(self.memory, {"content": content, **more}, "me"))
        assert answer["success"], answer
        return dict(answer["data"])

    async def knows(self) -> list[str]:
        """All that is remembered."""
        return sorted(one["memory"] for one in (await self.memory.get_all(user_id="me"))["results"])


def with_model(work: Callable[[Model], Coroutine[Any, Any, None]], **config: Any) -> None:
    async def run() -> None:
        clock = FakeClock(datetime(2026, 5, 7, 9, 30, tzinfo=UTC))
        async with AsyncMemory({**PLAIN, **config}, clock=clock) as memory:
            await work(Model(memory, clock))

    asyncio.run(run())


NOTES: Final = [
    "This repo uses pnpm, not npm.",
    "Staging database runs on port 5433",
    "Is the build green?",
    "Die Kantine schließt um drei.",
]


@pytest.mark.req("O-84")
@pytest.mark.parametrize("config", [{}, {"profile": "companion"}, {"profile": "gateway"}])
def test_what_teaches_nothing_is_kept_word_for_word(config: dict[str, Any]) -> None:
    async def steps(model: Model) -> None:
        for text in NOTES:
            data = await model.adds(text)
            assert [(one["event"], one["memory"]) for one in data["changes"]] == [("ADD", text)]
            again = await model.adds(text)
            assert [one["event"] for one in again["changes"]] == ["NONE"]
        assert await model.knows() == sorted(NOTES)

    with_model(steps, **{**config, "write": {"mode": "manual"}} if config else {})


@pytest.mark.req("O-84")
def test_what_teaches_something_is_learned_and_not_kept_twice() -> None:
    async def steps(model: Model) -> None:
        await model.adds("I live in Oslo.")
        assert (await model.adds("I live in Oslo."))["changes"][0]["event"] == "NONE"
        assert await model.knows() == ["User lives in Oslo."]

    with_model(steps)


@pytest.mark.req("O-84", "X-30")
@pytest.mark.parametrize("text", ["I live in Oslo.", "This repo uses pnpm, not npm."])
def test_what_the_user_deleted_is_not_kept_until_it_is_said_anew(text: str) -> None:
    async def steps(model: Model) -> None:
        added = (await model.adds(text))["changes"][0]["id"]
        model.clock.advance(minutes=1)
        await model.memory.delete(added)
        again = await model.adds(text)
        assert (again["changes"], await model.knows()) == ([], [])
        assert "deleted" in again["message"]
        await model.memory.add("Hello there.", user_id="me")
        assert (await model.adds(text))["changes"][0]["event"] == "ADD"

    with_model(steps)


@pytest.mark.req("O-84")
def test_a_request_to_forget_what_nobody_knows_is_no_note() -> None:
    async def steps(model: Model) -> None:
        assert (await model.adds("Forget that I like jazz."))["changes"] == []
        assert await model.knows() == []

    with_model(steps)


@pytest.mark.req("O-84")
def test_what_may_not_be_stored_is_not_stored_as_a_note_either() -> None:
    card = "The card of the team is 4111 1111 1111 1111"

    async def dropped(model: Model) -> None:
        assert (await model.adds(card))["changes"] == []
        assert await model.knows() == []

    async def masked(model: Model) -> None:
        await model.adds(card)
        (known,) = await model.knows()
        assert "[redacted:card]" in known
        assert " 4111" not in known

    async def paused(model: Model) -> None:
        await model.memory.pause(user_id="me")
        assert (await model.adds("This repo uses pnpm, not npm."))["status"] == "paused"
        assert await model.knows() == []

    async def full(model: Model) -> None:
        answer = await used(TOOLS["memory_add"], Asked(model.memory, {"content": "The door code hangs inside."}, "me"))
        assert not answer["success"]
        assert await model.knows() == []

    with_model(dropped, extract={"redact": {"card": "drop"}})
    with_model(masked)
    with_model(paused)
    with_model(full, quota={"user_memories": 0})


@pytest.mark.req("O-84")
@pytest.mark.parametrize("said", ["Hello there!", "Thanks a lot, that is great", "ok!", "Good morning everyone :)"])
def test_courtesies_are_nothing_to_remember(said: str) -> None:
    async def work(model: Model) -> None:
        await model.adds(said)
        assert await model.knows() == []

    with_model(work)
