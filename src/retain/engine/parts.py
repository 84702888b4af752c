"""What the engine is made of, handed to it by the composition root."""

from __future__ import annotations

from dataclasses import dataclass

from retain.engine.embedding import Embedding
from retain.model.instant import Instant, instant
from retain.model.policy import Policy
from retain.ports.clock import Clock
from retain.ports.index import VectorIndex
from retain.ports.io import Io
from retain.ports.ledger import Ledger
from retain.ports.llm import Llm


@dataclass(frozen=True, slots=True)
class Parts:
    """The ports and policy every step works with."""

    ledger: Ledger
    index: VectorIndex
    embedding: Embedding
    clock: Clock
    io: Io
    policy: Policy
    tenant_id: str
    llm: Llm | None = None

    def now(self) -> Instant:
        """The current time as canonical text."""
        return instant(self.clock.now())
