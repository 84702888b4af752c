"""Processes that use one database while they are killed and the server is restarted, and what must be so in the end.

Run as a module it is one of those processes: ``client`` adds, searches and revises, ``worker`` forms memory, ``reader``
only searches. A client writes down what it is about to do and what was acknowledged, line by line, in a file that
outlives it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from memstone import Memory
from memstone.errors import MemstoneError
from tests.postgres.server import Server

TENANTS: Final = ("a", "b")
SHARED: Final = [f"Shared fact number {number} about the harbour" for number in range(12)]
CITIES: Final = ("Oslo", "Rome", "Lima", "Kyoto", "Cairo", "Quito")
_TRIES: Final = 12
_ROOT: Final = Path(__file__).resolve().parents[2]


def memory(url: str, tenant: str, *, talks: bool = False, lease_seconds: float = 60.0) -> Memory:
    """A memory over the database; whoever only talks leaves the work to others."""
    made = _opened(
        {
            "store": {"url": url, "durable": True, "pool_size": 4},
            "embedder": {"provider": "hash"},
            "tenant": tenant,
            "write": {"mode": "background", "lease_seconds": lease_seconds},
        }
    )
    if talks:
        made.engine.runtime.worker_state.stopping = True
    return made


def _opened(config: dict[str, Any]) -> Memory:
    """Open as a client would: where the server is away at the moment, try again."""
    for _ in range(200):
        try:
            return Memory(config)
        except MemstoneError as error:
            if not error.retryable:
                raise
            time.sleep(0.1)
    return Memory(config)


# --- what the processes do --------------------------------------------------------------------------------------------


class Client:
    """Adds, searches and revises until it is told to stop, or killed."""

    def __init__(self, url: str, folder: Path, name: str) -> None:
        self._name, self._folder, self._random = name, folder, random.Random(name)  # noqa: S311 - a game, not a secret
        self._tenant = TENANTS[sum(map(ord, name.split("-", 1)[0])) % len(TENANTS)]
        self._memory = memory(url, self._tenant, talks=True)
        self._notes: IO[str] = (folder / f"{name}.jsonl").open("a", buffering=1)
        self._own: list[str] = []
        self._number = 0

    def run(self) -> None:
        """Go on until there is a file that says stop."""
        ready = self._folder / f"{self._name}.ready"
        while not (self._folder / "stop").exists():
            doing = self._random.choices(
                (self._fact, self._shared, self._talk, self._revise, self._search), (3, 1, 3, 2, 6)
            )
            doing[0]()
            ready.touch()
            self._number += 1
        self._notes.close()
        self._memory.close()

    def _note(self, **line: Any) -> None:
        self._notes.write(json.dumps({"tenant": self._tenant, **line}) + "\n")

    def _call(self, op: str, call: Any, **what: Any) -> Any:
        """Call as a client would: what may be tried again is tried again."""
        self._note(begun=op, **what)
        for run in range(_TRIES):
            begun = time.perf_counter()
            try:
                answer = call()
            except MemstoneError as error:
                self._note(error=error.code, retryable=error.retryable, message=str(error))
                if not error.retryable:
                    return None
                time.sleep(0.1 * 2 ** min(run, 4))
                continue
            except Exception as error:  # noqa: BLE001 - whatever it is, the end must tell it
                self._note(error=type(error).__name__, retryable=False, message=str(error))
                return None
            self._note(done=op, ms=(time.perf_counter() - begun) * 1000, **what)
            return answer
        self._note(error="gave up", retryable=False, message=op)
        return None

    def _fact(self) -> None:
        text = f"Fact {self._number} of {self._name} is about {self._random.choice(CITIES)}"
        answer = self._call("fact", lambda: self._memory.add(text, user_id="alice", infer=False), text=text)
        if answer and answer["results"]:
            self._own.append(answer["results"][0]["id"])

    def _shared(self) -> None:
        text = self._random.choice(SHARED)
        self._call("shared", lambda: self._memory.add(text, user_id="alice", infer=False), text=text)

    def _talk(self) -> None:
        """Somebody new says where they live, in a session of their own."""
        user, city = f"{self._name}-{self._number}", self._random.choice(CITIES)
        text = f"I live in {city}."
        self._call("talk", lambda: self._memory.add(text, user_id=user, run_id="r"), user=user, city=city)

    def _revise(self) -> None:
        if self._own:
            one, text = self._random.choice(self._own), f"Revision {self._number} by {self._name}"
            self._call("revise", lambda: self._memory.update(one, text), id=one, text=text)

    def _search(self) -> None:
        asked = self._random.choice(CITIES)
        self._call("search", lambda: self._memory.search(asked, user_id="alice"))


def work(url: str, folder: Path, name: str, lease_seconds: float) -> None:
    """Form memory for all tenants until told to stop; where the database is away at the start, try again."""
    with memory(url, TENANTS[0], lease_seconds=lease_seconds) as made:
        while not (folder / "enough").exists():
            try:
                made.admin.work(1.0, all_tenants=True)
                (folder / f"{name}.ready").touch()
            except MemstoneError as error:
                if not error.retryable:
                    raise
                time.sleep(0.2)


def read(url: str, seconds: float) -> int:
    """How many searches one process does in a while."""
    with memory(url, TENANTS[0], talks=True) as made:
        made.search("Oslo", user_id="alice")
        print("ready", flush=True)  # noqa: T201 - whoever started it waits for this
        sys.stdin.readline()
        until, count = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            made.search(CITIES[count % len(CITIES)], user_id="alice")
            count += 1
    return count


# --- who starts, kills and asks them ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Chaos:
    """One run."""

    server: Server
    url: str
    folder: Path
    random: random.Random
    lease_seconds: float = 60.0
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    killed: int = 0
    generation: int = 0

    def start(self, what: str, place: str) -> None:
        """Start a process; its name tells which one of the same kind it is."""
        self.generation += 1
        name = f"{place}-{self.generation}"
        lease = [str(self.lease_seconds)] if what == "worker" else []
        command = [sys.executable, "-m", "tests.postgres.chaos", what, self.url, str(self.folder), name, *lease]
        out = (self.folder / f"{name}.log").open("wb")
        self.names[f"{what}:{place}"] = name
        self.running[f"{what}:{place}"] = subprocess.Popen(command, cwd=_ROOT, stdout=out, stderr=out)  # noqa: S603
        out.close()

    def ready(self) -> list[str]:
        """Who has begun to work."""
        return [key for key in sorted(self.running) if (self.folder / f"{self.names[key]}.ready").exists()]

    def wait_for(self, count: int) -> None:
        """Wait until so many are at work: on a busy machine it takes seconds to start a process."""
        until = time.monotonic() + 120
        while len(self.ready()) < count:
            assert time.monotonic() < until, f"they do not start: see {self.folder}"
            time.sleep(0.05)

    def kill_one(self) -> None:
        """Kill somebody at work without warning, and start another in their place."""
        self.wait_for(1)
        key = self.random.choice(self.ready())
        process = self.running.pop(key)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.killed += 1
        self.start(*key.split(":"))

    def run(self, clients: int, workers: int, seconds: float, pause: float = 3.0) -> None:
        """Let them work; processes are killed all the time, and the server is restarted once, half way."""
        for number in range(clients):
            self.start("client", f"c{number}")
        for number in range(workers):
            self.start("worker", f"w{number}")
        self.wait_for(clients + workers)
        begun, restarted = time.monotonic(), False
        while (passed := time.monotonic() - begun) < seconds:
            time.sleep(self.random.uniform(0.5, 1.5) * pause)
            self.kill_one()
            if passed > seconds / 2 and not restarted:
                self.server.restart()
                restarted = True

    def settle(self) -> None:
        """Clients end by themselves; workers when nothing waits any more. A lease of the killed has to pass first."""
        (self.folder / "stop").touch()
        self._end("client")
        until = time.monotonic() + 150
        while self.waiting() and time.monotonic() < until:
            time.sleep(0.2)
        (self.folder / "enough").touch()
        self._end("worker")

    def _end(self, what: str) -> None:
        for key in [key for key in self.running if key.startswith(what)]:
            assert self.running.pop(key).wait(120) == 0, f"{key} ended badly: see {self.folder}"

    def waiting(self) -> int:
        """How many signals wait."""
        return int(self.ask("SELECT count(*) FROM memstone.signals WHERE status = 'pending'")[0][0])

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Rows, across all tenants."""
        with self.server.superuser(self.server.name) as connection:
            return connection.execute(query.encode()).fetchall()

    def end(self) -> None:
        """Leave nobody behind."""
        for process in self.running.values():
            with suppress(OSError):
                process.kill()
            process.wait()

    def notes(self) -> Iterator[dict[str, Any]]:
        """What all clients wrote down; the last line of one that was killed may be half a line."""
        for file in sorted(self.folder.glob("*.jsonl")):
            for line in file.read_text().splitlines():
                with suppress(ValueError):
                    yield json.loads(line)


