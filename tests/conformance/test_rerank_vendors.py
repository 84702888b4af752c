"""Rerankers by the name of their vendor, and a cross-encoder in the process."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memstone import Memory
from memstone.adapters.embed.minilm import OnnxGraph
from memstone.adapters.embed.onnx_model import DATA
from memstone.compose import build_adapter
from memstone.errors import AuthenticationFailed, BackendError, BackendTimeout, BackendUnavailable, ConfigError
from memstone.ports.io import Io
from memstone.testing.modes import MODES, run
from memstone.testing.wire import (
    KEY,
    WIRE_RERANK_KEY,
    Handler,
    WireReply,
    WireServer,
    fake_cohere,
    fake_jina,
    fake_zeroentropy,
)
from memstone.testing.wire_embed import EMBED_MODEL, FakeVoyageRerank
from tests.conformance.cut_short import CutShort

both = pytest.mark.parametrize("mode", MODES)

TEXTS = ["lives in Oslo", "drinks tea", "likes green tea", "has two cats"]


class Vendor:
    """A vendor's fake, where it is, and its options."""

    def __init__(self, provider: str, fake: Callable[[], Handler], path: str, **options: Any) -> None:
        self.provider, self.fake, self.path, self.options = provider, fake, path, options

    def __repr__(self) -> str:
        return self.provider

    def asked(self, server: WireServer, texts: list[str], top: int = 10, **options: Any) -> Any:
        """What it says about green tea."""

        async def scenario(io: Io) -> Any:
            config = {"base_url": f"{server.url}{self.path}", **self.options, **options}
            return await build_adapter("reranker", self.provider, config, io).rerank("green tea", texts, top)

        return scenario


VENDORS = [
    Vendor("cohere", lambda: fake_cohere, "", api_key=WIRE_RERANK_KEY),
    Vendor("jina", lambda: fake_jina, "/v1", api_key=WIRE_RERANK_KEY),
    Vendor("voyage", FakeVoyageRerank, "/v1", api_key=KEY, model=EMBED_MODEL),
    Vendor("zeroentropy", lambda: fake_zeroentropy, "/v1", api_key=WIRE_RERANK_KEY),
]
every = pytest.mark.parametrize("vendor", VENDORS, ids=repr)


@pytest.mark.req("N-41")
def test_the_official_clients_accept_the_fakes_and_ask_as_we_do() -> None:
    cohere: Any = import_module("cohere")
    voyage: Any = import_module("voyageai")
    with WireServer(fake_cohere) as server:
        with cohere.ClientV2(api_key=WIRE_RERANK_KEY, base_url=server.url) as client:
            created = client.rerank(model="rerank-v3.5", query="green tea", documents=TEXTS, top_n=2)
        assert [(row.index, row.relevance_score) for row in created.results] == [(2, 1.0), (1, 0.5)]
        run("blocking", VENDORS[0].asked(server, TEXTS, 2))
        assert server.requests[0].json == server.requests[1].json
    with WireServer(FakeVoyageRerank()) as server:
        client = voyage.Client(api_key=KEY, base_url=f"{server.url}/v1", max_retries=0)
        created = client.rerank("green tea", TEXTS, model=EMBED_MODEL, top_k=2)
        assert [(row.index, row.relevance_score) for row in created.results] == [(2, 1.0), (1, 0.5)]
        with pytest.raises(voyage.error.AuthenticationError):
            voyage.Client(api_key="wrong", base_url=f"{server.url}/v1", max_retries=0).rerank(
                "tea", TEXTS, model=EMBED_MODEL
            )
        run("blocking", VENDORS[2].asked(server, TEXTS, 2))
        assert server.requests[0].json == server.requests[-1].json


