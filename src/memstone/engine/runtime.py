"""What every step of the engine receives: ports, policy, models, clock and state."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from math import inf
from time import monotonic, perf_counter
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

from memstone.core.prompt.fence import Fence
from memstone.engine.access.quotas import Meter
from memstone.engine.block_cache import BlockCache
from memstone.engine.deferred_receipts import LateReceipts
from memstone.engine.policy import Tunings
from memstone.engine.store.embedding import Embedding
from memstone.engine.store.repeat_counter import RepeatCounter
from memstone.engine.worker_state import WorkerState
from memstone.language.language import Language
from memstone.language.text.normal import ESTIMATE, TokenCounter
from memstone.model.access import Bounds
from memstone.model.curator import Curator
from memstone.model.instant import Instant, to_instant
from memstone.model.policy import Policy
from memstone.model.scope import Scope
from memstone.ports.graph import GraphMirror
from memstone.ports.index import TextIndex, VectorIndex
from memstone.ports.io import Clock, Io, Observer
from memstone.ports.ledger import Ledger
from memstone.ports.models import Llm, PairReader, Reranker, SharedLlm
from memstone.ports.read_cache import one_look
from memstone.ports.storage import Sealer, StoreKey

# --- what this process knows of the inbox, so that nobody asks the database whether something waits -------------------


_REST: Final = 5.0
_LONGEST: Final = 600.0
"""What failed again is left alone for so many seconds, and every time for twice as long, up to this."""

_BELIEVED: Final = 60.0
"""So long it is believed that nothing waits: another process may have put something off."""

_MOST: Final = 1_000


class RetryState:
    """Whether anything waits for another try, per tenant, and for whom a try has just failed.

    Looked up once a minute at most while nothing waits, else told by whoever puts something off or learns from it. Safe
    to share between threads: each step is one operation on a dictionary, and a step that is lost costs a look.
    """

    def __init__(self) -> None:
        self._anything: dict[str, float] = {}
        self._resting: dict[Scope, tuple[float, float]] = {}

    def record_deferral(self, tenant_id: str) -> None:
        """Record that something was deferred."""
        self._anything[tenant_id] = inf

    def is_empty(self, tenant_id: str) -> bool:
        """Return whether this process knows that nothing waits; False if it does not know."""
        return monotonic() < self._anything.get(tenant_id, 0.0) < inf

    async def anything(self, runtime: Runtime) -> bool:
        """Return whether anything is waiting, as far as this process knows."""
        if self.is_empty(runtime.tenant_id):
            return False
        return self._anything.get(runtime.tenant_id) == inf or await self.look(runtime)

    async def look(self, runtime: Runtime) -> bool:
        """Ask the ledger whether anything is waiting."""
        tenant = Scope(runtime.tenant_id)
        self._anything.pop(runtime.tenant_id, None)  # what is put off meanwhile is not forgotten
        found = bool(await runtime.ledger.peek(lambda tx: tx.signals.list_pending(tenant, 1)))
        return self._anything.setdefault(runtime.tenant_id, inf if found else monotonic() + _BELIEVED) == inf

    def rests(self, scope: Scope) -> bool:
        """Return whether a retry for this owner failed a moment ago."""
        rest = self._resting.get(scope)
        return rest is not None and rest[0] > monotonic()

    def record_attempt(self, scope: Scope, *, in_vain: bool) -> None:
        """Record another try."""
        if not in_vain:
            self._resting.pop(scope, None)
            return
        if len(self._resting) >= _MOST:
            now = monotonic()
            self._resting = {one: rest for one, rest in self._resting.items() if rest[0] > now}
        seconds = min(2 * self._resting.get(scope, (0.0, _REST / 2))[1], _LONGEST)
        self._resting[scope] = monotonic() + seconds, seconds


# --- those who watch an engine at work; nearly always nobody, which costs nothing -------------------------------------


_NOBODY: Final = nullcontext()


class Watch:
    """The watchers of a memory, shared by its callers and its worker."""

    def __init__(self) -> None:
        self._observers: tuple[Observer, ...] = ()

    def add(self, observer: Observer) -> None:
        """Add a watcher; one that is already there is still called only once."""
        if observer not in self._observers:
            self._observers = (*self._observers, observer)

    def step(self, name: str) -> AbstractContextManager[None]:
        """Report how long the code inside takes, even if it fails."""
        return self._time_step(name) if self._observers else _NOBODY

    @contextmanager
    def _time_step(self, name: str) -> Iterator[None]:
        began = perf_counter()
        try:
            yield
        finally:
            self._tell(name, perf_counter() - began)

    def laps(self, full_text: str, ms: Mapping[str, float]) -> None:
        """Report durations that were measured already, in milliseconds."""
        for name, took in ms.items() if self._observers else ():
            self._tell(f"{full_text}.{name}", took / 1_000)

    def record_gate(self, route: str) -> None:
        """Report which part of the memory the gate chose."""
        for one in self._observers:
            one.record_gate(route)

    def _tell(self, name: str, seconds: float) -> None:
        for one in self._observers:
            one.took(name, seconds)


# --- what the engine is made of, handed to it by the composition root -------------------------------------------------


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Runtime:
    """The ports and the policy that every step works with."""

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
    sealing: Sealer
    language: Language
    """What reads text without a model; everything that only holds for one language is asked of it."""

    graph: GraphMirror | None = None
    """A graph database that mirrors the entities and relations of the ledger."""

    curator: Curator | None = None
    llm: Llm | None = None
    withheld_llm: Llm | None = None
    """The model that is configured, where what somebody says may not leave this machine: then ``llm`` is None."""

    reranker: Reranker | None = None
    token_counter: TokenCounter = ESTIMATE
    """What a text takes of a budget; what is stored beside a memory is always the estimate."""

    blocks: BlockCache = field(default_factory=BlockCache)
    worker_state: WorkerState = field(default_factory=WorkerState)
    fences: dict[str, Fence] = field(default_factory=dict)
    at_home: bool = True
    """Whether this runtime is the operator's: what is counted for all tenants together is told to nobody else."""

    bounds: Bounds | None = None
    """What this runtime reaches at most; None is the whole tenant. See ``memstone.engine.access.bounds``."""

    asker: str = ""
    """Who shares what was worked out before with nobody else of the tenant; '' for who reaches every person."""

    unnamed: str = ""
    """The user whom a call means that has to name somebody and names nobody; '' where that is an error."""

    meter: Meter = field(default_factory=Meter)
    tunings: Tunings = field(default_factory=Tunings)
    untuned: Policy | None = None
    """What is configured, where ``policy`` is what holds for somebody; see ``memstone.engine.policy``."""

    metadata_names: set[tuple[Scope | Bounds, str]] = field(default_factory=set)
    """Names of fields that rows within a reach carry as metadata, as far as somebody filtered by them."""

    watch: Watch = field(default_factory=Watch)
    tally: RepeatCounter = field(default_factory=RepeatCounter)
    late: LateReceipts = field(default_factory=LateReceipts)
    waiting: RetryState = field(default_factory=RetryState)
    dry_run: bool = False
    """Whether the ledger takes every change back; see ``memstone.engine.dry_run``."""

    @property
    def at_hand(self) -> bool:
        """Whether the ledger and the indexes are in this process."""
        return self.ledger.in_process and self.index.in_process and self.graph is None

    @property
    def alone(self) -> bool:
        """Whether reading and embedding need nothing outside this process."""
        return self.at_hand and self.embedding.in_process and self.reranker is None

    async def together(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine that only reads and embeds as one unit, if it needs nothing outside this process."""
        with one_look():
            return await (self.io.together(work) if self.alone else work())

    @property
    def reader(self) -> PairReader | None:
        """The reader of pairs of texts: the embedder, if its model was fitted for it."""
        embedder = self.embedding.embedder
        return embedder if isinstance(embedder, PairReader) else None

    @property
    def zone(self) -> tzinfo:
        """The time zone in which words such as "yesterday" are resolved."""
        return ZoneInfo(self.policy.curation.timezone)

    def scope(self, values: Mapping[str, object], *, reading: bool = False) -> Scope:
        """Return the scope of a call within the bounds, or raise ``Forbidden`` for anybody else.

        ``reading`` is for what looks at memories only, each of which the ledger checks; see ``Bounds.narrow``.
        """
        scope = Scope.of(**values, tenant_id=self.tenant_id)
        return scope if self.bounds is None else self.bounds.narrow(scope, reading=reading)

    def required_scope(self, values: Mapping[str, object], *, reading: bool = False) -> Scope:
        """Return the scope of a call that must be about somebody, or raise ``ScopeError``."""
        scope = self.scope(values, reading=reading)
        return replace(scope, user_id=self.unnamed) if scope.is_open and self.unnamed else scope.require_owner()

    def of(self, tenant_id: str) -> Runtime:
        """Return the same runtime for another tenant; a shared model counts for each tenant."""
        if tenant_id == self.tenant_id:
            return self
        model = self.withheld_llm or self.llm
        llm = model.of(tenant_id) if model is not None and isinstance(model, SharedLlm) else model
        embedding = self.embedding.of(tenant_id)
        if self.graph is not None:
            self.graph.watch(tenant_id)
        ledger = self.ledger.of(tenant_id)
        return replace(
            self, tenant_id=tenant_id, ledger=ledger, llm=llm, withheld_llm=None, embedding=embedding, at_home=False
        )

    def now(self) -> Instant:
        """Return the current time as canonical text."""
        return to_instant(self.clock.now())
