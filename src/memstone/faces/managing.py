"""What a management view shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstone.drive import drive
from memstone.faces.base import Face

if TYPE_CHECKING:
    from memstone.literals import ScopeKind
    from memstone.results import DashboardResult, ScopeList, TranscriptPage


class Managing(Face):
    """What a management view shows."""

    def dashboard(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
        limit: int = 20,
    ) -> DashboardResult:
        """Everything a management view begins with, of a scope or with ``everybody`` of all.

        ``counts`` by layer and the ``last_consolidation``; of a scope also its ``identity``, the weightiest ``facts``
        and the newest ``episodes``; of all, ``processing`` (calls, success rate, average time, tokens, by task), what
        is ``waiting``, and the ``agents`` with their counts.
        """
        from memstone.engine import management

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self._engine.run(management.build_dashboard, given, limit, everybody=everybody))

    def scopes(self, kind: ScopeKind = "user", *, limit: int = 100, offset: int = 0) -> ScopeList:
        """The users there are (or with ``kind`` the ``agent`` or ``run`` ids), those with the most memories first.

        Returns ``{"kind", "results": [{"id", "memories", "last_at"}]}``.
        """
        from memstone.engine import management

        return drive(self._engine.run(management.list_scopes, kind, limit, offset))

    def transcript(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> TranscriptPage:
        """What was said in a scope, in order, as it was said.

        Returns ``{"results": [{"id", "index", "role", "content", "token_count", "occurred_at", ...}], "total": n}``.
        """
        from memstone.engine import management

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self._engine.run(management.read_transcript, given, limit, offset))
