"""Look after a store: health, upkeep, backups, keys and accounts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from memstone.api.base import Group
from memstone.engine.request_scope import Progress, Source
from memstone.model.access import Subjects
from memstone.model.ids import clean_id
from memstone.model.instant import When

if TYPE_CHECKING:
    from memstone.literals import JobStatus, RoleName, ScopeKind, VerbName
    from memstone.results import (
        AccountItem,
        AccountRemoval,
        BackupRestore,
        BackupResult,
        BackupVerification,
        ConsolidateResult,
        DashboardResult,
        EngineInfo,
        ErasurePreview,
        ErasureReport,
        ErasureVerification,
        HealthReport,
        ImportResult,
        JobList,
        KeyItem,
        KeySecret,
        MetricsReport,
        RedactResult,
        RefreshResult,
        ReindexResult,
        ScopeList,
        StoreCheck,
        SummaryResult,
        TokenKeyRotation,
        WorkerResult,
    )


Listed: TypeAlias = list[dict[str, Any]]
"""Under a name of its own, because ``list`` is a verb in these classes."""


class AsyncKeyVerbs(Group):
    """API keys of the service."""

    async def list(self) -> list[KeyItem]:
        """List the keys of this tenant, oldest first; their secrets are not stored."""
        from memstone.engine.access import keys

        return await self.engine.run(keys.list_keys)

    async def create(
        self,
        name: str = "",
        *,
        verbs: Sequence[VerbName] = ("read", "write"),
        user_id: str | None = None,
        agent_id: str | None = None,
        may_assert_user: bool = False,
        expires_at: When | None = None,
    ) -> KeySecret:
        """Create a key for this tenant: for its own pools, one user, every user it names, or everything.

        ``verbs`` are the permissions ``read``, ``write`` and ``admin``; each includes the ones before it. Without
        ``user_id``, ``may_assert_user`` and ``admin``, a key only has access to its own pools: the same user names mean
        different people than with any other key. With ``may_assert_user``, the caller is trusted to name the user of
        each request. With ``agent_id``, the key only has access to what belongs to that agent. ``key`` in the answer is
        shown only once and is not stored.
        """
        from memstone.engine.access import keys

        subjects = Subjects(clean_id(user_id, "user_id"), clean_id(agent_id, "agent_id"), may_assert_user)
        return await self.engine.run(keys.create_key, name, verbs, subjects, expires_at)

    async def update(
        self,
        key_id: str,
        *,
        name: str | None = None,
        verbs: Sequence[VerbName] | None = None,
        may_assert_user: bool | None = None,
    ) -> KeyItem:
        """Change the name and permissions of a key; what you leave out stays, and so does its secret."""
        from memstone.engine.access import keys

        return await self.engine.run(keys.set_key, key_id, name, verbs, may_assert_user=may_assert_user)

    async def rotate(self, key_id: str, *, grace_seconds: float = 3_600.0) -> KeySecret:
        """Give a key a new secret under the same id; the old one is accepted for ``grace_seconds``."""
        from memstone.engine.access import keys

        return await self.engine.run(keys.rotate_key, key_id, grace_seconds)

    async def revoke(self, key_id: str, *, dry_run: bool = False) -> KeyItem:
        """Revoke a key immediately."""
        from memstone.engine.access import keys

        return await self.engine.dry(dry_run).run(keys.revoke_key, key_id)


class AsyncAccountVerbs(Group):
    """Accounts of people who log in to the service."""

    async def list(self) -> list[AccountItem]:
        """List the accounts of this tenant, oldest first."""
        from memstone.engine.access import accounts

        return await self.engine.run(accounts.list_accounts)

    async def create(
        self,
        login: str,
        password: str,
        *,
        name: str = "",
        role: RoleName = "viewer",
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> AccountItem:
        """Create an account with a login (an e-mail address or a name) and a password.

        ``role`` is ``viewer`` (reads), ``editor`` (also writes) or ``admin``. With ``user_id`` or ``agent_id``, the
        account only has access to that user's or agent's memories. Only a hash of the password is stored.
        """
        from memstone.engine.access import accounts

        user, agent = clean_id(user_id, "user_id"), clean_id(agent_id, "agent_id")
        wanted = accounts.AccountEdit(name=name, role=role, user_id=user, agent_id=agent)
        return await self.engine.run(accounts.create_account, login, password, wanted)

    async def update(
        self,
        account: str,
        *,
        login: str | None = None,
        name: str | None = None,
        role: RoleName | None = None,
        password: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        disabled: bool | None = None,
    ) -> AccountItem:
        """Change an account, given by its id or login; what you leave out stays, and '' removes a name or a limit.

        A new password, or disabling the account, ends all its sessions.
        """
        from memstone.engine.access import accounts

        wanted = accounts.AccountEdit(login, name, role, password, user_id, agent_id, disabled)
        return await self.engine.run(accounts.set_account, account, wanted)

    async def remove(self, account: str, *, dry_run: bool = False) -> AccountRemoval:
        """Remove an account, given by its id or login, and end its sessions."""
        from memstone.engine.access import accounts

        return await self.engine.dry(dry_run).run(accounts.remove_account, account)

    async def rotate_token_key(self, *, grace: bool = True) -> TokenKeyRotation:
        """Change the key that signs login tokens.

        With ``grace``, existing tokens are accepted until they expire, which takes minutes; without it, they stop
        working at once. Nobody has to log in again.
        """
        from memstone.engine.access import accounts as accounts_tokens

        return await self.engine.run(accounts_tokens.rotate_token_key, grace=grace)


class AsyncBackupVerbs(Group):
    """Backups of the whole store."""

    async def create(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> BackupResult:
        """Write the whole store, with all tenants, as it is now into one file; others can keep writing.

        The backup is signed with the store's key, which is not part of it: keep a copy of what ``key_place`` names
        elsewhere. A damaged store is refused.

        The file gets its name when it is complete and on disk. An older backup of the same name is replaced, any other
        file is refused; if the path is a folder, Memstone picks a name in it. ``progress(done, total)`` counts pages.

        Returns the manifest: ``path``, ``schema``, ``created_at``, the rows of every table, and the SHA-256 of all.
        """
        from memstone.engine.transfer import backup

        return await self.engine.run(backup.write_backup, path, progress)

    async def verify(self, path: str | os.PathLike[str]) -> BackupVerification:
        """Check a backup completely and return its manifest; raise ``Corrupted`` if anything is wrong.

        ``origin`` is ``ours`` if it is signed with this store's key, otherwise ``foreign``.
        """
        from memstone.engine.transfer import backup

        return await self.engine.run(backup.verify_backup, path)

    async def restore(
        self, path: str | os.PathLike[str], *, foreign: bool = False, progress: Progress | None = None
    ) -> BackupRestore:
        """Replace the whole store, with all tenants, by a backup.

        The backup is checked first, and refused if it is damaged or has a newer schema. Then it replaces the store in
        one step: a crash leaves either the old or the new content, and programs that have the store open see the new
        content with their next call. Anyone who was erased after the backup was made is erased again before anybody can
        see the data.

        A backup that is not signed with this store's key is refused, unless you pass ``foreign``. Then its rows are
        copied into newly created tables, without keys, accounts, sessions and secrets; ``left_out`` says what was left
        out.

        Returns the manifest, its ``origin``, and how many were ``erased_again``.
        """
        from memstone.engine.transfer import backup

        return await self.engine.run(backup.restore_backup, path, progress, foreign=foreign)


class AsyncAdminVerbs(Group):
    """Look after a store: health, upkeep, backups, keys and accounts."""

    @property
    def keys(self) -> AsyncKeyVerbs:
        """API keys of the service."""
        return AsyncKeyVerbs(self.engine)

    @property
    def accounts(self) -> AsyncAccountVerbs:
        """Accounts of people who log in to the service."""
        return AsyncAccountVerbs(self.engine)

    @property
    def backups(self) -> AsyncBackupVerbs:
        """Backups of the whole store."""
        return AsyncBackupVerbs(self.engine)

    @overload
    async def erase(
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
    async def erase(
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
    async def erase(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        memory_id: str | None = None,
        progress: Progress | None = None,
        dry_run: bool,
    ) -> ErasureReport | ErasurePreview: ...

    async def erase(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        memory_id: str | None = None,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> ErasureReport | ErasurePreview:
        """Erase everything of a scope for good, or with ``memory_id`` one memory.

        One memory is erased for everybody, unless you also give a scope. This removes all versions, the history, queued
        work, receipts, jobs, settings, names, words and vectors from every table and index. The file is rewritten, its
        log emptied, and the backups made by Memstone are rewritten. A memory that others can see stays with them. You
        cannot undo it. After a crash, the same call finishes it.

        Returns a report without any content: rows by table in ``erased``, every check made afterwards in ``checks``,
        whether all of them passed in ``complete``, a ``sha256`` and an ``hmac`` by the store's key. For a database it
        is never ``complete``: ``not_looked_at`` says what the server keeps, and ``to_finish`` which statements remove
        it. If several tenants share a file, an erasure does not block the others: the file is rewritten when it is
        idle, the report is ``pending`` until then, and ``verify_erasure`` says when it is done. With ``dry_run`` only
        the counts are returned, and nothing is erased.
        """
        from memstone.engine.change import erase

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.dry(dry_run).run(erase.erase_subject, values, memory_id, progress)

    async def verify_erasure(self, report: Mapping[str, Any]) -> ErasureVerification:
        """Check that this store wrote an erasure report, and that nothing erased has come back.

        Returns ``{"ok", "unchanged", "sealed_by_this_store", "complete", "not_looked_at", "left", "subject"}``.
        """
        from memstone.engine.change import erase as erasure_report

        return await self.engine.run(erasure_report.verify_report, report)

    async def import_from(
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
        """Import what another system exported: a path, bytes, or an open file; a zip archive as it is.

        ``format`` is recognised by the content, or one of ``mem0``, ``gateway``, ``chatgpt``, ``claude``,
        ``openwebui``, ``facts``, ``markdown``, ``companion_db``, ``gateway_db``, ``openwebui_db``, ``mem0_db``. Text,
        time, speaker and metadata are imported; origin, trust and status are not, and ids only with ``trusted``.
        Everything goes to the user you name; ``from_user`` imports only what the file says is theirs. Name no user to
        keep the users of a file separate.

        What was said becomes turns, which you can search like any other. Facts wait in quarantine until someone
        approves them, and so does what is learned from the turns. With ``trusted`` you act for the user: what they said
        is theirs, and facts about them need no approval; what an assistant said still waits. With ``learn`` the next
        ``flush`` learns from the turns. What someone deleted here stays deleted, and importing twice stores once.

        Returns ``{"format", "stored", "known", "quarantined", "turns", "facts", "episodes", "identity", "queued",
        "skipped": {reason: count}}``.
        """
        from memstone.engine.transfer import import_memories
        from memstone.registry import load_adapter

        who = (user_id, agent_id, run_id, from_user)
        request = import_memories.ImportRequest(source, format, *who, trusted=trusted, learn=learn, progress=progress)
        return await self.engine.run(import_memories.import_from, request, load_adapter("source", "sqlite"))

    async def redact(self, progress: Progress | None = None, *, dry_run: bool = True) -> RedactResult:
        """Find secrets in everything that is stored, and with ``dry_run=False`` mask them in place.

        Use it for what was stored earlier, or under another ``extract.redact``. It covers every version, the history,
        the inbox and the indexes. It is the only call that rewrites history, and a ``REDACT`` event says so. The answer
        counts what was found, by kind and by table, and never shows it.
        """
        return await self.engine.redact(progress, dry_run=dry_run)

    async def reindex(self, progress: Progress | None = None) -> ReindexResult:
        """Build the vectors of the configured embedder beside the old ones, and switch when all are there.

        ``progress(done, total)`` is called during the work.
        """
        return await self.engine.reindex(progress)

    async def refresh_vectors(self) -> RefreshResult:
        """Rebuild every vector in place, for example after a model changed under its old name."""
        from memstone.engine import status

        return await self.engine.run(status.refresh_vectors)

    async def pending_vectors(self) -> int:
        """Count the memories waiting for a vector of the configured embedder."""
        from memstone.engine import status

        return await self.engine.run(status.pending_vectors)

    async def consolidate(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
        dry_run: bool = False,
    ) -> ConsolidateResult:
        """Consolidate the memories of a scope, or with ``everybody`` all memories.

        Nearly identical episodes (and facts, with ``upkeep.merge_facts``) of one owner are merged, facts that several
        recent episodes mention gain weight, faded and idle ones are evicted with ``upkeep.evict``, and expired ones are
        deleted. How much a memory has faded is computed when it is read, so it does not matter how often this runs.
        Every change has its event and can be undone; ``dry_run`` only counts.

        Returns how many were ``merged``, ``promoted``, ``evicted``, ``expired``, ``pruned`` and ``summarized``, how
        many ``narratives`` were rewritten, what was ``purged``, and the ``job_id``. ``status`` is ``completed``,
        ``already_running`` (here or in another process) or ``disabled``.
        """
        from memstone.engine.upkeep import consolidate

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(consolidate.consolidate_scope, values, everybody=everybody, dry_run=dry_run)

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
        """Shorten memories beyond a token budget to their first three sentences.

        The newest memories that fit stay as they are; each owner has the budget for itself. With ``older_than_days``,
        younger ones stay as they are, too. A summary is a separate memory that names its original. The original is
        superseded, stays in the history and can be brought back.

        Returns ``{"originalCount", "summarizedCount", "tokensSaved"}`` and the ``job_id`` if anything was changed.
        """
        from memstone.engine.upkeep import summarize

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(summarize.summarize_scope, values, max_tokens, older_than_days, dry_run=dry_run)

    async def list_scopes(self, kind: ScopeKind = "user", *, limit: int = 100, offset: int = 0) -> ScopeList:
        """List the users (or with ``kind`` the ``agent`` or ``run`` ids), most memories first.

        Returns ``{"kind", "results": [{"id", "memories", "last_at"}]}``.
        """
        from memstone.engine import management

        return await self.engine.run(management.list_scopes, kind, limit, offset)

    async def dashboard(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
        limit: int = 20,
    ) -> DashboardResult:
        """Return an overview of a scope, or with ``everybody`` of all, for a management page.

        It has ``counts`` by layer and the ``last_consolidation``; for a scope also its ``identity``, the most salient
        ``facts`` and the newest ``episodes``; for all, ``processing`` (calls, success rate, average time, tokens, by
        task), what is ``waiting``, and the ``agents`` with their counts.
        """
        from memstone.engine import management

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(management.build_dashboard, values, limit, everybody=everybody)

    async def jobs(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
        task: str | None = None,
        status: JobStatus | None = None,
        limit: int = 100,
    ) -> JobList:
        """List the background jobs of a scope, or with ``everybody`` all of them, newest first.

        ``task`` is the kind of job: ``facts``, ``distill`` and others. ``status`` is ``success``, ``skipped``,
        ``empty``, ``error`` or ``dead_letter``. Each row has its ``outcome`` word for word, the decisions about facts,
        and its cost: model, tokens, milliseconds.
        """
        from memstone.engine.background import jobs

        values = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return await self.engine.run(jobs.list_jobs, values, task, status, limit, everybody=everybody)

    async def work(self, seconds: float | None = None, *, all_tenants: bool = False) -> WorkerResult:
        """Run a worker: learn from sessions as they become due, until it is stopped or the time is over.

        ``seconds=0`` does what is due now. Any number of workers, in any number of processes, can share a store.
        """
        from memstone.engine.background import worker

        return await self.engine.run(worker.run_worker, seconds, all_tenants=all_tenants)

    async def metrics(
        self, *, user_id: str | int | None = None, everybody: bool = False, since: When | None = None
    ) -> MetricsReport:
        """Count the memories of a user, or with ``everybody`` of all, and how often they are replaced and used.

        ``memory_total_count`` is how many are currently valid. ``memory_replacement_rate`` is the share of replacements
        among what was written, ``memory_dedup_rate`` the share of already known facts among what was learned, and
        ``retrieval_hit_rate`` the share of memories an answer used among those shown, as far as answers were recorded.
        A rate is None while there is no data; ``counts`` has the numbers behind the rates.
        """
        from memstone.engine import status

        return await self.engine.run(status.compute_metrics, user_id, since, everybody=everybody)

    async def health(self) -> HealthReport:
        """Check whether memory works: ``healthy``, ``degraded`` or ``unavailable``, with reasons.

        ``probe`` says where writing fails, if it does: a turn and an inbox row are written, found and rolled back in
        one transaction.
        """
        from memstone.engine import status as health

        return await health.check_health(self.engine.runtime)

    async def status(self) -> EngineInfo:
        """Return every channel and service of the engine: whether it is ``available``, and if not, the ``reason``."""
        from memstone.engine import status

        return await self.engine.run(status.engine_status)

    async def check(self) -> StoreCheck:
        """Check the store: where it is, its schema, and whether it is intact."""
        return await self.engine.check()
