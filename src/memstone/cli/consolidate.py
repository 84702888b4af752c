"""``consolidate``, ``summarize``."""

from __future__ import annotations

from typing import Any, Final

import click

from memstone.cli.fail import NOTHING, OK
from memstone.cli.given import Given, for_scope, for_scope_or_everybody
from memstone.cli.output import Progress, note, say, show_pairs

_LINES: Final = (
    ("merged", "became part of one that says the same"),
    ("promoted", "gained weight"),
    ("evicted", "put aside"),
    ("expired", "deleted as expired"),
    ("pruned", "deleted as too old"),
    ("summarized", "shortened"),
    ("narratives", "texts about users made anew"),
)
_PURGED: Final = (
    ("jobs", "old entries of the log"),
    ("signals", "learned from long ago"),
    ("receipts", "old receipts"),
    ("idempotency", "old answers to batches"),
    ("llm_cache", "old answers of a model"),
    ("continuations", "where old answers of a model ended"),
    ("deleted", "deleted memories, their words"),
    ("changes", "entries that indexes no longer need"),
)
_REFUSED: Final = {
    "already_running": "another pass is under way",
    "disabled": "memory is switched off",
}


@click.command()
@click.option("--dry-run", is_flag=True, help="Change nothing, and count what would be done.")
@for_scope_or_everybody
def consolidate(given: Given, *, dry_run: bool) -> int:
    """Tidy up: merge, promote, put aside, delete, forget.

    Nearly identical memories become one, what recent sessions keep speaking of gains weight, what has faded is put
    aside, and what is past its time is deleted; for a user, an agent, a run, or --everybody. What it did can be undone
    by its job id.
    """
    progress = Progress("consolidating")
    with given.memory() as memory:
        progress(0)
        try:
            answer = memory.consolidate(**given.scope_or_everybody(), dry_run=dry_run)
        finally:
            progress.finish()
    if not given.answered(answer):
        _show(answer, dry_run=dry_run)
    return OK if answer["status"] == "completed" else NOTHING


def _show(answer: dict[str, Any], *, dry_run: bool) -> None:
    if answer["status"] != "completed":
        note(_REFUSED[answer["status"]], "warn")
        return
    counts = [(words, answer[name]) for name, words in _LINES]
    counts += [(words, answer["purged"].get(name, 0)) for name, words in _PURGED]
    done = [(words, f"{count:,}") for words, count in counts if count]
    if not done:
        say("nothing to do")
        return
    show_pairs(done)
    note("nothing was changed" if dry_run else f"job {answer['job_id']}")


@click.command()
@click.option(
    "--max-tokens", type=click.IntRange(min=0), default=4_000, metavar="N", show_default=True, help="What stays whole."
)
@click.option("--older-than-days", type=click.FloatRange(min=0), metavar="N", help="Leave what is younger as it is.")
@click.option("--dry-run", is_flag=True, help="Change nothing, and say what it would save.")
@for_scope
def summarize(given: Given, *, max_tokens: int, older_than_days: float | None, dry_run: bool) -> int:
    """Shorten old memories to their first three sentences.

    The newest that fit into --max-tokens stay as they are. The originals are kept and can be brought back.
    """
    options: dict[str, Any] = {"max_tokens": max_tokens, "older_than_days": older_than_days, "dry_run": dry_run}
    with given.memory() as memory:
        answer = memory.summarize(**given.scope(), **options)
    if not given.answered(answer):
        count, total, saved = (f"{answer[name]:,}" for name in ("summarizedCount", "originalCount", "tokensSaved"))
        say(f"{count} of {total} {'would be shortened' if dry_run else 'shortened'}, {saved} tokens saved")
        if "job_id" in answer:
            note(f"job {answer['job_id']}")
    return OK


COMMANDS: Final = (consolidate, summarize)
