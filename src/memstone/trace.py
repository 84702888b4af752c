"""Logging of the library: quiet unless the application asks, and never the content of a memory at INFO or above."""

from __future__ import annotations

import logging
from typing import Final

log: Final = logging.getLogger("memstone")
log.addHandler(logging.NullHandler())
