"""``entities``, ``relations``: whom and what memories speak of."""

from __future__ import annotations

from typing import Any, Final

import click

from memstone.cli.fail import NOTHING, OK
from memstone.cli.given import Given, for_scope
from memstone.cli.output import day_time, note, show
from memstone.cli.table import Column, Table

_SKIP: Final = "Leave so many out."


@click.command()
@click.option("--limit", "-n", type=int, default=20, show_default=True, help="At most so many.")
@click.option("--offset", type=int, default=0, help=_SKIP)
@for_scope
def entities(given: Given, *, limit: int, offset: int) -> int:
    """List people, places and things that memories speak of, most often mentioned first."""
    with given.memory() as memory:
        answer = memory.entities(**given.scope(), limit=limit, offset=offset)
    if not given.answered(answer):
        _show_entities(answer)
    return OK if answer["results"] else NOTHING


def _show_entities(answer: dict[str, Any]) -> None:
    if not answer["results"]:
        note("nothing is named")
        return
    table = Table(
        [
            Column("MENTIONS", right=True),
            Column("TYPE"),
            Column("NAME", grows=True),
            Column("DESCRIPTION", grows=True, spare=1),
            Column("ID", spare=2),
        ]
    )
    for one in answer["results"]:
        table.add(f"{one['mentions']:,}", one["type"], one["name"], one["description"], one["id"])
    show(table)


@click.command()
@click.option("--limit", "-n", type=int, default=20, show_default=True, help="At most so many.")
@click.option("--offset", type=int, default=0, help=_SKIP)
@for_scope
def relations(given: Given, *, limit: int, offset: int) -> int:
    """List how they are related, what was stated last first; UNTIL tells what no longer holds."""
    with given.memory() as memory:
        answer = memory.relations(**given.scope(), limit=limit, offset=offset)
    if not given.answered(answer):
        _show_relations(answer)
    return OK if answer["results"] else NOTHING


def _show_relations(answer: dict[str, Any]) -> None:
    if not answer["results"]:
        note("nothing is related")
        return
    table = Table(
        [
            Column("SOURCE", grows=True),
            Column("RELATION"),
            Column("TARGET", grows=True),
            Column("SINCE", spare=2),
            Column("UNTIL", spare=1),
            Column("MEMORIES", right=True, spare=3),
        ]
    )
    for one in answer["results"]:
        since, until = day_time(one["valid_from"]), day_time(one["valid_to"])
        table.add(one["source"], one["relation"], one["target"], since, until, f"{one['memories']:,}")
    show(table)


COMMANDS: Final = (entities, relations)
