"""For consoles: pages with figures, a try of a search, what the engine is made of, and which backends it uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memstone.core.checks.filters import Filters
from memstone.drive import drive
from memstone.engine.search_request import SearchRequest
from memstone.faces.base import Face

if TYPE_CHECKING:
    from memstone.literals import CallerKind, SearchScope, Strategy
    from memstone.results import (
        BackendSettings,
        EngineInfo,
        MemoryPage,
        OldSummaryResult,
        RefreshResult,
        SearchPreview,
        SelfTest,
    )


class Previewing(Face):
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
        from memstone.engine import paging

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        request = paging.PageRequest(given, kind, q, limit, page, offset, filters, everybody)
        return drive(self._engine.run(paging.memory_page, request))

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
        from memstone.engine.recall import preview

        search = SearchRequest(query, user_id, agent_id, run_id, limit, strategy=strategy, scope=scope)
        return drive(self._engine.run(preview.retrieve_preview, preview.PreviewRequest(search, max_tokens)))

    def engine_status(self) -> EngineInfo:
        """Every channel and service of the engine: whether it is ``available``, and if not the ``reason``."""
        from memstone.engine import status

        return drive(self._engine.run(status.engine_status))

    def verify(self) -> SelfTest:
        """Create, list and delete an entry in one transaction that is taken back: ``working`` and ``latency_ms``."""
        from memstone.engine import status

        return drive(self._engine.run(status.verify_memory))

    def pending_vectors(self) -> int:
        """How many memories wait for a vector of the configured embedder."""
        from memstone.engine import status

        return drive(self._engine.run(status.pending_vectors))

    def refresh_vectors(self) -> RefreshResult:
        """Make every vector anew, in place, as when a model was changed under its old name."""
        from memstone.engine import status

        return drive(self._engine.run(status.refresh_vectors))

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
        from memstone.engine.upkeep import summarize

        wanted = {"everybody": everybody, "dry_run": dry_run}
        return drive(self._engine.run(summarize.summarize_old, {"user_id": user_id}, older_than_days, **wanted))

    def owner(self, key_id: str | None = None, *, own_key: str = "") -> str:
        """The user whose memories are meant by the id of a key: the one it is bound to, or the pool of the key.

        Nobody named is ``own_key``; what is not the id of a key is the id of a user.
        """
        from memstone.engine.access import admission

        return drive(self._engine.run(admission.resolve_owner, key_id, own_key))

    def backends(self) -> BackendSettings:
        """Which embedder, reranker and stores a service is to use; keys are shown by their last four characters."""
        from memstone.engine import backends

        return drive(self._engine.run(backends.get_backends))

    def set_backends(self, values: Mapping[str, Any]) -> BackendSettings:
        """Store which embedder, reranker and stores a service is to use from its next start.

        A key (``qdrantApiKey``, or ``apiKey`` of a backend) is kept apart and never shown again; '' takes it away, and
        it goes by itself when the address it was for changes: ``cleared`` names those.
        """
        from memstone.engine import backends

        return drive(self._engine.run(backends.set_backends, values))
