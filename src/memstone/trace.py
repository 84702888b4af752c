"""Logging of the library: silent by default, and without content of memories at INFO or above.

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
