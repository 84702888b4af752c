"""Common parts of several answers."""

from typing import Any, Generic, Literal, NotRequired, TypeVar

from typing_extensions import TypedDict

from memstone.literals import IdleStatus, RouteName

Item = TypeVar("Item")


class ScopeIds(TypedDict):
    """The user, agent and run that something belongs to; None if it belongs to none in particular."""

    user_id: str | None
    agent_id: str | None
    run_id: str | None


class ErrorInfo(TypedDict):
    """Why something could not be done."""

    code: str
    """What kind of error it is, in a word that does not change."""
    message: str
    hint: str
    """What to do about it; may be empty."""
    retryable: bool
    """Whether the same call may work later."""


class IdleReason(TypedDict):
    """Why nothing is stored for a user, and what you can do about it."""

    status: IdleStatus
    reason: str
    hint: str


class Degradation(TypedDict):
    """A step that could not be used, and why; the answer was made without it."""

    step: NotRequired[str]
    """The step that was left out, such as ``embedding``."""
    channel: NotRequired[str]
    """The part of a search that was left out: ``dense``, ``text``, ``entity`` or ``rerank``.

    ``vector_store`` says that a store outside did not answer, and the index beside the ledger did in its place;
    ``graph_store`` says the same of a graph database, and the ledger answered in its place.
    """
    code: str
    message: str
    hint: NotRequired[str]
    retryable: NotRequired[bool]
    reason: NotRequired[str | None]
    """What is wrong with an embedder, in a word."""


class Evidence(TypedDict):
    """The words that a memory was learned from."""

    turn: str | None
    """The id of the turn, if that is stored."""
    start: int
    """Where the words begin in the turn, in characters."""
    end: int
    quote: NotRequired[str]
    """The words themselves."""
    also: NotRequired[list[str]]
    """The ids of further turns that say it."""
    verdict: NotRequired[Literal["verified", "doubtful"]]
    """Whether the conversation supports what a model learned."""


class AttachmentInfo(TypedDict, total=False):
    """A part of a message that is not text."""

    type: str
    """What kind of thing it is: ``image``, ``audio``, ``file`` and so on."""
    name: str
    media_type: str
    url: str


class CacheHits(TypedDict):
    """How often the vector of a text was cached, and how often it had to be computed."""

    hits: int
    misses: int


class CacheStats(CacheHits):
    """The state of the cache of vectors."""

    size: int
    max_size: int


class GateReason(TypedDict):
    """Which part of the memory the gate chose for a message, and why."""

    route: RouteName
    reason: str


class GateResult(GateReason):
    """Which part of the memory the gate chose for a message, why, and by which words."""

    matched: str
    """The words that decided it; may be empty."""
    asks_memory: bool
    """Whether the message asks for something that was said or is known."""


class BatchMark(TypedDict):
    """Common fields of the answers to batches."""

    replayed: NotRequired[Literal[True]]
    """This batch was carried out before, and this is the answer it got then."""


class BatchAnswer(BatchMark, Generic[Item]):
    """The result of each item of a batch, in order."""

    results: list[Item]


class VersionState(TypedDict, total=False):
    """A version of a memory without its text; fields with their usual value are left out."""

    kind: str
    layer: str
    key: str | None
    status: str
    version: int
    metadata: dict[str, Any]
    occurred_at: str
    expires_at: str | None
