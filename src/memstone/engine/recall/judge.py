"""Judge with fitted weights whether a question is about something in memory.

A small network looks at the question (its vector and how it is put) and at each of the best hits: how near it is, how
near its words are to those of the question, and whether it has what is asked for. Its value says how likely the hit
belongs to the question; against how it is distributed for unrelated questions, it becomes a rate of error.

Where these values leave it open, the best of the hits are read together with the question (``memstone.ports.models``),
and what comes of it is added to their values.

The weights belong to the vectors of the built-in model and to English. Everything else is judged by comparing with
unrelated questions (``memstone.engine.recall.calibrate``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from memstone.core.ranking.abstain import (
    ASKED_FOR,
    BY_MEANING,
    BY_WORDS,
    RATE,
    WORTH_SHOWING,
    checked_rate,
    familiarity_words,
    rows_told,
    score_familiarity,
    unrelated_share,
    word_weights,
    worth_showing,
)
from memstone.engine.recall.calibrate import TEXT, measure_closeness, null_for, text_closeness
from memstone.engine.recall.ranking import Hit
from memstone.engine.runtime import Runtime
from memstone.errors import MemstoneError
from memstone.language.language import RelevanceCues
from memstone.language.models import FOLDER
from memstone.language.text.bm25 import UNHEARD
from memstone.language.text.tokens import document_terms
from memstone.model.memory import Origin, Vector
from memstone.model.scope import Scope
from memstone.products import multiply_matrices

if TYPE_CHECKING:
    from memstone.results import Degradation

# --- whether a question is about something in memory, judged by weights fitted to questions of both -------------------


SIGNATURE: Final = "local:all-minilm-l6-v2-int8:384"
"""Whose vectors the weights were fitted to."""

LOOKED_AT: Final = 10
"""How many of the best hits are judged."""

TASK: Final = "relevance"
"""What a reader is asked for: one number, the more the likelier the second text answers the first."""

READ: Final = 3
"""How many hits are read at most, one after another."""

WIDTH: Final = 128
_ONE: Final = 127.0**2
_ALIKE: Final = (0.5, 0.65)
_USUAL_ROWS: Final = 300
_LEAST_SIZE, _MOST_SIZE = -1.5, 3.5
_FAR: Final = 500.0  # beyond it an exponential is too large to hold


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A question: its vector, its words with their vectors, and how much each word tells in this scope.

    ``cues`` says how it is put, and what memories have that it may ask for.
    """

    text: str
    vector: bytes
    words: list[str]
    word_vectors: bytes
    rarity: Mapping[str, float]
    cues: RelevanceCues


@dataclass(frozen=True, slots=True)
class JudgedMemory:
    """A memory that was found: its text, its cosine with the question, the vectors of its words."""

    text: str
    cosine: float
    word_vectors: bytes


@dataclass(frozen=True, slots=True)
class JudgeWeights:
    """The network: what is subtracted and divided first, a linear part, a hidden layer, and the question's vector.

    ``levels`` holds, for shares of unrelated questions from large to small, the value that this share of them exceeds;
    ``levels_read`` the same where hits are read. Of what was read ``share`` counts; what was not read is taken for
    ``guess``, a start and a slope over its value. Between the two values of ``doubt`` hits are read, until one of them
    has ``enough``.
    """

    middle: Any
    spread: Any
    linear: Any
    bias: float
    inner: Any
    inner_bias: Any
    outer: Any
    meaning: Any
    size: float
    shares: Any
    levels: Any
    levels_read: Any
    share: float
    guess: Any
    doubt: Any
    enough: float


@cache
def load_weights() -> JudgeWeights:
    """Return the weights that are shipped; read once."""
    body: dict[str, Any] = json.loads((FOLDER / "relevance.json").read_text(encoding="utf-8"))
    return JudgeWeights(**{name: _to_array(value) for name, value in body.items()})


def _to_array(value: Any) -> Any:
    return np.array(value, np.float32) if isinstance(value, list) else value


