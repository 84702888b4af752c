"""One remembered thing and who may see it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from memstone.model.instant import Instant
from memstone.model.scope import Scope


class Layer(StrEnum):
    """What sort of row it is."""

    IDENTITY = "identity"
    FACT = "fact"
    EPISODE = "episode"
    TURN = "turn"


class Kind(StrEnum):
    """What sort of knowledge it is; the first four are what callers call a type."""

    FACTUAL = "factual"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    SEMANTIC = "semantic"
    OVERRIDE = "override"
    DERIVED = "derived"
    NARRATIVE = "narrative"


class Status(StrEnum):
    """Whether and how it may be seen."""

    ACTIVE = "active"
    DISABLED = "disabled"
    SUPERSEDED = "superseded"
    EVICTED = "evicted"
    QUARANTINED = "quarantined"
    DELETED = "deleted"


class Origin(StrEnum):
    """Where it comes from; stamped by the engine, never by the caller."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    IMPORT = "import"
    DERIVED = "derived"
    SYSTEM = "system"


INDEXED = frozenset({Status.ACTIVE, Status.DISABLED, Status.QUARANTINED})
"""The statuses whose rows stand in the full text and in the vector index."""


@dataclass(slots=True)
class Record:
    """One version of one remembered thing: a row of ``memories``."""

    id: str
    text: str
    hash: str
    occurred_at: Instant
    created_at: Instant
    updated_at: Instant
    valid_from: Instant
    anchor_at: Instant
    tenant_id: str = "default"
    seq: int = 0
    version: int = 1
    valid_to: Instant | None = None
    expires_at: Instant | None = None
    origin: str = Origin.USER
    trust: float = 1.0
    layer: str = Layer.FACT
    kind: str = Kind.FACTUAL
    key: str | None = None
    data: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    salience: float = 0.5
    source_count: int = 1
    status: str = Status.ACTIVE
    source: str = "manual"
    source_role: str | None = None
    model: str | None = None
    origin_id: str | None = None
    tokens: int = 0

    @property
    def doubtful(self) -> bool:
        """Whether it was stored although the conversation does not bear it out; ``data["doubt"]`` says why."""
        return bool(self.data.get("doubt"))


DIRECT = "direct"
SHARED = "shared"
MIRROR = "mirror"
"""Where a link comes from: its holder said the thing, somebody shared it with them, or it was said in a project."""


@dataclass(slots=True)
class Link:
    """Who may see a memory. ``dedupe`` is unique per tenant while the memory is current."""

    scope: Scope
    created_at: Instant
    dedupe: str | None = None
    origin: str = DIRECT
    use_count: int = 0
    last_used_at: Instant | None = None


@dataclass(slots=True)
class Found:
    """A memory as seen through one link."""

    record: Record
    link: Link


@dataclass(slots=True)
class TextDoc:
    """What the full text holds of a memory: analysed words, separated by blanks."""

    body: str
    key: str = ""
    speaker: str = ""
    day: str = ""
    scope: str = ""