@pytest.mark.req("N-41.1")
def test_the_official_client_of_zeroentropy_accepts_the_fake_and_asks_as_we_do() -> None:
    zeroentropy: Any = import_module("zeroentropy")
    with WireServer(fake_zeroentropy) as server:
        options = {"base_url": f"{server.url}/v1", "max_retries": 0}
        with zeroentropy.ZeroEntropy(api_key=WIRE_RERANK_KEY, **options) as client:
            ask = client.models.rerank
            created = ask(model="zerank-2", query="green tea", documents=TEXTS, top_n=2, latency="fast")
            assert [(row.index, row.relevance_score) for row in created.results] == [(2, 1.0), (1, 0.5)]
            assert created.actual_latency_mode == "fast"
            run("blocking", VENDORS[3].asked(server, TEXTS, 2))
            assert server.requests[0].json == server.requests[1].json
            run("blocking", VENDORS[3].asked(server, TEXTS, 2, latency=None))
            ask(model="zerank-2", query="green tea", documents=TEXTS, top_n=2)
            assert server.requests[2].json == server.requests[3].json
            with pytest.raises(zeroentropy.NotFoundError):
                ask(model="none-such", query="green tea", documents=TEXTS)
        with (
            zeroentropy.ZeroEntropy(api_key="wrong", **options) as client,
            pytest.raises(zeroentropy.APIStatusError) as caught,
        ):
            client.models.rerank(model="zerank-2", query="tea", documents=TEXTS)
        assert caught.value.status_code == 401


@both
@every
@pytest.mark.req("N-41", "N-41.1")
def test_an_unknown_model_is_an_error_that_names_it_and_is_not_tried_again(mode: str, vendor: Vendor) -> None:
    naps: list[float] = []
    with WireServer(vendor.fake()) as server:
        with pytest.raises(BackendError, match="none-such"):
            run(mode, vendor.asked(server, TEXTS, model="none-such", retries=3), naps=naps)
        assert (len(server.requests), naps) == (1, [])


@both
@every
@pytest.mark.req("N-41", "R-27")
def test_documents_come_best_first(mode: str, vendor: Vendor) -> None:
    with WireServer(vendor.fake()) as server:
        assert run(mode, vendor.asked(server, TEXTS)) == [(2, 1.0), (1, 0.5), (0, 0.0), (3, 0.0)]
        assert run(mode, vendor.asked(server, ["", *TEXTS, " "], 2)) == [(3, 1.0), (2, 0.5)]
        assert run(mode, vendor.asked(server, TEXTS, 2, batch_size=1, max_concurrent=2)) == [(2, 1.0), (1, 0.5)]
        assert len(server.requests) == 6


@both
@every
@pytest.mark.req("N-41")
def test_failures_are_typed(mode: str, vendor: Vendor) -> None:
    with WireServer(vendor.fake()) as server:
        with pytest.raises(AuthenticationFailed):
            run(mode, vendor.asked(server, TEXTS, api_key="wrong"))
        for failed in (WireReply(503), WireReply(500), WireReply(chunks=CutShort()), WireReply(hang_up=True)):
            server.script(failed)
            with pytest.raises(BackendUnavailable):
                run(mode, vendor.asked(server, TEXTS))
        server.script(WireReply(json={"hello": "world"}))
        with pytest.raises(BackendError):
            run(mode, vendor.asked(server, TEXTS))
        server.script(WireReply(delay=600))
        with pytest.raises(BackendTimeout):
            run(mode, vendor.asked(server, TEXTS, timeout=0.2))
        naps: list[float] = []
        server.script(WireReply(429, headers={"Retry-After": "3"}))
        assert run(mode, vendor.asked(server, TEXTS, 1, retries=1), naps=naps) == [(2, 1.0)]
        assert [3 <= nap <= 3.6 for nap in naps] == [True]


# --- a cross-encoder in the process -----------------------------------------------------------------------------------


def tiny_encoder(outputs: int = 1) -> bytes:
    """A model that counts the tokens which question and document share, and no padding."""
    graph = OnnxGraph()
    shape: list[str | int] = ["pairs", "tokens"]

    def axes(name: str, *values: int) -> str:
        return graph.constant(name, np.array(values, dtype="<i8"))

    def part(name: str, weights: str, axis: int) -> str:
        graph.node("Mul", [weights, "attention_mask"], f"{name}_mask")
        graph.node("Unsqueeze", [f"{name}_mask", axes(f"axis{axis}", axis)], f"{name}_column")
        return graph.node("Cast", [f"{name}_column"], f"{name}_weight", to=1)

    graph.node("Sub", [axes("one", 1), "token_type_ids"], "is_question")
    left, right = part("question", "is_question", 2), part("document", "token_type_ids", 1)
    graph.node("Unsqueeze", ["input_ids", axes("axis2", 2)], "ids_down")
    graph.node("Unsqueeze", ["input_ids", axes("axis1", 1)], "ids_across")
    graph.node("Equal", ["ids_down", "ids_across"], "same")
    graph.node("Cast", ["same"], "same_number", to=1)
    graph.node("Mul", ["same_number", left], "of_question")
    graph.node("Mul", ["of_question", right], "shared")
    graph.node("ReduceSum", ["shared", axes("both", 1, 2)], "counted", keepdims=0)
    graph.node("Unsqueeze", ["counted", axes("last", 1)], "column")
    graph.node("Concat", ["column"] * outputs, "logits", axis=1)
    inputs = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), shape)
    return graph.model(inputs, {"logits": ["pairs", outputs]})


