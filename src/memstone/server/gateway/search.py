"""The tool ``memory_search``, which searches only the memory of this chat."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import TYPE_CHECKING, Final

from memstone.api.aio.verbs import AsyncMemoryVerbs
from memstone.core.dialects.base import Call, Tool
from memstone.server.gateway.counts import ROUNDS
from memstone.server.mcp.spec import ToolSpec, ToolUse, call_tool
from memstone.server.mcp.tools import tools_by_name

if TYPE_CHECKING:
    from memstone.server.gateway.chat import GatewayChat

NAME: Final = "memory_search"
_MODEL_FIELDS: Final = ("id", "type", "layer", "content", "date", "score")
"""What a model reads of a memory: the rest costs tokens and tells it nothing."""
_LATE: Final = {"success": False, "error": {"code": "timeout", "message": "the memory is not available right now"}}
_UNREADABLE: Final = {"success": False, "error": {"code": "invalid_input", "message": "the arguments are not JSON"}}


@cache
def _search_tool_spec() -> ToolSpec:
    """Return the tool of the other interfaces, without what names a user or a session: no model chooses these here."""
    return tools_by_name()[NAME].without("user_id", "apiKeyId", "session_id")


@cache
def search_tool() -> Tool:
    """Return what a model is told."""
    spec = _search_tool_spec()
    return Tool(spec.name, spec.description, spec.schema)


async def run_search_call(exchange: GatewayChat, call: Call) -> str:
    """Return what a call gives back, as text; an error that a model can act on is an answer too."""
    ROUNDS.inc()
    if call.arguments is None:
        return json.dumps(_UNREADABLE)
    reach = exchange.who.reach(exchange.by_agent)
    memory = AsyncMemoryVerbs(
        exchange.caller.engine.acting_for(exchange.caller.key.tenant_id, reach.get("user_id"), reach.get("agent_id"))
    )
    try:
        asked = ToolUse(memory, call.arguments, exchange.who.user_id, session_id=exchange.session)
        found = await asyncio.wait_for(call_tool(_search_tool_spec(), asked), exchange.deadline_ms / 1000)
    except TimeoutError:
        found = _LATE
    if memories := found.get("data", {}).get("memories"):
        exchange.shown_texts += [one["content"] for one in memories]
        visible = [{name: one[name] for name in _MODEL_FIELDS if name in one} for one in memories]
        found = {**found, "data": {**found["data"], "memories": visible}}
    return json.dumps(found, ensure_ascii=False)
