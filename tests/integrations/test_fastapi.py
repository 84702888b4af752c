import asyncio
from pathlib import Path
from typing import Annotated

import httpx2
import pytest
from fastapi import Depends, FastAPI, Header

from memstone import AsyncMemory, UsageError
from memstone.integrations.fastapi import MemoryProvider
from tests.server.upstream import served


def current_user(x_user: Annotated[str, Header()]) -> str:
    return x_user


def application(path: Path) -> FastAPI:
    """An application whose routes reach the memory of whoever asks."""
    memories = MemoryProvider({"store": {"url": f"sqlite:///{path}"}, "embedder": {"provider": "hash"}})
    app = FastAPI(lifespan=memories.lifespan)
    OwnMemory = Annotated[AsyncMemory, Depends(memories.for_user(current_user))]  # noqa: N806 - a type
    WholeMemory = Annotated[AsyncMemory, Depends(memories)]  # noqa: N806 - the same
    UserName = Annotated[str, Depends(current_user)]  # noqa: N806 - the same

    @app.post("/notes")
    async def note(text: str, memory: OwnMemory, user: UserName) -> str:
        answer = await memory.add(text, user_id=user, infer=False)
        return str(answer["results"][0]["id"])

    @app.get("/notes/{memory_id}")
    async def read(memory_id: str, memory: OwnMemory) -> str | None:
        item = await memory.get(memory_id)
        return item["memory"] if item else None

    @app.get("/count")
    async def count(memory: WholeMemory) -> int:
        return (await memory.stats())["memories"]

    return app


def test_everybody_reaches_their_own_memory(tmp_path: Path) -> None:
    alice, bob = ({"X-User": name} for name in ("alice", "bob"))
    with served(application(tmp_path / "app.db")) as url, httpx2.Client(base_url=url) as client:
        note = client.post("/notes", params={"text": "Alice rows"}, headers=alice).json()
        assert client.get(f"/notes/{note}", headers=alice).json() == "Alice rows"
        assert client.get(f"/notes/{note}", headers=bob).json() is None
        assert client.get("/count").json() == 1
    with served(application(tmp_path / "app.db")) as url:
        assert httpx2.get(f"{url}/notes/{note}", headers=alice).json() == "Alice rows", "it was closed and opened again"


async def _use(memories: MemoryProvider) -> AsyncMemory:
    return await memories()


def test_without_the_lifespan_the_error_says_what_is_missing() -> None:
    with pytest.raises(UsageError, match="not open"):
        asyncio.run(_use(MemoryProvider()))
