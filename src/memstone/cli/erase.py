"""``erase``: erase everything about someone, for good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from memstone.cli.arguments import Arguments, ask_confirmation, confirm_by_typing, for_scope, for_store
from memstone.cli.fail import FAILED, NOTHING, OK
from memstone.cli.terminal import Column, Progress, TextTable, print_line, print_note, print_table
from memstone.errors import InvalidInput

if TYPE_CHECKING:
    from memstone.results import ErasureCheck, ErasureReport, ErasureVerification, RedactResult

# --- ``erase`` --------------------------------------------------------------------------------------------------------


_REPORT: Final = "Write the report to this file. Without it, only --json prints the report."


@click.command()
@click.option("--memory", "memory_id", metavar="ID", help="Erase only this memory; without a scope, for everybody.")
@click.option("--report", metavar="FILE", type=click.Path(dir_okay=False), help=_REPORT)
@click.option(
    "--verify", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="Check a report instead of erasing."
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@for_scope
def erase(arguments: Arguments, *, memory_id: str | None, report: str | None, verify: str | None, yes: bool) -> int:
    """Erase everything about someone, for good.

    This covers every layer and version, the history, queued work, names, words and vectors, and the backups made with
    `memstone backup`. Memories that others can see stay with them. Nothing can be brought back: to confirm, you type
    the name. The report contains counts and checks but no content, and is signed with the store's key: use --verify to
    check it later.
    """
    if verify is not None:
        return _verify_report(arguments, verify, other=bool(memory_id or report))
    with arguments.memory() as memory:
        if not (yes or _confirm_erasure(arguments, memory_id)):
            print_note("nothing was erased")
            return NOTHING
        progress = Progress("erasing")
        try:
            answer = memory.admin.erase(**arguments.scope(), memory_id=memory_id, progress=progress)
        finally:
            progress.finish()
    if report is not None:
        Path(report).write_text(json.dumps(answer, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if not arguments.print_json(answer):
        _show_erasure(answer, report)
    return OK if answer["pending"] or all(check["ok"] for check in answer["checks"]) else FAILED


def _confirm_erasure(arguments: Arguments, memory_id: str | None) -> bool:
    """Return whether somebody typed what is to be erased."""
    named = [(name.removesuffix("_id"), value) for name, value in arguments.scope().items() if value]
    named += [("memory", memory_id)] if memory_id else []
    if not named:
        return True  # nobody is named, which the library refuses with its own words
    text, wanted = ", ".join(f"{name} {value}" for name, value in named), str(named[-1][1])
    print_note(f"This erases everything of {text}, also from backups. It cannot be undone.", "warn")
    return confirm_by_typing(arguments, wanted, f"Type {wanted} to erase it", without="erase")


def _show_erasure(answer: ErasureReport, report: str | None) -> None:
    table = TextTable([Column("TABLE", grows=True), Column("ROWS", right=True)])
    for name, count in answer["erased"].items():
        table.add(name, f"{count:,}")
    if table.rows:
        print_table(table)
    else:
        print_note("the store had nothing to erase", "note")
    if answer["kept_for_others"]:
        print_note(f"{answer['kept_for_others']:,} memories stay, because others can see them", "note")
    for check in answer["checks"]:
        _show_check(check)
    print_line(_summarize_erasure(answer))
    for place in answer["not_looked_at"]:
        print_note(f"not checked: {place}", "warn")
    if answer["to_finish"]:
        print_note("to remove it there, run this as a superuser of the database:", "note")
        print_line("\n".join(answer["to_finish"]))
    if report is not None:
        print_line(f"report written to {report}")


def _summarize_erasure(answer: ErasureReport) -> str:
    if answer["complete"]:
        return "erased, and every check passed"
    if answer["pending"]:
        return "erased; the file will be rewritten when it is idle"
    if all(check["ok"] for check in answer["checks"]):
        return "erased from every table, and every check passed; the server still has other copies"
    return "erased, but not every check passed"


def _show_check(check: ErasureCheck) -> None:
    for copy in check.get("copies", ()):
        left = copy["state"] in ("missing", "unreachable")
        reason = f": {copy['reason']}" if copy.get("reason") else ""
        print_note(f"backup {copy.get('path', '')} {copy['state']}{reason}", "warn" if left else "dim")
    if not check["ok"] and not check.get("pending"):
        error = check.get("error")
        problem = (error["message"] if error else "") or check.get("hint") or "something is left"
        print_note(f"error: {check['check']}: {problem}", "bad")


def _verify_report(arguments: Arguments, file: str, *, other: bool) -> int:
    if other or any(arguments.scope().values()):
        raise click.UsageError("--verify only checks a report and cannot be combined with other options")
    try:
        report = json.loads(Path(file).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{file} is not JSON: {error}", hint="use --report to write such a file") from error
    with arguments.memory() as memory:
        answer = memory.admin.verify_erasure(report)
    if not arguments.print_json(answer):
        _show_verified(answer)
    return OK if answer["ok"] else NOTHING


def _show_verified(answer: ErasureVerification) -> None:
    if not answer["unchanged"]:
        print_note("error: the report was changed after it was written", "bad")
    if not answer["sealed_by_this_store"]:
        print_note("error: the report was not written by this store", "bad")
    if not answer["complete"] and not answer["not_looked_at"]:
        print_note("error: not every check passed", "bad")
    for table, count in answer["left"].items():
        print_note(f"error: {count:,} rows from before the erasure are still in {table}", "bad")
    named = ", ".join(f"{name.removesuffix('_id')} {value}" for name, value in answer["subject"].items())
    if answer["ok"]:
        print_line(f"the report is genuine, and nothing of {named} has come back")


COMMANDS: Final = (erase,)


# --- ``redact`` -------------------------------------------------------------------------------------------------------


@click.command()
@click.option("--apply", "applied", is_flag=True, help="Mask the secrets found. Without it, they are only counted.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@for_store
def redact(arguments: Arguments, *, applied: bool, yes: bool) -> int:
    """Find secrets in stored memories, and mask them.

    Memstone masks credentials and card numbers before it stores anything. Use this command for what was stored earlier,
    or under another extract.redact setting. It looks through every version, the history and the queue. Masking cannot
    be undone. Backups and exports are not changed.
    """
    with arguments.memory() as memory:
        if applied and not (yes or ask_confirmation(arguments, "Mask every secret found, for good?", without="mask")):
            print_note("nothing was masked")
            return NOTHING
        progress = Progress("masking" if applied else "looking")
        try:
            answer = memory.admin.redact(progress, dry_run=not applied)
        finally:
            progress.finish()
    if not arguments.print_json(answer):
        _masking_show(answer)
    return FAILED if answer.get("degraded") else OK


def _masking_show(answer: RedactResult) -> None:
    if answer["found"]:
        table = TextTable([Column("KIND", grows=True), Column("ROWS", right=True)])
        for kind, count in sorted(answer["by_kind"].items()):
            table.add(kind, f"{count:,}")
        print_table(table)
    done = "contain a secret" if answer["dry_run"] else "contained a secret and are now masked"
    print_line(f"{answer['found']:,} of {answer['scanned']:,} rows {done}")
    if answer["found"] and answer["dry_run"]:
        print_note("hint: use --apply to mask them", "note")
    for one in answer.get("degraded", ()):
        print_note(f"error: masked, but without vectors: {one['message']}", "bad")
        print_note("hint: run `memstone reindex` to build them", "note")


MASKING_COMMANDS: Final = (redact,)
