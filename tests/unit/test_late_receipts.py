"""What is written behind an answer, with a ledger that does as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from memstone.adapters.io.aio import AsyncIo
from memstone.engine import deferred_receipts
from memstone.engine.deferred_receipts import Late, LateReceipts
from memstone.errors import StorageBusy, StorageReadOnly
from tests.patience import until_awaited

Written = list[list[str]]


class Ledger:
    """Runs a unit, unless it has an answer of its own."""

    def __init__(self, *refusals: Exception) -> None:
        self.refusals = list(refusals)
        self.reached = asyncio.Event()
        self.stuck: asyncio.Event | None = None

    async def note(self, work: Callable[[Any], Any]) -> None:
        """Run it, or refuse."""
        self.reached.set()
        if self.stuck is not None:
            await self.stuck.wait()
        if self.refusals:
            raise self.refusals.pop(0)
        await work(None)


def late(ledger: Any, number: str, written: Written, tenant: str = "t") -> Late:
    async def store(_: Any, accounts: Sequence[Any]) -> None:
        if "bad" in accounts:
            raise ValueError("no")
        written.append(list(accounts))

    return Late(number, tenant, ledger, number, store)


async def put(late_receipts: LateReceipts, io: AsyncIo, *those: Late) -> None:
    for one in those:
        late_receipts.put(io, one)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_receipts, "_PAUSES", (0.0, 0.0))


def test_each_tenant_is_written_by_itself_and_what_nobody_waits_for_is_written_too() -> None:
    written: Written = []

    async def both() -> bool:
        return len(written) == 2

    async def steps() -> None:
        io, late_receipts, ledger = AsyncIo(), LateReceipts(), Ledger()
        await put(
            late_receipts, io, late(ledger, "a", written), late(ledger, "b", written, "u"), late(ledger, "c", written)
        )
        await until_awaited(both)
        assert await late_receipts.wait_until_stored(io, 0.0)
        await io.close()

    asyncio.run(steps())
    assert written == [["a", "c"], ["b"]]


def test_a_busy_store_is_tried_again() -> None:
    written: Written = []

    async def steps() -> LateReceipts:
        io, late_receipts = AsyncIo(), LateReceipts()
        await put(late_receipts, io, late(Ledger(StorageBusy("no"), StorageBusy("no")), "a", written))
        assert await late_receipts.wait_until_stored(io, 60.0)
        return late_receipts

    receipts = asyncio.run(steps())
    assert (written, receipts.lost, receipts.failed) == ([["a"]], 0, None)


def test_one_that_cannot_be_written_takes_no_other_with_it() -> None:
    written: Written = []

    async def steps() -> LateReceipts:
        io, late_receipts, ledger = AsyncIo(), LateReceipts(), Ledger()
        await put(late_receipts, io, *(late(ledger, number, written) for number in ("a", "bad", "c")))
        assert await late_receipts.wait_until_stored(io, 60.0)
        return late_receipts

    assert asyncio.run(steps()).lost == 1
    assert written == [["a"], ["c"]]


def test_a_store_that_is_stuck_holds_nobody_up_for_long_and_closing_gives_up() -> None:
    written: Written = []

    async def steps() -> LateReceipts:
        io, late_receipts, ledger = AsyncIo(), LateReceipts(), Ledger()
        ledger.stuck = asyncio.Event()
        await put(late_receipts, io, late(ledger, "a", written))
        assert not await late_receipts.wait_until_stored(io, 0.01)
        await ledger.reached.wait()
        await put(late_receipts, io, late(ledger, "b", written))
        await late_receipts.flush_and_close(io, 0.01)
        assert late_receipts.lost == 1, "the first is under way and may still arrive"
        ledger.stuck.set()
        assert await late_receipts.wait_until_stored(io, 60.0)
        return late_receipts

    assert asyncio.run(steps()).lost == 1
    assert written == [["a"]]


def test_what_a_loop_that_ended_left_is_written_on_the_next() -> None:
    written: Written = []
    io, late_receipts = AsyncIo(), LateReceipts()

    async def begin() -> None:
        ledger = Ledger()
        ledger.stuck = asyncio.Event()
        await put(late_receipts, io, late(ledger, "a", written))
        late_receipts._hurry[0].ring()
        await ledger.reached.wait()
        await put(late_receipts, io, late(ledger, "b", written))

    async def go_on() -> None:
        for one in late_receipts._waiting_receipts:
            one.ledger = Ledger()  # type: ignore[assignment] # the other belongs to the loop that ended
        assert await late_receipts.wait_until_stored(io, 60.0)

    asyncio.run(begin())
    assert written == []
    asyncio.run(go_on())
    assert written == [["a", "b"]]


def test_the_oldest_are_given_up_when_too_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_receipts, "_MOST", 2)
    written: Written = []

    async def steps() -> None:
        io, late_receipts, ledger = AsyncIo(), LateReceipts(), Ledger()
        await put(late_receipts, io, *(late(ledger, number, written) for number in "abc"))
        assert late_receipts.lost == 1
        assert await late_receipts.wait_until_stored(io, 60.0)

    asyncio.run(steps())
    assert written == [["b", "c"]]


def test_nobody_waits_for_a_store_that_has_just_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_receipts, "_PAUSES", (60.0,))

    async def story() -> None:
        io, written, receipts = AsyncIo(), list[list[str]](), LateReceipts()
        receipts.put(io, late(Ledger(StorageBusy("busy")), "one", written))

        assert await receipts.wait_until_stored(io, 60.0) is False  # at once, and not after the pause
        assert (written, receipts.lost) == ([], 0)
        assert await receipts.wait_until_stored(io, 60.0) is False

    asyncio.run(asyncio.wait_for(story(), 30))


def test_what_cannot_be_mended_by_waiting_is_not_tried_again() -> None:
    async def story() -> None:
        io, written, receipts, ledger = AsyncIo(), list[list[str]](), LateReceipts(), Ledger(StorageReadOnly("no"))
        receipts.put(io, late(ledger, "one", written))
        await until_awaited(lambda: _lost(receipts))
        assert written == []

    asyncio.run(story())


async def _lost(receipts: LateReceipts) -> bool:
    return receipts.lost == 1
