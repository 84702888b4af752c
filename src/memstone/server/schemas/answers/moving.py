"""What was erased for good, written into a backup, or taken in from elsewhere."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from memstone.server.schemas.answers.parts import Degraded, Failure, means, sometimes
from memstone.server.schemas.base import Answer


class Subject(Answer):
    """Whom or what an erasure was about."""

    user_id: str = sometimes()
    agent_id: str = sometimes()
    run_id: str = sometimes()
    memory_id: str = sometimes()


class CopyErased(Answer):
    """What became of a backup. Where it lies is told to the operator only."""

    path: str = sometimes()
    state: str = means("`rewritten`, `deleted`, `clean`, `missing` or `unreachable`")
    reason: str = sometimes()
    found: int = sometimes("pieces of what was erased that it still holds")


class ErasureCheck(Answer):
    """One thing that was looked at afterwards."""

    check: str = means("`indexes`, `log`, `backups`, `rows`, `files` or `free space`")
    ok: bool
    pending: bool = sometimes("it will be done without anybody's doing")
    points_left: int = sometimes("vectors that are still there")
    copies: list[CopyErased] = sometimes()
    left: dict[str, int] = sometimes("rows that are still there, by table")
    pieces: int = sometimes("how many pieces of text were looked for")
    found: dict[str, int] = sometimes("pieces that are still there, by file")
    note: str = sometimes()
    hint: str = sometimes()
    error: Failure = sometimes()


class ErasureReport(Answer):
    """What was removed for good, sealed by the store."""

    format: Literal["memstone-erasure"]
    version: int
    id: str
    tenant_id: str
    subject: Subject
    created_at: str
    erased: dict[str, int] = means("rows by table")
    rewritten: int = means("how much of others' spoke of it, and does so no longer")
    kept_for_others: int
    checks: list[ErasureCheck]
    complete: bool = means("every check was passed, and there is nothing that was not looked at")
    pending: bool = means("what is missing will be done without anybody's doing")
    not_looked_at: list[str] = means("where something may be left that Memstone cannot look at")
    to_finish: list[str] = means("what the operator of the database runs to remove it there")
    sha256: str
    hmac: str


class ErasureTrial(Answer):
    """What an erasure would remove."""

    dry_run: Literal[True]
    subject: Subject
    erased: dict[str, int] = means("rows by table")
    rewritten: int = means("how much of others' speaks of it")
    kept_for_others: int


class ErasureVerified(Answer):
    """Whether a report is what this store wrote, and whether anything from before it has come back."""

    ok: bool
    unchanged: bool
    sealed_by_this_store: bool
    complete: bool
    not_looked_at: list[str] = means("where something may be left that Memstone cannot look at")
    left: dict[str, int] = means("rows that are there, by table")
    subject: Subject


class BackupFile(Answer):
    """A file of a backup."""

    bytes: int
    sha256: str


class BackupMade(Answer):
    """A backup."""

    path: str
    format: Literal["memstone-backup"]
    version: int
    store: str
    schema_: int = Field(alias="schema", description="the version of its schema")
    tables: dict[str, int] = means("rows by table")
    created_at: str
    files: dict[str, BackupFile]
    signature: dict[str, str] = means("the id of the store's key, and what shows that it was there: `key`, `hmac`")
    key_place: str = means("where the key is kept: keep a copy of it elsewhere")


class Imported(Answer):
    """What became of what another system exported."""

    format: str
    stored: int
    known: int = means("were there already")
    quarantined: int = means("wait until somebody approves them")
    turns: int
    facts: int
    episodes: int
    identity: int
    queued: int = means("are learned from in a while")
    skipped: dict[str, int] = means("by reason")
    warnings: list[str] = sometimes()
    degraded: list[Degraded] = sometimes()
    status: str = sometimes("`paused` or `disabled`, where nothing was stored")
    reason: str = sometimes()
    hint: str = sometimes()
