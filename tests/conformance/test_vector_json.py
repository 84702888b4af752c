"""How points are written for stores over HTTP, with the faster library and without."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid5

import numpy as np
import pytest

from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors import collection_store
from memstone.adapters.vectors.collection_store import (
    StoredPoint,
    encode_json,
    parse_payload,
    unit_vectors,
    uuid_of,
)
from memstone.drive import drive
from memstone.errors import DimensionMismatch
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


def test_a_payload_is_read_back_as_it_was() -> None:
    payload = {"text": "half \ud83d a pair, and 北京", "number": 2**70, "small": 0.1, "none": None, "inf": float("inf")}
    row = StoredPoint("a", np.zeros(2, "<f4"), payload, is_zero=True)
    assert parse_payload(row.payload_json()) == payload
    whole = {name: value for name, value in payload.items() if name != "text"}
    assert parse_payload(StoredPoint("a", row.vector, whole, is_zero=True).payload_json().encode()) == whole


@pytest.mark.parametrize("point_id", ["", "a", "北京 7", "x" * 500])
def test_an_id_becomes_the_uuid_of_its_name(point_id: str) -> None:
    known = UUID("5b2f3c44-6a0c-5a4e-9d0f-1f6f0a3b7c52")
    for number in range(50):
        assert uuid_of(f"{point_id}{number}") == str(uuid5(known, f"{point_id}{number}"))


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e-150, 1e-30, 1.0, 1e150, 1e200, 1.7e308])
def test_a_vector_of_any_size_gets_the_length_one(size: float) -> None:
    rows = unit_vectors("notes", [[size, 0.0], [-size, size], [0.0, 0.0], [3.0, 4.0]], 2)
    half = 0.5**0.5
    assert np.allclose(rows, [[1, 0], [-half, half], [0, 0], [0.6, 0.8]], atol=1e-7)
    assert rows.dtype == np.float32


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf"), "a", None])
def test_a_vector_of_anything_else_is_refused(wrong: object) -> None:
    vectors: Any = [[1.0, 2.0], [wrong, 1.0]]
    with pytest.raises(DimensionMismatch, match="2 finite numbers"):
        unit_vectors("notes", vectors, 2)


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
