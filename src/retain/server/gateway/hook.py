"""What memory does around one chat: recall before it, form after it, and never stand in its way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from retain.core.capability import SystemRole, should_inject, system_role
from retain.core.dialects.base import Block, Body, Dialect
from retain.core.dialects.tooling import Tool
from retain.core.fence import echoes
from retain.core.inject import Position
from retain.engine.access.pause import not_shown
from retain.engine.requests import ContextRequest
from retain.engine.tuning import tuned
from retain.errors import RetainError
from retain.model.access import Verb
from retain.model.context import ContextPack
from retain.model.policy import Policy
from retain.model.scope import Scope
from retain.server.access import Caller
from retain.server.gateway.counts import SKIPPED
from retain.server.gateway.identity import Who
from retain.server.gateway.search import search_tool
from retain.server.gateway.tasks import Tasks
from retain.server.gateway.upstream import Target
from retain.server.observe import log

if TYPE_CHECKING:
    from retain.engine.recall.context import Kept

HEADER: Final = "x-memory"
_OLD_HEADER: Final = "x-omniroute-no-memory"
_OFF: Final = "memory is off for this request"
_ALWAYS: Final = ("always", "off")


@dataclass(frozen=True, slots=True)
class Switches:
    """What a request, and the settings, want of memory: to show, to learn, and to let the model search by itself."""

    inject: bool = True
    form: bool = True
    search: bool = False

    @classmethod
    def of(cls, headers: Mapping[str, str], policy: Policy, *, agent_route: bool = False) -> Switches:
        """From the header of a request; the settings have the last word."""
        wish = headers.get(HEADER, "").strip().lower()
        off = wish == "off" or headers.get(_OLD_HEADER, "").strip().lower() in ("true", "1", "yes")
        enabled = policy.enabled and policy.retrieval.token_budget > 0 and not off
        route = policy.inject.agents if agent_route else policy.inject.chat
        return cls(
            inject=enabled and policy.shows and route and wish != "inject-off",
            form=enabled and policy.learns and wish != "extract-off",
            search=enabled and policy.search_tool and wish != "inject-off",
        )


@dataclass(slots=True)
class Exchange:
    """One chat on its way: who asks, what they said, and what memory had to say about it.

    ``body`` is what the caller sent, and stays so; ``policy`` are the configured values until ``recall`` has read what
    holds for this user and this agent. ``told`` is what a model was told about the user besides the block.
    """

    caller: Caller
    dialect: Dialect
    body: Body
    who: Who
    policy: Policy
    deadline_ms: float
    headers: Mapping[str, str]
    by_agent: bool = False
    switches: Switches = field(default_factory=Switches)
    pack: ContextPack | None = None
    tool: Tool | None = None
    skipped: str = ""
    told: list[str] = field(default_factory=list)
    recall_ms: float = 0.0
    _keeping: Kept | None = None

    async def recall(self) -> None:
        """Settings, gate and search, up to a deadline; whatever goes wrong, the chat goes on without them."""
        self._switch()
        if not self.who.known:
            self._skip(self.who.why or _OFF)
            return
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self.deadline_ms / 1000):
                await self._recall()
        except TimeoutError:
            self._give_up("deadline")
        except RetainError as error:
            self._give_up(error.code)
        except Exception as error:  # noqa: BLE001 - a chat must not fail for its memory
            self._give_up(type(error).__name__)
        self.recall_ms = (time.perf_counter() - began) * 1000

    async def _recall(self) -> None:
        reach = self.who.reach(by_agent=True)
        parts = await self.caller.memory._engine.run(  # noqa: SLF001 - the values a service reads
            tuned, Scope.of(**reach, tenant_id=self.caller.key.tenant_id)
        )
        self.policy = parts.policy
        self._switch()
        if not_shown(parts):
            self.tool = None
        question = self.dialect.question(self.body)
        if not should_inject(self.dialect.spoken(self.body), enabled=self.switches.inject):
            self._skip(_OFF)
        elif not question:
            self._skip("the user says nothing")
        else:
            engine = self.caller.memory._engine  # noqa: SLF001 - its account is kept while the model is asked
            self.pack, self._keeping = await engine.shown(ContextRequest(question, **self._wanted()))

    def account(self, tasks: Tasks) -> asyncio.Task[ContextPack] | None:
        """Begin to keep the account of what is shown, while the model is asked."""
        if self.pack is None or self._keeping is None:
            self.tell()
            return None
        return tasks.start(self._account(self._keeping))

    async def _account(self, keep: Kept) -> ContextPack:
        self.tell()
        return await keep()

    async def accounted(self, keeping: asyncio.Task[ContextPack] | None) -> None:
        """Wait for it, so that whoever is told its number can read it; not longer than recalling may take."""
        if keeping is None or self.pack is None:
            return
        await asyncio.wait({keeping}, timeout=self.deadline_ms / 1000)
        kept = keeping.done() and not keeping.cancelled() and keeping.exception() is None
        self.pack = keeping.result() if kept else replace(self.pack, receipt_id="")

    def _switch(self) -> None:
        self.switches = Switches.of(self.headers, self.policy, agent_route=self.by_agent)
        if self.switches.search and self.who.known:
            tool = search_tool()
            self.tool = tool if self.dialect.tooling.free(self.body, tool.name) else None
        else:
            self.tool = None

    def _wanted(self) -> dict[str, Any]:
        """Where is looked, and how: an agent is always behind the gate."""
        gate = {"gate": "heuristic"} if self.by_agent and self.policy.retrieval.gate in _ALWAYS else {}
        return {**self.who.reach(self.by_agent), **gate}

    def _skip(self, reason: str) -> None:
        self.skipped = reason
        SKIPPED.labels("off").inc()

    def _give_up(self, reason: str) -> None:
        self.skipped, self.pack = reason, None
        SKIPPED.labels(reason).inc()
        log.warning("memory.injection.skipped", reason=reason, model=str(self.body.get("model")))

    def request_for(self, target: Target, body: Body) -> dict[str, Any]:
        """A request as an upstream is sent it: with what memory has to say, where the model takes it."""
        if self.pack is None or self.pack.empty:
            return dict(body)
        known = SystemRole(target.upstream.system_role) if target.upstream.system_role else None
        role = known or system_role(target.upstream.name, target.model, str(body.get("model") or ""))
        place = Position.PREFIX_LAST_USER if self.by_agent else Position(self.policy.inject.position)
        return self.dialect.with_memory(body, Block(self.pack.stable, self.pack.volatile, place, role))

    def tell(self) -> None:
        """The record of what was shown."""
        model = str(self.body.get("model"))
        if self.pack is not None and not self.pack.empty:
            log.info(
                "memory.injection.injected",
                count=len(self.pack.citations),
                strategy=self.policy.retrieval.strategy or self.policy.strategy,
                model=model,
                tokens=self.pack.tokens,
            )
        elif not self.skipped:
            SKIPPED.labels("no_memories").inc()
            log.info("memory.injection.skipped", reason="no_memories", model=model)

    async def form(self, answer: str) -> None:
        """Keep what was said, for learning; a failure is logged and reaches nobody."""
        if not (self.switches.form and self.who.known and Verb.WRITE in self.caller.key.verbs):
            return
        said = self.dialect.messages(self.body)
        if not said:
            return
        if heard := self._without_echoes(answer).strip():
            said = [*said, {"role": "assistant", "content": heard}]
        try:
            await self.caller.memory.add(said, **self.who.scope())
        except Exception as error:  # noqa: BLE001 - the chat is over; what failed is for the log
            code = error.code if isinstance(error, RetainError) else type(error).__name__
            log.warning("memory.extraction.background.failed", code=code)

    def _without_echoes(self, answer: str) -> str:
        """The answer without what only repeats what the model was told: that is known, and no news."""
        shown = [*(one["memory"] for one in self.memories()), *self.told]
        kept, at = list[str](), 0
        for start, end in echoes(answer, shown) if shown else []:
            kept.append(answer[at:start])
            at = end
        return "".join(kept) + answer[at:]

    async def formed(self, answer: str, tasks: Tasks) -> None:
        """Keep what was said before the answer ends, where that is a quick note; learning itself comes later.

        Whoever has seen the end of an answer can rely on it. But a store that does not answer holds nobody up for
        longer than recalling may.
        """
        forming = tasks.start(self.form(answer))
        if self.policy.formation.mode != "inline":
            await asyncio.wait({forming}, timeout=self.deadline_ms / 1000)

    def memories(self) -> list[dict[str, Any]]:
        """What was shown, as an answer carries it."""
        cited = self.pack.citations if self.pack is not None else ()
        return [{"id": one.memory_id, "memory": one.line.removeprefix("- "), "date": one.date} for one in cited]
