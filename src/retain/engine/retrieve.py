"""The channels: who might be meant, before anybody decides who is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from retain.core.analyze import query_terms
from retain.engine.draft import scope_tokens
from retain.engine.parts import Parts
from retain.errors import BackendError, ConfigError, RetainError, StorageError
from retain.model.query import TextQuery, VectorQuery
from retain.model.scope import Scope


class Wanted(Protocol):
    """What a search wants, as far as the channels need to know."""

    query: str
    scope: Scope
    layers: tuple[str, ...]
    strategy: str


@dataclass(slots=True)
class Question:
    """What is looked for, ready for every channel."""

    scope: Scope
    words: list[str]
    layers: tuple[str, ...]
    vector: Any = None
    signature: str = ""
    degraded: list[dict[str, object]] = field(default_factory=list)


@dataclass(slots=True)
class Candidates:
    """What the channels found. ``cosines`` covers every candidate that has a vector."""

    text: list[tuple[int, float]]
    cosines: dict[int, float]
    near: frozenset[int]
    exhausted: bool


async def embedded(parts: Parts, query: str, strategy: str) -> Any:
    """The vector of a query, the error its model met, or None where none is asked for.

    The only step of a search that may wait for something outside this process, so it comes first and by itself.
    """
    if strategy == "text" or not parts.embedding.on:
        return None
    try:
        return await parts.embedding.one(query)
    except RetainError as error:
        return error


async def ask(parts: Parts, wanted: Wanted, vector: Any) -> Question:
    """A query, ready for every channel; a dense channel that cannot serve is left out, and the answer says why."""
    words = query_terms(wanted.query) if wanted.strategy != "vector" else []
    question = Question(wanted.scope, words, wanted.layers)
    if wanted.strategy != "text":
        try:
            await _near(parts, vector, question, wanted.strategy)
        except RetainError as error:
            question.degraded.append({"channel": "dense", **error.as_dict()})
    return question


async def _near(parts: Parts, vector: Any, question: Question, strategy: str) -> None:
    if not parts.embedding.on:
        if strategy == "vector":  # with "hybrid", doing without is what the configuration says
            raise ConfigError("there is no embedder to search by meaning with", hint="configure one")
        return
    signature = await parts.embedding.signature()
    spaces = {
        info.signature: info.state for info in await parts.ledger.peek(lambda tx: tx.indexes.all(parts.tenant_id))
    }
    if not spaces:
        return  # nothing has a vector yet
    if spaces.get(signature) != "active":
        built = next((name for name, state in spaces.items() if state == "active"), "none")
        message = f"the store was built with {built}, the configured embedder is {signature}: run reindex"
        question.degraded.append({"channel": "dense", "code": "needs_reindex", "message": message})
        return
    if isinstance(vector, RetainError):
        raise vector
    question.vector, question.signature = vector, signature


async def candidates(parts: Parts, question: Question, depth: int, among: frozenset[int] | None) -> Candidates:
    """The best ``depth`` of each channel, within ``among`` when a filter chose it."""
    text = await _text(parts, question, depth, among)
    if question.vector is None:
        return Candidates(text, {}, frozenset(), exhausted=len(text) < depth)
    found = tuple(seq for seq, _ in text)
    asked = VectorQuery(question.signature, question.vector, depth, question.scope, question.layers, among, found)
    try:
        hits = await parts.index.search(asked)
    except BackendError as error:  # a store outside this process is down: what the text found still counts
        question.vector = None
        question.degraded.append({"channel": "dense", **error.as_dict()})
        return Candidates(text, {}, frozenset(), exhausted=len(text) < depth)
    near = frozenset(hit.seq for hit in hits[:depth] if not hit.extra)
    cosines = {hit.seq: hit.cosine for hit in hits}
    return Candidates(text, cosines, near, exhausted=len(text) < depth and len(near) < depth)


async def _text(parts: Parts, question: Question, depth: int, among: frozenset[int] | None) -> list[tuple[int, float]]:
    if not question.words:
        return []
    asked = TextQuery(question.words, scope_tokens(question.scope))
    try:
        # A filter may choose few of many matches, so all matches of the scope are looked at.
        everything = await parts.ledger.peek(lambda tx: tx.text.match(asked, depth if among is None else -1))
    except StorageError as error:
        question.words = []
        question.degraded.append({"channel": "text", **error.as_dict()})
        return []
    if among is None:
        return everything
    return [(seq, score) for seq, score in everything if seq in among][:depth]
