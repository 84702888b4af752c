"""Answers about erasure, backups and imports."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from memstone.literals import IdleStatus
from memstone.results.common import Degradation, ErrorInfo

# --- erasure ----------------------------------------------------------------------------------------------------------


class ErasureSubject(TypedDict, total=False):
    """The user, agent, run or memory that an erasure is about."""

    user_id: str
    agent_id: str
    run_id: str
    memory_id: str


class BackupErasure(TypedDict):
    """What happened to a backup. Only the operator sees its path."""

    path: NotRequired[str]
    state: str
    """``rewritten``, ``deleted``, ``clean``, ``missing`` or ``unreachable``."""
    reason: NotRequired[str]
    found: NotRequired[int]
    """How many pieces of what was erased it still holds."""


class ErasureCheck(TypedDict):
    """A check after an erasure."""

    check: str
    """``indexes``, ``graph``, ``log``, ``backups``, ``rows``, ``files`` or ``free space``."""
    ok: bool
    pending: NotRequired[bool]
    """It will be done by itself."""
    points_left: NotRequired[int]
    """Vectors that are still there."""
    entities_left: NotRequired[int]
    """Entities that a graph database still ties to what was erased."""
    copies: NotRequired[list[BackupErasure]]
    left: NotRequired[dict[str, int]]
    """Rows that are still there, by table."""
    pieces: NotRequired[int]
    """How many pieces of text were looked for."""
    found: NotRequired[dict[str, int]]
    """Pieces that are still there, by file."""
    note: NotRequired[str]
    hint: NotRequired[str]
    error: NotRequired[ErrorInfo]


class ErasureCounts(TypedDict):
    """How many rows an erasure affects."""

    erased: dict[str, int]
    """Rows by table."""
    rewritten: int
    """How many rows of others spoke of the subject, and no longer do."""
    kept_for_others: int


class ErasureReport(ErasureCounts):
    """What was erased, with a signature of the store."""

    format: Literal["memstone-erasure"]
    version: int
    id: str
    tenant_id: str
    subject: ErasureSubject
    created_at: str
    checks: list[ErasureCheck]
    complete: bool
    """Every check was passed, and there is nothing that was not looked at."""
    pending: bool
    """What is missing will be done by itself."""
    not_looked_at: list[str]
    """Where something may be left that Memstone cannot look at."""
    to_finish: list[str]
    """What the operator of the database runs to remove it there."""
    sha256: str
    hmac: str


class ErasurePreview(ErasureCounts):
    """What an erasure would remove."""

    dry_run: Literal[True]
    subject: ErasureSubject


class ErasureVerification(TypedDict):
    """Whether this store wrote a report, and whether anything erased has come back."""

    ok: bool
    unchanged: bool
    sealed_by_this_store: bool
    complete: bool
    not_looked_at: list[str]
    """Where something may be left that Memstone cannot look at."""
    left: dict[str, int]
    """Rows that are there, by table."""
    subject: ErasureSubject


# --- backups and imports ----------------------------------------------------------------------------------------------


class BackupFile(TypedDict):
    """A file of a backup."""

    bytes: int
    sha256: str


class BackupEncryption(TypedDict):
    """How a backup is encrypted."""

    cipher: str
    key: str
    """The name of the key; it tells nothing about the key itself."""


class BackupManifest(TypedDict):
    """The manifest of a backup."""

    format: Literal["memstone-backup"]
    version: int
    store: str
    schema: int
    """The version of its schema."""
    tables: dict[str, int]
    """Rows by table."""
    created_at: str
    files: dict[str, BackupFile]
    signature: NotRequired[dict[str, str]]
    """The id of the store's key, and the proof that it was there: ``key``, ``hmac``."""
    columns: NotRequired[dict[str, list[str]]]
    """The columns of each table, for PostgreSQL."""
    tenant: NotRequired[str | None]
    """The tenant that the backup holds, for PostgreSQL; None is all of them."""
    rewritten: NotRequired[bool]
    """Whether somebody was erased from it after it was written, or it got another key."""
    encryption: NotRequired[BackupEncryption]
    """What it is encrypted with; it is missing if it is not."""


class BackupResult(BackupManifest):
    """A new backup."""

    path: str
    key_place: str
    """Where the key is: keep a copy of it elsewhere."""


class BackupVerification(BackupManifest):
    """The result of checking a backup."""

    path: str
    ok: Literal[True]
    origin: str
    """``ours`` or ``foreign``."""


class BackupRemainder(TypedDict):
    """What was left out of a foreign backup: rows by table, and objects of the database."""

    rows: dict[str, int]
    objects: list[str]


class BackupRestore(BackupManifest):
    """The result of restoring a backup."""

    path: str
    origin: str
    """``ours`` or ``foreign``."""
    erased_again: int
    """How many who were erased since the backup were erased again."""
    left_out: NotRequired[BackupRemainder]


class ImportResult(TypedDict):
    """The result of importing an export of another system."""

    format: str
    stored: int
    known: int
    """How many were there already."""
    quarantined: int
    """How many wait until somebody approves them."""
    approved: int
    """How many waited from an earlier import and need no approval now."""
    turns: int
    facts: int
    episodes: int
    identity: int
    queued: int
    """How many pieces are learned from later."""
    skipped: dict[str, int]
    """How many were skipped, by reason."""
    warnings: NotRequired[list[str]]
    degraded: NotRequired[list[Degradation]]
    status: NotRequired[IdleStatus]
    """Why nothing was stored."""
    reason: NotRequired[str]
    hint: NotRequired[str]