def readers(url: str, processes: int, seconds: float) -> float:
    """Searches a second of so many processes together."""
    command = [sys.executable, "-m", "tests.postgres.chaos", "reader", url, str(seconds), "r"]
    pipe = subprocess.PIPE
    started = [subprocess.Popen(command, cwd=_ROOT, stdin=pipe, stdout=pipe) for _ in range(processes)]  # noqa: S603
    for one in started:
        assert one.stdout is not None
        assert one.stdout.readline() == b"ready\n"
    found = 0
    for one in started:
        assert one.stdin is not None
        one.stdin.write(b"go\n")
        one.stdin.flush()
    for one in started:
        found += int(one.communicate()[0])
    return found / seconds


# --- what must be so --------------------------------------------------------------------------------------------------


def verify(chaos: Chaos, seconds: float) -> dict[str, Any]:
    """Check everything that was promised; gives what was measured."""
    notes = list(chaos.notes())
    errors = Counter((note["error"], note["retryable"]) for note in notes if "error" in note)
    assert not [error for error in errors if not error[1]], [note for note in notes if note.get("retryable") is False]
    _facts_are_there(chaos, notes)
    _formed_once(chaos, notes)
    return _measured(chaos, notes, seconds, errors)


def _facts_are_there(chaos: Chaos, notes: list[dict[str, Any]]) -> None:
    """Every acknowledged fact was stored, the last acknowledged revision or one begun later is what it says now."""
    live = chaos.ask("SELECT tenant_id, id, text FROM memstone.memories WHERE valid_to IS NULL AND layer = 'fact'")
    ever = set(chaos.ask("SELECT tenant_id, text FROM memstone.memories"))
    for note in notes:
        if note.get("done") in ("fact", "shared"):
            assert (note["tenant"], note["text"]) in ever, f"lost: {note}"
    texts = {(tenant, one): text for tenant, one, text in live}
    for (tenant, one), allowed in _revisions(notes).items():
        assert texts.get((tenant, one)) in allowed, f"{one}: {texts.get((tenant, one))!r} is none of {allowed}"
    shared = Counter((tenant, text) for tenant, _, text in live if text in SHARED)
    assert set(shared.values()) <= {1}, "the same live fact twice"
    own = Counter((tenant, text) for tenant, _, text in live if text.startswith(("Fact ", "Revision ")))
    assert set(own.values()) <= {1}, "the same live fact twice"


