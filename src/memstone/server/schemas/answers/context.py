"""What a model is shown, the account of it, and what a search would find."""

from __future__ import annotations

from memstone.server.schemas.answers.memories import ScoreParts
from memstone.server.schemas.answers.parts import Degraded, Gate, GateDecision, Whose, described_field
from memstone.server.schemas.base import Answer
from memstone.server.schemas.memories import MemoryItem


class Section(Answer):
    """One part of a block."""

    name: str
    heading: str
    lines: list[str]


class Citation(Answer):
    """Where one line of a block comes from."""

    memory_id: str
    turn_id: str | None = described_field("what was said, when that is known")
    date: str
    line: str
    memory: str = described_field("what the memory says, without what stands around it in the line")


class PackBesides(Answer):
    """What a block is made of."""

    stable: str = described_field("the part that stays the same, byte for byte, until what it is made of changes")
    volatile: str = described_field("the part that belongs to this message and this day")
    receipt_id: str = described_field("where the account of it is; '' when none could be kept")
    sections: list[Section]
    citations: list[Citation]
    gate: GateDecision
    degraded: list[Degraded]
    warnings: list[str]


class Chosen(Answer):
    """A memory that was shown, and what it cost."""

    id: str
    layer: str
    tokens: int
    score: float | None
    counts: bool = described_field("whether it counts as used: what stands in the profile is shown whatever is asked")


class Dropped(Answer):
    """A memory that was considered and is not shown, and why."""

    id: str
    reason: str


class Receipt(Whose):
    """The account of one block. It names memories by their ids and never holds their text."""

    id: str
    created_at: str
    query: str = described_field("what was asked, with secrets masked; the beginning of it where it is long")
    gate: GateDecision
    budget: int
    tokens: int
    considered: int
    chosen: list[Chosen]
    dropped: list[Dropped]
    ms: dict[str, float] = described_field("how long each step took")
    degraded: list[Degraded]
    used: list[str] | None = described_field(
        "the memories that the answer took something from; null until one is known"
    )


class ProfileInstruction(Answer):
    """What the user asked to keep in mind."""

    id: str
    memory: str


class KnownFact(Answer):
    """A fact of the profile."""

    id: str
    memory: str
    about: str = described_field(
        "what makes it important: `pinned`, `identity`, `health`, `family`, `home`, `work`, `preference`, `project` or "
        "`other`"
    )


class OwnWords(Answer):
    """What the user said and no fact holds."""

    id: str
    memory: str
    date: str


class Profile(Answer):
    """What a model is always shown of a user, most important first."""

    instructions: list[ProfileInstruction]
    facts: list[KnownFact]
    turns: list[OwnWords]
    left_out: list[Dropped]
    tokens: int
    profile_tokens: int = described_field("how many it may have, beside the instructions")
    complete: bool = described_field("whether everything that may be in it is in it")


class PreviewedBesides(Answer):
    """What a preview of a block is made of."""

    gate: Gate
    chosen: list[str] = described_field("the ids of what would be shown")
    dropped: list[Dropped]


class Candidate(MemoryItem):
    """A memory that a search would find, with what speaks for it."""

    score: float
    score_parts: ScoreParts
    tier: str = described_field("which channel it comes from: `hybrid`, `vector`, `keyword` or `recent`")
    tokens: int
    vec_score: float | None
    fts_score: float | None
    injected: bool = described_field("whether the block holds it")


class HowSearched(Answer):
    """How it was looked for in the end."""

    strategy: str
    embedding: str | None
    vectors: bool
    rerank: bool
    degraded: list[Degraded]
    fallback_reason: str | None = described_field("why not as it was asked for")


class Fitting(Answer):
    """How much was found, and how much of it fits."""

    found: int
    shown: int
    tokens: int
    max_tokens: int


class Candidates(Answer):
    """What a search would find, best first, as far as it fits. Nothing of it counts as used."""

    items: list[Candidate]
    block: str = described_field("what a chat with this message would be given, to the line")
    resolution: HowSearched
    totals: Fitting


class UseOfMemory(Answer):
    """How much of a memory an answer told."""

    id: str
    used: bool
    share: float = described_field("the share of it, from 0 to 1, that the answer told")


class UseBesides(Answer):
    """What was found out about an answer."""

    receipt_id: str
    results: list[UseOfMemory]


class JudgedBesides(Answer):
    """How that stands in the history."""

    event: str
