"""The way to a service: one request for each call, tried again where that is safe."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from memstone.backoff import MAX_WAIT_SECONDS, parse_retry_after, retry_pause
from memstone.engine.scoping import ExportLines
from memstone.errors import BackendError, BackendTimeout, BackendUnavailable, ConfigError, MemstoneError, StorageError
from memstone.model.context import Citation, ContextPack, Section
from memstone.model.context_gate import GateDecision, Route
from memstone.ports.io import HttpRequest, HttpResponse, Io
from memstone.registry import load_adapter
from memstone.remote.failures import failure, is_passing
from memstone.remote.verbs import VERBS
from memstone.remote.wire import plain, sent

if TYPE_CHECKING:
    from memstone.results import LoadResult

LONG_SECONDS: Final = 600.0
"""How long a call may take that has much to do."""

_FIRST_WAIT: Final = 0.25
_PAGE_CHARS: Final = 1_000_000
_SUCCESS: Final = 200
_BATCHES: Final = frozenset({"add_many", "update_many", "delete_many"})
_ALWAYS_SAFE: Final = frozenset({429, 503})
_NOT_SENT: Final = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})


class Link:
    """Speaks to one service with one key, which stands in no message and no ``repr``."""

    def __init__(self, io_name: str, base_url: str, key: str, *, timeout: float, max_retries: int) -> None:
        self.host: str
        self._base, self.host = _checked_address(base_url)
        self._key, self._timeout, self._retries = _checked_key(key), timeout, max_retries
        self._io: Io = load_adapter("io", io_name)()
        self._closed = False

    def __repr__(self) -> str:
        return f"<{self._base}>"

    async def call(self, verb: str, given: Mapping[str, Any]) -> Any:
        """What a method of ``Memory`` answers."""
        self._check_open()
        body = sent(verb, given)
        if verb in _BATCHES:  # so that a batch that is sent twice is carried out once
            body.setdefault("idempotency_key", secrets.token_hex(16))
        return await self._answer(f"/v1/verbs/{verb}", body, verb)

    async def context(self, given: Mapping[str, Any]) -> ContextPack:
        """The answer of ``context`` as the library gives it."""
        return _pack(await self.call("context", given))

    async def reset(self) -> None:
        """Remove everything of the tenant, which the service wants to be named."""
        tenant = (await self._answer("/v1/me", None, "get"))["tenant_id"]
        await self._answer("/v1/reset", {"confirm": tenant}, "reset")

    async def load(self, records: ExportLines) -> LoadResult:
        """Put an export back, piece by piece: each is a request of its own, with the header of the whole."""
        self._check_open()
        lines = _each(records)
        header = await anext(lines, None)
        counts: LoadResult = {"memories": 0, "events": 0, "deletions": 0, "waiting": 0, "already_there": 0}
        async for page in _pages(lines):
            body = {"records": [] if header is None else [header, *page]}
            done: LoadResult = await self.call("load", body)
            counts["memories"] += done["memories"]
            counts["events"] += done["events"]
            counts["deletions"] += done["deletions"]
            counts["waiting"] += done["waiting"]
            counts["already_there"] += done["already_there"]
        return counts

    async def export(self, given: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """The lines of an export, as they come."""
        self._check_open()
        request = self._request("/v1/verbs/export", sent("export", given), LONG_SECONDS)
        began = False
        try:
            async for line in self._io.http_lines(request):
                began = True
                yield json.loads(line)
        except MemstoneError:
            if began or self._closed:
                raise
            response = await self._io.http(request)  # again, to read what is wrong in full
            if response.status != _SUCCESS:
                raise failure(response, self.host, self._key) from None
            raise

    async def close(self) -> None:
        """Give the connections back; whoever asks afterwards is told, as by a memory that is closed."""
        self._closed = True
        await self._io.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("this client is closed", hint="make a new one")

    async def _answer(self, path: str, body: Any, verb: str) -> Any:
        call = VERBS[verb]
        request = self._request(path, body, max(self._timeout, LONG_SECONDS) if call.long else self._timeout)
        response = await self._sent(request, repeatable=call.repeatable)
        if response.status != _SUCCESS:
            raise failure(response, self.host, self._key)
        try:
            return json.loads(response.body)
        except ValueError as error:
            raise BackendError(f"{self.host} did not answer with JSON", kind="http", name=self.host) from error

    def _request(self, path: str, body: Any, timeout: float) -> HttpRequest:
        headers = {"authorization": f"Bearer {self._key}", "accept": "application/json, application/x-ndjson"}
        method = "GET" if body is None else "POST"
        return HttpRequest(method, f"{self._base}{path}", body, headers, timeout)

    async def _sent(self, request: HttpRequest, *, repeatable: bool) -> HttpResponse:
        """Return an answer, after as many tries as are safe and allowed."""
        for attempt in range(self._retries + 1):
            self._check_open()  # it may have been closed during a pause
            asked, is_last = 0.0, attempt == self._retries
            try:
                response = await self._io.http(request)
            except (BackendUnavailable, BackendTimeout) as error:
                if is_last or not (repeatable or type(error.__cause__).__name__ in _NOT_SENT):
                    raise
            else:
                asked = parse_retry_after(response.headers) or 0.0
                safe = repeatable or response.status in _ALWAYS_SAFE
                if is_last or asked > MAX_WAIT_SECONDS or not (safe and is_passing(response)):
                    return response
            await self._io.sleep(retry_pause(attempt, base=_FIRST_WAIT, asked=asked))
        raise AssertionError  # pragma: no cover - the last try returns or raises


def _checked_address(base_url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(base_url)
        host = parts.hostname
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.query or parts.fragment:
        raise ConfigError("the address of a service must be http(s)://host, without a user and a query")
    return base_url.rstrip("/"), host


def _checked_key(key: str) -> str:
    if not isinstance(key, str) or not (key.isascii() and key.isprintable()):
        raise ConfigError("the key holds a character that cannot be sent", hint="`memstone keys create` makes one")
    return key


async def _each(records: ExportLines) -> AsyncIterator[Mapping[str, Any]]:
    """Lines one by one, whether they are there or come over a loop."""
    if isinstance(records, AsyncIterable):
        async for record in records:
            yield record
    else:
        for record in records:
            yield record


async def _pages(lines: AsyncIterator[Mapping[str, Any]]) -> AsyncIterator[list[Any]]:
    """Lines in pieces that a service takes at once; one piece, though empty, when there are none."""
    page, size, any_sent = list[Any](), 0, False
    async for line in lines:
        record = plain(line, "records")
        length = len(json.dumps(record))
        if page and size + length > _PAGE_CHARS:
            yield page
            page, size, any_sent = [], 0, True
        page.append(record)
        size += length
    if page or not any_sent:
        yield page


def _pack(body: Mapping[str, Any]) -> ContextPack:
    values = {name: body[name] for name in ("text", "stable", "volatile", "tokens", "budget", "receipt_id")}
    return ContextPack(
        **values,
        sections=tuple(Section(one["name"], one["heading"], tuple(one["lines"])) for one in body["sections"]),
        citations=tuple(Citation(**one) for one in body["citations"]),
        gate=GateDecision(**{**body["gate"], "route": Route(body["gate"]["route"])}),
        degraded=tuple(body["degraded"]),
        warnings=tuple(body["warnings"]),
    )
