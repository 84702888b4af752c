"""Choose an upstream, send it the request, and filter headers."""

from __future__ import annotations

import asyncio
import json
import re
from asyncio import sleep as pause
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import httpx2

from memstone.backoff import parse_retry_after, retry_pause
from memstone.errors import BackendError, BackendTimeout, BackendUnavailable, InvalidInput
from memstone.sections_service import GatewaySettings, UpstreamSettings
from memstone.server.gateway.counts import UPSTREAM
from memstone.server.gateway.outages import ModelOutage, Outages
from memstone.server.observe import log
from memstone.server.urls import trusted_ssl_context

# --- the services that run models -------------------------------------------------------------------------------------


# Whatever else a caller sends stays here: above all its own key.
_OUTGOING: Final = frozenset(
    {"accept", "anthropic-beta", "anthropic-version", "openai-beta", "openai-organization", "openai-project"}
)
_RETURNED: Final = frozenset(
    {
        "content-type",
        "openai-processing-ms",
        "openai-version",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "x-should-retry",
    }
)
_LIMITS: Final = ("x-ratelimit-", "anthropic-ratelimit-")
BROUGHT: Final = "x-upstream-authorization"
_SCHEME: Final = re.compile(r"^bearer(\s+|$)", re.IGNORECASE)
_OK: Final = 200
_TOO_MANY: Final = 429
_FAILED: Final = 500
_STILL_AT_WORK: Final = frozenset({504, 524})
_TRY_NEXT: Final = frozenset({408, 425, _TOO_MANY, _FAILED, 502, 503, 520, 521, 522, 523, 529}) | _STILL_AT_WORK
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 10.0
"""Somebody waits for the answer: an upstream that asks for more time is not asked again for this chat."""


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
        self._outages = Outages()
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=30.0)
        self._client = httpx2.AsyncClient(
            follow_redirects=False, limits=limits, trust_env=False, verify=trusted_ssl_context()
        )

    async def close(self) -> None:
        """Let go of every connection."""
        await self._client.aclose()

    @property
    def all(self) -> tuple[UpstreamSettings, ...]:
        """Every one that is configured."""
        return self._upstreams

    def targets(self, model: str) -> list[Target]:
        """Return who runs a model: those of whose names the longest beginning fits, in the order of the settings."""
        fits = [(beginning, one) for one in self._upstreams for beginning in one.models if model.startswith(beginning)]
        if not fits:
            known = ", ".join(sorted({name for one in self._upstreams for name in one.models})) or "none"
            raise InvalidInput(f"no upstream serves the model {model!r}", hint=f"gateway.upstreams has: {known}")
        longest = max(len(beginning) for beginning, _ in fits)
        best = [(beginning, one) for beginning, one in fits if len(beginning) == longest]
        return [Target(one, model[len(beginning) :] if one.strip else model) for beginning, one in best]

    def outage(self, targets: list[Target]) -> ModelOutage:
        """Return whether these fail at whatever they are asked."""
        return self._outages.of(tuple((one.upstream.name, one.model) for one in targets))

    @asynccontextmanager
    async def request_first(
        self, targets: list[Target], path: str, written: Written, headers: Mapping[str, str]
    ) -> AsyncIterator[httpx2.Response]:
        """Yield the answer of the first that gives one; its body is still to be read."""
        response = await self.first(targets, path, written, headers)
        try:
            yield response
        except httpx2.HTTPError as error:
            raise _no_answer(targets, error, begun=True) from error
        finally:
            await response.aclose()

    async def first(
        self,
        targets: list[Target],
        path: str,
        written: Written,
        headers: Mapping[str, str],
        *,
        trial: bool = False,
        failed: bool = False,
    ) -> httpx2.Response:
        """Return the same, for somebody who closes it; where nobody does better, what the last one refused with.

        With ``trial`` the request holds something an upstream may fail at, and a 500 is not tried again as it is;
        ``failed`` says that all of them have failed at such a trial, which was one of their attempts.
        """
        failure: httpx2.HTTPError | None = None
        refusal: httpx2.Response | None = None
        response: httpx2.Response | None = None
        attempts = _Attempts(targets, trial=trial, failed=failed)
        try:
            while (target := await attempts.next()) is not None:
                other = (
                    headers
                    if upstream_origin(target.upstream) == upstream_origin(targets[0].upstream)
                    else without_key(headers)
                )
                try:
                    response = await self._await_first_piece(target, path, written(target), other)
                except httpx2.HTTPError as error:
                    failure = error
                    attempts.note(target, error)
                    UPSTREAM.labels(target.upstream.name).inc()
                    log.warning("gateway.upstream.failed", upstream=target.upstream.name, kind=type(error).__name__)
                    continue
                if refusal is not None:
                    await refusal.aclose()
                    refusal = None
                if response.status_code not in _TRY_NEXT:
                    return response
                refusal = response
                attempts.note(target, response)
                UPSTREAM.labels(target.upstream.name).inc()
                log.warning("gateway.upstream.failed", upstream=target.upstream.name, status=response.status_code)
        except BaseException:  # the caller has gone: nothing stays open for them
            for one in (refusal, response):
                if one is not None:
                    await one.aclose()
            raise
        if refusal is not None:
            return refusal
        raise _no_answer(targets, failure) from failure

    async def _await_first_piece(
        self, target: Target, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> httpx2.Response:
        """Return the answer of one, whose first piece is there: a head that nothing follows is no answer."""
        response = await self._send(target, path, body, headers)
        if response.status_code == _OK:
            try:
                response.stream = await _PrefixedBody.of(response)
            except BaseException:
                await response.aclose()
                raise
        return response

    async def _send(
        self, target: Target, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> httpx2.Response:
        one = target.upstream
        sent = headers_for_upstream(one, headers)
        if body is not None:
            body = {**body, **({"model": target.model} if "model" in body else {})}
            sent["content-type"] = "application/json"
        request = self._client.build_request(
            "GET" if body is None else "POST",
            one.base_url + path,
            # in ASCII, and not by the client: half a character and NaN, which it refuses, go on as they came
            content=None if body is None else json.dumps(body, separators=(",", ":")).encode(),
            headers=sent,
            timeout=httpx2.Timeout(one.timeout, connect=one.connect_timeout),
        )
        return await self._client.send(request, stream=True)


class _PrefixedBody(httpx2.AsyncByteStream):
    """A body of which the first piece was taken out, and comes first again."""

    def __init__(self, piece: bytes, rest: AsyncIterator[bytes], full: httpx2.AsyncByteStream) -> None:
        self._piece, self._rest, self._source = piece, rest, full

    @classmethod
    async def of(cls, response: httpx2.Response) -> _PrefixedBody:
        """Wait for the first piece."""
        full = response.stream
        assert isinstance(full, httpx2.AsyncByteStream)  # noqa: S101 - it is asked for in this way
        rest = aiter(full)
        async for piece in rest:
            if piece:
                return cls(piece, rest, full)
        raise httpx2.RemoteProtocolError("the response is empty", request=response.request)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._piece
        async for piece in self._rest:
            yield piece

    async def aclose(self) -> None:
        """Let go of the connection."""
        if isinstance(self._rest, AsyncGenerator):
            await self._rest.aclose()
        await self._source.aclose()


class _Attempts:
    """Who is asked next, and when: the same upstream again only after a pause that grows.

    Whoever asks too often does not ask the same one again. A request that was not answered in time, here or behind a
    proxy of the service, may still be worked on, and be paid for: it is not sent to the same service twice.
    """

    def __init__(self, targets: list[Target], *, trial: bool, failed: bool) -> None:
        done = 1 if failed else 0
        self._left = [one for one in targets for _ in range(max(1, one.upstream.retries + 1 - done))]
        self._trial = trial
        self._failures = dict.fromkeys(targets, done)
        self._asked: dict[Target, float] = {}

    async def next(self) -> Target | None:
        """Return whom to ask now, after the pause that is due; None when everybody was asked often enough."""
        if not self._left:
            return None
        target = self._left.pop(0)
        if failures := self._failures[target]:
            asked = self._asked.get(target)
            await pause(retry_pause(failures - 1, base=_FIRST_PAUSE, asked=asked, most=_LONGEST_PAUSE))
        return target

    def note(self, target: Target, what: httpx2.HTTPError | httpx2.Response) -> None:
        """Take note of a failure or a refusal: it decides who may still be asked."""
        status = what.status_code if isinstance(what, httpx2.Response) else None
        self._failures[target] += 1
        self._asked[target] = (parse_retry_after(what.headers) or 0.0) if isinstance(what, httpx2.Response) else 0.0
        if status in _STILL_AT_WORK or isinstance(what, httpx2.ReadTimeout):
            self._left = [
                one for one in self._left if upstream_origin(one.upstream) != upstream_origin(target.upstream)
            ]
        elif status == _TOO_MANY or (status == _FAILED and self._trial) or self._asked[target] > _LONGEST_PAUSE:
            self._left = [one for one in self._left if one != target]


def _no_answer(targets: list[Target], failure: httpx2.HTTPError | None, *, begun: bool = False) -> BackendError:
    """Return what a caller is told when there is no answer, or not all of it."""
    names = ", ".join(target.upstream.name for target in targets)
    if isinstance(failure, httpx2.TimeoutException):
        return BackendTimeout(f"{names} did not answer in time", kind="upstream", name=names)
    how = "ended its response early" if begun else "cannot be reached"
    return BackendUnavailable(f"{names} {how}", kind="upstream", name=names)


def upstream_origin(upstream: UpstreamSettings) -> tuple[str, str]:
    """Return the service behind an address: nobody else gets what is meant for it."""
    parts = urlsplit(upstream.base_url)
    return parts.scheme, parts.netloc


def without_key(headers: Mapping[str, str]) -> dict[str, str]:
    """Return a key that a caller brought is for the first upstream: whoever stands in for it uses its own."""
    return {name: value for name, value in headers.items() if name.lower() != BROUGHT}


def headers_for_upstream(upstream: UpstreamSettings, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers to send: a short list, and the key of the upstream.

    That is its configured key, or the one the caller brought for it.
    """
    sent = {name: value for name, value in headers.items() if name.lower() in _OUTGOING}
    sent |= {"user-agent": "memstone", "accept-encoding": "identity"}  # pieces are to come as they are made
    brought = _SCHEME.sub("", headers.get(BROUGHT, "").strip(), count=1)
    key = brought or (upstream.api_key.get_secret_value() if upstream.api_key else "")
    if key and upstream.dialect == "anthropic":
        sent["x-api-key"] = key
        sent.setdefault("anthropic-version", "2023-06-01")
    elif key:
        sent["authorization"] = f"Bearer {key}"
    return sent


def headers_for_caller(response: httpx2.Response) -> dict[str, str]:
    """Return the headers of an answer that a caller gets to see."""
    output = {
        name: value
        for name, value in response.headers.items()
        if name.lower() in _RETURNED or name.lower().startswith(_LIMITS)
    }
    if upstream_id := response.headers.get("x-request-id"):
        output["x-upstream-request-id"] = upstream_id
    return output


# --- which models can be asked for here -------------------------------------------------------------------------------


_SECONDS: Final = 5.0


async def list_upstream_models(upstreams: Upstreams, headers: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the models of every upstream that answers soon, each once, under the name by which it is asked for.

    A key that a caller brought goes to the first upstream, as it does with a chat, and to nobody else. That none of
    them answers is an error: it does not mean that there are no models.
    """
    everyone = upstreams.all
    others = [
        headers if upstream_origin(one) == upstream_origin(everyone[0]) else without_key(headers) for one in everyone
    ]
    answers = await asyncio.gather(*(_fetch_models(upstreams, *each) for each in zip(everyone, others, strict=True)))
    if everyone and all(items is None for items in answers):
        names = ", ".join(one.name for one in everyone)
        raise BackendUnavailable(f"{names} did not list any models", kind="upstream", name=names)
    found = dict[str, dict[str, Any]]()
    for one, items in zip(everyone, answers, strict=True):
        for item in items or []:
            name = _public_model_name(upstreams, one, item.get("id"))
            if name:
                found.setdefault(name, {**item, "id": name})
    return list(found.values())


async def _fetch_models(
    upstreams: Upstreams, one: UpstreamSettings, headers: Mapping[str, str]
) -> list[dict[str, Any]] | None:
    """Return what an upstream lists, asked once and for a few seconds; None when it is silent or talks nonsense."""
    once = Target(one.model_copy(update={"retries": 0}), "")
    try:
        async with (
            asyncio.timeout(min(one.timeout, _SECONDS)),
            upstreams.request_first([once], "/models", lambda _: None, headers) as response,
        ):
            if response.status_code == _OK:
                return _parse_model_list(await response.aread())
            log.warning("gateway.models.missing", upstream=one.name, status=response.status_code)
            return None
    except (BackendError, httpx2.HTTPError, TimeoutError, ValueError, RecursionError) as error:
        log.warning("gateway.models.missing", upstream=one.name, kind=type(error).__name__)
        return None


def _parse_model_list(body: bytes) -> list[dict[str, Any]]:
    listing = json.loads(body)
    json.dumps(listing, ensure_ascii=False, allow_nan=False).encode()  # what cannot be written again is refused
    data = listing.get("data") if isinstance(listing, dict) else None
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []


def _public_model_name(upstreams: Upstreams, one: UpstreamSettings, listed_as: Any) -> str:
    """Return the name by which a model is asked for here; '' when a request for it would go elsewhere."""
    if not isinstance(listed_as, str):
        return ""
    names = [beginning + listed_as for beginning in one.models] if one.strip else [listed_as]
    return next((name for name in names if _is_routed_to(upstreams, one, name)), "")


def _is_routed_to(upstreams: Upstreams, one: UpstreamSettings, name: str) -> bool:
    try:
        return any(target.upstream is one for target in upstreams.targets(name))
    except InvalidInput:
        return False
