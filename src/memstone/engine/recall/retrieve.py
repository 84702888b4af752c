"""Ask all search channels for candidates, and compare the best word by word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from memstone.core.ranking.fusion import (
    NO_NUMBERS,
    PEOPLE,
    PERSON,
    PERSON_BY_MEANING,
    FusionWeights,
    Numbers,
    Ranking,
    TextSignalColumns,
    lift_candidates,
    with_words,
)
from memstone.engine.recall.graph import NO_CONNECTIONS, GraphConnections, choose_connected, find_connections
from memstone.engine.runtime import Runtime
from memstone.engine.store.embedding import failure_of
from memstone.errors import BackendError, ConfigError, MemstoneError, StorageError
from memstone.language.text.tokens import document_terms, query_terms
from memstone.model.memory import Layer, Vector
from memstone.model.query import NOBODY, SpeakerQuestion, VectorQuery, WordsQuery
from memstone.model.scope import Scope
from memstone.ports.index import Around, DenseHits, TextHits
from memstone.ports.io import limit_model_calls
from memstone.products import multiply_matrices

if TYPE_CHECKING:
    from memstone.results import Degradation

# --- late interaction -------------------------------------------------------------------------------------------------


CANDIDATES: Final = 50
_NEAR: Final = {1: 0.8, 2: 0.7}


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The words of a question, with the vectors of their pieces."""

    words: Sequence[str]
    vectors: bytes
    left_out: frozenset[str] = frozenset()


async def compute_similarities(
    runtime: Runtime,
    scope: Scope,
    signature: str,
    asked: Mapping[bool, QuestionWords],
    seqs: Mapping[int, bool],
    *,
    neighbours: bool = True,
) -> tuple[dict[int, float], dict[int, bytes]]:
    """Compare rows with the question word by word; return values from 0 to 1 and word vectors.

    What is held in a speaker's own words (True) may be asked for in other words than what is told about one (False).
    Without ``neighbours`` each stands for itself.
    """
    found: dict[int, float] = {}
    vocabulary = sorted({term for one in asked.values() for word in one.words for term in _word_terms(word)})
    around = await runtime.texts.around(scope, list(seqs) if neighbours else (), vocabulary)
    wanted = set(seqs) | {near for beside in around.near.values() for near, _ in beside}
    rows = await runtime.ledger.peek(lambda tx: tx.vectors.words_of(runtime.tenant_id, signature, wanted))
    for own, question in asked.items():
        own_items = [seq for seq, is_own in seqs.items() if is_own == own]
        if own_items and rows:
            found |= await runtime.io.run(lambda q=question, s=own_items: _compare_words(q, s, around, rows))  # type: ignore[misc]
    return found, dict(rows)


def _compare_words(
    asked: QuestionWords, seqs: Sequence[int], around: Around, rows: Sequence[tuple[int, bytes]]
) -> dict[int, float]:
    width = len(asked.vectors) // max(1, len(asked.words))
    weights = np.array([_word_weight(word, asked, around.rarity) for word in asked.words], dtype=np.float32)
    stored = weights > 0
    if not stored.any():
        return {}
    question = np.frombuffer(asked.vectors, dtype=np.int8).reshape(-1, width)[stored].astype(np.float32) / 127.0**2
    places, best = {seq: at for at, (seq, _) in enumerate(rows)}, _best_words(question, rows, width)
    own = [seq for seq in seqs if seq in places]
    alike = _with_near(best, places, own, around)
    shares = (alike * weights[stored]).sum(axis=1) / weights[stored].sum()
    return dict(zip(own, np.clip(shares, 0.0, 1.0).tolist(), strict=True))


def _word_weight(word: str, asked: QuestionWords, rarity: Mapping[str, float]) -> float:
    """Return the weight of a word; punctuation and words that replace a name have none."""
    if word in asked.left_out:
        return 0.0
    return min((rarity.get(term, 0.0) for term in _word_terms(word)), default=0.0)


@lru_cache(maxsize=4096)  # the little words of a question are those of the last one
def _word_terms(word: str) -> tuple[str, ...]:
    return tuple(document_terms(word))


