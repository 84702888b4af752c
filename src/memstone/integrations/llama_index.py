"""A memory block for LlamaIndex: learn from old messages, and recall what helps.

from llama_index.core.memory import Memory as ChatMemory

block = MemstoneMemoryBlock(memory=AsyncMemory(), user_id="alice")
chat_memory = ChatMemory.from_defaults(session_id="s1", memory_blocks=[block])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory.memory import BaseMemoryBlock
from pydantic import Field

from memstone.integrations import call_method

ROLES = ("user", "assistant")


class MemstoneMemoryBlock(BaseMemoryBlock[str]):  # type: ignore[misc] # the framework is no tool of ours
    """Learns what a user says, and gives what is known of them for a message.

    ``memory`` is a ``Memory``, ``AsyncMemory`` or a client. ``budget`` limits the tokens of what is recalled. Every
    message is learned from when LlamaIndex moves it out of its short-term memory; ``aput`` does so at once.
    """

    name: str = "Memstone"
    description: str | None = "What is known about the user from earlier conversations."
    memory: Any = Field(exclude=True)
    user_id: str
    agent_id: str | None = None
    budget: int | None = None

    async def _aget(self, messages: Sequence[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """Return what to show a model for the last message of the user."""
        asked = next((one.content for one in reversed(messages or ()) if one.role == "user" and one.content), None)
        if not asked:
            return ""
        scope = {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": block_kwargs.get("session_id")}
        pack = await call_method(self.memory.context, asked, **scope, budget=self.budget)
        return str(pack.text)

    async def _aput(self, messages: Sequence[ChatMessage]) -> None:
        """Learn from messages of the user and the assistant."""
        said = [{"role": str(one.role.value), "content": one.content} for one in messages if one.content]
        spoken = [one for one in said if one["role"] in ROLES]
        if not spoken:
            return
        session = messages[-1].additional_kwargs.get("session_id")
        scope = {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": session}
        await call_method(self.memory.add, spoken, **scope)
