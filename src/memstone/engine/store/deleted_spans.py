"""Find the words of a conversation that state something deleted, and leave them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from memstone.core.checks.filters import where_current, where_in_scope
from memstone.engine.store.mention import note_of, write_mentions
from memstone.language.language import Language
from memstone.language.text.statements import blank_spans
from memstone.model.instant import Instant
from memstone.model.memory import FoundMemory, Layer, Record, Status
from memstone.model.query import And, Condition, Op, Where
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.core.ranking.fusion import ScoredCandidate

_MOST: Final = 1_000
_ALL: Final = (0, 1 << 62)
_TURNS: Final = Condition("layer", Op.EQ, str(Layer.TURN))
_LISTS: Final = ("topics", "entities", "decisions", "action_items")


async def hide_deleted_in_episodes(tx: Tx, records: Sequence[Record]) -> dict[str, Record | None]:
    """Return the episodes that tell of something deleted, by id, as they may be shown; None if nothing is left of one.

    Made of sentences that were said, an episode loses those in question. One that a model worded tells nobody which of
    its words they are, and is not shown.
    """
    lines = [record for record in records if record.layer == Layer.EPISODE]
    turns = list(dict.fromkeys(turn for record in lines for turn in _as_text_list(record.data.get("turns"))))
    hidden = await tx.suppressions.turns(lines[0].tenant_id, turns) if turns else set[str]()
    output: dict[str, Record | None] = {}
    for record in lines:
        own = _as_text_list(record.data.get("turns"))
        if not own:
            output |= await _of_unkept(tx, record)
        elif not hidden.isdisjoint(own):
            output[record.id] = (
                None
                if record.model is not None
                else _keep_visible_lines(record, await _read_visible_turn_texts(tx, record, hidden))
            )
    return output


async def _read_visible_turn_texts(tx: Tx, record: Record, hidden: set[str]) -> list[str]:
    """Return what was said in an episode, without what is hidden of it."""
    turns = _as_text_list(record.data.get("turns"))
    found = await read_hidden_spans(tx, record.tenant_id, turns)
    message = And(
        (Condition("tenant_id", Op.EQ, record.tenant_id), Condition("id", Op.IN, tuple(turns)), where_current())
    )
    records = [one.record for one in await tx.memories.find(message, limit=len(turns))]
    visible = [turn for turn in records if turn.id in found or turn.id not in hidden]
    return [" ".join(blank_spans(turn.text, found.get(turn.id, ())).split()) for turn in visible]


def _keep_visible_lines(record: Record, texts: Sequence[str]) -> Record | None:
    """Return an episode with only those of its lines that still stand there."""
    lines = [line for line in record.text.splitlines() if _is_from(line, texts)]
    if not lines:
        return None
    folded = " ".join(texts).casefold()
    data = dict(record.data)
    for name in ("decisions", "action_items"):
        data[name] = [one for one in _as_text_list(record.data.get(name)) if _is_from(one, texts)]
    for name in ("topics", "entities"):
        data[name] = [one for one in _as_text_list(record.data.get(name)) if one.casefold() in folded]
    return replace(record, text="\n".join(lines), data=data)


async def _of_unkept(tx: Tx, record: Record) -> dict[str, Record | None]:
    """Return the same for a talk of which the words were not kept: its facts have quotes."""
    facts = [await tx.memories.last(record.tenant_id, one) for one in _as_text_list(record.data.get("facts"))]
    gone = [one for one in facts if one is not None and one.status == Status.DELETED]
    if not gone:
        return {}
    quotes = [quote for one in gone if (quote := str((one.data.get("evidence") or {}).get("quote") or ""))]
    if record.model is not None or len(quotes) < len(gone):
        return {record.id: None}
    return {record.id: remove_quoted_lines(record, quotes)}


def remove_quoted_lines(record: Record, quotes: Sequence[str]) -> Record | None:
    """Return an episode without the lines that hold one of these words, and without the lists; None without a line."""
    words = [" ".join(quote.split()) for quote in quotes]
    lines = [line for line in record.text.splitlines() if not any(one in line for one in words)]
    empty = {name: list[str]() for name in _LISTS}
    return replace(record, text="\n".join(lines), data={**record.data, **empty}) if lines else None


async def hide_deleted_in_hits(
    tx: Tx, hits: Sequence[tuple[FoundMemory, ScoredCandidate]]
) -> list[tuple[FoundMemory, ScoredCandidate]]:
    """Return the hits of a search without what was deleted of them."""
    answer = await hide_deleted_in_episodes(tx, [found.record for found, _ in hits])
    records = ((answer.get(found.record.id, found.record), found, scored) for found, scored in hits)
    return [(replace(found, record=record), scored) for record, found, scored in records if record is not None]


# --- the names in it --------------------------------------------------------------------------------------------------


async def evidence_of(tx: Tx, record: Record) -> set[str]:
    """Return the turns that a memory was learned from, in all its versions."""
    found = {record.origin_id}
    if record.version > 1:
        same = And((Condition("tenant_id", Op.EQ, record.tenant_id), Condition("id", Op.EQ, record.id)))
        found |= {one.record.origin_id for one in await tx.memories.find(same, limit=_MOST)}
    return {one for one in found if one}


async def as_told(tx: Tx, record: Record) -> Record | None:
    """Return a turn or an episode without what was deleted of it; None if empty."""
    if record.layer == Layer.EPISODE:
        return (await hide_deleted_in_episodes(tx, [record])).get(record.id, record)
    if record.layer != Layer.TURN:
        return record
    hidden = (await read_hidden_spans(tx, record.tenant_id, [record.id])).get(record.id, ())
    return replace(record, text=blank_spans(record.text, hidden)) if hidden else record


async def name_again(tx: Tx, language: Language, tenant_id: str, turn_ids: Iterable[str], now: Instant) -> None:
    """Let turns, and the episodes of their talks, name whom and what they name where nobody deleted it."""
    ids = tuple(sorted(turn_ids))
    if not ids:
        return
    tenant = Condition("tenant_id", Op.EQ, tenant_id)
    turns = await tx.memories.find(And((tenant, Condition("id", Op.IN, ids), where_current(), _TURNS)), limit=len(ids))
    hidden = await read_hidden_spans(tx, tenant_id, [turn.record.id for turn in turns])
    for turn in turns:
        record = replace(turn.record, text=blank_spans(turn.record.text, hidden.get(turn.record.id, ())))
        await _rewrite_mentions(tx, language, turn.record, record, now)
    for scope in {turn.link.scope for turn in turns if turn.link.scope.run_id}:
        talk: Where = And((where_in_scope(scope), Condition("layer", Op.EQ, str(Layer.EPISODE)), where_current()))
        episodes = [one.record for one in await tx.memories.find(talk, limit=_MOST)]
        for record_id, shown_episode in (await hide_deleted_in_episodes(tx, episodes)).items():
            await _rewrite_mentions(
                tx, language, next(one for one in episodes if one.id == record_id), shown_episode, now
            )


async def _rewrite_mentions(tx: Tx, language: Language, record: Record, visible: Record | None, now: Instant) -> None:
    await tx.entities.leave(record.tenant_id, [record.seq])
    if visible is not None:
        links = await tx.links.of(record.tenant_id, record.seq)
        await write_mentions(tx, [note_of(visible, links, language.names)], now)


# --- the words themselves ---------------------------------------------------------------------------------------------


async def read_hidden_spans(tx: Tx, tenant_id: str, turn_ids: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    """Return which words of these turns are the evidence of something deleted; of one that does not say which, all are.

    A version that somebody wrote by hand does not say it; that which it took the place of does.
    """
    answer: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for turn_id, memory_id, data in await tx.suppressions.evidence(tenant_id, turn_ids) if turn_ids else ():
        answer.setdefault((turn_id, memory_id), set()).update(_evidence_spans(data))
    found: dict[str, list[tuple[int, int]]] = {}
    for (turn_id, _), own in answer.items():
        found.setdefault(turn_id, []).extend(sorted(own) or [_ALL])
    return found


def _evidence_spans(data: Mapping[str, Any]) -> list[tuple[int, int]]:
    answer = data.get("evidence")
    if not isinstance(answer, Mapping) or not answer.get("end"):
        return []
    return [(int(answer.get("start") or 0), int(answer["end"]))]


def _is_from(line: str, texts: Sequence[str]) -> bool:
    """Return whether a line, which may begin with its speaker, was said there."""
    words = line.partition(": ")[2] or line
    return any(words in text or line in text for text in texts)


def _as_text_list(current: Any) -> list[str]:
    return [str(one) for one in current] if isinstance(current, list) else []
