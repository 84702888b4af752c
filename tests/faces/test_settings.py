from __future__ import annotations

import asyncio
import copy
import pickle
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from memstone import AsyncMemory, Memory, Settings
from memstone.errors import ConfigError, StorageError, TooLarge, Unsupported
from memstone.testing.wire import KEY, FakeChat, WireReply, WireRequest, WireServer, fake_openai
from tests.faces.harness import ANYWHERE, FACES, ON_DISK, Face, Opens, texts
from tests.patience import LONG
from tests.postgres.server import Server

STORES = (
    "azure_ai_search",
    "chroma",
    "elasticsearch",
    "faiss",
    "local",
    "memory",
    "milvus",
    "opensearch",
    "pgvector",
    "pinecone",
    "qdrant",
    "redis",
    "weaviate",
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens a connection to somewhere fails the test."""

    def refuse(*args: Any) -> None:
        raise AssertionError(f"text would leave the machine: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-used")
    monkeypatch.setenv("DATABASE_URL", "postgresql://nowhere/nothing")
    monkeypatch.setenv("QDRANT_HOST", "nowhere")


@ON_DISK
@pytest.mark.req("C-7", "C-58.42", "X-18", "X-38")
async def test_without_any_argument_it_works_at_home_and_offline(
    opens: Opens, kind: str, home: Path, offline: None
) -> None:
    face = Face(FACES[kind]())
    opens._open.append(face)

    await face.remember("I moved to Lisbon last summer and work as a nurse")
    await face.remember("My favourite dish is mushroom risotto")
    await face.remember("The car needs new tyres before winter")

    answer = await face.search("What does she like to eat?", user_id="alice")
    assert texts(answer)[0] == "My favourite dish is mushroom risotto", "none of its words is in the question"
    best = (await face.search("her favourite food", user_id="alice"))["results"][0]
    assert best["memory"] == "My favourite dish is mushroom risotto"
    assert best["score"] > 0.5
    assert (home / ".memstone" / "memstone.db").stat().st_size > 0
    assert [space["signature"].split(":")[0] for space in (await face.stats())["indexes"]] == ["local"]


@ON_DISK
@pytest.mark.req("C-43", "X-18")
async def test_the_store_is_where_it_is_told_to_be(kind: str, opens: Opens, tmp_path: Path) -> None:
    for config in (
        {"store": {"url": f"sqlite:///{tmp_path}/deep/er/one.db"}},
        {"history": {"db_path": str(tmp_path / "deep" / "er" / "one.db")}},
        Settings(store={"url": f"sqlite:///{tmp_path}/deep/er/one.db"}),  # type: ignore[arg-type]
    ):
        settings = config if isinstance(config, Settings) else {**config, "embedder": {"provider": "none"}}
        face = Face(FACES[kind](settings))
        opens._open.append(face)
        await face.remember("I live in Oslo")
        await face.remember("I live in Oslo")
        assert await face.listed() == ["I live in Oslo"]
        assert (await face.admin.check())["location"] == str(tmp_path / "deep" / "er" / "one.db")


async def test_two_stores_in_memory_are_two_stores(opens: Opens, store: Path | None) -> None:
    one, two = opens({"store": {"url": "memory:"}}), opens({"store": {"url": ":memory:"}})
    await one.remember("I live in Oslo")

    assert await two.listed() == []
    assert (await one.admin.check())["location"] == "memory:"


@pytest.mark.req("C-52", "X-18")
@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"stroe": {}}, "stroe"),
        ({"store": {"path": "x"}}, "store.path"),
        ({"store": {"url": "mysql://host/db"}}, "store.url"),
        ({"store": {"url": 7}}, "store.url"),
        ({"store": {"durable": "perhaps"}}, "store.durable"),
        ({"store": {"url": "memory:"}, "history": {"db_path": "x.db"}}, "differ"),
        ({"embedder": {"provider": "magic"}}, "magic"),
        ({"embedder": {"provider": "hash", "config": {"dim": 1}}}, "dim"),
        ({"embedder": {"provider": "hash", "config": {"colour": 1}}}, "colour"),
        ({"embedder": {"provider": "no.such.module:Class"}}, "no.such"),
        ({"vector_store": {"provider": "magic"}}, "magic"),
        ({"llm": {"provider": "magic"}}, "magic"),
        ({"policy": {"strategy": "magic"}}, "policy.strategy"),
        ({"policy": {"min_score": 2}}, "policy.min_score"),
        ({"limits": {"batch": 0}}, "limits.batch"),
        ({"embedding_cache": {"entries": -1}}, "embedding_cache.entries"),
        ({"tenant": ""}, "tenant"),
        (["store"], "configuration"),
        (7, "configuration"),
    ],
)
def test_a_setting_that_is_wrong_is_named(kind: str, config: Any, named: str) -> None:
    base = {"store": {"url": "memory:"}} if isinstance(config, dict) else None
    with pytest.raises((ConfigError, ImportError), match=named.replace(".", r"\.")) as caught:
        FACES[kind]({**base, **config} if base else config)
    assert getattr(caught.value, "hint", "")


@pytest.mark.req("X-38")
def test_a_secret_is_never_part_of_an_error_or_of_what_is_shown(kind: str) -> None:
    with pytest.raises(ConfigError) as caught:
        FACES[kind]({"store": {"url": "mysql://me:hunter2@host/db"}})
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        FACES[kind]({"embedder": {"provider": "openai", "config": {"api_key": "sk-hunter2", "colour": "red"}}})
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(Settings.from_env({"OPENAI_API_KEY": "sk-hunter2"}))


@pytest.mark.req("C-46", "X-38", "C-7")
def test_only_from_env_chooses_a_provider_by_its_key(kind: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    monkeypatch.setenv("MEMSTONE_STORE__URL", "memory:")

    chosen = FACES[kind].from_env().engine.runtime.embedding.embedder
    assert chosen is not None
    assert (chosen.provider, chosen.model) == ("openai", "text-embedding-3-small")
    assert chosen.destination == "api.openai.com"
    local = FACES[kind]().engine.runtime.embedding.embedder
    assert local is not None
    assert (local.provider, local.destination) == ("local", "this machine")


async def test_limits_can_be_set(opens: Opens) -> None:
    face = opens({"limits": {"text_chars": 10, "batch": 2, "page": 3, "messages": 1, "metadata_bytes": 20}})

    for call in (
        face.store("x" * 11, user_id="alice"),
        face.store(["a", "b"], user_id="alice"),
        face.store("a", user_id="alice", metadata={"a": "x" * 30}),
        face.delete_many(["a", "b", "c"]),
    ):
        with pytest.raises(TooLarge) as caught:
            await call
        assert caught.value.hint
    with pytest.raises(ValueError, match="from 1 to 3"):
        await face.get_all(user_id="alice", limit=4)
    await face.remember("x" * 10)


@pytest.mark.req("C-48")
async def test_a_language_model_may_be_given_as_a_function(opens: Opens) -> None:
    face = opens(llm=lambda _: "fine")

    assert face.memory.engine.runtime.llm is not None
    from memstone.ports.models import Prompt

    reply = await face.memory.engine.runtime.llm.generate(Prompt([{"role": "user", "content": "hello"}]))
    assert (reply.text, list(reply.tool_calls)) == ("fine", [])
    with pytest.raises(Unsupported):
        await face.memory.engine.runtime.llm.generate(Prompt([], tools=[{"name": "t"}]))


class _NotQuite:
    """Has the method, but not the rest of the port."""

    async def embed(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]


async def waits(texts: list[str]) -> list[list[float]]:
    return [[1.0] for _ in texts]


@pytest.mark.req("C-47")
@pytest.mark.parametrize(("wrong", "named"), [(7, "int"), ("openai", "str"), (_NotQuite(), "provider")])
def test_what_is_no_embedder_is_refused_at_once(kind: str, wrong: Any, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        FACES[kind]({"store": {"url": "memory:"}}, embedder=wrong)


@pytest.mark.req("C-47")
def test_a_function_that_waits_is_no_embedder_where_nobody_can_wait() -> None:
    with pytest.raises(ConfigError, match="async"):
        FACES["memory"]({"store": {"url": "memory:"}}, embedder=waits)


@pytest.mark.parametrize("wrong", [5, 0, "noon", lambda: None])
def test_what_is_no_clock_is_refused_at_once(kind: str, wrong: Any) -> None:
    with pytest.raises(ConfigError, match="clock must have a method 'now'") as caught:
        FACES[kind]({"store": {"url": "memory:"}}, clock=wrong)
    assert "FakeClock" in caught.value.hint


@pytest.mark.parametrize(
    ("config", "known"),
    [
        (
            {"llm": {"provider": "magic"}},
            (
                "known: anthropic, azure_openai, cerebras, dashscope, deepinfra, deepseek, fireworks, gemini, groq, "
                "huggingface, litellm, llamacpp, lmstudio, local, mistral, moonshot, nvidia, ollama, openai, "
                "openrouter, perplexity, sambanova, together, vllm, xai, zai"
            ),
        ),
        (
            {"embedder": {"provider": "magic"}},
            (
                "known: azure_openai, cohere, deepinfra, fireworks, gemini, hash, jina, llamacpp, lmstudio, local, "
                "mistral, multilingual, nvidia, ollama, openai, static, tei, together, vllm, voyage"
            ),
        ),
        ({"vector_store": {"provider": "magic"}}, f"known: {', '.join(STORES)}"),
    ],
)
def test_only_names_that_a_configuration_may_give_are_called_known(kind: str, config: Any, known: str) -> None:
    with pytest.raises(ConfigError, match=r"unknown (llm|embedder|vector store) 'magic'") as caught:
        FACES[kind]({"store": {"url": "memory:"}, **config})
    assert caught.value.hint == known


def test_a_memory_that_is_pickled_says_why_not(kind: str) -> None:
    memory = FACES[kind]({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}})
    for way in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="create one in each process"):
            way(memory)


async def test_what_was_closed_says_so(face: Face) -> None:
    await face.remember("I live in Oslo")
    await face.close()
    await face.close()

    for call in (
        face.listed(),
        face.found("Oslo"),
        face.remember("more"),
        face.stats(),
        face.export(everybody=True),
        face.admin.check(),
    ):
        with pytest.raises(StorageError, match="closed") as caught:
            await call
        assert caught.value.hint


@ON_DISK
async def test_both_are_context_managers(kind: str, opens: Opens) -> None:
    config = {"store": {"url": opens.url}, "embedder": {"provider": "hash"}}
    if kind == "memory":
        with Memory(config) as memory:
            memory.add("I live in Oslo", user_id="alice", infer=False)
        with pytest.raises(StorageError, match="closed"):
            memory.get_all(user_id="alice")
    else:
        async with AsyncMemory(config) as other:
            await other.add("I live in Oslo", user_id="alice", infer=False)
        with pytest.raises(StorageError, match="closed"):
            await other.get_all(user_id="alice")
    assert await opens().listed() == ["I live in Oslo"]


@ON_DISK
async def test_check_tells_the_state_of_the_store(face: Face, opens: Opens) -> None:
    await face.remember("I live in Oslo")

    report = await face.admin.check()
    assert report["location"] == str(opens.path)
    assert report["integrity"] == ["ok"]
    assert (report["foreign_keys"], report["journal"]) == (0, "wal")
    assert report["schema"] == report["latest_schema"] > 0
    assert report["bytes"] > 0


NAMED: dict[str, Any] = {"embedder": {"provider": "openai"}, "llm": {"provider": "openai", "config": {"retries": 0}}}


@pytest.mark.req("C-46", "X-38")
async def test_a_provider_that_is_named_takes_its_key_and_address_from_the_environment(
    opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = FakeChat('{"facts": []}')
    with WireServer(lambda request: (chat if "chat" in request.path else fake_openai)(request)) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        face = opens(NAMED)
        assert (await face.add("I live in Oslo", user_id="alice", strict=True))["status"] == "ok"
        assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
        assert {request.path for request in server.requests} == {"/v1/chat/completions", "/v1/embeddings"}


@pytest.mark.req("C-46", "X-38", "R-38")
@pytest.mark.parametrize(
    ("base_url", "key"),
    [
        (None, "sk-openai"),
        ("https://api.openai.com/v1", "sk-openai"),
        ("https://api.mistral.ai/v1", "sk-mistral"),
        ("http://127.0.0.1:8080/v1", None),
        ("https://api.openai.com.example.org/v1", None),
    ],
)
def test_a_key_of_the_environment_goes_only_to_its_own_service(
    kind: str, base_url: str | None, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-mistral")
    config = {} if base_url is None else {"base_url": base_url}
    made = {"provider": "openai", "config": config}
    runtime = FACES[kind]({"store": {"url": "memory:"}, "embedder": made, "llm": made}).engine.runtime
    llm: Any = runtime.llm
    made_with: list[Any] = [runtime.embedding.embedder, llm._inner]
    for adapter in made_with:
        found = adapter._config.api_key
        assert (found.get_secret_value() if found else None) == key


@pytest.mark.req("C-46")
def test_what_a_configuration_says_wins_over_the_environment(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    for values in ({"api_key": "sk-own"}, {"api_key": ""}):
        made: Any = FACES[kind]({"store": {"url": "memory:"}, "embedder": {"provider": "openai", "config": values}})
        assert made.engine.runtime.embedding.embedder._config.key == values["api_key"]
    local = FACES[kind]({"store": {"url": "memory:"}}).engine.runtime
    assert local.llm is None
    assert local.embedding.embedder is not None
    assert local.embedding.embedder.destination == "this machine"


@pytest.mark.req("C-46", "X-38")
@ANYWHERE
async def test_a_pgvector_store_that_is_named_takes_its_database_from_the_environment(
    opens: Opens, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="url"):
        opens({"vector_store": {"provider": "pgvector"}})
    monkeypatch.setenv("DATABASE_URL", postgres.url(postgres.name))
    face = opens({"vector_store": {"provider": "pgvector", "config": {"schema_name": "from_env"}}})
    await face.reset()
    await face.remember("I live in Oslo")
    assert await face.found("Oslo", strategy="vector") == ["I live in Oslo"]
    with postgres.superuser(postgres.name) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'from_env'").fetchone()
    assert tables == (1,)


@pytest.mark.req("C-59")
@pytest.mark.parametrize("most", [1, 3])
def test_so_many_questions_are_under_way_as_a_setting_says(most: int) -> None:
    under_way, peak, guard = 0, 0, threading.Lock()
    answer = FakeChat('{"facts": []}')

    def slow(request: WireRequest) -> WireReply:
        nonlocal under_way, peak
        with guard:
            under_way += 1
            peak = max(peak, under_way)
        together.wait(LONG)  # until as many have come as may come
        time.sleep(0.05)  # if more may come, they come meanwhile
        with guard:
            under_way -= 1
        return answer(request)

    async def talk(url: str) -> None:
        model = {"provider": "openai", "config": {"base_url": f"{url}/v1", "api_key": KEY}, "max_concurrent": most}
        async with AsyncMemory({"store": {"url": "memory:"}, "embedder": {"provider": "none"}, "llm": model}) as memory:
            message = (memory.add(f"I have {number} boats.", user_id=f"u{number}") for number in range(6))
            assert {one["status"] for one in await asyncio.gather(*message)} == {"ok"}

    together = threading.Barrier(most)
    with WireServer(slow) as server:
        asyncio.run(talk(server.url))
    assert peak == most
