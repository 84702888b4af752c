"""Nobody is told, and nobody changes, what is not theirs: every route and tool, asked by everybody for everybody's.

The requests are made from the routes of the service, so a route that is added is asked, too. That they are understood
is a test of its own: with keys that may, every one of them gets an answer.
"""

from __future__ import annotations

import asyncio
import random
import re
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from memstone.server.app import create_app
from tests.patience import LONG
from tests.security.asgi import Answer, Call
from tests.security.crowd import ALL, Actor, Crowd, Pool, leaked
from tests.security.route_calls import Operation, operations, shown
from tests.server.upstream import Upstream, served

UNANSWERED: Final = {
    "POST /mcp/messages": (404, "somebody has to listen to a session first"),
    "POST /v1/auth/login": (401, "nobody guesses the password"),
    "POST /v1/auth/logout": (403, "nobody is logged in with a key"),
    "POST /v1/auth/password": (403, "nobody is logged in with a key"),
    "POST /v1/auth/refresh": (401, "nobody guesses the token"),
    "POST /v1/console/erasures/verify": (400, "nobody has a report of an erasure"),
}
"""What cannot be asked so that it is answered, and why. Whatever else there is must be answered to somebody."""

GROUPS: Final = (
    ("no key", "a wrong key", "a revoked key", "an expired key"),
    ("a key that only reads", "a trusted key that only reads"),
    ("the same key in another name", "the same key in a new name", "another key", "another tenant's plain key"),
    ("a key of an agent", "a trusted key of another agent", "a key of one user", "an admin key of one user"),
    ("an admin key in a name", "an admin of another tenant"),
    ("a trusted key in a name", "a trusted key"),
)
"""Who may come to the same house, one after the other: each finds whole what it must not reach."""

OPERATORS: Final = "operators-own"
"""What the files of the operator are called; none of those who ask runs the service."""

_FILES: Final = count(1)
_ID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\b(?:[0-9a-f]{16}|[0-9a-f]{64})\b")
_CHANGING: Final = re.compile(r'("(?:request_id|latency_?[mM]s|ms|cursor|score)": ?)[^,}]+|\d{4}-\d\d-\d\dT[\d:.]+Z')


@dataclass
class House:
    """A running service, what stands behind its gateway, and what was asked so far."""

    app: Any
    file: Path
    upstream: Upstream
    operations: list[Operation]
    counts: Counter[str] = field(default_factory=Counter)

    async def crowd(self) -> Crowd:
        """Two tenants more."""
        crowd = Crowd(self.app, self.file)
        await crowd.settle()
        return crowd

    async def settle(self) -> None:
        """Let everything be written that is written behind an answer."""
        await self.app.state.memstone.tasks.finish(LONG)
        await self.app.state.memstone.memory.engine.open()
        await self.app.state.memstone.memory.admin.metrics(
            everybody=True
        )  # what is counted in the process is written down

    async def ask(self, call: Call, actor: Actor) -> tuple[Answer, str]:
        """The answer to a request, and what a model was sent for it."""
        before = len(self.upstream.seen)
        sent = Call(call.method, call.path, call.query, {**call.headers, **actor.headers}, call.body)
        answer = await sent.send_to(self.app)
        self.counts["requests"] += 1
        self.counts[f"{answer.status // 100}xx"] += 1
        return answer, str(self.upstream.seen[before:])


@asynccontextmanager
async def opened(place: Path, preset: str = "facts") -> AsyncIterator[House]:
    """A service over a store of its own."""
    behind, file = Upstream(), place / f"{OPERATORS}-{next(_FILES)}.db"
    with served(behind.app) as address:
        one = {"name": "up", "base_url": f"{address}/v1", "api_key": "sk-upstream", "connect_timeout": LONG}
        unlimited = {"failed_logins": {"per_minute": 0}, "rate": {"per_minute": 0}}
        config = {
            "preset": preset,
            "write": {"mode": "inline"},  # what is learned later would be taken for what was changed by the next
            "store": {"url": f"sqlite:///{file}", "durable": False},
            "embedder": {"provider": "hash"},
            "gateway": {"upstreams": [one], "recall_ms": 120_000},
            "server": {**unlimited, "backup_folder": str(place)},
        }
        app = create_app(config)
        async with app.router.lifespan_context(app):
            await app.state.memstone.memory.admin.backups.create(place)
            yield House(app, file, behind, operations(app))


class Watch:
    """Tells whether anything was written since it was last asked."""

    def __init__(self, file: Path) -> None:
        self._file = sqlite3.connect(file)
        self._version = self._now()

    def _now(self) -> int:
        version: int = self._file.execute("PRAGMA data_version").fetchone()[0]
        return version

    def has_changed(self) -> bool:
        """Whether somebody has written."""
        before, self._version = self._version, self._now()
        return before != self._version

    def close(self) -> None:
        """Look no more."""
        self._file.close()


