"""What makes a memory the same as another one, worked out again for another holder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from memstone.engine.parts import Parts
from memstone.engine.storing.draft import dedupe_value
from memstone.engine.storing.revise import dedupe_of
from memstone.engine.storing.turns import turn_dedupe
from memstone.model.memory import Layer, Link, Record
from memstone.model.scope import Scope

_REPEATED: Final = 8
"""So often the same words at the same time are told apart."""


def claim_in(parts: Parts, record: Record, known: Link | None, link: Link) -> str | None:
    """What a memory is known by for the holder of a link, made the way it was made for the one that is known.

    A turn is known by its words, and by its time only if the caller gave one: which of the two it was, the value itself
    tells. Without one to compare with, it is what a new memory would have.
    """
    if known is not None and known.dedupe is None:
        return None
    was = () if known is None else _ways(parts, record, known)
    for before, now in zip(was, _ways(parts, record, link), strict=False):
        if known is not None and before == known.dedupe:
            return now
    return None if record.layer == Layer.TURN else dedupe_of(parts, link, record)


def _ways(parts: Parts, record: Record, link: Link) -> Iterator[str | None]:
    """All the values a memory may have got, always in the same order."""
    who, fields = link.scope, parts.policy.dedupe_scope
    if record.layer == Layer.TURN:
        yield from _turn_ways(record, who)
        return
    yield dedupe_of(parts, link, record)
    yield dedupe_value(who, parts.policy.known_scope, speaker="", key=None, text=record.text)
    yield dedupe_value(who, fields, speaker="", key=None, text=record.text)
    yield dedupe_value(who, fields, speaker="", key=record.key, text=record.text)


def _turn_ways(record: Record, who: Scope) -> Iterator[str]:
    speaker = str(record.data.get("speaker") or record.source_role or "")
    for when in (None, record.occurred_at):
        for repeated in range(_REPEATED):
            yield turn_dedupe(who, speaker, record.text, when, repeated)
