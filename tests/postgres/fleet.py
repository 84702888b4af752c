"""A fleet over one PostgreSQL: services behind one address and a worker, which are killed while clients use them.

``Fleet`` starts the processes and ends them in every way; ``Traffic`` is what clients do meanwhile, and what they saw
that must not be. A client goes from one service to the next, as a load balancer would send it.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import Any, Final

import httpx2

from memstone import Memory
from tests.ports import free_port
from tests.postgres.server import Server

TENANTS: Final = ("north", "south", "west")
STALE_SECONDS: Final = 2.0
"""So much later every process knows that a key was revoked, or that a setting was changed."""

_ROOT: Final = Path(__file__).resolve().parents[2]
_TIMEOUT: Final = 20.0
_RATE: Final = "100000000"


@dataclass(slots=True)
class Fleet:
    """The processes of a run: services, each with a port of its own that it keeps, and a worker."""

    server: Server
    url: str
    folder: Path
    services: int = 3
    ports: list[int] = field(default_factory=list)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    ended: Counter[str] = field(default_factory=Counter)
    starts: Any = field(default_factory=lambda: count(1))

    def start(self) -> None:
        """Start everybody, and wait until the services answer."""
        self.ports = [free_port() for _ in range(self.services)]
        for number in range(self.services):
            self.start_one(f"service{number}")
        self.start_one("worker")
        for number in range(self.services):
            self.wait_until_ready(number)

    def start_one(self, name: str) -> None:
        """Start a process in the place of the one that had its name."""
        command = ["worker", "--all-tenants"]
        if name.startswith("service"):
            command = ["serve", "--port", str(self.ports[int(name.removeprefix("service"))])]
        environment = {
            **os.environ,
            "MEMSTONE_STORE__URL": self.url,
            "MEMSTONE_STORE__KEY": f"file:{self.folder / 'store.key'}",
            "MEMSTONE_EMBEDDER__PROVIDER": "hash",
            "MEMSTONE_SERVER__RATE__PER_MINUTE": _RATE,
            "MEMSTONE_SERVER__FAILED_LOGINS__PER_MINUTE": "0",
            "MEMSTONE_WRITE__MODE": "background",
            "PYTHONWARNINGS": "ignore",
        }
        with (self.folder / f"{name}-{next(self.starts)}.log").open("wb") as out:
            self.running[name] = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", "memstone.cli", *command], cwd=_ROOT, env=environment, stdout=out, stderr=out
            )

    def wait_until_ready(self, number: int) -> None:
        """Wait until a service answers; it may have been started while the database was away, and ended."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if self.running[f"service{number}"].poll() is not None:
                self.start_one(f"service{number}")
            try:
                if httpx2.get(f"http://127.0.0.1:{self.ports[number]}/readyz", timeout=5).status_code == 200:
                    return
            except httpx2.HTTPError:
                time.sleep(0.05)
        raise AssertionError(f"service {number} does not start: see {self.folder}")

    def end_one(self, name: str, how: signal.Signals) -> None:
        """End a process and start another in its place."""
        process = self.running.pop(name)
        process.send_signal(how)
        process.wait(60)
        self.ended[f"{'killed' if how is signal.SIGKILL else 'restarted'}"] += 1
        self.start_one(name)

    def restart_one_by_one(self) -> None:
        """Restart everybody as an upgrade does: the next one when the last one answers again."""
        for name in sorted(self.running):
            self.end_one(name, signal.SIGTERM)
            if name.startswith("service"):
                self.wait_until_ready(int(name.removeprefix("service")))

    def restart_database(self) -> None:
        """Let the server crash and come back."""
        self.server.restart()
        self.ended["database restarted"] += 1

    def close(self) -> None:
        """Leave nobody behind."""
        for process in self.running.values():
            process.kill()
            process.wait(60)


