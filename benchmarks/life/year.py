"""Living through it: sessions as they come, a pass at the end of each day, and a look at what is there."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from time import process_time
from typing import Any, Final

from benchmarks.life.sessions import Session
from memstone import Memory
from memstone.core.portrait import is_identity_grade
from memstone.language.en.identity import identity_category, is_lasting
from memstone.testing.clock import FakeClock

TAU: Final = 30.0
SETTINGS: Final[dict[str, Any]] = {
    "preset": "companion",
    "write": {"mode": "manual"},
    "embedder": {"provider": "hash"},
    "upkeep": {"retain_days": {"episode": 120, "turn": 90}},
}
"""A companion that keeps episodes for four months and transcripts for three, so that a year shows where it ends."""

_LAYERS: Final = "SELECT layer, status, count(*) FROM memories WHERE valid_to IS NULL GROUP BY layer, status"
_USED_LATELY: Final = """
SELECT count(*) FROM memories m JOIN links l ON l.memory_seq = m.seq
WHERE m.status = 'evicted' AND m.valid_to IS NULL AND m.updated_at = ? AND l.last_used_at > ?"""


@dataclass(slots=True)
class Day:
    """How it stood at the end of one day."""

    day: int
    sessions: int
    facts: int
    episodes: int
    turns: int
    evicted: int
    megabytes: float
    session_ms: float
    """What one session cost on average: to keep it, to form memory of it, to ask about it."""

    pass_ms: float
    wrong_evictions: int
    done: dict[str, int] = field(default_factory=dict)


def live(
    path: Path,
    script: Sequence[Session],
    days: int,
    *,
    passes: float = 1,
    settings: Mapping[str, Any] = SETTINGS,
    ask: bool = True,
    tell: Callable[[Day], None] = lambda _: None,
) -> tuple[list[Day], Memory, FakeClock]:
    """Live every day of it, with so many passes a day (0: only one, at the very end); the memory is left open."""
    clock = FakeClock()
    start = clock.now()
    memory = Memory({**settings, "store": {"url": f"sqlite:///{path}", "durable": False}}, clock=clock)
    found = []
    for day in range(days):
        today = [one for one in script if day * 24 <= one.at < (day + 1) * 24]
        last = day == days - 1
        ends = _passes(day, passes) if passes else [24.0 * days] if last else []
        spent = pass_ms = 0.0
        done: dict[str, int] = {}
        for at, what in sorted(
            [(one.at, one) for one in today] + [(at, None) for at in ends], key=lambda pair: pair[0]
        ):
            clock.set(start + timedelta(hours=at))
            began = process_time()
            if what is not None:
                _have(memory, what, ask=ask)
                spent += process_time() - began
                continue
            answer = memory.admin.consolidate(everybody=True)
            pass_ms += 1_000 * (process_time() - began)
            done = {name: done.get(name, 0) + count for name, count in answer.items() if isinstance(count, int)}
        found.append(_day(path, clock.now(), day, today, 1_000 * spent, pass_ms, done))
        tell(found[-1])
    return found, memory, clock


def _passes(day: int, passes: float) -> list[float]:
    return [24.0 * (day + (number + 1) / passes) for number in range(int(passes))]


def _have(memory: Memory, session: Session, *, ask: bool) -> None:
    """Have one conversation: what helps is looked up, what was said is kept, and at its end memory is formed of it."""
    who: dict[str, Any] = {"user_id": session.user_id, "agent_id": session.agent_id}
    if ask:
        memory.context(session.question, **who)
    memory.add(list(session.messages), **who, run_id=session.run_id)
    memory.sessions.end(**who, run_id=session.run_id)


def _day(
    path: Path, now: datetime, day: int, today: Sequence[Session], spent_ms: float, pass_ms: float, done: dict[str, int]
) -> Day:
    at, lately = (f"{one:%Y-%m-%dT%H:%M:%S.%f}Z" for one in (now, now - timedelta(days=30)))
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        rows = {(layer, status): count for layer, status, count in database.execute(_LAYERS)}
        wrong = database.execute(_USED_LATELY, (at, lately)).fetchone()[0]
        size = database.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()[0]
    return Day(
        day=day,
        sessions=len(today),
        facts=rows.get(("fact", "active"), 0),
        episodes=rows.get(("episode", "active"), 0),
        turns=rows.get(("turn", "active"), 0),
        evicted=rows.get(("fact", "evicted"), 0),
        megabytes=size / 1e6,
        session_ms=spent_ms / max(1, len(today)),
        pass_ms=pass_ms,
        wrong_evictions=wrong,
        done=done,
    )


def strays(path: Path) -> int:
    """Return how many rows of the indexes belong to memories that are no longer live."""
    live_rows = "SELECT seq FROM memories WHERE valid_to IS NULL AND status IN ('active', 'disabled', 'quarantined')"
    query = f"""
    SELECT (SELECT count(*) FROM vectors WHERE memory_seq NOT IN ({live_rows}))
         + (SELECT count(*) FROM words WHERE seq NOT IN ({live_rows}))"""  # noqa: S608 - nothing of anybody's is in it
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return int(database.execute(query).fetchone()[0])


def strengths(
    path: Path, now: datetime, tau: float = TAU, *, unrevised: bool = False
) -> dict[tuple[str, str, str], float]:
    """Return what is left of every active fact, by the closed formula from what is stored: by user, agent and words.

    Who the user is, and how they want to be served, is as strong as ever.
    ``unrevised`` leaves out facts that were revised: what a session says of such a one depends on which of its texts a
    pass finds.
    """
    query = f"""
    SELECT l.user_id, l.agent_id, m.text, m.salience, m.anchor_at, max(coalesce(l.last_used_at, '')), m.kind, m.data
    FROM memories m JOIN links l ON l.memory_seq = m.seq
    WHERE m.layer = 'fact' AND m.status = 'active' AND m.valid_to IS NULL AND m.version <= {1 if unrevised else 10_000}
    GROUP BY m.seq, l.user_id, l.agent_id"""  # noqa: S608 - a number of ours
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        rows = database.execute(query).fetchall()
    found = {}
    for user, agent, text, base, anchor, used, kind, data in rows:
        stays = _stays(text, kind, json.loads(data))
        found[user, agent, text] = base * (1.0 if stays else _left(now, max(anchor, used), tau))
    return found


def _stays(text: str, kind: str, data: Mapping[str, Any]) -> bool:
    category = identity_category(data.get("category", ""), text)
    grade = is_identity_grade(category, 1.0, data.get("subject", ""), data.get("polarity", 1))
    return kind == "procedural" or (grade and is_lasting(text))


def _left(now: datetime, anchor: str, tau: float) -> float:
    age = (now - datetime.fromisoformat(anchor)).total_seconds() / 86_400
    return math.exp(-max(0.0, age) / tau)


def read_strengths(memory: Memory, wanted: Sequence[tuple[str, str, str]]) -> dict[tuple[str, str, str], float]:
    """Return the same as a search tells it: the salience and the decay in the parts of its scores."""
    found = {}
    for user, agent, text in wanted:
        for hit in memory.search(text, user_id=user, agent_id=agent, explain=True, limit=20)["results"]:
            if hit["memory"] == text:
                found[user, agent, text] = hit["score_parts"]["salience"] * hit["score_parts"]["decay"]
    return found
