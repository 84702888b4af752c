"""Look after a store: its health, its upkeep, its copies, and who may use it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from memstone.api.base import Group
from memstone.drive import drive
from memstone.engine.scoping import Progress, Source
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


class KeyVerbs(Group):
    """The keys of the service."""

    def list(self) -> list[KeyItem]:
        """List the keys of this tenant, oldest first; the secrets themselves are not stored."""
        from memstone.engine.access import keys

        return drive(self.engine.run(keys.list_keys))

    def create(
        self,
        name: str = "",
        *,
        verbs: Sequence[VerbName] = ("read", "write"),
        user_id: str | None = None,
        agent_id: str | None = None,
        may_assert_user: bool = False,
        expires_at: When | None = None,
    ) -> KeySecret:
        """Create a key for this tenant: of its own, for one user, for everybody it names, or for everything.

        ``verbs`` are ``read``, ``write`` and ``admin``; each holds the ones before it. With neither ``user_id``,
        ``may_assert_user`` nor the verb ``admin`` a key reaches its own pools: the same user names mean other people
        than with any other key. With ``may_assert_user`` whoever holds it is trusted to say for which user it asks.
        With ``agent_id`` it reaches only what belongs to that agent. ``key`` in the answer is shown this once and kept
        nowhere.
        """
        from memstone.engine.access import keys

        subjects = Subjects(clean_id(user_id, "user_id"), clean_id(agent_id, "agent_id"), may_assert_user)
        return drive(self.engine.run(keys.create_key, name, verbs, subjects, expires_at))

    def update(
        self,
        key_id: str,
        *,
        name: str | None = None,
        verbs: Sequence[VerbName] | None = None,
        may_assert_user: bool | None = None,
    ) -> KeyItem:
        """Change what a key is called and what it may do; what you leave out stays, and so does its secret."""
        from memstone.engine.access import keys

        return drive(self.engine.run(keys.set_key, key_id, name, verbs, may_assert_user=may_assert_user))

    def rotate(self, key_id: str, *, grace_seconds: float = 3_600.0) -> KeySecret:
        """Give a key a new secret under the same id; the old one is accepted for ``grace_seconds``."""
        from memstone.engine.access import keys

        return drive(self.engine.run(keys.rotate_key, key_id, grace_seconds))

    def revoke(self, key_id: str, *, dry_run: bool = False) -> KeyItem:
        """End a key at once."""
        from memstone.engine.access import keys

        return drive(self.engine.dry(dry_run).run(keys.revoke_key, key_id))


class AccountVerbs(Group):
    """The people who may log in to the service."""

    def list(self) -> list[AccountItem]:
        """List the accounts of this tenant, oldest first."""
        from memstone.engine.access import accounts

        return drive(self.engine.run(accounts.list_accounts))

    def create(
        self,
        login: str,
        password: str,
        *,
        name: str = "",
        role: RoleName = "viewer",
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> AccountItem:
        """Let somebody log in to the service: an e-mail address or a name, and a password.

        ``role`` is ``viewer`` (reads), ``editor`` (also writes) or ``admin``. With ``user_id`` or ``agent_id`` they
        reach that user's or agent's memories only. Of the password only what recognises it is kept.
        """
        from memstone.engine.access import accounts

        user, agent = clean_id(user_id, "user_id"), clean_id(agent_id, "agent_id")
        wanted = accounts.Changes(name=name, role=role, user_id=user, agent_id=agent)
        return drive(self.engine.run(accounts.create_account, login, password, wanted))

    def update(
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
        """Change an account, named by its id or its login; what you leave out stays, '' takes a name or a bound away.

        With another password, or when it is disabled, whoever is logged in with it no longer is.
        """
        from memstone.engine.access import accounts

        wanted = accounts.Changes(login, name, role, password, user_id, agent_id, disabled)
        return drive(self.engine.run(accounts.set_account, account, wanted))

    def remove(self, account: str, *, dry_run: bool = False) -> AccountRemoval:
        """Remove an account, named by its id or its login; whoever is logged in with it no longer is."""
        from memstone.engine.access import accounts

        return drive(self.engine.dry(dry_run).run(accounts.remove_account, account))

    def rotate_token_key(self, *, grace: bool = True) -> TokenKeyRotation:
        """Sign the tokens of people who log in with another key from now on.

        With ``grace``, tokens that are out already are accepted until they expire, which takes minutes; without, they
        end at once. Nobody has to log in again.
        """
        from memstone.engine.access import accounts as accounts_tokens

        return drive(self.engine.run(accounts_tokens.rotate_token_key, grace=grace))


class BackupVerbs(Group):
    """Copies of the whole store."""

    def create(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> BackupResult:
        """Write the whole store, of all tenants, as it is at this moment into one file; others go on writing.

        It is signed with the store's key, which is no part of it: keep a copy of what ``key_place`` names elsewhere.
        A damaged store is refused.

        The file gets its name when it is complete and on disk. An older backup of that name is replaced, any other file
        is refused; in a folder it gets a name of its own. ``progress(done, total)`` counts pages.

        Returns the manifest: ``path``, ``schema``, ``created_at``, the rows of every table, and the SHA-256 of all.
        """
        from memstone.engine.moving import backup

        return drive(self.engine.run(backup.write_backup, path, progress))

    def verify(self, path: str | os.PathLike[str]) -> BackupVerification:
        """Check all that is in a backup and return its manifest; ``Corrupted`` when anything is wrong.

        ``origin`` is ``ours`` if it is signed with this store's key, else ``foreign``.
        """
        from memstone.engine.moving import backup

        return drive(self.engine.run(backup.verify_backup, path))

    def restore(
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

        return drive(self.engine.run(backup.restore_backup, path, progress, foreign=foreign))


class AdminVerbs(Group):
    """Look after a store: its health, its upkeep, its copies, and who may use it."""

    @property
    def keys(self) -> KeyVerbs:
        """The keys of the service."""
        return KeyVerbs(self.engine)

    @property
    def accounts(self) -> AccountVerbs:
        """The people who may log in to the service."""
        return AccountVerbs(self.engine)

    @property
    def backups(self) -> BackupVerbs:
        """Copies of the whole store."""
        return BackupVerbs(self.engine)

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
        return drive(self.engine.dry(dry_run).run(erase.erase_subject, given, memory_id, progress))

    def verify_erasure(self, report: Mapping[str, Any]) -> ErasureVerification:
        """Check that a report of ``erase`` is what this store wrote, and that nothing erased has come back.

        Returns ``{"ok", "unchanged", "sealed_by_this_store", "complete", "not_looked_at", "left", "subject"}``.
        """
        from memstone.engine.erasing import erase as erasure_report

        return drive(self.engine.run(erasure_report.verify_report, report))

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
        """Import what another system exported: a path, bytes, or an open file; a zip archive as it is.

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
        return drive(self.engine.run(import_memories.import_from, request, load_adapter("source", "sqlite")))

    def redact(self, progress: Progress | None = None, *, dry_run: bool = True) -> RedactResult:
        """Look for secrets in everything that is stored, and with ``dry_run=False`` mask them in place.

        For what was stored before, or under another ``extract.redact``. Every version, the history, the inbox and the
        indexes are covered; it is the one call that rewrites history, and a ``REDACT`` event says so. The answer counts
        what was found, by kind and by table, and never shows it.
        """
        return drive(self.engine.redact(progress, dry_run=dry_run))

    def reindex(self, progress: Progress | None = None) -> ReindexResult:
        """Build the vectors of the configured embedder beside the old ones and switch when all are there.

        ``progress(done, total)`` is called as it goes.
        """
        return drive(self.engine.reindex(progress))

    def refresh_vectors(self) -> RefreshResult:
        """Make every vector anew, in place, as when a model was changed under its old name."""
        from memstone.engine import status

        return drive(self.engine.run(status.refresh_vectors))

    def pending_vectors(self) -> int:
        """Count the memories that wait for a vector of the configured embedder."""
        from memstone.engine import status

        return drive(self.engine.run(status.pending_vectors))

    def consolidate(
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
        return drive(self.engine.run(consolidate.consolidate_scope, given, everybody=everybody, dry_run=dry_run))

    def summarize(
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
        return drive(self.engine.run(summarize.summarize_scope, given, max_tokens, older_than_days, dry_run=dry_run))

    def list_scopes(self, kind: ScopeKind = "user", *, limit: int = 100, offset: int = 0) -> ScopeList:
        """List the users (or with ``kind`` the ``agent`` or ``run`` ids), those with the most memories first.

        Returns ``{"kind", "results": [{"id", "memories", "last_at"}]}``.
        """
        from memstone.engine import management

        return drive(self.engine.run(management.list_scopes, kind, limit, offset))

    def dashboard(
        self,
        *,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        everybody: bool = False,
        limit: int = 20,
    ) -> DashboardResult:
        """Return what a management view begins with, of a scope or with ``everybody`` of all.

        ``counts`` by layer and the ``last_consolidation``; of a scope also its ``identity``, the weightiest ``facts``
        and the newest ``episodes``; of all, ``processing`` (calls, success rate, average time, tokens, by task), what
        is ``waiting``, and the ``agents`` with their counts.
        """
        from memstone.engine import management

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self.engine.run(management.build_dashboard, given, limit, everybody=everybody))

    def jobs(
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
        """List what was done in the background for a scope, or with ``everybody`` for all, newest first.

        ``task`` is what was done: ``facts``, ``distill`` and others. ``status`` is ``success``, ``skipped``, ``empty``,
        ``error`` or ``dead_letter``. Each row holds its ``outcome`` word for word, the decisions about facts, and what
        it cost: model, tokens, milliseconds.
        """
        from memstone.engine.work import jobs

        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        return drive(self.engine.run(jobs.list_jobs, given, task, status, limit, everybody=everybody))

    def work(self, seconds: float | None = None, *, all_tenants: bool = False) -> WorkerResult:
        """Be a worker: learn from sessions as they become due, until somebody stops it or the time is over.

        ``seconds=0`` does what is due now. Any number of workers, in any number of processes, may share a store.
        """
        from memstone.engine.work import worker

        return drive(self.engine.run(worker.run_worker, seconds, all_tenants=all_tenants))

    def metrics(
        self, *, user_id: str | int | None = None, everybody: bool = False, since: When | None = None
    ) -> MetricsReport:
        """Count the memories of a user, or with ``everybody`` of all, and how often they are replaced and used.

        ``memory_total_count`` is how many hold now. ``memory_replacement_rate`` is the share of replacements among what
        was written, ``memory_dedup_rate`` that of what was known already among what was learned,
        ``retrieval_hit_rate`` that of memories an answer used among those shown, as far as answers were recorded. A
        rate is None as long as there is nothing to tell; ``counts`` holds what they are made of.
        """
        from memstone.engine import status

        return drive(self.engine.run(status.compute_metrics, user_id, since, everybody=everybody))

    def health(self) -> HealthReport:
        """Say whether memory works: ``level`` is ``healthy``, ``degraded`` or ``unavailable``, ``reasons`` say why.

        ``probe`` tells where writing fails, if it does: a turn and a row of the inbox are written, found and taken back
        in one transaction.
        """
        from memstone.engine import status as health

        return drive(health.check_health(self.engine.parts))

    def status(self) -> EngineInfo:
        """Return every channel and service of the engine: whether it is ``available``, and if not the ``reason``."""
        from memstone.engine import status

        return drive(self.engine.run(status.engine_status))

    def check(self) -> StoreCheck:
        """Check the store: where it is, its schema, and whether it is intact."""
        return drive(self.engine.check())
