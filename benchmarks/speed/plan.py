"""What is measured, in which order."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.speed import venvs
from benchmarks.speed.corpus import queries
from benchmarks.speed.runner import ROOT, ChildFailed, Runner, floor, peer, product, talking
from benchmarks.speed.vectors import pack

Results = dict[str, dict[str, Any]]

USERS: Final = (1, 100)
REOPEN_QUERIES: Final = 20
LARGE_USERS: Final = 1000
TALK_SIZE: Final = 10_000
RAM_DISK: Final = Path("/dev/shm")  # noqa: S108 - asked for: a disk in memory, with a fresh directory in it


@dataclass(frozen=True, slots=True)
class Plan:
    """The choices of a run."""

    sizes: tuple[int, ...]
    peer_sizes: tuple[int, ...]
    large: int = 0
    footprint: bool = True
    budget: float = 6.0
    repeats: int = 3
    import_runs: int = 5
    say: Callable[[str], None] = field(default=lambda _: None)


def run(plan: Plan) -> Results:
    """Measure every system; ``{system: {"calls.10000.1": …}}``. What fails is said and left out."""
    home = venvs.cache_root()
    with _directory(RAM_DISK if RAM_DISK.is_dir() else None) as scratch:
        candidates = [(floor(), plan.sizes), (product(), plan.sizes)]
        if plan.peer_sizes:
            python = venvs.ensure(home / "mem0", f"{venvs.PEER}=={venvs.PEER_VERSION}")
            candidates.append((peer(python, scratch), plan.peer_sizes))
        return {runner.system: _system(runner, sizes, plan, scratch) for runner, sizes in candidates}


@contextmanager
def _directory(parent: Path | None) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="memstone-bench-", dir=parent))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Session:
    """The readings of one system, as they come in."""

    runner: Runner
    plan: Plan
    readings: dict[str, Any] = field(default_factory=dict)

    def attempt(self, name: str, work: Callable[[], dict[str, Any]]) -> None:
        """Take a reading; a failure is kept and said, and the rest goes on."""
        self.plan.say(f"{self.runner.system}: {name}")
        try:
            self.readings[name] = work()
        except ChildFailed as failure:
            self.readings[name] = {"failed": str(failure)}
            self.plan.say(f"  failed: {failure}")


def _system(runner: Runner, sizes: tuple[int, ...], plan: Plan, scratch: Path) -> dict[str, Any]:
    session = Session(runner, plan)
    for size in sizes:
        for users in USERS:
            with _directory(scratch) as directory:
                _one_corpus(session, size, users, directory)
    session.attempt("disk", lambda: _on_disk(session))
    if runner.system != "floor":
        _imports_and_footprint(session)
    if runner.system == "memstone" and TALK_SIZE in sizes:
        for users in USERS:
            with _directory(scratch) as directory:
                session.attempt(f"talk.{TALK_SIZE}.{users}", partial(_talk, plan, directory, users))
    if runner.system == "memstone" and plan.large:
        with _directory(scratch) as directory:
            _large(session, directory)
    return session.readings


def _one_corpus(session: Session, size: int, users: int, directory: Path) -> None:
    """Fill once, then everything on that store; the calls that write come last."""
    tag, run, budget = f"{size}.{users}", session.runner.run, session.plan.budget
    corpus: dict[str, Any] = {"directory": str(directory / "store"), "size": size, "users": users}
    Path(corpus["directory"]).mkdir()
    session.attempt(f"fill.{tag}", lambda: run("fill", **corpus))
    session.attempt(f"reopen.{tag}", lambda: _reopen(session, directory, size, users))
    session.attempt(f"threads.{tag}", lambda: run("threads", **corpus, budget=budget / 2))
    session.attempt(f"calls.{tag}", lambda: run("calls", **corpus, budget=budget))


def _talk(plan: Plan, directory: Path, users: int) -> dict[str, Any]:
    """Measure conversations, with every channel on."""
    corpus = {"directory": str(directory), "size": TALK_SIZE, "users": users}
    talking().run("fill", **corpus)
    return talking().run("calls", **corpus, budget=plan.budget)


def _reopen(session: Session, directory: Path, size: int, users: int) -> dict[str, Any]:
    """Return the middle one of a few fresh processes."""
    asked = queries(REOPEN_QUERIES, size, users)
    tiny = directory / "tiny"
    tiny.mkdir(exist_ok=True)
    values = {
        "directory": str(directory / "store"),
        "tiny": str(tiny),
        "queries": [asdict(query) for query in asked],
        "vectors": pack(query.text for query in asked),
    }
    seen = [session.runner.run("reopen", **values) for _ in range(session.plan.repeats)]
    return sorted(seen, key=lambda one: float(one["first_search_cpu_ms"]))[len(seen) // 2]


def _on_disk(session: Session) -> dict[str, Any]:
    home = venvs.cache_root()
    home.mkdir(parents=True, exist_ok=True)
    with _directory(home) as directory:
        return session.runner.run("disk", directory=str(directory), budget=session.plan.budget)


def _imports_and_footprint(session: Session) -> None:
    runner, runs = session.runner, session.plan.import_runs
    session.attempt("import", lambda: runner.imports(f"import {runner.system}", runs))
    session.attempt("import_memory", lambda: runner.imports(f"from {runner.system} import Memory", runs))
    if session.plan.footprint:
        session.attempt("footprint", lambda: asdict(_footprint(runner)))


def _footprint(runner: Runner) -> venvs.Footprint:
    if runner.system != "memstone":
        return venvs.footprint(runner.python)
    with _directory(None) as directory:
        return venvs.footprint(venvs.ensure(directory / "clean", str(ROOT)))


def _large(session: Session, directory: Path) -> None:
    size = session.plan.large
    corpus = {"directory": str(directory), "size": size, "users": LARGE_USERS}
    run = session.runner.run
    session.attempt(f"fill.{size}.{LARGE_USERS}", lambda: run("fill", **corpus))
    session.attempt(f"calls.{size}.{LARGE_USERS}", lambda: run("calls", **corpus, budget=session.plan.budget))
