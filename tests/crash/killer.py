"""The test's side of ``crash_worker.py``."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.concurrency.intact import rows

_ROOT: Final = Path(__file__).resolve().parents[2]
_SIGKILL: Final = -9


@dataclass(slots=True)
class Death:
    """What a victim had said, and whether it was killed or came to its end first."""

    lines: list[list[str]]
    killed: bool


class Killer:
    """Starts victims and kills them."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.crash.crash_worker"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def kill(self, role: str, *, after: int = 1, delay: float = 0.0, **order: Any) -> Death:
        """Start a victim and kill it so long after so many lines."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = json.dumps({"role": role, "after": after, "delay": delay, **order})
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert answer["code"] in (0, _SIGKILL), f"the victim failed by itself: {answer}"
        return Death(answer["lines"], answer["code"] == _SIGKILL)


@dataclass(slots=True)
class Promises:
    """What was acknowledged, and what was under way when its process died; ``None`` stands for "not there"."""

    kept: dict[str, str | None] = field(default_factory=dict)
    doubted: dict[str, str | None] = field(default_factory=dict)
    acknowledged: int = 0

    def hear(self, lines: list[list[str]]) -> None:
        """Take note of what a victim said."""
        for word, slot, text in lines:
            if word == "?":
                self.kept.setdefault(slot, None)
                self.doubted[slot] = text or None
            else:
                self.kept[slot] = self.doubted.pop(slot)
                self.acknowledged += 1

    def assert_kept(self, path: Path) -> None:
        """Every acknowledged write is there; one under way is there as a whole or not at all; nothing else is."""
        stored = rows(path, "SELECT text FROM memories WHERE valid_to IS NULL")
        there = {text.split()[0]: text for (text,) in stored}
        assert len(there) == len(stored), "a memory is there twice"
        assert there.keys() <= self.kept.keys(), "something is there that nobody wrote"
        for slot, text in self.kept.items():
            allowed = {text, self.doubted.get(slot, text)}
            assert there.get(slot) in allowed, (slot, there.get(slot), allowed)
