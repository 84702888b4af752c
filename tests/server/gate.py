"""A gateway before a loopback upstream, and the official clients of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import openai

from memstone import Memory
from memstone.results import MemoryItem
from memstone.server.app import create_app
from tests.patience import LONG, until
from tests.server.upstream import Upstream, served

__all__ = ["Gate", "ask", "gated", "said", "until"]


@dataclass
class Gate:
    """A gateway, what stands behind it, and a memory on the same store."""

    url: str
    upstream: Upstream
    memory: Memory
    app: Any
    clients: ExitStack
    preset: str = "gateway"

    def key(self, **key: Any) -> str:
        """A new key."""
        made: str = self.memory.admin.keys.create(**key)["key"]
        return made

    def openai(self, **key: Any) -> openai.OpenAI:
        """The official client, with a new key; it is closed with the gateway."""
        made = openai.OpenAI(api_key=self.key(**key), base_url=f"{self.url}/v1", max_retries=0)
        return self.clients.enter_context(made)

    def anthropic(self, **key: Any) -> anthropic.Anthropic:
        """The official client, with a new key; it is closed with the gateway."""
        made = anthropic.Anthropic(api_key=self.key(**key), base_url=self.url, max_retries=0)
        return self.clients.enter_context(made)

    def facts(self, user: str) -> list[str]:
        """What is known about a user."""
        return [one["memory"] for one in self.memory.get_all(user_id=user)["results"]]

    def turns(self, user: str) -> list[MemoryItem]:
        """What was said."""
        return self.memory.get_all(user_id=user, layers=["turn"])["results"]

    @property
    def sent(self) -> str:
        """The last request that went upstream."""
        return str(self.upstream.seen[-1])

    @property
    def loop(self) -> Any:
        """The loop on which the gateway lives, while something goes on there."""
        return next(iter(self.app.state.memstone.tasks._running)).get_loop()

    @property
    def tasks(self) -> int:
        """How much goes on after answers."""
        return len(self.app.state.memstone.tasks)


@contextmanager
def gated(place: Path, upstream: dict[str, Any] | None = None, **more: Any) -> Iterator[Gate]:
    """Start both; ``upstream`` and ``more`` are settings beside the usual ones."""
    behind = Upstream()
    place.mkdir(exist_ok=True)
    with served(behind.app) as address:
        one = {"name": "up", "base_url": f"{address}/v1", "api_key": "sk-upstream", "retries": 1}
        one |= {"connect_timeout": LONG, **(upstream or {})}
        config: dict[str, Any] = {
            "store": {"url": f"sqlite:///{place}/g.db", "durable": False},
            "embedder": {"provider": "hash"},
            "preset": "gateway",
            "write": {"mode": "inline"},
            "context": {"false_injection": 0.0, "min_score": 0.0},
            "gateway": {"upstreams": [one], "recall_ms": 120_000},
        }
        config |= {
            name: {**config[name], **value} if name in config and isinstance(value, dict) else value
            for name, value in more.items()
        }
        app = create_app(config)
        with Memory(config) as memory, served(app) as url, ExitStack() as clients:
            yield Gate(url, behind, memory, app, clients, config["preset"])


def ask(client: openai.OpenAI, text: str, **more: Any) -> Any:
    """One question."""
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}], **more)


def said(answer: Any, *, stream: bool = False) -> str:
    """The words of an answer."""
    if not stream:
        return str(answer.choices[0].message.content)
    return "".join(one.choices[0].delta.content or "" for one in answer if one.choices).strip()
