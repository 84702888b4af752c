"""One chat through the gateway: recall, send the request, and store what was said."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from memstone.core.dialects.base import Body, Dialect, PromptBlock, Tool, repair_surrogates
from memstone.core.prompt.fence import find_echoes
from memstone.core.prompt.inject import Position, SystemRole, should_inject, system_role
from memstone.engine.access.admission import why_paused
from memstone.engine.continuations import end_of, note_end
from memstone.engine.engine import Engine
from memstone.engine.policy import apply_scope_policy
from memstone.engine.request_scope import ContextRequest, Loop
from memstone.engine.runtime import Runtime
from memstone.engine.service_context import cache_loop_block, note_answer, shown_before
from memstone.errors import MemstoneError
from memstone.model.access import Verb
from memstone.model.context import ContextPack
from memstone.model.policy import Policy
from memstone.model.scope import Scope
from memstone.server.access import Caller
from memstone.server.gateway.counts import LATE, SKIPPED, Skip
from memstone.server.gateway.identity import Who
from memstone.server.gateway.search import search_tool
from memstone.server.gateway.upstream import Target
from memstone.server.observe import log

# --- what a request, and the settings, want of memory -----------------------------------------------------------------


HEADER: Final = "x-memory"
SCOPE_HEADER: Final = "x-memstone-scope"
_SCOPES: Final = {"session": "session", "apikey": "owner", "owner": "owner", "global": "global"}
_OLD_HEADER: Final = "x-omniroute-no-memory"
_ON: Final = frozenset({"on", "true", "1", "yes"})
_OFF: Final = frozenset({"off", "false", "0", "no", "none"})
_NO_SHOWING: Final = "inject-off"
_NO_LEARNING: Final = "extract-off"


@dataclass(frozen=True, slots=True)
class Switches:
    """To show, to learn, and to let the model search by itself."""

    inject: bool = True
    form: bool = True
    search: bool = False

    @classmethod
    def of(cls, headers: Mapping[str, str], policy: Policy, *, agent_route: bool = False) -> Switches:
        """Read the header of a request; the settings have the last word."""
        wishes = _memory_options(headers)
        off = bool(wishes & _OFF) or not is_understood(headers) or _old_header_value(headers) in _ON
        wanted = policy.retrieval.token_budget > 0 and not off
        enabled = policy.enabled and wanted
        route = policy.inject.agents if agent_route else policy.inject.chat
        return cls(
            inject=enabled and policy.shows and route and _NO_SHOWING not in wishes,
            form=enabled and policy.learns and _NO_LEARNING not in wishes,
            search=wanted and policy.search_tool and _NO_SHOWING not in wishes,
        )


def is_understood(headers: Mapping[str, str]) -> bool:
    """Return whether the headers say something that is known.

    Whoever wrote something else wanted less memory, not more.
    """
    return _memory_options(headers) <= _ON | _OFF | {_NO_SHOWING, _NO_LEARNING} and (
        not headers.get(SCOPE_HEADER, "").strip() or scope_of(headers) is not None
    )


def scope_of(headers: Mapping[str, str]) -> str | None:
    """Return how far a request wants to look; None when it does not say so."""
    return _SCOPES.get(headers.get(SCOPE_HEADER, "").strip().lower())


def _memory_options(headers: Mapping[str, str]) -> set[str]:
    value = (wish.strip().lower() for wish in headers.get(HEADER, "").split(","))
    return {wish for wish in value if wish}


def _old_header_value(headers: Mapping[str, str]) -> str:
    return headers.get(_OLD_HEADER, "").strip().lower()


# --- work that goes on after an answer; closing waits for it, but not for ever ----------------------------------------


T = TypeVar("T")


class Tasks:
    """Running work, held so that it is neither lost nor left behind."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin something that nobody waits for."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def __len__(self) -> int:
        return len(self._running)

    async def finish(self, seconds: float) -> None:
        """Wait for what is running; what takes longer is ended."""
        if not self._running:
            return
        _, late = await asyncio.wait(self._running, timeout=seconds)
        for task in late:
            task.cancel()


# --- what memory does around one chat ---------------------------------------------------------------------------------


_ALWAYS: Final = ("always", "off")
_CONTINUES: Final = "previous_response_id"
_ANSWER: Final = "answer"


