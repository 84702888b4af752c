"""What a management view shows.

The part of ``AsyncClient``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.literals import ScopeKind
    from memstone.results import DashboardResult, ScopeList, TranscriptPage


class Managing(Remote):
    """What a management view shows."""

    async def dashboard(
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
        given: dict[str, Any] = {
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "everybody": everybody,
            "limit": limit,
        }
        result: DashboardResult = await self._link.call("dashboard", given)
        return result

    async def scopes(self, kind: ScopeKind = "user", *, limit: int = 100, offset: int = 0) -> ScopeList:
        """The users there are (or with ``kind`` the ``agent`` or ``run`` ids), those with the most memories first.

        Returns ``{"kind", "results": [{"id", "memories", "last_at"}]}``.
        """
        given: dict[str, Any] = {"kind": kind, "limit": limit, "offset": offset}
        result: ScopeList = await self._link.call("scopes", given)
        return result

    async def transcript(
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
        given: dict[str, Any] = {
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "limit": limit,
            "offset": offset,
        }
        result: TranscriptPage = await self._link.call("transcript", given)
        return result
