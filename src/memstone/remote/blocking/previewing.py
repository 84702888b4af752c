"""For consoles: pages with figures, a try of a search, what the engine is made of, and which backends it uses.

The part of ``Client``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memstone.core.checks.filters import Filters
from memstone.drive import drive
from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.literals import CallerKind, SearchScope, Strategy
    from memstone.results import EngineInfo, MemoryPage, OldSummaryResult, RefreshResult, SearchPreview, SelfTest


class Previewing(Remote):
    """For consoles: pages with figures, a try of a search, what the engine is made of, and which backends it uses."""

    def memory_page(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
        kind: CallerKind | None = None,
        q: str | None = None,
        filters: Filters | None = None,
        limit: int = 50,
        page: int | None = None,
        offset: int | None = None,
    ) -> MemoryPage:
        """A page of memories of a scope, or with ``everybody`` of all, most recently written first.

        ``stats`` holds figures about all that match, on whichever page.

        They are ``total``, ``by_kind``, the ``tokens`` of all texts, the ``hit_rate`` (the share of shown memories that
        answers used, None as long as nobody recorded an answer) and the ``cache`` of vectors with its hits and misses.
        """
        given: dict[str, Any] = {
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "everybody": everybody,
            "kind": kind,
            "q": q,
            "filters": filters,
            "limit": limit,
            "page": page,
            "offset": offset,
        }
        result: MemoryPage = drive(self._link.call("memory_page", given))
        return result

    def retrieve_preview(
        self,
        query: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        strategy: Strategy | None = None,
        limit: int = 20,
        max_tokens: int | None = None,
        scope: SearchScope | None = None,
    ) -> SearchPreview:
        """Try a search: the hits that fit into ``max_tokens``, and why each is there. Nothing counts as used.

        ``block`` is what a chat with this message would be given, to the line, and ``injected`` says of each item
        whether it is in it. Without ``max_tokens`` the configured budget holds; where that is 0 nothing fits.

        Each item says its ``tier`` (``hybrid``, ``vector``, ``keyword`` or ``recent``), its ``tokens``, ``vec_score``
        and ``fts_score``; ``resolution`` how it was looked for in the end, ``totals`` how much was found and fits.
        """
        given: dict[str, Any] = {
            "query": query,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "strategy": strategy,
            "limit": limit,
            "max_tokens": max_tokens,
            "scope": scope,
        }
        result: SearchPreview = drive(self._link.call("retrieve_preview", given))
        return result

    def engine_status(self) -> EngineInfo:
        """Every channel and service of the engine: whether it is ``available``, and if not the ``reason``."""
        given: dict[str, Any] = {}
        result: EngineInfo = drive(self._link.call("engine_status", given))
        return result

    def verify(self) -> SelfTest:
        """Create, list and delete an entry in one transaction that is taken back: ``working`` and ``latency_ms``."""
        given: dict[str, Any] = {}
        result: SelfTest = drive(self._link.call("verify", given))
        return result

    def pending_vectors(self) -> int:
        """How many memories wait for a vector of the configured embedder."""
        given: dict[str, Any] = {}
        result: int = drive(self._link.call("pending_vectors", given))
        return result

    def refresh_vectors(self) -> RefreshResult:
        """Make every vector anew, in place, as when a model was changed under its old name."""
        given: dict[str, Any] = {}
        result: RefreshResult = drive(self._link.call("refresh_vectors", given))
        return result

    def summarize_old(
        self,
        older_than_days: float = 30,
        *,
        user_id: str | int | None = None,
        everybody: bool = False,
        dry_run: bool = False,
    ) -> OldSummaryResult:
        """Shorten what is older to its first three sentences, of a user or with ``everybody`` of all.

        See ``summarize``.
        """
        given: dict[str, Any] = {
            "older_than_days": older_than_days,
            "user_id": user_id,
            "everybody": everybody,
            "dry_run": dry_run,
        }
        result: OldSummaryResult = drive(self._link.call("summarize_old", given))
        return result
