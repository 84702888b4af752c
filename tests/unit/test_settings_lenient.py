from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from memstone.config import Settings
from memstone.core.settings.backends import EMBEDDING, companion_normal, read_companion, to_native
from memstone.core.settings.lenient import COMPANION, GATEWAY, gateway_effective
from memstone.errors import InvalidInput
from memstone.model.policy import Policy, RetrievalPolicy

DEFAULT_MODEL = "nomic-embed-text-v1.5"
WRONG: tuple[Any, ...] = (None, "12", [], {}, "")


@pytest.mark.req("O-65", "O-66", "O-67", "O-68", "O-69", "O-70", "X-2")
@pytest.mark.parametrize(
    ("name", "given", "normal"),
    [
        ("memoryEnabled", False, False),
        ("memoryEnabled", "false", True),
        ("memoryEnabled", 0, True),
        ("memoryMaxTokens", 0, 0),
        ("memoryMaxTokens", -1, 0),
        ("memoryMaxTokens", 1.4, 1),
        ("memoryMaxTokens", 1.5, 2),
        ("memoryMaxTokens", 16_000, 16_000),
        ("memoryMaxTokens", 16_000.6, 16_000),
        ("memoryMaxTokens", math.inf, 16_000),
        ("memoryMaxTokens", math.nan, 2_000),
        ("memoryMaxTokens", True, 2_000),
        ("memoryRetentionDays", 0, 1),
        ("memoryRetentionDays", 0.4, 1),
        ("memoryRetentionDays", 365.4, 365),
        ("memoryRetentionDays", 10**9, 365),
        ("memoryStrategy", "recent", "recent"),
        ("memoryStrategy", "semantic", "semantic"),
        ("memoryStrategy", "hybrid", "hybrid"),
        ("memoryStrategy", "Recent", "hybrid"),
        ("memoryStrategy", "exact", "hybrid"),
        ("skillsEnabled", True, True),
        ("skillsEnabled", 1, False),
        *[("memoryMaxTokens", wrong, 2_000) for wrong in WRONG],
        *[("memoryRetentionDays", wrong, 30) for wrong in WRONG],
        *[("memoryStrategy", wrong, "hybrid") for wrong in WRONG],
        *[("memoryEnabled", wrong, True) for wrong in WRONG],
        *[("skillsEnabled", wrong, False) for wrong in WRONG],
    ],
)
def test_what_a_gateway_is_given_is_brought_into_form(name: str, given: Any, normal: Any) -> None:
    assert GATEWAY[name].normal(given) == normal


@pytest.mark.req("O-65", "O-66", "O-67", "O-68", "O-69", "X-2")
def test_a_gateway_has_five_settings_with_defaults() -> None:
    visible = ("memoryEnabled", "memoryMaxTokens", "memoryRetentionDays", "memoryStrategy", "skillsEnabled")
    assert {name: GATEWAY[name].normal(None) for name in visible} == {
        "memoryEnabled": True,
        "memoryMaxTokens": 2_000,
        "memoryRetentionDays": 30,
        "memoryStrategy": "hybrid",
        "skillsEnabled": False,
    }


@pytest.mark.req("O-71", "O-68", "D-5", "O-27")
def test_memory_is_on_only_where_there_is_a_budget() -> None:
    gateway = Settings.of({"preset": "gateway"}).as_policy()
    assert gateway_effective(gateway) == {
        "enabled": True,
        "maxTokens": 2_000,
        "retrievalStrategy": "hybrid",
        "autoSummarize": False,
        "persistAcrossModels": False,
        "retentionDays": 30,
        "scope": "apiKey",
    }
    assert not gateway_effective(Policy(retrieval=RetrievalPolicy(token_budget=0)))["enabled"]
    assert not gateway_effective(Policy(enabled=False))["enabled"]
    recent = gateway_effective(Policy(retrieval=RetrievalPolicy(strategy="recent")))
    assert recent["retrievalStrategy"] == "exact"


@pytest.mark.req("S-41", "S-42", "S-43", "S-44", "S-45", "S-46", "S-47", "S-48", "S-49", "S-50")
@pytest.mark.parametrize(
    ("name", "default", "table"),
    [
        ("enabled", True, {False: False, "no": True}),
        ("embeddingBackend", "local", {"mlx": "local", "remote": "remote", "none": "none", "cuda": "local"}),
        ("embeddingModel", DEFAULT_MODEL, {"bge-small": "bge-small", " x ": "x", " ": DEFAULT_MODEL}),
        ("extractionMode", "sessionEnd", {"manual": "manual", "always": "sessionEnd"}),
        ("relevanceGateMode", "heuristic", {"off": "off", "llm": "llm", "on": "heuristic"}),
        ("memoryBudgetTokens", 800, {99: 100, 100: 100, 4_000: 4_000, 4_001: 4_000, 800.5: 801, "x": 800}),
        ("summaryDebounceSeconds", 60, {9: 10, 10: 10, 3_600: 3_600, 3_601: 3_600, "x": 60}),
        ("consolidationIntervalHours", 24, {0: 1, 1: 1, 168: 168, 169: 168, "x": 24}),
        ("salienceFloor", 0.2, {-0.1: 0, 0: 0, 0.35: 0.35, 1: 1, 1.1: 1, "x": 0.2}),
        ("episodeRetentionDays", 365, {-1: 0, 0: 0, 3_650: 3_650, 3_651: 3_650, "x": 365}),
    ],
)
def test_what_a_companion_is_given_is_brought_into_form(name: str, default: Any, table: dict[Any, Any]) -> None:
    assert companion_normal({})[name] == default
    nothing: tuple[Any, ...] = (None, [], {})
    for wrong in nothing:
        assert companion_normal({name: wrong})[name] == default
    for value, normal in table.items():
        assert companion_normal({name: value})[name] == normal, value


