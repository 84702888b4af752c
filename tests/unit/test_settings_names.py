from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memstone.config import Settings
from memstone.core.settings.backends import native_names, to_native, view_settings
from memstone.core.settings.lenient import apply_values, base_source, merge_sources, parse_values, scope_keys
from memstone.core.settings.names import SETTINGS, find_setting, validate_setting
from memstone.errors import ConfigError, InvalidInput
from memstone.model.policy import Policy
from memstone.model.scope import Scope

CONFIGURED: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "policy.enabled": ((True, False), (None, "perhaps", 7)),
    "policy.language": (("", "nb", "pt-BR"), ("norwegian bokmål", 7)),
    "policy.strategy": (("recent", "vector"), ("newest", "")),
    "policy.min_score": ((None, 0, 1, 0.5), (-0.1, 1.1, "x")),
    "context.budget": ((0, 16_000), (-1, 16_001, 1.5, "much")),
    "context.gate": (("profile", "heuristic", "llm", "always", "never"), ("sometimes", "")),
    "context.profile_tokens": ((0, 16_000), (-1, 16_001, 1.5)),
    "context.recalled_turns": ((0, 100), (-1, 101)),
    "context.recall_score": ((0, 0.5, 1), (-0.1, 1.1)),
    "context.excerpt_chars": ((80, 4_000), (79, 4_001)),
    "context.embed_seconds": ((0.1, 60), (0, 61)),
    "context.false_injection": ((0, 0.99), (-0.1, 1)),
    "context.candidates": ((1, 10_000), (0, -1)),
    "context.min_scores": (({"openai:x": 0.4}, {}), ({"openai:x": "much"}, [])),
    "recall.decay_days": ((0.1, 30, None), (0, -1)),
    "recall.visible_days": ((1, None), (0, -5)),
    "recall.mmr": ((0, 1, None), (-0.1, 2)),
    "recall.bootstrap_min": ((0, 5), (-1, None)),
    "recall.layers": ((["fact"], ["turn", "fact", "episode"]), ([], ["facts"], None)),
    "write.mode": (("inline", "manual"), ("later",)),
    "write.debounce_seconds": ((0, 3_600), (-1, 3_601)),
    "write.max_attempts": ((1, 100), (0, 101)),
    "upkeep.interval_hours": ((0.1, 168), (0, 169)),
    "upkeep.salience_floor": ((0, 1), (-0.1, 1.1)),
    "upkeep.retain_days": (({"turn": 5}, {}), ({"turns": 5}, 5, {"turn": "x"})),
    "upkeep.ttl": (({"episodic": 30}, {}), ({"fact": 30},)),
    "upkeep.keep_vectors": ((True, False), ("x",)),
    "extract.timezone": (("Europe/Oslo", "UTC"), ("Oslo", "", 7)),
    "extract.roles": ((["user"], []), (["system"], "user", [{}], ["user", 7])),
    "extract.strategies": ((["pattern"], ["pattern", "facts"]), (["magic"], "pattern")),
    "extract.categories": ((["work", "food"], {"work": "jobs"}), ([{}], {"": "x"}, 7, {"x": 7})),
    "extract.redact": (({"email": "mask"}, {}), ({"email": "hide"}, {"shoe": "mask"})),
    "extract.attachments": (("reference", "refuse"), ("drop",)),
    "extract.neighbours": ((1, 50), (0, 51)),
    "quota.user_memories": ((0, 10, None), (-1, 1.5)),
    "inject.position": (("split", "system_merge"), ("middle",)),
}


@pytest.mark.req("O-64")
@pytest.mark.parametrize("name", sorted(CONFIGURED))
def test_a_stored_setting_may_be_what_the_configuration_may_be(name: str) -> None:
    good, bad = CONFIGURED[name]
    section, key = name.split(".")
    for value in good:
        stored = apply_values(Policy(), parse_values({name: validate_setting(name, value)})[0])
        configured = Settings.of({section: {key: value}}).as_policy()
        if value is not None:
            assert SETTINGS[name].of(stored) == SETTINGS[name].of(configured), value
    for value in bad:
        with pytest.raises(InvalidInput, match=name) as caught:
            validate_setting(name, value)
        assert caught.value.hint.startswith("expected ")
        with pytest.raises(ConfigError):
            Settings.of({section: {key: value}})


