"""Who asks, and what they may do: from the key in a request to the memory that it reaches."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from starlette.datastructures import Headers
from starlette.responses import Response

from memstone.async_memory import AsyncMemory
from memstone.core.access.jwt import looks_like_one
from memstone.engine.access import accounts, keys
from memstone.engine.access.accounts import Recognised
from memstone.errors import Forbidden, Unauthenticated
from memstone.model.access import ALL_VERBS, ApiKey, Bounds, Subjects, Verb
from memstone.model.policy import Identity
from memstone.server.errors import discreet
from memstone.server.identity import read_headers, user_in_headers, with_own_names
from memstone.server.proxies import is_local
from memstone.server.strict import StrictRoute

if TYPE_CHECKING:
    from memstone.engine.runtime import Parts
    from memstone.server.state import State

_SECONDS: Final = 5.0
_ENTRIES: Final = 1_000
_NOTED_EVERY: Final = 60.0


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who may ask: the key, and the memory as that key reaches it."""

    key: ApiKey
    memory: AsyncMemory
    bounds: Bounds
    """What the key reaches, and of it what this request is about."""

    person: Recognised | None = None
    """Who is logged in, where a token was shown and not a key."""

    @property
    def subjects(self) -> Subjects:
        """Whom the key stands for."""
        return self.key.subjects

    def needs(self, verb: Verb) -> None:
        """Go on only if the key has a verb."""
        if verb not in self.key.verbs:
            raise Forbidden(f"this key does not have the `{verb}` permission", hint=f"use a key with the verb {verb}")

    def needs_tenant(self) -> None:
        """Go on only if the key reaches the whole tenant, as acts upon all of it do."""
        if not self.bounds.is_open:
            raise Forbidden(
                "this request reaches only a part of the tenant",
                hint="use an admin key that is bound to nobody, and name no user in the headers",
            )


