"""Whatever is done in whatever order: the events tell the state, an undo restores the one before, mirrors follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from memstone import Memory, NotFoundError
from memstone.errors import Conflict
from memstone.testing.clock import FakeClock

USERS: Final = ("a", "b", "c")
TEXTS: Final = (
    "the bicycle is blue",
    "the bicycle is red",
    "the bicycle is blue today",
    "a cat sleeps on the sofa",
    "a cat sleeps on the sofa all day",
    "nobody knows the code",
)
OPEN: Final = ("active", "disabled", "quarantined", "evicted")
users, texts = st.sampled_from(USERS), st.sampled_from(TEXTS)
which = st.integers(0, 7)


class Seen(NamedTuple):
    """One memory as it is now: what it says, whether it may be seen, by whom, and who claims its words."""

    text: str
    status: str
    metadata: str
    holders: frozenset[str]
    claims: frozenset[tuple[str, str | None]]


def state_of(lines: Iterable[dict[str, Any]]) -> dict[str, Seen]:
    """The memories that are there, as an export has them."""
    return {
        line["id"]: Seen(
            line["text"],
            line["status"],
            str(line["metadata"]),
            frozenset(link["user_id"] for link in line["links"]),
            frozenset((link["user_id"], link["dedupe"]) for link in line["links"]),
        )
        for line in lines
        if line["type"] == "memory" and line["valid_to"] is None
    }


def replayed(lines: Iterable[dict[str, Any]]) -> dict[str, tuple[str, str, frozenset[str]]]:
    """What the events say, and nothing else."""
    answer: dict[str, tuple[str, str, frozenset[str]]] = {}
    for event in (line for line in lines if line["type"] == "event"):
        name, after = event["memory_id"], event["after"]
        if event["is_deleted"]:
            answer.pop(name, None)
        elif after is not None and after["status"] in OPEN:
            answer[name] = (event["new_text"], after["status"], _holders(event, answer.get(name)))
        if event["event"] == "REPLACE" and event["old_id"] in answer:  # who has one of their own holds the old no more
            text, status, holders = answer[event["old_id"]]
            answer[event["old_id"]] = (text, status, holders - answer[name][2])
    return answer


def _holders(event: dict[str, Any], before: tuple[str, str, frozenset[str]] | None) -> frozenset[str]:
    if "links" in event["after"]:
        return frozenset(link["user_id"] for link in event["after"]["links"])
    return frozenset([event["user_id"]]) if before is None else before[2]


class Machine(RuleBasedStateMachine):
    """A memory, what may be done to it, and what must hold at every moment."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.ids: list[str] = []
        self.held: dict[str, set[str]] = {}
        self.erased: set[str] = set()
        self.before: dict[str, Seen] = {}
        self.cursor = 0
        self.turn = 0
        self.moments: list[tuple[str, frozenset[str]]] = []
        upkeep = {"merge_facts": 0.7, "evict": True, "idle_days": 30}
        embedder = {"provider": "hash", "config": {"dim": 8}}
        config = {"store": {"url": "memory:"}, "embedder": embedder, "upkeep": upkeep}
        self.memory = Memory(config, clock=self.clock)

    def teardown(self) -> None:
        """Give the store back."""
        self.memory.close()

    # --- what is done ---------------------------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Seen]:
        """What is there now."""
        return state_of(self.memory.export(everybody=True))

    def do(self, act: Callable[[], Any]) -> Any:
        """Carry something out that may be refused; then it has changed nothing."""
        now, cursor = self.state, self.memory.review.events(self.cursor, limit=1_000, everybody=True)["cursor"]
        try:
            answer = act()
        except (Conflict, NotFoundError):
            assert self.state == now, "what is refused changes nothing"
            assert self.memory.review.events(cursor, everybody=True)["results"] == []
            return None
        self.before, self.cursor = now, cursor
        after = self.state
        self.ids += [name for name in after if name not in self.ids]
        for name, one in after.items():
            self.held.setdefault(name, set()).update(one.holders)
        active = frozenset(one.text for one in after.values() if one.status == "active")
        self.moments.append((self.clock.now().isoformat(), active))
        self.turn += 1
        self.clock.advance(minutes=1)
        return answer

    def chosen(self, at: int) -> str:
        """One of the memories that were ever there."""
        return self.ids[at % len(self.ids)]

    @initialize(user=users)
    def something(self, user: str) -> None:
        """There is something to begin with."""
        self.do(lambda: self.memory.add(TEXTS[0], user_id=user, infer=False))

    @rule(user=users, text=texts, key=st.sampled_from([None, "k"]))
    def add(self, user: str, text: str, key: str | None) -> None:
        """Say something."""
        self.do(lambda: self.memory.add(text, user_id=user, key=key, infer=False))

    @rule(at=which, text=texts)
    def update(self, at: int, text: str) -> None:
        """Change a text."""
        self.do(lambda: self.memory.update(self.chosen(at), text))

    @rule(at=which, n=st.integers(0, 3))
    def annotate(self, at: int, n: int) -> None:
        """Change nothing but the metadata."""
        self.do(lambda: self.memory.update(self.chosen(at), metadata={"n": n}))

    @rule(at=which)
    def delete(self, at: int) -> None:
        """Delete one."""
        self.do(lambda: self.memory.delete(self.chosen(at)))

    @rule(user=users)
    def delete_all(self, user: str) -> None:
        """Delete all of a user."""
        self.do(lambda: self.memory.delete_all(user_id=user))

    @rule(at=which, verb=st.sampled_from(["disable", "enable", "quarantine", "approve", "reject", "restore"]))
    def put_aside(self, at: int, verb: str) -> None:
        """Change a status."""
        self.do(lambda: getattr(self.memory.review, verb)(self.chosen(at)))

    @rule(at=which, version=st.integers(1, 4))
    def restore_version(self, at: int, version: int) -> None:
        """Let an earlier version hold again."""
        self.do(lambda: self.memory.review.restore(self.chosen(at), version))

    @rule(at=which, user=users)
    def share(self, at: int, user: str) -> None:
        """Let somebody else hold one."""
        self.do(lambda: self.memory.sharing.share(self.chosen(at), user_id=user))

    @rule(at=which, user=users)
    def unshare(self, at: int, user: str) -> None:
        """Take one from somebody."""
        self.do(lambda: self.memory.sharing.unshare(self.chosen(at), user_id=user))

    @rule(at=which, user=users, text=texts)
    def replace(self, at: int, user: str, text: str) -> None:
        """Change one for one of its holders."""
        self.do(lambda: self.memory.sharing.replace(self.chosen(at), text, user_id=user))

    @rule(days=st.sampled_from([0, 300]))
    def consolidate(self, days: int) -> None:
        """Merge what is alike, evict what has faded."""
        self.clock.advance(days=days)
        self.do(lambda: self.memory.admin.consolidate(everybody=True))

    @rule(user=users)
    def erase(self, user: str) -> None:
        """Remove a user for good."""
        now = self.state
        self.memory.admin.erase(user_id=user)
        left = self.state
        self.erased |= {name for name, existing in self.held.items() if user in existing}
        self.before, self.cursor = left, self.memory.review.events(limit=1_000, everybody=True)["cursor"]
        assert all(user not in one.holders for one in left.values())
        assert {name for name in now if now[name].holders - {user}} == left.keys()

    # --- and taken back -------------------------------------------------------------------------------------------

    @rule()
    def undo_what_was_done_last(self) -> None:
        """The newest first; an event that goes with another one is gone by then."""
        wanted = self.before
        done = self.memory.review.events(self.cursor, limit=1_000, everybody=True)["results"]
        if any(event["memory_id"] in self.erased for event in done):
            return
        gone: set[str] = set()
        for event in reversed(done):
            if event["id"] not in gone:
                self.memory.undo(event["id"])
                gone |= {
                    str(one["undoes"])
                    for one in self.memory.review.events(self.cursor, limit=1_000, everybody=True)["results"]
                }
        assert self.state == wanted, "undo restores the state before"
        self.before, self.cursor = (
            self.state,
            self.memory.review.events(self.cursor, limit=1_000, everybody=True)["cursor"],
        )
        self.clock.advance(minutes=1)

    @precondition(lambda self: not self.erased)
    @rule(back=st.integers(1, 12))
    def undo_something(self, back: int) -> None:
        """Take something back, if nothing stands in the way."""
        events = self.memory.review.events(limit=1_000, everybody=True)["results"]
        if events:
            self.do(lambda: self.memory.undo(events[-min(back, len(events))]["id"]))

    @precondition(lambda self: not self.erased)
    @rule(minutes=st.integers(1, 6))
    def rollback(self, minutes: int) -> None:
        """Take back the last minutes; a dry run says before what will come of it."""
        since = self.moments[-min(minutes, len(self.moments))][0]
        tried = self.memory.review.rollback(since=since, dry_run=True, everybody=True)
        done = self.do(lambda: self.memory.review.rollback(since=since, everybody=True))
        assert done is not None
        assert (done["undone"], done["skipped"]) == (tried["undone"], tried["skipped"])

    # --- what must hold -------------------------------------------------------------------------------------------

    @invariant()
    def the_events_tell_the_state(self) -> None:
        """Texts, statuses and holders follow from the history alone."""
        lines = list(self.memory.export(everybody=True))
        state = {name: (one.text, one.status, one.holders) for name, one in state_of(lines).items()}
        answer = replayed(lines)
        assert {name: answer[name] for name in answer.keys() - self.erased} == {
            name: state[name] for name in state.keys() - self.erased
        }

    @invariant()
    def the_mirrors_hold_what_is_indexed(self) -> None:
        """No row too many and none too few."""
        stats = self.memory.stats()
        indexed = sum(one.status != "evicted" for one in self.state.values())
        assert (stats["memories"], stats["fulltext"], stats["vectors"]) == (indexed,) * 3

    @invariant()
    def nobody_sees_what_is_not_theirs_or_put_aside(self) -> None:
        """Lists hold exactly what is theirs, searches nothing else."""
        state, user = self.state, USERS[self.turn % len(USERS)]
        other = {name for name, one in state.items() if user in one.holders}
        for status in ("active", OPEN[self.turn % len(OPEN)]):
            listed = self.memory.get_all(user_id=user, status=status)["results"]
            assert {one["id"] for one in listed} == {name for name in other if state[name].status == status}
        found = self.memory.search("bicycle cat code", user_id=user)["results"]
        assert {one["id"] for one in found} == {name for name in other if state[name].status == "active"}

    @invariant()
    def the_past_shows_nothing_that_nobody_saw_then(self) -> None:
        """What was put aside at a moment is not shown as if it had been seen."""
        if self.moments:
            moment, active = self.moments[self.turn % len(self.moments)]
            then = self.memory.get_all(user_id=USERS[self.turn % len(USERS)], as_of=moment)["results"]
            assert {one["memory"] for one in then} <= active


@pytest.mark.req("X-10", "X-30", "R-20")
def test_any_sequence_of_changes_is_told_by_its_events_and_can_be_taken_back() -> None:
    profile = settings(
        max_examples=20, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    run_state_machine_as_test(Machine, settings=profile)
