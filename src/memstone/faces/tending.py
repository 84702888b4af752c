"""Work over everything that is stored: new vectors, and secrets found late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstone.drive import drive
from memstone.engine.scoping import Progress
from memstone.faces.base import Face

if TYPE_CHECKING:
    from memstone.results import RedactResult, ReindexResult


class Tending(Face):
    """Work over everything that is stored: new vectors, and secrets found late."""

    def reindex(self, progress: Progress | None = None) -> ReindexResult:
        """Build the vectors of the configured embedder beside the old ones and switch when all are there.

        ``progress(done, total)`` is called as it goes.
        """
        return drive(self._engine.reindex(progress))

    def redact(self, progress: Progress | None = None, *, dry_run: bool = True) -> RedactResult:
        """Look for secrets in everything that is stored, and with ``dry_run=False`` mask them in place.

        For what was stored before, or under another ``extract.redact``. Every version, the history, the inbox and the
        indexes are covered; it is the one call that rewrites history, and a ``REDACT`` event says so. The answer counts
        what was found, by kind and by table, and never shows it.
        """
        return drive(self._engine.redact(progress, dry_run=dry_run))
