"""Check addresses in stored settings, and send requests only to allowed ones.

Whoever may change a setting must not reach what only this machine reaches. So an address is read strictly, its name is
resolved once, everything it resolves to must be public, and the connection goes to exactly what was checked: a name
that answers differently a moment later changes nothing. Hosts inside the network are named in ``server.private_urls``,
in the configuration file, which no request can change.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from ssl import SSLContext
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import httpx2

from memstone.errors import BackendRejected, BackendTimeout, BackendUnavailable, InvalidInput

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver: TypeAlias = Callable[[str, int], Sequence[str]]

PORTS: Final = {"http": 80, "https": 443}
_MOST_BYTES: Final = 4 * 1024 * 1024
_URL_CHARS: Final = 2_000
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?")
_NUMERIC: Final = re.compile(r"([0-9]+|0x[0-9a-f]*)")
# Where clouds tell a machine its credentials. Most are link-local anyway; these two look like any other address.
_METADATA: Final = frozenset(map(ipaddress.ip_address, ("169.254.169.254", "168.63.129.16", "fd00:ec2::254")))
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
# Not for everybody either, and not every version of Python knows.
_CLOSED: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",
            "100.64.0.0/10",
            "198.18.0.0/15",
            "64:ff9b:1::/48",
            "5f00::/16",
            "fec0::/10",
            "::ffff:0:0:0/96",
            "3fff::/20",
        ),
    )
)
_HINT: Final = "list hosts inside your network in server.private_urls of the configuration file"


@dataclass(frozen=True, slots=True)
class SafeUrl:
    """An address that was checked: what it says, and the one machine it stands for."""

    scheme: str
    host: str
    port: int
    path: str
    address: str

    @property
    def text(self) -> str:
        """As it was given, in normal form."""
        return f"{self.scheme}://{_format_authority(self.host, self.port, self.scheme)}{self.path}"

    @property
    def pinned_url(self) -> str:
        """The same with the address in place of the name."""
        return f"{self.scheme}://{_format_authority(self.address, self.port, self.scheme)}{self.path}"

    @property
    def host_header(self) -> str:
        """What the server is told it is asked as."""
        return _format_authority(self.host, self.port, self.scheme)


def resolve_host(host: str, port: int) -> list[str]:
    """Return everything a name stands for, as the system says."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]).partition("%")[0] for one in found))


class UrlGuard:
    """Says which addresses a stored setting may name; ``private`` are hosts inside the network that it may."""

    def __init__(self, private: Sequence[str] = (), resolver: Resolver = resolve_host) -> None:
        self._private = frozenset(map(_parse_private_host, private))
        self._resolver = resolver

    def resolve_url(self, url: str) -> SafeUrl:
        """Return an address after all checks, or ``InvalidInput``. Resolving blocks: see ``check``."""
        scheme, host, port, path = _parse_url(url)
        literal = _parse_ip(host)
        found = [literal] if literal is not None else self._resolve_addresses(host, port)
        for address in found:
            self._refuse(host, port, address)
        return SafeUrl(scheme, host, port, path, str(found[0]))

    async def check(self, url: str) -> SafeUrl:
        """Return the same without holding up anybody else."""
        return await asyncio.to_thread(self.resolve_url, url)

    def _resolve_addresses(self, host: str, port: int) -> list[Address]:
        try:
            found = [ipaddress.ip_address(one) for one in self._resolver(host, port)]
        except (OSError, ValueError, UnicodeError):
            found = []
        if not found:
            raise InvalidInput(f"{host} cannot be resolved", hint="check the host name")
        return found

    def _refuse(self, host: str, port: int, address: Address) -> None:
        named = self._is_listed(str(address), port)
        if named or (is_public(address) and not _is_metadata(address)):
            return
        # A name that is listed stands for machines of one's own, never for where a cloud keeps credentials.
        if self._is_listed(host, port) and not _is_metadata(address) and not _is_nowhere(address):
            return
        raise InvalidInput(f"{host} is not a public address", hint=_HINT)

    def _is_listed(self, host: str, port: int) -> bool:
        return (host, None) in self._private or (host, port) in self._private


def is_public(address: Address) -> bool:
    """Return whether an address is one that anybody may reach.

    What hides another one inside is judged by that one too.
    """
    if not address.is_global or address.is_multicast or any(address in one for one in _CLOSED):
        return False
    return all(is_public(one) for one in _embedded_addresses(address))


