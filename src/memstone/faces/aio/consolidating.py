"""How memory is kept small: consolidation, summaries and sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstone.faces.base import Face

if TYPE_CHECKING:
    from memstone.results import ConsolidateResult, SummaryResult


class Consolidating(Face):
    """How memory is kept small: consolidation, summaries and sweeps."""

    async def consolidate(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
        dry_run: bool = False,
    ) -> ConsolidateResult:
        """Tidy up what a scope remembers, or with ``everybody`` everything there is.

        Nearly identical episodes (and facts, with ``upkeep.merge_facts``) of one owner become one, facts that several
        recent episodes speak of gain weight, faded and idle ones are put aside with ``upkeep.evict``, and what is past
        its time is deleted. How much a memory has faded is worked out when it is read, so it does not matter how often
        this runs. Every change has its event and can be undone; ``dry_run`` only counts.

        Returns how many were ``merged``, ``promoted``, ``evicted``, ``expired``, ``pruned`` and ``summarized``, how
        many ``narratives`` were made anew, what was ``purged``, and the ``job_id``. ``status`` is ``completed``,
        ``already_running`` (here or in another process) or ``disabled``.
        """
        from memstone.engine.upkeep import consolidate

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self._engine.run(consolidate.consolidate_scope, given, everybody=everybody, dry_run=dry_run)

    async def summarize(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        max_tokens: int = 4_000,
        older_than_days: float | None = None,
        dry_run: bool = False,
    ) -> SummaryResult:
        """Shorten what a scope has beyond a budget of tokens to its first three sentences.

        The newest memories that fit are left as they are, each owner having the budget for itself; with
        ``older_than_days`` younger ones are left as well. A summary is a memory of its own that names what it comes
        from. The original is superseded, stays in the history and can be brought back.

        Returns ``{"originalCount", "summarizedCount", "tokensSaved"}`` and the ``job_id`` if anything was changed.
        """
        from memstone.engine.upkeep import summarize

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self._engine.run(summarize.summarize_scope, given, max_tokens, older_than_days, dry_run=dry_run)