@pytest.mark.parametrize(
    ("name", "value"),
    [("policy.enabled", "yes"), ("policy.enabled", 1), ("context.budget", "800"), ("context.budget", None)],
)
def test_what_a_configuration_converts_is_refused_here(name: str, value: Any) -> None:
    section, key = name.split(".")
    Settings.of({section: {key: value}})
    with pytest.raises(InvalidInput):
        validate_setting(name, value)


def test_every_stored_setting_is_one_of_the_configuration_and_of_the_policy() -> None:
    written = Settings.of({}).model_dump()
    for name, setting in SETTINGS.items():
        section, key = name.split(".")
        assert key in written[section], name
        assert setting.form.read(setting.form.to_json(setting.of(Policy()))) == setting.of(Policy()), name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("context.budgt", "did you mean context.budget?"),
        ("upkeep.salience_flor", "did you mean upkeep.salience_floor?"),
        ("store.url", "docs/guides/settings.md lists the settings that can be stored"),
        (7, "docs/guides/settings.md lists the settings that can be stored"),
    ],
)
def test_an_unknown_name_is_an_error_that_helps(name: Any, hint: str) -> None:
    with pytest.raises(InvalidInput, match="unknown setting") as caught:
        find_setting(name)
    assert caught.value.hint == hint


def test_settings_are_a_mapping_and_names_a_list() -> None:
    with pytest.raises(InvalidInput, match="mapping"):
        to_native(["policy.enabled"])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="list"):
        native_names("policy.enabled")
    assert native_names(["timezone", "memoryEnabled", "context.gate"]) == [
        "extract.timezone",
        "policy.enabled",
        "context.gate",
    ]


def test_what_cannot_be_read_costs_nothing_else() -> None:
    read, unread = parse_values({"context.budget": 500, "context.budgets": 1, "policy.enabled": "x", "upkeep.ttl": 5})
    assert read == {"context.budget": 500}
    assert unread == ["context.budgets", "policy.enabled", "upkeep.ttl"]


def test_the_agent_stands_over_the_user_and_the_user_over_the_tenant() -> None:
    layers: list[tuple[str, dict[str, Any]]] = [
        ("tenant", {"context.budget": 1, "policy.enabled": False, "write.mode": "manual"}),
        ("user", {"context.budget": 2, "policy.enabled": True}),
        ("agent", {"context.budget": 3}),
    ]
    values, sources = merge_sources(layers)
    assert values == {"context.budget": 3, "policy.enabled": True, "write.mode": "manual"}
    assert sources == {"context.budget": "agent", "policy.enabled": "user", "write.mode": "tenant"}
    assert scope_keys(Scope("t", "alice", "bot", "r1")) == ["", "user:alice", "agent:bot"]
    assert scope_keys(Scope("t")) == [""]


def test_applying_nothing_changes_nothing() -> None:
    policy = Policy()
    assert apply_values(policy, {}) is policy
    changed = apply_values(policy, {"context.budget": 5, "policy.learns": False})
    assert changed == replace(policy, retrieval=replace(policy.retrieval, token_budget=5), learns=False)


def test_where_a_value_comes_from_that_nobody_stored() -> None:
    policy = Settings.of({"preset": "gateway", "context": {"limit": 7}}).as_policy()
    assert base_source(policy, "context.limit") == "configuration"
    assert base_source(policy, "context.budget") == "preset"
    assert base_source(policy, "context.cache_seconds") == "default"
    assert base_source(policy, "write.mode") == "preset"
    assert base_source(policy, "extract.strategies") == "preset"


def test_a_policy_is_shown_in_every_vocabulary() -> None:
    policy = Settings.of({"preset": "companion"}).as_policy()
    assert {name: value for name, (_, value) in view_settings(policy, "companion").items()} == {
        "enabled": True,
        "extractionMode": "sessionEnd",
        "relevanceGateMode": "heuristic",
        "memoryBudgetTokens": 800,
        "summaryDebounceSeconds": 60,
        "consolidationIntervalHours": 24,
        "salienceFloor": 0.2,
        "episodeRetentionDays": 365,
    }
    assert view_settings(policy, "agent")["disableMemory"] == ("policy.enabled", False)
    assert set(view_settings(policy, "native")) == set(SETTINGS)
    with pytest.raises(InvalidInput, match="unknown names"):
        view_settings(policy, "martian")
