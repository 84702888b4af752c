from __future__ import annotations

import pytest

from retain.model.retrieval import PRESETS, SECTIONS


def test_every_profile_has_its_own_values() -> None:
    bounds = {name: (one.strategy, one.limit, one.token_budget, one.mmr) for name, one in PRESETS.items()}
    assert bounds == {
        "gateway": ("hybrid", None, 2000, None),
        "companion": ("hybrid", None, 800, 0.85),
        "shared": ("vector", 10, None, None),
        "facts": ("hybrid", 100, None, None),
    }


@pytest.mark.parametrize(
    ("profile", "limit", "depth"),
    [("gateway", 20, 100), ("gateway", 300, 300), ("shared", 10, 10), ("facts", 100, 400), ("facts", 5, 60)],
)
def test_how_many_candidates_are_looked_at(profile: str, limit: int, depth: int) -> None:
    assert PRESETS[profile].depth(limit) == depth


def test_the_shared_profile_keeps_what_is_above_eight_tenths() -> None:
    least = PRESETS["shared"].min_score
    assert least is not None
    assert 0.8 < least <= 0.8 + 1e-9
    assert PRESETS["facts"].min_score is PRESETS["gateway"].min_score is None


@pytest.mark.parametrize(
    ("budget", "limits"),
    [(800, [13, 6, 4]), (100, [3, 2, 2]), (0, [3, 2, 2]), (4000, [15, 8, 6])],
)
def test_a_budget_says_how_many_of_each_section_fit(budget: int, limits: list[int]) -> None:
    assert [section.limit(budget) for section in SECTIONS] == limits
    assert [section.candidates(budget) for section in SECTIONS] == [2 * limit for limit in limits]
