"""Erasing for good, backups, and taking in what other systems exported."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from memstone.drive import drive
from memstone.engine.scoping import Progress, Source
from memstone.faces.base import Face

if TYPE_CHECKING:
    from memstone.results import (
        BackupRestore,
        BackupResult,
        BackupVerification,
        ErasurePreview,
        ErasureReport,
        ErasureVerification,
        ImportResult,
    )


class Keeping(Face):
    """Erasing for good, backups, and taking in what other systems exported."""

    @overload
    def erase(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        memory_id: str | None = None,
        progress: Progress | None = None,
        dry_run: Literal[False] = False,
    ) -> ErasureReport: ...

    @overload
    def erase(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        memory_id: str | None = None,
        progress: Progress | None = None,
        dry_run: Literal[True],
    ) -> ErasurePreview: ...

    @overload
    def erase(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        memory_id: str | None = None,
        progress: Progress | None = None,
        dry_run: bool,
    ) -> ErasureReport | ErasurePreview: ...

    def erase(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        memory_id: str | None = None,
        progress: Progress | None = None,
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
        from memstone.engine.erasing import erase

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self._engine.dry(dry_run).run(erase.erase_subject, given, memory_id, progress))

    def verify_erasure(self, report: Mapping[str, Any]) -> ErasureVerification:
        """Whether a report of ``erase`` is what this store wrote, and nothing from before it has come back.

        Returns ``{"ok", "unchanged", "sealed_by_this_store", "complete", "not_looked_at", "left", "subject"}``.
        """
        from memstone.engine.erasing import erase as erasure_report

        return drive(self._engine.run(erasure_report.verify_report, report))

    def backup(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> BackupResult:
        """Write the whole store, of all tenants, as it is at this moment into one file; others go on writing.

        It is signed with the store's key, which is no part of it: keep a copy of what ``key_place`` names elsewhere.
        A damaged store is refused.

        The file gets its name when it is complete and on disk. An older backup of that name is replaced, any other file
        is refused; in a folder it gets a name of its own. ``progress(done, total)`` counts pages.

        Returns the manifest: ``path``, ``schema``, ``created_at``, the rows of every table, and the SHA-256 of all.
        """
        from memstone.engine.moving import backup

        return drive(self._engine.run(backup.write_backup, path, progress))

    def verify_backup(self, path: str | os.PathLike[str]) -> BackupVerification:
        """The manifest of a backup, after checking all that is in it; ``Corrupted`` when anything is wrong.

        ``origin`` is ``ours`` if it is signed with this store's key, else ``foreign``.
        """
        from memstone.engine.moving import backup

        return drive(self._engine.run(backup.verify_backup, path))

    def restore_backup(
        self, path: str | os.PathLike[str], *, foreign: bool = False, progress: Progress | None = None
    ) -> BackupRestore:
        """Put a backup in the place of the whole store, of all tenants.

        It is checked first, and refused when it is damaged or of a newer schema. Then it takes the place of what is
        there in one step: a crash leaves the one or the other, and whoever has the store open sees the new content with
        the next call. Who was erased after the backup was made is erased again before anybody sees it.

        A backup that is not signed with this store's key is refused, unless ``foreign`` asks for it. Then its rows are
        taken into tables of our own making, without keys, accounts, sessions and secrets; ``left_out`` says what was
        not taken.

        Returns the manifest, its ``origin``, and how many were ``erased_again``.
        """
        from memstone.engine.moving import backup

        return drive(self._engine.run(backup.restore_backup, path, progress, foreign=foreign))

    def import_from(
        self,
        source: Source,
        *,
        format: str = "auto",  # noqa: A002 - what callers call it
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        from_user: str | None = None,
        trusted: bool = False,
        learn: bool = True,
        progress: Progress | None = None,
    ) -> ImportResult:
        """Take in what another system exported: a path, bytes, or an open file; a zip archive as it is.

        ``format`` is recognised by what the source holds, or one of ``mem0``, ``gateway``, ``chatgpt``, ``claude``,
        ``openwebui``, ``facts``, ``markdown``, ``companion_db``, ``gateway_db``, ``openwebui_db``. Text, time, speaker
        and metadata are taken; ids, origin, trust and status are not. Everything is the user's you name; ``from_user``
        takes only what a file says is theirs. Name nobody to keep those apart that a file names.

        What was said becomes turns, which are searched like any other. Facts wait in quarantine until somebody
        approves them, and so does what is learned from the turns. With ``trusted`` you speak for the user: what they
        said is theirs, and facts about them need no approval; what an assistant said still waits. With ``learn`` the
        next ``flush`` learns from the turns. What somebody deleted here stays deleted, and importing twice stores once.

        Returns ``{"format", "stored", "known", "quarantined", "turns", "facts", "episodes", "identity", "queued",
        "skipped": {reason: count}}``.
        """
        from memstone.engine.moving import import_memories
        from memstone.registry import load_adapter

        who = (user_id, agent_id, run_id, from_user)
        request = import_memories.ImportRequest(source, format, *who, trusted=trusted, learn=learn, progress=progress)
        return drive(self._engine.run(import_memories.import_from, request, load_adapter("source", "sqlite")))
