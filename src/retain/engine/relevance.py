"""What of a search's hits has to do with the question: all, some, or "nothing relevant"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from retain.core.abstain import (
    BY_MEANING,
    BY_WORDS,
    RATE,
    UNHEARD,
    chance,
    checked_rate,
    familiarity,
    rows_told,
    vocabulary,
    worth_showing,
)
from retain.engine.calibrate import TEXT, closeness, null_for, text_closeness
from retain.engine.parts import Parts
from retain.engine.ranking import Hit
from retain.errors import RetainError
from retain.model.scope import Scope

_DEPTH = 4


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


async def relevance(parts: Parts, scope: Scope, question: str, hits: Sequence[Hit], rate: float = RATE) -> Relevance:
    """The hits worth showing, such that of unrelated questions only the share ``rate`` is shown anything."""
    checked_rate(rate)
    if not hits:
        return Relevance([], "nothing was found")
    if not any(scored.parts.semantic is not None or scored.parts.keyword is not None for _, scored in hits):
        return Relevance(list(hits), "these were not chosen by what they say")
    try:
        return await _judged(parts, scope, question, hits, rate)
    except RetainError as error:
        note = {"step": "relevance", **error.as_dict()}
        return Relevance(list(hits), "what unrelated questions score is not known", note=note)


async def _judged(parts: Parts, scope: Scope, question: str, hits: Sequence[Hit], rate: float) -> Relevance:
    cosines = {scored.seq: scored.parts.semantic for _, scored in hits if scored.parts.semantic is not None}
    signature = await parts.embedding.signature() if cosines else TEXT
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
