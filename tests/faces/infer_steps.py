"""Steps of the scenarios with ``infer=True``."""

from __future__ import annotations

from typing import Any, Final

from tests.faces.harness import Face, Opens

LOCAL: Final = {"embedder": {"provider": "local"}}
"""The real model, where a decision needs to know what words mean."""


async def told(face: Face, message: Any, opens: Opens, **rest: Any) -> list[tuple[str, str]]:
    """Say something a minute later; gives events and texts."""
    opens.clock.advance(minutes=1)
    answer = await face.add(message, **{"user_id": "alice", "infer": True, **rest})
    assert answer["status"] == "ok", answer
    return [(result["event"], result["memory"]) for result in answer["results"]]


async def turns(face: Face, **scope: Any) -> list[dict[str, Any]]:
    """What was said, in the order in which it was."""
    found = (await face.get_all(layers=["turn"], **(scope or {"user_id": "alice"})))["results"]
    return sorted(found, key=lambda turn: turn["created_at"])


async def kept(face: Face) -> list[dict[str, Any]]:
    """Every version of every memory, as it lies in the store."""
    return [line for line in await face.export(everybody=True) if line["type"] == "memory"]


async def said_in(face: Face) -> list[str]:
    """The words that alice's turns hold, sorted."""
    return sorted(turn["memory"] for turn in await turns(face))
