"""Functions of the caller's may be async where somebody awaits them: in ``AsyncMemory``, and only there."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.errors import ConfigError, EmbeddingError, InvalidInput
from tests.faces.harness import Opens, verb_of
from tests.faces.test_arguments import METHODS
from tests.faces.test_everybody import METHOD

ON_A_LOOP: Final = pytest.mark.parametrize(("kind", "store"), [("async_memory", "file")], indirect=True)
WORDS: Final = ("oslo", "tea", "cat")


def count(texts: Iterable[str]) -> list[list[float]]:
    return [[text.lower().count(word) + 0.01 for word in WORDS] for text in texts]


class Loud:
    """Async functions that note on which thread they ran."""

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.calls: list[str] = []

    async def _called(self, name: str) -> None:
        self.calls.append(name)
        self.threads.add(threading.get_ident())
        await asyncio.sleep(0)

    async def embed(self, texts: list[str]) -> Any:
        """One row for each text."""
        await self._called("embed")
        return count(texts)

    async def ask(self, messages: list[dict[str, str]]) -> str:
        """The facts in what was said."""
        await self._called("ask")
        text = messages[-1]["content"]
        facts = [{"text": "User lives in Oslo.", "turn": 1, "quote": "I live in Oslo"}] if "Oslo" in text else []
        return json.dumps({"facts": facts})

    async def rank(self, query: str, documents: list[str]) -> list[float]:
        """What holds the question first."""
        await self._called("rank")
        return [1.0 if query in document else 0.0 for document in documents]


@ON_A_LOOP
@pytest.mark.req("C-49", "C-47", "C-48")
async def test_models_may_be_async_functions(opens: Opens) -> None:
    loud = Loud()
    face = opens(embedder=loud.embed, llm=loud.ask, reranker=loud.rank)
    assert [one["memory"] for one in (await face.add("I live in Oslo.", user_id="alice"))["results"]] == [
        "User lives in Oslo."
    ]
    await face.remember("I like tea")
    assert (await face.found("tea"))[0] == "I like tea"
    assert await face.found("oslo", strategy="vector", limit=1) == ["User lives in Oslo."]
    assert {"embed", "ask", "rank"} <= set(loud.calls)
    assert loud.threads == {threading.get_ident()}, "they run on the loop, where their connections are"


@ON_A_LOOP
@pytest.mark.req("C-49")
async def test_an_async_embedder_is_known_again_by_what_it_gives(opens: Opens) -> None:
    async def embed(texts: list[str]) -> Any:
        return count(texts)

    face = opens(embedder=embed)
    await face.remember("I live in Oslo")
    first = (await face.stats())["indexes"]

    async def another(texts: list[str]) -> Any:
        return [[*row[1:], row[0]] for row in count(texts)]

    async def same(texts: list[str]) -> Any:
        return count(texts)

    for function, is_same in ((same, True), (another, False)):
        function.__qualname__ = embed.__qualname__
        again = opens(embedder=function)
        await again.remember(f"I like tea {is_same}")
        assert (len((await again.stats())["indexes"]) == len(first)) is is_same


@ON_A_LOOP
async def test_what_an_async_function_raises_is_an_error_of_ours(opens: Opens) -> None:
    async def down(_: list[str]) -> Any:
        raise ConnectionError("no route")

    face = opens(embedder=down)
    with pytest.raises(EmbeddingError, match="no route"):
        await face.add("I live in Oslo", user_id="alice", infer=False, strict=True)


@pytest.mark.req("C-49")
@pytest.mark.parametrize("port", ["embedder", "llm", "reranker"])
def test_a_blocking_memory_refuses_an_async_function(port: str) -> None:
    async def function(*_: Any) -> Any:
        return None

    with pytest.raises(ConfigError, match="async function") as refused:
        Memory({"store": {"url": "memory:"}}, **{port: function})  # type: ignore[arg-type]
    assert "AsyncMemory" in refused.value.hint


TELLING: Final = sorted(name for name in METHODS if "progress" in inspect.signature(METHOD[name]).parameters)


def _given(verb: str, folder: Path) -> dict[str, Any]:
    values: dict[str, dict[str, Any]] = {
        "sessions.backfill": {"conversations": [{"id": "c", "messages": ["I like tea, a lot."]}], "user_id": "bob"},
        "admin.backups.create": {"path": folder / "copy.backup"},
        "admin.backups.restore": {"path": folder / "first.backup"},
        "admin.erase": {"user_id": "alice"},
        "admin.import_from": {"source": b"- I like tea\n", "format": "markdown", "user_id": "bob"},
        "ingest": {"turns": "I like tea", "user_id": "bob"},
        "sharing.reassign": {"from_scope": {"user_id": "alice"}, "to_scope": {"user_id": "bob"}},
        "review.rollback": {"since": "2020-01-01", "user_id": "alice"},
        "admin.redact": {},
        "admin.reindex": {},
    }
    return values[verb]


@pytest.mark.req("C-49")
@pytest.mark.parametrize("verb", TELLING)
@ON_A_LOOP
async def test_progress_may_be_an_async_function(opens: Opens, verb: str, tmp_path: Path) -> None:
    face = opens()
    await face.remember("I live in Oslo")
    await face.admin.backups.create(tmp_path / "first.backup")
    if verb == "admin.reindex":
        face = opens({"embedder": {"provider": "hash", "config": {"dim": 64}}})
    lines: list[tuple[int, int]] = []

    async def progress(done: int, total: int) -> None:
        await asyncio.sleep(0)
        lines.append((done, total))

    await verb_of(face, verb)(**_given(verb, tmp_path), progress=progress)

    assert lines
    assert lines[-1][0] == lines[-1][1]
    assert lines == sorted(lines)


@pytest.mark.req("C-49")
@pytest.mark.parametrize("verb", TELLING)
def test_a_blocking_memory_refuses_async_progress_before_anything_is_done(verb: str, tmp_path: Path) -> None:
    async def progress(*_: int) -> None:
        raise AssertionError

    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as memory:
        memory.add("I live in Oslo", user_id="alice", infer=False)
        before = memory.review.events(everybody=True)["cursor"]
        with pytest.raises(InvalidInput, match="progress must be a plain function"):
            verb_of(memory, verb)(**_given(verb, tmp_path), progress=progress)
        assert memory.review.events(everybody=True)["cursor"] == before


@pytest.mark.req("N-23")
@ON_A_LOOP
async def test_async_progress_may_end_a_backfill(opens: Opens) -> None:
    async def enough(done: int, total: int) -> bool:
        await asyncio.sleep(0)
        return done < total - 1

    talks = [{"id": f"c{number}", "messages": [f"I like tea number {number}."]} for number in range(3)]
    answer = await opens().sessions.backfill(talks, user_id="alice", progress=enough)
    assert (answer["cancelled"], len(answer["results"])) == (True, 2)
