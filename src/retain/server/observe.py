"""What a service says about itself: a log of named events with the request's id, and never what people said."""

from __future__ import annotations

import logging
import sys
from typing import Any, Final

import structlog

log: Final[Any] = structlog.get_logger("retain.server")

# What `logging` puts on every record; the rest of a record is what was said about the event.
_USUAL: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "event"}


def configure(style: str, level: int = logging.INFO) -> None:
    """Write log lines for people (``console``) or for machines (``json``), one a line, to standard error."""
    last: Any = structlog.processors.JSONRenderer() if style == "json" else structlog.dev.ConsoleRenderer(colors=False)
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    library = logging.getLogger("retain")
    library.setLevel(level)
    library.handlers = [one for one in library.handlers if not isinstance(one, _Forward)] + [_Forward()]


class _Forward(logging.Handler):
    """Takes what the engine logs along, with its details as fields."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say it again, in this log's way."""
        fields = {name: value for name, value in record.__dict__.items() if name not in _USUAL}
        log.log(record.levelno, record.getMessage(), **fields)
