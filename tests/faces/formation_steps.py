"""Steps of the scenarios in which memory forms later, and a stand-in for whoever distils."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from memstone.engine.layers.distill import DistillResult
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import dedupe_value, event_of, text_hash
from memstone.engine.store.turns import Turn
from memstone.engine.store.versions import insert_version
from memstone.model.event import EventType
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.memory import Kind, Layer, Link, Origin, Record
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from tests.english import ENGLISH
from tests.faces.harness import Face
from tests.patience import LONG as LONGEST

LONG: Final = "I live in Oslo with my sister Anna, and I have worked as a nurse at the big hospital for nine years."
SESSION: Final = {"user_id": "alice", "agent_id": "guide", "run_id": "monday"}
Step = Callable[[], Awaitable[Any]]


def later(mode: str, **more: Any) -> dict[str, Any]:
    """Settings of a memory that forms later; closing it has all the time a busy machine may take."""
    return {"write": {"mode": mode, "shutdown_seconds": LONGEST, **more}}


def digests(mode: str = "session_end", **more: Any) -> dict[str, Any]:
    """The same for one that distils sessions."""
    return later(mode, digest=True, **more)


async def outcomes(face: Face, **scope: Any) -> list[str]:
    """How the jobs that form memory ended, the first one first."""
    logged = reversed((await face.admin.jobs(**(scope or {"everybody": True})))["results"])
    return [job["outcome"] for job in logged if job["task"] in ("facts", "distill")]


async def episodes(face: Face, **scope: Any) -> list[str]:
    """The episodes of alice (or of whoever is named), sorted."""
    found = await face.get_all(layers=["episode"], **(scope or {"user_id": "alice"}))
    return sorted(item["memory"] for item in found["results"])


async def pending(face: Face) -> tuple[int, int]:
    """How many signals wait, and how many were given up."""
    stats = await face.stats()
    return stats["pending"], stats["dead"]


@dataclass
class Distiller:
    """Distils what it is given into one episode, or fails as it is told to; ``during`` is done while it thinks."""

    seen: list[list[str]] = field(default_factory=list)
    fails: list[DistillResult | BaseException] = field(default_factory=list)
    during: Step | None = None
    breaks: bool = False
    at_once: int = 0
    most_at_once: int = 0

    async def __call__(self, _: Runtime, scope: Scope, turns: list[Turn], *, occurred_at: Instant) -> DistillResult:
        """See ``memstone.engine.layers.distill.distill_session``."""
        self.seen.append([turn.text for turn in turns])
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.during is not None:
                await self.during()
        finally:
            self.at_once -= 1
        if self.fails:
            failure = self.fails.pop(0)
            if isinstance(failure, BaseException):
                raise failure
            return failure
        return self._made(scope, turns, occurred_at)

    def _made(self, scope: Scope, turns: list[Turn], occurred_at: Instant) -> DistillResult:
        async def commit(tx: Tx, now: Instant) -> dict[str, Any]:
            text = "About " + " / ".join(turn.text[:20] for turn in turns)
            record = Record(
                id=new_id(),
                text=text,
                hash=text_hash(text),
                occurred_at=occurred_at,
                created_at=now,
                updated_at=now,
                valid_from=occurred_at,
                anchor_at=occurred_at,
                tenant_id=scope.tenant_id,
                origin=Origin.DERIVED,
                layer=Layer.EPISODE,
                kind=Kind.EPISODIC,
                source="digest",
            )
            dedupe = dedupe_value(scope, ("user_id", "agent_id", "run_id"), speaker="", key=new_id(), text="")
            await insert_version(tx, ENGLISH, record, [Link(scope, now, dedupe)], [])
            await tx.events.append([event_of(EventType.ADD, record, scope, now)])
            if self.breaks:
                raise RuntimeError("it broke after it had stored the episode")
            return {"episode_id": record.id, "episode_seq": record.seq, "facts": 0}

        return DistillResult("distilled", commit, "thinker", 120, 30)


@pytest.fixture
def distiller(monkeypatch: pytest.MonkeyPatch) -> Distiller:
    """Stands in for whoever distils."""
    made = Distiller()
    monkeypatch.setattr("memstone.engine.background.sessions.distill_session", made)
    return made
