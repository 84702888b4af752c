"""Walk every route of the service with curl, and keep the answers in docs/reference/rest-*.md what they are.

In a ``text`` block of these pages a line after ``$ `` is a command; what stands below it is written by this script.
Each page has a service of its own, whose clock goes on by a moment from one command to the next. To show another route,
write its command into a page and run ``python -m scripts.rest_walk``. ``--check`` fails when an answer is out of date
or a route is shown nowhere.

* ``# $NAME is its id`` behind a command keeps the first ``id`` of the answer (or whatever is named) for later commands.
* ``# when it has ended`` has a command repeated while the answer mentions running work.
* ``# refused`` says that the answer is a problem; any other answer must be none.
* What is different each time is shown as ``…``, and what is long is shortened, always in the same way.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memstone.async_memory import AsyncMemory
from memstone.memory import Memory
from memstone.server.app import create_app
from memstone.testing.clock import FakeClock
from scripts.rest_shown import format_answer
from tests.server.upstream import Upstream, served

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "reference"
NOW: Final = datetime(2026, 5, 7, 9, 30, tzinfo=UTC)
_BLOCK: Final = re.compile(r"(^```text\n)(\$ .*?)(^```$)", re.MULTILINE | re.DOTALL)
_VARIABLE: Final = re.compile(r"# \$(\w+) is its (\w+)$")
_REFUSED: Final = "# refused"
_ENDED: Final = "# when it has ended"
_RUNNING: Final = re.compile(r'"state": ?"running"')
_SERVICE: Final = frozenset({"MEMSTONE", "MEMSTONE_KEY", "AUTH"})
_PROBLEM: Final = re.compile(r'"type": ?"urn:memstone:')
_MOMENT: Final = 0.1
_TIMED_OUT: Final = 28  # a stream that was listened to for as long as the command says


def pages() -> list[Path]:
    """Return the pages with a walk."""
    return sorted(FOLDER.glob("rest-*.md"))


@dataclass
class Walker:
    """Somebody who types in the commands of a page."""

    place: Path
    clock: FakeClock
    names: dict[str, str]
    walked: list[str] = field(default_factory=list)

    def page(self, text: str) -> str:
        """Return the page with the answers as they are now."""
        return _BLOCK.sub(lambda mark: f"{mark[1]}{self._block(mark[2])}{mark[3]}", text)

    def _block(self, block: str) -> str:
        commands = re.findall(r"^\$ (.+)$", block, re.MULTILINE)
        return "".join(f"$ {one}\n{self._answer(one)}".rstrip() + "\n" for one in commands)

    def _answer(self, command: str) -> str:
        self.walked.append(command)
        self.clock.advance(seconds=_MOMENT)
        answer = self._typed(command)
        while command.endswith(_ENDED) and _RUNNING.search(answer):
            time.sleep(0.05)
            answer = self._typed(command)
        if bool(_PROBLEM.search(answer)) != command.endswith(_REFUSED):
            raise RuntimeError(f"{command}\nwas answered: {answer}")
        if stored := _VARIABLE.search(command):
            self.names[stored[1]] = _first(command, answer, stored[2])
        return format_answer(answer, {value: name for name, value in self.names.items() if name not in _SERVICE})

    def _typed(self, command: str) -> str:
        ended = subprocess.run(  # noqa: S602 - the commands of our own pages
            command,
            shell=True,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=self.place,
            env={**os.environ, **self.names},
        )
        if ended.returncode not in (0, _TIMED_OUT):
            raise RuntimeError(f"{command}\nfailed: {ended.returncode} {ended.stderr}")
        return ended.stdout


def _first(command: str, answer: str, name: str) -> str:
    found = re.search(rf'"{name}":"([^"]+)"', answer)
    if found is None:
        raise RuntimeError(f"{command}\nhas no {name} in its answer: {answer}")
    return found[1]


@contextmanager
def service() -> Iterator[Walker]:
    """Start a new service with a key for everything, before a model of its own."""
    behind = Upstream()
    with tempfile.TemporaryDirectory() as place, served(behind.app) as models:
        config: Mapping[str, Any] = {
            "store": {"url": f"sqlite:///{place}/walk.db"},
            "embedder": {"provider": "hash"},
            "server": {"backup_folder": place},
            "gateway": {"upstreams": [{"name": "models", "base_url": f"{models}/v1"}]},
        }
        clock = FakeClock(NOW)
        with Memory(config, clock=clock) as memory:
            key = memory.admin.keys.create("walk", verbs=["admin"], may_assert_user=True)["key"]
        with served(create_app(config, memory=AsyncMemory(config, clock=clock))) as address:
            names = {"MEMSTONE": address, "MEMSTONE_KEY": key, "AUTH": f"Authorization: Bearer {key}"}
            yield Walker(Path(place), clock, names)


def walk(text: str) -> tuple[str, list[str]]:
    """Return a page with its answers, and the commands that were given."""
    with service() as walker:
        return walker.page(text), walker.walked


def operation_of(command: str, paths: Mapping[str, Mapping[str, Any]]) -> str:
    """Return which operation of the description a command asks for; '' for none."""
    path = re.search(r"\$MEMSTONE(/[^\s\"?]*)", command)
    value = re.search(r"-X (\w+)", command)
    method = value[1] if value else "POST" if re.search(r" --json | -d | --data", command) else "GET"
    wanted = path[1] if path else ""
    fitting = [one for one in paths if method.lower() in paths[one] and re.fullmatch(_as_pattern(one), wanted)]
    return f"{method} {min(fitting, key=lambda one: one.count('{'))}" if fitting else ""


def _as_pattern(path: str) -> str:
    return re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))


def operations(paths: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return every operation there is."""
    return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


def main(arguments: list[str]) -> int:
    """Write the answers into the pages, or say which are out of date."""
    paths = create_app({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}).openapi()["paths"]
    named = [one for one in arguments if not one.startswith("-")]
    left, stale = operations(paths), list[str]()
    for page in pages():
        if named and page.stem not in named:
            continue
        before = page.read_text("utf-8")
        after, commands = walk(before)
        left -= {operation_of(one, paths) for one in commands}
        if "--check" not in arguments:
            page.write_text(after, "utf-8")
        elif after != before:
            stale += difflib.unified_diff(before.splitlines(), after.splitlines(), page.name, "now", lineterm="", n=1)
    if stale:
        print("\n".join(stale), "\nrun python -m scripts.rest_walk", sep="\n")
    if left and not named:
        print("no page shows:", *sorted(left), sep="\n")
    return 1 if stale or (left and not named) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