def _embedded_addresses(address: Address) -> list[Address]:
    """Return the addresses of the older kind that stand inside one of the newer kind."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    teredo = address.teredo or ()
    found = [one for one in (address.ipv4_mapped, address.sixtofour, *teredo) if one is not None]
    if address in _NAT64:
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    if int(address) < 1 << 32:  # the old form of a mapped one, ::a.b.c.d
        found.append(ipaddress.IPv4Address(int(address)))
    return list(found)


def _is_metadata(address: Address) -> bool:
    return address in _METADATA or any(one in _METADATA for one in _embedded_addresses(address))


def _is_nowhere(address: Address) -> bool:
    return address.is_unspecified or address.is_multicast


def _parse_url(url: str) -> tuple[str, str, int, str]:
    """Return scheme, host, port and path of an address that leaves no room for two opinions."""
    if not isinstance(url, str) or len(url) > _URL_CHARS:
        raise _url_error("it must be text of a reasonable length")
    # Readers differ in what they make of these, and the one that connects may be another than the one that checks.
    if any(char in "\\ \t\r\n" or not char.isprintable() for char in url):
        raise _url_error("it contains a space, a backslash or a control character")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _url_error("it is not a valid address") from None
    if parts.scheme not in PORTS:
        raise _url_error("it must begin with http:// or https://")
    if "@" in parts.netloc or parts.query or parts.fragment or "?" in url or "#" in url:
        raise _url_error("it must not have a user, a query or a fragment")
    if port == 0 or ("[" in parts.netloc and ":" not in (parts.hostname or "")):
        raise _url_error("the host or the port is not valid")
    return parts.scheme, _normalize_host(parts.hostname or ""), port or PORTS[parts.scheme], parts.path.rstrip("/")


def _url_error(why: str) -> InvalidInput:
    return InvalidInput("this address cannot be used: " + why, hint="http(s)://host:port/path")


def _normalize_host(text: str) -> str:
    """Return the name of a host in its one form; numbers written in another way than usual are refused."""
    if ":" in text:
        return _normalize_ipv6(text)
    try:
        name = text.encode("idna").decode("ascii").lower().removesuffix(".") if text else ""
    except UnicodeError:
        name = ""
    labels = name.split(".")
    if not name or len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):  # noqa: PLR2004 - of DNS
        raise _url_error("the host is missing or not valid")
    if _NUMERIC.fullmatch(labels[-1]) and _parse_ip(name) is None:  # 2130706433, 0177.0.0.1, 0x7f.1, 127.1
        raise _url_error("write a numeric address like 192.0.2.1")
    return name


def _normalize_ipv6(text: str) -> str:
    try:
        return str(ipaddress.IPv6Address(text))  # a zone, as in fe80::1%eth0, is kept and refused below
    except ValueError:
        raise _url_error("the host is not valid") from None


def _parse_ip(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _parse_private_host(entry: str) -> tuple[str, int | None]:
    """Return a line of ``server.private_urls``: a host, with a port or without, or an address."""
    text = entry.strip().lower()
    if text.count(":") > 1 and "[" not in text and "//" not in text:
        text = f"[{text}]"
    parts = urlsplit(text if "//" in text else f"//{text}")
    host = (parts.hostname or "").removesuffix(".")
    literal = _parse_ip(host)
    return (host if literal is None else str(literal)), parts.port


def _format_authority(host: str, port: int, scheme: str) -> str:
    name = f"[{host}]" if ":" in host else host
    return name if port == PORTS[scheme] else f"{name}:{port}"


@cache
def trusted_ssl_context() -> SSLContext:
    """Return whom the service trusts, read once: while the certificates are read, 20 ms, it answers nobody."""
    return httpx2.create_ssl_context(trust_env=False)


async def fetch_url(
    url: SafeUrl,
    method: str = "GET",
    path: str = "",
    *,
    headers: Mapping[str, str] | None = None,
    json: Any = None,
    timeout: float = 5.0,  # noqa: ASYNC109 - it belongs to the request
    transport: httpx2.AsyncBaseTransport | None = None,
) -> httpx2.Response:
    """Ask the machine that was checked, under the name that was given; redirects and proxies are not followed."""
    sent = {"user-agent": "memstone", **(headers or {}), "host": url.host_header}
    try:
        async with httpx2.AsyncClient(
            follow_redirects=False, trust_env=False, verify=trusted_ssl_context(), timeout=timeout, transport=transport
        ) as client:
            request = client.build_request(
                method, url.pinned_url + path, headers=sent, json=json, extensions={"sni_hostname": url.host}
            )
            response = await client.send(request, stream=True)
            await _read_limited_body(response)
    except httpx2.TimeoutException as error:
        raise BackendTimeout(f"{url.host} did not answer in time", kind="http", name=url.host) from error
    except httpx2.HTTPError as error:
        raise BackendUnavailable(f"{url.host} cannot be reached", kind="http", name=url.host) from error
    if response.is_redirect:
        raise BackendRejected(f"{url.host} redirects, and redirects are not followed", kind="http", name=url.host)
    return response


async def _read_limited_body(response: httpx2.Response) -> None:
    """Read an answer up to a size."""
    size, parts = 0, []
    async for part in response.aiter_bytes():
        size += len(part)
        parts.append(part)
        if size > _MOST_BYTES:
            await response.aclose()
            raise BackendRejected("the response is too large", kind="http", name=response.url.host)
    response._content = b"".join(parts)  # noqa: SLF001 - read by ourselves, up to a size