@dataclass(slots=True)
class GatewayChat:
    """One chat on its way: who asks, what they said, and what memory had to say about it.

    ``body`` is what the caller sent, and stays so; ``policy`` are the configured values until ``recall`` has read what
    holds for this user, this agent and the ``session`` that was named, if one was. ``shown_texts`` is what a model read
    about the user besides the block.
    """

    caller: Caller
    dialect: Dialect
    body: Body
    who: Who
    policy: Policy
    deadline_ms: float
    profile_ms: float
    headers: Mapping[str, str]
    by_agent: bool = False
    session: str | None = None
    switches: Switches = field(default_factory=Switches)
    pack: ContextPack | None = None
    tool: Tool | None = None
    skipped: Skip | None = None
    shown_texts: list[str] = field(default_factory=list)
    recall_ms: float = 0.0

    async def recall(self) -> None:
        """Read settings, ask the gate and search, up to a deadline.

        Whatever goes wrong, the chat goes on without memory.

        What needs no search has some time more: it is cheap, and matters most.
        """
        self._switch()
        if not is_understood(self.headers):
            log.warning("gateway.header.unknown", header=HEADER, taken_for="off")
        if not self.who.is_known:
            self._skip(self.who.why or Skip.NO_USER)
            return
        began = time.perf_counter()
        try:
            async with asyncio.timeout((self.deadline_ms + self.profile_ms) / 1000):
                await self._recall(time.monotonic() + self.deadline_ms / 1000)
        except TimeoutError:
            self.give_up(Skip.DEADLINE)
        except MemstoneError as error:
            self.give_up(Skip.ERROR, error.code)
        except Exception as error:  # noqa: BLE001 - a chat must not fail for its memory
            self.give_up(Skip.ERROR, type(error).__name__)
        self.recall_ms = (time.perf_counter() - began) * 1000

    async def _recall(self, until: float) -> None:
        asked = {**self.who.reach(by_agent=True), "run_id": self.session}
        scope = Scope.of(**asked, tenant_id=self.caller.key.tenant_id)
        runtime = await self._engine.ask(apply_scope_policy, scope)
        if not _is_told(runtime, scope):
            self.give_up(Skip.SETTINGS)
            return
        self.policy = runtime.policy if self.by_agent else await self._without_agent(runtime.policy, scope)
        self._switch()
        question = repair_surrogates(self.dialect.question(self.body))
        if why_paused(runtime) or not await self._may_search():
            self.tool = None
        if why := self._skip_reason(runtime):
            self._skip(why)
        elif not question:
            self.pack = await self._read_continued_pack()
            if self.pack is None:
                self._skip(Skip.NO_QUESTION)
        else:
            self.pack = await self._read_block(ContextRequest(question, **self._search_options(), until=until))

    async def _read_block(self, request: ContextRequest) -> ContextPack:
        """Return what is shown: what needs no search, where the search is not done in time."""
        limit = asyncio.timeout(max(0.0, (request.until or 0.0) - time.monotonic()))
        try:
            async with limit:
                return await self._engine.context_for_service(request, self._loop())
        except TimeoutError:
            if not limit.expired():
                raise
        LATE.inc()
        log.warning("memory.recall.late", model=self._model)
        return await self._engine.context_for_service(replace(request, without_search=True), self._loop())

    async def _without_agent(self, policy: Policy, scope: Scope) -> Policy:
        """Return what holds for a plain chat: an agent that a header names is where it is filed, and adds no tool."""
        if not scope.agent_id:
            return policy
        own = await self._engine.ask(apply_scope_policy, replace(scope, agent_id=""))
        return replace(policy, search_tool=own.policy.search_tool)

    def _skip_reason(self, runtime: Runtime) -> Skip | None:
        """Return why nothing is to be shown: by the settings, for now, or by the request; None when it is."""
        if why_paused(runtime):
            return Skip.PAUSED
        if not self.switches.inject:
            by_settings = Switches.of({}, self.policy, agent_route=self.by_agent)
            return Skip.OPTED_OUT if by_settings.inject else Skip.DISABLED
        return None if should_inject(self.dialect.get_messages(self.body), enabled=True) else Skip.NO_MESSAGES

    async def _may_search(self) -> bool:
        """Return whether the model may look for itself, although nothing is shown to it.

        The two switches of an agent are independent, but none of them overrules a user who wants no memory at all.
        """
        if self.tool is None or self.policy.enabled:
            return True
        own = Scope.of(user_id=self.who.user_id, tenant_id=self.caller.key.tenant_id)
        return (await self._engine.ask(apply_scope_policy, own)).policy.enabled

    async def _read_continued_pack(self) -> ContextPack | None:
        """Return what is shown with results of tools alone, for an answer that the service has kept: who the user is.

        What belongs to the question is in what was kept.
        """
        named = self.body.get(_CONTINUES)
        if not isinstance(named, str) or not self.dialect.goes_on(self.body):
            return None
        context_pack = await self._engine.ask(shown_before, self._request_scope(), (_ANSWER, named))
        return None if context_pack is None else replace(context_pack, text=context_pack.stable, volatile="")

    def cache_block(self, number: str) -> None:
        """Hold what was shown, for requests that go on from an answer of this number."""
        if number and self.pack is not None and self._loop() is not None:
            cache_loop_block(self._engine.runtime, self._request_scope(), (_ANSWER, number), self.pack)

    def _request_scope(self) -> Scope:
        return self._engine.runtime.scope(self.who.reach(self.by_agent))

    def _loop(self) -> Loop | None:
        """Return the tool loop that this may be a part of."""
        tools = self.body.get("tools") or self.body.get("functions")
        return Loop(self.session, self.dialect.goes_on(self.body)) if tools else None

    def _switch(self) -> None:
        self.switches = Switches.of(self.headers, self.policy, agent_route=self.by_agent)
        if self.switches.search and self.who.is_known:
            tool = search_tool()
            self.tool = tool if self.dialect.tool_dialect.free(self.body, tool.name) else None
        else:
            self.tool = None

    def _search_options(self) -> dict[str, Any]:
        """Return where to look, and how: an agent is always behind the gate."""
        gate = {"gate": "heuristic"} if self.by_agent and self.policy.retrieval.gate in _ALWAYS else {}
        return {**self.who.reach(self.by_agent), **self._scope(), **gate}

    def _scope(self) -> dict[str, Any]:
        """Return how far to look.

        It is one session alone only where the request names one, for others have said nothing yet.
        """
        asked = scope_of(self.headers)
        scope = asked or self.policy.retrieval.scope
        if scope == "session":
            return {"run_id": self.session, "scope": scope} if self.session else {}
        return {"scope": scope} if asked or scope != "owner" else {}

    @property
    def degradations(self) -> list[str]:
        """What of the memory could not serve, in words for a header; nothing if all of it did."""
        if self.pack is None:
            return [str(self.skipped)] if self.skipped in (Skip.DEADLINE, Skip.ERROR) else []
        named = (str(note.get("channel") or note.get("step") or "memory") for note in self.pack.degraded)
        return list(dict.fromkeys(named))

    def _skip(self, reason: Skip) -> None:
        """Take note that nothing is shown, as it should be."""
        self.skipped = reason
        SKIPPED.labels(reason).inc()
        log.info("memory.injection.skipped", reason=reason, model=self._model)

    @property
    def _model(self) -> str:
        return str(self.body.get("model"))

    @property
    def adds(self) -> bool:
        """Whether memory changes the request."""
        return self.tool is not None or (self.pack is not None and not self.pack.empty)

    def step_back(self, reason: Skip) -> None:
        """Leave the chat alone: whoever is not known to want memory is not searched for either."""
        self.skipped, self.pack, self.tool = reason, None, None

    def give_up(self, reason: Skip, code: str | None = None) -> None:
        """Go on without what should have been shown; ``code`` is the error's, where there was one."""
        self.step_back(reason)
        SKIPPED.labels(reason).inc()
        log.warning("memory.injection.skipped", reason=reason, model=self._model, code=code)

    def request_for(self, target: Target, body: Body) -> dict[str, Any]:
        """Return a request as an upstream is sent it: with what memory has to say, where the model takes it."""
        if self.pack is None or self.pack.empty:
            return dict(body)
        known = SystemRole(target.upstream.system_role) if target.upstream.system_role else None
        role = known or system_role(target.upstream.name, target.model, str(body.get("model") or ""))
        block = PromptBlock(self.pack.text, self.pack.stable, self.pack.volatile, self._position, role)
        try:
            return self.dialect.with_memory(body, block)
        except Exception as error:  # noqa: BLE001 - what an upstream may take need not be understood here
            self.record_unreadable(error)
            self.skipped, self.pack = Skip.UNREADABLE, None
            return dict(body)

    @property
    def _position(self) -> Position:
        return Position.PREFIX_LAST_USER if self.by_agent else Position(self.policy.inject.position)

    async def rewrite_continuation(self, body: Body) -> Body:
        """Return a request that continues the end of an answer, where it names the beginning."""
        named = body.get(_CONTINUES)
        if not isinstance(named, str) or not named:
            return body
        ended = await self._in_time(self._engine.ask(end_of, named, self.who.user_id))
        return {**body, _CONTINUES: ended or named}

    async def ends(self, began: str, ended: str) -> None:
        """Note that an answer that began under one number ends under another."""
        if began != ended:
            await self._in_time(self._engine.ask(note_end, began, ended, self.who.user_id))

    async def _in_time(self, work: Awaitable[T]) -> T | None:
        """Return what comes of something, if it comes soon."""
        try:
            async with asyncio.timeout(self.deadline_ms / 1000):
                return await work
        except Exception as error:  # noqa: BLE001 - a chat must not fail for it
            self.record_unreadable(error)
            return None

    @property
    def _engine(self) -> Engine:
        return self.caller.engine

    def record_unreadable(self, error: Exception) -> None:
        """Count something that passes by and that memory cannot read; the chat goes on."""
        SKIPPED.labels(Skip.UNREADABLE).inc()
        log.warning("memory.chat.unread", kind=type(error).__name__, model=self._model)

    async def tell(self) -> None:
        """Log what was shown and where, for a moment in which nobody waits for it."""
        if self.pack is not None and not self.pack.empty:
            count, tokens = len(self.pack.citations), self.pack.tokens
            log.info(
                "memory.injection.injected", count=count, strategy=self._position, model=self._model, tokens=tokens
            )
        elif self.skipped is None:
            helps = self.pack is None or self.pack.gate.helps
            self._skip(Skip.NO_MEMORIES if helps else Skip.EMPTY_CONTEXT)

    async def form(self, answer: str) -> None:
        """Keep what was said, for learning; a failure is logged and reaches nobody."""
        if not (self.switches.form and self.who.is_known and Verb.WRITE in self.caller.key.verbs):
            return
        try:
            if texts := self._new_messages(answer):
                await self.caller.memory.add(texts, **self.who.scope())
        except Exception as error:  # noqa: BLE001 - the chat is over; what failed is for the log
            code = error.code if isinstance(error, MemstoneError) else type(error).__name__
            log.warning("memory.extraction.background.failed", code=code)

    def note_use(self, answer: str) -> None:
        """Let it be noted which of the memories that were shown an answer used; that holds nobody up."""
        pack = self.pack
        if pack is not None and pack.receipt_id and pack.citations and answer.strip():
            note_answer(self._engine.runtime, pack.receipt_id, answer)

    def _new_messages(self, answer: str) -> list[dict[str, Any]]:
        """Return what is new: the words of the user, unless they were kept when they came, and the answer to them."""
        words: list[dict[str, Any]] = repair_surrogates(self.dialect.messages(self.body))
        if not words:
            return []
        text = self._without_echoes(answer).strip()
        answered = [{"role": "assistant", "content": text}] if text else []
        return answered if self.dialect.goes_on(self.body) else [*words, *answered]

    def _without_echoes(self, answer: str) -> str:
        """Return the answer without what only repeats what the model was told: that is known, and no news."""
        visible = [*(one["memory"] for one in self.memories()), *self.shown_texts]
        remaining, at = list[str](), 0
        for start, end in find_echoes(answer, visible) if visible else []:
            remaining.append(answer[at:start])
            at = end
        return "".join(remaining) + answer[at:]

    async def store_answer(self, answer: str, tasks: Tasks) -> None:
        """Keep what was said before the answer ends, where that is a quick note; learning itself comes later.

        Whoever has seen the end of an answer can rely on it. But a store that does not answer holds nobody up for
        longer than recalling may.
        """
        self.note_use(answer)
        forming = tasks.start(self.form(answer))
        if self.policy.formation.mode != "inline":
            await asyncio.wait({forming}, timeout=self.deadline_ms / 1000)

    def memories(self) -> list[dict[str, Any]]:
        """Return what was shown, as an answer carries it."""
        cited = self.pack.citations if self.pack is not None else ()
        return [{"id": one.memory_id, "memory": one.memory, "date": one.date} for one in cited]


def _is_told(runtime: Runtime, scope: Scope) -> bool:
    """Return whether it is known what holds for somebody; while it cannot be read they may have switched memory off."""
    version, known = runtime.tunings.versions.get(runtime.tenant_id), runtime.tunings.policies
    who = (runtime.tenant_id, scope.user_id, scope.agent_id, scope.run_id)
    return version is not None and (not version[0] or who in known)
