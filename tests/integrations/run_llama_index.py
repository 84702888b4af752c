"""LlamaIndex's own chat memory over ours; run in the environment ``framework-tests``, prints ``done``."""

from __future__ import annotations

import asyncio
import sys

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory as ChatMemory

from memstone import AsyncMemory, Memory
from memstone.integrations.llama_index import MemstoneMemoryBlock


async def main() -> None:
    """Say something in one session, ask about it in the next."""
    async with AsyncMemory({"store": {"url": "memory:"}}) as memory:
        block = MemstoneMemoryBlock(memory=memory, user_id="alice")
        options = {"token_limit": 60, "chat_history_token_ratio": 0.5, "token_flush_size": 10}
        first = ChatMemory.from_defaults(session_id="s1", memory_blocks=[block], **options)
        await first.aput(ChatMessage(role="user", content="I am allergic to peanuts."))
        for number in range(12):
            await first.aput(ChatMessage(role="assistant", content=f"Noted, and here is some filler {number}."))
            await first.aput(ChatMessage(role="user", content=f"Fine, please go on with step {number}."))
        known = (await memory.search("peanuts", user_id="alice"))["results"]
        assert any("peanuts" in one["memory"] for one in known), "it left the short-term memory and was learned"
        assert known[0]["run_id"] == "s1"
        second = ChatMemory.from_defaults(session_id="s2", memory_blocks=[block])
        await second.aput(ChatMessage(role="user", content="Which snacks can I eat with my allergy?"))
        shown = await second.aget()
        assert any("peanuts" in str(one.content) for one in shown), shown
        stranger = MemstoneMemoryBlock(memory=memory, user_id="bob")
        assert "peanuts" not in await stranger.aget([ChatMessage(role="user", content="Which snacks can I eat?")])
        assert await stranger.aget([]) == ""
    with Memory({"store": {"url": "memory:"}}) as blocking:
        block = MemstoneMemoryBlock(memory=blocking, user_id="alice")
        await block.aput([ChatMessage(role="user", content="I live in Oslo."), ChatMessage(role="tool", content="x")])
        assert blocking.get_all(user_id="alice")["results"][0]["memory"] == "User lives in Oslo."


asyncio.run(main())
sys.stdout.write("done\n")
