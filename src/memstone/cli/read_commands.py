"""``search``, ``list``, ``get``, ``history``, ``stats`` and other commands that only read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli import arguments
from memstone.cli.arguments import KINDS, LAYERS, SCOPES, STRATEGIES, Arguments, for_scope, for_store
from memstone.cli.fail import NOTHING, OK
from memstone.cli.short_ids import resolve_memory_id
from memstone.cli.terminal import (
    Column,
    TextTable,
    day_time,
    escape_control_chars,
    event_style,
    format_score,
    print_line,
    print_note,
    print_table,
    show_pairs,
    style_text,
    warn_degraded,
)
from memstone.core.prompt.profile import Visibility
from memstone.errors import NotFoundError
from memstone.model.context_gate import GateMode
from memstone.model.memory import OPEN

if TYPE_CHECKING:
    from memstone.literals import CallerKind, GateName, LayerName, SearchScope, StatusName, Strategy, VisibilityName
    from memstone.memory import Memory
    from memstone.model.context import ContextPack
    from memstone.results import (
        ContextReceipt,
        HistoryEvent,
        MemoryItem,
        MemoryList,
        ProfileResult,
        SearchHit,
        SearchResults,
        UpdateResult,
    )


# --- ``search``, ``list``, ``get``, ``history``, ``stats`` ------------------------------------------------------------


_FILTER: Final = 'A condition such as city=Oslo, age>=18 or {"city": "Oslo"}. May be repeated; all must hold.'
_AS_OF: Final = "Search what was known at this time, in ISO 8601."
_LAYER: Final = "Layer to list; the default is fact. May be repeated."
_SEARCH_LAYER: Final = "Layer to search; the default is facts and turns, or `recall.layers`. May be repeated."
_EXPIRED: Final = "Include expired memories."
_STRATEGY: Final = (
    "How to search: by words and meaning, by meaning, by exact words, newest first, or by one channel only."
)
_BREADTH: Final = "Search only the --run, all runs of the --user, or also what is shared with everybody (the user `*`)."
_PARTS: Final = ("keyword", "semantic", "words", "speaker", "asking", "entity", "rrf", "rerank", "decay", "salience")
"""The parts of a score, in the order in which they come about."""
_FIELDS: Final = ("kind", "key", "occurred_at", "expires_at", "status", "metadata")
"""What may change about a memory besides its text."""


@click.command()
@click.argument("query")
@click.option("--limit", "-n", type=int, default=10, show_default=True, help="Maximum number of results.")
@click.option("--filter", "-f", "conditions", metavar="FILTER", multiple=True, help=_FILTER)
@click.option("--min-score", metavar="SCORE", type=float, help="Minimum similarity in meaning, from 0 to 1.")
@click.option("--as-of", metavar="TIME", help=_AS_OF)
@click.option("--layer", "layers", type=click.Choice(LAYERS), multiple=True, help=_SEARCH_LAYER)
@click.option("--strategy", type=click.Choice(STRATEGIES), help=_STRATEGY)
@click.option("--scope", "breadth", type=click.Choice(SCOPES), help=_BREADTH)
@click.option("--expired", is_flag=True, help=_EXPIRED)
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
@for_scope
def search(
    options: Arguments,
    query: str,
    *,
    limit: int,
    conditions: Sequence[str],
    min_score: float | None,
    as_of: str | None,
    layers: Sequence[LayerName],
    strategy: Strategy | None,
    breadth: SearchScope | None,
    expired: bool,
    explain: bool,
) -> int:
    """Find memories by words and meaning, best first.

    QUERY may be `-` for standard input.
    """
    wanted, filters = arguments.read_text_argument(query), arguments.parse_filter_options(conditions)
    with options.memory() as memory:
        answer = memory.search(
            wanted,
            **options.scope(),
            limit=limit,
            filters=filters,
            min_score=min_score,
            as_of=as_of,
            layers=layers or None,
            strategy=strategy,
            scope=breadth,
            show_expired=expired,
            explain=explain,
        )
    if not options.print_json(answer):
        _show_hits(answer, explain=explain)
    return OK if answer["results"] else NOTHING


def _show_hits(answer: SearchResults, *, explain: bool) -> None:
    warn_degraded(answer.get("degraded", ()))
    if not answer["results"]:
        print_note("nothing found")
        return
    parts = _parts_of(answer["results"]) if explain else []
    table = TextTable(
        [
            Column("SCORE", right=True),
            *(Column(name.upper(), right=True) for name in parts),
            Column("ID", spare=1 if explain else 0, is_id=True),  # who asks for the parts of a score wants to see those
            Column("SAID", spare=2),
            Column("SPEAKER", spare=3),
            Column("MEMORY", grows=True),
        ]
    )
    for hit in answer["results"]:
        values: Mapping[str, Any] = hit.get("score_parts", {})
        visible = [format_score(values.get(name)) for name in parts]
        when, who = day_time(hit["occurred_at"]), hit.get("actor")
        table.add(format_score(hit["score"]), *visible, hit["id"], when, who, _as_of_now(hit))
    print_table(table)


def _as_of_now(hit: SearchHit) -> str:
    """Return what a memory says, and what holds now where that is something else."""
    later = hit.get("superseded_by")
    if later is None:
        return str(hit["memory"])
    holds = " ".join(one["memory"] for one in later if one["memory"])
    return f"{hit['memory']} (this has changed since{': ' + holds if holds else ''})"


def _parts_of(hits: Sequence[SearchHit]) -> list[str]:
    """Return the parts that at least one hit has; a part this program does not know comes last."""
    there = {name for hit in hits for name in hit.get("score_parts", ())}
    return [*(name for name in _PARTS if name in there), *sorted(there - set(_PARTS))]


@click.command("list")
@click.option("--limit", "-n", type=int, default=20, show_default=True, help="Maximum number of results.")
@click.option("--offset", type=int, help="Skip this many; takes precedence over --page.")
@click.option("--page", type=int, help="Page number, from 1; a page has --limit memories.")
@click.option("--kind", type=click.Choice(KINDS), help="Only of this kind.")
@click.option("--q", metavar="TEXT", help="Only memories whose text or key contains this.")
@click.option("--filter", "-f", "conditions", metavar="FILTER", multiple=True, help=_FILTER)
@click.option(
    "--status",
    type=click.Choice(sorted(map(str, OPEN))),
    help="Only memories with this status.",
)
@click.option("--as-of", metavar="TIME", help=_AS_OF)
@click.option("--layer", "layers", type=click.Choice(LAYERS), multiple=True, help=_LAYER)
@click.option("--expired", is_flag=True, help=_EXPIRED)
@for_scope
def list_(
    options: Arguments,
    *,
    limit: int,
    offset: int | None,
    page: int | None,
    kind: CallerKind | None,
    q: str | None,
    conditions: Sequence[str],
    status: StatusName | None,
    as_of: str | None,
    layers: Sequence[LayerName],
    expired: bool,
) -> int:
    """List memories of a --user, --agent or --run, newest first."""
    filters = arguments.parse_filter_options(conditions)
    with options.memory() as memory:
        answer = memory.get_all(
            **options.scope(),
            limit=limit,
            offset=offset,
            page=page,
            kind=kind,
            q=q,
            filters=filters,
            status=status,
            as_of=as_of,
            layers=layers or None,
            show_expired=expired,
            counts=True,
        )
    if not options.print_json(answer):
        _show_list(answer)
    return OK if answer["results"] else NOTHING


def _show_list(answer: MemoryList) -> None:
    if answer["results"]:
        _show_memories(answer["results"])
        print_line()
    first, visible_count = answer["offset"] + 1, len(answer["results"])
    part = (
        f"{first:,} to {first + visible_count - 1:,} of {answer['total']:,}"
        if visible_count < answer["total"] and visible_count
        else None
    )
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(answer["by_kind"].items()))
    total = f"{answer['total']:,} in all" + (f" ({kinds})" if kinds else "")
    print_line(f"{part}; {kinds}" if part else total)


def _show_memories(memories: Sequence[MemoryItem]) -> None:
    table = TextTable(
        [
            Column("ID", is_id=True),
            Column("SAID", spare=1),
            Column("SPEAKER", spare=2),
            Column("KIND", spare=3),
            Column("MEMORY", grows=True),
        ]
    )
    for one in memories:
        table.add(one["id"], day_time(one["occurred_at"]), one.get("actor"), one["kind"], one["memory"])
    print_table(table)


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--expired", is_flag=True, help="Show it even if it has expired.")
@for_store
def get(arguments: Arguments, memory_id: str, *, expired: bool) -> int:
    """Show one memory with all its details."""
    with arguments.memory() as memory:
        memory_id = resolve_memory_id(memory, memory_id)
        found = memory.get(memory_id)
        ended = _find_expired(memory, memory_id) if found is None else None
    if ended is not None and not expired:
        hint = f"use --expired to show it, or `memstone update {ended['id']} --expires never` to bring it back"
        raise NotFoundError(f"memory {memory_id} expired on {day_time(ended['expires_at'])}", hint=hint)
    visible = found or ended
    if visible is None:
        raise NotFoundError(f"no memory {memory_id}")
    if not arguments.print_json(visible):
        show_memory(visible)
    return OK


def _find_expired(memory: Memory, memory_id: str) -> MemoryItem | None:
    """Return a memory that is there and has expired, as somebody who holds it sees it."""
    for answer in reversed(memory.history(memory_id)):
        scope = {"user_id": answer["user_id"], "agent_id": answer["agent_id"], "run_id": answer["run_id"]}
        if any(scope.values()):
            wanted = {"memory.id": answer["memory_id"]}
            seen = memory.get_all(**scope, filters=wanted, layers=LAYERS, show_expired=True)["results"]
            if seen:
                return seen[0]
    return None


def show_memory(memory: MemoryItem | UpdateResult) -> None:
    """Print everything about one memory."""
    answer: Mapping[str, Any] = memory
    for warning in answer.get("warnings", ()):
        print_note(f"warning: {warning}", "warn")
    output = {name: value for name, value in answer.items() if name not in ("hash", "warnings")}
    output["metadata"] = ", ".join(f"{name}={_to_plain_text(value)}" for name, value in memory["metadata"].items())
    if "evidence" in memory:
        turn = memory["evidence"]["turn"]
        output["evidence"] = f'"{memory["evidence"]["quote"]}"' + (f" in turn {turn}" if turn else "")
    show_pairs((name, day_time(value) if name.endswith("_at") else value) for name, value in output.items())


def _to_plain_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@click.command()
@click.argument("memory_id", metavar="ID")
@for_store
def history(arguments: Arguments, memory_id: str) -> int:
    """Show what happened to a memory, even a deleted one."""
    with arguments.memory() as memory:
        events = memory.history(resolve_memory_id(memory, memory_id))
    if not events:
        raise NotFoundError(f"no memory {memory_id}", hint="`memstone list` shows ids")
    if not arguments.print_json(events):
        table = TextTable(
            [
                Column("WHEN"),
                Column("EVENT", style=event_style),
                Column("BEFORE", grows=True),
                Column("AFTER", grows=True),
                Column("WHY", spare=1),
            ]
        )
        for one in events:
            table.add(day_time(one["timestamp"]), one["event"], *_before_and_after(one), one["reason"])
        print_table(table)
    return OK


def _before_and_after(event: HistoryEvent) -> tuple[str | None, str | None]:
    """Return what a change was about: the text, or the fields that changed where the text did not."""
    if event["is_deleted"] and event.get("new_id"):
        return event["old_value"], f"(replaced by {event['new_id']})"
    texts = event["old_value"], event["new_value"]
    before: Mapping[str, Any] | None = event["before"]
    after: Mapping[str, Any] | None = event["after"]
    if before is None or after is None or texts[0] != texts[1]:
        return texts
    changed = [name for name in _FIELDS if before.get(name) != after.get(name)]
    return (_format_fields(changed, before), _format_fields(changed, after)) if changed else texts


def _format_fields(names: Sequence[str], state: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {_format_field(name, state.get(name))}" for name in names)


def _format_field(name: str, value: object) -> str:
    return "none" if value is None else day_time(value) if name.endswith("_at") else _to_plain_text(value)


@click.command()
@for_store
def stats(arguments: Arguments) -> int:
    """Count memories, events, index rows and queued work."""
    with arguments.memory() as memory:
        counts = memory.stats()
    if not arguments.print_json(counts):
        visible = [
            (name, f"{counts[name]:,}") for name in ("memories", "turns", "events", "fulltext", "vectors", "pending")
        ]
        spaces = [
            (f"{one['state']} index", " ".join(filter(None, (one["signature"], one["quant"]))))
            for one in counts["indexes"]
        ]
        show_pairs([*visible, *spaces])
    return OK


COMMANDS: Final = (search, list_, get, history, stats)


# --- ``context``, ``profile`` and ``visibility`` ----------------------------------------------------------------------


_BUDGET: Final = "Maximum number of tokens, instead of the configured one."
_GATE: Final = "How to choose: the profile and what is close, whatever fits, by rules or a model, or nothing."
_SHOWN_AS_OF: Final = "Show what a model would have seen at this time, in ISO 8601."

_STEPS: Final = ("cache", "gate", "search", "relevance", "read", "plan")
"""In the order in which they are done; a receipt holds them in none."""


@click.command()
@click.argument("query")
@click.option("--budget", metavar="TOKENS", type=int, help=_BUDGET)
@click.option("--gate", type=click.Choice([str(mode) for mode in GateMode]), help=_GATE)
@click.option("--as-of", metavar="TIME", help=_SHOWN_AS_OF)
@for_scope
def context(options: Arguments, query: str, *, budget: int | None, gate: GateName | None, as_of: str | None) -> int:
    """Show what a model would see for QUERY, and why.

    The block comes first, exactly as it would appear in a prompt. Below it you see what was chosen, what was considered
    and left out, and how long each step took. QUERY may be `-` for standard input. With --json, the answer includes the
    receipt.
    """
    wanted = arguments.read_text_argument(query)
    with options.memory() as memory:
        pack = memory.context(wanted, **options.scope(), budget=budget, gate=gate, as_of=as_of)
        receipt = memory.receipt(pack.receipt_id) if pack.receipt_id else None
        if not options.print_json({**pack.as_dict(), "receipt": receipt}):
            _show_context(memory, pack, receipt)
    return OK if pack else NOTHING


def _show_context(memory: Memory, pack: ContextPack, receipt: ContextReceipt | None) -> None:
    warn_degraded(pack.degraded)
    for warning in pack.warnings:
        print_note(f"warning: {warning}", "warn")
    if pack.text:
        print_line("\n".join(escape_control_chars(line) for line in pack.text.splitlines()))
        print_line()
    else:
        print_note("nothing to show")
    if receipt is not None:
        _show_chosen(pack, receipt["chosen"])
        _show_dropped(memory, receipt["dropped"])
    _show_account(pack, receipt or {})


def _show_chosen(pack: ContextPack, chosen: Sequence[Mapping[str, Any]]) -> None:
    if not chosen:
        return
    cited = {one.memory_id: one for one in pack.citations}
    table = TextTable(
        [
            Column("SCORE", right=True),
            Column("TOKENS", right=True, spare=1),
            Column("SAID", spare=2),
            Column("ID", is_id=True),
            Column("SOURCE", spare=3, is_id=True),
            Column("MEMORY", grows=True),
        ]
    )
    for one in chosen:
        line = cited[one["id"]]
        text = line.line.strip().removeprefix("- ").removeprefix(f"[{line.date}] ")
        table.add(format_score(one["score"]), one["tokens"], line.date, one["id"], line.turn_id, text)
    _show_titled("Shown", table)


def _show_dropped(memory: Memory, dropped: Sequence[Mapping[str, Any]]) -> None:
    if not dropped:
        return
    table = TextTable([Column("WHY"), Column("ID", is_id=True), Column("MEMORY", grows=True)])
    for one in dropped:
        found = memory.get(one["id"])
        table.add(one["reason"], one["id"], found["memory"] if found else None)
    _show_titled("Left out", table)


def _show_titled(title: str, table: TextTable) -> None:
    print_line(style_text(title, "title"))
    print_table(table)
    print_line()


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
@click.option("--tokens", metavar="TOKENS", type=int, help="Maximum number of tokens, instead of the configured one.")
@for_scope
def profile(arguments: Arguments, *, tokens: int | None) -> int:
    """Show what a model always sees about a user.

    The most important entries come first, and the ones left out last. Standing instructions come first, then facts,
    then what the user said before today that no fact covers.
    """
    if arguments.user is None:
        raise click.UsageError("a profile belongs to a user: use --user")
    with arguments.memory() as memory:
        answer = memory.profile.get(user_id=arguments.user, agent_id=arguments.agent, tokens=tokens)
        if not arguments.print_json(answer):
            _show_profile(memory, answer)
    return OK if answer["instructions"] or answer["facts"] or answer["turns"] else NOTHING


def _show_profile(memory: Memory, answer: ProfileResult) -> None:
    rows = [("instruction", one) for one in answer["instructions"]]
    rows += [(one["about"], one) for one in answer["facts"]]
    rows += [(f"said {one['date']}", one) for one in answer["turns"]]
    if not rows:
        print_note("nothing is known about this user")
    table = TextTable([Column("ABOUT"), Column("ID", spare=1, is_id=True), Column("MEMORY", grows=True)])
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
def visibility(arguments: Arguments, memory_id: str, wanted: VisibilityName) -> int:
    """Choose whether models see a memory.

    WANTED is `pinned` (always shown, first in the profile), `hidden` (not in the profile, but shown when a message
    calls for it), `private` (never shown; you can still find it) or `default`.
    """
    with arguments.memory() as memory:
        answer = memory.profile.set_visibility(resolve_memory_id(memory, memory_id), wanted)
    if not arguments.print_json(answer):
        print_line("nothing to do" if answer["event"] == "NONE" else f"{answer['id']} is {answer['visibility']}")
    return OK


SHOWN_COMMANDS: Final = (context, profile, visibility)
