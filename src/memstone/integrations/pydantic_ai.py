"""A toolset for Pydantic AI: search, remember, forget, and the user's profile.

agent = Agent("openai:gpt-5-mini", toolsets=[MemstoneToolset(AsyncMemory(), user_id="alice")])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.toolsets import FunctionToolset

from memstone.integrations import AnyMemory, call_method

UserOf = str | Callable[[RunContext[Any]], str]
"""A user, or how to find them in the context of a run, such as ``lambda ctx: ctx.deps.user_id``."""


class MemstoneToolset(FunctionToolset[Any]):
    """Three tools over a memory, and instructions with what fits the prompt.

    ``user_id`` is a user, or a function that finds them in the context of a run, so that one agent serves many users.
    With ``recall=False`` the agent gets no instructions and has to look up everything itself.
    """

    def __init__(self, memory: AnyMemory, user_id: UserOf, *, recall: bool = True, limit: int = 5) -> None:
        self.memory = memory
        self.user_id = user_id
        self.limit = limit
        super().__init__(
            tools=[self.search_memory, self.remember, self.forget],
            instructions=self.recall_instructions if recall else None,
            id="memstone",
        )

    def _user(self, ctx: RunContext[Any]) -> str:
        return self.user_id if isinstance(self.user_id, str) else self.user_id(ctx)

    async def recall_instructions(self, ctx: RunContext[Any]) -> str:
        """Return what is known that fits the prompt of this run."""
        if not isinstance(ctx.prompt, str) or not ctx.prompt.strip():
            return ""
        pack = await call_method(self.memory.context, ctx.prompt, user_id=self._user(ctx))
        return str(pack.text)

    async def search_memory(self, ctx: RunContext[Any], query: str) -> list[dict[str, str]]:
        """Search what is known about the user from earlier conversations.

        Args:
            ctx: The context of the run.
            query: What to look for, in a few words.

        """
        answer = await call_method(self.memory.search, query, user_id=self._user(ctx), limit=self.limit)
        return [{"id": hit["id"], "memory": hit["memory"]} for hit in answer["results"]]

    async def remember(self, ctx: RunContext[Any], text: str) -> str:
        """Remember something that the user wants to be remembered, in one sentence.

        Args:
            ctx: The context of the run.
            text: What to remember.

        """
        answer = await call_method(self.memory.add, text, user_id=self._user(ctx), infer=False)
        known = all(one["event"] == "NONE" for one in answer["results"])
        return "This was known already." if known else "Remembered."

    async def forget(self, ctx: RunContext[Any], memory_id: str) -> str:
        """Forget one memory; search for it first to get its id.

        Args:
            ctx: The context of the run.
            memory_id: The id of the memory.

        """
        found = await call_method(self.memory.get, memory_id)
        if found is None or found["user_id"] != self._user(ctx):
            return "There is no such memory."
        await call_method(self.memory.delete, memory_id)
        return "Forgotten."
