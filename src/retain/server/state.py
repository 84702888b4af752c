"""What the routes of one running service share."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.requests import Request

from retain.async_memory import AsyncMemory
from retain.config import Settings
from retain.server.access import Caller, Doorkeeper
from retain.server.gateway.tasks import Tasks
from retain.server.gateway.upstream import Upstreams
from retain.server.limits import Rate


@dataclass(slots=True)
class State:
    """Held by the application as ``app.state.retain``."""

    settings: Settings
    memory: AsyncMemory
    doorkeeper: Doorkeeper
    rate: Rate
    upstreams: Upstreams
    tasks: Tasks = field(default_factory=Tasks)
    ready: bool = False

    async def admit(self, request: Request) -> Caller:
        """The caller of a request, within their rate."""
        caller = await self.doorkeeper.admit(request)
        self.rate.take(caller.key.id)
        return caller
