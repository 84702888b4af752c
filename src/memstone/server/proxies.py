"""Whose address a request comes from: the peer's, unless the peer is a proxy that the settings name.

Anybody can write ``X-Forwarded-For`` into a request. Believed from everybody, it lets a caller guess keys from a new
address each time, and lock other addresses out.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from memstone.server.observe import log

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

FORWARDED_HEADERS: Final = frozenset({"forwarded", "x-forwarded-for", "x-real-ip"})
"""Where proxies write whom they ask for; one of them is read, and only where a proxy wrote it."""

_PROXY_MARKS: Final = FORWARDED_HEADERS | {"via", "x-forwarded-host", "x-forwarded-proto"}
_MOST_HOPS: Final = 50


class ProxyAddresses:
    """Puts the address of the caller in the place of a proxy's, for every request of a trusted proxy."""

    def __init__(self, app: ASGIApp, *, proxies: Sequence[str], header: str) -> None:
        self._app, self._header = app, header
        self._networks = [ipaddress.ip_network(one) for one in proxies]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with the address it comes from."""
        if scope["type"] == "http" and scope.get("client") is not None:
            headers = Headers(scope=scope)
            if self._is_proxy(parse_address(scope["client"][0])):
                scope["client"] = self._client_of(headers, scope["client"])
            elif not FORWARDED_HEADERS.isdisjoint(headers):
                log.warning("proxy.not_trusted", hint="name the proxy in server.proxies, if there is one")
        await self._app(scope, receive, send)

    def _client_of(self, headers: Headers, proxy: tuple[str, int]) -> tuple[str, int]:
        """The last address that no trusted proxy has; what cannot be read is nobody's, and leaves the proxy's own."""
        client = proxy
        for text in list(_hops(headers.getlist(self._header), self._header))[-_MOST_HOPS:][::-1]:
            address = parse_address(text)
            if address is None:
                return client
            client = (str(address), 0)
            if not self._is_proxy(address):
                return client
        return client

    def _is_proxy(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def _hops(values: Sequence[str], header: str) -> Iterator[str]:
    """The addresses in a header, in the order in which proxies have added them."""
    for part in ",".join(values).split(","):
        if header != "forwarded":
            yield part.strip()
            continue
        pairs = (pair.partition("=") for pair in part.split(";"))
        named = {name.strip().lower(): value.strip() for name, _, value in pairs}
        yield named.get("for", "").strip('"')


def parse_address(text: str) -> Address | None:
    """An address as a peer or a header has it, perhaps with a port; None if it is none."""
    host = text
    if text.startswith("["):
        host = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        host = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def is_local(request: HTTPConnection) -> bool:
    """Whether a request was made on this machine, and not passed on by a proxy that runs here."""
    if request.client is None or not _PROXY_MARKS.isdisjoint(request.headers):
        return False
    address = parse_address(request.client.host)
    return address is not None and address.is_loopback