@dataclass
class Round:
    """Somebody asks everything about some of those whom they do not reach; in each way, or in one by chance."""

    house: House
    crowd: Crowd
    actor: Actor
    dice: random.Random
    ways: int

    async def run(self, targets: list[Pool]) -> None:
        """Fail when they learn or change anything of it."""
        await self.house.settle()
        before = self.crowd.state(self.actor)
        with closing(Watch(self.house.file)) as watch:
            for operation in self.house.operations:
                for target in targets:
                    await self._ask(operation, target)
                if watch.has_changed():
                    after = self.crowd.state(self.actor)
                    changed = [table for table in before if before[table] != after[table]]
                    assert not changed, (self.actor.title, operation.title, _difference(before, after, changed[0]))

    async def _ask(self, operation: Operation, target: Pool) -> None:
        calls = list(operation.calls(self.crowd, target, self.dice))
        for call in self.dice.sample(calls, self.ways):
            answer, upstream = await self.house.ask(call, self.actor)
            found = leaked(call, answer, upstream, self.crowd, self.actor)
            found += [OPERATORS] * (OPERATORS in answer.text)
            assert not found, (self.actor.title, shown(call), answer.text[:2_000], found)


def _difference(before: dict[str, Any], after: dict[str, Any], table: str) -> str:
    gone, new = set(before[table]) - set(after[table]), set(after[table]) - set(before[table])
    return f"{table}: gone {sorted(gone)[:3]}, new {sorted(new)[:3]}"


Visit = Callable[[House, Crowd, Actor, list[Pool]], Any]


async def visited(place: Path, visit: Visit, preset: str = "facts") -> Counter[str]:
    """Let everybody come; each finds those whom they must not reach as they were."""
    total = Counter[str]()
    for group in GROUPS:
        async with opened(place, preset) as house:
            crowd = await house.crowd()
            actors = {one.title: one for one in await crowd.actors()}
            assert set(actors) == {title for some in GROUPS for title in some}
            before = list[Actor]()
            for title in group:
                actor = actors[title]
                for one in before:  # what they have named may stand in what both reach
                    both = [pool for pool in crowd.pools if one.reaches(pool) and actor.reaches(pool)]
                    actor.sent |= one.sent if both else set()
                all_items = [
                    pool for pool in crowd.pools if not any(one.reaches(pool) and one.writes for one in before)
                ]
                await visit(house, crowd, actor, [pool for pool in all_items if not actor.reaches(pool)])
                before.append(actor)
                total[f"by {title}"] = house.counts["requests"] - sum(total[f"by {one.title}"] for one in before[:-1])
            total.update(house.counts)
    return total


async def fuzzed(place: Path, *, targets: int, ways: int, preset: str = "facts") -> Counter[str]:
    """Everybody asks everything about so many of the others, in so many ways."""
    dice = random.Random(preset)  # noqa: S311 - it shall come out the same again

    async def visit(house: House, crowd: Crowd, actor: Actor, hidden: list[Pool]) -> None:
        chosen = dice.sample(hidden, min(targets, len(hidden)))
        await Round(house, crowd, actor, dice, ways).run(chosen)

    return await visited(place, visit, preset)


@pytest.mark.slow
@pytest.mark.req("X-39", "X-24", "X-1", "P-19", "R-9", "R-4")
@pytest.mark.timeout(900)
def test_nobody_sees_or_changes_what_they_do_not_reach(tmp_path: Path) -> None:
    counts = asyncio.run(fuzzed(tmp_path, targets=1, ways=1))
    assert counts["requests"] >= 3_000
    assert counts["2xx"] >= 500, "the requests are understood"


@pytest.mark.system
@pytest.mark.req("X-39", "X-24", "X-1", "P-19", "R-9", "R-4")
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("preset", ["facts", "gateway"])
def test_nobody_sees_or_changes_what_they_do_not_reach_whomever_they_ask_about(tmp_path: Path, preset: str) -> None:
    counts = asyncio.run(fuzzed(tmp_path, targets=2, ways=3, preset=preset))
    assert counts["requests"] >= 20_000


NOTICED: Final = {
    "GET /v1/memories/{memory_id}": "canary",
    "POST /v1/memories/search": "canary",
    "tool memory_search": "canary",
    "POST /v1/chat/completions": "canary",
    "POST /v1/console/memories/{memory_id}/share": "links: gone",
    "DELETE /v1/memories/{memory_id}": "memories: gone",
}


