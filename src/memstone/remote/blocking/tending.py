"""Work over everything that is stored: new vectors, and secrets found late.

The part of ``Client``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memstone.drive import drive
from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.results import RedactResult, ReindexResult


class Tending(Remote):
    """Work over everything that is stored: new vectors, and secrets found late."""

    def reindex(self) -> ReindexResult:
        """Build the vectors of the configured embedder beside the old ones and switch when all are there."""
        given: dict[str, Any] = {}
        result: ReindexResult = drive(self._link.call("reindex", given))
        return result

    def redact(self, *, dry_run: bool = True) -> RedactResult:
        """Look for secrets in everything that is stored, and with ``dry_run=False`` mask them in place.

        For what was stored before, or under another ``extract.redact``. Every version, the history, the inbox and the
        indexes are covered; it is the one call that rewrites history, and a ``REDACT`` event says so. The answer counts
        what was found, by kind and by table, and never shows it.
        """
        given: dict[str, Any] = {"dry_run": dry_run}
        result: RedactResult = drive(self._link.call("redact", given))
        return result
