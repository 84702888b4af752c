"""One address for many databases: a tenant's requests go to the database that holds the tenant.

Run it with any ASGI server, for example `uvicorn --factory examples.tenant_router:create_router`. Set
ROUTER_DATABASES to the URLs of the databases, separated by spaces, each migrated with `memstone migrate`.

The tenant is the first part of the host name (acme.memory.example.com), or the header X-Tenant. It only says where to
look: the key decides whose memories a request can see. Whoever names another tenant reaches a database that does not
know their key.

A tenant belongs to the database that scores highest for it (rendezvous hashing), so one more database takes a share
from each of the others, and nothing else moves. `moves` lists what to copy, with `memstone copy --tenant`, before the
new list is used. `places` names tenants that were put somewhere by hand, such as the largest ones.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import urlsplit

from memstone.server.app import create_app

Message = MutableMapping[str, Any]
_HEADER = b"x-tenant"
_OK = 200


def choose_database(tenant: str, databases: Sequence[str]) -> str:
    """Return the database that holds a tenant."""
    return max(databases, key=lambda url: hashlib.sha256(f"{tenant}\n{_name(url)}".encode()).digest())


def _name(url: str) -> str:
    """Return what stays the same when a database changes its password or its machine: the name of the database."""
    return urlsplit(url).path


def moves(tenants: Iterable[str], before: Sequence[str], after: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the tenants that change their database, with both places."""
    places = {tenant: (choose_database(tenant, before), choose_database(tenant, after)) for tenant in tenants}
    return {tenant: place for tenant, place in places.items() if place[0] != place[1]}


class TenantRouter:
    """An ASGI application that passes each request to the service over one of many databases."""

    def __init__(
        self,
        databases: Sequence[str],
        settings: Mapping[str, Any] | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        self._databases, self._places = tuple(databases), dict(places or {})
        shared = dict(settings or {})
        store = {"pool_size": 4, **shared.pop("store", {})}
        self.services = {url: create_app({**shared, "store": {**store, "url": url}}) for url in self._databases}

    def database_of(self, tenant: str) -> str:
        """Return where a tenant is."""
        return self._places.get(tenant) or choose_database(tenant, self._databases)

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        """Pass a request on; one that names no tenant is refused, except for a look whether all databases answer."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        tenant = tenant_of(scope)
        if tenant:
            await self.services[self.database_of(tenant)](scope, receive, send)
        elif scope["type"] == "http" and scope["path"] in ("/healthz", "/readyz"):
            await self._check(scope, receive, send)
        else:
            await _refuse(send)

    async def _live(self, receive: Any, send: Any) -> None:
        """Open all services at the start, and close them at the end."""
        await receive()
        async with AsyncExitStack() as stack:
            for service in self.services.values():
                await stack.enter_async_context(service.router.lifespan_context(service))
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _check(self, scope: Message, receive: Any, send: Any) -> None:
        """Answer as the first service that is not well, or as the last one."""
        answer: list[Message] = []
        for service in self.services.values():
            answer = []

            async def keep(message: Message, into: list[Message] = answer) -> None:
                into.append(message)

            await service(scope, receive, keep)
            if answer[0]["status"] != _OK:
                break
        for message in answer:
            await send(message)


def tenant_of(scope: Message) -> str:
    """Return the tenant that a request names; '' if none."""
    headers = dict(scope.get("headers", ()))
    named = str(headers.get(_HEADER, b"").decode("latin-1")).strip()
    if named:
        return named
    host = str(headers.get(b"host", b"").decode("latin-1")).partition(":")[0]
    first, _, rest = host.partition(".")
    return first if rest.count(".") and not first.isdigit() else ""


async def _refuse(send: Any) -> None:
    body = b'{"code": "scope", "detail": "no tenant was named", "hint": "send the header X-Tenant"}'
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def create_router() -> TenantRouter:
    """Return the router over the databases in ROUTER_DATABASES."""
    return TenantRouter(os.environ["ROUTER_DATABASES"].split())
