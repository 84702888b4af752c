"""The one tool that a model gets from the gateway: to look for itself. It reaches nobody but whom the chat is about."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from memstone.core.dialects.tooling import Call, Tool
from memstone.server.gateway.counts import ROUNDS
from memstone.server.mcp.tools import Asked, ToolSpec, tools, used

if TYPE_CHECKING:
    from memstone.server.gateway.hook import Exchange

NAME: Final = "memory_search"
_LATE: Final = {"success": False, "error": {"code": "timeout", "message": "the memory is not available now"}}
_UNREADABLE: Final = {"success": False, "error": {"code": "invalid_input", "message": "the arguments are not JSON"}}


@cache
def _spec() -> ToolSpec:
    """The tool of the other faces, but for the argument that names a user: that is not for a model to choose here."""
    found = tools()[NAME]
    return replace(found, properties={name: form for name, form in found.properties.items() if name != "user_id"})


@cache
def search_tool() -> Tool:
    """What a model is told."""
    spec = _spec()
    return Tool(spec.name, spec.description, spec.schema)


async def searched(exchange: Exchange, call: Call) -> str:
    """What a call gives back, as text; an error that a model can act on is an answer too."""
    ROUNDS.inc()
    if call.arguments is None:
        return json.dumps(_UNREADABLE)
    reach = exchange.who.reach(exchange.by_agent)
    memory = exchange.caller.memory.acting_for(exchange.caller.key.tenant_id, **reach)
    try:
        asked = Asked(memory, call.arguments, exchange.who.user_id)
        found = await asyncio.wait_for(used(_spec(), asked), exchange.deadline_ms / 1000)
    except TimeoutError:
        found = _LATE
    exchange.told += [one["memory"] for one in found.get("data", {}).get("memories", ())]
    return json.dumps(found, ensure_ascii=False)
