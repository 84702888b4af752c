"""Recall facts, episodes and turns that are close enough to a message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from memstone.core.prompt.inject import EXCERPT_CHARS
from memstone.engine.recall.hits import Hits, find_hits, hydrate_hits
from memstone.engine.recall.period import ANOTHER_TIME, Period, asked_period
from memstone.engine.recall.ranking import Hit
from memstone.engine.recall.surface import FAR
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import Search, SearchRequest, build_search
from memstone.engine.store.holders import PREFIX
from memstone.language.text.calendars import remove_times
from memstone.language.text.content import content_words, is_courtesy, share_of_words
from memstone.language.text.normal import normal_text
from memstone.language.text.questions import Person, only_asks, person_of
from memstone.language.text.tokens import QUERY_LIMIT, document_terms, query_terms
from memstone.model.memory import Layer, Origin, Record
from memstone.model.message import asks_alone
from memstone.model.policy import BUILT_IN

if TYPE_CHECKING:
    from memstone.engine.recall.context_query import ContextQuery

# Nearness is a cosine, here and below: 1 says the same, and what has nothing to do with a message is at ``_USUAL``.
_CANDIDATES: Final = 60
_OF_A_TIME: Final = 5
"""So much of what was said then is recalled for a question that names a time and little else."""

_NOTHING_ELSE: Final = 2
"""A question of so few words says when, and no more than that something was."""

_READ: Final = 6
_NEARER: Final = {Person.NOBODY: 0.0, Person.SELF: 0.08, Person.OWN: 0.16}
"""So much farther may something be if the message mentions whoever writes it: then it is likely to call for memory."""

_USUAL: Final = 0.15
"""So near is everything on average to a question in the language that the model knows best."""

_RAISED: Final = {Person.NOBODY: 1.0, Person.SELF: 0.5, Person.OWN: 0.0}
"""How much of what lies above the usual is asked for as well: in a language that the model hardly knows, everything
seems near."""

_RANKS: Final = slice(2, 8)
"""The ranks of hits that stand for what is usually near in a language that the model hardly knows: behind what may
answer, and before what is written in another language, or says next to nothing."""

_FEWEST_USUAL: Final = 3
_USUAL_ELSEWHERE: Final = 0.45
"""So near is everything in such a language where fewer hits could tell."""

_SAME_WORDS: Final = 0.5
"""In such a language, so many of the words of a message bring what holds them, however near it seems."""

_SOME_WORDS: Final = 0.33
"""So many where what holds them is also the nearest."""

_NEVER: Final = 2.0
_BY_WORDS: Final = 3
"""So much is recalled for its words."""

_LONG_TURNS: Final = 2
"""So many long turns are recalled for their words: one vector does not tell all that a long text says."""

_WORDWISE: Final = 0.13
"""By so much, a difference of cosines, two texts are more alike by their words than as a whole. Words show better what
a message calls for."""

_MOST: Final = 24
"""So many of what is near enough are looked at; a block holds fewer."""

_FARTHER: Final = 0.05
"""By so much, a difference of cosines, something may be farther where the profile holds little of what is known:
more has to be recalled then."""

_LOOKED_AT: Final = 20
_REPEATED: Final = "the message itself, sent earlier"
_ANSWERED: Final = 0.15
"""By so much, a difference of cosines, something must be nearer that the assistant said, or that asks: most of it is
about what was asked then."""


async def fill_recalled_hits(runtime: Runtime, asked: ContextQuery, layers: Sequence[str]) -> None:
    """Put memories that are close enough to a message into ``asked``; small talk recalls nothing.

    Where there are no vectors, or the embedder does not answer in time, the words decide.
    """
    reads = runtime.language.reads_surely(asked.query)
    if runtime.language.facts.tells_nothing(asked.query) or (is_courtesy(asked.query) and not reads):
        return
    hits, near = await find_near_hits(runtime, asked, layers)
    period, reason = asked_period(runtime, asked.query, asked.at), FAR
    if period is not None:
        near, reason = await _of_period(runtime, asked, layers, period, near), ANOTHER_TIME
    asked.degraded = hits.degraded
    asked.lap("search")
    asked.hits = [hit for hit in near if not _is_same_message(hit, asked.query)]
    remaining, close = ({scored.seq for _, scored in some} for some in (asked.hits, near))
    found = (scored.seq for _, scored in hits.found)
    asked.left_out = {seq: _REPEATED if seq in close else reason for seq in found if seq not in remaining}


async def find_near_hits(runtime: Runtime, asked: ContextQuery, layers: Sequence[str]) -> tuple[Hits, list[Hit]]:
    """Return the hits for a message, and those that are close enough."""
    hits, near = await (
        _by_meaning(runtime, asked, layers) if runtime.embedding.on else _by_words(runtime, asked, layers)
    )
    if any(note.get("channel") == "dense" for note in hits.degraded):
        degraded = hits.degraded
        hits, near = await _by_words(runtime, asked, layers)
        hits.degraded = [*degraded, *hits.degraded]
    return hits, near


def _is_same_message(hit: Hit, query: str) -> bool:
    """Return whether a turn is the same message, sent earlier."""
    record = hit[0].record
    return record.layer == Layer.TURN and normal_text(record.text) == normal_text(query)


async def _of_period(
    runtime: Runtime, asked: ContextQuery, layers: Sequence[str], period: Period, near: list[Hit]
) -> list[Hit]:
    """Return close memories from the period that a question names, else the closest from it.

    Whoever asks what happened in March, or of their own life, names little else that something could be near to. Where
    the time is not certain and there is nothing of it, what is near stays.
    """
    found = [hit for hit in near if period.holds(hit[0].record)]
    if not found and (
        person_of(asked.query) is not Person.NOBODY or _count_other_words(runtime, asked.query) <= _NOTHING_ELSE
    ):
        then = replace(_build_request(asked, layers, ""), filters=period.time_filter, limit=_OF_A_TIME)
        with asked.limit_embedding(runtime.policy.retrieval.embed_seconds):
            found = (await find_hits(runtime, build_search(runtime, then))).found
    return found if found or period.is_certain else near


def _count_other_words(runtime: Runtime, query: str) -> int:
    """Count the significant words of a question besides its date."""
    if runtime.language.reads_surely(query):
        return runtime.language.dates.count_other_words(query)
    words = content_words(remove_times(query), QUERY_LIMIT)
    return sum(not any(map(str.isdigit, word)) for word in words)


async def _by_meaning(runtime: Runtime, asked: ContextQuery, layers: Sequence[str]) -> tuple[Hits, list[Hit]]:
    # Of another language the model knows no words, only more or less what a whole text is about.
    english = runtime.language.reads_surely(asked.query)
    wanted = replace(_build_recall_search(runtime, asked, layers, "vector"), compares_words=english)
    with asked.limit_embedding(runtime.policy.retrieval.embed_seconds):
        hits = await find_hits(runtime, wanted, _READ)
    knows = english or runtime.embedding.name != BUILT_IN
    level = hits.level if knows else _usual_nearness(hits.found)
    least = least_nearness(runtime, asked.query, level, knows_language=knows)
    farther = max(0.0, level - _USUAL)
    close = [hit for hit in hits.found if alike_by_words(hit) >= least - _FARTHER][:_MOST]  # the rest is not even read
    near = [
        hit for hit in await hydrate_hits(runtime, wanted, close) if _hit_nearness(hit, farther) >= least - _FARTHER
    ]
    same = _long_turns(runtime, asked, layers) if english else _same_words(runtime, asked, layers, hits.found[:1])
    by_words = await same
    words = {scored.seq for _, scored in by_words}
    near = [hit for hit in near if hit[1].seq not in words]
    asked.farther = {hit[1].seq for hit in near if _hit_nearness(hit, farther) < least}
    return hits, [*by_words, *near]


def _usual_nearness(found: Sequence[Hit]) -> float:
    """Return how close unrelated texts are to a message in its language."""
    usual = [hit[1].parts.semantic or 0.0 for hit in found[_RANKS]]
    return sum(usual) / len(usual) if len(usual) >= _FEWEST_USUAL else _USUAL_ELSEWHERE


async def _same_words(
    runtime: Runtime, asked: ContextQuery, layers: Sequence[str], nearest: Sequence[Hit]
) -> list[Hit]:
    """Return memories that share at least half of a message's words, by stem.

    Of what is the nearest as well a third is enough; something that the assistant said must be that.
    """
    words = content_words(asked.query, QUERY_LIMIT)
    if all(map(str.isdigit, words)):  # a sum, or nothing at all
        return []
    found = (await find_hits(runtime, _build_recall_search(runtime, asked, layers, "text"))).found[:_LOOKED_AT]
    first = {scored.seq for _, scored in nearest}
    shares = ((share_of_words(words, hit[0].record.text), hit) for hit in found)
    best = [one for one in shares if one[0] >= _least_share(one[1], is_nearest=one[1][1].seq in first)]
    best.sort(key=lambda one: -one[0])
    return [hit for _, hit in best[:_BY_WORDS]]


def _least_share(hit: Hit, *, is_nearest: bool) -> float:
    """Return the share of a message's words that a hit must contain."""
    record = hit[0].record
    if record.layer == Layer.TURN and only_asks(record.text):
        return _NEVER
    if record.source_role == Origin.ASSISTANT:
        return _SAME_WORDS if is_nearest else _NEVER
    return _SOME_WORDS if is_nearest else _SAME_WORDS


