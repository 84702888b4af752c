"""Where its vectors leave it open whether a question is about a memory, the two are read together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.adapters.sql.indexes import VectorsTable
from memstone.drive import drive
from memstone.engine.recall import judge
from memstone.engine.recall.hits import find_hits
from memstone.engine.recall.judge import Relevance, judge_relevance
from memstone.engine.search_request import SearchRequest, build_search
from memstone.errors import EmbeddingError

LIFE: Final = (
    "User's daughter Wren is eight and plays the cello",
    "I take oat milk in my coffee",
    "My car is a green Forester from 2014",
    "User is allergic to cashews",
    "Our rent of 1,575 dollars is due on the first",
)
OPEN: Final = ("What do I take with my coffee?", "What am I not allowed to eat?", "How old is the kid?")
CLEAR: Final = ("How do submarines make fresh water?", "Translate the bridge is closed into Finnish.")


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "local"}}) as memory:
        memory.add_many([{"messages": text, "user_id": "u", "infer": False} for text in LIFE])
        yield memory


def judged(memory: Memory, question: str) -> Relevance:
    runtime = memory.engine.runtime
    wanted = build_search(runtime, SearchRequest(query=question, user_id="u", limit=10))
    return drive(judge_relevance(runtime, wanted.scope, question, drive(find_hits(runtime, wanted)).found))


@pytest.fixture
def calls(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> list[Sequence[tuple[str, str]]]:
    """What is read, call by call."""
    noted: list[Sequence[tuple[str, str]]] = []
    embedder: Any = memory.engine.runtime.embedding.embedder
    own = embedder.read

    async def read(pairs: Sequence[tuple[str, str]], task: str) -> Any:
        noted.append(pairs)
        return await own(pairs, task)

    monkeypatch.setattr(embedder, "read", read)
    return noted


def test_what_was_compared_word_by_word_is_judged_alike_without_reading_it_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, question, asked = memory.engine.runtime, OPEN[0], list[set[int]]()
    hits = drive(find_hits(runtime, build_search(runtime, SearchRequest(query=question, user_id="u", limit=10))))
    scope, own = runtime.scope({"user_id": "u"}), VectorsTable.words_of

    async def counted(self: VectorsTable, tenant: str, signature: str, seqs: Iterable[int]) -> Any:
        asked.append(set(seqs))
        return await own(self, tenant, signature, asked[-1])

    monkeypatch.setattr(VectorsTable, "words_of", counted)
    anew = drive(judge_relevance(runtime, scope, question, hits.found))
    known = drive(judge_relevance(runtime, scope, question, hits.found, words=hits.words))
    all_of_them = {scored.seq for _, scored in hits.found}
    assert asked == [all_of_them]
    assert (known.chance, known.relevant) == (anew.chance, anew.relevant)
    some = dict(list(hits.words.items())[:2])
    drive(judge_relevance(runtime, scope, question, hits.found, words=some))
    assert asked[1:] == [all_of_them - set(some)]


def test_the_best_hits_are_read_with_a_question_that_is_open(
    memory: Memory, calls: list[Sequence[tuple[str, str]]]
) -> None:
    for question in CLEAR:
        assert judged(memory, question).nothing
    assert not calls
    for question in OPEN:
        judged(memory, question)
    assert calls
    assert all(len(pairs) == 1 for pairs in calls)
    assert max(Counter(question for pairs in calls for question, _ in pairs).values()) <= judge.READ
    assert all(question in OPEN and text in LIFE for pairs in calls for question, text in pairs)


def test_what_is_read_decides(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "to_read", lambda found, read: len(read) if len(read) < len(found) else None)
    outcomes = []
    for value in (-40.0, 40.0):

        async def read(pairs: Sequence[tuple[str, str]], _task: str, value: float = value) -> Any:
            return [[value]] * len(pairs)

        monkeypatch.setattr(memory.engine.runtime.embedding.embedder, "read", read)
        outcomes.append(judged(memory, OPEN[0]))
    assert outcomes[0].nothing
    assert len(outcomes[1].relevant) == len(LIFE)


def test_a_reader_that_fails_leaves_it_to_the_weights(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_pairs: object, _task: str) -> Any:
        raise EmbeddingError("out of memory")

    monkeypatch.setattr(judge, "to_read", lambda _found, _read: 0)
    embedder: Any = memory.engine.runtime.embedding.embedder
    monkeypatch.setattr(embedder, "read", fail)
    failed = [judged(memory, question) for question in (*OPEN, *CLEAR)]
    monkeypatch.setattr(embedder, "reads", lambda _task: False)
    assert failed == [judged(memory, question) for question in (*OPEN, *CLEAR)]
    assert all(one.note is None and one.chance is not None for one in failed)


def test_every_embedder_but_the_built_in_one_does_without() -> None:
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as memory:
        assert memory.engine.runtime.reader is None
