"""What the engine is made of, handed to it by the composition root."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import tzinfo
from zoneinfo import ZoneInfo

from retain.engine.blocks import BlockCache
from retain.engine.embedding import Embedding
from retain.model.instant import Instant, instant
from retain.model.policy import Policy
from retain.ports.clock import Clock
from retain.ports.index import VectorIndex
from retain.ports.io import Io
from retain.ports.ledger import Ledger
from retain.ports.llm import Llm
from retain.ports.reranker import Reranker
from retain.ports.texts import TextIndex


@dataclass(frozen=True, slots=True)
class Parts:
    """The ports and policy every step works with."""

    ledger: Ledger
    index: VectorIndex
    texts: TextIndex
    embedding: Embedding
    clock: Clock
    io: Io
    policy: Policy
    tenant_id: str
    llm: Llm | None = None
    reranker: Reranker | None = None
    blocks: BlockCache = field(default_factory=BlockCache)

    @property
    def zone(self) -> tzinfo:
        """Where "yesterday" is meant."""
        return ZoneInfo(self.policy.curation.timezone)

    def now(self) -> Instant:
        """The current time as canonical text."""
        return instant(self.clock.now())
