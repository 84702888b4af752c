"""What the routes of one service share."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.requests import Request

from memstone.async_memory import AsyncMemory
from memstone.config import Settings
from memstone.engine.status import try_to_write
from memstone.errors import TokenExpired, Unauthenticated
from memstone.server.access import Authenticator, Caller, token_of
from memstone.server.gateway.chat import Tasks
from memstone.server.gateway.upstream import Upstreams
from memstone.server.limits import Failures, Governor, Rate, SharedCounts
from memstone.server.process import WriteCheck
from memstone.server.urls import UrlGuard


@dataclass(slots=True)
class ServiceState:
    """Held by the application as ``app.state.memstone``."""

    settings: Settings
    memory: AsyncMemory
    doorkeeper: Authenticator
    rate: Rate
    failures: Failures
    shared_counts: SharedCounts
    upstreams: Upstreams
    governor: Governor
    guard: UrlGuard
    tasks: Tasks = field(default_factory=Tasks)
    ready: bool = False
    writable: WriteCheck = field(init=False)

    def __post_init__(self) -> None:
        self.writable = WriteCheck(self.try_store, self.tasks)

    async def admit(self, request: Request) -> Caller:
        """Return the caller of a request, within their rate.

        One request counts once, however often it is asked for here.
        """
        known: Caller | None = getattr(request.state, "caller", None)
        if known is not None:
            return known
        if self.shared_counts.is_due:
            self.tasks.start(self._exchange_counts())
        caller = await self._recognise_caller(request)
        self.rate.take(caller.key.id)
        request.state.caller = caller
        return caller

    async def _exchange_counts(self) -> None:
        """Hear from other processes on the same store what they have let through."""
        counts = await self.shared_counts.exchange()
        self.rate.charge(counts)
        self.failures.charge(counts)

    async def admit_by_name(self, request: Request) -> Caller:
        """Return the same where the headers of a request may say for whom it asks."""
        return self.doorkeeper.narrow_to_user(await self.admit(request), request.headers)

    async def _recognise_caller(self, request: Request) -> Caller:
        token = token_of(request)
        if token and not self.doorkeeper.knows(token):  # who has been here is let in wherever others guess
            self.failures.check(request)
        try:
            return await self.doorkeeper.admit(request)
        except Unauthenticated as error:
            if token and not isinstance(error, TokenExpired):  # that one was right, and will be again
                self.failures.note(request)
            raise

    async def ask_store(self) -> None:
        """Ask the store something it can always answer; nothing is written."""
        runtime = self.memory.engine.runtime
        await runtime.ledger.peek(lambda tx: tx.indexes.all(runtime.tenant_id))

    async def try_store(self) -> None:
        """Raise if the store cannot be written now; what is tried is taken back."""
        await self.memory.engine.run(try_to_write)

    @property
    def receipts_lost(self) -> int:
        """How many receipts this process could not store and gave up."""
        return self.memory.engine.runtime.late.lost

    async def spent_today(self, tenant_id: str) -> int | None:
        """Return what a tenant has spent of its tokens today; None where there is no budget."""
        return await self.governor.count_spent(tenant_id) if self.settings.server.llm_tokens_per_day else None
