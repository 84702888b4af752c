"""Answer the tool calls of a model in further rounds; the caller sees only the result.

While a model may still call a tool, its words are held back until it is clear that they are for the caller: a few words
before a call are not an answer. If a model calls a tool after it has begun to answer, the next round continues the
answer.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import httpx2

from memstone.core.dialects.base import AnswerProgress, Body, Call, OwnCalls, ParsedAnswer, ToolDialect, add_usage
from memstone.errors import BackendError
from memstone.server.gateway.chat import GatewayChat
from memstone.server.gateway.counts import Skip
from memstone.server.gateway.outages import ModelOutage
from memstone.server.gateway.search import run_search_call
from memstone.server.gateway.sse import SIGN_OF_LIFE, SseEvent, SseParser, encode_event
from memstone.server.gateway.upstream import headers_for_caller

_OK: Final = 200
# What a service says to a request it does not take: too long, tools or a role that it does not know.
_NOT_TAKEN: Final = frozenset({400, 404, 413, 422})
_FAILED: Final = 500
_PREAMBLE: Final = 240
_FEWEST: Final = 2


class Ask(Protocol):
    """Send a request; the answer is the caller's to close.

    With ``trial`` it holds what memory adds, and whoever fails at it is not asked the same again; ``failed`` says that
    they have failed at it, and are asked without.
    """

    def __call__(self, wanted: Body, *, trial: bool = False, failed: bool = False) -> Awaitable[httpx2.Response]:
        """Return the answer, as soon as it has begun."""
        ...


class RoundRefused(Exception):
    """An upstream that answers a later round of a stream with something that is none."""

    def __init__(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        super().__init__(f"the upstream answered {status}")
        self.status, self.body, self.headers = status, body, headers

    @property
    def error(self) -> dict[str, Any]:
        """What it says about it itself."""
        answer = _parse_object(self.body).get("error")
        return answer if isinstance(answer, dict) else {}


def is_stream(response: httpx2.Response) -> bool:
    """Return whether an answer comes in events, as was asked; some services answer as a whole nevertheless."""
    kind = response.headers.get("content-type", "").lower()
    return response.status_code == _OK and not kind.startswith("application/json")


async def events_of(response: httpx2.Response) -> AsyncIterator[SseEvent]:
    """Yield the events of an answer, byte for byte."""
    events = SseParser()
    async for piece in response.aiter_bytes():
        for event in events.feed(piece):
            yield event
    if (last := events.last) is not None:
        yield last


@dataclass(slots=True)
class Rounds:
    """The rounds of one chat in which the model may search; ``spent`` is what all but the last of them cost.

    ``begun`` is what the caller has of an answer that goes on in another round, ``ended`` where that ended.
    """

    exchange: GatewayChat
    ask: Ask
    most: int
    body: Body
    outage: ModelOutage
    number: int = 0
    spent: dict[str, Any] = field(default_factory=dict)
    begun: AnswerProgress | None = None
    ended: Any = None
    plain: Body = field(init=False)

    def __post_init__(self) -> None:
        """Set what is asked for when nothing of memory is taken."""
        self.plain = self.body

    @property
    def last(self) -> bool:
        """Whether the model has to answer now; whoever may ask has one round for that, and one to answer."""
        return self.exchange.tool is None or self.number >= max(self.most, _FEWEST)

    @property
    def may_edit(self) -> bool:
        """Whether the caller may have to be told something else than what comes."""
        return self.exchange.tool is not None or bool(self.spent)

    @property
    def name(self) -> str:
        """What our tool is called."""
        return self.exchange.tool.name if self.exchange.tool is not None else ""

    @property
    def tool_dialect(self) -> ToolDialect:
        """How the chat mentions tools."""
        return self.exchange.dialect.tool_dialect

    async def next(self) -> httpx2.Response:
        """Ask once more. Whoever refuses what memory has added is asked as the caller did; their word is the answer."""
        self.number += 1
        tool = self.exchange.tool
        wanted = self.body if tool is None else self.tool_dialect.add_tool(self.body, tool, last=self.last)
        trial = self.exchange.adds and self.begun is None
        response = await self.ask(wanted, trial=trial)
        if response.is_success:
            self.outage.ends()
        if not trial or not self._is_refusal(response):
            return response
        await response.aclose()
        self.exchange.step_back(Skip.REFUSED)
        self.body = self.plain
        return await self._without_memory(failed=response.status_code == _FAILED)

    def _is_refusal(self, response: httpx2.Response) -> bool:
        """Return whether it may be what memory has added that is not taken.

        Some services fail at it, others at everything.
        """
        return response.status_code in _NOT_TAKEN or (response.status_code == _FAILED and not self.outage.is_on)

    async def _without_memory(self, *, failed: bool) -> httpx2.Response:
        """Return the answer to what the caller sent; whoever failed before and fails at that too is down."""
        try:
            response = await self.ask(self.body, failed=failed)
        except BackendError:
            if failed:
                self.outage.begins()
            raise
        if response.is_success:
            self.outage.ends()
            self.exchange.give_up(Skip.REFUSED)
        elif failed and response.is_server_error:
            self.outage.begins()
        return response

    async def answer(self, reply: Body, calls: list[Call]) -> None:
        """Look for what a model asked for, and write it into the next request."""
        results = [(call, await run_search_call(self.exchange, call)) for call in calls]
        self.body = self.tool_dialect.add_results(self.body, reply, results)
        used = reply.get("usage")
        self.spent = add_usage(self.spent, used if isinstance(used, Mapping) else {})

    async def read_reply(self, response: httpx2.Response) -> tuple[httpx2.Response, dict[str, Any] | None]:
        """Return the last answer, and what it says when that is not what its bytes say."""
        while not self.last and response.status_code == _OK:
            reply = _parse_object(await response.aread())
            calls = self.tool_dialect.calls(reply, self.name)
            if not calls:
                break
            await response.aclose()
            await self.answer(reply, calls)
            response = await self.next()
        if not self.may_edit or response.status_code != _OK:
            return response, None
        reply = _parse_object(await response.aread())
        answer = self.tool_dialect.with_usage(reply, self.spent)
        answer = (
            self.tool_dialect.remove_calls(answer, self.name) if self.tool_dialect.calls(answer, self.name) else answer
        )
        return response, answer if answer != reply else None

    async def stream(self, response: httpx2.Response) -> AsyncIterator[SseEvent]:
        """Yield the events of the last answer."""
        while True:
            one = _Round(self, response)
            try:
                async for event in one.events() if self.may_edit else events_of(response):
                    await self._note_answer_end()
                    yield event
            finally:
                await response.aclose()
            if not one.calls:
                return
            await self.answer(one.reply, one.calls)
            response = await self.next()
            if not is_stream(response):
                raise await _read_refusal(response)

    async def _note_answer_end(self) -> None:
        """Note where an answer ends that began under another number, before the caller can continue it."""
        if self.begun is not None and self.begun.last != self.ended:
            self.ended = self.begun.last
            await self.exchange.ends(str(self.begun.id), str(self.ended))


async def _read_refusal(response: httpx2.Response) -> RoundRefused:
    try:
        return RoundRefused(response.status_code, await response.aread(), headers_for_caller(response))
    finally:
        await response.aclose()


@dataclass(slots=True)
class _Round:
    """One answer in pieces, of which it is not known at first what it will be."""

    rounds: Rounds
    response: httpx2.Response
    buffered: list[SseEvent] = field(default_factory=list)
    seen: list[dict[str, Any]] = field(default_factory=list)
    answer: ParsedAnswer = field(default_factory=ParsedAnswer)
    speaking: bool = False
    calls_other_tools: bool = False
    own: set[int] = field(default_factory=set)
    reply: dict[str, Any] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    async def events(self) -> AsyncIterator[SseEvent]:
        """Yield what the caller gets of it; ``calls`` are what the memory is asked for afterwards."""
        self.speaking = self.rounds.last
        async for event in events_of(self.response):
            if not self.speaking and event.is_sign_of_life:
                yield SIGN_OF_LIFE
                continue
            self._take(event)
            if self.speaking:
                for one in self._release_events():
                    yield one
        self._end()
        for one in self._release_events():
            yield one

    @property
    def ends_here(self) -> bool:
        """Whether the caller has all of this round: the model asks the memory, and answers in another one."""
        return bool(self.own) and not self.calls_other_tools and not self.rounds.last

    def _take(self, event: SseEvent) -> None:
        """Hold an event, unless it is none of the caller's business."""
        found = event.json()
        if found is not None:
            try:
                self._look(found)
            except Exception as error:  # noqa: BLE001 - an event that is not understood here is the caller's
                self.rounds.exchange.record_unreadable(error)
        if not self.ends_here:
            self.buffered.append(event)

    def _look(self, found: dict[str, Any]) -> None:
        """Note what an event says about the answer."""
        for place, name in self.rounds.tool_dialect.begins(found):
            self._note_call_start(place, name)
        if self.rounds.last:
            return
        self.seen.append(found)
        if not (self.speaking or self.own):
            self.rounds.exchange.dialect.piece(self.answer, found)
            self.speaking = len(self.answer.full_text) > _PREAMBLE

    def _note_call_start(self, place: int, name: str) -> None:
        """Note that a call begins: of our tool, or of one of the caller's, who then gets this answer."""
        if name == self.rounds.name:
            self.own.add(place)
        elif not self.own or self.rounds.last:
            self.calls_other_tools = self.speaking = True
        if self.ends_here and not self.speaking:
            self.buffered.clear()

    def _end(self) -> None:
        if not self.ends_here:
            return
        tooling, rounds = self.rounds.tool_dialect, self.rounds
        self.reply = tooling.merge_events(self.seen)
        self.calls = tooling.calls(self.reply, rounds.name)
        if self.speaking:
            rounds.begun = tooling.advance_progress(rounds.begun or AnswerProgress(), self.seen, min(self.own))

    def _release_events(self) -> list[SseEvent]:
        events, self.buffered = self.buffered, []
        return [passed for event in events if (passed := self._event_for_caller(event)) is not None]

    def _event_for_caller(self, event: SseEvent) -> SseEvent | None:
        """Return an event as the caller gets it: untouched, unless it has to tell other rounds or hide our calls."""
        rounds = self.rounds
        found = event.json() if rounds.spent or rounds.begun or self.own else None
        if found is None:
            return event
        answer: dict[str, Any] | None = rounds.tool_dialect.with_usage(found, rounds.spent)
        if answer is not None and self.own:
            answer = rounds.tool_dialect.remove_own_calls(
                answer, OwnCalls(rounds.name, frozenset(self.own), alone=not self.calls_other_tools)
            )
        if answer is not None and rounds.begun is not None:
            answer = rounds.tool_dialect.continue_event(answer, rounds.begun)
        if answer is None or answer == found:
            return event if answer is not None else None
        data = json.dumps(answer)
        return SseEvent(encode_event(data, event.name), event.name, data)


def _parse_object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
