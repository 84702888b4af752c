"""Recognise the key of a request, and give the route a caller within its bounds."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Depends, Query, Request
from fastapi.dependencies.models import Dependant
from starlette.datastructures import Headers
from starlette.requests import Request as requests_Request
from starlette.responses import Response

from memstone.api.aio.verbs import AsyncMemoryVerbs
from memstone.async_memory import AsyncMemory
from memstone.core.access.jwt import looks_like_one
from memstone.core.settings.backends import operator_names
from memstone.engine.access import accounts, keys
from memstone.engine.access.accounts import AuthenticatedAccount
from memstone.engine.engine import Engine
from memstone.errors import Forbidden, InvalidInput, ScopeError, Unauthenticated
from memstone.model.access import ALL_VERBS, ApiKey, Bounds, Subjects, Users, Verb
from memstone.model.policy import Identity
from memstone.server.connections import is_local
from memstone.server.errors import hide_store_details
from memstone.server.schemas.base import RequestBody
from memstone.server.strict import StrictRoute

if TYPE_CHECKING:
    from memstone.engine.runtime import Runtime
    from memstone.server.state import ServiceState


# --- whom a request names, by its headers and its body, before anybody has asked whether its key may ------------------


OWN_HEADER: Final = "x-memstone-user"
FORMER_HEADER: Final = "x-retain-user"
USER_HEADERS: Final = (OWN_HEADER, FORMER_HEADER, "x-openwebui-user-id")
_USER_FIELDS: Final = frozenset({"user_id", "userId", "api_key_id", "apiKeyId"})
KEY: Final = "api_key"
"""The source that names no person: the key itself is meant."""


def read_headers(headers: Headers) -> dict[str, str]:
    """Decode headers that were sent as UTF-8.

    One that stands there several times is a list. Two persons in one request are thereby nobody's name.
    """
    found = dict[str, str]()
    for name, value in headers.items():
        text = value if value.isascii() else _decode_utf8(value)
        found[name] = f"{found[name]}, {text}" if found.get(name, text) != text else text
    return found


def _decode_utf8(value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def user_in_headers(headers: Mapping[str, str], policy: Identity) -> str:
    """Return the user that headers name, on any route; '' if none."""
    return next(_find_named_users(headers, {}, _person_sources(policy)), "")


def user_in_chat(headers: Mapping[str, str], body: Mapping[str, Any], policy: Identity, *, trusted: bool) -> str:
    """Return the user that a chat names, by a header or by ``user`` in its body; '' if none.

    With a key that is ``trusted`` to name anybody the body counts where it is a source, or where no other source of
    persons is configured: a header that is left out once must not let something else in its place. It comes before a
    header only where the sources name both in that order.
    """
    persons = _person_sources(policy)
    ordered = persons if any(one != "body" for one in persons) else []
    last = ["body"] if not (trusted and ordered) else []
    return next(_find_named_users(headers, body, ordered), "") or next(_find_named_users({}, body, last), "")


def _person_sources(policy: Identity) -> list[str]:
    return [source for source in policy.sources if source != KEY]


def _find_named_users(headers: Mapping[str, str], body: Mapping[str, Any], persons: list[str]) -> Iterator[str]:
    """Yield the users that a request names: by our header, configured sources, then known headers."""
    own, known = (f"header:{name}" for name in (OWN_HEADER, FORMER_HEADER)), (f"header:{name}" for name in USER_HEADERS)
    for source in (*own, *persons, *known):
        kind, _, name = source.partition(":")
        found = text_of(body.get("user")) if kind == "body" else headers.get(name.lower(), "").strip()
        if found:
            yield found


def text_of(value: Any) -> str:
    """Return an id in a body as text; '' if it is not valid."""
    return value.strip() if isinstance(value, str) else ""


def with_own_names(answer: Any, bounds: Bounds) -> Any:
    """Return an answer with users under the caller's own names.

    The caller sends that name again; the id of a pool it cannot send.
    """
    if bounds.users is not Users.POOLS:
        return answer
    if isinstance(answer, (list, tuple)):
        return [with_own_names(one, bounds) for one in answer]
    if not isinstance(answer, Mapping):
        return answer
    return {
        name: bounds.name_of(value)
        if name in _USER_FIELDS and isinstance(value, str) and value
        else with_own_names(value, bounds)
        for name, value in answer.items()
    }


# --- who asks, and what they may do -----------------------------------------------------------------------------------


_SECONDS: Final = 1.0
"""How long a key is remembered: so much later every process knows that it was revoked."""

_ENTRIES: Final = 1_000
_NOTED_EVERY: Final = 60.0


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller: the key, and the memory within its bounds."""

    key: ApiKey
    memory: AsyncMemoryVerbs
    bounds: Bounds
    """What the key reaches, and of it what this request is about."""

    person: AuthenticatedAccount | None = None
    """Who is logged in, where a token was shown and not a key."""

    @property
    def engine(self) -> Engine:
        """The engine behind the memory, for what is no verb of it."""
        return self.memory.engine

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
                "this request covers only a part of the tenant",
                hint="use an admin key that is not bound to a user, and send no user in the headers",
            )


