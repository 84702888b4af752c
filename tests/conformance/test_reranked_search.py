"""What a search does with the answer of a reranker, and without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from memstone.adapters.rerank.http import HttpReranker
from memstone.core.ranking.fusion import ScoredCandidate
from memstone.engine.recall.ranking import rerank_candidates
from memstone.model.query import ScoreParts
from memstone.ports.io import Io
from memstone.ports.models import Reranker
from memstone.results import Degradation
from memstone.testing.modes import MODES, run
from memstone.testing.wire import WIRE_RERANK_KEY, WireReply, WireServer, fake_cohere

both = pytest.mark.parametrize("mode", MODES)

TEXTS = ["lives in Oslo", "drinks tea", "likes green tea", "has two cats"]
FOUND = [
    ScoredCandidate(seq, score, ScoreParts(semantic=score)) for seq, score in [(7, 0.9), (3, 0.6), (5, 0.4), (1, 0.2)]
]
BY_SEQ = dict(zip([7, 3, 5, 1], TEXTS, strict=True))
Shown = tuple[list[tuple[int, float]], Degradation | None]


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(fake_cohere) as running:
        yield running


def over_http(server: WireServer, io: Io, **options: Any) -> HttpReranker:
    options = {"base_url": f"{server.url}/v2", "model": "rerank-v3.5", "api_key": WIRE_RERANK_KEY, **options}
    return HttpReranker(HttpReranker.Config.model_validate(options), io)


class Told:
    """A reranker that says what it was told to, or raises it."""

    model, destination = "told", "this machine"

    def __init__(self, message: Any) -> None:
        self.said = message
        self.asked: list[tuple[Sequence[str], int]] = []

    async def rerank(self, query: str, documents: Sequence[str], top: int) -> Any:  # noqa: ARG002 - as in the port
        """What it was told to say."""
        self.asked.append((documents, top))
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


def searched(mode: str, make: Callable[[Io], Reranker | None], **options: Any) -> Shown:
    async def scenario(io: Io) -> Shown:
        found, note = await rerank_candidates(make(io), "green tea", list(FOUND), BY_SEQ, **options)
        return [(one.seq, one.score) for one in found], note

    return run(mode, scenario)


AS_THEY_WERE = [(7, 0.9), (3, 0.6), (5, 0.4), (1, 0.2)]


@both
def test_a_search_takes_the_order_of_the_reranker(mode: str, server: WireServer) -> None:
    assert searched(mode, lambda io: over_http(server, io)) == ([(5, 1.0), (3, 0.5), (7, 0.0), (1, 0.0)], None)


@pytest.mark.req("N-11")
@both
def test_what_is_not_mentioned_follows_as_it_stood_and_never_with_a_better_score(mode: str) -> None:
    assert searched(mode, lambda _: Told([(3, 0.3), (2, 0.8)])) == ([(5, 0.8), (1, 0.3), (7, 0.3), (3, 0.3)], None)
    assert searched(mode, lambda _: Told([])) == (AS_THEY_WERE, None)


@both
def test_the_closer_look_is_part_of_the_score_and_the_rest_is_kept(mode: str) -> None:
    found, _ = run(mode, lambda _: rerank_candidates(Told([(1, 0.7)]), "tea", list(FOUND), BY_SEQ))
    assert found[0].parts == ScoreParts(semantic=0.6, rerank=0.7)
    assert found[1].parts == ScoreParts(semantic=0.9)
    assert FOUND[1] == ScoredCandidate(3, 0.6, ScoreParts(semantic=0.6))


@both
def test_scores_without_bounds_keep_their_order_and_end_between_0_and_1(mode: str) -> None:
    found, note = searched(mode, lambda _: Told([(0, -800.0), (1, 90.0), (2, 0.0), (3, 91.0)]))
    assert (found, note) == ([(1, 1.0), (3, 1.0), (5, 0.5), (7, 0.0)], None)


@pytest.mark.req("N-11")
@both
@pytest.mark.parametrize(
    "reply",
    [
        WireReply(500),
        WireReply(401, json={"message": f"invalid api token {WIRE_RERANK_KEY}"}),
        WireReply(delay=600, json={"results": []}),
        WireReply(json={"results": [{"index": 0}]}),
    ],
)
def test_a_service_that_fails_leaves_the_order_and_the_search_says_why(
    mode: str, reply: WireReply, server: WireServer
) -> None:
    server.script(reply)
    found, note = searched(mode, lambda io: over_http(server, io, timeout=0.2))
    assert found == AS_THEY_WERE
    assert note is not None
    assert note["channel"] == "rerank"
    assert note["code"] in ("backend_unavailable", "authentication_failed", "backend_timeout", "backend")
    assert WIRE_RERANK_KEY not in str(note)


@both
@pytest.mark.parametrize(
    "said",
    [[(0, 0.5), (0, 0.4)], [(4, 0.5)], [(-1, 0.5)], [(0, float("nan"))], [0, 1], None, [("0", 1.0)], OSError("gone")],
)
def test_nonsense_of_any_reranker_leaves_the_order_and_is_said(mode: str, said: Any) -> None:
    found, note = searched(mode, lambda _: Told(said))
    assert found == AS_THEY_WERE
    assert note is not None
    assert (note["channel"], note["code"]) == ("rerank", "backend")


@both
def test_without_a_reranker_or_texts_nobody_is_asked(mode: str) -> None:
    answer = Told([(0, 1.0)])
    assert searched(mode, lambda _: None) == (AS_THEY_WERE, None)
    assert run(mode, lambda _: rerank_candidates(answer, "tea", list(FOUND), {})) == (FOUND, None)
    assert run(mode, lambda _: rerank_candidates(answer, "tea", [], BY_SEQ)) == ([], None)
    assert answer.asked == []


@both
def test_only_candidates_with_a_text_are_sent_and_only_as_many_wanted(mode: str) -> None:
    answer = Told([(1, 0.9), (0, 0.8)])
    found, _ = run(mode, lambda _: rerank_candidates(answer, "tea", list(FOUND), {3: "drinks tea", 1: "cats"}, top=2))
    assert answer.asked == [(["drinks tea", "cats"], 2)]
    assert [one.seq for one in found] == [1, 3, 7, 5]
