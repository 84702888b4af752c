"""
title: Memstone memory
author: The Memstone developers
version: 0.1.0
license: Apache-2.0
description: Gives every chat what is known about its user, and learns from what is said. Needs a running Memstone.
required_open_webui_version: 0.5.0
"""

# One file without dependencies, because it is pasted into Open WebUI (Admin Panel, Functions), where Memstone is not
# installed. Everything goes through the REST interface of `memstone serve`.

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel, Field

Emitter = Callable[[dict[str, Any]], Awaitable[None]]


class Filter:
    """A filter function of Open WebUI: ``inlet`` runs before a model is asked, ``outlet`` after it has answered."""

    class Valves(BaseModel):
        """What an administrator sets."""

        url: str = Field(default="http://127.0.0.1:8420", description="The address of memstone serve")
        key: str = Field(default="", description="A key with the permission to write, made by memstone keys create")
        budget: int = Field(default=800, description="How many tokens of a prompt may be memory")
        timeout: float = Field(default=10.0, description="Seconds to wait for Memstone; a chat goes on without it")
        learn: bool = Field(default=True, description="Learn from what is said")
        priority: int = Field(default=0, description="The place of this filter among others")

    class UserValves(BaseModel):
        """What each user sets."""

        enabled: bool = Field(default=True, description="Use memory in my chats")

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def inlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __event_emitter__: Emitter | None = None,
    ) -> dict[str, Any]:
        """Add what is known and fits the last message to the system prompt."""
        user_id, question = self._user(__user__), last_text(body.get("messages") or [], "user")
        if user_id is None or not question:
            return body
        asked = {"query": question, "user_id": user_id, "budget": self.valves.budget}
        answer = await self._ask("/v1/context", asked | session_of(body, __metadata__), __event_emitter__)
        if answer and answer.get("text"):
            body["messages"] = with_system_text(body["messages"], str(answer["text"]))
            await tell(__event_emitter__, "Memory used")
        return body

    async def outlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __event_emitter__: Emitter | None = None,
    ) -> dict[str, Any]:
        """Learn from the last message and its answer."""
        user_id, messages = self._user(__user__), body.get("messages") or []
        said = [
            {"role": role, "content": text} for role in ("user", "assistant") if (text := last_text(messages, role))
        ]
        if user_id is None or not self.valves.learn or not said:
            return body
        learned = {"messages": said, "user_id": user_id, **session_of(body, __metadata__)}
        answer = await self._ask("/v1/memories", learned, __event_emitter__)
        changes = [one for one in (answer or {}).get("results", []) if one.get("event") != "NONE"]
        if changes:
            await tell(__event_emitter__, f"Remembered: {changes[0].get('memory')}")
        return body

    def _user(self, user: dict[str, Any] | None) -> str | None:
        """Return whose memory it is; None where memory is switched off, or nobody is logged in."""
        valves = (user or {}).get("valves")
        enabled = valves.get("enabled", True) if isinstance(valves, dict) else getattr(valves, "enabled", True)
        name = (user or {}).get("id")
        return f"open-webui:{name}" if name and enabled else None

    async def _ask(self, path: str, payload: dict[str, Any], emitter: Emitter | None) -> dict[str, Any] | None:
        """Return the answer of the service; without one the chat goes on, and its user sees why."""
        try:
            return await asyncio.to_thread(self._send, path, payload)
        except (OSError, ValueError) as error:
            await tell(emitter, f"Memory is not available: {error}")
            return None

    def _send(self, path: str, payload: dict[str, Any]) -> dict[str, Any]:
        address = self.valves.url.rstrip("/") + path
        if not address.startswith(("http://", "https://")):
            raise ValueError(f"{self.valves.url} is not the address of a service")
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.valves.key}"}
        request = urllib.request.Request(address, json.dumps(payload).encode(), headers)  # noqa: S310 - checked above
        with urllib.request.urlopen(request, timeout=self.valves.timeout) as response:  # noqa: S310 - the same
            answer: dict[str, Any] = json.loads(response.read())
            return answer


def last_text(messages: list[dict[str, Any]], role: str) -> str:
    """Return the words of the last message of a role; pictures are left out."""
    content = next((one.get("content") for one in reversed(messages) if one.get("role") == role), "")
    if isinstance(content, list):
        content = " ".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
    return content.strip() if isinstance(content, str) else ""


def with_system_text(messages: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """Return messages whose system prompt ends with a text."""
    first = messages[0] if messages else {}
    if first.get("role") == "system" and isinstance(first.get("content"), str):
        return [{**first, "content": f"{first['content']}\n\n{text}"}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


def session_of(body: dict[str, Any], metadata: dict[str, Any] | None) -> dict[str, str]:
    """Return the chat as a session, where it has an id."""
    chat = (metadata or {}).get("chat_id") or body.get("chat_id")
    return {"run_id": str(chat)} if chat else {}


async def tell(emitter: Emitter | None, text: str) -> None:
    """Show a status line under the message."""
    if emitter is not None:
        await emitter({"type": "status", "data": {"description": text, "done": True}})
