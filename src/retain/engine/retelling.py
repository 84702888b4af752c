"""What an episode may still tell: nothing of what a person deleted since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from retain.model.memory import Layer, Record
from retain.ports.ledger import Tx


async def retold(tx: Tx, records: Sequence[Record]) -> dict[str, Record | None]:
    """The episodes that tell of something deleted, by id, as they may be shown; None when nothing is left of one.

    Made of sentences that were said, an episode loses those of the turns in question. One that a model worded tells
    nobody which of its words they are, and is not shown.
    """
    told = [record for record in records if record.layer == Layer.EPISODE]
    turns = list(dict.fromkeys(turn for record in told for turn in _texts(record.data.get("turns"))))
    if not turns:
        return {}
    hidden = await tx.suppressed.turns(told[0].tenant_id, turns)
    touched = [record for record in told if not hidden.isdisjoint(_texts(record.data.get("turns")))]
    said = [turn.text for one in hidden if (turn := await tx.memories.current(told[0].tenant_id, one)) is not None]
    return {record.id: _without(record, said) for record in touched}


def _without(record: Record, said: Sequence[str]) -> Record | None:
    if record.model is not None:
        return None
    words = [" ".join(text.split()) for text in said]
    lines = [line for line in record.text.splitlines() if not _is_from(line, words)]
    decisions = [line for line in _texts(record.data.get("decisions")) if not _is_from(line, words)]
    if not lines:
        return None
    return replace(record, text="\n".join(lines), data={**record.data, "decisions": decisions})


def _is_from(line: str, said: Sequence[str]) -> bool:
    """Whether a line, which begins with its speaker, was said there."""
    words = line.partition(": ")[2] or line
    return any(words in text for text in said)


def _texts(held: Any) -> list[str]:
    return [str(one) for one in held] if isinstance(held, list) else []
