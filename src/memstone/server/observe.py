"""The log of a service: named events with the request's id, never what people said."""

from __future__ import annotations

import logging
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from contextvars import Context
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Any, Final, NoReturn

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memstone.core.redact import redact_preview, redact_text
from memstone.errors import MemstoneError
from memstone.server import metrics
from memstone.server.metrics import Journal, RequestRecord

log: Final[Any] = structlog.get_logger("memstone.server")

# What `logging` puts on every record; the rest of a record is what was said about the event.
_USUAL: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "event"}
_OUR_KEYS: Final = re.compile(
    r"\b(?:rt_[0-9a-f]{4,}_[A-Za-z0-9_-]+|rr_(?:[A-Za-z0-9_]|-(?!r[rt]_))++\.[A-Za-z0-9._-]+)"
)
_MASKED: Final = "[redacted:api_key]"
# Names of events and routes, and ids, of which every line has several: no rule finds a secret in a few small letters.
_NAME: Final = re.compile(r"[a-z][a-z_./{}]{0,39}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FORMAL: Final = frozenset({"timestamp", "level", "trace"})
_LOGGER: Final = logging.getLogger("memstone.server")
_FORWARDED: Final = ("memstone", "uvicorn", "uvicorn.error", "asyncio", "mcp", "psycopg")
_FAILED: Final = 500
_UNMATCHED: Final = "unmatched"
_MCP: Final = frozenset({"/mcp", "/mcp/sse", "/mcp/messages"})
_USUAL_LEVELS: Final = frozenset({"debug", "info"})
_SUM: Final = "log.repeated"
_KIND: Final = ("code", "kind", "method", "reason", "route", "status", "task", "upstream")
_KINDS: Final = 1_000
_KIND_CHARS: Final = 200
_DIGITS: Final = re.compile(r"[0-9]+")


class _Stderr:
    """Standard error as it is when a line is written: somebody may have put another in its place."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


_STDERR: Final[Any] = _Stderr()


def configure_logging(style: str, level: int = logging.INFO) -> Repeats:
    """Write log lines for people (``console``) or for machines (``json``), one a line, to standard error.

    What it gives sums up lines that come too often; ask it now and then for its sums, for a log that falls silent.
    """
    repeats = Repeats()
    last: Any = structlog.processors.JSONRenderer() if style == "json" else structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            repeats,
            structlog.contextvars.merge_contextvars,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _add_trace,
            _without_secrets,
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(_STDERR),
        cache_logger_on_first_use=False,
    )
    for name in _FORWARDED:
        _forward_logger(logging.getLogger(name), level)
    return repeats


class Repeats:
    """Writes the first lines of a kind in a minute, counts the others, and then writes how many there were.

    Kinds are warnings and errors, and requests of which nobody knows who sent them: what somebody without a key can
    bring about, they can bring about as often as they like. Lines that differ only in their numbers are of one kind.
    """

    def __init__(self, most: int = 20, seconds: float = 60.0, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._seconds, self._now = most, seconds, now
        self._kinds: dict[tuple[str, ...], _RepeatedLine] = {}  # the oldest is first
        self._lock = Lock()

    def __call__(self, _: Any, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Let a line pass, or drop it."""
        self.write_sums()
        kind = _kind_of(line)
        if kind is not None and self._count(kind, line) > self._most:
            raise structlog.DropEvent
        return line

    def _count(self, kind: tuple[str, ...], line: Mapping[str, Any]) -> int:
        with self._lock:
            found = self._kinds.get(kind)
            if found is None:
                details = {name: line[name] for name in _KIND if name in line}
                found = _RepeatedLine(self._now() + self._seconds, line.get("event"), line["level"], details)
                self._kinds[kind] = found
            found.times += 1
            return found.times

    def write_sums(self, *, at_once: bool = False) -> None:
        """Write how many lines were left out of every kind whose minute is over; ``at_once`` does not wait for it."""
        for one in self._take_due(at_once=at_once):
            if one.times > self._most:
                # Not as a line of the request that happens to be answered now.
                Context().run(self._write_sum, one)

    def _write_sum(self, one: _RepeatedLine) -> None:
        times, seconds = one.times - self._most, self._seconds
        if one.level in _USUAL_LEVELS:  # requests: that many are asked every minute is nothing to be warned of
            log.info("log.repeated", repeated=one.event, about=one.details, times=times, seconds=seconds)
        else:
            log.warning("log.repeated", repeated=one.event, about=one.details, times=times, seconds=seconds)

    def _take_due(self, *, at_once: bool) -> list[_RepeatedLine]:
        now = self._now()
        with self._lock:
            due = [kind for kind, one in self._kinds.items() if one.until <= now] if self._is_due(now) else []
            if at_once or len(self._kinds) > _KINDS:
                due = list(self._kinds)
            return [self._kinds.pop(kind) for kind in due]

    def _is_due(self, now: float) -> bool:
        return bool(self._kinds) and next(iter(self._kinds.values())).until <= now


@dataclass(slots=True)
class _RepeatedLine:
    """How often there was a line of one kind, until when it is counted, and what all of them say."""

    until: float
    event: Any
    level: str
    details: dict[str, Any]
    times: int = 0


def _kind_of(line: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return what lines have in common that are counted together; None for a line that is always written."""
    event, level = str(line.get("event")), line["level"]
    is_nobodys = event == "request" and line.get("key") is None
    if event == _SUM or (level in _USUAL_LEVELS and not is_nobodys):
        return None
    reason = str(line.get("reason", ""))[:_KIND_CHARS]
    error = _error_of(line.get("exc_info"))
    named = (str(line.get(name, "")) for name in _KIND if name != "reason")
    return (_DIGITS.sub("0", f"{event[:_KIND_CHARS]}\n{reason}"), level, type(error).__name__, *named)


def speak_softly() -> None:
    """Leave it to the logging of the application what is written, where nobody has configured this log."""
    if not structlog.is_configured():
        structlog.configure(
            processors=[
                structlog.processors.add_log_level,
                _drop_if_disabled,
                structlog.contextvars.merge_contextvars,
                _add_trace,
                _without_secrets,
                _handed_over,
            ],
            cache_logger_on_first_use=False,
        )


def _drop_if_disabled(_: Any, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Make nothing of a line that nobody listens to."""
    if not _LOGGER.isEnabledFor(_level_of(line)):
        raise structlog.DropEvent
    return line


def _level_of(line: Mapping[str, Any]) -> int:
    level: int = getattr(logging, line["level"].upper(), logging.ERROR)
    return level


def _handed_over(_: Any, __: str, line: MutableMapping[str, Any]) -> NoReturn:
    event = str(line.get("event"))
    fields = {name: value for name, value in line.items() if name not in _USUAL}
    _LOGGER.log(_level_of(line), event, extra={**fields, "event": event})
    raise structlog.DropEvent


def _forward_logger(logger: logging.Logger, level: int) -> None:
    """Let a logger speak through this log only: what bypassed it would not be looked through for secrets."""
    logger.setLevel(level if logger.name == "memstone" else max(level, logging.WARNING))
    logger.handlers = [one for one in logger.handlers if not isinstance(one, _Forward)] + [_Forward()]
    logger.propagate = False


class _Forward(logging.Handler):
    """Takes what others log along, with its details as fields."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say it again, in this log's way."""
        fields = {name: value for name, value in record.__dict__.items() if name not in _USUAL}
        if record.exc_info:
            fields["exc_info"] = record.exc_info
        log.log(record.levelno, record.getMessage(), **fields)


def _add_trace(_: Any, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add where something went wrong and of what kind it is.

    Its message may hold what somebody said, and is left out.
    """
    error = _error_of(line.pop("exc_info", None))
    if error is not None:
        line["error"] = error.code if isinstance(error, MemstoneError) else type(error).__name__
        line["trace"] = _format_frames(error.__traceback__)
    return line


def _error_of(value: Any) -> BaseException | None:
    if isinstance(value, tuple):
        value = value[1]
    elif value is True:
        value = sys.exc_info()[1]
    return value if isinstance(value, BaseException) else None


def _format_frames(trace: TracebackType | None) -> list[str]:
    return [f"{one.filename}:{one.lineno} {one.name}" for one in traceback.extract_tb(trace)]


def _without_secrets(_: Any, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Return the last thing that happens to every line."""
    for name, value in line.items():
        if name not in _FORMAL:
            line[name] = redact_value(value)
    return line


def redact_value(value: Any) -> Any:
    """Return a value without secrets, addresses and numbers of people, however deep they are in it."""
    if isinstance(value, str):
        return value if _NAME.fullmatch(value) else redact_preview(_OUR_KEYS.sub(_MASKED, value))
    if isinstance(value, Mapping):
        return {redact_value(str(name)): redact_value(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [redact_value(one) for one in value]
    return value if value is None or isinstance(value, (bool, int, float)) else redact_value(str(value))


def mask_secrets(text: str) -> str:
    """Mask keys and card numbers in a text for the caller it is about."""
    return redact_text(_OUR_KEYS.sub(_MASKED, text)).text


class Watcher:
    """Logs, counts and notes every request: its route as it is declared, never its path, its query or its body."""

    def __init__(self, app: ASGIApp, journal: Journal) -> None:
        self._app, self._journal = app, journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and tell how it was answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), _FAILED

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with metrics.RUNNING.track_inprogress():
            try:
                await self._app(scope, receive, send_and_note_status)
            finally:
                self._tell(scope, status, time.perf_counter() - began)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        route, ms = route_of(scope), round(seconds * 1_000, 3)
        method = scope["method"] if scope["method"] in metrics.METHODS else "OTHER"
        metrics.REQUESTS.labels(method, route, str(status)).observe(seconds)
        state = scope.get("state", {})
        key = state["caller"].key if "caller" in state else None
        log.info("request", method=method, route=route, status=status, ms=ms, key=key.id if key is not None else None)
        if key is not None:  # what is nobody's, nobody's administrator is shown
            lines = (method, route, status, ms, state.get("request_id", ""))
            self._journal.note(RequestRecord(time.time(), key.tenant_id, key.id, *lines))


def route_of(scope: Scope) -> str:
    """Return the route of a request as it is declared.

    What is asked for besides is one thing, however it is spelled.
    """
    route = scope.get("route")
    path = getattr(route, "path_format", getattr(route, "path", None))
    if isinstance(path, str):
        return path
    return scope["path"] if scope["path"] in _MCP else _UNMATCHED
