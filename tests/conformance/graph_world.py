"""A store in which memories are kept together with what they name, step by step as the engine does it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from memstone.compose import compose_engine
from memstone.engine.engine import Engine
from memstone.engine.runtime import Runtime
from memstone.engine.store.mention import note_of, write_mentions
from memstone.engine.store.versions import end_version, insert_version
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.memory import EntityFound, Layer, Link, Record, Status
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.ports.models import Llm
from memstone.testing.modes import run
from tests.english import ENGLISH

T = TypeVar("T")

NOW: Final = "2026-01-01T00:00:00.000000Z"
LATER: Final = "2026-02-01T00:00:00.000000Z"
ALICE: Final = Scope(user_id="alice")
BOB: Final = Scope(user_id="bob")


@dataclass(slots=True)
class GraphWorld:
    """Stores memories and takes them out again."""

    engine: Engine

    @property
    def parts(self) -> Runtime:
        """What the engine works with."""
        return self.engine.runtime

    async def add(self, text: str, *scopes: Scope, found: EntityFound | None = None, **fields: Any) -> Record:
        """Store a memory that these scopes see."""
        links = [Link(scope, NOW) for scope in scopes or (ALICE,)]
        record = fresh(text, tenant_id=links[0].scope.tenant_id, **fields)

        async def work(tx: Tx) -> None:
            await insert_version(tx, ENGLISH, record, links, [])
            await write_mentions(tx, [note_of(record, links, ENGLISH.names, found)], NOW)

        await self.parts.ledger.write(work)
        return record

    async def end(self, *records: Record) -> None:
        """Delete memories."""

        async def work(tx: Tx) -> None:
            for record in records:
                await end_version(tx, record, Status.DELETED, NOW)
            await tx.entities.leave(records[0].tenant_id, [record.seq for record in records])

        await self.parts.ledger.write(work)

    async def names(self, scope: Scope = ALICE) -> dict[str, str]:
        """What a scope's memories speak of, with the type of each."""
        return {
            row.norm: row.type
            for row in await self.parts.ledger.read(lambda tx: tx.entities.list_entities(scope, 1_000))
        }

    async def count(self, table: str) -> int:
        """How many rows a table has, whoever they belong to."""

        async def work(tx: Any) -> int:
            (row,) = await tx.entities._sql.rows(f"SELECT count(*) FROM {table}")  # noqa: S608 - named by a test
            return int(row[0])

        return await self.parts.ledger.read(work)


def fresh(text: str, *, at: Instant = NOW, layer: str = Layer.FACT, role: str = "user", **fields: Any) -> Record:
    """A memory that is not stored yet."""
    return Record(new_id(), text, "", at, at, at, at, at, layer=layer, source_role=role, **fields)


def in_world(
    mode: str,
    scenario: Callable[[GraphWorld], Coroutine[Any, Any, T]],
    path: Path | None = None,
    llm: Llm | Callable[..., str] | None = None,
) -> T:
    """Play a scenario in an empty store, in memory unless a path is given."""
    url = f"sqlite:///{path}" if path else "memory:"

    async def play(_: object) -> T:
        settings = {"store": {"url": url, "durable": False}, "embedder": {"provider": "none"}}
        engine = compose_engine(settings, mode, llm=llm)
        await engine.open()
        try:
            return await scenario(GraphWorld(engine))
        finally:
            await engine.close()

    return run(mode, play)