def _best_words(question: Any, rows: Sequence[tuple[int, bytes]], width: int) -> Any:
    """Return for each row how similar its best word is to each word of the question."""
    lengths = [len(words) // width for _, words in rows]
    words = np.frombuffer(b"".join(words for _, words in rows), dtype=np.int8).reshape(-1, width)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return np.maximum.reduceat(multiply_matrices(words.astype(np.float32), question.T), starts, axis=0)


def _with_near(best: Any, places: Mapping[int, int], seqs: Sequence[int], around: Around) -> Any:
    """Add to each row what its neighbouring turns reach."""
    alike = best[[places[seq] for seq in seqs]]
    beside = [
        (at, places[near], _NEAR[distance])
        for at, seq in enumerate(seqs)
        for near, distance in around.near.get(seq, ())
        if near in places
    ]
    if beside:
        own, others, shares = (list(column) for column in zip(*beside, strict=True))
        np.maximum.at(alike, own, np.array(shares, dtype=np.float32)[:, None] * best[others])
    return alike


# --- the channels -----------------------------------------------------------------------------------------------------


STORE: Final = "vector_store"
"""The channel of a note that a vector store outside did not answer; the embedded index did."""

GRAPH_STORE: Final = "graph_store"
"""The channel of a note that a graph database did not answer; the ledger did."""

_ROLES: Final = frozenset({"user", "assistant"})
_ASSISTANT: Final = " ".join(document_terms("assistant"))


class ChannelQuery(Protocol):
    """A query as the channels need it."""

    query: str
    scope: Scope
    layers: tuple[str, ...]
    strategy: str
    compares_words: bool


_FEWEST: Final = 5
_BEST: Final = 3
_LIFTED: Final = 2
"""So many memories that the best hits lead to come right behind them."""


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question with the speakers it names, and its vectors or the embedder's error."""

    spoken: SpeakerQuestion = NOBODY
    vectors: tuple[Vector, ...] = ()
    error: MemstoneError | None = None
    weights: FusionWeights = PEOPLE


@dataclass(slots=True)
class SearchQuestion:
    """A question, ready for every channel."""

    scope: Scope
    words: list[str]
    layers: tuple[str, ...]
    query: str = ""
    spoken: SpeakerQuestion = NOBODY
    vectors: tuple[Vector, ...] = ()
    signature: str = ""
    asked: dict[bool, QuestionWords] = field(default_factory=dict)
    degraded: list[Degradation] = field(default_factory=list)
    weights: FusionWeights = PEOPLE
    level: float = 0.0
    """How near everything is to the question on average."""

    connections: GraphConnections | None = None
    """Where the names in it lead, once that was looked for."""

    compares_words: bool = True
    words_read: dict[int, bytes] = field(default_factory=dict)
    """The vectors of the words of what was compared word by word."""


@dataclass(slots=True)
class Candidates:
    """Candidates of all channels. ``cosines`` covers every candidate that has a vector."""

    text: Numbers
    cosines: Numbers
    near: Any
    text_signals: TextSignalColumns
    own_words: Any
    exhausted: bool
    entities: dict[int, float] = field(default_factory=dict)

    def in_own_words(self, seqs: list[int]) -> dict[int, bool]:
        """Return which candidates are in somebody's own words."""
        own = set(self.text_signals.seqs[self.own_words].tolist())
        return {seq: seq in own for seq in seqs}


async def understand_query(runtime: Runtime, wanted: ChannelQuery) -> ParsedQuestion:
    """Find the speakers that a query names, and embed it if meaning is searched.

    The only step of a search that may wait for something outside this process, so it comes first and by itself. A model
    that does not answer is asked once: words answer meanwhile.
    """
    speakers = await _read_speakers(runtime, wanted.scope)
    speaker_question, weights = (
        runtime.language.names.rephrase_as_speaker(wanted.query, speakers),
        _choose_weights(runtime, speakers),
    )
    if wanted.layers == (
        Layer.TURN,
    ):  # who looks through what was said looks for what the assistant said, or what was asked, as well
        weights = replace(weights, assistant=0.0, asking=0.0)
    if wanted.strategy == "text" or not runtime.embedding.on:
        return ParsedQuestion(speaker_question, weights=weights)
    try:
        with limit_model_calls():
            found = await runtime.embedding.queries(
                runtime.embedding.at_hand(_query_texts(wanted.query, speaker_question))
            )
    except MemstoneError as error:  # the model cannot even be asked for its dimension
        return ParsedQuestion(speaker_question, (), error, weights)
    failed = next((vector for vector in found if isinstance(vector, MemstoneError)), None)
    return ParsedQuestion(
        speaker_question, tuple(vector for vector in found if isinstance(vector, Vector)), failed, weights
    )


async def bind_query_vectors(runtime: Runtime, scope: Scope, query: str) -> Runtime:
    """Return the runtime with the vectors of a query, so that its search waits for no model."""
    speaker_question = runtime.language.names.rephrase_as_speaker(query, await _read_speakers(runtime, scope))
    return replace(runtime, embedding=await runtime.embedding.fetch(_query_texts(query, speaker_question)))


def _query_texts(query: str, speaker_question: SpeakerQuestion) -> list[str]:
    """Return the texts to embed for a query: itself, and in the first person of named speakers."""
    return [query, speaker_question.text] if speaker_question.text else [query]


def _choose_weights(runtime: Runtime, speakers: frozenset[str]) -> FusionWeights:
    if len(speakers - _ROLES) > 1:
        return PEOPLE
    return PERSON if runtime.embedding.tells_words else PERSON_BY_MEANING


async def _read_speakers(runtime: Runtime, scope: Scope) -> frozenset[str]:
    try:
        async with runtime.io.turn():
            return await runtime.texts.speakers(scope)
    except StorageError:  # the text channel meets it again and says so
        return frozenset()


async def build_question(runtime: Runtime, wanted: ChannelQuery, known: ParsedQuestion) -> SearchQuestion:
    """Build the question for every channel.

    A dense channel that cannot serve is left out, and the answer says why.
    """
    words = await _choose_words(runtime, wanted)
    question = SearchQuestion(
        wanted.scope, words, wanted.layers, _asks_graph(wanted), known.spoken, weights=known.weights
    )
    question.compares_words = bool(words) or wanted.compares_words
    if wanted.strategy != "text":
        try:
            await _prepare_vectors(runtime, wanted, known, question)
        except MemstoneError as error:
            question.degraded.append({"channel": "dense", **failure_of(error)})
    return question


def _asks_graph(wanted: ChannelQuery) -> str:
    return wanted.query if wanted.strategy == "hybrid" else ""


async def _choose_words(runtime: Runtime, wanted: ChannelQuery) -> list[str]:
    """Return the words for the text channel; with meaning alone only if there is an embedder.

    "Last week" means days where anything was said on them; else it is words like others, and maybe a quotation.
    """
    if wanted.strategy == "vector" or (wanted.strategy == "semantic" and runtime.embedding.on):
        return []
    rest, days = runtime.language.dates.list_asked_days(wanted.query, runtime.clock.now(), runtime.zone)
    if not days or not await _knows_day(runtime, wanted.scope, days):
        return query_terms(wanted.query)
    return [*(query_terms(rest) if rest.strip() else ()), *days]


async def _knows_day(runtime: Runtime, scope: Scope, days: list[str]) -> bool:
    try:
        return await runtime.texts.knows_day(scope, days)
    except StorageError:  # the text channel meets it again and says so
        return False


async def _prepare_vectors(
    runtime: Runtime, wanted: ChannelQuery, known: ParsedQuestion, question: SearchQuestion
) -> None:
    if not runtime.embedding.on:
        if wanted.strategy == "vector":  # with "hybrid", doing without is what the configuration says
            raise ConfigError("a search by meaning needs an embedder", hint="configure an embedder")
        return
    if known.error is not None:  # first: a model that does not answer cannot be asked who it is either
        raise known.error
    signature = await runtime.embedding.signature()
    spaces = {
        info.signature: info.state for info in await runtime.ledger.peek(lambda tx: tx.indexes.all(runtime.tenant_id))
    }
    if not spaces:  # nothing has a vector yet
        return
    if spaces.get(signature) != "active":
        built = next((name for name, state in spaces.items() if state == "active"), "none")
        message = f"the store was built with {built}, but the configured embedder is {signature}: run reindex"
        question.degraded.append({"channel": "dense", "code": "needs_reindex", "message": message})
        return
    question.vectors, question.signature = known.vectors, signature
    question.asked = _by_word(runtime, wanted.query, known)


def _by_word(runtime: Runtime, query: str, known: ParsedQuestion) -> dict[bool, QuestionWords]:
    """Return the words of a question, as it is (False) and in the first person (True)."""
    if not runtime.embedding.tells_words:
        return {}
    plain = QuestionWords(runtime.embedding.words(query), known.vectors[0].words)
    if not known.spoken.text:
        return {False: plain, True: plain}
    own = QuestionWords(runtime.embedding.words(known.spoken.text), known.vectors[1].words, known.spoken.put_in)
    return {False: plain, True: own}


async def find_candidates(
    runtime: Runtime, question: SearchQuestion, depth: int, among: frozenset[int] | None
) -> Candidates:
    """Return the best ``depth`` candidates of each channel, within ``among`` if a filter is set."""
    found = await _by_channel(runtime, question, depth, among)
    found.entities = await _find_by_entities(runtime, question, among)
    return found


async def _find_by_entities(
    runtime: Runtime, question: SearchQuestion, among: frozenset[int] | None
) -> dict[int, float]:
    """Find memories by the entities in a question; a graph database that is down is left out."""
    if not question.words or not question.query:
        return {}
    if question.connections is None:  # a search that goes deeper asks for the same names
        question.connections = await _find_connections(runtime, question)
    boosts = question.connections.boosts
    return dict(boosts) if among is None else {seq: boost for seq, boost in boosts.items() if seq in among}


async def _find_connections(runtime: Runtime, question: SearchQuestion) -> GraphConnections:
    try:
        found = await find_connections(runtime, question.query, question.scope)
    except (StorageError, BackendError) as error:
        question.degraded.append({"channel": "entity", **error.as_dict()})
        return NO_CONNECTIONS
    if found.failure is not None:
        question.degraded.append({"channel": GRAPH_STORE, **found.failure.as_dict()})
    return found


async def _by_channel(
    runtime: Runtime, question: SearchQuestion, depth: int, among: frozenset[int] | None
) -> Candidates:
    hits = await _search_text(runtime, question, depth, among)
    if not question.vectors:
        return _of_text(hits, depth)
    try:
        also = tuple(hits.seqs.tolist())
        dense = DenseHits.of(await runtime.index.search(_vector_query(question, depth, among, also)))
    except BackendError as error:  # a store outside this process is down: what the text found still counts
        question.vectors = ()
        question.degraded.append({"channel": "dense", **error.as_dict()})
        return _of_text(hits, depth)
    if dense.failure is not None:
        _note_store_failure(question, dense.failure)
    question.level = dense.level if len(dense.seqs) >= _FEWEST else 0.0  # a few memories have no usual nearness
    found = _of_text(hits, depth)
    found.cosines, found.near = Numbers(dense.seqs, dense.cosines), dense.seqs[: min(depth, dense.near)]
    others = await _read_features(runtime, question, found.near[~np.isin(found.near, hits.seqs)])
    found.text_signals, found.own_words = _join_features(hits, others)
    found.exhausted = found.exhausted and len(found.near) < depth
    return found


def _note_store_failure(question: SearchQuestion, failure: BackendError) -> None:
    """Report once that an external store did not answer and the index in the process did."""
    if not any(note.get("channel") == STORE for note in question.degraded):
        question.degraded.append({"channel": STORE, **failure.as_dict()})


def _of_text(hits: TextHits, depth: int) -> Candidates:
    text_signal_columns, own = _join_features(hits)
    return Candidates(
        Numbers(hits.seqs, hits.scores), NO_NUMBERS, NO_NUMBERS.seqs, text_signal_columns, own, len(hits) < depth
    )


def _join_features(*hits: TextHits) -> tuple[TextSignalColumns, Any]:
    """Return the features of all candidates from the text channel."""
    seqs, speaker, asking, assistant, coverage, own = (
        np.concatenate([getattr(one, name) for one in hits])
        for name in ("seqs", "speaker", "asking", "assistant", "coverage", "own_words")
    )
    return TextSignalColumns(seqs, speaker, asking, assistant.astype(np.float64), coverage), own


def _vector_query(
    question: SearchQuestion, depth: int, among: frozenset[int] | None, also: tuple[int, ...]
) -> VectorQuery:
    plain, *own = (np.frombuffer(vector, "<f4") for vector in question.vectors)
    return VectorQuery(
        question.signature, plain, depth, question.scope, question.layers, among, also, own[0] if own else None
    )


async def _search_text(
    runtime: Runtime, question: SearchQuestion, depth: int, among: frozenset[int] | None
) -> TextHits:
    if not question.words:
        return TextHits.of(())
    asked = WordsQuery(
        question.words,
        depth,
        question.scope,
        question.layers,
        among,
        named=_named_terms(question),
        alone=not question.weights.neighbours,
        assistant=_ASSISTANT,
    )
    try:
        return TextHits.of(await runtime.texts.search(asked))
    except StorageError as error:
        question.words = []
        question.degraded.append({"channel": "text", **error.as_dict()})
        return TextHits.of(())


async def _read_features(runtime: Runtime, question: SearchQuestion, seqs: Any) -> TextHits:
    """Read the features of candidates that only the dense channel found."""
    if not len(seqs) or not question.words:
        return TextHits.of(())
    also, named = tuple(seqs.tolist()), _named_terms(question)
    return TextHits.of(
        await runtime.texts.search(
            WordsQuery((), 0, question.scope, question.layers, also=also, named=named, assistant=_ASSISTANT)
        )
    )


def _named_terms(question: SearchQuestion) -> str:
    named = question.spoken.named
    return " ".join(document_terms(named[0])) if len(named) == 1 else ""


async def compare_words(runtime: Runtime, question: SearchQuestion, ranked: Ranking, found: Candidates) -> Ranking:
    """Compare the best candidates with the question word by word, if the model supports it."""
    if not question.asked or not question.vectors or not question.compares_words:
        return ranked
    best = found.in_own_words(ranked.best(CANDIDATES))
    weights = question.weights
    alike, question.words_read = await compute_similarities(
        runtime, question.scope, question.signature, question.asked, best, neighbours=weights.neighbours
    )
    return with_words(ranked, alike, weights.words)


def insert_connected(question: SearchQuestion, ranked: Ranking) -> Ranking:
    """Put memories about related entities right after the best hits."""
    if question.connections is None or not question.connections.bridges:
        return ranked
    return lift_candidates(ranked, choose_connected(question.connections, ranked.best(_BEST)), _BEST, _LIFTED)
