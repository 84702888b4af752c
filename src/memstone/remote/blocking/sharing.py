"""Who holds a memory: sharing, moving, feedback and the figures about it.

The part of ``Client``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memstone.drive import drive
from memstone.model.instant import When
from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.results import (
        FeedbackResult,
        MetricsReport,
        ReassignResult,
        ReplacementList,
        ShareResult,
        UpdateResult,
        UseReport,
    )


class Sharing(Remote):
    """Who holds a memory: sharing, moving, feedback and the figures about it."""

    def share(
        self,
        memory_id: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        reason: str | None = None,
    ) -> ShareResult:
        """Let somebody else hold a memory, too; the user ``*`` is everybody, ``project:<id>`` a project.

        Nothing is copied. ``event`` is ``NONE`` when they hold it already, or know another one that says the same.
        """
        given: dict[str, Any] = {
            "memory_id": memory_id,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "reason": reason,
        }
        result: ShareResult = drive(self._link.call("share", given))
        return result

    def unshare(
        self,
        memory_id: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> ShareResult:
        """Take a memory from somebody. The others keep it; with the last one it is deleted, and ``event`` says so."""
        given: dict[str, Any] = {
            "memory_id": memory_id,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "reason": reason,
            "dry_run": dry_run,
        }
        result: ShareResult = drive(self._link.call("unshare", given))
        return result

    def replace(
        self,
        memory_id: str,
        text: str,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        metadata: Mapping[str, Any] | None = None,
        reason: str | None = None,
    ) -> UpdateResult:
        """Change what a memory says for one of those who hold it; ``update`` changes it for all of them.

        They get a memory of their own with a new id, and the others keep what they have. Who holds it alone has its
        next version, under the same id. Returns the memory with its ``event`` and, if it is a new one, the ``old_id``.
        """
        given: dict[str, Any] = {
            "memory_id": memory_id,
            "text": text,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "metadata": metadata,
            "reason": reason,
        }
        result: UpdateResult = drive(self._link.call("replace", given))
        return result

    def memory_updates(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> ReplacementList:
        """What took the place of what for somebody, newest first: ``old_id``, ``new_id``, both texts, the reason.

        ``new_id`` is the same as ``old_id`` for a new version, and ``old_version`` and ``new_version`` number the two;
        it is None for what was taken away.
        """
        given: dict[str, Any] = {
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "limit": limit,
            "offset": offset,
        }
        result: ReplacementList = drive(self._link.call("memory_updates", given))
        return result

    def reassign(self, from_scope: Mapping[str, Any], to_scope: Mapping[str, Any]) -> ReassignResult:
        """Hand everything one scope holds over to another: rename a user, or make two into one.

        A scope is such as ``{"user_id": "alice"}``. The ids that ``to_scope`` names take the place of those there were,
        the others stay. Where both know the same, the older memory stays. ``undo(job_id=...)`` takes it back.

        Returns ``{"job_id", "moved", "merged", "signals", "receipts"}``.
        """
        given: dict[str, Any] = {"from_scope": from_scope, "to_scope": to_scope}
        result: ReassignResult = drive(self._link.call("reassign", given))
        return result

    def feedback(
        self,
        *,
        useful: bool,
        receipt_id: str | None = None,
        memory_id: str | None = None,
        note: str | None = None,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
    ) -> FeedbackResult:
        """Say whether a memory was useful, or all that a receipt names; it gains or loses weight.

        Of a memory that several hold, ``user_id`` says who judges; its weight is then left as it is for the others.
        """
        given: dict[str, Any] = {
            "useful": useful,
            "receipt_id": receipt_id,
            "memory_id": memory_id,
            "note": note,
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
        }
        result: FeedbackResult = drive(self._link.call("feedback", given))
        return result

    def record_answer(self, receipt_id: str, answer: str) -> UseReport:
        """Tell what a model answered to a prompt with a context: which memories were used is worked out from it.

        A memory counts as used when the answer holds what it says and the question did not. Returns ``used`` and
        ``unused`` ids, and the ``share`` of each in ``results``.
        """
        given: dict[str, Any] = {"receipt_id": receipt_id, "answer": answer}
        result: UseReport = drive(self._link.call("record_answer", given))
        return result

    def metrics(
        self,
        *,
        user_id: str | int | None = None,
        everybody: bool = False,
        since: When | None = None,
    ) -> MetricsReport:
        """Figures of a user, or with ``everybody`` of all: how many memories, and how often they are replaced and used.

        ``memory_total_count`` is how many hold now. ``memory_replacement_rate`` is the share of replacements among what
        was written, ``memory_dedup_rate`` that of what was known already among what was learned,
        ``retrieval_hit_rate`` that of memories an answer used among those shown, as far as answers were recorded. A
        rate is None as long as there is nothing to tell; ``counts`` holds what they are made of.
        """
        given: dict[str, Any] = {"user_id": user_id, "everybody": everybody, "since": since}
        result: MetricsReport = drive(self._link.call("metrics", given))
        return result
