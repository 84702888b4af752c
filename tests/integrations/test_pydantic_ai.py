from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memstone import AsyncMemory, Memory
from memstone.integrations.pydantic_ai import MemstoneToolset

SETTINGS = {"store": {"url": "memory:"}}


@dataclass
class Deps:
    """Who talks."""

    user_id: str


def calls(*steps: tuple[str, dict[str, Any]], seen: list[AgentInfo]) -> FunctionModel:
    """A model that calls tools, one after the other, and then says what the last one gave."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        done = [part for one in messages for part in one.parts if isinstance(part, ToolReturnPart)]
        if len(done) < len(steps):
            name, arguments = steps[len(done)]
            return ModelResponse(parts=[ToolCallPart(name, arguments)])
        return ModelResponse(parts=[TextPart(str(done[-1].content) if done else "nothing to do")])

    return FunctionModel(answer)


def test_an_agent_remembers_looks_up_and_forgets() -> None:
    async def scenario() -> None:
        async with AsyncMemory(SETTINGS) as memory:
            tools = MemstoneToolset(memory, lambda ctx: ctx.deps.user_id)
            seen: list[AgentInfo] = []
            said = calls(("remember", {"text": "Likes jasmine tea"}), ("search_memory", {"query": "tea"}), seen=seen)
            agent = Agent(said, deps_type=Deps, toolsets=[tools])
            answer = await agent.run("I like jasmine tea, remember that", deps=Deps("alice"))
            assert "Likes jasmine tea" in answer.output
            assert {tool.name for tool in seen[0].function_tools} == {"remember", "search_memory", "forget"}
            (stored,) = (await memory.get_all(user_id="alice"))["results"]
            stranger = Agent(calls(("forget", {"memory_id": stored["id"]}), seen=[]), deps_type=Deps, toolsets=[tools])
            assert (await stranger.run("Forget it", deps=Deps("bob"))).output == "There is no such memory."
            assert (await stranger.run("Forget it", deps=Deps("alice"))).output == "Forgotten."
            assert await memory.get(stored["id"]) is None

    asyncio.run(scenario())


def test_what_fits_the_prompt_stands_in_the_instructions() -> None:
    with Memory(SETTINGS) as memory:
        memory.add("I am allergic to peanuts", user_id="alice")
        for recall, expected in ((True, True), (False, False)):
            seen: list[AgentInfo] = []
            agent = Agent(calls(seen=seen), toolsets=[MemstoneToolset(memory, "alice", recall=recall)])
            asyncio.run(agent.run("Which snacks can I eat, given my allergy?"))
            assert ("peanuts" in str(seen[0].instructions)) is expected