@pytest.fixture
def model_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny-encoder"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(tiny_encoder())
    shutil.copy(DATA / "vocab.txt", folder)
    return folder


def local(model_dir: Path, texts: list[str], top: int = 10, **options: Any) -> Any:
    async def scenario(io: Io) -> Any:
        made = build_adapter("reranker", "local", {"model_dir": model_dir, **options}, io)
        assert (made.model, made.destination) == (options.get("model_name", "tiny-encoder"), "this machine")
        return await made.rerank("green tea", texts, top)

    return scenario


@both
@pytest.mark.req("N-41", "R-27")
@pytest.mark.parametrize("batch_size", [1, 2, 16])
def test_a_cross_encoder_reads_question_and_document_together(mode: str, batch_size: int, model_dir: Path) -> None:
    ranks = run(mode, local(model_dir, [*TEXTS, ""], batch_size=batch_size))
    # Of both texts the mark at the end counts as a token that they share.
    expected = [(2, 3), (1, 2), (0, 1), (3, 1)]
    assert [place for place, _ in ranks] == [place for place, _ in expected]
    assert [score for _, score in ranks] == pytest.approx([1 / (1 + math.exp(-count)) for _, count in expected])
    assert run(mode, local(model_dir, TEXTS, 1)) == ranks[:1]
    assert run(mode, local(model_dir, [])) == []


@both
@pytest.mark.req("X-20")
@pytest.mark.parametrize("file", ["model", "vocab"])
def test_the_files_of_a_cross_encoder_are_checked(mode: str, file: str, model_dir: Path) -> None:
    name = {"model": "model.onnx", "vocab": "vocab.txt"}[file]
    digest = hashlib.sha256((model_dir / name).read_bytes()).hexdigest()
    assert run(mode, local(model_dir, TEXTS, 1, **{f"{file}_sha256": digest, "model_name": "own"}))[0][0] == 2
    with pytest.raises(ConfigError, match="is not the expected file"):
        run(mode, local(model_dir, TEXTS, 10, **{f"{file}_sha256": "0" * 64}))
    (model_dir / name).unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        run(mode, local(model_dir, TEXTS))


def test_two_classes_are_weighed_against_each_other_and_more_are_refused(model_dir: Path) -> None:
    (model_dir / "model.onnx").write_bytes(tiny_encoder(2))
    assert [score for _, score in run("blocking", local(model_dir, TEXTS))] == [0.5] * 4
    (model_dir / "model.onnx").write_bytes(tiny_encoder(3))
    with pytest.raises(ConfigError, match="3 numbers per pair"):
        run("blocking", local(model_dir, TEXTS))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_loads_the_cross_encoder_again(model_dir: Path) -> None:
    async def scenario(io: Io) -> int:
        made = build_adapter("reranker", "local", {"model_dir": model_dir}, io)
        await made.rerank("green tea", TEXTS, 1)
        child = os.fork()
        if not child:
            found = await made.rerank("green tea", TEXTS, 1)
            os._exit(found[0][0])
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])  # noqa: ASYNC222 - no loop runs here

    assert run("blocking", scenario) == 2


@pytest.mark.req("N-41")
def test_a_search_is_reranked_by_the_cross_encoder(model_dir: Path) -> None:
    chosen = {"provider": "local", "config": {"model_dir": str(model_dir)}}
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}, "reranker": chosen}) as memory:
        for text in TEXTS:
            memory.add(text, user_id="alice", infer=False)
        found = memory.search("green tea", user_id="alice")
    assert found["results"][0]["memory"] == "likes green tea"
    assert "degraded" not in found
