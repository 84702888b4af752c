"""Erasing for good, backups, and taking in what other systems exported.

The part of ``AsyncClient``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.results import ErasurePreview, ErasureReport, ErasureVerification


class Keeping(Remote):
    """Erasing for good, backups, and taking in what other systems exported."""

    @overload
    async def erase(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        memory_id: str | None = None,
        dry_run: Literal[False] = False,
    ) -> ErasureReport: ...

    @overload
    async def erase(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        memory_id: str | None = None,
        dry_run: Literal[True],
    ) -> ErasurePreview: ...

    @overload
    async def erase(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        memory_id: str | None = None,
        dry_run: bool,
    ) -> ErasureReport | ErasurePreview: ...

    async def erase(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        memory_id: str | None = None,
        dry_run: bool = False,
    ) -> ErasureReport | ErasurePreview:
        """Remove everything of a scope for good; with ``memory_id`` one memory, for everybody unless a scope is named.

        All versions, the history, what waits to be learned, receipts, jobs, settings, names, words and vectors go, in
        every table and index; the file is written anew, its log emptied, and the backups Memstone has made are
        rewritten. A memory that others see too stays with them. It cannot be undone, and after a crash the same call
        finishes it.

        Returns a report without any content: rows by table in ``erased``, every check that was made afterwards in
        ``checks``, whether all of them were passed in ``complete``, a ``sha256`` and an ``hmac`` by the store's key.
        In a database it is never ``complete``: ``not_looked_at`` says what the server keeps, and ``to_finish`` which
        statements remove it. Where several tenants share a file, one that erases does not hold the others up: the file
        is written anew when it is quiet, the report is ``pending`` until then, and ``verify_erasure`` tells.
        With ``dry_run`` only the counts are returned, and nothing is erased.
        """
        given: dict[str, Any] = {
            "user_id": user_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "memory_id": memory_id,
            "dry_run": dry_run,
        }
        result: ErasureReport | ErasurePreview = await self._link.call("erase", given)
        return result

    async def verify_erasure(self, report: Mapping[str, Any]) -> ErasureVerification:
        """Whether a report of ``erase`` is what this store wrote, and nothing from before it has come back.

        Returns ``{"ok", "unchanged", "sealed_by_this_store", "complete", "not_looked_at", "left", "subject"}``.
        """
        given: dict[str, Any] = {"report": report}
        result: ErasureVerification = await self._link.call("verify_erasure", given)
        return result