def _revisions(notes: list[dict[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """By memory: the last text that was acknowledged and those that were begun after it."""
    allowed: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        if note.get("done") == "revise":
            allowed[note["tenant"], note["id"]] = [note["text"]]
        elif note.get("begun") == "revise" and (note["tenant"], note["id"]) in allowed:
            allowed[note["tenant"], note["id"]].append(note["text"])
    return allowed


def _formed_once(chaos: Chaos, notes: list[dict[str, Any]]) -> None:
    """Whoever said where they live is known to live there: one live fact, added once; a portrait follows later."""
    assert chaos.waiting() == 0, "something waits for ever"
    assert chaos.ask("SELECT 1 FROM memstone.signals WHERE status = 'dead'") == []
    live = Counter(
        chaos.ask(
            "SELECT m.tenant_id, l.user_id, m.text FROM memstone.memories m "
            "JOIN memstone.links l ON l.tenant_id = m.tenant_id AND l.memory_seq = m.seq "
            "WHERE m.valid_to IS NULL AND m.layer = 'fact'"
        )
    )
    assert set(live.values()) <= {1}, "the same live fact twice"
    known = {(tenant, user): text for tenant, user, text in live}
    for note in notes:
        if note.get("done") == "talk":
            assert note["city"] in known.get((note["tenant"], note["user"]), ""), f"never formed: {note}"
    twice = chaos.ask(
        "SELECT e.tenant_id, e.user_id, array_agg(concat_ws(' ', e.new_text, e.created_at, e.actor)) "
        "FROM memstone.events e WHERE e.event = 'ADD' AND e.actor <> 'consolidate' AND e.user_id LIKE 'c%-%' "
        "AND NOT EXISTS (SELECT 1 FROM memstone.memories m WHERE m.tenant_id = e.tenant_id AND m.id = e.memory_id "
        "AND m.layer = 'turn') GROUP BY 1, 2 HAVING count(*) > 1"
    )
    assert twice == [], f"formation was committed twice: {twice}"


def _measured(chaos: Chaos, notes: list[dict[str, Any]], seconds: float, errors: Counter[Any]) -> dict[str, Any]:
    took: dict[str, list[float]] = {}
    for note in notes:
        if "done" in note:
            took.setdefault(note["done"], []).append(note["ms"])
    answer = {
        op: {
            "calls": len(times),
            "a_second": round(len(times) / seconds, 1),
            "p50_ms": round(sorted(times)[len(times) // 2], 1),
            "p99_ms": round(sorted(times)[int(len(times) * 0.99)], 1),
        }
        for op, times in sorted(took.items())
    }
    retried = sum(errors.values())
    return {"calls": answer, "killed": chaos.killed, "retried": retried, "facts_formed": len(took.get("talk", []))}


if __name__ == "__main__":
    what, place, folder_or_seconds, name, *lease = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if what == "client":
        Client(place, Path(folder_or_seconds), name).run()
    elif what == "worker":
        work(place, Path(folder_or_seconds), name, float(lease[0]))
    else:
        os.write(1, str(read(place, float(folder_or_seconds))).encode())
