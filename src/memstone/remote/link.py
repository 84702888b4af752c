"""Send the requests of a client, and repeat those that are safe to repeat."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from datetime import date
from http import HTTPStatus
from string import Formatter
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit
from uuid import UUID

from memstone.backoff import MAX_WAIT_SECONDS, parse_retry_after, retry_pause
from memstone.core.talk.messages import as_mapping
from memstone.engine.request_scope import ExportLines
from memstone.engine.store.revise import UNSET
from memstone.errors import (
    BackendError,
    BackendTimeout,
    BackendUnavailable,
    ConfigError,
    InvalidInput,
    MemstoneError,
    StorageError,
)
from memstone.model.context import Citation, ContextPack, ContextSection
from memstone.model.context_gate import GateDecision
from memstone.model.context_gate import Route as GateRoute
from memstone.model.instant import parse_when
from memstone.model.query import And, Condition, Not, Or
from memstone.ports.io import HttpRequest, HttpResponse, Io
from memstone.registry import load_adapter
from memstone.remote.failures import failure, is_passing, problem_of
from memstone.remote.routes import ROUTES, VerbRoute

LONG_SECONDS: Final = 600.0
"""How long a call may take that has much to do."""

_FIRST_WAIT: Final = 0.25
_PAGE_CHARS: Final = 1_000_000
_BATCHES: Final = frozenset({"add_many", "update_many", "delete_many"})
_BATCH_PATH: Final = ROUTES["delete_many"].path
_WHO: Final = VerbRoute("GET", "/v1/me", repeatable=True)
_ALWAYS_SAFE: Final = frozenset({429, 503})
_NOT_SENT: Final = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})


class ServiceConnection:
    """Speaks to one service with one key, which is in no message and no ``repr``."""

    def __init__(self, io_name: str, base_url: str, key: str, *, timeout: float, max_retries: int) -> None:
        self.host: str
        self._base, self.host = _checked_address(base_url)
        self._key, self._timeout, self._retries = _checked_key(key), timeout, max_retries
        self._io: Io = load_adapter("io", io_name)()
        self._closed = False

    def __repr__(self) -> str:
        return f"<{self._base}>"

    async def call(self, verb: str, arguments: Mapping[str, Any]) -> Any:
        """Ask for a verb; return what the method of ``Memory`` returns."""
        self._check_open()
        route, values = ROUTES[verb], encode_arguments(verb, arguments)
        headers = {}
        if verb in _BATCHES:  # so that a batch that is sent twice is carried out once
            headers["idempotency-key"] = values.pop("idempotency_key", None) or secrets.token_hex(16)
        return await self._answer(route, *address_of(route, values), headers=headers)

    async def context(self, values: Mapping[str, Any]) -> ContextPack:
        """Ask for a context; return it as the library does."""
        return _pack(await self.call("context", values))

    async def reset(self) -> None:
        """Remove everything of the tenant, which the service wants to be named."""
        self._check_open()
        tenant = (await self._answer(_WHO, _WHO.path, None))["tenant_id"]
        await self._answer(ROUTES["reset"], ROUTES["reset"].path, {"confirm": tenant})

    async def load(self, records: ExportLines) -> dict[str, int]:
        """Put an export back, piece by piece: each is a request of its own, with the header of the whole."""
        self._check_open()
        lines, route = _each(records), ROUTES["load"]
        header, counts = await anext(lines, None), dict[str, int]()
        async for page in _pages(lines):
            page_lines = [] if header is None else [plain_value(header, "records"), *page]
            body = b"".join(json.dumps(line).encode() + b"\n" for line in page_lines)
            for name, count in (await self._answer(route, route.path, body)).items():
                counts[name] = counts.get(name, 0) + count
        return counts

    async def export(self, values: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the lines of an export, as they come."""
        self._check_open()
        request = self._request(
            "GET", address_of(ROUTES["export"], encode_arguments("export", values))[0], None, LONG_SECONDS
        )
        began = False
        try:
            async for line in self._io.http_lines(request):
                began = True
                yield json.loads(line)
        except MemstoneError:
            if began or self._closed:
                raise
            response = await self._io.http(request)  # again, to read what is wrong in full
            if not _is_success(response):
                raise failure(response, self.host, self._key) from None
            raise

    async def close(self) -> None:
        """Give the connections back; the caller afterwards is told, as by a memory that is closed."""
        self._closed = True
        await self._io.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("this client is closed", hint="create a new one")

    async def _answer(self, route: VerbRoute, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Any:
        timeout = max(self._timeout, LONG_SECONDS) if route.long else self._timeout
        response = await self._send_with_retries(
            self._request(route.method, path, body, timeout, headers), repeatable=route.repeatable
        )
        if route.none_if_missing and response.status == HTTPStatus.NOT_FOUND and problem_of(response):
            return None
        if not _is_success(response):
            raise failure(response, self.host, self._key)
        try:
            answer = json.loads(response.body)
        except ValueError as error:
            raise BackendError(f"{self.host} did not return JSON", kind="http", name=self.host) from error
        return answer[route.field] if route.field else answer

    def _request(
        self, method: str, path: str, body: Any, timeout: float, more: Mapping[str, str] | None = None
    ) -> HttpRequest:
        headers = {"authorization": f"Bearer {self._key}", "accept": "application/json, application/x-ndjson"}
        return HttpRequest(method, f"{self._base}{path}", body, {**headers, **(more or {})}, timeout)

    async def _send_with_retries(self, request: HttpRequest, *, repeatable: bool) -> HttpResponse:
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


def address_of(route: VerbRoute, values: dict[str, Any]) -> tuple[str, Any]:
    """Return the path of a call, with its query, and its body: None where there is none."""
    rest = dict(values)
    names = [name for _, name, _, _ in Formatter().parse(route.path) if name]
    path = route.path.format(**{name: quote(str(rest.pop(name)), safe="") for name in names})
    in_query = set(rest) if route.method in ("GET", "DELETE") and route.path != _BATCH_PATH else set(route.query)
    query = [(name, value) for name in rest if name in in_query for value in _query_values(rest[name])]
    path = f"{path}?{urlencode(query)}" if query else path
    body = {name: value for name, value in rest.items() if name not in in_query}
    if route.body:
        return path, body[route.body]
    return path, None if route.method == "GET" or (route.method == "DELETE" and not body) else body


def _query_values(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(one) for one in value]
    return [str(value).lower() if isinstance(value, bool) else str(value)]


def _is_success(response: HttpResponse) -> bool:
    return HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES


def _checked_address(base_url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(base_url)
        host = parts.hostname
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.query or parts.fragment:
        raise ConfigError("the address of the service must be http(s)://host, without a user or a query")
    return base_url.rstrip("/"), host


def _checked_key(key: str) -> str:
    if not isinstance(key, str) or not (key.isascii() and key.isprintable()):
        raise ConfigError(
            "the key contains a character that cannot be sent", hint="create a key with `memstone keys create`"
        )
    return key


async def _each(records: ExportLines) -> AsyncIterator[Mapping[str, Any]]:
    """Yield lines one by one, whether they are there or come over a loop."""
    if isinstance(records, AsyncIterable):
        async for record in records:
            yield record
    else:
        for record in records:
            yield record


async def _pages(lines: AsyncIterator[Mapping[str, Any]]) -> AsyncIterator[list[Any]]:
    """Yield lines in pieces that a service takes at once; one piece, though empty, when there are none."""
    page, size, any_sent = list[Any](), 0, False
    async for line in lines:
        record = plain_value(line, "records")
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
        sections=tuple(ContextSection(one["name"], one["heading"], tuple(one["lines"])) for one in body["sections"]),
        citations=tuple(Citation(**one) for one in body["citations"]),
        gate=GateDecision(**{**body["gate"], "route": GateRoute(body["gate"]["route"])}),
        degraded=tuple(body["degraded"]),
        warnings=tuple(body["warnings"]),
    )


# --- the arguments of a call, as JSON ---------------------------------------------------------------------------------


_NONE_SAYS_SOMETHING: Final = {"update": ("key", "expires_at"), "identity.set_narrative": ("text",)}
"""Where ``None`` means "take it away" and not "not given"."""

_IDS: Final = frozenset({"user_id", "agent_id", "run_id", "project_id"})
"""What is text in a store, whatever it is for a caller."""

_MESSAGES: Final = ("messages", "turns")
"""What may hold objects that are messages."""


def encode_arguments(verb: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call that say something, ready to be sent; the service knows the same defaults."""
    clears = _NONE_SAYS_SOMETHING.get(verb, ())
    texts = {
        name: value for name, value in values.items() if value is not UNSET and (value is not None or name in clears)
    }
    return {name: str(value) if name in _IDS else plain_value(value, name) for name, value in texts.items()}


def plain_value(value: Any, name: str) -> Any:
    """Return a value as JSON holds it: dates as text, anything that can be gone through as a list."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, date):
        return parse_when(value, name)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain_value(one, key if key in _MESSAGES else name) for key, one in value.items()}
    if name in _MESSAGES and not isinstance(value, Sequence) and (message := as_mapping(value)) is not None:
        return plain_value(message, name)
    if isinstance(value, (And, Or, Not, Condition)):
        raise InvalidInput(
            f"{name} cannot be sent as {type(value).__name__}", hint="convert it to a dictionary of JSON values"
        )
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [plain_value(as_mapping(one) or one if name in _MESSAGES else one, name) for one in value]
    raise InvalidInput(f"{name} contains {type(value).__name__}, which is not valid in JSON")
