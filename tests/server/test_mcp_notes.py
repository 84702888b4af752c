"""What a model asks to be remembered is remembered, also where nothing is to be learned in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from memstone import AsyncMemory
from memstone.errors import Conflict
from memstone.server.mcp.spec import ToolUse, call_tool
from memstone.server.mcp.tools import tools_by_name
from memstone.testing.clock import FakeClock

PLAIN: Final = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}
TOOLS: Final = tools_by_name()


class Model:
    """One that uses its tools, a minute after the other."""

    def __init__(self, memory: AsyncMemory, clock: FakeClock) -> None:
        self.memory, self.clock = memory, clock

    async def adds(self, content: str, **more: Any) -> dict[str, Any]:
        """Use ``memory_add``; gives what it is told."""
        self.clock.advance(minutes=1)
        answer = await call_tool(TOOLS["memory_add"], ToolUse(self.memory, {"content": content, **more}, "me"))
        if not answer["success"]:
            assert "data" not in answer
            raise Conflict(answer["error"]["message"])
        return dict(answer["data"])

    async def fails(self, content: str, why: str, **more: Any) -> None:
        """Use ``memory_add`` for something that is not stored, and is said not to be."""
        known = await self.knows()
        with pytest.raises(Conflict, match=why):
            await self.adds(content, **more)
        assert await self.knows() == known

    async def finds(self, query: str) -> list[str]:
        """Use ``memory_search``; gives what it finds."""
        answer = await call_tool(TOOLS["memory_search"], ToolUse(self.memory, {"query": query}, "me"))
        return [one["content"] for one in answer["data"]["memories"]]

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
    "The lift hums in B flat",
    "Is the build green?",
    "Die Kantine schließt um drei.",
]


@pytest.mark.req("O-84")
@pytest.mark.parametrize("config", [{}, {"preset": "companion"}, {"preset": "gateway"}])
def test_what_teaches_nothing_is_kept_word_for_word(config: dict[str, Any]) -> None:
    async def steps(model: Model) -> None:
        for text in NOTES:
            data = await model.adds(text)
            assert [(one["event"], one["content"]) for one in data["changes"]] == [("ADD", text)]
            assert (data["memory"]["content"], data["message"]) == (text, "memories: 1 stored")
            again = await model.adds(text)
            assert [one["event"] for one in again["changes"]] == ["NONE"]
            assert (again["memory"]["id"], again["message"]) == (data["memory"]["id"], "it was already known")
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
        await model.fails(text, "nothing was stored: the user has deleted")
        await model.memory.add("Hello there.", user_id="me")
        assert (await model.adds(text))["changes"][0]["event"] == "ADD"

    with_model(steps)


@pytest.mark.req("O-84")
def test_a_request_to_forget_what_nobody_knows_is_no_note() -> None:
    async def steps(model: Model) -> None:
        await model.fails("Forget that I like jazz.", "nothing was stored")

    with_model(steps)


@pytest.mark.req("O-84")
def test_what_may_not_be_stored_is_not_stored_as_a_note_either() -> None:
    card = "The card of the team is 4111 1111 1111 1111"

    async def dropped(model: Model) -> None:
        await model.fails(card, "nothing was stored")

    async def masked(model: Model) -> None:
        await model.adds(card)
        (known,) = await model.knows()
        assert "[redacted:card]" in known
        assert " 4111" not in known

    async def paused(model: Model) -> None:
        await model.memory.settings.pause(user_id="me")
        await model.fails("This repo uses pnpm, not npm.", "nothing was stored: memory is paused for this user")
        await model.fails("This repo uses pnpm, not npm.", "nothing was stored: memory is paused", key="pm")

    async def full(model: Model) -> None:
        await model.fails("The door code hangs inside.", "nothing more can be stored")

    with_model(dropped, extract={"redact": {"card": "drop"}})
    with_model(masked)
    with_model(paused)
    with_model(full, quota={"user_memories": 0})


@pytest.mark.req("O-84")
@pytest.mark.parametrize("said", ["Hello there!", "Thanks a lot, that is great", "ok!", "Good morning everyone :)"])
def test_courtesies_are_nothing_to_remember(said: str) -> None:
    async def work(model: Model) -> None:
        await model.fails(said, "nothing was stored: there is nothing to remember in it")

    with_model(work)


OFF: Final = [{"policy.enabled": False}, {"policy.learns": False}, {"context.budget": 0}]


@pytest.mark.req("O-84", "O-41", "O-56")
@pytest.mark.parametrize("setting", OFF)
@pytest.mark.parametrize("named", [{}, {"key": "pm"}, {"type": "procedural"}])
def test_what_a_model_is_asked_to_remember_is_stored_where_memory_is_off_for_chats(
    setting: dict[str, Any], named: dict[str, str]
) -> None:
    async def work(model: Model) -> None:
        await model.memory.settings.set(setting, user_id="me")
        data = await model.adds("This repo uses pnpm, not npm.", **named)
        assert data["memory"]["content"] == "This repo uses pnpm, not npm."
        assert await model.knows() == ["This repo uses pnpm, not npm."]
        assert (await model.adds("This repo uses pnpm, not npm.", **named))["message"] == "it was already known"
        assert (await model.memory.settings.get(user_id="me"))["settings"][next(iter(setting))] in (False, 0)

    with_model(work)


@pytest.mark.req("O-84", "X-42")
@pytest.mark.parametrize("text", ["Die Kantine schließt um drei.", "The lift hums in B flat", "I keep bees in Oslo."])
@pytest.mark.parametrize("times", [1, 2])
def test_what_is_added_is_found_once(text: str, times: int) -> None:
    async def steps(model: Model) -> None:
        for _ in range(times):
            await model.adds(text)
        found = await model.finds(text)
        words = set(text.strip(".").split()) - {"I", "keep"}
        assert len([one for one in found if words <= set(one.strip(".").split())]) == 1

    with_model(steps)
