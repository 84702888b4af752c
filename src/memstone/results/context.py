"""Answers about what a model is shown: the block, its receipt, the profile, and previews."""

from typing import Literal

from typing_extensions import TypedDict

from memstone.literals import LayerName, Strategy, TierName
from memstone.results.common import Degradation, GateReason, GateResult, ScopeIds
from memstone.results.memories import HitSource, MemoryItem, ScoreBreakdown

# --- the block and its receipt ----------------------------------------------------------------------------------------


class BlockSection(TypedDict):
    """One part of a block."""

    name: str
    heading: str
    lines: list[str]


class BlockCitation(TypedDict):
    """The source of one line of a block."""

    memory_id: str
    turn_id: str | None
    """The turn that says it, if it is known."""
    date: str
    line: str
    memory: str
    """What the memory says, without what stands around it in the line."""


class ContextBlock(TypedDict):
    """The block for a prompt: a ``ContextPack`` as JSON."""

    text: str
    stable: str
    """The part that stays the same, byte for byte, until the memory changes."""
    volatile: str
    """The part that belongs to this message and this day."""
    tokens: int
    budget: int
    empty: bool
    receipt_id: str
    """Empty when no receipt could be stored."""
    sections: list[BlockSection]
    citations: list[BlockCitation]
    gate: GateResult
    degraded: list[Degradation]
    warnings: list[str]


class ReceiptChoice(TypedDict):
    """A memory that was shown, and its number of tokens."""

    id: str
    layer: LayerName
    tokens: int
    score: float | None
    counts: bool
    """Whether it counts as used: what is in the profile is shown whatever the message is."""


class ReceiptOmission(TypedDict):
    """A memory that was considered but not shown, and why."""

    id: str
    reason: str


class ContextReceipt(ScopeIds):
    """The record of one block. It names memories by id and never contains their text."""

    id: str
    created_at: str
    query: str
    """The message, with secrets masked; only its beginning if it is long."""
    gate: GateResult
    budget: int
    tokens: int
    considered: int
    chosen: list[ReceiptChoice]
    dropped: list[ReceiptOmission]
    ms: dict[str, float]
    """How long each step took."""
    degraded: list[Degradation]
    used: list[str] | None
    """The memories that the answer took something from; None until an answer is recorded."""


class MemoryUse(TypedDict):
    """How much of a memory an answer used."""

    id: str
    used: bool
    share: float
    """The share of it that the answer told, from 0 to 1."""


class UseReport(TypedDict):
    """Which of the shown memories an answer used."""

    receipt_id: str
    used: list[str]
    unused: list[str]
    results: list[MemoryUse]


class FeedbackResult(TypedDict):
    """The memories that feedback was about."""

    event: Literal["FEEDBACK"]
    useful: bool
    ids: list[str]


# --- the profile ------------------------------------------------------------------------------------------------------


class ProfileInstructionItem(TypedDict):
    """A standing instruction in the profile."""

    id: str
    memory: str


class ProfileFactItem(TypedDict):
    """A fact of the profile."""

    id: str
    memory: str
    about: str
    """What makes it important: ``pinned``, ``identity``, ``health``, ``family``, ``home``, ``work`` and so on."""


class ProfileTurnItem(TypedDict):
    """A turn in the profile: the user's own words that no fact covers."""

    id: str
    memory: str
    date: str


class ProfileResult(TypedDict):
    """What a model always sees about a user, most important first."""

    instructions: list[ProfileInstructionItem]
    facts: list[ProfileFactItem]
    turns: list[ProfileTurnItem]
    left_out: list[ReceiptOmission]
    tokens: int
    profile_tokens: int
    """How many tokens it may have, beside the instructions."""
    complete: bool
    """Whether everything that may be in it is in it."""


# --- previews ---------------------------------------------------------------------------------------------------------


class ContextPreview(TypedDict):
    """What a model would see, with secrets and personal data masked."""

    text: str
    tokens: int
    budget: int
    gate: GateReason
    chosen: list[str]
    """The ids of the memories that would be shown."""
    dropped: list[ReceiptOmission]


class PreviewHit(MemoryItem, HitSource):
    """A memory that a search would find, and why."""

    score: float
    score_parts: ScoreBreakdown
    tier: TierName
    tokens: int
    vec_score: float | None
    fts_score: float | None
    injected: bool
    """Whether the block holds it."""


class SearchResolution(TypedDict):
    """How a search was carried out."""

    strategy: Strategy
    embedding: str | None
    vectors: bool
    rerank: bool
    degraded: list[Degradation]
    fallback_reason: str | None
    """Why it was not carried out as asked."""


class PreviewTotals(TypedDict):
    """How much was found, and how much of it fits."""

    found: int
    shown: int
    tokens: int
    max_tokens: int


class SearchPreview(TypedDict):
    """What a search would find, best first, as far as it fits. Nothing counts as used."""

    items: list[PreviewHit]
    block: str
    """What a chat with this message would be given, to the line."""
    resolution: SearchResolution
    totals: PreviewTotals
