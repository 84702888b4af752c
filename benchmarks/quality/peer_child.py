"""Runs in the peer's environment: stores what users said as it is, and searches it with its own defaults."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.corpus import Item
from benchmarks.speed.systems.mem0_system import Mem0


def main() -> None:
    """Read the job, and write what was found for each question."""
    values: dict[str, Any] = json.load(sys.stdin)
    vectors: Any = {text: np.asarray(vector, dtype=np.float32) for text, vector in values["vectors"].items()}
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
        peer = Mem0(Path(folder), vectors)
        for user, message in values["turns"].items():
            for text in message:
                peer.add(Item(text, user))
        found = [peer.search(Item(text, user)) for user, text in values["asked"]]
        peer.close()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