@dataclass(slots=True)
class Traffic:
    """What clients do, and what they saw."""

    fleet: Fleet
    keys: dict[str, str]
    """By tenant: an admin key."""

    stop: threading.Event = field(default_factory=threading.Event)
    stored: dict[str, set[str]] = field(default_factory=lambda: {tenant: set() for tenant in TENANTS})
    spoken: dict[str, set[str]] = field(default_factory=lambda: {tenant: set() for tenant in TENANTS})
    """By tenant: the users who said where they live, which a worker learns."""

    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    turns: Any = field(default_factory=count)

    def run(self, seconds: float, trouble: Callable[[], None]) -> None:
        """Let clients work for a while, and cause trouble meanwhile."""
        jobs = [*((self._write_and_search, (tenant,)) for tenant in TENANTS), (self._revoke, ()), (self._change, ())]
        threads = [threading.Thread(target=self._repeat, args=job) for job in jobs]
        for thread in threads:
            thread.start()
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until and not self.wrong:
                trouble()
        finally:
            self.stop.set()
            for thread in threads:
                thread.join(180)

    def _repeat(self, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        while not self.stop.is_set():
            try:
                work(*arguments)
            except Exception as error:  # noqa: BLE001 - whatever it is, the end must tell it
                self.wrong.append(f"{work.__name__}: {type(error).__name__}: {error}")
                return

    def call(self, method: str, path: str, key: str, service: int | None = None, **more: Any) -> httpx2.Response:
        """Call as a client behind a load balancer does: what fails without an answer is tried at the next service."""
        for attempt in range(400):
            number = service if service is not None else (next(self.turns) % self.fleet.services)
            url = f"http://127.0.0.1:{self.fleet.ports[number]}{path}"
            try:
                answer = httpx2.request(
                    method, url, headers={"authorization": f"Bearer {key}"}, timeout=_TIMEOUT, **more
                )
            except httpx2.HTTPError:
                self.counts["no answer"] += 1
            else:
                if answer.status_code < 500:
                    return answer
                self.counts[f"status {answer.status_code}"] += 1
            time.sleep(0.05 * min(attempt + 1, 10))
        raise AssertionError(f"nobody answered {method} {path}")

    def _write_and_search(self, tenant: str) -> None:
        """Store, repeat if nobody answered, and search: nothing of another tenant may come."""
        number = next(self.turns)
        text = f"Fact {number} of {tenant} about the {tenant}ern lighthouse"
        body = {"messages": text, "user_id": "alice", "infer": False}
        answer = self.call("POST", "/v1/memories", self.keys[tenant], json=body)
        assert answer.status_code == 200, answer.text
        self.stored[tenant].add(text)
        self.counts["add"] += 1
        if number % 3 == 0:
            user = f"speaker{number}"
            body = {"messages": "I live in Bergen.", "user_id": user, "run_id": "r"}
            spoken = self.call("POST", "/v1/memories", self.keys[tenant], json=body)
            if spoken.status_code == 200:
                self.spoken[tenant].add(user)
        body = {"query": "Where is the lighthouse?", "user_id": "alice", "limit": 20}
        found = self.call("POST", "/v1/memories/search", self.keys[tenant], json=body)
        assert found.status_code == 200, found.text
        self.counts["search"] += 1
        others = [one["memory"] for one in found.json()["results"] if f"of {tenant} " not in one["memory"]]
        if others:
            self.wrong.append(f"{tenant} sees {others[:2]}")

    def _revoke(self) -> None:
        """Revoke a key at one service; a little later no service may know it."""
        admin = self.keys[TENANTS[0]]
        made = self.call("POST", "/v1/keys", admin, json={"name": "for a moment", "verbs": ["read"]}).json()
        for service in range(self.fleet.services):
            self.call("GET", "/v1/stats", made["key"], service=service)
        revoked = self.call("DELETE", f"/v1/keys/{made['id']}", admin)
        assert revoked.status_code in (200, 404), revoked.text
        time.sleep(STALE_SECONDS)
        for service in range(self.fleet.services):
            answer = self.call("GET", "/v1/stats", made["key"], service=service)
            if answer.status_code != 401:
                self.wrong.append(f"service {service} still knows a revoked key: {answer.status_code}")
        self.counts["revoked"] += 1

    def _change(self) -> None:
        """Change a setting at one service; a little later every service has it."""
        key, value = self.keys[TENANTS[1]], 500 + next(self.turns) % 1_000
        changed = self.call(
            "PUT", "/v1/settings", key, params={"user_id": "dora"}, json={"values": {"context.budget": value}}
        )
        assert changed.status_code == 200, changed.text
        time.sleep(STALE_SECONDS)
        for service in range(self.fleet.services):
            answer = self.call("GET", "/v1/settings", key, service=service, params={"user_id": "dora"})
            if answer.json()["settings"]["context.budget"] != value:
                self.wrong.append(f"service {service} has an old setting: {answer.json()['settings']}")
        self.counts["settings changed"] += 1


def cause_trouble(fleet: Fleet, chance: random.Random) -> Callable[[], None]:
    """Something that happens every few seconds: mostly a kill, in turns with a crash of the database or an upgrade."""
    turns = cycle(("kill", "database", "kill", "upgrade", "kill", "kill"))

    def happen() -> None:
        time.sleep(chance.uniform(1.0, 4.0))
        what = next(turns)
        if what == "database":
            fleet.restart_database()
        elif what == "upgrade":
            fleet.restart_one_by_one()
            fleet.ended["upgraded"] += 1
        else:
            fleet.end_one(chance.choice(sorted(fleet.running)), signal.SIGKILL)
        for number in range(fleet.services):
            fleet.wait_until_ready(number)
        if fleet.running["worker"].poll() is not None:
            fleet.start_one("worker")

    return happen


def make_keys(url: str) -> dict[str, str]:
    """Make an admin key for each tenant."""
    keys: dict[str, str] = {}
    for tenant in TENANTS:
        config = {"store": {"url": url}, "embedder": {"provider": "hash"}, "tenant": tenant}
        with Memory(config) as memory:
            keys[tenant] = memory.admin.keys.create("fleet", verbs=["read", "write", "admin"])["key"]
    return keys