def score_memories(
    asked: JudgedQuestion, memories: Sequence[JudgedMemory], rows: int, by: JudgeWeights | None = None
) -> Any:
    """Return how much each memory belongs to the question, in a scope of so many."""
    by = by or load_weights()
    value = (build_features(asked, memories) - by.middle) / by.spread
    own = float(np.frombuffer(asked.vector, "<f4") @ by.meaning) + by.size * size_of(rows) + by.bias
    return value @ by.linear + np.maximum(multiply_matrices(value, by.inner) + by.inner_bias, 0.0) @ by.outer + own


def size_of(rows: int) -> float:
    """Return the logarithm of a scope's size against the usual one: where there is more, more comes near by chance."""
    return min(_MOST_SIZE, max(_LEAST_SIZE, math.log(max(1, rows) / _USUAL_ROWS)))


def to_read(found: Any, read: Mapping[int, float], by: JudgeWeights | None = None) -> int | None:
    """Return the place of the hit to read next, the best first; None where the values, or what was read, are clear."""
    by = by or load_weights()
    low, high = by.doubt
    if len(read) == min(READ, len(found)) or not low <= found.max() <= high:
        return None
    if any(found[place] + by.share * value > by.enough for place, value in read.items()):
        return None
    return int(np.argsort(-found, kind="stable")[len(read)])


def with_read(found: Any, read: Mapping[int, float], by: JudgeWeights | None = None) -> Any:
    """Return the values of hits with what came of reading some of them."""
    by = by or load_weights()
    start, slope = by.guess
    answer = start + slope * found
    for place, value in read.items():
        answer[place] = value
    return found + by.share * answer


def judge_chance(value: float, levels: Any = None) -> float:
    """Return the share of unrelated questions that have something of at least this value."""
    levels = load_weights().levels if levels is None else levels
    odds = float(np.interp(value, levels, _log_odds(load_weights().shares)))
    return _share_from_odds(odds + _extrapolate_odds(value, levels))


def value_for_rate(rate: float, levels: Any = None) -> float:
    """Return the value that this share of unrelated questions exceed."""
    levels = load_weights().levels if levels is None else levels
    odds = math.log(rate / (1 - rate))
    known = _log_odds(load_weights().shares)
    if odds < known[-1]:
        return float(levels[-1] + (known[-1] - odds))
    if odds > known[0]:
        return float(levels[0] - (odds - known[0]))
    return float(np.interp(-odds, -known, levels))


def _log_odds(shares: Any) -> Any:
    return np.log(shares / (1 - shares))


def _extrapolate_odds(value: float, levels: Any) -> float:
    """Take a value outside of what was seen for as much less in the logarithm of the odds as it lies beyond."""
    return max(0.0, float(levels[0]) - value) - max(0.0, value - float(levels[-1]))


def _share_from_odds(odds: float) -> float:
    return 1 / (1 + math.exp(-odds)) if odds > -_FAR else 0.0


# --- what the network sees --------------------------------------------------------------------------------------------


def build_features(asked: JudgedQuestion, memories: Sequence[JudgedMemory]) -> Any:
    """Return a row for each memory."""
    put = asked.cues.question_cues(asked.text, asked.rarity)
    have = np.array([asked.cues.memory_forms(one.text) for one in memories], np.float32)
    fits = (np.array(put[:ASKED_FOR], np.float32)[None, :, None] * have[:, None, :]).reshape(len(memories), -1)
    cosines = np.array([[one.cosine] for one in memories], np.float32)
    of_question = np.repeat(np.array([put], np.float32), len(memories), axis=0)
    return np.concatenate([cosines, _build_word_features(asked, memories), have, fits, of_question], axis=1)


def _build_word_features(asked: JudgedQuestion, memories: Sequence[JudgedMemory]) -> Any:
    """Return how near the words of the question come to those of each memory: on the whole, at worst, and at best."""
    best = _best_words(asked, memories)
    weight = np.array(word_weights(asked.words[: best.shape[1]], asked.rarity), np.float32)
    counts = weight > 0
    near, share = best[:, counts], weight[counts] / weight[counts].sum()
    ordered = np.sort(near, axis=1)
    return np.stack(
        [
            near @ share,
            ordered[:, 0],
            ordered[:, min(1, ordered.shape[1] - 1)],
            ordered[:, -1],
            *((near > alike) @ share for alike in _ALIKE),
            np.minimum(near, _ALIKE[0]) @ share,
            best.mean(axis=1),
        ],
        axis=1,
    )


