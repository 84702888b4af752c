"""What one PostgreSQL node pays for a memory and for a search, and what taking turns costs: measured, for the plan.

``python -m benchmarks.postgres.scaling_measure`` writes ``benchmarks/results/scaling.json``, which the simulation in
``scaling.py`` reads. Costs are CPU time, of the caller and of the server's processes apart, because a machine that does
other things too does not change them much; rates of writers are the best of several rounds for the same reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from memstone import Memory
from memstone.adapters.postgres import ledger as ledger_module
from memstone.adapters.postgres import tx
from tests.postgres.server import Server, running

RESULTS: Final = Path(__file__).resolve().parents[1] / "results" / "scaling.json"
_ROOT: Final = Path(__file__).resolve().parents[2]
_TICK: Final = os.sysconf("SC_CLK_TCK")
_WORDS: Final = ("harbour", "winter", "sister", "coffee", "train", "garden", "letter", "music", "doctor", "kitchen")
_PROCESSES: Final = 4
_TABLES: Final = """
SELECT c.relname::text, pg_total_relation_size(c.oid) FROM pg_class c
WHERE c.relnamespace = 'memstone'::regnamespace AND c.relkind = 'r' ORDER BY 2 DESC"""


def memory(url: str, tenant: str = "default", mode: str = "inline") -> Memory:
    """Return a memory whose vectors cost nothing to make, so that what is measured is the store."""
    store = {"url": url, "durable": True, "pool_size": 4}
    config = {"store": store, "embedder": {"provider": "hash"}, "tenant": tenant, "write": {"mode": mode}}
    return Memory(config)


def text(number: int) -> str:
    """Return a memory of some ninety characters."""
    words = [_WORDS[(number // 10**place) % 10] for place in range(4)]
    return f"On day {number} we talked about the {' and the '.join(words)}, and it was worth keeping."


def measured(users: int = 30, each: int = 40, searches: int = 200) -> dict[str, Any]:
    """Measure everything, on a server of its own."""
    with running() as server:
        with server.superuser() as connection:
            for name in ("fsync", "synchronous_commit", "full_page_writes", "autovacuum"):
                connection.execute(f"ALTER SYSTEM SET {name} = on".encode())
            connection.execute("SELECT pg_reload_conf()")
        costs = _costs(server, users, each, searches)
        return {**costs, "writers": _writers(server), "processes": _PROCESSES}


# --- bytes and CPU ----------------------------------------------------------------------------------------------------


def _costs(server: Server, users: int, each: int, searches: int) -> dict[str, Any]:
    url, count = server.fresh(), users * each
    with memory(url) as made:
        made.stats()
        before = _sizes(server)
        add = _cpu(server, count, lambda number: made.add(text(number), user_id=f"u{number % users}", infer=False))
        with server.superuser(server.name) as connection:
            connection.execute("VACUUM ANALYZE")
        after = _sizes(server)
        for number in range(users):
            made.search("harbour", user_id=f"u{number}")
        search = _cpu(server, searches, lambda number: made.search(text(number)[20:60], user_id=f"u{number % users}"))
    grown = {name: (after[name] - before.get(name, 0)) / count for name in after}
    stored = {name: round(size) for name, size in grown.items() if size >= 8}
    return {
        "memories": count,
        "memories_a_user": each,
        "bytes_a_memory": round(sum(grown.values())),
        "bytes_by_table": stored,
        "add": add,
        "search": search,
    }


def _sizes(server: Server) -> dict[str, int]:
    with server.superuser(server.name) as connection:
        return {str(name): int(size) for name, size in connection.execute(_TABLES).fetchall()}


def _cpu(server: Server, count: int, call: Any) -> dict[str, float]:
    """Return the milliseconds of CPU a call, of this process and of the server."""
    own, other = time.process_time(), _server_seconds(server)
    for number in range(count):
        call(number)
    own, other = time.process_time() - own, _server_seconds(server) - other
    return {"client_cpu_ms": round(own / count * 1000, 2), "server_cpu_ms": round(other / count * 1000, 2)}


def _server_seconds(server: Server) -> float:
    """Return the CPU time of all processes of the server, those that have ended included."""
    postmaster = int((Path(server._server.pgdata) / "postmaster.pid").read_text().split()[0])  # noqa: SLF001
    own = _stat(postmaster)
    ended = int(own[13]) + int(own[14])  # of children that were waited for
    found = [_stat(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    children = [stat for stat in found if stat and stat[1] == str(postmaster)]
    return (ended + sum(int(stat[11]) + int(stat[12]) for stat in [own, *children])) / _TICK


def _stat(pid: int) -> list[str]:
    """Return what the kernel tells of a process, from its state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []


# --- turns ------------------------------------------------------------------------------------------------------------

_VARIANTS: Final = {
    "one tenant, turns": (1, "inline", ""),
    "one tenant, no turns": (1, "inline", "no-turns"),
    "four tenants, turns": (4, "inline", ""),
    "four tenants, no turns": (4, "inline", "no-turns"),
    "four tenants, queued and called": (4, "background", ""),
    "four tenants, queued and not called": (4, "background", "no-calls"),
}


def _writers(server: Server, rounds: int = 2, seconds: float = 3.0) -> dict[str, float]:
    """Return the adds a second of four processes together, the best of the rounds, which take turns too."""
    best = dict.fromkeys(_VARIANTS, 0.0)
    for _ in range(rounds):
        for name, (tenants, mode, without) in _VARIANTS.items():
            url = server.fresh()
            best[name] = max(best[name], round(_together(url, tenants, mode, without, seconds), 1))
    return best


def _together(url: str, tenants: int, mode: str, without: str, seconds: float) -> float:
    pipe = subprocess.PIPE
    made = [
        subprocess.Popen(  # noqa: S603 - ourselves
            [
                sys.executable,
                "-m",
                __spec__.name,
                url,
                f"t{number % tenants}",
                str(number),
                mode,
                without,
                str(seconds),
            ],
            cwd=_ROOT,
            stdin=pipe,
            stdout=pipe,
        )
        for number in range(_PROCESSES)
    ]
    for one in made:
        assert one.stdout is not None
        assert one.stdout.readline() == b"ready\n"
    for one in made:
        assert one.stdin is not None
        one.stdin.write(b"go\n")
        one.stdin.flush()
    return sum(int(one.communicate()[0]) for one in made) / seconds


def _write(url: str, tenant: str, name: str, mode: str, without: str, seconds: str) -> int:
    """Run one writer."""
    if without == "no-turns":
        monkey: Any = ledger_module
        monkey.PostgresLedger._writing.__defaults__ = (monkey._ASIDE,)  # noqa: SLF001 - all the same but for the turn
    if without == "no-calls":
        quiet: Any = tx
        quiet.calls = lambda *_: []
    with memory(url, tenant, mode) as made:
        made.engine.runtime.worker_state.stopping = True
        made.add("the first one", user_id=name, infer=mode != "inline")
        print("ready", flush=True)
        sys.stdin.readline()
        until, count = time.monotonic() + float(seconds), 0
        while time.monotonic() < until:
            made.add(text(count), user_id=name, run_id=f"r{count}", infer=mode != "inline")
            count += 1
    return count


if __name__ == "__main__":
    if len(sys.argv) > 1:
        os.write(1, str(_write(*sys.argv[1:])).encode())
    else:
        found = measured()
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        print(RESULTS.read_text("utf-8"))