async def _long_turns(runtime: Runtime, asked: ContextQuery, layers: Sequence[str]) -> list[Hit]:
    """Return long turns of the user that share words with a message about the writer."""
    words = frozenset(query_terms(asked.query))
    if not words or Layer.TURN not in layers or person_of(asked.query) is Person.NOBODY:
        return []
    # With a least score, whole words are looked for and nothing else: to look for their beginnings reads every turn.
    by_words = replace(_build_request(asked, (Layer.TURN,), "text"), limit=_LOOKED_AT, min_score=1.0)
    wanted = build_search(runtime, by_words)
    texts = [hit for hit in (await find_hits(runtime, wanted)).found if _is_long(hit[0].record)]
    return [hit for hit in texts if shares_words(words, hit[0].record.text)][:_LONG_TURNS]


def _is_long(record: Record) -> bool:
    return record.source_role == Origin.USER and len(record.text) > EXCERPT_CHARS


async def _by_words(runtime: Runtime, asked: ContextQuery, layers: Sequence[str]) -> tuple[Hits, list[Hit]]:
    hits = await find_hits(runtime, _build_recall_search(runtime, asked, layers, "text"))
    if not runtime.language.reads_surely(asked.query):
        texts = content_words(asked.query, QUERY_LIMIT)
        return hits, [hit for hit in hits.found if share_of_words(texts, hit[0].record.text) >= _SAME_WORDS]
    words = frozenset(query_terms(asked.query))
    return hits, [hit for hit in hits.found if shares_words(words, hit[0].record.text)]


