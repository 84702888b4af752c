"""The peer of the chats: mem0 without a model, in an environment of its own, with the same vectors."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from benchmarks.quality.embedding import local
from benchmarks.speed.runner import ROOT
from benchmarks.speed.venvs import PEER, PEER_VERSION, cache_root, ensure
from memstone.drive import drive

Peer: TypeAlias = Callable[[Mapping[str, list[str]], Sequence[tuple[str, str]]], list[list[str]]]
"""The turns of each user, and who asks what: what it finds for each."""


def mem0() -> Peer:
    """Return the peer, installed when it is first asked for."""
    python = ensure(cache_root() / f"{PEER}-{PEER_VERSION}", f"{PEER}=={PEER_VERSION}")

    def ask(turns: Mapping[str, list[str]], asked: Sequence[tuple[str, str]]) -> list[list[str]]:
        texts = list(
            dict.fromkeys([*(one for sentences in turns.values() for one in sentences), *(one for _, one in asked)])
        )
        vectors = drive(local().embed(texts))
        values = {
            "turns": dict(turns),
            "asked": list(asked),
            "vectors": {text: vector.tolist() for text, vector in zip(texts, vectors, strict=True)},
        }
        done = subprocess.run(  # noqa: S603 - our own command line
            [str(python), "-m", "benchmarks.quality.peer_child"],
            input=json.dumps(values),
            env={**os.environ, "PYTHONPATH": str(ROOT), "MEM0_TELEMETRY": "False"},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        found: Any = json.loads(done.stdout)
        return list(found)

    return ask