def _best_words(asked: JudgedQuestion, memories: Sequence[JudgedMemory]) -> Any:
    """Return for each memory how near its nearest word is to each word of the question."""
    question = np.frombuffer(asked.word_vectors, np.int8).reshape(-1, WIDTH).astype(np.float32) / np.float32(_ONE)
    words = np.frombuffer(b"".join(one.word_vectors for one in memories), np.int8).reshape(-1, WIDTH)
    starts = np.cumsum([0, *(len(one.word_vectors) // WIDTH for one in memories[:-1])])
    return np.maximum.reduceat(multiply_matrices(words.astype(np.float32), question.T), starts, axis=0)


# --- what of a search's hits has to do with the question --------------------------------------------------------------


_DEPTH = 4
_NAMELESS = frozenset({"", *Origin})
_UNREAD: Mapping[int, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Relevance:
    """Which hits are worth showing, and why.

    ``chance`` is the share of unrelated questions that come as close to something in this store as this one does; None
    when that could not be told, and then all hits are kept. ``note`` says what could not serve.
    """

    relevant: list[Hit]
    reason: str
    chance: float | None = None
    note: Degradation | None = None

    @property
    def nothing(self) -> bool:
        """Whether memory has nothing to say to the question."""
        return not self.relevant


async def judge_relevance(
    runtime: Runtime,
    scope: Scope,
    question: str,
    hits: Sequence[Hit],
    rate: float = RATE,
    words: Mapping[int, bytes] = _UNREAD,
) -> Relevance:
    """Return the hits worth showing, such that of unrelated questions only the share ``rate`` is shown anything.

    ``words`` are vectors of words, by number, that the search has read already.
    """
    checked_rate(rate)
    if not hits:
        return Relevance([], "nothing was found")
    if not any(scored.parts.semantic is not None or scored.parts.keyword is not None for _, scored in hits):
        return Relevance(list(hits), "these were not chosen by what they say")
    try:
        return await _judge_hits(runtime, scope, question, hits, rate, words)
    except MemstoneError as error:
        note: Degradation = {"step": "relevance", **error.as_dict()}
        return Relevance(list(hits), "what unrelated questions score is not known", note=note)


async def _judge_hits(
    runtime: Runtime, scope: Scope, question: str, hits: Sequence[Hit], rate: float, words: Mapping[int, bytes]
) -> Relevance:
    has_vectors = any(scored.parts.semantic is not None for _, scored in hits)
    signature = await runtime.embedding.signature() if has_vectors else TEXT
    if (
        scope.user_id
        and signature == SIGNATURE
        and runtime.language.relevance.is_judged(question)
        and not _has_named_speakers(hits)
    ):
        asked = await asked_of(runtime, scope, question)
        answer = await told_of(runtime, SIGNATURE, hits[:LOOKED_AT], words)
        return await _by_weights(runtime, asked, answer, hits, rate)
    return await _by_comparison(runtime, scope, question, hits, rate, signature)


def _has_named_speakers(hits: Sequence[Hit]) -> bool:
    """Return whether these are turns of people by name: the weights know what is told about one user."""
    speakers = (str(found.record.data.get("speaker", "")) for found, _ in hits[:LOOKED_AT])
    return any(speaker not in _NAMELESS for speaker in speakers)


# --- by fitted weights ------------------------------------------------------------------------------------------------


async def _by_weights(
    runtime: Runtime, asked: JudgedQuestion, answer: Mapping[int, JudgedMemory], hits: Sequence[Hit], rate: float
) -> Relevance:
    """Let the best hits say whether there is anything; one farther down stays when it is as near as one that stays."""
    if not answer:
        return Relevance(list(hits), "these have not been compared by meaning yet")
    found, levels = await _with_read(runtime, asked, list(answer.values()))
    values = dict(zip(answer, found.tolist(), strict=True))
    odds = judge_chance(max(values.values()), levels)
    if odds >= rate:
        return Relevance([], _relevance_reason(odds, rate), odds)
    least = min(value_for_rate(WORTH_SHOWING, levels), value_for_rate(rate, levels))
    nearest = min((answer[seq].cosine for seq, value in values.items() if value >= least), default=math.inf)
    remaining = [
        hit for hit in hits if values.get(hit[1].seq, least if _hit_cosine(hit) >= nearest else -math.inf) >= least
    ]
    return Relevance(remaining, _relevance_reason(odds, rate), odds)


async def _with_read(runtime: Runtime, asked: JudgedQuestion, memories: Sequence[JudgedMemory]) -> tuple[Any, Any]:
    """Return the value of each hit and the levels they belong to; the best hits are read where that can decide."""
    found, reader = score_memories(asked, memories, rows_told(asked.rarity)), runtime.reader
    if reader is None or not reader.reads(TASK):
        return found, load_weights().levels
    read: dict[int, float] = {}
    try:
        while (place := to_read(found, read)) is not None:
            rows = await reader.read([(asked.text, memories[place].text)], TASK)
            read[place] = float(rows[0][0])
    except MemstoneError:
        return found, load_weights().levels
    return with_read(found, read), load_weights().levels_read


def _hit_cosine(hit: Hit) -> float:
    return hit[1].parts.semantic or 0.0


async def asked_of(runtime: Runtime, scope: Scope, question: str) -> JudgedQuestion:
    """Return a question as the weights want it; its vector is at hand from the search."""
    vector = (await runtime.embedding.queries([question]))[0]
    if not isinstance(vector, Vector):
        raise vector
    words = runtime.embedding.words(question)
    wanted = {
        *familiarity_words(question, runtime.language.names),
        *(term for word in words for term in document_terms(word)),
        UNHEARD,
    }
    around = await runtime.texts.around(scope, (), list(wanted))
    return JudgedQuestion(question, vector, words, vector.words, around.rarity, runtime.language.relevance)


async def told_of(
    runtime: Runtime, signature: str, hits: Sequence[Hit], known: Mapping[int, bytes] = _UNREAD
) -> dict[int, JudgedMemory]:
    """Return hits as the weights want them, by number; without those whose words have no vectors."""
    words = {scored.seq: known.get(scored.seq, b"") for _, scored in hits}
    if missing := [seq for seq, value in words.items() if not value]:
        words.update(await runtime.ledger.peek(lambda tx: tx.vectors.words_of(runtime.tenant_id, signature, missing)))
    return {
        hit[1].seq: JudgedMemory(hit[0].record.text, _hit_cosine(hit), words[hit[1].seq])
        for hit in hits
        if words[hit[1].seq]
    }


# --- by comparison with unrelated questions ---------------------------------------------------------------------------


async def _by_comparison(
    runtime: Runtime, scope: Scope, question: str, hits: Sequence[Hit], rate: float, signature: str
) -> Relevance:
    cosines = {scored.seq: scored.parts.semantic for _, scored in hits if scored.parts.semantic is not None}
    rarity = (
        await runtime.texts.around(scope, (), [*familiarity_words(question, runtime.language.names), UNHEARD])
    ).rarity
    rows = rows_told(rarity)
    null = await null_for(runtime, scope, signature, rows)
    if null is None:
        return Relevance(list(hits), "there is nothing to compare with")
    # Of several users' words only the rarest are told, which is not enough to know that a name was never mentioned.
    weights = BY_MEANING if cosines else BY_WORDS
    named = runtime.language.names if scope.user_id else None
    own = score_familiarity(question, rarity, weights, named)
    if cosines:
        close = await measure_closeness(runtime, signature, null, cosines)
    else:
        close = await text_closeness(runtime, scope, question, _DEPTH * len(hits))
    unsaid = null.middle_at(rows)  # a hit nothing is known of neither makes a question relevant nor is left out
    values = [own + close[scored.seq] if scored.seq in close else unsaid for _, scored in hits]
    visible = worth_showing(values, null, rate, rows)
    odds = unrelated_share(max(values), null, rows)
    return Relevance(
        [hit for hit, is_shown in zip(hits, visible, strict=True) if is_shown], _relevance_reason(odds, rate), odds
    )


def _relevance_reason(odds: float, rate: float) -> str:
    if odds >= rate:
        return f"nothing in memory is closer to this than {1 - rate:.0%} of unrelated questions are"
    return f"closer to something in memory than {min(0.999, 1 - odds):.1%} of unrelated questions are"
