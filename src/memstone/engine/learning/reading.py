"""What a user says, read together with the memories near it, before any transaction is open.

The built-in model is asked once for a message of a few lines, with the few memories that are nearest to what it states;
of a longer one, once for each of the statements that are near something. Where another model embeds, or a language
model decides, nothing is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from memstone.core.changes.judge import FITTED_TO
from memstone.core.changes.reader import is_read, is_told_beside, reading, replaced
from memstone.core.rules.named import begins_with
from memstone.core.rules.own import own_values
from memstone.engine.learning.relate import Fact, Related, related
from memstone.engine.parts import Parts
from memstone.model.scope import Scope
from memstone.ports.list_reader import ListReader

TASK: Final = "changes"

MOST_MEMORIES: Final = 6
NEAR: Final = 0.15
"""A memory that is less near has nothing to do with a statement."""

NEAR_IN_A_TALE: Final = 0.45
MOST_OF_A_TALE: Final = 3
"""Of a long message so many statements are read, each by itself, and only those that are as near as this."""

FEW_WORDS: Final = 50

Around: TypeAlias = dict[int, list[Related]]
"""The memories near each fact, by the fact's identity."""


def reader_of(parts: Parts) -> ListReader | None:
    """What reads changes here, if anything does; a language model that is configured decides by itself."""
    embedder = parts.embedding.embedder
    if parts.llm is not None or not isinstance(embedder, ListReader):
        return None
    return embedder if embedder.reads_lists(TASK) else None


async def read_changes(parts: Parts, scope: Scope, facts: Sequence[Fact], signature: str) -> None:
    """Note on every fact what the model makes of the message it was said in."""
    reader = reader_of(parts)
    asked = [fact for fact in facts if _is_open(fact)]
    if reader is None or signature != FITTED_TO or not asked:
        return
    near = await related(parts, scope, asked, signature)
    around = {id(fact): found for fact, found in zip(asked, near, strict=True)}
    for message, told in _by_message(asked, around):
        memories = _nearest([around[id(fact)] for fact in told], told[0].who)
        if memories:
            await _read(reader, message, told, memories, around)


def _is_open(fact: Fact) -> bool:
    """Whether a reading counts: not for what a user asks to forget, or fills a slot of the configuration with."""
    if fact.candidate.forget or fact.proposals or fact.turn.message.role != "user":
        return False
    return bool(fact.near) and not own_values(fact.draft.text, fact.own)


def _by_message(facts: Sequence[Fact], around: Around) -> Iterator[tuple[str, list[Fact]]]:
    """What is read at once: a short message with all it states, or one sentence of a long one."""
    turns: dict[int, list[Fact]] = {}
    for fact in facts:
        turns.setdefault(id(fact.turn), []).append(fact)
    for told in turns.values():
        text = told[0].message
        if len(text.split()) <= FEW_WORDS:
            yield text, told
            continue
        nearest = sorted(told, key=lambda fact: -_nearness(around[id(fact)]))[:MOST_OF_A_TALE]
        for fact in nearest:
            if _nearness(around[id(fact)]) >= NEAR_IN_A_TALE and not fact.candidate.whole:
                yield text[fact.candidate.start : fact.candidate.end], [fact]


def _nearness(found: Sequence[Related]) -> float:
    return max((one.cosine for one in found), default=0.0)


def _nearest(found: Sequence[Sequence[Related]], speaker: str) -> list[Related]:
    """The memories nearest to any of the statements; among people with names only those about the one who speaks."""
    best: dict[int, Related] = {}
    read = (one for near in found for one in near if is_read(one.text))
    for one in (one for one in read if not speaker or begins_with(one.text, speaker)):
        if one.seq not in best or one.cosine > best[one.seq].cosine:
            best[one.seq] = one
    nearest = sorted(best.values(), key=lambda one: -one.cosine)[:MOST_MEMORIES]
    return [one for one in nearest if one.cosine >= NEAR]


async def _read(
    reader: ListReader, message: str, told: Sequence[Fact], memories: Sequence[Related], around: Around
) -> None:
    message = _about_the_user(message, told[0].who)
    texts = {one.seq: _about_the_user(one.text, told[0].who) for one in memories}
    rows = await reader.read_list(message, list(texts.values()), TASK)
    read = reading(message, texts, rows.tolist())
    taken = replaced(read)
    for fact in told:
        fact.read = read
    if taken is not None and not _is_beside(taker := _taker(told, taken, around), texts[taken]):
        taker.takes = taken


def _is_beside(fact: Fact, memory: str) -> bool:
    """Whether another part of the message is what takes the place of a memory."""
    one, said = fact.candidate, fact.turn.text
    return is_told_beside(fact.draft.text, f"{said[: one.start]} {said[one.end :]}", memory)


def _about_the_user(text: str, speaker: str) -> str:
    """The model knows memories about "User", whatever the name of the one who speaks."""
    return re.sub(rf"\b{re.escape(speaker)}\b", "User", text) if speaker else text


def _taker(told: Sequence[Fact], taken: int, around: Around) -> Fact:
    """The statement that takes the place of a memory: one that can be stored, and of these the nearest to it."""
    stored = [fact for fact in told if fact.adds] or list(told)
    near = {id(fact): next((one.cosine for one in around[id(fact)] if one.seq == taken), -1.0) for fact in stored}
    return max(stored, key=lambda fact: near[id(fact)])
