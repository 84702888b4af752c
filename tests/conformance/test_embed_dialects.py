"""Every dialect of an embedder, in the same round trips: the vendor's own client first, then ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
import pytest

from memstone import AsyncMemory, Memory
from memstone.compose import build_adapter
from memstone.errors import AuthenticationFailed, BackendTimeout, BackendUnavailable, EmbeddingError, RateLimited
from memstone.ports.io import Io
from memstone.testing.modes import MODES, run
from memstone.testing.wire import WireReply, WireServer, raw_vector
from memstone.testing.wire_embed import DIMENSION, EMBED_MODEL, QUERY
from tests.conformance.chat_dialects import status_of
from tests.conformance.cut_short import CutShort
from tests.conformance.embed_dialects import EMBED_DIALECTS, EmbedDialect

both = pytest.mark.parametrize("mode", MODES)
every = pytest.mark.parametrize("dialect", EMBED_DIALECTS.values(), ids=EMBED_DIALECTS)

TEXTS = ["green tea", "Köln", "two cats"]


def unit(*texts: str, length: int = DIMENSION) -> Any:
    rows = np.array([raw_vector(text, length) for text in texts])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def embed(
    dialect: EmbedDialect, server: WireServer, texts: list[str], **options: Any
) -> Callable[[Io], Coroutine[Any, Any, Any]]:
    async def scenario(io: Io) -> Any:
        made = build_adapter("embedder", dialect.provider, dialect.config(server.url, **options), io)
        return await made.embed(texts)

    return scenario


# --- the vendor's own client accepts the fake -------------------------------------------------------------------------


@every
@pytest.mark.req("C-41", "C-47")
def test_the_official_client_gets_its_vectors(dialect: EmbedDialect) -> None:
    with WireServer(dialect.fake()) as server:
        found = dialect.official(f"{server.url}{dialect.path}", TEXTS, "sk-test-4711", EMBED_MODEL)
    assert np.allclose(found, [raw_vector(text, DIMENSION) for text in TEXTS])


@every
@pytest.mark.req("C-41")
@pytest.mark.parametrize(("key", "statuses"), [("wrong", (400, 401)), ("sk-test-4711", (429,))])
def test_the_official_client_sees_refusals(dialect: EmbedDialect, key: str, statuses: tuple[int, ...]) -> None:
    busy = WireReply(429, json={"detail": "slow down", "error": {"message": "slow down", "code": 429}})
    with WireServer(dialect.fake(busy)) as server, pytest.raises(Exception, match=r".") as caught:
        dialect.official(f"{server.url}{dialect.path}", TEXTS, key, EMBED_MODEL)
    response = getattr(caught.value, "response", None)
    assert (status_of(caught.value) or getattr(response, "status_code", None)) in statuses


@every
@pytest.mark.req("C-41", "C-53")
@pytest.mark.parametrize("reply", [WireReply(500, json={"error": {"message": "down", "code": 500}}), None])
def test_the_official_client_sees_a_service_that_fails(dialect: EmbedDialect, reply: WireReply | None) -> None:
    failed = reply or WireReply(chunks=CutShort())
    with WireServer(dialect.fake(*[failed] * 9)) as server, pytest.raises(Exception) as caught:  # noqa: PT011 - each its own
        dialect.official(f"{server.url}{dialect.path}", ["tea"], "sk-test-4711", EMBED_MODEL)
    response = getattr(caught.value, "response", None)
    assert (status_of(caught.value) or getattr(response, "status_code", None)) in ((500,) if reply else (None, 200))


# --- ours -------------------------------------------------------------------------------------------------------------


@both
@every
@pytest.mark.req("C-41", "C-47")
def test_ours_gives_one_unit_vector_per_text(mode: str, dialect: EmbedDialect) -> None:
    with WireServer(dialect.fake()) as server:
        assert np.allclose(run(mode, embed(dialect, server, TEXTS)), unit(*TEXTS), atol=1e-6)
        assert len(server.requests) == 1
        rows = run(mode, embed(dialect, server, ["", TEXTS[0], " "]))
    assert not rows[[0, 2]].any()
    assert np.allclose(rows[1], unit(TEXTS[0])[0], atol=1e-6)


@both
@every
@pytest.mark.req("C-47")
def test_many_texts_go_in_batches_and_no_more_requests_at_once_than_allowed(mode: str, dialect: EmbedDialect) -> None:
    texts = [f"note {number}" for number in range(10)]
    with WireServer(dialect.fake()) as server:
        rows = run(mode, embed(dialect, server, texts, batch_size=3, max_concurrent=1))
        assert len(server.requests) == 4
    assert np.allclose(rows, unit(*texts), atol=1e-6)


@both
@every
@pytest.mark.req("C-41")
def test_shorter_vectors_are_asked_for_under_the_vendors_name(mode: str, dialect: EmbedDialect) -> None:
    if dialect.provider == "ollama":  # which is told the length and never asked for one
        with WireServer(dialect.fake()) as server, pytest.raises(EmbeddingError, match="length 8, expected 4"):
            run(mode, embed(dialect, server, TEXTS, dimensions=4))
        return
    with WireServer(dialect.fake()) as server:
        assert np.allclose(run(mode, embed(dialect, server, TEXTS, dimensions=4)), unit(*TEXTS, length=4), atol=1e-6)


@both
@every
@pytest.mark.req("C-41", "N-2")
@pytest.mark.parametrize("key", ["wrong", None])
def test_a_refused_key_rises_at_once(mode: str, dialect: EmbedDialect, key: str | None) -> None:
    naps: list[float] = []
    with WireServer(dialect.fake()) as server, pytest.raises(AuthenticationFailed):
        run(mode, embed(dialect, server, TEXTS, api_key=key), naps=naps)
    assert naps == []


NAMES_MODEL = [one for one in EMBED_DIALECTS.values() if one.provider != "tei"]  # whose server has one, without a name


@both
@pytest.mark.req("C-41")
@pytest.mark.parametrize("dialect", NAMES_MODEL, ids=lambda one: one.provider)
def test_an_unknown_model_is_an_error_that_says_so(mode: str, dialect: EmbedDialect) -> None:
    options = {"deployment": EMBED_MODEL} if dialect.provider == "azure_openai" else {}
    naps: list[float] = []
    with WireServer(dialect.fake()) as server, pytest.raises(EmbeddingError, match=r"none-such|no such route"):
        run(mode, embed(dialect, server, TEXTS, model="none-such", **options), naps=naps)
    assert naps == []


@both
@every
@pytest.mark.req("N-2", "C-53")
def test_passing_failures_are_tried_again(mode: str, dialect: EmbedDialect) -> None:
    naps: list[float] = []
    busy = WireReply(429, json={"error": "slow down"}, headers={"Retry-After": "7"})
    with WireServer(dialect.fake(busy, WireReply(500))) as server:
        assert run(mode, embed(dialect, server, TEXTS), naps=naps).shape == (3, DIMENSION)
    assert [7 <= naps[0] <= 8.4, 2 <= naps[1] <= 2.4, len(naps)] == [True, True, 2]
    cut = WireReply(chunks=CutShort())
    for reply, error in ((busy, RateLimited), (WireReply(hang_up=True), BackendUnavailable), (cut, BackendUnavailable)):
        with WireServer(dialect.fake(reply)) as server, pytest.raises(error):
            run(mode, embed(dialect, server, TEXTS, retries=0))
    with WireServer(dialect.fake(WireReply(delay=600))) as server, pytest.raises(BackendTimeout):
        run(mode, embed(dialect, server, TEXTS, retries=0, timeout=0.2))


@both
@every
@pytest.mark.req("C-47")
@pytest.mark.parametrize("reply", [WireReply(json={"hello": "world"}), WireReply(json=[]), WireReply(body=b"<html>")])
def test_what_are_no_vectors_is_a_typed_error(mode: str, dialect: EmbedDialect, reply: WireReply) -> None:
    with WireServer(dialect.fake(reply)) as server, pytest.raises(EmbeddingError):
        run(mode, embed(dialect, server, ["tea"]))


@both
@every
@pytest.mark.req("C-41")
def test_a_question_is_embedded_as_one_where_the_vendor_tells_them_apart(mode: str, dialect: EmbedDialect) -> None:
    async def scenario(io: Io) -> Any:
        made = build_adapter("embedder", dialect.provider, dialect.config(server.url), io)
        return await made.embed_queries(TEXTS) if hasattr(made, "embed_queries") else None

    with WireServer(dialect.fake()) as server:
        found = run(mode, scenario)
    assert (found is not None) == dialect.tells_queries
    if found is not None:
        assert np.allclose(found, unit(*(QUERY + text for text in TEXTS)), atol=1e-6)


TELLS = [one for one in EMBED_DIALECTS.values() if one.tells_queries]


def sent_kinds(server: WireServer) -> dict[str, set[str]]:
    """For each text that was sent, what it was said to be."""
    found: dict[str, set[str]] = {}
    for request in server.requests:
        asked = request.json
        for one in asked.get("requests", [asked]):
            texts = [one["content"]["parts"][0]["text"]] if "content" in one else None
            kind = one.get("taskType") or one.get("input_type") or one.get("prompt_name") or "document"
            for text in texts or one.get("texts") or one.get("input") or one["inputs"]:
                found.setdefault(text, set()).add("query" if "query" in kind.lower() else "document")
    return found


@pytest.mark.req("C-41")
@pytest.mark.parametrize("dialect", TELLS, ids=lambda one: one.provider)
def test_a_search_embeds_its_question_as_one_and_a_memory_as_a_document(dialect: EmbedDialect) -> None:
    with WireServer(dialect.fake()) as server:
        chosen = {"provider": dialect.provider, "config": dialect.config(server.url)}
        with Memory({"store": {"url": "memory:"}, "embedder": chosen}) as memory:
            memory.add("I like green tea", user_id="alice", infer=False)
            memory.search("What do I drink?", user_id="alice")
            memory.search("What do I drink?", user_id="alice")
        kinds = sent_kinds(server)
    assert (kinds["I like green tea"], kinds["What do I drink?"]) == ({"document"}, {"query"})


async def _search_async(url: str, dialect: EmbedDialect) -> None:
    chosen = {"provider": dialect.provider, "config": dialect.config(url)}
    async with AsyncMemory({"store": {"url": "memory:"}, "embedder": chosen}) as memory:
        await memory.add("I like green tea", user_id="alice", infer=False)
        await memory.context("What do I drink?", user_id="alice")


@pytest.mark.req("C-41")
def test_a_context_embeds_its_question_as_one_too() -> None:
    dialect = EMBED_DIALECTS["cohere"]
    with WireServer(dialect.fake()) as server:
        asyncio.run(_search_async(server.url, dialect))
        kinds = sent_kinds(server)
    assert (kinds["I like green tea"], kinds["What do I drink?"]) == ({"document"}, {"query"})
