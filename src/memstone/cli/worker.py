"""``worker`` and ``jobs``: background work."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final

import click

from memstone.cli.arguments import Arguments, for_scope_or_everybody, for_store
from memstone.cli.fail import OK
from memstone.cli.terminal import Column, TextTable, day_time, print_line, print_note, print_table

if TYPE_CHECKING:
    from memstone import Memory
    from memstone.literals import JobStatus
    from memstone.results import JobItem, WorkerResult

_SLICE: Final = 3_600.0
_STYLES: Final = {"distilled": "good", "success": "good", "error": "bad", "dead_letter": "bad", "skipped": "warn"}


@click.command()
@click.option("--once", is_flag=True, help="Do what is due now, then exit.")
@click.option("--all-tenants", is_flag=True, help="Work for every tenant of the store.")
@for_store
def worker(arguments: Arguments, once: bool, all_tenants: bool) -> int:
    """Process sessions in the background as they become due.

    Any number of workers can share a store with the applications that use it. Stop a worker with Ctrl-C or a
    termination signal; another worker, or the next one, continues its work.
    """
    with arguments.memory(create=True) as memory, _terminated_gently():
        done = _work_until_stopped(memory, once=once, all_tenants=all_tenants)
    if not arguments.print_json(done):
        print_line(
            f"{done['sessions']:,} sessions" + "".join(f", {count:,} {how}" for how, count in done["outcomes"].items())
        )
    return OK


def _work_until_stopped(memory: Memory, *, once: bool, all_tenants: bool) -> WorkerResult:
    """Return what was done until somebody had enough."""
    if once:
        return memory.admin.work(0, all_tenants=all_tenants)
    outcomes: dict[str, int] = {}
    try:
        print_note("working; Ctrl-C ends it")
        while True:
            for how, count in memory.admin.work(_SLICE, all_tenants=all_tenants)["outcomes"].items():
                outcomes[how] = outcomes.get(how, 0) + count
    except KeyboardInterrupt:
        return {"sessions": sum(outcomes.values()), "outcomes": outcomes}


class _TerminateSignal(KeyboardInterrupt):
    """A signal to terminate.

    A class of its own, because an interpreter that meets a plain `KeyboardInterrupt` while a dataclass is made, as when
    a module is loaded, ends as if it was killed, whoever caught it.
    """


@contextmanager
def _terminated_gently() -> Iterator[None]:
    """Yield a signal to terminate is as good as Ctrl-C."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise _TerminateSignal

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@click.command()
@click.option("--task", metavar="TASK", help="Only jobs of this kind: facts, distill, ...")
@click.option(
    "--status", metavar="STATUS", help="Only jobs with this status: success, skipped, empty, error or dead_letter."
)
@click.option("--limit", type=int, default=20, show_default=True, help="Maximum number of results.")
@for_scope_or_everybody
def jobs(arguments: Arguments, task: str | None, status: JobStatus | None, limit: int) -> int:
    """List background jobs, newest first."""
    with arguments.memory(create=False) as memory:
        answer = memory.admin.jobs(**arguments.scope_or_everybody(), task=task, status=status, limit=limit)
    if arguments.print_json(answer):
        return OK
    if answer["results"]:
        print_table(_jobs_table(answer["results"]))
    else:
        print_note("there are no jobs")
    return OK


def _jobs_table(rows: Sequence[JobItem]) -> TextTable:
    text_table = TextTable(
        [
            Column("TIME"),
            Column("TASK"),
            Column("USER", spare=2),
            Column("AGENT", spare=4),
            Column("RUN", spare=3),
            Column("OUTCOME", grows=True, style=_outcome_style),
            Column("MODEL", spare=5),
            Column("MS", right=True, spare=1),
        ]
    )
    for row in rows:
        who, took = (row["user_id"], row["agent_id"], row["run_id"]), f"{row['duration_ms']:.0f}"
        text_table.add(
            day_time(row["created_at"]), row["task"], *who, row["outcome"] or row["status"], row["model"], took
        )
    return text_table


def _outcome_style(outcome: str) -> str:
    return _STYLES.get(outcome.partition(":")[0], "dim")


COMMANDS: Final = (worker, jobs)
