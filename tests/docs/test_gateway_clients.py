"""Frameworks that the guide names: each chats through the gateway as its users would. Skipped where one is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.server.gate import Gate, gated


def _learned(gate: Gate) -> None:
    gate.memory.add("I live in Oslo", user_id="alice")


def test_a_langchain_chat_model_remembers(tmp_path: Path) -> None:
    found: Any = pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")
    with gated(tmp_path) as gate:
        _learned(gate)
        model = found.ChatOpenAI(model="m", api_key=gate.key(user_id="alice"), base_url=f"{gate.url}/v1")
        assert model.invoke("Where do I live?").content == "Noted."
        assert "User lives in Oslo" in gate.sent


def test_a_pydantic_ai_agent_remembers(tmp_path: Path) -> None:
    models: Any = pytest.importorskip("pydantic_ai.models.openai", reason="pydantic-ai is not installed")
    providers: Any = pytest.importorskip("pydantic_ai.providers.openai", reason="pydantic-ai is not installed")
    agents: Any = pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    with gated(tmp_path) as gate:
        _learned(gate)
        provider = providers.OpenAIProvider(base_url=f"{gate.url}/v1", api_key=gate.key(user_id="alice"))
        agent = agents.Agent(models.OpenAIChatModel("m", provider=provider))
        assert agent.run_sync("Where do I live?").output == "Noted."
        assert "User lives in Oslo" in gate.sent
