"""A session for the OpenAI Agents SDK, which can also learn about its user.

session = MemstoneSession("s1", AsyncMemory(), user_id="alice")
agent = Agent(name="Assistant", tools=[recall_tool(memory, "alice")])
await Runner.run(agent, "I moved to Oslo", session=session)
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from agents import FunctionTool, TResponseInputItem, function_tool
from agents.memory import SessionABC
from agents.memory.session_settings import SessionSettings

from memstone.integrations import AnyMemory, call_method

OWNER: Final = "openai-agents"
PAGE: Final = 1_000
_SPOKEN: Final = ("user", "assistant")


class MemstoneSession(SessionABC):  # type: ignore[misc] # the framework is not among the developer's tools
    """The history of one session, item by item, tool calls included.

    The items are kept under the user ``owner``, apart from what is known of people. With a ``user_id``, what the user
    and the assistant say is learned from as well.
    """

    def __init__(
        self,
        session_id: str,
        memory: AnyMemory,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        owner: str = OWNER,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self.memory = memory
        self.user_id = user_id
        self.agent_id = agent_id
        self.owner = owner

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items of the session, or the latest ``limit`` of them, in their order."""
        wanted = limit if limit is not None else self.session_settings.limit
        rows = await self._rows(wanted)
        return [cast("TResponseInputItem", row["metadata"]["item"]) for row in reversed(rows)]

    async def add_items(self, items: Sequence[TResponseInputItem]) -> None:
        """Store items, and learn from what was said."""
        if not items:
            return
        rows = [self._row(cast("Mapping[str, Any]", item)) for item in items]
        for start in range(0, len(rows), PAGE):
            await call_method(self.memory.add_many, rows[start : start + PAGE])
        spoken = [said for item in items if (said := _message_of(cast("Mapping[str, Any]", item))) is not None]
        if self.user_id is not None and spoken:
            scope = {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.session_id}
            await call_method(self.memory.add, spoken, **scope)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the latest item and return it."""
        rows = await self._rows(1)
        if not rows:
            return None
        await call_method(self.memory.delete, rows[0]["id"])
        return cast("TResponseInputItem", rows[0]["metadata"]["item"])

    async def clear_session(self) -> None:
        """Remove all items; what was learned of the user stays."""
        await call_method(self.memory.delete_all, user_id=self.owner, run_id=self.session_id)

    def _row(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return what stores one item; the key keeps equal items apart."""
        said = _message_of(item)
        text = said["content"] if said else json.dumps(item, sort_keys=True, ensure_ascii=False, default=str)
        metadata = {"item": dict(item)}
        scope = {"user_id": self.owner, "run_id": self.session_id}
        return {"messages": text, "infer": False, "key": uuid.uuid4().hex, "metadata": metadata, **scope}

    async def _rows(self, limit: int | None) -> list[Any]:
        """Return the rows of the session, the latest first."""
        rows: list[Any] = []
        while limit is None or len(rows) < limit:
            size = PAGE if limit is None else min(PAGE, limit - len(rows))
            scope = {"user_id": self.owner, "run_id": self.session_id}
            answer = await call_method(self.memory.get_all, **scope, layers="fact", limit=size, offset=len(rows))
            rows += answer["results"]
            if len(answer["results"]) < size:
                break
        return rows


def _message_of(item: Mapping[str, Any]) -> dict[str, str] | None:
    """Return an item as a message in words; None for tool calls and whatever else is none."""
    role, content = item.get("role"), item.get("content")
    if isinstance(content, list):
        content = " ".join(str(part["text"]) for part in content if isinstance(part, Mapping) and part.get("text"))
    if role not in _SPOKEN or not isinstance(content, str) or not content.strip():
        return None
    return {"role": str(role), "content": content}


def recall_tool(memory: AnyMemory, user_id: str, *, limit: int = 5) -> FunctionTool:
    """Return a tool by which an agent looks up what is known about a user."""

    async def search_memory(query: str) -> str:
        """Search what is known about the user from earlier conversations.

        Args:
            query: What to look for, in a few words.

        """
        answer = await call_method(memory.search, query, user_id=user_id, limit=limit)
        return "\n".join(hit["memory"] for hit in answer["results"]) or "Nothing is known about this."

    return function_tool(search_memory)
