"""Clocks and counters."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final, TypeVar

T = TypeVar("T")

FEWEST_CALLS: Final = 3
WAL_HEADER: Final = 32
WAL_FRAME_HEADER: Final = 24


@dataclass(frozen=True, slots=True)
class Timing:
    """What calls of one kind cost, in milliseconds. CPU is that of all threads of the process."""

    calls: int
    cpu: float
    cpu_p50: float
    wall_p50: float
    wall_p95: float

    def as_dict(self) -> dict[str, float]:
        """Return it for JSON."""
        return asdict(self)


def time_calls(call: Callable[[T], object], inputs: Iterable[T], *, budget: float) -> Timing:
    """Call once per input and stop when ``budget`` seconds are over, but not before a few calls."""
    cpu: list[float] = []
    wall: list[float] = []
    deadline = time.perf_counter() + budget
    for value in inputs:
        cpu_before, wall_before = time.process_time(), time.perf_counter()
        call(value)
        cpu_after, wall_after = time.process_time(), time.perf_counter()
        cpu.append((cpu_after - cpu_before) * 1e3)
        wall.append((wall_after - wall_before) * 1e3)
        if wall_after > deadline and len(wall) >= FEWEST_CALLS:
            break
    return Timing(len(cpu), fmean(cpu), median(cpu), median(wall), percentile(wall, 0.95))


def warm_up(call: Callable[[T], object], inputs: Iterable[T], *, budget: float) -> None:
    """Call once per input, uncounted, for at most about ``budget`` seconds."""
    deadline = time.perf_counter() + budget
    for value in inputs:
        call(value)
        if time.perf_counter() > deadline:
            break


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of the values do not exceed."""
    ordered = sorted(values)
    rank = -(-len(ordered) * share // 1)
    return ordered[max(0, min(len(ordered), int(rank)) - 1)]


def calls_per_second(call: Callable[[T], object], inputs: Sequence[T], *, threads: int, seconds: float) -> float:
    """Return how many calls ``threads`` threads get done together; each walks over all inputs in its own order."""
    counts = [0] * threads
    errors: list[Exception] = []
    start = threading.Barrier(threads + 1)
    ends_at = time.perf_counter() + 3600.0

    def work(which: int) -> None:
        start.wait()
        position = which * len(inputs) // threads
        try:
            while time.perf_counter() < ends_at:
                call(inputs[position % len(inputs)])
                position += 1
                counts[which] += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, the reading is void and it is raised below
            errors.append(error)

    workers = [threading.Thread(target=work, args=(which,)) for which in range(threads)]
    for worker in workers:
        worker.start()
    start.wait()
    began = time.perf_counter()
    ends_at = began + seconds
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    return sum(counts) / (time.perf_counter() - began)


def resident_mb(status: str | None = None) -> float:
    """Return what this process holds in memory, in MB (10^6 bytes), by the kernel's account."""
    text = Path("/proc/self/status").read_text(encoding="ascii") if status is None else status
    line = next(line for line in text.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024 / 1e6


def count_commits(wal: bytes) -> int:
    """Return how many transactions a SQLite write-ahead log holds.

    The last frame of a transaction carries the size of the database in its second word, all others
    zero; frames left from an earlier use of the file have another salt.
    """
    if len(wal) < WAL_HEADER:
        return 0
    page_size = int(struct.unpack_from(">I", wal, 8)[0])
    salt = wal[16:24]
    frames = range(WAL_HEADER, len(wal) - WAL_FRAME_HEADER + 1, WAL_FRAME_HEADER + page_size)
    current = (at for at in frames if wal[at + 8 : at + 16] == salt)
    return sum(1 for at in current if struct.unpack_from(">I", wal, at + 4)[0])


def directory_mb(path: Path) -> float:
    """Return the size of all files under a directory, in MB (10^6 bytes)."""
    return sum(file.lstat().st_size for file in path.rglob("*") if file.is_file() and not file.is_symlink()) / 1e6


def cpu_and_wall_ms(work: Callable[[], Any]) -> tuple[float, float]:
    """Return what one call costs, CPU and wall, in milliseconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3
