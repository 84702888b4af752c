"""What scenarios about consolidation do to a memory, whichever face stands before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import event_of, text_hash
from memstone.engine.store.versions import ensure_space, insert_version
from memstone.engine.store.write import current_space
from memstone.model.ids import new_id
from memstone.model.memory import Kind, Layer, Link, Record, Status
from memstone.model.policy import Upkeep
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from tests.english import ENGLISH
from tests.faces.harness import Face, Opens

TIDY: Final = Upkeep(evict=True, merge_facts=0.9)
UNTOLD: Final = ("jobs", "leases")
"""What every pass writes to: that it ran."""


async def parts_of(face: Face) -> Runtime:
    """What the engine of a face is made of."""
    engine = face.memory.engine
    await engine.open()
    return engine.runtime


async def with_upkeep(face: Face, policy: Upkeep = TIDY, **changed: Any) -> Runtime:
    """The same with this policy from now on, and without a profile: what stands in one is never put aside."""
    runtime = await parts_of(face)
    retrieval_policy = runtime.policy.retrieval
    gated = replace(retrieval_policy, gate="heuristic" if retrieval_policy.gate == "profile" else retrieval_policy.gate)
    face.memory.engine.runtime = replace(
        runtime, policy=replace(runtime.policy, upkeep=replace(policy, **changed), retrieval=gated)
    )
    return face.memory.engine.runtime


async def keep(face: Face, text: str, *, layer: str = Layer.FACT, dedupe: str | None = None, **rest: Any) -> str:
    """Store a memory of any layer as something that was learned now; gives its id."""
    runtime = await parts_of(face)
    values = {name: rest.pop(name, "") for name in ("user_id", "agent_id", "run_id")}
    scope = Scope(runtime.tenant_id, values["user_id"] or "alice", values["agent_id"], values["run_id"])
    now = runtime.now()
    record = Record(
        id=new_id(),
        text=text,
        hash=text_hash(text),
        occurred_at=now,
        created_at=now,
        updated_at=now,
        valid_from=now,
        anchor_at=now,
        tenant_id=runtime.tenant_id,
        layer=layer,
        source="digest",
    )
    record = replace(record, **rest)
    space = await current_space(runtime)
    (vector,) = await runtime.embedding.many([text])

    async def work(tx: Tx) -> None:
        await ensure_space(tx, runtime.tenant_id, space)
        await insert_version(tx, ENGLISH, record, [Link(scope, now, dedupe or new_id())], [(space, vector)])  # type: ignore[list-item]
        await tx.events.append([event_of("ADD", record, scope, now)])

    await runtime.ledger.write(work)
    return record.id


async def episode(face: Face, text: str, **rest: Any) -> str:
    """Store what a session was about; lists such as ``topics`` may be given."""
    lists = {name: rest.pop(name) for name in ("topics", "entities", "facts") if name in rest}
    return await keep(face, text, layer=Layer.EPISODE, kind=Kind.EPISODIC, data=lists, **rest)


async def current(face: Face, memory_id: str) -> Record | None:
    """The version that holds now, whatever its status."""
    runtime = await parts_of(face)
    return await runtime.ledger.peek(lambda tx: tx.memories.current(runtime.tenant_id, memory_id))


async def there(face: Face, memory_id: str) -> Record:
    """The same, of one that must be there."""
    record = await current(face, memory_id)
    assert record is not None, "it is gone"
    return record


async def status_of(face: Face, memory_id: str) -> str:
    """The status of the last version."""
    runtime = await parts_of(face)
    record = await runtime.ledger.peek(lambda tx: tx.memories.last(runtime.tenant_id, memory_id))
    assert record is not None
    return str(record.status)


async def links_of(face: Face, memory_id: str) -> list[Link]:
    """Who sees a memory."""
    runtime, record = await parts_of(face), await there(face, memory_id)
    return await runtime.ledger.peek(lambda tx: tx.links.of(runtime.tenant_id, record.seq))


async def use(face: Face, memory_id: str, times: int = 1) -> None:
    """Count uses of a memory now, through each of its links."""
    runtime, record = await parts_of(face), await there(face, memory_id)
    links = await links_of(face, memory_id)
    for _ in range(times):
        await runtime.ledger.write(
            lambda tx: tx.links.record_uses([(record.seq, one.scope) for one in links], runtime.now())
        )


async def indexes_hold_what_is_live(face: Face) -> bool:
    """Whether the full text and the vectors have exactly the live memories."""
    counts = await face.stats()
    return bool(counts["fulltext"] == counts["vectors"] == counts["memories"])


def content(opens: Opens) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, but for the log of passes."""
    named = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'fulltext%'"
    )
    tables = [row[0] for row in opens.rows(named)]
    every = {table: f"SELECT * FROM {table}" for table in tables if table not in UNTOLD}  # noqa: S608 - names of tables
    return {table: sorted(opens.rows(query), key=repr) for table, query in every.items()}


def happened(history: list[dict[str, Any]]) -> list[str]:
    """The verbs of a history."""
    return [event["event"] for event in history]


EVICTED, ACTIVE = str(Status.EVICTED), str(Status.ACTIVE)
