"""Write the entities of a memory, in the transaction that writes the memory.

The names are found before (``note_of`` is pure), and a memory that names nothing costs no statement.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from memstone.engine.store.draft import Draft
from memstone.engine.store.turns import Turn
from memstone.language.language import NameReader
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.memory import (
    INDEXED,
    USER,
    Entity,
    EntityFound,
    EntityRow,
    EntityType,
    Layer,
    Link,
    Record,
    Relation,
    RelationRow,
    owner_of,
)
from memstone.model.scope import Scope
from memstone.ports.io import Io
from memstone.ports.ledger import Tx

_LAYERS: Final = frozenset({Layer.FACT, Layer.TURN, Layer.EPISODE})


class Note(NamedTuple):
    """What a version of a memory names, and in whose graph that stands."""

    record: Record
    owners: tuple[Scope, ...]
    found: EntityFound


def note_of(record: Record, links: Sequence[Link], names: NameReader, found: EntityFound | None = None) -> Note | None:
    """Return what to write about a version, or None when there is nothing.

    ``found`` is looked for unless it is given.
    """
    if record.layer not in _LAYERS or record.status not in INDEXED:
        return None
    named = names.find(record.text, speaker_of(record)) if found is None else found
    if not named.entities and not named.possible:
        return None
    return Note(record, tuple(dict.fromkeys(owner_of(link.scope) for link in links)), named)


def speaker_of(record: Record) -> str:
    """Return who "I" is in a memory's text: the user, by name where one is known; '' in what an assistant said."""
    return _speaker_from_role(record.source_role or USER, record.data)


def _speaker_from_role(role: str, data: Mapping[str, Any]) -> str:
    if role != USER:
        return ""
    speaker = str(data.get("speaker") or USER)
    return USER if speaker == role else speaker


async def find_names(io: Io, turns: Iterable[Turn], names: NameReader) -> None:
    """Note in new turns what they name, so that no transaction is open while long texts are read."""
    for turn in turns:
        if not turn.place and turn.draft.named is None:
            speaker = _speaker_from_role(turn.message.role, turn.draft.data or {})
            turn.draft.named = await io.compute(partial(names.find, turn.text, speaker))


async def name_drafts(io: Io, drafts: Sequence[Draft], names: NameReader) -> None:
    """Note in drafts what they name, so that no transaction is open meanwhile."""
    unread = [draft for draft in drafts if draft.named is None and draft.layer in _LAYERS]
    speakers = [_speaker_from_role(one.role, {"speaker": one.speaker, **(one.data or {})}) for one in unread]
    pairs = list(zip(unread, speakers, strict=True))
    if pairs:
        found = await io.compute(lambda: [names.find(draft.text, speaker) for draft, speaker in pairs])
        for draft, named in zip(unread, found, strict=True):
            draft.named = named


async def write_mentions(tx: Tx, notes: Iterable[Note | None], now: Instant) -> None:
    """Write what versions of one tenant name, for all of them together: one statement for each table.

    The versions are stored already. To call it again with the same notes changes nothing.
    """
    wanted = [note for note in notes if note is not None]
    if not wanted:
        return
    graph = _Graph(now)
    for owner in dict.fromkeys(owner for note in wanted for owner in note.owners):
        own = [note.found for note in wanted if owner in note.owners]
        forms = dict.fromkeys(form for one in own for form in (*(named.norm for named in one.entities), *one.possible))
        graph.take(owner, await tx.entities.find_by_norms(owner, list(forms)))
    for note in wanted:
        for owner in note.owners:
            graph.add(owner, note)
    await graph.write(tx, wanted[0].record.tenant_id)


class _Graph:
    """The rows of a write, collected."""

    def __init__(self, now: Instant) -> None:
        self._now = now
        self._rows: dict[tuple[Scope, str], list[EntityRow]] = {}
        self._changed: dict[str, EntityRow] = {}
        self._mentions: list[tuple[str, int]] = []
        self._relations: list[RelationRow] = []

    def take(self, owner: Scope, rows: Iterable[EntityRow]) -> None:
        """Take entities that are stored."""
        for row in rows:
            self._rows.setdefault((owner, row.norm), []).append(row)

    def add(self, owner: Scope, note: Note) -> None:
        """Add what one version names, as entities of one owner."""
        seq = note.record.seq
        ids = {one.norm: self._resolve(owner, one) for one in note.found.entities}
        # The user is in every memory; a mention would say nothing and cost a row each time.
        self._mentions += [(entity, seq) for form, entity in ids.items() if form != USER]
        known = (self._rows.get((owner, form)) for form in note.found.possible if form not in ids and form != USER)
        self._mentions += [(same[0].id, seq) for same in known if same]
        for one in note.found.relations:
            self._relations.append(_relation_row(one, ids[one.source], ids[one.target], note.record, self._now))

    def _resolve(self, owner: Scope, entity: Entity) -> str:
        """Return the id of an entity: a name whose sort is not told here means what it meant before."""
        same = self._rows.setdefault((owner, entity.norm), [])
        row = next((row for row in same if row.type == entity.type), None)
        if row is None and same and entity.type == EntityType.CONCEPT:
            row = same[0]
        if row is None:
            row = next((row for row in same if row.type == EntityType.CONCEPT), None)
            return self._put(same, row, owner, entity)
        if entity.description and entity.description != row.description:
            return self._put(same, row, owner, replace(entity, type=row.type))
        return row.id

    def _put(self, same: list[EntityRow], old: EntityRow | None, owner: Scope, entity: Entity) -> str:
        described = entity.description or (old.description if old else None)
        name, made = (old.name, old.id) if old else (entity.name, new_id())
        row = EntityRow(made, owner, name, entity.norm, str(entity.type), described, self._now)
        if old is not None:
            same.remove(old)
        same.append(row)
        self._changed[row.id] = row
        return row.id

    async def write(self, tx: Tx, tenant_id: str) -> None:
        """Write everything that was collected."""
        if self._changed:
            await tx.entities.put(self._changed.values())
        if self._mentions:
            await tx.entities.mention(tenant_id, self._mentions)
        if self._relations:
            await tx.entities.relate(tenant_id, self._relations)


def _relation_row(relation: Relation, source: str, target: str, record: Record, now: Instant) -> RelationRow:
    """Return the row of an edge as one version states it; the id follows from that, so that it is written once."""
    stated = f"{source} {relation.relation} {target} {record.seq}"
    made = hashlib.blake2b(stated.encode(), digest_size=16).hexdigest()
    began = record.valid_from
    ended = began if relation.ended else None
    return RelationRow(made, source, target, relation.relation, began, ended, record.seq, now, relation.confidence)