class Doorkeeper:
    """Recognises keys, and remembers for a few seconds whom it has recognised."""

    def __init__(self, memory: AsyncMemory, *, open_loopback: bool = False) -> None:
        self._memory, self._open = memory, open_loopback
        self._known: OrderedDict[str, tuple[float, ApiKey | Recognised]] = OrderedDict()
        self._changes = 0
        self._noted: dict[str, float] = {}
        self._acting: dict[Bounds, tuple[Parts, AsyncMemory]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def admit(self, request: Request) -> Caller:
        """The caller behind a request, or ``Unauthenticated``."""
        token = token_of(request)
        if not token:
            if self._open and is_local(request):
                tenant = self._memory._engine.parts.tenant_id  # noqa: SLF001 - whose service it is
                return self._caller(ApiKey(tenant, "loopback", "", "", verbs=ALL_VERBS))
            raise Unauthenticated("no key was sent")
        return self._caller(await self._recognised(token))

    async def admit_anew(self, request: Request) -> Caller:
        """The same without what is remembered: for who was let in a while ago and is still there."""
        token = token_of(request)
        return self._caller(await self._looked_up(token)) if token else await self.admit(request)

    async def _recognised(self, token: str) -> ApiKey | Recognised:
        name, now = _named(token), time.monotonic()
        held = self._known.get(name)
        if held is not None and now < held[0] and self._holds(held[1]):
            return held[1]
        changes = self._changes
        try:
            key = await self._looked_up(token)
        except Unauthenticated:
            self._known.pop(name, None)
            raise
        self._known[name] = now + _SECONDS if changes == self._changes else 0.0, key
        self._known.move_to_end(name)
        if len(self._known) > _ENTRIES:
            self._known.popitem(last=False)
        if isinstance(key, ApiKey):
            self._note(key, now)
        return key

    async def _looked_up(self, token: str) -> ApiKey | Recognised:
        engine = self._memory._engine  # noqa: SLF001 - recognising somebody is not a verb of the face
        if looks_like_one(token):
            return await engine.ask(accounts.authenticate, token)
        return await engine.ask(keys.authenticate, token)

    def _holds(self, known: ApiKey | Recognised) -> bool:
        """Whether a key or a token has not expired meanwhile."""
        until = known.expires_at if isinstance(known, ApiKey) else known.until
        return until is None or self._memory._engine.parts.now() < until  # noqa: SLF001 - its clock

    def knows(self, token: str) -> bool:
        """Whether a key was recognised before, at whatever time; it may have ended since."""
        return _named(token) in self._known

    def forget(self) -> None:
        """Look every key up again, also those that are being looked up just now: one was changed."""
        self._changes += 1
        for name, (_, key) in self._known.items():
            self._known[name] = 0.0, key

    def _note(self, key: ApiKey, now: float) -> None:
        """Keep when a key was last used, now and then, and not while somebody waits."""
        if now - self._noted.get(key.id, -_NOTED_EVERY) < _NOTED_EVERY:
            return
        self._noted[key.id] = now
        task = asyncio.create_task(self._memory._engine.ask(keys.note_use, key))  # noqa: SLF001
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _caller(self, known: ApiKey | Recognised) -> Caller:
        key = known if isinstance(known, ApiKey) else known.key
        bounds = keys.bounds_of(key, self._identity)
        return Caller(key, self._reached(bounds), bounds, None if isinstance(known, ApiKey) else known)

    @property
    def _identity(self) -> Identity:
        return self._memory._engine.parts.policy.identity  # noqa: SLF001 - the values a service reads

    def narrowed(self, caller: Caller, headers: Headers) -> Caller:
        """The same caller in a request whose headers name a user: it is about that user, whatever else it says."""
        named = user_in_headers(read_headers(headers), self._identity)
        if not named:
            return caller
        bounds = caller.bounds.for_user(named)
        return replace(caller, memory=self._reached(bounds), bounds=bounds)

    def _reached(self, bounds: Bounds) -> AsyncMemory:
        """The memory within bounds: made once for all who reach the same."""
        parts = self._memory._engine.parts  # noqa: SLF001 - whether it is still the one
        held = self._acting.get(bounds)
        if held is None or held[0] is not parts:
            if len(self._acting) >= _ENTRIES:
                self._acting.clear()
            held = self._acting[bounds] = parts, self._memory._within(bounds)  # noqa: SLF001 - for callers of a service
        return held[1]


def _named(token: str) -> str:
    """What a key is remembered by: not by itself."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def token_of(request: Request) -> str:
    """The key that a request carries."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    return request.headers.get("x-api-key", "").strip()


async def admitted(request: Request) -> Caller:
    """The caller of a request, within their rate."""
    state: State = request.app.state.memstone
    return await state.admit(request)


async def admitted_by_name(request: Request) -> Caller:
    """The same, in a request whose headers may say for whom it asks."""
    state: State = request.app.state.memstone
    return await state.admit_by_name(request)


def _with(verb: Verb) -> Callable[[Caller], Awaitable[Caller]]:
    async def checked(caller: Annotated[Caller, Depends(admitted_by_name)]) -> Caller:
        caller.needs(verb)
        return caller

    return checked


async def _chatting(caller: Annotated[Caller, Depends(admitted)]) -> Caller:
    """Who may chat: it spends what a model costs and is learned from, which takes more than reading.

    Whom a chat is about is decided by the gateway, which goes on without memory where others refuse.
    """
    caller.needs(Verb.WRITE)
    return caller


class Keyed(StrictRoute):
    """A route that knows who asks before it reads what is sent: who has no key costs no more than that.

    What its answer tells of a store that failed is what a caller may know, and users are called as the caller does.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **rest: Any) -> None:
        super().__init__(path, _discreetly(endpoint), **rest)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Admit the caller first, where the route is not for everybody."""
        handle = super().get_route_handler()
        if not asks_who(self.dependant):
            return handle

        async def admit_first(request: Request) -> Response:
            await admitted(request)
            return await handle(request)

        return admit_first


def _discreetly(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    if not inspect.iscoroutinefunction(endpoint) or hasattr(endpoint, "__wrapped__"):
        return endpoint  # one that hands its answer over piece by piece, or a route that is made anew from this one

    @wraps(endpoint)
    async def answered(*args: Any, **kwargs: Any) -> Any:
        answer, caller = discreet(await endpoint(*args, **kwargs)), kwargs.get("caller")
        return with_own_names(answer, caller.bounds) if isinstance(caller, Caller) else answer

    # With what its names mean: whoever reads a signature elsewhere may look for them here.
    vars(answered)["__signature__"] = inspect.signature(endpoint, eval_str=True)
    return answered


def asks_who(dependant: Dependant) -> bool:
    """Whether a route is for those only who show who they are."""
    return dependant.call in (admitted, admitted_by_name) or any(map(asks_who, dependant.dependencies))


Reader = Annotated[Caller, Depends(_with(Verb.READ))]
Writer = Annotated[Caller, Depends(_with(Verb.WRITE))]
Admin = Annotated[Caller, Depends(_with(Verb.ADMIN))]
KeyHolder = Annotated[Caller, Depends(admitted)]
Chatter = Annotated[Caller, Depends(_chatting)]
