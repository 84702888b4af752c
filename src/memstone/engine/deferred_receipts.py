"""Write receipts after the answer, a few milliseconds' worth at a time.

Whoever waits for an answer does not wait for its account. A store that is busy is tried again. ``wait_until_stored``
waits until what is held by now is stored: closing does, and every verb that is no part of a chat. Only a process that
is killed loses what it held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from logging import WARNING
from time import monotonic
from typing import Any, Final, TypeAlias

from memstone.errors import MemstoneError, StorageError
from memstone.ports.io import BackgroundHandle, Bell, Io
from memstone.ports.ledger import Ledger, Tx
from memstone.trace import log_event

Store: TypeAlias = Callable[[Tx, Sequence[Any]], Coroutine[Any, Any, None]]
"""Writes several of one tenant in one transaction; what is stored already it leaves alone, so that it may try again."""

SOON: Final = 0.05
"""So many seconds a receipt waits for others."""

PATIENCE: Final = 1.0
"""So many seconds a verb waits at most for what is held."""

_TOGETHER: Final = 64
_MOST: Final = 1_000
_PAUSES: Final = (0.1, 0.5, 2.0)


@dataclass(slots=True, eq=False)
class Late:
    """One that is still to be written, and how."""

    id: str
    tenant_id: str
    ledger: Ledger
    account: Any
    store: Store
    done: bool = False
    is_receipt: bool = True
    """Whether it is an account that somebody was promised; of other notes nobody is told when they are given up."""


class LateReceipts:
    """One for each memory; belongs to the loop on which it is used, and outlives it."""

    def __init__(self) -> None:
        self.failed: MemstoneError | None = None
        """Why the last one could not be stored; None when it could."""

        self.lost: int = 0
        """How many were given up."""

        self._stuck = False
        self._waiting_receipts: deque[Late] = deque()
        self._under_way: list[Late] = []
        self._waiting: list[Bell] = []
        self._hurry: list[Bell] = []
        self._writer: BackgroundHandle | None = None

    def put(self, io: Io, late: Late) -> None:
        """Write it soon; the oldest are given up when a store takes none for long."""
        self._waiting_receipts.append(late)
        while len(self._waiting_receipts) > _MOST:
            self._lose(self._waiting_receipts.popleft())
        self._begin(io)

    def _begin(self, io: Io) -> None:
        if self._writer is None or not self._writer.alive:
            self._hurry = self._hurry or [io.bell()]
            self._writer = io.spawn(self._write(io), name="memstone-receipts")

    async def wait_until_stored(self, io: Io, seconds: float | None = None) -> bool:
        """Wait until what is held by now is stored or given up, so long at most; return whether it is.

        Nobody waits for a store that has just refused one: what they ask for is not the account of a chat.
        """
        last = (
            self._waiting_receipts[-1] if self._waiting_receipts else self._under_way[-1] if self._under_way else None
        )
        end = monotonic() + (PATIENCE if seconds is None else seconds)
        while last is not None and not last.done and not self._stuck and (left := end - monotonic()) > 0:
            bell = io.bell()
            self._waiting.append(bell)
            self._begin(io)
            self._hurry[0].ring()
            await bell.wait(left)
        return last is None or last.done

    async def flush_and_close(self, io: Io, seconds: float) -> None:
        """Write everything, so long at most; what a store does not take until then is given up."""
        self._stuck = False
        if not await self.wait_until_stored(io, seconds):
            while self._waiting_receipts:
                self._lose(self._waiting_receipts.popleft())

    async def _write(self, io: Io) -> None:
        """Wait for others, and write until nothing is held."""
        await self._hurry[0].wait(SOON)
        while self._waiting_receipts:
            self._under_way = [
                self._waiting_receipts.popleft() for _ in range(min(len(self._waiting_receipts), _TOGETHER))
            ]
            try:
                await self._all(io, self._under_way)
            finally:  # a loop that ends leaves them to whoever comes next
                self._waiting_receipts.extendleft(one for one in reversed(self._under_way) if not one.done)
                self._under_way = []
            self._tell()

    def _tell(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.ring()

    async def _all(self, io: Io, late: Sequence[Late]) -> None:
        for tenant in dict.fromkeys(one.tenant_id for one in late):
            await self._store_batch(io, [one for one in late if one.tenant_id == tenant])

    async def _store_batch(self, io: Io, late: Sequence[Late]) -> None:
        """Store them together; where one of them cannot be stored at all, the others are without it."""
        try:
            await self._store_with_retry(io, late)
        except StorageError as error:
            self.failed = error
            for one in late:
                self._lose(one)
        except Exception as error:  # noqa: BLE001 - nobody waits for it, and the log tells of it
            if len(late) == 1:
                self._lose(late[0], type(error).__name__)
                return
            for one in late:
                await self._store_batch(io, [one])

    async def _store_with_retry(self, io: Io, late: Sequence[Late]) -> None:
        """Store them, after a while and a few times more when the store does not let us."""
        for pause in (*_PAUSES, None):
            try:
                await late[0].ledger.note(partial(_store_accounts, late=late))
            except StorageError as error:
                if pause is None or not error.retryable:
                    raise
                self._stuck = True
                self._tell()
                await io.sleep(pause)
            else:
                break
        self.failed, self._stuck = None, False
        for one in late:
            one.done = True

    def _lose(self, late: Late, kind: str = "StorageError") -> None:
        late.done = True
        if not late.is_receipt:
            return
        self.lost += 1
        log_event("memory.receipt.lost", WARNING, id=late.id, kind=kind)


async def _store_accounts(tx: Tx, *, late: Sequence[Late]) -> None:
    """Store receipts, then what is noted about them, which may be about one of these."""
    for is_receipt in (True, False):
        if some := [one for one in late if one.is_receipt is is_receipt]:
            await some[0].store(tx, [one.account for one in some])
