"""The account of what a chat was shown: promised with the answer, kept behind it, and never after an erasure."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memstone import Memory
from memstone.adapters.sqlite.ledger import SqliteLedger
from memstone.engine import deferred_receipts
from memstone.engine.change import erase
from memstone.errors import StorageReadOnly
from memstone.model.instant import datetime_from_instant, to_instant
from memstone.ports.erasure import ErasureRecord, Subject
from memstone.ports.ledger import Work
from memstone.server.limits import _exchange_counts
from tests.patience import LONG
from tests.server.gate import Gate, gated, until

WHERE = "Where do I live?"


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gated(tmp_path, context={"gate": "always"}) as made:  # what stands in the profile does not count as used
        made.memory.add("I live in Oslo", user_id="alice")
        made.memory.add("I live in Bergen", user_id="bob")
        yield made


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a write may take more than the second for which a verb waits for it."""
    monkeypatch.setattr(deferred_receipts, "PATIENCE", LONG)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written until somebody asks for it."""
    monkeypatch.setattr(deferred_receipts, "SOON", 3_600.0)


def promised(gate: Gate, text: str = WHERE, user: str = "alice", **more: Any) -> str:
    """The number of the receipt of a chat, from its answer."""
    asked: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": text}]}
    headers = {"x-memory": "extract-off"}
    with gate.openai(user_id=user).chat.completions.with_streaming_response.create(
        **asked, **more, extra_headers=headers
    ) as raw:
        assert b"Noted" in raw.read()
        return str(raw.headers["x-memstone-receipt"])


def looked_up(gate: Gate, receipt: str, **key: Any) -> httpx2.Response:
    """The receipt as the service tells it."""
    headers = {"Authorization": f"Bearer {gate.key(**(key or {'may_assert_user': True}))}"}
    return httpx2.get(f"{gate.url}/v1/receipts/{receipt}", headers=headers, timeout=120)


def stored(place: Path, query: str = "SELECT id FROM receipts") -> list[Any]:
    """What the file itself says."""
    with closing(sqlite3.connect(place / "g.db")) as connection:
        return [row[0] for row in connection.execute(query)]


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Somebody else writes, and goes on writing."""
    with closing(sqlite3.connect(place / "g.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


@pytest.mark.parametrize("stream", [False, True])
def test_a_receipt_tells_what_was_shown_also_to_another_process(gate: Gate, *, stream: bool) -> None:
    number = promised(gate, stream=stream)
    until(lambda: gate.memory.receipt(number))
    receipt = gate.memory.receipt(number)
    assert receipt is not None
    assert len(receipt["chosen"]) == 1


@pytest.mark.usefixtures("held")
def test_whoever_asks_the_same_service_for_a_receipt_finds_it_at_once(gate: Gate, tmp_path: Path) -> None:
    number = promised(gate)
    assert stored(tmp_path) == [], "it is still held"
    assert looked_up(gate, number).json()["query"] == WHERE
    assert stored(tmp_path) == [number]


@pytest.mark.usefixtures("held")
def test_a_receipt_that_is_held_is_nobody_elses(gate: Gate) -> None:
    assert looked_up(gate, promised(gate), user_id="bob").status_code == 404
    gate.memory.acting_for("other").add("I live in Rome", user_id="alice")
    headers = {"Authorization": f"Bearer {gate.memory.acting_for('other').admin.keys.create()['key']}"}
    number = promised(gate, "And where do I live now?")
    assert httpx2.get(f"{gate.url}/v1/receipts/{number}", headers=headers, timeout=120).status_code == 404
    assert looked_up(gate, number, user_id="alice").status_code == 200


@pytest.mark.req("O-5")
def test_an_answer_does_not_wait_for_a_store_that_somebody_else_writes_to(gate: Gate, tmp_path: Path) -> None:
    create = gate.openai(user_id="alice").chat.completions.with_raw_response.create

    def asked(text: str) -> str:
        wanted: Any = {"messages": [{"role": "user", "content": text}], "extra_headers": {"x-memory": "extract-off"}}
        raw = create(model="m", **wanted)
        assert raw.parse().choices[0].message.content == "Noted."
        return str(raw.headers["x-memstone-receipt"])

    first = asked(WHERE)  # what is written once for a key and a tenant
    until(lambda: stored(tmp_path) == [first])
    until(lambda: stored(tmp_path, "SELECT last_used_at FROM api_keys WHERE last_used_at IS NOT NULL"))
    with locked(tmp_path):
        number = asked("Where do I live now?")
        assert "User lives in Oslo" in gate.sent
        assert stored(tmp_path) == [first]
    until(lambda: set(stored(tmp_path)) == {first, number})


def test_a_service_that_is_stopped_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_receipts, "SOON", 3_600.0)
    with gated(tmp_path) as gate:
        gate.memory.add("I live in Oslo", user_id="alice")
        numbers = [promised(gate, f"{WHERE} I ask for the {time}. time") for time in range(3)]
        assert gate.app.state.memstone.memory.engine.runtime.late._waiting_receipts, "they are still held"
    assert sorted(stored(tmp_path)) == sorted(numbers)


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("by", ["this process", "another"])
def test_nothing_of_somebody_who_was_erased_is_written_afterwards(gate: Gate, tmp_path: Path, by: str) -> None:
    number, other = promised(gate), promised(gate, user="bob")
    if by == "another":
        assert gate.memory.admin.erase(user_id="alice")["complete"]
        assert stored(tmp_path) == [], "both are still held"
    else:
        headers = {"Authorization": f"Bearer {gate.key(verbs=['read', 'write', 'admin'])}"}
        asked = {"user_id": "alice", "confirm": "alice"}
        assert httpx2.post(f"{gate.url}/v1/console/erase", json=asked, headers=headers, timeout=120).status_code == 202
        until(lambda: gate.tasks == 0)
    assert looked_up(gate, other).status_code == 200
    assert looked_up(gate, number).status_code == 404
    assert stored(tmp_path) == [other]
    assert looked_up(gate, promised(gate)).status_code == 200, "who comes back later is somebody new"


@pytest.mark.usefixtures("held")
def test_nothing_of_a_chat_in_the_midst_of_an_erasure_is_written_afterwards(
    gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is dated when it begins; who asked between that and its end was still shown something."""
    noted = erase.erased_note

    def begun_before(subject: Subject, key: bytes, number: str, at: str) -> ErasureRecord:
        return noted(subject, key, number, to_instant(datetime_from_instant(at) - timedelta(minutes=1)))

    number, other = promised(gate), promised(gate, user="bob")
    monkeypatch.setattr(erase, "erased_note", begun_before)
    assert gate.memory.admin.erase(user_id="alice")["complete"]
    assert looked_up(gate, other).status_code == 200
    assert looked_up(gate, number).status_code == 404
    assert stored(tmp_path) == [other]
    gate.memory.add("I live in Oslo", user_id="alice")
    assert looked_up(gate, promised(gate)).status_code == 200, "who comes back is somebody new"


@pytest.mark.usefixtures("held")
def test_chats_at_once_are_written_together_and_every_use_counts(
    gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[Any] = []
    note = SqliteLedger.note

    async def counted(self: SqliteLedger, work: Work[Any]) -> Any:
        if getattr(work, "func", work) is not _exchange_counts:  # those are of the rate limits, once a second
            notes.append(work)
        return await note(self, work)

    monkeypatch.setattr(SqliteLedger, "note", counted)
    chats = [(WHERE, "alice"), ("Where do I live now?", "alice"), (WHERE, "bob")]
    with ThreadPoolExecutor(3) as pool:
        numbers = list(pool.map(lambda chat: promised(gate, *chat), chats))
    assert looked_up(gate, numbers[0]).status_code == 200
    assert len(notes) == 1
    assert sorted(stored(tmp_path)) == sorted(numbers)
    assert stored(tmp_path, "SELECT use_count FROM links WHERE user_id = 'alice' AND use_count > 0") == [2]
    assert stored(tmp_path, "SELECT use_count FROM links WHERE user_id = 'bob' AND use_count > 0") == [1]


def test_a_receipt_that_cannot_be_kept_is_told_of_and_no_other_is_promised_until_one_can(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refused(self: SqliteLedger, work: Work[Any]) -> Any:
        raise StorageReadOnly("the store may not be written")

    monkeypatch.setattr(deferred_receipts, "_PAUSES", (0.0, 0.0))
    late = gate.app.state.memstone.memory.engine.runtime.late
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "memstone"):
        patch.setattr(SqliteLedger, "note", refused)
        number = promised(gate)
        until(lambda: late.lost == 1)
        assert [vars(one)["id"] for one in caplog.records if one.msg == "memory.receipt.lost"] == [number]
        assert promised(gate, "Where do I live now?") == "none"
        assert "User lives in Oslo" in gate.sent
        until(lambda: late.lost == 2)
    assert promised(gate, "Where do I live these days?") == "none"
    until(lambda: late.failed is None)
    assert looked_up(gate, promised(gate, "In which town do I live?")).status_code == 200
    until(lambda: gate.tasks == 0)


def test_a_receipt_may_be_judged_as_soon_as_it_is_promised(tmp_path: Path) -> None:
    with gated(tmp_path) as gate, Memory({"store": {"url": f"sqlite:///{tmp_path}/g.db"}}) as other:
        gate.memory.add("I live in Oslo", user_id="alice")
        headers = {"Authorization": f"Bearer {gate.key(verbs=['read', 'write', 'admin'])}"}
        texts: dict[str, Any] = {"receipt_id": promised(gate), "useful": True}
        answer = httpx2.post(f"{gate.url}/v1/console/feedback", json=texts, headers=headers, timeout=120)
        assert (answer.status_code, len(answer.json()["ids"])) == (200, 1), answer.text
        assert other.receipt(texts["receipt_id"]) is not None
