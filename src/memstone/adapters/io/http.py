"""Common parts of HTTP in both Ios: writing requests, reading answers, naming failures.

Errors name the host and nothing else of an address: a path or a query may hold an id or a key.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from memstone.backoff import parse_retry_after
from memstone.errors import (
    AuthenticationFailed,
    BackendRejected,
    BackendTimeout,
    BackendUnavailable,
    ConfigError,
    InvalidInput,
    MemstoneError,
    RateLimited,
)
from memstone.ports.io import HttpRequest, HttpResponse

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx2

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
MAX_STREAM_SECONDS: Final = 3600.0
MAX_LINE_BYTES: Final = 8 * 1024 * 1024
MAX_QUOTED_CHARS: Final = 300

_USUAL_HEADERS: Final = {"user-agent": "memstone", "accept": "*/*", "accept-encoding": "gzip, deflate"}
_SLOW_HINT: Final = "try again, or give this provider a longer timeout"
DOWN_HINT: Final = "check that the service is running and that its address is right"
_MALFORMED_HINT: Final = "look for stray characters in the address and the key"


def host_of(url: str) -> str:
    """Return the host of an address, without port, path or credentials; '' when there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def client_options() -> dict[str, Any]:
    """Return how a client is built, blocking or not."""
    import httpx2

    # A memory is asked every few seconds; the library's five would pay for a new handshake each time.
    limits = httpx2.Limits(max_connections=100, keepalive_expiry=30.0)
    trusted = _shared_ssl_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return {"follow_redirects": False, "limits": limits, "verify": trusted}


@cache
def _shared_ssl_context(_file: str | None, _folder: str | None) -> SSLContext:
    """Return whom a client trusts, read once a process: the certificates of the usual authorities take 20 ms."""
    import httpx2

    return httpx2.create_ssl_context()


def build_request(request: HttpRequest) -> httpx2.Request:
    """Return a request as the client sends it.

    The client's own ``stream`` would merge it with defaults and parse its address each time, which takes a fifth of
    the processor time of a small request. It would also send the cookies of earlier answers, which no provider needs.
    """
    import httpx2

    if not (host_of(request.url) and request.url.lower().startswith(("http://", "https://"))):
        raise ConfigError("the provider's address must start with http(s)://host", hint=_MALFORMED_HINT)
    headers = {**_USUAL_HEADERS, **request.headers}
    for name, value in headers.items():
        _check_header(name, value)
    content = None
    if isinstance(request.json, bytes):  # what is written already, such as the lines of an export
        headers.setdefault("content-type", "application/octet-stream")
        content = request.json
    elif request.json is not None:
        headers.setdefault("content-type", "application/json")
        content = _encode_json(request.json)
    timeout = dict.fromkeys(("connect", "read", "write", "pool"), request.timeout)
    return httpx2.Request(
        request.method, _parse_url(request.url), headers=headers, content=content, extensions={"timeout": timeout}
    )


@lru_cache(maxsize=256)
def _parse_url(url: str) -> httpx2.URL:
    import httpx2

    return httpx2.URL(url)


def _check_header(name: str, value: str) -> None:
    """Check a header before the client does.

    The client's own error would quote the value, and comes only after it has connected.
    """
    if not (value.isascii() and value.isprintable()):
        raise ConfigError(f"the header {name} contains a character that cannot be sent", hint=_MALFORMED_HINT)


def _encode_json(payload: Any) -> bytes:
    try:
        return json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair: has no UTF-8, but has a JSON escape
        return json.dumps(payload, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"the request cannot be written as JSON: {error}") from error


