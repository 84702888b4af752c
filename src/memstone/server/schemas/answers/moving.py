"""What was erased for good, written into a backup, or taken in from elsewhere."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from memstone.server.schemas.answers.parts import Degraded, Failure, described_field, optional_field
from memstone.server.schemas.base import Answer


class Subject(Answer):
    """Whom or what an erasure was about."""

    user_id: str = optional_field()
    agent_id: str = optional_field()
    run_id: str = optional_field()
    memory_id: str = optional_field()


class CopyErased(Answer):
    """What became of a backup. Where it lies is told to the operator only."""

    path: str = optional_field()
    state: str = described_field("`rewritten`, `deleted`, `clean`, `missing` or `unreachable`")
    reason: str = optional_field()
    found: int = optional_field("pieces of what was erased that it still holds")


class ErasureCheck(Answer):
    """One thing that was looked at afterwards."""

    check: str = described_field("`indexes`, `log`, `backups`, `rows`, `files` or `free space`")
    ok: bool
    pending: bool = optional_field("it will be done without anybody's doing")
    points_left: int = optional_field("vectors that are still there")
    copies: list[CopyErased] = optional_field()
    left: dict[str, int] = optional_field("rows that are still there, by table")
    pieces: int = optional_field("how many pieces of text were looked for")
    found: dict[str, int] = optional_field("pieces that are still there, by file")
    note: str = optional_field()
    hint: str = optional_field()
    error: Failure = optional_field()


class ErasureReport(Answer):
    """What was removed for good, sealed by the store."""

    format: Literal["memstone-erasure"]
    version: int
    id: str
    tenant_id: str
    subject: Subject
    created_at: str
    erased: dict[str, int] = described_field("rows by table")
    rewritten: int = described_field("how much of others' spoke of it, and does so no longer")
    kept_for_others: int
    checks: list[ErasureCheck]
    complete: bool = described_field("every check was passed, and there is nothing that was not looked at")
    pending: bool = described_field("what is missing will be done without anybody's doing")
    not_looked_at: list[str] = described_field("where something may be left that Memstone cannot look at")
    to_finish: list[str] = described_field("what the operator of the database runs to remove it there")
    sha256: str
    hmac: str


class ErasureTrial(Answer):
    """What an erasure would remove."""

    dry_run: Literal[True]
    subject: Subject
    erased: dict[str, int] = described_field("rows by table")
    rewritten: int = described_field("how much of others' speaks of it")
    kept_for_others: int


class ErasureVerified(Answer):
    """Whether a report is what this store wrote, and whether anything from before it has come back."""

    ok: bool
    unchanged: bool
    sealed_by_this_store: bool
    complete: bool
    not_looked_at: list[str] = described_field("where something may be left that Memstone cannot look at")
    left: dict[str, int] = described_field("rows that are there, by table")
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
    tables: dict[str, int] = described_field("rows by table")
    created_at: str
    files: dict[str, BackupFile]
    signature: dict[str, str] = described_field(
        "the id of the store's key, and what shows that it was there: `key`, `hmac`"
    )
    key_place: str = described_field("where the key is kept: keep a copy of it elsewhere")


class Imported(Answer):
    """What became of what another system exported."""

    format: str
    stored: int
    known: int = described_field("were there already")
    quarantined: int = described_field("wait until somebody approves them")
    turns: int
    facts: int
    episodes: int
    identity: int
    queued: int = described_field("are learned from in a while")
    skipped: dict[str, int] = described_field("by reason")
    warnings: list[str] = optional_field()
    degraded: list[Degraded] = optional_field()
    status: str = optional_field("`paused` or `disabled`, where nothing was stored")
    reason: str = optional_field()
    hint: str = optional_field()
