"""A ledger with vectors in it, and the plain definition of what an index over it must answer and a store must hold."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from memstone.adapters.sqlite.ledger import SqliteConfig, SqliteLedger
from memstone.adapters.vectors.memory import MemoryConfig, MemoryVectors
from memstone.engine.store.versions import Space, end_version, ensure_space, insert_version
from memstone.engine.transfer.mirror import MirroredIndex
from memstone.model.ids import new_id
from memstone.model.memory import Layer, Link, Record, Status
from memstone.model.query import VectorQuery
from memstone.model.scope import Scope
from memstone.ports.index import DenseHit, Point, VectorIndex
from memstone.ports.io import Io
from memstone.ports.ledger import Ledger, Tx
from tests.english import ENGLISH

DIM: Final = 6
SPACE: Final = Space(f"test:random:{DIM}", DIM)
NOW: Final = "2026-01-01T00:00:00.000000Z"
USERS: Final = ("alice", "bob", "")
AGENTS: Final = ("", "bot", "cat")
RUNS: Final = ("", "r1", "r2")
LAYERS: Final = (Layer.FACT, Layer.TURN)
ALICE: Final = Scope(user_id="alice")
BOB: Final = Scope(user_id="bob")


@dataclass(slots=True)
class Held:
    """A memory that is indexed."""

    record: Record
    vector: Any
    links: set[Scope]


@dataclass(slots=True)
class World:
    """Changes the ledger as the engine does and remembers what is there."""

    ledger: Ledger
    chance: random.Random
    tenant: str = "default"
    held: dict[int, Held] = field(default_factory=dict)

    @classmethod
    async def open(cls, io: Io, path: Path | None = None, seed: int = 1) -> World:
        """An empty one."""
        ledger = SqliteLedger(SqliteConfig(path=path, durable=False), io)
        await ledger.open()
        return cls(ledger, random.Random(seed))  # noqa: S311 - test data

    def vector(self) -> Any:
        """A random direction."""
        raw = np.array([self.chance.gauss(0, 1) for _ in range(DIM)], dtype="<f4")
        return (raw / np.linalg.norm(raw)).astype("<f4")

    def scope(self) -> Scope:
        """A random one that names somebody."""
        while True:
            made = Scope(self.tenant, *(self.chance.choice(names) for names in (USERS, AGENTS, RUNS)))
            if not made.is_open:
                return made

    async def add(self, *links: Scope, vector: Any = None, layer: str = Layer.FACT) -> int:
        """Store a memory that these scopes see."""
        chosen = self.vector() if vector is None else np.asarray(vector, dtype="<f4")
        record = Record(new_id(), "text", "", NOW, NOW, NOW, NOW, NOW, tenant_id=self.tenant, layer=layer)
        made = [Link(replace(link, tenant_id=self.tenant), NOW) for link in links]
        await self.ledger.write(lambda tx: _enter(tx, replace(record), made, chosen.tobytes()))
        seq = await self.ledger.read(lambda tx: _seq(tx, record))
        self.held[seq] = Held(replace(record, seq=seq), chosen, {link.scope for link in made})
        return seq

    async def end(self, seq: int) -> None:
        """Delete a memory."""
        gone = self.held.pop(seq)
        await self.ledger.write(lambda tx: end_version(tx, gone.record, Status.DELETED, NOW))

    async def link(self, seq: int, scope: Scope) -> None:
        """Let somebody else see it, too."""
        added = replace(scope, tenant_id=self.tenant)

        async def work(tx: Tx) -> None:
            await tx.links.add(self.tenant, seq, [Link(added, NOW)])
            await tx.vectors.touch(self.tenant, [seq])

        if added not in self.held[seq].links:
            await self.ledger.write(work)
            self.held[seq].links.add(added)

    async def unlink(self, seq: int, scope: Scope) -> None:
        """Take it away from somebody who is not the last."""

        async def work(tx: Tx) -> None:
            await tx.vectors.touch(self.tenant, [seq])
            await tx.links.remove(seq, scope)

        await self.ledger.write(work)
        self.held[seq].links.remove(scope)

    async def step(self) -> None:
        """Change something, mostly by adding."""
        what, seqs = self.chance.random(), sorted(self.held)
        seq = self.chance.choice(seqs) if seqs else 0
        if not seqs or what < 0.55:
            links = [self.scope() for _ in range(self.chance.choice((1, 1, 2, 4)))]
            await self.add(*dict.fromkeys(links), layer=self.chance.choice(LAYERS))
        elif what < 0.7:
            await self.end(seq)
        elif what < 0.9 or len(self.held[seq].links) == 1:
            await self.link(seq, self.scope())
        else:
            await self.unlink(seq, min(self.held[seq].links, key=str))

    def query(self, limit: int | None = None) -> VectorQuery:
        """A random question."""
        among = self.chance.sample(range(1, 400), 150) if self.chance.random() < 0.3 else None
        layers = self.chance.choice(((), ("fact",), ("fact", "turn"), ("identity",)))
        return VectorQuery(
            SPACE.signature,
            self.vector(),
            limit or self.chance.choice((1, 3, 10, 1000)),
            self.scope(),
            layers,
            None if among is None else frozenset(among),
        )

    def expected(self, query: VectorQuery) -> list[DenseHit]:
        """The definition: everything the scope sees, by cosine, cut."""
        seen = [
            DenseHit(seq, float(current.vector @ query.vector))
            for seq, current in self.held.items()
            if self.sees(seq, query.scope)
            and (not query.layers or current.record.layer in query.layers)
            and (query.among is None or seq in query.among)
        ]
        return sorted(seen, key=lambda hit: -hit.cosine)[: query.limit]

    def sees(self, seq: int, scope: Scope) -> bool:
        """Whether one and the same link has everything the scope names."""
        names = [name for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
        links = self.held[seq].links if seq in self.held else set()
        return any(all(getattr(link, name) == getattr(scope, name) for name in names) for link in links)

    async def agrees(self, index: VectorIndex, query: VectorQuery) -> None:
        """Fail unless an index answers by the definition; one that clips cosines at zero may."""
        hits = [hit for hit in await index.search(query) if not hit.extra]
        expected = self.expected(query)
        assert [hit.seq for hit in hits] == [hit.seq for hit in expected], query
        assert np.allclose(clipped(hits), clipped(expected), atol=1e-5)


def clipped(hits: Sequence[DenseHit]) -> list[float]:
    """The cosines as scores."""
    return [max(0.0, hit.cosine) for hit in hits]


async def _enter(tx: Tx, record: Record, links: Sequence[Link], vector: bytes) -> None:
    await ensure_space(tx, record.tenant_id, SPACE)
    await insert_version(tx, ENGLISH, record, links, [(SPACE, vector)])


async def _seq(tx: Tx, record: Record) -> int:
    found = await tx.memories.current(record.tenant_id, record.id)
    assert found is not None
    return found.seq


def empty_store(io: Io) -> MemoryVectors:
    """A vector store in this process."""
    return MemoryVectors(MemoryConfig(), io)


def mirrored(world: World, io: Io, store: MemoryVectors | None = None, name: str = "memories") -> MirroredIndex:
    """An index that fills a store from the ledger."""
    return MirroredIndex(world.ledger, store or empty_store(io), name, io)


def near(world: World, limit: int = 10, scope: Scope = ALICE) -> VectorQuery:
    """A question about everything a scope sees."""
    return VectorQuery(SPACE.signature, world.vector(), limit, scope)


async def points(store: MemoryVectors) -> list[Point]:
    """Everything the store holds, in every collection."""
    return [point for info in await store.collections() for point in await store.scan(info.name, None, 100_000)]


async def holds_what_the_ledger_says(store: MemoryVectors, *worlds: World) -> None:
    """Fail unless there is one point for every link of every memory, and nothing else."""
    wanted = {
        (world.tenant, seq, link.user_id, link.agent_id, link.run_id)
        for world in worlds
        for seq, current in world.held.items()
        for link in current.links
    }
    fields = ("tenant_id", "seq", "user_id", "agent_id", "run_id")
    found = [tuple(point.payload[name] for name in fields) for point in await points(store)]
    assert set(found) == wanted
    assert len(found) == len(wanted)