@pytest.mark.req("S-51")
def test_a_companion_has_ten_settings_and_no_more() -> None:
    assert len(companion_normal({})) == 10
    assert companion_normal({"decayLambda": 3, "enabled": False}) == {**companion_normal({}), "enabled": False}
    assert set(companion_normal({})) == {*COMPANION, *EMBEDDING}


@pytest.mark.req("S-52", "R-19", "S-41")
@pytest.mark.parametrize("written", [None, "", "{", "[]", "null", "7", '"text"', b"\xff\xfe\x00"])
def test_without_a_readable_file_there_are_defaults_and_nothing_is_written(
    written: str | bytes | None, tmp_path: Path
) -> None:
    file = tmp_path / "memory.json"
    if isinstance(written, bytes):
        file.write_bytes(written)
    elif written is not None:
        file.write_text(written, "utf-8")
    before = file.read_bytes() if file.exists() else None

    policy = Settings.load(file, env={}).as_policy()

    assert policy == Settings.of({"preset": "companion"}).as_policy()
    assert (file.read_bytes() if file.exists() else None) == before
    assert list(tmp_path.iterdir()) == ([file] if written is not None else [])


@pytest.mark.req("S-42", "S-43", "S-44", "S-45", "S-46", "S-47", "S-48", "S-49", "S-50")
def test_the_file_of_a_companion_is_a_configuration(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    values = {
        "enabled": False,
        "embeddingBackend": "remote",
        "embeddingModel": "bge-m3",
        "extractionMode": "manual",
        "relevanceGateMode": "off",
        "memoryBudgetTokens": 9_999,
        "summaryDebounceSeconds": 1,
        "consolidationIntervalHours": 12,
        "salienceFloor": 0.5,
        "episodeRetentionDays": 0,
        "unknown": "left out",
    }
    file.write_text(json.dumps(values), "utf-8")

    settings = Settings.load(file, env={"MEMSTONE_EMBEDDER__CONFIG__API_KEY": "k"})
    policy = settings.as_policy()

    assert (settings.preset, settings.embedder.provider) == ("companion", "openai")
    assert settings.embedder.config == {"model": "bge-m3", "api_key": "k"}
    assert (policy.enabled, policy.retrieval.gate, policy.retrieval.token_budget) == (False, "off", 4_000)
    assert (policy.formation.mode, policy.formation.debounce_seconds) == ("manual", 10)
    assert (policy.upkeep.interval_hours, policy.upkeep.salience_floor) == (12, 0.5)
    assert policy.upkeep.retain_days == ()
    assert Settings.load(tmp_path / "none.json", env={}).embedder.provider == "local"


@pytest.mark.req("S-42")
def test_without_embeddings_a_companion_searches_by_text(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    file.write_text('{"embeddingBackend": "none"}', "utf-8")
    assert Settings.load(file, env={}).embedder.provider == "none"
    assert read_companion('{"embeddingBackend": "none"}')["embeddingBackend"] == "none"


def test_names_of_other_products_become_the_same_values() -> None:
    assert to_native({"memoryMaxTokens": 99_999, "memoryStrategy": "recent", "memoryRetentionDays": 7}) == {
        "context.budget": 16_000,
        "context.strategy": "recent",
        "recall.visible_days": 7,
    }
    assert to_native({"episodeRetentionDays": 90, "relevanceGateMode": "off", "extractionMode": "sessionEnd"}) == {
        "upkeep.retain_days": {"episode": 90, "turn": 90},
        "context.gate": "always",
        "write.mode": "session_end",
    }
    assert to_native({"disableMemory": True, "searchMemoryEnabled": True}) == {
        "policy.enabled": False,
        "policy.search_tool": True,
    }


def test_the_same_setting_twice_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="memoryMaxTokens and memoryBudgetTokens are the same setting"):
        to_native({"memoryMaxTokens": 1, "memoryBudgetTokens": 100})


@pytest.mark.parametrize("name", sorted(EMBEDDING))
def test_what_embeds_is_configuration(name: str) -> None:
    with pytest.raises(InvalidInput, match="is configuration") as caught:
        to_native({name: "local"})
    assert "reindex" in caught.value.hint


def test_every_foreign_name_has_a_value_that_can_be_stored() -> None:
    for name, one in {**GATEWAY, **COMPANION}.items():
        assert to_native({name: one.normal(None)})
