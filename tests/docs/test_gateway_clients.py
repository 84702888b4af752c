"""Frameworks that the guide names: each chats through the gateway as its users would."""

from __future__ import annotations

import asyncio
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.server.gate import Gate, gated

ASKED = "Where do I live?"


def _learned(gate: Gate) -> None:
    gate.memory.add("I live in Oslo", user_id="alice")


@pytest.mark.parametrize("streamed", [False, True])
def test_a_langchain_chat_model_remembers(tmp_path: Path, *, streamed: bool) -> None:
    found: Any = import_module("langchain_openai")
    with gated(tmp_path) as gate:
        _learned(gate)
        model = found.ChatOpenAI(model="m", api_key=gate.key(user_id="alice"), base_url=f"{gate.url}/v1")
        text = "".join(one.content for one in model.stream(ASKED)) if streamed else model.invoke(ASKED).content
        assert text.strip() == "Noted."
        assert "User lives in Oslo" in gate.sent


@pytest.mark.parametrize("streamed", [False, True])
def test_a_pydantic_ai_agent_remembers(tmp_path: Path, *, streamed: bool) -> None:
    models: Any = import_module("pydantic_ai.models.openai")
    providers: Any = import_module("pydantic_ai.providers.openai")
    agents: Any = import_module("pydantic_ai")
    with gated(tmp_path) as gate:
        _learned(gate)
        provider = providers.OpenAIProvider(base_url=f"{gate.url}/v1", api_key=gate.key(user_id="alice"))
        agent = agents.Agent(models.OpenAIChatModel("m", provider=provider))
        assert asyncio.run(_answered(agent, streamed=streamed)).strip() == "Noted."
        assert "User lives in Oslo" in gate.sent


async def _answered(agent: Any, *, streamed: bool) -> str:
    async with agent:  # which closes its connections in the end
        if not streamed:
            return str((await agent.run(ASKED)).output)
        async with agent.run_stream(ASKED) as answer:
            return str(await answer.get_output())
