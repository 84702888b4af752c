"""What holds at every moment of a companion's life, whatever is said and done: looked up in the tables themselves."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstone import Memory, NotFoundError
from memstone.errors import Conflict, InvalidInput
from memstone.literals import LayerName
from memstone.testing.clock import FakeClock

USERS: Final = ("ann", "bob")
SAID: Final = (
    "My name is Ada and I live in Oslo. I work as a nurse at the harbour clinic, and I love green tea.",
    "I moved to Bergen. I don't like green tea any more. My sister Ida lives in Rome.",
    "We decided to use Postgres for the rota app. I have to call Ida tomorrow. I love my work as a nurse.",
    "I live in Oslo again, and I work as a pilot now.",
)
TEXTS: Final = ("the bicycle is blue", "the bicycle is blue today", "nobody knows the code", "a cat sleeps here")
CONFIG: Final = {
    "preset": "companion",
    "embedder": {"provider": "hash", "config": {"dim": 16}},
    "write": {"mode": "manual", "novelty_chars": 0},
    "upkeep": {"merge_facts": 0.7, "retain_days": {"episode": 365, "turn": 365}},
    "context": {"gate": "always", "false_injection": 0},
    "policy": {"enabled": True},
}

user, which = st.sampled_from(USERS), st.integers(0, 30)
STEPS: Final = st.one_of(
    st.tuples(st.just("talk"), user, st.sampled_from(SAID)),
    st.tuples(st.just("talk"), user, st.sampled_from(SAID)),
    st.tuples(st.just("store"), user, st.sampled_from(TEXTS), st.sampled_from([None, 10])),
    st.tuples(st.just("override"), user, st.sampled_from(TEXTS)),
    st.tuples(st.just("update"), which, st.sampled_from(TEXTS)),
    st.tuples(st.sampled_from(["delete", "disable", "enable", "quarantine", "approve", "restore"]), which),
    st.tuples(st.just("share"), which, user),
    st.tuples(st.just("replace"), which, user, st.sampled_from(TEXTS)),
    st.tuples(st.just("use"), user),
    st.tuples(st.just("undo"), st.integers(1, 6)),
    st.tuples(st.just("summarize"), user),
    st.tuples(st.just("tidy"), st.sampled_from([0, 40, 400])),
)


@dataclass
class Life:
    """A memory on disk, its clock, and what may be done to it."""

    memory: Memory
    clock: FakeClock
    path: Path
    sessions: int = 0

    def rows(self, query: str, *params: Any) -> list[tuple[Any, ...]]:
        """What the file holds."""
        with closing(sqlite3.connect(self.path)) as database:
            return database.execute(query, params).fetchall()

    def seen(self, who: str) -> set[tuple[str, str]]:
        """What somebody sees in any list."""
        layers: list[LayerName] = ["identity", "fact", "episode", "turn"]
        found = self.memory.get_all(user_id=who, layers=layers, limit=1_000)["results"]
        return {(one["id"], one["memory"]) for one in found}

    def chosen(self, at: int) -> str:
        """One of the memories that were ever there, but for what was said word for word."""
        ids = [
            row[0] for row in self.rows("SELECT id FROM memories WHERE layer <> 'turn' GROUP BY id ORDER BY min(seq)")
        ]
        return str(ids[at % len(ids)]) if ids else "none"

    def do(self, step: tuple[Any, ...]) -> None:
        """One step; what cannot be done is refused."""
        verb, *rest = step
        owner = self.memory if verb == "delete" else self.memory.review
        act: Callable[..., Any] = getattr(self, verb, None) or (lambda at: getattr(owner, verb)(self.chosen(at)))
        with suppress(NotFoundError, Conflict, InvalidInput):
            act(*rest)
        self.clock.advance(minutes=7)

    def talk(self, who: str, text: str) -> None:
        """Hold a session."""
        self.sessions += 1
        self.memory.add(text, user_id=who, agent_id="bot", run_id=f"r{self.sessions}")
        self.memory.sessions.end(user_id=who)

    def store(self, who: str, text: str, days: int | None) -> None:
        """Keep a text as it is, for good or for some days."""
        until = None if days is None else self.clock.now() + timedelta(days=days)
        self.memory.add(text, user_id=who, infer=False, expires_at=until)

    def override(self, who: str, text: str) -> None:
        """Keep something in mind."""
        self.memory.identity.add_override(text, user_id=who)

    def update(self, at: int, text: str) -> None:
        """Change one for all."""
        self.memory.update(self.chosen(at), text)

    def share(self, at: int, who: str) -> None:
        """Let somebody else hold one."""
        self.memory.sharing.share(self.chosen(at), user_id=who)

    def replace(self, at: int, who: str, text: str) -> None:
        """For one; nobody else may notice."""
        others = {other: self.seen(other) for other in USERS if other != who}
        self.memory.sharing.replace(self.chosen(at), text, user_id=who)
        assert {other: self.seen(other) for other in others} == others, "a replacement is for one"

    def use(self, who: str) -> None:
        """Show a model what is known, which counts as a use."""
        self.memory.context("What do you know about tea, work and bicycles?", user_id=who)

    def undo(self, back: int) -> None:
        """Take something back, if nothing stands in the way."""
        events = self.memory.review.events(limit=1_000, everybody=True)["results"]
        if events:
            self.memory.undo(events[-min(back, len(events))]["id"])

    def summarize(self, who: str) -> None:
        """Shorten what is long."""
        self.memory.admin.summarize(user_id=who, max_tokens=0)

    def tidy(self, days: int) -> None:
        """A pass; a second one at the same instant finds nothing to do."""
        self.clock.advance(days=days)
        self.memory.admin.consolidate(everybody=True)
        done, cursor = self.stored(), self.memory.review.events(limit=1_000, everybody=True)["cursor"]
        again = self.memory.admin.consolidate(everybody=True)
        assert self.stored() == done
        assert self.memory.review.events(cursor, everybody=True)["results"] == []
        counts = {name: count for name, count in again.items() if isinstance(count, int)}
        assert counts == dict.fromkeys(counts, 0)

    def stored(self) -> list[tuple[Any, ...]]:
        """Every version and every link, as they are."""
        links = self.rows("SELECT * FROM links ORDER BY 1, 2, 3, 4, 5")
        return self.rows("SELECT * FROM memories ORDER BY seq") + links


# --- what must hold ---------------------------------------------------------------------------------------------------


def every_active_memory_is_held_by_somebody(life: Life) -> None:
    alone = """SELECT m.id, m.text FROM memories m WHERE m.valid_to IS NULL AND m.status = 'active'
               AND NOT EXISTS (SELECT 1 FROM links l WHERE l.tenant_id = m.tenant_id AND l.memory_seq = m.seq)"""
    assert life.rows(alone) == []


def the_indexes_hold_what_is_live_and_nothing_else(life: Life) -> None:
    live = "SELECT seq FROM memories WHERE valid_to IS NULL AND status IN ('active', 'disabled', 'quarantined')"
    wanted = sorted(life.rows(live))
    assert sorted(life.rows("SELECT seq FROM words")) == wanted
    vectors = """SELECT v.memory_seq FROM vectors v JOIN indexes i
                 ON i.tenant_id = v.tenant_id AND i.signature = v.signature AND i.state = 'active'"""
    assert sorted(life.rows(vectors)) == wanted


def nothing_is_found_that_may_not_be_seen(life: Life) -> None:
    """Every way of reading, against a definition of its own."""
    now, memory = life.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"), life.memory
    visible = """SELECT DISTINCT m.id FROM memories m
                 JOIN links l ON l.tenant_id = m.tenant_id AND l.memory_seq = m.seq AND l.user_id = ?
                 WHERE m.valid_to IS NULL AND m.status = 'active' AND (m.expires_at IS NULL OR m.expires_at > ?)"""
    for who in USERS:
        allowed = {row[0] for row in life.rows(visible, who, now)}
        assert {one for one, _ in life.seen(who)} == allowed
        assert set(_read(memory, who)) <= allowed


def _read(memory: Memory, who: str) -> Iterator[str]:
    """The ids that searches, contexts and the views of a companion give."""
    for layer in ("identity", "fact", "episode", "turn"):
        for strategy in ("hybrid", "vector", "text", "recent", "exact"):
            query = "tea bicycle work code cat Postgres"
            for one in memory.search(query, user_id=who, layers=[layer], strategy=strategy)["results"]:
                yield one["id"]
    pack = memory.context("Which bicycle, which tea, which work do I like?", user_id=who)
    yield from (citation.memory_id for citation in pack.citations)
    yield from (one["id"] for one in memory.profile.facts(user_id=who)["results"])
    yield from (one["id"] for one in memory.sessions.episodes(user_id=who)["results"])
    known = memory.identity.get(user_id=who)
    yield from (one["id"] for one in [*known["overrides"], *known["derived"]])


def the_events_tell_what_is_there(life: Life) -> None:
    """A turn is what was said, and has an event only when it goes or comes back."""
    answer: dict[str, str] = {}
    events = "SELECT memory_id, new_text, is_deleted, after FROM events ORDER BY seq"
    for memory_id, new_text, is_deleted, after in life.rows(events):
        if is_deleted:
            answer.pop(memory_id, None)
        elif after is not None and new_text is not None:
            answer[memory_id] = new_text
    current = {id_: (text, layer) for id_, text, layer in life.rows(_CURRENT)}
    assert answer.keys() >= {id_ for id_, (_, layer) in current.items() if layer != "turn"}
    assert [id_ for id_, text in answer.items() if id_ in current and current[id_][0] != text] == []
    closed = {row[0] for row in life.rows("SELECT id FROM memories GROUP BY id HAVING max(valid_to IS NULL) = 0")}
    assert answer.keys() - current.keys() <= closed


_CURRENT: Final = "SELECT id, text, layer FROM memories WHERE valid_to IS NULL"
INVARIANTS: Final = (
    every_active_memory_is_held_by_somebody,
    the_indexes_hold_what_is_live_and_nothing_else,
    nothing_is_found_that_may_not_be_seen,
    the_events_tell_what_is_there,
)


@pytest.mark.req("R-4", "R-18", "X-26", "P-16", "S-34")
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, min_size=3, max_size=10))
def test_whatever_is_said_and_done_the_invariants_hold(plan: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, clock = Path(folder) / "memstone.db", FakeClock()
        store = {"url": f"sqlite:///{path}", "durable": False}
        with Memory({**CONFIG, "store": store}, clock=clock) as memory:
            life = Life(memory, clock, path)
            for step in plan:
                life.do(step)
                for invariant in INVARIANTS:
                    invariant(life)
