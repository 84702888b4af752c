"""Rounds between a model and the memory: the model asks, the memory answers, and the caller sees only the last.

While a model may still ask, what it says is held back, until it is clear that it speaks to the caller: a few words
before a call are no answer. Whoever has begun to speak and calls then after all goes on speaking in the next round.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import httpx2

from memstone.core.dialects.base import Begun, Body, Call, Heard, Ours, Tooling, add_usage
from memstone.errors import BackendError
from memstone.server.gateway.chat import Exchange
from memstone.server.gateway.counts import Skip
from memstone.server.gateway.outages import Outage
from memstone.server.gateway.search import run_search_call
from memstone.server.gateway.sse import SIGN_OF_LIFE, Event, Events, encode_event
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


class Refused(Exception):
    """An upstream that answers a later round of a stream with something that is none."""

    def __init__(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        super().__init__(f"the upstream answered {status}")
        self.status, self.body, self.headers = status, body, headers

    @property
    def error(self) -> dict[str, Any]:
        """What it says about it itself."""
        told = _parse_object(self.body).get("error")
        return told if isinstance(told, dict) else {}


def is_stream(response: httpx2.Response) -> bool:
    """Whether an answer comes in events, as was asked; some services answer as a whole nevertheless."""
    kind = response.headers.get("content-type", "").lower()
    return response.status_code == _OK and not kind.startswith("application/json")


async def events_of(response: httpx2.Response) -> AsyncIterator[Event]:
    """The events of an answer, byte for byte."""
    events = Events()
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

    exchange: Exchange
    ask: Ask
    most: int
    body: Body
    outage: Outage
    number: int = 0
    spent: dict[str, Any] = field(default_factory=dict)
    begun: Begun | None = None
    ended: Any = None
    plain: Body = field(init=False)

    def __post_init__(self) -> None:
        """What is asked for when nothing of memory is taken."""
        self.plain = self.body

    @property
    def last(self) -> bool:
        """Whether the model has to answer now; whoever may ask has one round for that, and one to answer."""
        return self.exchange.tool is None or self.number >= max(self.most, _FEWEST)

    @property
    def edited(self) -> bool:
        """Whether the caller may have to be told something else than what comes."""
        return self.exchange.tool is not None or bool(self.spent)

    @property
    def name(self) -> str:
        """What our tool is called."""
        return self.exchange.tool.name if self.exchange.tool is not None else ""

    @property
    def tooling(self) -> Tooling:
        """How the chat speaks of tools."""
        return self.exchange.dialect.tooling

    async def next(self) -> httpx2.Response:
        """Ask once more. Whoever refuses what memory has added is asked as the caller did; their word is the answer."""
        self.number += 1
        tool = self.exchange.tool
        wanted = self.body if tool is None else self.tooling.offered(self.body, tool, last=self.last)
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
        """Whether it may be what memory has added that is not taken. Some services fail at it, others at everything."""
        return response.status_code in _NOT_TAKEN or (response.status_code == _FAILED and not self.outage.is_on)

    async def _without_memory(self, *, failed: bool) -> httpx2.Response:
        """The answer to what the caller sent; whoever failed before and fails at that too is down."""
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
        self.body = self.tooling.answered(self.body, reply, results)
        used = reply.get("usage")
        self.spent = add_usage(self.spent, used if isinstance(used, Mapping) else {})

    async def whole(self, response: httpx2.Response) -> tuple[httpx2.Response, dict[str, Any] | None]:
        """The last answer, and what it says when that is not what its bytes say."""
        while not self.last and response.status_code == _OK:
            reply = _parse_object(await response.aread())
            calls = self.tooling.calls(reply, self.name)
            if not calls:
                break
            await response.aclose()
            await self.answer(reply, calls)
            response = await self.next()
        if not self.edited or response.status_code != _OK:
            return response, None
        reply = _parse_object(await response.aread())
        told = self.tooling.with_usage(reply, self.spent)
        told = self.tooling.spared(told, self.name) if self.tooling.calls(told, self.name) else told
        return response, told if told != reply else None

    async def stream(self, response: httpx2.Response) -> AsyncIterator[Event]:
        """The events of the last answer."""
        while True:
            one = _Round(self, response)
            try:
                async for event in one.events() if self.edited else events_of(response):
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


async def _read_refusal(response: httpx2.Response) -> Refused:
    try:
        return Refused(response.status_code, await response.aread(), headers_for_caller(response))
    finally:
        await response.aclose()


@dataclass(slots=True)
class _Round:
    """One answer in pieces, of which it is not known at first what it will be."""

    rounds: Rounds
    response: httpx2.Response
    held: list[Event] = field(default_factory=list)
    seen: list[dict[str, Any]] = field(default_factory=list)
    heard: Heard = field(default_factory=Heard)
    speaking: bool = False
    theirs: bool = False
    own: set[int] = field(default_factory=set)
    reply: dict[str, Any] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    async def events(self) -> AsyncIterator[Event]:
        """What the caller gets of it; ``calls`` are what the memory is asked for afterwards."""
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
        return bool(self.own) and not self.theirs and not self.rounds.last

    def _take(self, event: Event) -> None:
        """Hold an event, unless it is none of the caller's business."""
        found = event.json()
        if found is not None:
            try:
                self._look(found)
            except Exception as error:  # noqa: BLE001 - an event that is not understood here is the caller's
                self.rounds.exchange.unread(error)
        if not self.ends_here:
            self.held.append(event)

    def _look(self, found: dict[str, Any]) -> None:
        """What an event says about the answer."""
        for place, name in self.rounds.tooling.begins(found):
            self._note_call_start(place, name)
        if self.rounds.last:
            return
        self.seen.append(found)
        if not (self.speaking or self.own):
            self.rounds.exchange.dialect.piece(self.heard, found)
            self.speaking = len(self.heard.said) > _PREAMBLE

    def _note_call_start(self, place: int, name: str) -> None:
        """A call begins: of our tool, or of one of the caller's, who then gets this answer."""
        if name == self.rounds.name:
            self.own.add(place)
        elif not self.own or self.rounds.last:
            self.theirs = self.speaking = True
        if self.ends_here and not self.speaking:
            self.held.clear()

    def _end(self) -> None:
        if not self.ends_here:
            return
        tooling, rounds = self.rounds.tooling, self.rounds
        self.reply = tooling.gathered(self.seen)
        self.calls = tooling.calls(self.reply, rounds.name)
        if self.speaking:
            rounds.begun = tooling.carried(rounds.begun or Begun(), self.seen, min(self.own))

    def _release_events(self) -> list[Event]:
        held, self.held = self.held, []
        return [passed for event in held if (passed := self._event_for_caller(event)) is not None]

    def _event_for_caller(self, event: Event) -> Event | None:
        """An event as the caller gets it: untouched, unless other rounds have to be told in it, or our calls hidden."""
        rounds = self.rounds
        found = event.json() if rounds.spent or rounds.begun or self.own else None
        if found is None:
            return event
        told: dict[str, Any] | None = rounds.tooling.with_usage(found, rounds.spent)
        if told is not None and self.own:
            told = rounds.tooling.freed(told, Ours(rounds.name, frozenset(self.own), alone=not self.theirs))
        if told is not None and rounds.begun is not None:
            told = rounds.tooling.resumed(told, rounds.begun)
        if told is None or told == found:
            return event if told is not None else None
        data = json.dumps(told)
        return Event(encode_event(data, event.name), event.name, data)


def _parse_object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
