"""How points are written for stores over HTTP, with the faster library and without."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors import collection_store
from memstone.adapters.vectors.collection_store import encode_json
from memstone.drive import drive
from memstone.model.query import Condition, Op
from memstone.ports.index import Point
from memstone.registry import load_adapter
from memstone.testing.wire import KEY, WireServer
from tests.stores.fake_qdrant import FakeQdrant


@pytest.fixture(params=["orjson", "without"])
def writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "without":
        monkeypatch.setitem(sys.modules, "orjson", None)
    collection_store._import_writer.cache_clear()
    yield request.param
    collection_store._import_writer.cache_clear()


@pytest.mark.req("C-31", "C-36")
def test_a_vector_is_read_back_as_it_was(writer: str) -> None:
    rows = np.random.default_rng(3).standard_normal((20, 384)).astype("<f4")
    rows[0, :4] = [1e-30, -0.0, 3.4e38, 1 / 3]
    written = encode_json({"points": [{"id": number, "vector": row} for number, row in enumerate(rows)]})
    for row, point in zip(rows, json.loads(written)["points"], strict=True):
        assert np.array_equal(np.asarray(point["vector"], "<f4"), row)
    # A float32 has nine digits; as a float64 it would be written with seventeen.
    assert (len(written) < 12 * rows.size) == (writer == "orjson")


@pytest.mark.usefixtures("writer")
def test_what_only_the_standard_library_writes_is_written() -> None:
    value = {"text": "half \ud83d a pair", "number": 2**70, "vector": np.asarray([0.5, -1.0], "<f4")}
    assert json.loads(encode_json(value)) == {**value, "vector": [0.5, -1.0]}
    with pytest.raises(TypeError, match="object"):
        encode_json({"thing": object()})


@pytest.mark.usefixtures("writer")
def test_a_store_finds_what_was_written() -> None:
    with WireServer(FakeQdrant(KEY)) as server:
        io = BlockingIo()
        cls = load_adapter("vectors", "qdrant")
        store = cls(cls.Config.model_validate({"url": server.url, "api_key": KEY}), io)
        drive(store.create("notes", 3))
        drive(store.upsert("notes", [Point("a", [3.0, 4.0, 0.0], {"user_id": "ann"})]))
        (hit,) = drive(store.search("notes", [3.0, 4.0, 0.0], 5, Condition("user_id", Op.EQ, "ann")))
        assert (hit.id, hit.payload["user_id"]) == ("a", "ann")
        drive(io.close())
