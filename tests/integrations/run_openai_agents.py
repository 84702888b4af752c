"""The runner of the OpenAI Agents SDK with our session; run in the environment ``framework-tests``, prints ``done``."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from agents import Agent, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.items import ResponseFunctionToolCall, ResponseOutputMessage
from agents.models.interface import Model
from openai.types.responses import ResponseOutputText

from memstone import AsyncMemory, Memory
from memstone.integrations.openai_agents import MemstoneSession, recall_tool


class ScriptedModel(Model):  # type: ignore[misc] # checked without the framework
    """Calls a tool once if the prompt says so, and else repeats how many items it was shown."""

    def __init__(self) -> None:
        self.seen: list[list[Any]] = []

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        """Answer a prompt."""
        shown = args[1] if len(args) > 1 else options["input"]
        items = [{"role": "user", "content": shown}] if isinstance(shown, str) else list(shown)
        self.seen.append(items)
        last = items[-1]
        if last.get("role") == "user" and "look up" in str(last["content"]):
            call = ResponseFunctionToolCall(
                arguments='{"query": "allergy"}', call_id="c1", name="search_memory", type="function_call"
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        text = str(last.get("output") or f"{len(items)} items")
        part = ResponseOutputText(annotations=[], text=text, type="output_text")
        message = ResponseOutputMessage(id="m", content=[part], role="assistant", status="completed", type="message")
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> Any:
        """Is not asked for."""
        raise NotImplementedError


async def main() -> None:
    """Two runs of one session, a tool call, and another session of the same user."""
    set_tracing_disabled(True)
    async with AsyncMemory({"store": {"url": "memory:"}}) as memory:
        model = ScriptedModel()
        agent = Agent(name="Assistant", model=model, tools=[recall_tool(memory, "alice")])
        session = MemstoneSession("s1", memory, user_id="alice")
        await Runner.run(agent, "I am allergic to peanuts.", session=session)
        await Runner.run(agent, "And again: hello.", session=session)
        assert len(model.seen[1]) == 3, "the first question and its answer come before the second"
        items = await session.get_items()
        assert [one["role"] for one in items] == ["user", "assistant", "user", "assistant"]
        assert len(await session.get_items(limit=2)) == 2
        assert (await session.get_items(limit=2))[0] == items[2]

        other = MemstoneSession("s2", memory, user_id="alice")
        answer = await Runner.run(agent, "Please look up my allergy.", session=other)
        assert "peanuts" in answer.final_output
        kinds = [one.get("type", one.get("role")) for one in await other.get_items()]
        assert kinds == ["user", "function_call", "function_call_output", "message"], kinds

        last = await session.pop_item()
        assert last == items[3]
        assert len(await session.get_items()) == 3
        await session.add_items([{"role": "user", "content": "same"}, {"role": "user", "content": "same"}])
        assert len(await session.get_items()) == 5, "equal items are two items"
        await session.clear_session()
        assert await session.get_items() == []
        assert len(await other.get_items()) == 4
        assert (await memory.get_all(user_id="alice"))["results"], "what was learned stays"
    with Memory({"store": {"url": "memory:"}}) as blocking:
        session = MemstoneSession("s1", blocking)
        await Runner.run(Agent(name="A", model=ScriptedModel()), "Hello.", session=session)
        assert len(await session.get_items()) == 2


asyncio.run(main())
sys.stdout.write("done\n")
