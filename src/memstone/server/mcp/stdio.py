"""``memstone mcp``: MCP over standard input and output."""

from __future__ import annotations

import asyncio

from mcp.server.stdio import stdio_server

from memstone.async_memory import AsyncMemory
from memstone.config import Settings
from memstone.model.ids import clean_id
from memstone.server.mcp.server import local_server


def serve_stdio(settings: Settings, user_id: str) -> None:
    """Answer until the other side closes."""
    asyncio.run(_run_stdio_server(settings, clean_id(user_id, "--for-user")))


async def _run_stdio_server(settings: Settings, user_id: str) -> None:
    async with AsyncMemory(settings) as memory, stdio_server() as (incoming, outgoing):
        server = local_server(memory, user_id, settings.server.tool_prefix)
        await server.run(incoming, outgoing, server.create_initialization_options())
