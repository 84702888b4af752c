"""The services that run models: which one is asked, how, and what of a request ever leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import httpx2

from retain.errors import BackendTimeout, BackendUnavailable, InvalidInput
from retain.sections_service import GatewaySettings, UpstreamSettings
from retain.server.gateway.counts import UPSTREAM
from retain.server.observe import log

# Whatever else a caller sends stays here: above all its own key.
_OUTGOING: Final = frozenset(
    {"accept", "anthropic-beta", "anthropic-version", "openai-beta", "openai-organization", "openai-project"}
)
_RETURNED: Final = frozenset({"content-type", "retry-after", "openai-processing-ms", "openai-version"})
_LIMITS: Final = ("x-ratelimit-", "anthropic-ratelimit-")
BROUGHT: Final = "x-upstream-authorization"
_TRY_NEXT: Final = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Target:
    """An upstream, and the name under which it knows the model."""

    upstream: UpstreamSettings
    model: str


Written: TypeAlias = Callable[[Target], Mapping[str, Any] | None]
"""What an upstream is sent: each as it takes it."""


class Upstreams:
    """Asks them in order; whatever goes wrong before the first byte is tried again, or elsewhere."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._upstreams = settings.upstreams
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=30.0)
        self._client = httpx2.AsyncClient(follow_redirects=False, limits=limits, trust_env=False)

    async def close(self) -> None:
        """Let go of every connection."""
        await self._client.aclose()

    @property
    def all(self) -> tuple[UpstreamSettings, ...]:
        """Every one that is configured."""
        return self._upstreams

    def targets(self, model: str) -> list[Target]:
        """Who runs a model: those of whose names the longest beginning fits, in the order of the settings."""
        fits = [(beginning, one) for one in self._upstreams for beginning in one.models if model.startswith(beginning)]
        if not fits:
            known = ", ".join(sorted({name for one in self._upstreams for name in one.models})) or "none"
            raise InvalidInput(f"no upstream runs the model {model!r}", hint=f"gateway.upstreams knows: {known}")
        longest = max(len(beginning) for beginning, _ in fits)
        best = [(beginning, one) for beginning, one in fits if len(beginning) == longest]
        return [Target(one, model[len(beginning) :] if one.strip else model) for beginning, one in best]

    @asynccontextmanager
    async def asked(
        self, targets: list[Target], path: str, written: Written, headers: Mapping[str, str]
    ) -> AsyncIterator[httpx2.Response]:
        """The answer of the first that gives one; its body is still to be read."""
        response = await self.first(targets, path, written, headers)
        try:
            yield response
        finally:
            await response.aclose()

    async def first(
        self, targets: list[Target], path: str, written: Written, headers: Mapping[str, str]
    ) -> httpx2.Response:
        """The same, for somebody who closes it."""
        failure: Exception | None = None
        attempts = [target for target in targets for _ in range(target.upstream.retries + 1)]
        for number, target in enumerate(attempts, start=1):
            theirs = headers if _host(target) == _host(targets[0]) else _without_key(headers)
            try:
                response = await self._send(target, path, written(target), theirs)
            except httpx2.HTTPError as error:
                _failed(target, kind=type(error).__name__)
                failure = error
                continue
            if response.status_code not in _TRY_NEXT or number == len(attempts):
                return response
            _failed(target, status=response.status_code)
            await response.aclose()
        names = ", ".join(target.upstream.name for target in targets)
        if isinstance(failure, httpx2.TimeoutException):
            raise BackendTimeout(f"{names} did not answer in time", kind="upstream", name=names) from failure
        raise BackendUnavailable(f"{names} cannot be reached", kind="upstream", name=names) from failure

    async def _send(
        self, target: Target, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> httpx2.Response:
        one = target.upstream
        request = self._client.build_request(
            "GET" if body is None else "POST",
            one.base_url + path,
            json=None if body is None else {**body, **({"model": target.model} if "model" in body else {})},
            headers=outgoing(one, headers),
            timeout=httpx2.Timeout(one.timeout, connect=one.connect_timeout),
        )
        return await self._client.send(request, stream=True)


def _host(target: Target) -> str:
    return urlsplit(target.upstream.base_url).netloc


def _without_key(headers: Mapping[str, str]) -> dict[str, str]:
    """A key that a caller brought is for the first upstream: whoever stands in for it uses its own."""
    return {name: value for name, value in headers.items() if name.lower() != BROUGHT}


def _failed(target: Target, **how: Any) -> None:
    UPSTREAM.labels(target.upstream.name).inc()
    log.warning("gateway.upstream.failed", upstream=target.upstream.name, **how)


def outgoing(upstream: UpstreamSettings, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that go out: a short list, and the upstream's own key or the one the caller brought for it."""
    sent = {name: value for name, value in headers.items() if name.lower() in _OUTGOING}
    sent |= {"user-agent": "retain", "accept-encoding": "identity"}  # pieces are to come as they are made
    brought = headers.get(BROUGHT, "").removeprefix("Bearer ").strip()
    key = brought or (upstream.api_key.get_secret_value() if upstream.api_key else "")
    if key and upstream.dialect == "anthropic":
        sent["x-api-key"] = key
        sent.setdefault("anthropic-version", "2023-06-01")
    elif key:
        sent["authorization"] = f"Bearer {key}"
    return sent


def returned(response: httpx2.Response) -> dict[str, str]:
    """The headers of an answer that a caller gets to see."""
    shown = {
        name: value
        for name, value in response.headers.items()
        if name.lower() in _RETURNED or name.lower().startswith(_LIMITS)
    }
    if upstream_id := response.headers.get("x-request-id"):
        shown["x-upstream-request-id"] = upstream_id
    return shown
