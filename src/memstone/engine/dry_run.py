"""Dry runs: carry out a deletion, read its answer, and roll it back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, TypeVar

from memstone.engine.engine import Engine
from memstone.engine.runtime import Runtime
from memstone.ports.ledger import Ledger, Tx, Work

if TYPE_CHECKING:
    from memstone.results import StoreCheck

P = ParamSpec("P")
T = TypeVar("T")


class _RollbackWithResult(Exception):
    """Carries the result of a unit out of the transaction that is rolled back."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result


class DryRunLedger:
    """See ``memstone.ports.ledger.Ledger``: every unit that writes is run, and rolled back."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @property
    def in_process(self) -> bool:
        """As the store beneath."""
        return self._ledger.in_process

    def of(self, tenant_id: str) -> Ledger:
        """Return the same for another tenant."""
        return DryRunLedger(self._ledger.of(tenant_id))

    async def open(self) -> None:
        """Open the store beneath."""
        await self._ledger.open()

    async def read(self, work: Work[T]) -> T:
        """Run a unit on one snapshot."""
        return await self._ledger.read(work)

    async def peek(self, work: Work[T]) -> T:
        """Run a unit of one statement."""
        return await self._ledger.peek(work)

    async def write(self, work: Work[T]) -> T:
        """Run a unit, take it back, and return its result."""

        async def run(tx: Tx) -> NoReturn:
            raise _RollbackWithResult(await work(tx))

        try:
            await self._ledger.write(run)
        except _RollbackWithResult as back:
            result: T = back.result
            return result

    async def aside(self, work: Work[T]) -> T:
        """Run a unit and take it back."""
        return await self.write(work)

    async def note(self, work: Work[T]) -> T:
        """Run a unit and take it back."""
        return await self.write(work)

    async def ensure_room(self, *, by_writing: bool = False) -> None:
        """Do as the store beneath does."""
        await self._ledger.ensure_room(by_writing=by_writing)

    async def check(self) -> StoreCheck:
        """Check the store beneath."""
        return await self._ledger.check()

    async def close(self) -> None:
        """Leave the store open: it belongs to whoever opened it."""


class DryRun(Engine):
    """An engine that changes nothing and marks its answers with ``dry_run``.

    Only for verbs whose transactions do not build on each other's changes, as is so for every deletion.
    """

    async def run(self, verb: Callable[Concatenate[Runtime, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Carry out what a module of the engine knows how to do, and mark the answer."""
        return _mark_dry_run(await super().run(verb, *args, **kwargs))

    async def _purge_after_delete(self, answer: T) -> T:
        """Return the marked answer; there are no words to remove."""
        return _mark_dry_run(answer)


def without_effect(runtime: Runtime) -> Runtime:
    """Return the runtime over a ledger that takes every change back."""
    return replace(runtime, ledger=DryRunLedger(runtime.ledger), dry_run=True)


def _mark_dry_run(answer: T) -> T:
    return {**answer, "dry_run": True} if isinstance(answer, dict) else answer  # type: ignore[return-value]
