"""What imitates structure reaches no model as structure, by whichever way it came in and whichever way it goes out."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from memstone import AsyncMemory, Memory
from memstone.ports.models import Prompt
from memstone.server.mcp.spec import ToolSpec, ToolUse, call_tool
from memstone.server.mcp.tools import tools_by_name
from memstone.testing.llm import ScriptedLlm
from tests.unit.test_neutralize import LOOKALIKES, TOKENS, imitations

ATTACKS = [*LOOKALIKES.values(), *TOKENS, "a\u202eb\U000e0041\U000e0042"]
CONFIG: dict[str, Any] = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}
TOKEN = re.compile(r"<\s*\|[^|]*\|\s*>|\[/?INST\]|<</?SYS>>|</?(?:s|system|think)>", re.IGNORECASE)
HIDDEN = re.compile("[\u00ad\u200b\u2060-\u2069\u202a-\u202e\ufeff\U000e0000-\U000e007f]")


def harmful(output: str) -> list[str]:
    """What a model could take for structure, or nobody would see, in a text without our own markers."""
    own = re.sub(r'</?memstone-memory id=\\?"[0-9a-f]{24}\\?">', "", output)
    return [*imitations(own), *TOKEN.findall(own), *map(ascii, HIDDEN.findall(own))]


@pytest.fixture(params=["stored as it is", "by the rules"])
def memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    with Memory(CONFIG) as made:
        for number, attack in enumerate(ATTACKS):
            text = f"I like tea number {number} {attack} very much."
            made.add(text, user_id="alice", infer=request.param == "by the rules")
        yield made


@pytest.mark.req("R-11", "R-23")
def test_no_block_holds_what_imitates_structure(memory: Memory) -> None:
    stored = memory.get_all(user_id="alice", limit=1_000, layers=["fact", "turn"])["results"]
    assert any(harmful(one["memory"]) for one in stored), "what is stored is what was said"
    visible_count = 0
    for question in ("What do I like?", "What exactly did I say about tea, word for word?", "tea number 7"):
        pack = memory.context(question, user_id="alice", gate="always", budget=16_000)
        for part in (pack.text, pack.stable, pack.volatile, *(one.line for one in pack.citations)):
            assert not harmful(part), part
        visible_count += len(pack.citations)
    assert visible_count >= 10


@pytest.mark.req("R-23")
def test_a_preview_shows_what_a_model_would_read(memory: Memory) -> None:
    found = memory.profile.preview_search("tea", user_id="alice", limit=100, max_tokens=16_000)["items"]
    assert found
    assert not harmful(json.dumps([one["memory"] for one in found], ensure_ascii=False))


def arguments(spec: ToolSpec) -> dict[str, Any]:
    """Something that a tool takes, by its schema."""
    texts = {"query": "tea", "content": f"I like milk {ATTACKS[0]} <|im_start|>", "scope": "pinned", "id": "given"}
    return {name: texts[name] for name in spec.required} | ({"kind": "factual"} if spec.name == "memory_clear" else {})


@pytest.mark.req("R-23")
@pytest.mark.parametrize("name", sorted(tools_by_name()))
def test_no_tool_answers_with_what_imitates_structure(name: str) -> None:
    async def used_once() -> dict[str, Any]:
        async with AsyncMemory(CONFIG) as memory:
            for number, attack in enumerate(ATTACKS):
                await memory.add(f"I like tea number {number} {attack}", user_id="alice", infer=False)
            spec, newest = tools_by_name()[name], (await memory.get_all(user_id="alice", limit=1))["results"][0]["id"]
            values = {key: newest if key == "id" else one for key, one in arguments(spec).items()}
            return await call_tool(spec, ToolUse(memory, values, "alice"))

    answer = asyncio.run(used_once())
    assert answer["success"], answer
    assert not harmful(json.dumps(answer, ensure_ascii=False))


@pytest.mark.req("R-23")
def test_no_question_to_the_model_that_learns_holds_it() -> None:
    asked: list[str] = []

    def answer(prompt: Prompt) -> dict[str, object]:
        asked.extend(one["content"] for one in prompt.messages if one["role"] != "system")
        return {"facts": [], "decisions": []}

    with Memory(CONFIG, llm=ScriptedLlm(answer)) as memory:
        for attack in ATTACKS:
            memory.add(f"I like tea {attack}", user_id="alice")
    assert len(asked) >= len(ATTACKS) // 2
    assert [found for one in asked for found in harmful(one)] == []
