from __future__ import annotations

from collections.abc import Callable

import pytest

from memstone.config import Settings
from memstone.errors import ConfigError
from memstone.model.policy import PRESETS

FORMER = {"MEMSTONE_PROFILE": "gateway"}


@pytest.mark.req("X-5", "X-4")
def test_a_preset_is_a_set_of_values() -> None:
    gateway, companion = PRESETS["gateway"].retrieval, PRESETS["companion"].retrieval
    shared = PRESETS["shared"].retrieval
    assert (gateway.token_budget, gateway.candidates, gateway.gate) == (2000, 100, "profile")
    assert (companion.token_budget, companion.gate) == (800, "heuristic")
    assert (shared.strategy, shared.limit, shared.gate) == ("vector", 10, "profile")
    assert shared.min_score is not None
    assert 0.8 < shared.min_score < 0.8 + 1e-5


@pytest.mark.req("X-5", "X-17", "S-59")
def test_settings_stand_over_the_preset() -> None:
    plain = Settings.of({}).as_policy()
    assert plain.retrieval == PRESETS["facts"].retrieval
    assert plain.recall == PRESETS["facts"].recall
    values = {"preset": "companion", "context": {"budget": 500}, "recall": {"half_life_days": 30 * 0.6931471805599453}}
    chosen = Settings.of(values).as_policy()
    assert (chosen.retrieval.token_budget, chosen.retrieval.gate) == (500, "heuristic")
    assert chosen.recall.decay_days == pytest.approx(30)
    assert chosen.recall.mmr == 0.85


@pytest.mark.req("X-33", "X-4", "X-17")
@pytest.mark.parametrize(
    "given",
    [
        {"preset": "pirate"},
        {"context": {"budget": 16_001}},
        {"context": {"budget": -1}},
        {"context": {"gate": "sometimes"}},
        {"recall": {"decay_days": 0}},
        {"recall": {"decay_days": 3, "half_life_days": 2}},
    ],
)
def test_what_cannot_be_is_an_error(given: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Settings.of(given)


@pytest.mark.parametrize("load", [lambda: Settings.of({"profile": "gateway"}), lambda: Settings.load(None, FORMER)])
def test_the_former_name_of_a_preset_is_refused_with_the_new_one(load: Callable[[], Settings]) -> None:
    with pytest.raises(ConfigError, match=r"(?i)profile") as caught:
        load()
    assert "preset" in caught.value.hint.casefold()
