"""Adds every conversation twice to one system, in a process of its own: ``python -m benchmarks.tokens.child SYSTEM``.

The job comes as JSON on standard input (``url`` and ``key`` of the model, ``directory`` for the store); the answer is
JSON on standard output. This module runs in the peer's environment too, where Memstone is not installed.
"""

from __future__ import annotations

import contextlib
import json
import sys
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from benchmarks.speed.systems.mem0_system import GivenVectors
from benchmarks.speed.vectors import DIMENSIONS, VectorTable
from benchmarks.tokens.script import CONVERSATIONS, USER, ScriptTurn

MODEL: Final = "gpt-4o-mini"
MARK_PATH: Final = "/mark"
"""Where a child says which ``add`` comes next."""

VECTORS_PATH: Final = "/vectors"
"""Where a child asks for vectors; no vendor is asked for them, and therefore they are not counted."""


class ServedVectors(VectorTable):
    """Vectors from the process that counts."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def learn(self, texts: Iterable[str]) -> None:
        """Ask for the vectors of these texts."""
        asked = list(texts)
        rows = np.array(_post(f"{self._url}{VECTORS_PATH}", asked), dtype=np.float32)
        self._known.update(zip(asked, rows, strict=True))


class Learner(Protocol):
    """A system that learns facts from conversations."""

    def add(self, messages: Sequence[dict[str, str]]) -> list[str]:
        """Learn; return what happened, event by event."""
        ...

    def live(self) -> list[str]:
        """Return all memories that a search could find, oldest first."""
        ...


class Memstone:
    """Memstone with the model at ``url``."""

    def __init__(self, directory: Path, url: str, key: str) -> None:
        llm = {"provider": "openai", "config": {"base_url": f"{url}/v1", "api_key": key, "model": MODEL, "retries": 0}}
        config = {"store": {"url": f"sqlite:///{directory / 'memstone.db'}"}, "llm": llm}
        self._memory: Any = import_module("memstone").Memory(config, embedder=ServedVectors(url))

    def add(self, messages: Sequence[dict[str, str]]) -> list[str]:
        """Add with ``infer=True``; an answer that was put off would falsify the count."""
        answer = self._memory.add(messages, user_id=USER, infer=True)
        if answer["status"] != "ok" or "degraded" in answer:
            raise RuntimeError(f"the model was not understood: {answer}")
        return [f"{result['event']} {result['memory']}" for result in answer["results"]]

    def live(self) -> list[str]:
        """Return what it lists."""
        return _texts(self._memory.get_all(user_id=USER, limit=1000))


class Mem0:
    """The peer with the model at ``url``, its own default store, and the same vectors as Memstone."""

    def __init__(self, directory: Path, url: str, key: str) -> None:
        openai = {"api_key": key, "openai_base_url": f"{url}/v1"}
        store = {"path": str(directory / "qdrant"), "embedding_model_dims": DIMENSIONS}
        config = {
            "vector_store": {"provider": "qdrant", "config": store},
            "embedder": {"provider": "openai", "config": {**openai, "embedding_dims": DIMENSIONS}},
            "llm": {"provider": "openai", "config": {**openai, "model": MODEL}},
            "history_db_path": str(directory / "history.db"),
        }
        self._memory: Any = import_module("mem0").Memory.from_config(config)
        self._memory.embedding_model = GivenVectors(ServedVectors(url), self._memory.embedding_model.config)

    def add(self, messages: Sequence[dict[str, str]]) -> list[str]:
        """Add as it learns by default."""
        answer = self._memory.add(messages, user_id=USER)
        return [f"{result['event']} {result['memory']}" for result in answer["results"]]

    def live(self) -> list[str]:
        """Return what it lists."""
        return _texts(self._memory.get_all(filters={"user_id": USER}, top_k=1000))


def _texts(listed: dict[str, Any]) -> list[str]:
    rows = sorted(listed["results"], key=lambda row: str(row.get("created_at")))
    return [str(row["memory"]) for row in rows]


SYSTEMS: Final[dict[str, Callable[[Path, str, str], Learner]]] = {"memstone": Memstone, "mem0": Mem0}


def run(system: Learner, url: str) -> dict[str, Any]:
    """Run every conversation, and at once again, as a client does that has not heard the first answer."""
    events = []
    for conversation in CONVERSATIONS:
        for resend in (False, True):
            _mark(url, conversation.title, resend=resend)
            events.append(system.add([_message(turns) for turns in conversation.messages]))
    return {"live": system.live(), "events": events}


def _message(script_turn: ScriptTurn) -> dict[str, str]:
    return {"role": script_turn.role, "content": script_turn.content}


def _mark(url: str, title: str, *, resend: bool) -> None:
    _post(f"{url}{MARK_PATH}", {"title": title, "resend": resend})


def _post(url: str, value: Any) -> Any:
    request = urllib.request.Request(url, json.dumps(value).encode())  # noqa: S310 - our own address
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=60) as answer:
        return json.load(answer)


def main(arguments: list[str]) -> None:
    """Run it; what the system itself prints is sent to standard error."""
    job = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        learner = SYSTEMS[arguments[0]](Path(job["directory"]), job["url"], job["key"])
        answer = run(learner, job["url"])
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
