"""Memories, their links, entities and relations."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final, Self, TypeAlias

from memstone.model.instant import Instant, datetime_from_instant
from memstone.model.scope import Scope

# --- one remembered thing and who may see it --------------------------------------------------------------------------


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


INDEXED: Final = (Status.ACTIVE, Status.DISABLED, Status.QUARANTINED)
"""The statuses whose rows are in the full text and in the vector index; also those that lists show by default."""

OPEN: Final = (*INDEXED, Status.EVICTED)
"""The statuses of a current version."""

ENDED: Final = (Status.DELETED, Status.SUPERSEDED)
"""The statuses of a memory without a current version. Together with ``OPEN`` these are all."""

LISTED: Final = (*OPEN, Status.DELETED)
"""The statuses by which people find memories, also to undo a deletion."""

APPROVED: Final = (Status.ACTIVE, Status.DISABLED)
"""The statuses of memories that nobody has to approve or restore first."""

ASIDE: Final = (Status.DISABLED, Status.QUARANTINED)
"""The statuses of memories that were put aside, and are not recalled."""

ONCE_ACTIVE: Final = (Status.ACTIVE, Status.SUPERSEDED)
"""The statuses of versions that are active, or were until they were replaced: a look at the past shows them."""


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
        """Whether it was stored although the conversation does not support it; ``data["doubt"]`` says why."""
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
class FoundMemory:
    """A memory as seen through one link."""

    record: Record
    link: Link


@dataclass(slots=True)
class TextDoc:
    """The full-text entry of a memory: analysed words, separated by spaces."""

    body: str
    key: str = ""
    speaker: str = ""
    day: str = ""
    scope: str = ""


# --- people, places and things that memories mention, and how they are related ---------------------------------------


USER: Final = "user"
"""The name and the normal form of the person whose memories these are."""


class EntityType(StrEnum):
    """What sort of thing it is; a concept is anything that nothing better is known about."""

    PERSON = "person"
    ORGANIZATION = "organization"
    CONCEPT = "concept"
    LOCATION = "location"
    EVENT = "event"
    TECHNOLOGY = "technology"
    PRODUCT = "product"


@dataclass(frozen=True, slots=True)
class Entity:
    """Something named in a text; two names are the same when their normal forms are equal, and never otherwise."""

    name: str
    norm: str
    type: str = EntityType.CONCEPT
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """How two entities are related, by their normal forms; ``ended`` when the text says that it is over."""

    source: str
    relation: str
    target: str
    evidence: str = ""
    ended: bool = False
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class EntityFound:
    """What one text names; the ends of every relation are among the entities.

    ``possible`` are normal forms of words that are names only if somebody of that name is known already: a capital at
    the beginning of a sentence says nothing.
    """

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    possible: tuple[str, ...] = ()


NOTHING: Final = EntityFound()


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity as it is stored."""

    id: str
    owner: Scope
    name: str
    norm: str
    type: str
    description: str | None
    updated_at: Instant
    mentions: int = 0


@dataclass(frozen=True, slots=True)
class RelationRow:
    """An edge as one memory states it; ``source`` and ``target`` are ids of entities."""

    id: str
    source: str
    target: str
    type: str
    valid_from: Instant
    valid_to: Instant | None
    memory_seq: int
    updated_at: Instant
    confidence: float = 1.0


def owner_of(scope: Scope) -> Scope:
    """Return whose entities a memory's names become.

    One person is one entity in all runs and for all agents of a user, so the owner is the user; where no user is named
    it is the agent, else the run. Nothing is ever shared between two owners or two tenants.
    """
    if scope.user_id:
        return Scope(scope.tenant_id, user_id=scope.user_id)
    if scope.agent_id:
        return Scope(scope.tenant_id, agent_id=scope.agent_id)
    return Scope(scope.tenant_id, run_id=scope.run_id)


# --- what a model makes of a text -------------------------------------------------------------------------------------


class Vector(bytes):
    """The vector of a text, little-endian float32.

    ``words`` holds a smaller vector for each of its words (signed bytes, one row after another), when the model
    gives them: a search that compares word by word sees what the mean of all words blurs.
    """

    words: bytes

    def __new__(cls, vector: bytes, words: bytes = b"") -> Self:
        """Return the bytes of the vector, and those of its words."""
        made = super().__new__(cls, vector)
        made.words = words
        return made


# --- what belongs to one conversation, so that what was said before a turn can be told --------------------------------


Conversation: TypeAlias = tuple[str, str, str]
PAUSE: Final = timedelta(minutes=30)
"""Without a run to hold it together, a conversation ends with a pause of this length."""


def conversation_of(agent_id: str, run_id: str, layer: str, *, own_words: bool) -> Conversation | None:
    """Return what a memory is a part of, None if it is alone.

    It is the turns of a run, or what was stored in a run as it was said.
    """
    if not own_words or not (run_id or layer == Layer.TURN):
        return None
    return agent_id, run_id, str(layer)


def goes_on(run_id: str, before: Instant, at: Instant) -> bool:
    """Return whether what is said at a time still belongs to what was said before."""
    return bool(run_id) or abs(datetime_from_instant(at) - datetime_from_instant(before)) <= PAUSE


MAX_NAME_CHARS: Final = 80

MAX_FOUND: Final = 32
