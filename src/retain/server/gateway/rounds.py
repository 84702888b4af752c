"""Rounds between a model and the memory: the model asks, the memory answers, and the caller sees only the last.

While a model may still ask, what it says is held back, until it is clear that it speaks to the caller: a few words
before a call are no answer. Whoever has begun to speak and calls then after all goes on speaking in the next round.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import httpx2

from retain.core.dialects.base import Body, Heard
from retain.core.dialects.tooling import Call, added
from retain.errors import BackendUnavailable
from retain.server.gateway.hook import Exchange
from retain.server.gateway.search import searched
from retain.server.gateway.sse import Event, Events, written

_OK: Final = 200
_PREAMBLE: Final = 240

Ask: TypeAlias = Callable[[Body], Awaitable[httpx2.Response]]
"""Send a request; the answer is the caller's to close."""


async def events_of(response: httpx2.Response) -> AsyncIterator[Event]:
    """The events of an answer, byte for byte; what an end in the middle leaves over comes last."""
    events = Events()
    async for piece in response.aiter_bytes():
        for event in events.feed(piece):
            yield event
    if events.rest:
        yield Event(events.rest, "", "")


@dataclass(slots=True)
class Rounds:
    """The rounds of one chat in which the model may search; ``spent`` is what all but the last of them cost."""

    exchange: Exchange
    ask: Ask
    most: int
    body: Body
    number: int = 0
    spent: dict[str, Any] = field(default_factory=dict)
    shift: int = 0
    resuming: bool = False

    @property
    def last(self) -> bool:
        """Whether the model has to answer now."""
        return self.number >= self.most

    @property
    def name(self) -> str:
        """What our tool is called."""
        return self.exchange.tool.name if self.exchange.tool is not None else ""

    async def next(self) -> httpx2.Response:
        """Ask once more."""
        self.number += 1
        if self.exchange.tool is None:
            return await self.ask(self.body)
        return await self.ask(self.exchange.dialect.tooling.offered(self.body, self.exchange.tool, last=self.last))

    async def answer(self, reply: Body, calls: list[Call]) -> None:
        """Look for what a model asked for, and write it into the next request."""
        tooling = self.exchange.dialect.tooling
        results = [(call, await searched(self.exchange, call)) for call in calls]
        self.body = tooling.answered(self.body, reply, results)
        self.spent = added(self.spent, reply.get("usage") or {})

    async def whole(self, response: httpx2.Response) -> tuple[httpx2.Response, dict[str, Any] | None]:
        """The last answer, and what it says when that is not what its bytes say."""
        tooling = self.exchange.dialect.tooling
        while not self.last and response.status_code == _OK:
            reply = _object(await response.aread())
            calls = tooling.calls(reply, self.name) if reply else []
            if not calls:
                break
            await response.aclose()
            await self.answer(reply, calls)
            response = await self.next()
        if not self.spent or response.status_code != _OK:
            return response, None
        reply = _object(await response.aread())
        return response, tooling.with_usage(reply, self.spent) if reply else None

    async def stream(self, response: httpx2.Response) -> AsyncIterator[Event]:
        """The events of the last answer."""
        while True:
            one = _Round(self, response)
            try:
                async for event in one.events():
                    yield event
            finally:
                await response.aclose()
            if not one.calls:
                return
            await self.answer(one.reply, one.calls)
            response = await self.next()
            if response.status_code != _OK:
                await response.aclose()
                raise BackendUnavailable(f"the upstream answered {response.status_code}", kind="upstream", name="")

    def passed(self, event: Event) -> Event | None:
        """An event of the last round as the caller gets it: untouched, unless earlier rounds have to be told in it."""
        found = event.json() if self.spent or self.resuming else None
        if found is None:
            return event
        tooling = self.exchange.dialect.tooling
        told = tooling.with_usage(found, self.spent)
        moved = tooling.resumed(told, self.shift) if self.resuming else told
        if moved is None or moved == found:
            return event if moved is not None else None
        raw = written(json.dumps(moved, ensure_ascii=False), event.name)
        return Event(raw, event.name, json.dumps(moved))


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
            self._take(event)
            if self.speaking:
                for one in self._released():
                    yield one
        self._end()
        for one in self._released():
            yield one

    def _take(self, event: Event) -> None:
        """Hold an event, unless it is none of the caller's business."""
        found = event.json()
        if found is not None and not self.rounds.last:
            self._look(found)
        if not self._is_ours(found):
            self.held.append(event)

    def _look(self, found: dict[str, Any]) -> None:
        """What an event says about the answer."""
        tooling = self.rounds.exchange.dialect.tooling
        self.seen.append(found)
        if (begun := tooling.begins(found)) is not None:
            self._begun(*begun)
        self.rounds.exchange.dialect.piece(self.heard, found)
        if tooling.speaks_early and not self.own and len(self.heard.said) > _PREAMBLE:
            self.speaking = True

    def _is_ours(self, found: dict[str, Any] | None) -> bool:
        """Whether an event is a part of our own call, or of an answer that goes on in another round."""
        if not self.own or not self.theirs:
            return bool(self.own)
        return found is not None and self.rounds.exchange.dialect.tooling.place(found) in self.own

    def _begun(self, place: int, name: str) -> None:
        """A call begins: of our tool, or of one of the caller's, who then gets this answer."""
        if name != self.rounds.name:
            self.theirs = self.theirs or not self.own
            self.speaking = self.speaking or (self.theirs and self.rounds.exchange.dialect.tooling.speaks_early)
            return
        self.own.add(place)
        if not self.theirs:
            if self.speaking:
                self.rounds.shift, self.rounds.resuming = self.rounds.shift + place, True
            else:
                self.held.clear()

    def _end(self) -> None:
        tooling = self.rounds.exchange.dialect.tooling
        if self.own and not (self.theirs and self.speaking):
            self.reply = tooling.gathered(self.seen)
            self.calls = tooling.calls(self.reply, self.rounds.name)
            self.held.clear()

    def _released(self) -> list[Event]:
        held, self.held = self.held, []
        return [passed for event in held if (passed := self.rounds.passed(event)) is not None]


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return dict(found) if isinstance(found, Mapping) else {}
