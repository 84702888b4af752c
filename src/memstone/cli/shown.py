"""``context``, ``profile`` and ``visibility``: what a model is shown, and the account of how it came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli import parse
from memstone.cli.fail import NOTHING, OK
from memstone.cli.given import Given, for_scope, for_store
from memstone.cli.output import note, paint, say, score, show, show_pairs, warn_degraded
from memstone.cli.table import Column, Table
from memstone.cli.text import harmless
from memstone.core.showing.profile import Visibility
from memstone.model.context_gate import GateMode

if TYPE_CHECKING:
    from memstone.memory import Memory
    from memstone.model.context import ContextPack

_BUDGET: Final = "At most so many tokens, instead of what is configured."
_GATE: Final = "What is shown: the profile and what is near, whatever fits, what rules or a model decide, or nothing."
_AS_OF: Final = "What would have been shown at that time, in ISO 8601."

_STEPS: Final = ("cache", "gate", "search", "relevance", "read", "plan")
"""In the order in which they are done; a receipt holds them in none."""


@click.command()
@click.argument("query")
@click.option("--budget", metavar="TOKENS", type=int, help=_BUDGET)
@click.option("--gate", type=click.Choice([str(mode) for mode in GateMode]), help=_GATE)
@click.option("--as-of", metavar="TIME", help=_AS_OF)
@for_scope
def context(given: Given, query: str, *, budget: int | None, gate: str | None, as_of: str | None) -> int:
    """Show what a model would be told for QUERY, and why that.

    The block comes first, as it would stand in a prompt. Below it stands what was chosen, what was looked at and left
    out, and what each step took. QUERY may be `-` for standard input. The answer as JSON holds the receipt as well.
    """
    wanted = parse.text(query)
    with given.memory() as memory:
        pack = memory.context(wanted, **given.scope(), budget=budget, gate=gate, as_of=as_of)
        receipt = memory.receipt(pack.receipt_id) if pack.receipt_id else None
        if not given.answered({**pack.as_dict(), "receipt": receipt}):
            _show(memory, pack, receipt)
    return OK if pack else NOTHING


def _show(memory: Memory, pack: ContextPack, receipt: dict[str, Any] | None) -> None:
    warn_degraded(pack.degraded)
    for warning in pack.warnings:
        note(f"warning: {warning}", "warn")
    if pack.text:
        say("\n".join(harmless(line) for line in pack.text.splitlines()))
        say()
    else:
        note("nothing to show")
    if receipt is not None:
        _show_chosen(pack, receipt["chosen"])
        _show_dropped(memory, receipt["dropped"])
    _show_account(pack, receipt or {})


def _show_chosen(pack: ContextPack, chosen: Sequence[Mapping[str, Any]]) -> None:
    if not chosen:
        return
    cited = {one.memory_id: one for one in pack.citations}
    table = Table(
        [
            Column("SCORE", right=True),
            Column("TOKENS", right=True, spare=1),
            Column("SAID", spare=2),
            Column("ID"),
            Column("SOURCE", spare=3),
            Column("MEMORY", grows=True),
        ]
    )
    for one in chosen:
        line = cited[one["id"]]
        text = line.line.strip().removeprefix("- ").removeprefix(f"[{line.date}] ")
        table.add(score(one["score"]), one["tokens"], line.date, one["id"], line.turn_id, text)
    _show_titled("Shown", table)


def _show_dropped(memory: Memory, dropped: Sequence[Mapping[str, Any]]) -> None:
    if not dropped:
        return
    table = Table([Column("WHY"), Column("ID"), Column("MEMORY", grows=True)])
    for one in dropped:
        found = memory.get(one["id"])
        table.add(one["reason"], one["id"], found["memory"] if found else None)
    _show_titled("Left out", table)


def _show_titled(title: str, table: Table) -> None:
    say(paint(title, "title"))
    show(table)
    say()


def _show_account(pack: ContextPack, receipt: Mapping[str, Any]) -> None:
    gate = f"{pack.gate.route}: {pack.gate.reason}" + (f" ({pack.gate.matched!r})" if pack.gate.matched else "")
    took = receipt.get("ms", {})
    steps = [*(step for step in _STEPS if step in took), *(step for step in took if step not in _STEPS)]
    show_pairs(
        [
            ("gate", gate),
            ("tokens", f"{pack.tokens:,} of {pack.budget:,}"),
            ("considered", receipt.get("considered")),
            ("ms", ", ".join(f"{step} {took[step]:.1f}" for step in steps)),
            ("receipt", pack.receipt_id),
        ]
    )


@click.command()
@click.option("--tokens", metavar="TOKENS", type=int, help="At most so many, instead of what is configured.")
@for_scope
def profile(given: Given, *, tokens: int | None) -> int:
    """Show what a model is always told of a user, most important first, and what is left out.

    Standing instructions come first, then facts, then what the user said before today and no fact holds.
    """
    if given.user is None:
        raise click.UsageError("a profile belongs to a user: give --user")
    with given.memory() as memory:
        answer = memory.profile(user_id=given.user, agent_id=given.agent, tokens=tokens)
        if not given.answered(answer):
            _show_profile(memory, answer)
    return OK if answer["instructions"] or answer["facts"] or answer["turns"] else NOTHING


def _show_profile(memory: Memory, answer: dict[str, Any]) -> None:
    rows = [("instruction", one) for one in answer["instructions"]]
    rows += [(one["about"], one) for one in answer["facts"]]
    rows += [(f"said {one['date']}", one) for one in answer["turns"]]
    if not rows:
        note("nothing is known of this user")
    table = Table([Column("ABOUT"), Column("ID", spare=1), Column("MEMORY", grows=True)])
    for about, one in rows:
        table.add(about, one["id"], one["memory"])
    if rows:
        _show_titled("Always shown", table)
    _show_dropped(memory, answer["left_out"])
    of = f"{answer['tokens']:,} of {answer['profile_tokens']:,}"
    show_pairs([("tokens", of if answer["complete"] else f"{of}, and more is known")])


@click.command()
@click.argument("memory_id", metavar="ID")
@click.argument("wanted", metavar="WANTED", type=click.Choice([str(one) for one in Visibility]))
@for_store
def visibility(given: Given, memory_id: str, wanted: str) -> int:
    """Decide whether models are shown a memory.

    WANTED is `pinned` (always, before everything else in the profile), `hidden` (not in the profile, but when a message
    calls for it), `private` (never; you still find it) or `default`.
    """
    with given.memory() as memory:
        answer = memory.set_visibility(memory_id, wanted)
    if not given.answered(answer):
        say("nothing to do" if answer["event"] == "NONE" else f"{answer['id']} is {answer['visibility']}")
    return OK


COMMANDS: Final = (context, profile, visibility)
