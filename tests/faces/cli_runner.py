"""Runs the command line in this process, with a home, a store and an embedder of its own."""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memstone.cli.run import run_command

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be exactly one JSON document."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error on standard error, which must be the only thing there."""
        found: dict[str, Any] = json.loads(self.err)["error"]
        return found


class Cli:
    """``cli("list", "--user", "alice")`` runs a command on a store in the test's directory."""

    def __init__(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], embedder: str = "hash"
    ) -> None:
        self.home, self._monkeypatch, self._capsys = home, monkeypatch, capsys
        for name in [name for name in os.environ if name.startswith("MEMSTONE_")]:
            monkeypatch.delenv(name)
        self.environ("HOME", str(home))
        self.environ("MEMSTONE_EMBEDDER__PROVIDER", embedder)
        self.db = home / ".memstone" / "memstone.db"

    def environ(self, name: str, value: str) -> None:
        """Set a variable for the commands that follow."""
        self._monkeypatch.setenv(name, value)

    def __call__(self, *args: object, stdin: bytes = b"") -> Ran:
        """Run one command."""
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self._capsys.readouterr()
        code = run_command([str(arg) for arg in args])
        return Ran(code, *self._capsys.readouterr())

    def added(self, text: str, *more: object) -> str:
        """Store a text of alice's as it is; gives its id."""
        ran = self("add", text, "--no-infer", "--user", "alice", "--json", *more)
        assert ran.code == 0, ran
        memory_id: str = ran.json["results"][0]["id"]
        return memory_id

    def texts(self, *args: object) -> list[str]:
        """The memories a command answers with."""
        return [one["memory"] for one in self(*args, "--json").json["results"]]
