"""What of a user's identity a model is shown: only what still holds, whenever it was put into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from memstone.core.digest.portrait import Line, composed
from memstone.engine.layers.derived import holding, is_true, may_be_identity, rows_of
from memstone.model.instant import Instant
from memstone.model.memory import Found, Kind, Record
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

_SPARE: Final = 20
"""So many tokens more than the text it stands for may a list of sentences have: facts are wordier than a text."""


@dataclass(frozen=True, slots=True)
class Portrait:
    """An identity as it is shown; ``narrative`` is the text, which need not be the one that is stored."""

    overrides: list[Found]
    derived: list[Found]
    row: Found | None = None
    narrative: str = ""


async def portrait(tx: Tx, owner: Scope, now: Instant, as_of: Instant | None = None) -> Portrait:
    """The identity of an owner (as it was at ``as_of``), within one transaction."""
    rows = await rows_of(tx, owner, now, Kind.OVERRIDE, Kind.DERIVED, Kind.NARRATIVE, as_of=as_of)
    if not rows:
        return Portrait([], [])
    told = next((one for one in reversed(rows) if one.record.kind == Kind.NARRATIVE), None)
    mirrors = [one for one in rows if one.record.kind == Kind.DERIVED]
    behind = [*_made_of(told), *(one.record.origin_id or "" for one in mirrors)]
    facts = await holding(tx, owner, behind, now, as_of)
    return Portrait(
        overrides=[one for one in rows if one.record.kind == Kind.OVERRIDE],
        derived=[one for one in mirrors if is_true(one.record, facts.get(one.record.origin_id or ""))],
        row=told,
        narrative=_text(told.record, facts) if told is not None else "",
    )


def _made_of(told: Found | None) -> dict[str, str]:
    made_of = told.record.data.get("facts") if told is not None else None
    return made_of if isinstance(made_of, dict) else {}


def _text(told: Record, facts: dict[str, Record]) -> str:
    """The text that is stored; where something it says was changed or deleted since, what the facts say now."""
    made_of: dict[str, str] = told.data.get("facts") or {}
    if all(one in facts and facts[one].hash == version for one, version in made_of.items()):
        return told.text
    live = [fact for one in made_of if (fact := facts.get(one)) is not None and may_be_identity(fact)]
    return composed(list(map(line_of, live)), told.tokens + _SPARE)


def line_of(fact: Record) -> Line:
    """A fact as a text about the user may tell it."""
    category = str(fact.data.get("category", ""))
    return Line(fact.id, fact.text, fact.hash, category, fact.salience, fact.updated_at, fact.occurred_at)
