"""Many clients at once, each on a connection that it keeps: every one of them gets its whole answer."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import httpx2
import pytest

from tests.patience import LONG
from tests.server.gate import Gate, gated

CLIENTS: Final = 64
CALLS: Final = 6


def chat(client: httpx2.Client, *, stream: bool) -> str:
    """A chat; what comes back is read to its end."""
    body = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": "Where do I live?"}]}
    with client.stream("POST", "/v1/chat/completions", json=body) as answer:
        text = "".join(answer.iter_text())
    ended = text.endswith("data: [DONE]\n\n") if stream else text.endswith("}")
    return f"{answer.status_code} {'whole' if ended else 'cut'}"


def rest(client: httpx2.Client, number: int) -> str:
    """Something else that is asked for meanwhile."""
    if number % 2:
        answer = client.post("/v1/memories", json={"messages": f"I own book {number}.", "infer": False})
    else:
        answer = client.get("/v1/memories", params={"limit": 5})
    return f"{answer.status_code} {'whole' if answer.json() else 'cut'}"


def calls(gate: Gate, key: str, number: int, together: threading.Barrier) -> Counter[str]:
    """What one client gets for all its calls, which begin when everybody's do."""
    with httpx2.Client(base_url=gate.url, headers={"Authorization": f"Bearer {key}"}, timeout=LONG) as client:
        together.wait(LONG)
        lines = [
            rest(client, number + call) if (number + call) % 3 == 0 else chat(client, stream=bool((number + call) % 2))
            for call in range(CALLS)
        ]
    return Counter(lines)


@pytest.mark.slow
def test_every_client_gets_its_whole_answer(tmp_path: Path) -> None:
    with gated(tmp_path, server={"rate": {"per_minute": 0}}) as gate, ThreadPoolExecutor(CLIENTS) as pool:
        gate.memory.add("I live in Oslo", user_id="alice")
        key, together = gate.key(user_id="alice"), threading.Barrier(CLIENTS)
        answer = sum(pool.map(lambda number: calls(gate, key, number, together), range(CLIENTS)), Counter[str]())
        assert answer == {"200 whole": CLIENTS * CALLS}
        assert gate.upstream.open == 0
