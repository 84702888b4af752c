"""The one tool that a model gets from the gateway: to look for itself. It reaches nobody but whom the chat is about."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import TYPE_CHECKING, Final

from memstone.api.aio.verbs import AsyncMemoryVerbs
from memstone.core.dialects.base import Call, Tool
from memstone.server.gateway.counts import ROUNDS
from memstone.server.mcp.spec import ToolCall, ToolSpec, call_tool
from memstone.server.mcp.tools import tools_by_name

if TYPE_CHECKING:
    from memstone.server.gateway.chat import Exchange

NAME: Final = "memory_search"
_SHOWN: Final = ("id", "type", "layer", "content", "date", "score")
"""What a model reads of a memory: the rest costs tokens and tells it nothing."""
_LATE: Final = {"success": False, "error": {"code": "timeout", "message": "the memory is not available right now"}}
_UNREADABLE: Final = {"success": False, "error": {"code": "invalid_input", "message": "the arguments are not JSON"}}


@cache
def _search_tool_spec() -> ToolSpec:
    """Return the tool of the other faces, without what names a user or a session: no model chooses these here."""
    return tools_by_name()[NAME].without("user_id", "apiKeyId", "session_id")


@cache
def search_tool() -> Tool:
    """What a model is told."""
    spec = _search_tool_spec()
    return Tool(spec.name, spec.description, spec.schema)


async def run_search_call(exchange: Exchange, call: Call) -> str:
    """What a call gives back, as text; an error that a model can act on is an answer too."""
    ROUNDS.inc()
    if call.arguments is None:
        return json.dumps(_UNREADABLE)
    reach = exchange.who.reach(exchange.by_agent)
    memory = AsyncMemoryVerbs(
        exchange.caller.engine.acting_for(exchange.caller.key.tenant_id, reach.get("user_id"), reach.get("agent_id"))
    )
    try:
        asked = ToolCall(memory, call.arguments, exchange.who.user_id, session_id=exchange.session)
        found = await asyncio.wait_for(call_tool(_search_tool_spec(), asked), exchange.deadline_ms / 1000)
    except TimeoutError:
        found = _LATE
    if memories := found.get("data", {}).get("memories"):
        exchange.told += [one["content"] for one in memories]
        shown = [{name: one[name] for name in _SHOWN if name in one} for one in memories]
        found = {**found, "data": {**found["data"], "memories": shown}}
    return json.dumps(found, ensure_ascii=False)