@contextmanager
def translate_http_errors(request: HttpRequest) -> Iterator[None]:
    """Turn failures of the HTTP client into Memstone's errors."""
    import httpx2

    host = host_of(request.url)
    try:
        yield
    except httpx2.TimeoutException as error:
        raise BackendTimeout(f"{host} did not answer in time", kind="http", name=host, hint=_SLOW_HINT) from error
    except (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
        # Not chained: these quote what we tried to send, which may be a key.
        problem = f"the request to {host or 'the provider'} is malformed ({type(error).__name__})"
        raise ConfigError(problem, hint=_MALFORMED_HINT) from None
    except httpx2.HTTPError as error:
        raise BackendUnavailable(f"no answer from {host}: {error}", kind="http", name=host, hint=DOWN_HINT) from error


class Body:
    """Collects an answer, up to a size and within a time.

    The client's own timeout is for each read; a server that drips would never meet it. One that was asked for pieces
    may drip for an hour.
    """

    def __init__(self, request: HttpRequest) -> None:
        self._host = host_of(request.url)
        self._deadline = time.monotonic() + (MAX_STREAM_SECONDS if request.in_pieces else request.timeout)
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> None:
        """Take the next piece."""
        self._size += len(part)
        self._parts.append(part)
        if self._size > MAX_BODY_BYTES:
            problem = f"the response from {self._host} is larger than {MAX_BODY_BYTES // 2**20} MB"
            raise BackendRejected(problem, kind="http", name=self._host)
        if time.monotonic() > self._deadline:
            problem = f"{self._host} did not finish its response in time"
            raise BackendTimeout(problem, kind="http", name=self._host, hint=_SLOW_HINT)

    def response(self, status: int, headers: Mapping[str, str]) -> HttpResponse:
        """Return the whole answer; the names of its headers are in lower case."""
        named = {name.lower(): value for name, value in headers.items()}
        return HttpResponse(status, named, b"".join(self._parts))


class Lines:
    """Cuts a byte stream into lines at line feeds only.

    ``str.splitlines`` and the client's own iterator also cut at U+2028 and its like, which may stand
    inside the JSON of an event.
    """

    def __init__(self, request: HttpRequest) -> None:
        self._host = host_of(request.url)
        self._rest = bytearray()

    def feed(self, part: bytes) -> list[str]:
        """Return the lines that are complete now."""
        *all_items, rest = part.split(b"\n")
        if all_items:
            all_items[0] = bytes(self._rest) + all_items[0]
            self._rest.clear()
        self._rest += rest  # in place: a line that comes in many parts is copied once
        if len(self._rest) > MAX_LINE_BYTES:
            raise BackendRejected(f"a line in the response from {self._host} is too long", kind="http", name=self._host)
        return [_decode_line(raw) for raw in all_items]

    def end(self) -> list[str]:
        """Return the last line, when it had no line feed."""
        return [_decode_line(bytes(self._rest))] if self._rest else []


def _decode_line(raw: bytes) -> str:
    return raw.removesuffix(b"\r").decode("utf-8", "replace")


def is_success(status: int) -> bool:
    """Return whether the answer is the one that was asked for."""
    return 200 <= status < 300  # noqa: PLR2004 - the class of a status is its first digit


def error_from_response(
    request: HttpRequest, response: HttpResponse, otherwise: Callable[[str], MemstoneError]
) -> MemstoneError:
    """Return the error for an answer that is not a success; ``otherwise`` makes the one for a wrong request."""
    host, status = host_of(request.url), response.status
    text = f"{host} answered {status}: {_quote_error_body(request, response.body)}".rstrip(": ")
    match status:
        case 401 | 403:  # the text may repeat a part of the key: only the machine-readable code is shown
            return AuthenticationFailed(f"{host} answered {status} {_error_code(response.body)}".rstrip())
        case 429:
            return RateLimited(text, retry_after=parse_retry_after(response.headers))
        case 408 | 504:
            return BackendTimeout(text, kind="http", name=host, hint=_SLOW_HINT)
        case _ if status >= 500:  # noqa: PLR2004 - as above
            down = BackendUnavailable(text, kind="http", name=host)
            down.retry_after = parse_retry_after(response.headers)
            return down
        case 301 | 302 | 303 | 307 | 308:
            return otherwise(f"{host} answered {status}: redirects are not followed, set the final address")
        case _:
            return otherwise(text)


def backend_rejected_factory(request: HttpRequest) -> Callable[[str], MemstoneError]:
    """Return the ``otherwise`` of a plain service."""
    return lambda message: BackendRejected(message, kind="http", name=host_of(request.url))


def _quote_error_body(request: HttpRequest, body: bytes) -> str:
    """Return what the server said, on one line, without our secrets, cut."""
    text = " ".join(_error_message(body).split())
    for secret in _header_secrets(request):
        text = text.replace(secret, "***")
    output = "".join(char for char in text if char.isprintable())
    return output if len(output) <= MAX_QUOTED_CHARS else output[: MAX_QUOTED_CHARS - 1] + "…"


def _header_secrets(request: HttpRequest) -> list[str]:
    named = [
        value for name, value in request.headers.items() if any(w in name.lower() for w in ("auth", "key", "token"))
    ]
    return [secret for value in named for secret in (value, value.rpartition(" ")[2]) if secret]


def _error_message(body: bytes) -> str:
    error = _error_object(body)
    if isinstance(error, dict):
        error = next((error[name] for name in ("message", "detail", "error") if name in error), None)
    return error if isinstance(error, str) else body.decode("utf-8", "replace")


def _error_code(body: bytes) -> str:
    error = _error_object(body)
    code = error.get("code") or error.get("type") if isinstance(error, dict) else None
    return f"({code})" if isinstance(code, str) and code.isidentifier() else ""


def _error_object(body: bytes) -> Any:
    """Unwrap ``{"error": ...}``, as most vendors send it."""
    try:
        answer = json.loads(body)
    except ValueError:  # not JSON, or not even text
        return None
    return answer.get("error", answer) if isinstance(answer, dict) else answer
