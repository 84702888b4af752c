"""One write queue per process, with shared commits.

SQLite has one writer at a time. Threads that would only wait for each other hand their unit of work to
whoever holds the connection; that one runs all that wait in one transaction, each in its own savepoint, and
commits once. A unit that fails rolls back alone. Nobody is told "done" before the commit is on disk, but those who did
not ask for that.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

from memstone.adapters.sqlite.connection import BUSY_SECONDS, Connection
from memstone.adapters.sqlite.migrations import refuse_upgraded
from memstone.drive import drive
from memstone.ports.ledger import Work

T = TypeVar("T")
_NOTED_SECONDS: Final = 2.0
"""How long another process may be in the way of what need not even be on disk when it is done."""

_SHARED: Final = 64
"""How many units one commit may carry."""


class _Job(Generic[T]):
    """One unit of work and what became of it."""

    def __init__(self, work: Work[T], *, synced: bool) -> None:
        self._work, self.synced = work, synced
        self.done = False
        self.error: Exception | None = None
        self._value: Any = None

    def run(self, connection: Connection) -> None:
        self.error = None
        self._value = drive(self._work(connection.tx))

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        value: T = self._value
        return value


class WriteQueue:
    """Runs units of work one after the other on the one write connection.

    ``committed`` is called after each commit.
    """

    def __init__(
        self, connection: Callable[[], Connection], committed: Callable[[Connection], None] = lambda _: None
    ) -> None:
        self._connection, self._committed = connection, committed
        self._waiting: deque[_Job[Any]] = deque()
        self.turn = threading.Lock()
        """Whoever holds it may use the write connection."""

    def run(self, work: Work[T], *, synced: bool = True) -> T:
        """Return the result of a unit after its commit, which is on disk when this unit or one beside it wants that."""
        job = _Job(work, synced=synced)
        self._waiting.append(job)
        try:
            with self.turn:
                while not job.done:
                    # A thread that was interrupted leaves the units it had taken; then each owner runs its own.
                    self._serve(self._take_jobs() or [job])
        except BaseException:
            self._withdraw(job)
            raise
        return job.result()

    def _withdraw(self, job: _Job[Any]) -> None:
        with suppress(ValueError):
            self._waiting.remove(job)

    def _take_jobs(self) -> list[_Job[Any]]:
        return [self._waiting.popleft() for _ in range(min(len(self._waiting), _SHARED))]

    def _serve(self, jobs: list[_Job[Any]]) -> None:
        try:
            connection = self._connection()
            connection.rollback()  # whatever an interrupted thread left open
            connection.sync(wanted=any(job.synced for job in jobs))
            if len(jobs) == 1:
                _run_single_job(connection, jobs[0])
            else:
                _run_job_batch(connection, jobs)
        except Exception as error:  # noqa: BLE001 - each caller raises it as the result of its own unit
            for job in jobs:
                job.error, job.done = job.error or error, True
        else:
            self._committed(connection)


def _begin_transaction(connection: Connection, jobs: list[_Job[Any]]) -> None:
    patience = BUSY_SECONDS if any(job.synced for job in jobs) else _NOTED_SECONDS
    connection.begin("BEGIN IMMEDIATE", patience)
    refuse_upgraded(connection)


def _run_single_job(connection: Connection, job: _Job[Any]) -> None:
    try:
        _begin_transaction(connection, [job])
        job.run(connection)
        _commit_jobs(connection, [job])
    except BaseException:
        connection.rollback()
        raise


def _run_job_batch(connection: Connection, jobs: list[_Job[Any]]) -> None:
    try:
        _begin_transaction(connection, jobs)
        for job in jobs:
            _in_savepoint(connection, job)
        _commit_jobs(connection, jobs)
    except _TransactionLost:
        _one_by_one(connection, jobs)
    except BaseException:
        connection.rollback()
        raise


def _commit_jobs(connection: Connection, jobs: list[_Job[Any]]) -> None:
    try:
        connection.raw.execute("COMMIT")
        _mark_done(jobs)
    except Exception:
        raise
    except BaseException:
        # Ctrl-C during COMMIT is raised after it. What is on disk must not run a second time.
        if not connection.raw.in_transaction:
            _mark_done(jobs)
        raise


def _mark_done(jobs: list[_Job[Any]]) -> None:
    for job in jobs:
        job.done = True


class _TransactionLost(Exception):
    """SQLite gave up the whole transaction because of one unit (disk full, I/O error)."""


def _in_savepoint(connection: Connection, job: _Job[Any]) -> None:
    connection.raw.execute("SAVEPOINT unit")
    try:
        job.run(connection)
        connection.raw.execute("RELEASE unit")
    except Exception as error:
        if not connection.raw.in_transaction:
            raise _TransactionLost from error
        connection.raw.execute("ROLLBACK TO unit")
        connection.raw.execute("RELEASE unit")
        job.error = error


def _one_by_one(connection: Connection, jobs: list[_Job[Any]]) -> None:
    for job in jobs:
        try:
            _run_single_job(connection, job)
        except Exception as error:  # noqa: BLE001 - belongs to the caller of this unit, who raises it
            job.error, job.done = error, True
