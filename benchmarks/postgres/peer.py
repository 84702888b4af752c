"""The peer over the same server: ``mem0ai`` with its pgvector store, in an environment and a process of its own.

It is asked in turns with the others, one question at a time, and tells what each took: itself, and the process of the
server that answers it. Its rows are written past it, into the table and under the indexes that it makes itself, because
storing them through it one by one would take hours. Telemetry is off, and no model is ever asked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.postgres.corpus import Corpus
from benchmarks.speed import runner, venvs

_DRIVER: Final = "psycopg[binary,pool]"
_CHILD: Final = "benchmarks.postgres.peer_child"


def python() -> Path:
    """Return the interpreter of its environment, made when it is not there yet."""
    found = venvs.ensure(venvs.cache_root() / "mem0-pgvector", f"{venvs.PEER}=={venvs.PEER_VERSION}")
    packages = next((found.parent.parent / "lib").glob("python*/site-packages"))
    if not (packages / "psycopg_pool").is_dir():
        pip = [sys.executable, "-m", "pip", "--python", str(found), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, _DRIVER], check=True)  # noqa: S603 - our own command line
    return found


class Peer:
    """A process that answers questions."""

    def __init__(self, url: str, corpus: Corpus, folder: Path) -> None:
        np.save(folder / "vectors.npy", corpus.vectors)
        np.save(folder / "queries.npy", corpus.queries)
        values = {"users": corpus.users, "words": corpus.words, "asked": corpus.asked, "dim": corpus.size.dim}
        (folder / "corpus.json").write_text(json.dumps(values), "utf-8")
        silent = {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder), "HOME": str(folder)}
        self._process = subprocess.Popen(  # noqa: S603 - our own command line
            [str(python()), "-m", _CHILD, url, str(folder)],
            env={**os.environ, "PYTHONPATH": str(runner.ROOT), **silent},
            cwd=runner.ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def filled(self) -> None:
        """Wait until it has everything, and its indexes: that takes minutes."""
        assert self._answer() == "ready"

    def timed(self, call: str, user: str, number: int, *, facts: bool) -> tuple[list[float], set[int]]:
        """Return seconds by the clock, of its process and of the server's, and what it found."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"call": call, "user": user, "number": number, "facts": facts}) + "\n")
        self._process.stdin.flush()
        times, found = self._answer()
        return times, set(found)

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise runner.ChildFailed("the peer ended; what it said stands above")
        return json.loads(line)

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
