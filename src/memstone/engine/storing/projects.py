"""Projects: what is said in one is remembered there as well, by a second link to the same row.

A project is an owner like a user, named ``project:<id>`` in the scope. Whoever asks in a project is shown what is known
there besides what is known of them. Which project a turn belongs to is settled when it is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from memstone.engine.parts import Parts
from memstone.engine.storing.draft import event_of
from memstone.engine.storing.store import join
from memstone.model.event import EventType
from memstone.model.ids import clean_id
from memstone.model.instant import Instant
from memstone.model.memory import MIRROR, Layer, Link, Record
from memstone.model.scope import Scope

if TYPE_CHECKING:
    from memstone.engine.storing.write import Outcome
    from memstone.ports.ledger import Tx

PREFIX: Final = "project:"
REASON: Final = "said in the project"


def project_scope(parts: Parts, project_id: object) -> Scope | None:
    """The scope of a project; None when none is named."""
    name = clean_id(project_id, "project_id")
    return parts.scope({"user_id": PREFIX + name}) if name else None


async def feed(tx: Tx, records: Iterable[Record], project: Scope, now: Instant) -> None:
    """Let a project see memories it does not see yet."""
    for record in {one.seq: one for one in records}.values():
        links = await tx.links.of(record.tenant_id, record.seq)
        if any(link.scope.user_id == project.user_id for link in links):
            continue
        link = Link(project, now, None, MIRROR)
        await join(tx, record, [link], now)
        if record.layer != Layer.TURN:  # what was said is its own record
            told = event_of(
                EventType.LINK, record, project, now, before=record, links=[*links, link], links_before=links
            )
            await tx.events.append([replace(told, reason=REASON, new_id=record.id)])


async def feed_turns(tx: Tx, turn_ids: Iterable[str], project: Scope, now: Instant) -> None:
    """Let a project see what was said in it."""
    found = [await tx.memories.current(project.tenant_id, one) for one in turn_ids if one]
    await feed(tx, [record for record in found if record is not None], project, now)


async def feed_outcomes(tx: Tx, outcomes: Iterable[Outcome], now: Instant) -> None:
    """Let the projects in which something was said see what became of it."""
    for outcome in outcomes:
        project, record = outcome.draft.also, outcome.record
        if project is not None and record is not None and outcome.event != EventType.DELETE:
            await feed(tx, [record], project, now)