async def noticed(place: Path) -> dict[str, str]:
    """What is said about a key that reaches others, though it is said that it does not; by what it asks."""
    texts: dict[str, str] = {}
    async with opened(place) as house:
        crowd, every = await house.crowd(), {one.title: one for one in house.operations}
        (actor,) = (one for one in await crowd.actors() if one.title == "a trusted key")
        targets = [pool for pool in crowd.pools if actor.reaches(pool)]
        for title in NOTICED:
            house.operations = [every[title]]
            blind = replace(actor, reaches=lambda _: False, sent=set())
            with pytest.raises(AssertionError) as error:
                await Round(house, crowd, blind, random.Random(1), 3).run(targets)  # noqa: S311
            texts[title] = str(error.value)
    return texts


@pytest.mark.slow
def test_the_fuzz_notices_what_is_told_and_what_is_changed(tmp_path: Path) -> None:
    texts = asyncio.run(noticed(tmp_path))
    assert {title: sign for title, sign in NOTICED.items() if sign not in texts[title]} == {}


async def understood(place: Path) -> dict[str, int]:
    """By operation the best that anybody is answered: who reaches a tenant, and whoever runs the service."""
    best: dict[str, int] = {}
    async with opened(place) as house:
        made = await house.app.state.memstone.memory.admin.keys.create(verbs=ALL)
        operator = Actor("the operator", "default", {"authorization": f"Bearer {made['key']}"}, lambda _: True)
        crowd = Crowd(house.app, house.file)
        for operation in house.operations:
            for attempt in range(2):
                if attempt or not crowd.pools:  # what was asked before may have removed everything
                    crowd = Crowd(house.app, house.file)
                    await crowd.settle_one()
                best[operation.title] = await _best(house, crowd, operation, [crowd.owner(), operator])
                if best[operation.title] < 400 or operation.title in UNANSWERED:
                    break
    return best


async def _best(house: House, crowd: Crowd, operation: Operation, actors: list[Actor]) -> int:
    """The best that a few tries are answered."""
    statuses = list[int]()
    for seed in range(6):
        for call in operation.calls(crowd, crowd.pools[0], random.Random(seed)):  # noqa: S311
            for actor in actors:
                answer, _ = await house.ask(call, actor)
                failed = '"isError":true' in answer.text or '"success":false' in answer.text
                statuses.append(500 if failed else answer.status)
                if statuses[-1] < 400:
                    return statuses[-1]
    return min(statuses)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_request_of_the_fuzz_is_one_that_the_service_answers(tmp_path: Path) -> None:
    """Else it would find nothing for the wrong reason, and a route would be added that nobody asks."""
    best = asyncio.run(understood(tmp_path))
    assert {title: status for title, status in best.items() if status >= 400} == {
        title: status for title, (status, _) in UNANSWERED.items()
    }
    assert len(best) >= 180


async def compared(place: Path) -> int:
    """How many requests for something of somebody else were answered as if it did not exist; fail if one was not."""
    total = 0

    async def visit(house: House, crowd: Crowd, actor: Actor, hidden: list[Pool]) -> None:
        nonlocal total
        for operation in house.operations:
            target = hidden[total % len(hidden)]
            ids = {one: _another(one) for one in target.ids if "-" in one}  # what was stored, not what somebody named
            ids |= {crowd.about[target.tenant][name]: "0" * 36 for name in ("account", "work_id")}
            for call in operation.calls(crowd, target, random.Random(total)):  # noqa: S311
                other = _without(call, ids)
                if other == call or "idempotency" in call.sent.lower():
                    continue
                (first, _), (second, _) = await house.ask(call, actor), await house.ask(other, actor)
                total += 1
                assert _normal(first, ids) == _normal(second, ids), (actor.title, shown(call), first, second)

    await visited(place, visit)
    return total


@cache
def _another(text: str) -> str:
    """An id of the same form that nobody has."""
    dice = random.Random(text)  # noqa: S311
    return re.sub(r"[0-9a-f]", lambda _: dice.choice("0123456789abcdef"), text)


def _without(call: Call, ids: dict[str, str]) -> Call:
    """The same request with ids that stand for nothing."""

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: changed(one) for name, one in value.items()}
        if isinstance(value, list):
            return [changed(one) for one in value]
        return ids.get(value, value) if isinstance(value, str) else value

    path = "/".join(ids.get(part, part) for part in call.path.split("/"))
    return Call(call.method, path, changed(dict(call.query)), call.headers, changed(call.body))


def _normal(answer: Answer, ids: dict[str, str]) -> tuple[int, str]:
    """An answer without what is different each time."""
    text = answer.text
    for one, other in ids.items():
        text = text.replace(other, "ID").replace(one, "ID")
    return answer.status, _CHANGING.sub("", _ID.sub("ID", text))


@pytest.mark.slow
@pytest.mark.req("P-19", "R-9", "X-39")
@pytest.mark.timeout(900)
def test_what_belongs_to_others_is_answered_like_what_does_not_exist(tmp_path: Path) -> None:
    assert asyncio.run(compared(tmp_path)) >= 1_000
