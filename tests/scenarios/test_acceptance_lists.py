"""Lists and budgets as a gateway promises them: pages, a search in them, counts over all, and one memory at least."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.language.text.normal import estimate_tokens
from memstone.literals import CallerKind
from memstone.results import MemoryList
from memstone.testing.clock import FakeClock

TOTAL: Final = 45
GATEWAY: Final = {"preset": "gateway", "store": {"url": "memory:"}, "embedder": {"provider": "hash"}}


@pytest.fixture
def memory() -> Iterator[Memory]:
    settings = {**GATEWAY, "write": {"mode": "manual"}, "context": {"gate": "always", "false_injection": 0}}
    with Memory(settings, clock=FakeClock()) as memory:
        yield memory


@pytest.fixture
def filled(memory: Memory) -> Memory:
    """Entries of one key, every third a decision, and one of another key."""
    for number in range(TOTAL):
        kind: CallerKind = "factual" if number % 3 else "episodic"
        memory.add(f"entry {number}", user_id="key:1", kind=kind, key=f"note:{number}", infer=False)
    memory.add("entry of somebody else", user_id="key:2", infer=False)
    return memory


def page_of(memory: Memory, **more: Any) -> tuple[list[str], MemoryList]:
    answer = memory.get_all(user_id="key:1", counts=True, **more)
    return [one["memory"] for one in answer["results"]], answer


@pytest.mark.req("O-13")
@pytest.mark.parametrize("limit", [1, 7, 45, 50])
def test_pages_put_together_are_the_list_newest_first(filled: Memory, limit: int) -> None:
    pages = [page_of(filled, limit=limit, page=number)[0] for number in range(1, -(-TOTAL // limit) + 1)]
    assert [text for page in pages for text in page] == [f"entry {number}" for number in reversed(range(TOTAL))]
    offsets = [page_of(filled, limit=limit, offset=offset)[0] for offset in range(0, TOTAL, limit)]
    assert offsets == pages


@pytest.mark.req("O-13")
def test_an_offset_wins_over_a_page_and_says_which_page_it_is(filled: Memory) -> None:
    texts, answer = page_of(filled, limit=10, page=1, offset=25)
    assert texts[0] == "entry 19"
    assert (answer["offset"], answer["page"]) == (25, 3)


@pytest.mark.req("O-13", "R-7")
@pytest.mark.parametrize("beyond", [{"page": 6}, {"page": 1_000}, {"offset": TOTAL}, {"offset": 100_000}])
def test_beyond_the_end_there_is_nothing_and_the_counts_still_hold(filled: Memory, beyond: dict[str, int]) -> None:
    texts, answer = page_of(filled, limit=10, **beyond)
    assert texts == []
    assert (answer["total"], answer["by_kind"]) == (TOTAL, {"factual": 30, "episodic": 15})


@pytest.mark.req("O-13")
def test_a_search_in_a_list_narrows_the_pages_and_the_counts(filled: Memory) -> None:
    texts, answer = page_of(filled, q="ENTRY 4", limit=2)
    assert texts == ["entry 44", "entry 43"]
    assert (answer["total"], answer["by_kind"]) == (6, {"factual": 5, "episodic": 1})
    assert page_of(filled, q="note:44")[0] == ["entry 44"], "keys are looked at as well"
    assert page_of(filled, q="entry 4", kind="episodic")[1]["total"] == 1
    assert page_of(filled, q="nothing like that")[1]["total"] == 0
    assert filled.get_all(user_id="key:2", counts=True)["total"] == 1


LARGE: Final = "The garden has a pond. " * 60
SMALL: Final = "The garden is green"


def text_of(memory: Memory, memory_id: str) -> str:
    found = memory.get(memory_id)
    assert found is not None
    return str(found["memory"])


def shown(memory: Memory, budget: int) -> list[str]:
    pack = memory.context("garden", user_id="key:1", budget=budget)
    return [text_of(memory, citation.memory_id) for citation in pack.citations]


@pytest.mark.req("O-52", "O-44")
def test_a_first_memory_beyond_the_budget_is_shown_alone(memory: Memory) -> None:
    for text in (LARGE, f"{LARGE}And a bench."):
        memory.add(text, user_id="key:1", infer=False)
        assert estimate_tokens(text) > 300
    (only,) = shown(memory, 300)
    assert only.startswith(LARGE), "whole, and nothing beside it"
    assert len(shown(memory, 2_000)) == 2


@pytest.mark.req("O-52", "O-43")
def test_what_fits_is_shown_in_order_and_never_more(memory: Memory) -> None:
    for number in range(12):
        memory.add(f"{SMALL} in the year {2000 + number}", user_id="key:1", infer=False)

    amounts = [len(shown(memory, budget)) for budget in (1, 40, 120, 200, 4_000)]

    assert amounts[:2] == [1, 1], "one at least, though its frame alone is more"
    assert 1 < amounts[2] < amounts[3] < amounts[4] == 12
    assert shown(memory, 0) == [], "a budget of nothing is nothing"
    for budget in (120, 200):
        tokens = memory.context("garden", user_id="key:1", budget=budget).tokens
        assert budget - 20 < tokens <= budget, "and no room is left that another would have had"


@pytest.mark.req("O-52", "O-43", "X-4")
def test_the_profile_keeps_to_the_budget_and_is_one_fact_at_least() -> None:
    with Memory({**GATEWAY, "write": {"mode": "manual"}}, clock=FakeClock()) as memory:
        for number in range(12):
            memory.add(f"{SMALL} in the year {2000 + number}", user_id="key:1", infer=False)
        packs = {budget: memory.context("Hello", user_id="key:1", budget=budget) for budget in range(1, 500, 7)}

        amounts = [len(pack.citations) for pack in packs.values()]
        assert (amounts[0], amounts[-1]) == (1, 12)
        assert amounts == sorted(amounts)
        over = {budget: pack.tokens for budget, pack in packs.items() if pack.tokens > budget}
        assert all(len(packs[budget].citations) == 1 for budget in over), over
