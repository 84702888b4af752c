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
    """Where one line of a block comes from."""

    memory_id: str
    turn_id: str | None
    """The turn that says it, if it is known."""
    date: str
    line: str
    memory: str
    """What the memory says, without what stands around it in the line."""


class ContextBlock(TypedDict):
    """What to put into a prompt: a ``ContextPack`` as JSON."""

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
    """A memory that was shown, and how many tokens it took."""

    id: str
    layer: LayerName
    tokens: int
    score: float | None
    counts: bool
    """Whether it counts as used: what is in the profile is shown whatever the message is."""


class ReceiptOmission(TypedDict):
    """A memory that was considered and not shown, and why."""

    id: str
    reason: str


class ContextReceipt(ScopeIds):
    """The record of one block. It names memories by their ids and never holds their text."""

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
    """How much of a memory an answer told."""

    id: str
    used: bool
    share: float
    """The share of it that the answer told, from 0 to 1."""


class UseReport(TypedDict):
    """Which of the memories that were shown an answer used."""

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
    """Something the user asked to keep in mind."""

    id: str
    memory: str


class ProfileFactItem(TypedDict):
    """A fact of the profile."""

    id: str
    memory: str
    about: str
    """What makes it important: ``pinned``, ``identity``, ``health``, ``family``, ``home``, ``work`` and so on."""


class ProfileTurnItem(TypedDict):
    """A turn of the user that no fact covers."""

    id: str
    memory: str
    date: str


class ProfileResult(TypedDict):
    """What a model is always shown of a user, most important first."""

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
    """What a model would be shown, redacted."""

    text: str
    tokens: int
    budget: int
    gate: GateReason
    chosen: list[str]
    """The ids of the memories that would be shown."""
    dropped: list[ReceiptOmission]


class PreviewHit(MemoryItem, HitSource):
    """A memory that a search would find, with what speaks for it."""

    score: float
    score_parts: ScoreBreakdown
    tier: TierName
    tokens: int
    vec_score: float | None
    fts_score: float | None
    injected: bool
    """Whether the block holds it."""


class SearchResolution(TypedDict):
    """How a search was carried out in the end."""

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
    """What a search would find, best first, as far as it fits. Nothing of it counts as used."""

    items: list[PreviewHit]
    block: str
    """What a chat with this message would be given, to the line."""
    resolution: SearchResolution
    totals: PreviewTotals
