"""``reindex``, ``flush``, ``doctor``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

import click

from memstone.cli.doctor import BAD, Check, examine
from memstone.cli.fail import FAILED, OK
from memstone.cli.given import Given, for_scope_or_everybody, for_store
from memstone.cli.output import Progress, note, paint, say
from memstone.cli.text import harmless, padded

_MARKS: Final = {"ok": "good", "warn": "warn", "fail": "bad"}


@click.command()
@for_store
def reindex(given: Given) -> int:
    """Make the vectors of the configured embedder.

    Every memory gets one, then those of other embedders are dropped. Needed after the embedder was changed. Searches go
    on meanwhile, and an interrupted run goes on where it stopped.
    """
    progress = Progress("indexing")
    with given.memory() as memory:
        try:
            answer = memory.reindex(progress)
        finally:
            progress.finish()
    if not given.answered(answer):
        say(f"{answer['indexed']:,} vectors made for {answer['signature']}, {answer['dropped']:,} others dropped")
        if answer["failed"]:
            note(f"{answer['failed']:,} could not be embedded; they are found by their words", "bad")
    return FAILED if answer["failed"] else OK


@click.command()
@for_scope_or_everybody
def flush(given: Given) -> int:
    """Form memory of what waits, due or not.

    Sessions that were kept for later are learned from, and what a model or the embedder could not do before is tried
    again. What another process is working on stays with it.
    """
    with given.memory() as memory:
        answer = memory.flush(**given.scope_or_everybody())
    if not given.answered(answer):
        say(f"{answer['stored']:,} stored, {answer['waiting']:,} still waiting")
    return FAILED if answer["waiting"] else OK


@click.command()
@for_store
def doctor(given: Given) -> int:
    """Say what is there, whether it works, and where text goes."""
    with given.logging():
        checks = list(examine(given))
    if not given.answered({"ok": not _failed(checks), "checks": [asdict(check) for check in checks]}):
        _show_checks(checks)
    return FAILED if _failed(checks) else OK


def _failed(checks: list[Check]) -> bool:
    return any(check.state == BAD for check in checks)


def _show_checks(checks: list[Check]) -> None:
    wide = max(len(check.name) for check in checks)
    section = ""
    for check in checks:
        if check.section != section:
            say(("\n" if section else "") + paint(check.section, "head"))
            section = check.section
        mark = paint(padded(check.state, 4), _MARKS[check.state])
        say(f"  {mark}  {padded(check.name, wide)}  {harmless(check.detail)}")
        if check.hint:
            say(f"        {padded('', wide)}  " + paint(f"hint: {harmless(check.hint)}", "note"))


COMMANDS: Final = (reindex, flush, doctor)
