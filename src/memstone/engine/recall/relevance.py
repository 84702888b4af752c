"""What of a search's hits has to do with the question: all, some, or "nothing relevant".

Of the built-in model's vectors it is judged by fitted weights (``memstone.engine.recall.judge``); of others, and
without any, by what unrelated questions reach in the same store (``memstone.engine.recall.calibrate``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from memstone.core.ranking.abstain import (
    BY_MEANING,
    BY_WORDS,
    RATE,
    UNHEARD,
    WORTH_SHOWING,
    chance,
    checked_rate,
    familiarity,
    is_judged,
    rows_told,
    vocabulary,
    worth_showing,
)
from memstone.core.text.analyze import terms
from memstone.engine.parts import Parts
from memstone.engine.recall import judge
from memstone.engine.recall.calibrate import TEXT, closeness, null_for, text_closeness
from memstone.engine.recall.ranking import Hit
from memstone.errors import MemstoneError
from memstone.model.memory import Origin, Vector
from memstone.model.scope import Scope

_DEPTH = 4
_NAMELESS = frozenset({"", *Origin})
_UNREAD: Mapping[int, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Relevance:
    """Which hits are worth showing, and why.

    ``chance`` is the share of unrelated questions that come as close to something in this store as this one does; None
    when that could not be told, and then all hits are kept. ``note`` says what could not serve.
    """

    kept: list[Hit]
    reason: str
    chance: float | None = None
    note: dict[str, Any] | None = None

    @property
    def nothing(self) -> bool:
        """Whether memory has nothing to say to the question."""
        return not self.kept


async def relevance(
    parts: Parts,
    scope: Scope,
    question: str,
    hits: Sequence[Hit],
    rate: float = RATE,
    words: Mapping[int, bytes] = _UNREAD,
) -> Relevance:
    """The hits worth showing, such that of unrelated questions only the share ``rate`` is shown anything.

    ``words`` are vectors of words, by number, that the search has read already.
    """
    checked_rate(rate)
    if not hits:
        return Relevance([], "nothing was found")
    if not any(scored.parts.semantic is not None or scored.parts.keyword is not None for _, scored in hits):
        return Relevance(list(hits), "these were not chosen by what they say")
    try:
        return await _judged(parts, scope, question, hits, rate, words)
    except MemstoneError as error:
        note = {"step": "relevance", **error.as_dict()}
        return Relevance(list(hits), "what unrelated questions score is not known", note=note)


async def _judged(
    parts: Parts, scope: Scope, question: str, hits: Sequence[Hit], rate: float, words: Mapping[int, bytes]
) -> Relevance:
    has_vectors = any(scored.parts.semantic is not None for _, scored in hits)
    signature = await parts.embedding.signature() if has_vectors else TEXT
    if scope.user_id and signature == judge.SIGNATURE and is_judged(question) and not _spoken(hits):
        asked = await asked_of(parts, scope, question)
        told = await told_of(parts, judge.SIGNATURE, hits[: judge.LOOKED_AT], words)
        return await _by_weights(parts, asked, told, hits, rate)
    return await _by_comparison(parts, scope, question, hits, rate, signature)


def _spoken(hits: Sequence[Hit]) -> bool:
    """Whether these are turns of people by name: the weights know what is told about one user."""
    speakers = (str(found.record.data.get("speaker", "")) for found, _ in hits[: judge.LOOKED_AT])
    return any(speaker not in _NAMELESS for speaker in speakers)


# --- by fitted weights ------------------------------------------------------------------------------------------------


async def _by_weights(
    parts: Parts, asked: judge.Asked, told: Mapping[int, judge.Told], hits: Sequence[Hit], rate: float
) -> Relevance:
    """The best hits say whether there is anything; one farther down stays when it is as near as one that stays."""
    if not told:
        return Relevance(list(hits), "these have not been compared by meaning yet")
    found, levels = await _with_read(parts, asked, list(told.values()))
    values = dict(zip(told, found.tolist(), strict=True))
    odds = judge.chance(max(values.values()), levels)
    if odds >= rate:
        return Relevance([], _why(odds, rate), odds)
    least = min(judge.needed(WORTH_SHOWING, levels), judge.needed(rate, levels))
    nearest = min((told[seq].cosine for seq, value in values.items() if value >= least), default=math.inf)
    kept = [hit for hit in hits if values.get(hit[1].seq, least if _cosine(hit) >= nearest else -math.inf) >= least]
    return Relevance(kept, _why(odds, rate), odds)


async def _with_read(parts: Parts, asked: judge.Asked, told: Sequence[judge.Told]) -> tuple[Any, Any]:
    """The value of each hit and the levels they belong to; the best hits are read where that can decide."""
    found, reader = judge.values(asked, told, rows_told(asked.rarity)), parts.reader
    if reader is None or not reader.reads(judge.TASK):
        return found, judge.weights().levels
    read: dict[int, float] = {}
    try:
        while (place := judge.to_read(found, read)) is not None:
            rows = await reader.read([(asked.text, told[place].text)], judge.TASK)
            read[place] = float(rows[0][0])
    except MemstoneError:
        return found, judge.weights().levels
    return judge.with_read(found, read), judge.weights().levels_read


def _cosine(hit: Hit) -> float:
    return hit[1].parts.semantic or 0.0


async def asked_of(parts: Parts, scope: Scope, question: str) -> judge.Asked:
    """A question as the weights want it; its vector is at hand from the search."""
    vector = (await parts.embedding.many([question]))[0]
    if not isinstance(vector, Vector):
        raise vector
    words = parts.embedding.words(question)
    wanted = {*vocabulary(question), *(term for word in words for term in terms(word)), UNHEARD}
    around = await parts.texts.around(scope, (), list(wanted))
    return judge.Asked(question, vector, words, vector.words, around.rarity)


async def told_of(
    parts: Parts, signature: str, hits: Sequence[Hit], known: Mapping[int, bytes] = _UNREAD
) -> dict[int, judge.Told]:
    """Hits as the weights want them, by number; without those whose words have no vectors."""
    words = {scored.seq: known.get(scored.seq, b"") for _, scored in hits}
    if missing := [seq for seq, given in words.items() if not given]:
        words.update(await parts.ledger.peek(lambda tx: tx.vectors.words_of(parts.tenant_id, signature, missing)))
    return {
        hit[1].seq: judge.Told(hit[0].record.text, _cosine(hit), words[hit[1].seq]) for hit in hits if words[hit[1].seq]
    }


# --- by comparison with unrelated questions ---------------------------------------------------------------------------


async def _by_comparison(
    parts: Parts, scope: Scope, question: str, hits: Sequence[Hit], rate: float, signature: str
) -> Relevance:
    cosines = {scored.seq: scored.parts.semantic for _, scored in hits if scored.parts.semantic is not None}
    rarity = (await parts.texts.around(scope, (), [*vocabulary(question), UNHEARD])).rarity
    rows = rows_told(rarity)
    null = await null_for(parts, scope, signature, rows)
    if null is None:
        return Relevance(list(hits), "there is nothing to compare with")
    # Of several users' words only the rarest are told, which is not enough to know that a name was never mentioned.
    weights, named = (BY_MEANING if cosines else BY_WORDS), bool(scope.user_id)
    own = familiarity(question, rarity, weights, strangers=named)
    if cosines:
        close = await closeness(parts, signature, null, cosines)
    else:
        close = await text_closeness(parts, scope, question, _DEPTH * len(hits))
    unsaid = null.middle_at(rows)  # a hit nothing is known of neither makes a question relevant nor is left out
    values = [own + close[scored.seq] if scored.seq in close else unsaid for _, scored in hits]
    shown = worth_showing(values, null, rate, rows)
    odds = chance(max(values), null, rows)
    return Relevance([hit for hit, is_shown in zip(hits, shown, strict=True) if is_shown], _why(odds, rate), odds)


def _why(odds: float, rate: float) -> str:
    if odds >= rate:
        return f"nothing in memory is closer to this than {1 - rate:.0%} of unrelated questions are"
    return f"closer to something in memory than {min(0.999, 1 - odds):.1%} of unrelated questions are"
