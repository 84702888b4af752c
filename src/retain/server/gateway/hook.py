"""What memory does around one chat: recall before it, form after it, and never stand in its way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from retain.core.capability import SystemRole, system_role
from retain.core.dialects.base import Block, Body, Dialect
from retain.core.inject import Position
from retain.errors import RetainError
from retain.model.access import Verb
from retain.model.context import ContextPack
from retain.model.policy import Policy
from retain.sections_service import UpstreamSettings
from retain.server.access import Caller
from retain.server.gateway.identity import Who
from retain.server.observe import log

HEADER: Final = "x-memory"
_OLD_HEADER: Final = "x-omniroute-no-memory"


@dataclass(frozen=True, slots=True)
class Switches:
    """What a request, and the settings, want of memory."""

    inject: bool = True
    form: bool = True

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
        )


@dataclass(slots=True)
class Exchange:
    """One chat on its way: who asks, what they said, and what memory had to say about it."""

    caller: Caller
    dialect: Dialect
    body: Body
    who: Who
    switches: Switches
    policy: Policy
    by_agent: bool = False
    pack: ContextPack | None = None
    skipped: str = ""
    recall_ms: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)

    async def recall(self, deadline_ms: float) -> None:
        """Look for what helps, up to a deadline; whatever goes wrong, the chat goes on without it."""
        if not (self.switches.inject and self.who.known):
            self.skipped = self.who.why or "memory is off for this request"
            return
        question = self.dialect.question(self.body)
        if not question:
            self.skipped = "the user says nothing"
            return
        began = time.perf_counter()
        try:
            asked = self.caller.memory.context(question, **self.who.reach(self.by_agent))
            self.pack = await asyncio.wait_for(asked, deadline_ms / 1000)
        except TimeoutError:
            self._give_up("deadline")
        except RetainError as error:
            self._give_up(error.code)
        except Exception as error:  # noqa: BLE001 - a chat must not fail for its memory
            self._give_up(type(error).__name__)
        self.recall_ms = (time.perf_counter() - began) * 1000

    def _give_up(self, reason: str) -> None:
        self.skipped = reason
        log.warning("memory.injection.skipped", reason=reason, model=str(self.body.get("model")))

    def request_for(self, upstream: UpstreamSettings) -> dict[str, Any]:
        """The request as an upstream is sent it: as it came, and with what memory has to say."""
        if self.pack is None or self.pack.empty:
            return dict(self.body)
        known = SystemRole(upstream.system_role) if upstream.system_role else None
        role = known or system_role(upstream.name, str(self.body.get("model") or ""))
        block = Block(self.pack.stable, self.pack.volatile, Position(self.policy.inject.position), role)
        return self.dialect.with_memory(self.body, block)

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
            log.info("memory.injection.skipped", reason="no_memories", model=model)

    async def form(self, answer: str) -> None:
        """Keep what was said, for learning; a failure is logged and reaches nobody."""
        if not (self.switches.form and self.who.known and Verb.WRITE in self.caller.key.verbs):
            return
        said = self.dialect.messages(self.body)
        if not said:
            return
        if answer.strip():
            said = [*said, {"role": "assistant", "content": answer}]
        try:
            await self.caller.memory.add(said, **self.who.scope())
        except Exception as error:  # noqa: BLE001 - the chat is over; what failed is for the log
            code = error.code if isinstance(error, RetainError) else type(error).__name__
            log.warning("memory.extraction.background.failed", code=code)

    @property
    def waits_to_form(self) -> bool:
        """Whether what was said is only put down now and learned from later, which is quick enough to wait for."""
        return self.policy.formation.mode != "inline"

    def memories(self) -> list[dict[str, Any]]:
        """What was shown, as an answer carries it."""
        cited = self.pack.citations if self.pack is not None else ()
        return [{"id": one.memory_id, "memory": one.line.removeprefix("- "), "date": one.date} for one in cited]
