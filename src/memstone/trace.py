"""Logging of the library: quiet unless the application asks, and never the content of a memory at INFO or above.

What happens is told by named events; ``docs/reference/events.md`` lists them all, with their fields.
"""

from __future__ import annotations

import logging
from typing import Final

log: Final = logging.getLogger("memstone")
log.addHandler(logging.NullHandler())


def log_event(name: str, /, level: int = logging.INFO, logger: logging.Logger = log, **fields: object) -> None:
    """Log an event under its name; the fields stand on the record, and ``event`` repeats the name."""
    logger.log(level, name, extra={"event": name, **fields})