class Authenticator:
    """Recognises keys, and remembers them for a second."""

    def __init__(self, memory: AsyncMemory, *, open_loopback: bool = False) -> None:
        self._memory, self._open = memory, open_loopback
        self._known: OrderedDict[str, tuple[float, ApiKey | AuthenticatedAccount]] = OrderedDict()
        self._changes = 0
        self._noted: dict[str, float] = {}
        self._acting: dict[Bounds, tuple[Runtime, AsyncMemoryVerbs]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def admit(self, request: Request) -> Caller:
        """Return the caller behind a request, or raise ``Unauthenticated``."""
        token = token_of(request)
        if not token:
            if self._open and is_local(request):
                tenant = self._memory.engine.runtime.tenant_id
                return self.caller_for(ApiKey(tenant, "loopback", "", "", verbs=ALL_VERBS))
            raise Unauthenticated("no key was sent")
        return self.caller_for(await self._recognise_token(token))

    async def admit_anew(self, request: Request) -> Caller:
        """Return the same without what is remembered: for who was let in a while ago and is still there."""
        token = token_of(request)
        return self.caller_for(await self._looked_up(token)) if token else await self.admit(request)

    async def _recognise_token(self, token: str) -> ApiKey | AuthenticatedAccount:
        name, now = _access_named(token), time.monotonic()
        current = self._known.get(name)
        if current is not None and now < current[0] and self._holds(current[1]):
            return current[1]
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

    async def _looked_up(self, token: str) -> ApiKey | AuthenticatedAccount:
        engine = self._memory.engine
        if looks_like_one(token):
            return await engine.ask(accounts.authenticate_token, token)
        return await engine.ask(keys.authenticate_key, token)

    def _holds(self, known: ApiKey | AuthenticatedAccount) -> bool:
        """Return whether a key or a token has not expired meanwhile."""
        until = known.expires_at if isinstance(known, ApiKey) else known.until
        return until is None or self._memory.engine.runtime.now() < until

    def knows(self, token: str) -> bool:
        """Return whether a key was recognised before, at whatever time; it may have ended since."""
        return _access_named(token) in self._known

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
        task = asyncio.create_task(self._memory.engine.ask(keys.note_use, key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def caller_for(self, known: ApiKey | AuthenticatedAccount) -> Caller:
        """Return the caller for a key or an account that was recognised."""
        key = known if isinstance(known, ApiKey) else known.key
        bounds = keys.bounds_of(key, self._identity)
        return Caller(key, self._memory_within_bounds(bounds), bounds, None if isinstance(known, ApiKey) else known)

    @property
    def _identity(self) -> Identity:
        return self._memory.engine.runtime.policy.identity

    def narrow_to_user(self, caller: Caller, headers: Headers) -> Caller:
        """Return the same caller for a request whose headers name a user: it is about them, whatever else it says."""
        named = user_in_headers(read_headers(headers), self._identity)
        if not named:
            return caller
        bounds = caller.bounds.for_user(named)
        return replace(caller, memory=self._memory_within_bounds(bounds), bounds=bounds)

    def _memory_within_bounds(self, bounds: Bounds) -> AsyncMemoryVerbs:
        """Return the memory within bounds: made once for all who reach the same."""
        runtime = self._memory.engine.runtime
        current = self._acting.get(bounds)
        if current is None or current[0] is not runtime:
            if len(self._acting) >= _ENTRIES:
                self._acting.clear()
            current = self._acting[bounds] = runtime, AsyncMemoryVerbs(self._memory.engine.within(bounds))
        return current[1]


def _access_named(token: str) -> str:
    """Return the name under which a recognised key is remembered, which is not the key."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def token_of(request: Request) -> str:
    """Return the key in a request."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    return request.headers.get("x-api-key", "").strip()


async def admit_caller(request: Request) -> Caller:
    """Return the caller of a request, within its rate limit."""
    state: ServiceState = request.app.state.memstone
    return await state.admit(request)


async def admitted_by_name(request: Request) -> Caller:
    """Return the caller of a request whose headers may name a user."""
    state: ServiceState = request.app.state.memstone
    return await state.admit_by_name(request)


def _require_verb(verb: Verb) -> Callable[[Caller], Awaitable[Caller]]:
    async def check_verb(caller: Annotated[Caller, Depends(admitted_by_name)]) -> Caller:
        caller.needs(verb)
        return caller

    return check_verb


async def _admit_chat_caller(caller: Annotated[Caller, Depends(admit_caller)]) -> Caller:
    """Return a caller who may chat, which needs ``write``.

    Whom a chat is about is decided by the gateway, which goes on without memory where others refuse.
    """
    caller.needs(Verb.WRITE)
    return caller


class AuthenticatedRoute(StrictRoute):
    """A route that checks the key before it reads the body.

    What its answer tells of a store that failed is what a caller may know, and users are called as the caller does.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **rest: Any) -> None:
        super().__init__(path, _wrap_endpoint(endpoint), **rest)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Admit the caller first, where the route is not for everybody."""
        handle = super().get_route_handler()
        if not asks_who(self.dependant):
            return handle

        async def admit_first(request: Request) -> Response:
            await admit_caller(request)
            return await handle(request)

        return admit_first


def _wrap_endpoint(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    if not inspect.iscoroutinefunction(endpoint) or hasattr(endpoint, "__wrapped__"):
        return endpoint  # one that hands its answer over piece by piece, or a route that is made again from this one

    @wraps(endpoint)
    async def call_endpoint(*args: Any, **kwargs: Any) -> Any:
        answer, caller = hide_store_details(await endpoint(*args, **kwargs)), kwargs.get("caller")
        return with_own_names(answer, caller.bounds) if isinstance(caller, Caller) else answer

    # With what its names mean: whoever reads a signature elsewhere may look for them here.
    vars(call_endpoint)["__signature__"] = inspect.signature(endpoint, eval_str=True)
    return call_endpoint


def asks_who(dependant: Dependant) -> bool:
    """Return whether a route needs a key."""
    return dependant.call in (admit_caller, admitted_by_name) or any(map(asks_who, dependant.dependencies))


Reader = Annotated[Caller, Depends(_require_verb(Verb.READ))]
Writer = Annotated[Caller, Depends(_require_verb(Verb.WRITE))]
Admin = Annotated[Caller, Depends(_require_verb(Verb.ADMIN))]
KeyHolder = Annotated[Caller, Depends(admit_caller)]
Chatter = Annotated[Caller, Depends(_admit_chat_caller)]


# --- how far a request reaches ----------------------------------------------------------------------------------------


def resolve_scope(caller: Caller, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scope of a request; a request that names nobody means everybody and needs an administrator.

    Unless the key is not an administrator's, and a request that names nobody is about somebody; or the request says
    ``everybody`` itself, true or false.
    """
    values: dict[str, Any] = {name: named.get(name) or None for name in ("user_id", "agent_id", "run_id")}
    message = named.get("everybody")
    values["everybody"] = not any(values.values()) and not is_bound(caller) if message is None else message
    if values["everybody"]:
        caller.needs(Verb.ADMIN)
    if message:
        caller.needs_tenant()
    return values


def is_bound(caller: Caller) -> bool:
    """Return whether who names nobody means somebody: the one user or agent of a key, or its own pool."""
    bounds = caller.bounds
    return not bounds.is_open and bool(bounds.user_id or bounds.agent_id or bounds.unnamed)


def require_confirmation(
    caller: Caller, narrowing: Mapping[str, Any], confirm: str | None, *, dry_run: bool = False
) -> None:
    """Go on only if something narrows a deletion, or the caller names what they are about to empty."""
    if dry_run or any(narrowing.values()):
        return
    reach = _name_of_reach(caller)
    if confirm != reach:
        choices = f"one of {', '.join(narrowing)}, or " if narrowing else ""
        raise ScopeError(
            "this would delete everything", hint=f"give {choices}confirm={reach}; dry_run shows what would be deleted"
        )


def _name_of_reach(caller: Caller) -> str:
    """Return what a caller calls all that they reach: a person, an agent, their own key, or the tenant."""
    bounds = caller.bounds
    if bounds.user_id:
        return bounds.name_of(bounds.user_id) or bounds.key_id
    own = bounds.key_id if bounds.users is Users.POOLS else caller.key.tenant_id
    return bounds.agent_id or own


def require_setting_rights(caller: Caller, names: Iterable[str] | None) -> None:
    """Check that a caller may set these settings.

    Quotas and masking need an administrator, whomever they are set for.
    """
    if operator_names(names or ()):
        caller.needs(Verb.ADMIN)


def needs_operator(request: requests_Request, caller: Caller) -> None:
    """Go on only for an administrator of the tenant that runs the service: the act concerns all tenants."""
    caller.needs(Verb.ADMIN)
    caller.needs_tenant()
    if caller.key.tenant_id != request.app.state.memstone.settings.tenant:
        raise Forbidden("this affects every tenant", hint="use a key of the tenant that runs the service")


# --- whom a request is about, as far as its key may say so ------------------------------------------------------------


ScopeId = Annotated[str | None, Query(max_length=256)]
DryRun = Annotated[bool, Query(description="report what would be deleted, and delete nothing")]
Confirm = Annotated[
    str | None,
    Query(max_length=256, description="needed to delete everything: the user of the key, or the tenant"),
]


class QueryScope:
    """The user, agent and run of a request's query."""

    def __init__(self, user_id: ScopeId = None, agent_id: ScopeId = None, run_id: ScopeId = None) -> None:
        self.user_id: str | None = user_id or None
        self.agent_id: str | None = agent_id or None
        self.run_id: str | None = run_id or None

    def as_dict(self) -> dict[str, Any]:
        """Return the keywords of a call."""
        return {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.run_id}


NamedScope = Annotated[QueryScope, Depends()]


class QueryReach(QueryScope):
    """The same, where a request may also be about everybody."""

    def __init__(
        self,
        user_id: ScopeId = None,
        agent_id: ScopeId = None,
        run_id: ScopeId = None,
        *,
        everybody: Annotated[bool | None, Query(description="everybody's data; for administrators")] = None,
    ) -> None:
        super().__init__(user_id, agent_id, run_id)
        self.everybody = everybody

    def as_dict(self) -> dict[str, Any]:
        """Return the keywords of a call."""
        return {**super().as_dict(), "everybody": self.everybody}


Reach = Annotated[QueryReach, Depends()]


def merge_body(query: Mapping[str, Any], body: RequestBody | None) -> dict[str, Any]:
    """Return what the query and the body say together; raise if they say different things."""
    merged = dict[str, Any]()
    for name, value in query.items():
        message = getattr(body, name, None)
        if value is not None and message is not None and message != value:
            raise InvalidInput(f"{name} is {value!r} in the query and {message!r} in the body", hint="give one of them")
        merged[name] = message if value is None else value
    return merged
