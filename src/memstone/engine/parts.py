"""What the engine is made of, handed to it by the composition root."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from memstone.core.showing.fence import Fence
from memstone.engine.access.quotas import Meter
from memstone.engine.blocks import BlockCache
from memstone.engine.late_receipts import LateReceipts
from memstone.engine.storing.embedding import Embedding
from memstone.engine.storing.tally import Tally
from memstone.engine.tuning import Tunings
from memstone.engine.waiting import Waiting
from memstone.engine.watch import Watch
from memstone.engine.workshop import Workshop
from memstone.model.access import Bounds
from memstone.model.curator import Curator
from memstone.model.instant import Instant, instant
from memstone.model.policy import Policy
from memstone.model.scope import Scope
from memstone.ports.index import TextIndex, VectorIndex
from memstone.ports.io import Clock, Io
from memstone.ports.ledger import Ledger
from memstone.ports.models import Llm, PairReader, Reranker, SharedLlm
from memstone.ports.read_cache import one_look
from memstone.ports.storage import Sealing, StoreKey

T = TypeVar("T")


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
    home_tenant: str
    """The tenant that runs the store: its administrators are told where files lie."""

    store_key: StoreKey
    sealing: Sealing
    curator: Curator | None = None
    llm: Llm | None = None
    reranker: Reranker | None = None
    blocks: BlockCache = field(default_factory=BlockCache)
    workshop: Workshop = field(default_factory=Workshop)
    fences: dict[str, Fence] = field(default_factory=dict)
    at_home: bool = True
    """Whether these parts are the operator's: what is counted for all tenants together is told to nobody else."""

    bounds: Bounds | None = None
    """What these parts reach at most; None is the whole tenant. See ``memstone.engine.access.bounds``."""

    asker: str = ""
    """Who shares what was worked out before with nobody else of the tenant; '' for who reaches every person."""

    unnamed: str = ""
    """The user whom a call means that has to name somebody and names nobody; '' where that is an error."""

    meter: Meter = field(default_factory=Meter)
    tunings: Tunings = field(default_factory=Tunings)
    untuned: Policy | None = None
    """What is configured, where ``policy`` is what holds for somebody; see ``memstone.engine.tuning``."""

    metadata_names: set[tuple[Scope | Bounds, str]] = field(default_factory=set)
    """Names of fields that rows within a reach carry as metadata, as far as somebody filtered by them."""

    watch: Watch = field(default_factory=Watch)
    tally: Tally = field(default_factory=Tally)
    late: LateReceipts = field(default_factory=LateReceipts)
    waiting: Waiting = field(default_factory=Waiting)
    dry_run: bool = False
    """Whether the ledger takes every change back; see ``memstone.engine.dry_run``."""

    @property
    def at_hand(self) -> bool:
        """Whether what is held waits for nothing outside this process."""
        return self.ledger.in_process and self.index.in_process

    @property
    def alone(self) -> bool:
        """Whether reading and embedding wait for nothing outside this process."""
        return self.at_hand and self.embedding.in_process and self.reranker is None

    async def together(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What a coroutine that only reads and embeds gives: as one unit, where nothing of that leaves this process."""
        with one_look():
            return await (self.io.together(work) if self.alone else work())

    @property
    def reader(self) -> PairReader | None:
        """What reads two texts together: the embedder, where its model was fitted to it."""
        embedder = self.embedding.embedder
        return embedder if isinstance(embedder, PairReader) else None

    @property
    def zone(self) -> tzinfo:
        """Where "yesterday" is meant."""
        return ZoneInfo(self.policy.curation.timezone)

    def scope(self, given: Mapping[str, object], *, reading: bool = False) -> Scope:
        """The scope a caller named, within the bounds: what they name is filled in, anybody else is refused.

        ``reading`` is for what looks at memories only, each of which the ledger checks; see ``Bounds.narrow``.
        """
        scope = Scope.of(**given, tenant_id=self.tenant_id)
        return scope if self.bounds is None else self.bounds.narrow(scope, reading=reading)

    def required_scope(self, given: Mapping[str, object], *, reading: bool = False) -> Scope:
        """The same where somebody must be named: whoever is meant by naming nobody, or else ``ScopeError``."""
        scope = self.scope(given, reading=reading)
        return replace(scope, user_id=self.unnamed) if scope.is_open and self.unnamed else scope.required()

    def of(self, tenant_id: str) -> Parts:
        """The same for another tenant; a model that is shared out counts for each by itself."""
        if tenant_id == self.tenant_id:
            return self
        llm = self.llm.of(tenant_id) if self.llm is not None and isinstance(self.llm, SharedLlm) else self.llm
        embedding = self.embedding.of(tenant_id)
        ledger = self.ledger.of(tenant_id)
        return replace(self, tenant_id=tenant_id, ledger=ledger, llm=llm, embedding=embedding, at_home=False)

    def now(self) -> Instant:
        """The current time as canonical text."""
        return instant(self.clock.now())
