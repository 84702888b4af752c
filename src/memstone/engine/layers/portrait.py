"""Choose the parts of a user's identity that a model may see: those that still hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstone.core.portrait import compose_user_text
from memstone.core.prompt.profile import Visibility, visibility_of
from memstone.engine.layers.mirrors import is_true, may_be_identity, read_visible_facts, rows_of
from memstone.engine.store.draft import text_hash
from memstone.language.language import ChangeRules, Language
from memstone.model.digest import PortraitFact
from memstone.model.fact import FactAction, KnownMemory, New
from memstone.model.instant import Instant
from memstone.model.memory import FoundMemory, Kind, Record
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

_SPARE: Final = 20
"""So many tokens more than the text it stands for may a list of sentences have: facts are wordier than a text."""

_NOT_ALWAYS: Final = frozenset({Visibility.HIDDEN, Visibility.PRIVATE})
_IMPORTED: Final = "imported:"
_SENTENCE_END: Final = re.compile(r"(?<=[.!?\u2026\u3002])\s++|[^\S\n]{0,3}\n\s*+")


@dataclass(frozen=True, slots=True)
class Portrait:
    """An identity as it is shown; ``narrative`` is the text, which need not be the one that is stored."""

    overrides: list[FoundMemory]
    derived: list[FoundMemory]
    row: FoundMemory | None = None
    narrative: str = ""


async def read_portrait(
    tx: Tx, language: Language, owner: Scope, now: Instant, as_of: Instant | None = None
) -> Portrait:
    """Return the identity of an owner (as it was at ``as_of``), within one transaction."""
    rows = await rows_of(tx, owner, now, Kind.OVERRIDE, Kind.DERIVED, Kind.NARRATIVE, as_of=as_of)
    if not rows:
        return Portrait([], [])
    memory = next((one for one in reversed(rows) if one.record.kind == Kind.NARRATIVE), None)
    mirrors = [one for one in rows if one.record.kind == Kind.DERIVED]
    behind = [*_made_of(memory), *(one.record.origin_id or "" for one in mirrors)]
    facts = await read_visible_facts(tx, owner, behind, now, as_of)
    facts = {one: fact for one, fact in facts.items() if visibility_of(fact.data) not in _NOT_ALWAYS}
    return Portrait(
        overrides=[one for one in rows if one.record.kind == Kind.OVERRIDE],
        derived=[one for one in mirrors if is_true(one.record, facts.get(one.record.origin_id or ""))],
        row=memory,
        narrative=_narrative_text(memory.record, facts, language) if memory is not None else "",
    )


def _made_of(memory: FoundMemory | None) -> dict[str, str]:
    made_of = memory.record.data.get("facts") if memory is not None else None
    return made_of if isinstance(made_of, dict) else {}


def _narrative_text(record: Record, facts: dict[str, Record], language: Language) -> str:
    """Return the text that is stored; where something it says was changed or deleted since, what the facts say now."""
    made_of: dict[str, str] = record.data.get("facts") or {}
    if all(one in facts and facts[one].hash == version for one, version in made_of.items()):
        return record.text
    live = [
        fact for one in made_of if (fact := facts.get(one)) is not None and may_be_identity(fact, language.identity)
    ]
    lines, brought = list(map(line_of, live)), imported_of(record)
    told_on = still_told(imported_lines(*brought), lines, language.changes) if brought is not None else []
    return compose_user_text([*told_on, *lines], record.tokens + _SPARE)


def imported_of(narrative: Record) -> tuple[str, Instant] | None:
    """Return the text that another system wrote about the user, and when, if this one goes back to it."""
    brought = narrative.data.get("imported")
    return (str(brought[0]), str(brought[1])) if isinstance(brought, list) and brought else None


def imported_lines(text: str, written_at: Instant) -> list[PortraitFact]:
    """Return the sentences of an imported text, as something the next one may be made of."""
    texts = [one.strip() for one in _SENTENCE_END.split(text) if one.strip()]
    return [PortraitFact(f"{_IMPORTED}{at}", one, text_hash(one), said_at=written_at) for at, one in enumerate(texts)]


def is_imported(line: PortraitFact) -> bool:
    """Return whether a line comes from an imported text, and has no fact behind it."""
    return line.id.startswith(_IMPORTED)


def still_told(lines: Sequence[PortraitFact], facts: Sequence[PortraitFact], rules: ChangeRules) -> list[PortraitFact]:
    """Return the imported sentences that no fact repeats, changes or ends."""
    return [line for line in lines if not any(_can_replace_line(fact, line, rules) for fact in facts)]


def _can_replace_line(fact: PortraitFact, line: PortraitFact, rules: ChangeRules) -> bool:
    text = rules.in_third_person(line.text) or line.text  # such texts leave out whom they are about: "Lives in Risør."
    return rules.decide(New(fact.text), [KnownMemory(text)]).action is not FactAction.ADD


def line_of(fact: Record) -> PortraitFact:
    """Return a fact as a text about the user may tell it."""
    category = str(fact.data.get("category", ""))
    return PortraitFact(fact.id, fact.text, fact.hash, category, fact.salience, fact.updated_at, fact.occurred_at)