def _build_recall_search(runtime: Runtime, asked: ContextQuery, layers: Sequence[str], strategy: str) -> Search:
    return build_search(runtime, _build_request(asked, layers, strategy))


def _build_request(asked: ContextQuery, layers: Sequence[str], strategy: str) -> SearchRequest:
    who = asked.scope
    return SearchRequest(
        query=asked.query,
        user_id=who.user_id or None,
        agent_id=who.agent_id or None,
        run_id=who.run_id or None,
        limit=_CANDIDATES,
        layers=layers,
        as_of=asked.as_of,
        strategy=strategy or None,
        project_id=asked.project.user_id.removeprefix(PREFIX) if asked.project else None,
        scope=asked.breadth,
    )


def shares_words(words: frozenset[str], text: str) -> bool:
    """Return whether a text contains at least half of the significant words of a message."""
    return bool(words) and 2 * len(words.intersection(document_terms(text))) >= len(words)


def least_nearness(runtime: Runtime, query: str, level: float, *, knows_language: bool = True) -> float:
    """Return the threshold for a message, given the average closeness.

    The values were measured with the built-in model, in English. Cosines of another model begin elsewhere: unrelated
    texts are at 0.7 for some. So do those of a language that the built-in model hardly knows. There the same share of
    the way from the average to 1 is asked for.
    """
    policy, name = runtime.policy.retrieval, runtime.embedding.name
    person, amount = person_of(query), policy.recall_minimum(name)
    least = policy.recall_score if amount is None else amount
    least -= _NEARER[person]
    if amount is None and (name != BUILT_IN or not knows_language):
        return level + (least - _USUAL) / (1 - _USUAL) * (1 - level)
    return least + _RAISED[person] * max(0.0, level - _USUAL)


def _hit_nearness(hit: Hit, farther: float) -> float:
    """Return how close a hit is; the assistant's words and questions need more."""
    found, near = hit[0], alike_by_words(hit)
    less = found.record.source_role == Origin.ASSISTANT or _asks_and_tells(found.record)
    return near - _ANSWERED - farther if less else near


def alike_by_words(hit: Hit) -> float:
    """Return how similar a message and a hit are, word by word or as a whole."""
    parts = hit[1].parts
    return (parts.semantic or 0.0) if parts.words is None else parts.words - _WORDWISE


def _asks_and_tells(record: Record) -> bool:
    """Return whether a turn asks and also states something."""
    return record.layer == Layer.TURN and asks_alone(record.text) and not only_asks(record.text)
