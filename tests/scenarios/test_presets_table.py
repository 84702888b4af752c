"""The presets, value by value, and what they do."""

from __future__ import annotations

from typing import Any

import pytest

from memstone import Memory
from memstone.config import Settings
from memstone.model.policy import PRESETS, Policy
from memstone.testing.clock import FakeClock

ABOVE_08 = 0.8 + 1e-6
NAMES = ("gateway", "companion", "shared", "facts")

TABLE: dict[str, tuple[Any, Any, Any, Any]] = {
    "enabled": (True, True, True, True),
    "identity.sources": (("api_key",), ("body",), ("header:x-openwebui-user-id",), ("body",)),
    "identity.nobody": ("off", "owner", "off", "error"),
    "formation.mode": ("background", "session_end", "background", "inline"),
    "formation.debounce_seconds": (60, 60, 60, 60),
    "formation.digest": (False, True, False, False),
    "formation.without_llm": ("rules", "rules", "rules", "rules"),
    "formation.max_attempts": (3, 3, 3, 3),
    "curation.strategies": (("pattern",), (), (), ()),
    "curation.roles": (("user", "assistant"), ("user", "assistant"), ("user",), ("user", "assistant")),
    "curation.neighbours": (5, 5, 10, 5),
    "retrieval.gate": ("profile", "heuristic", "profile", "profile"),
    "retrieval.profile_tokens": (1_000, 1_000, 1_000, 1_000),
    "retrieval.strategy": ("", "", "vector", ""),
    "strategy": ("hybrid", "hybrid", "hybrid", "hybrid"),
    "recall.mmr": (None, 0.85, None, None),
    "recall.layers": (("fact", "turn"), ("fact",), ("fact", "turn"), ("fact", "turn")),
    "retrieval.candidates": (100, 40, 10, 40),
    "retrieval.limit": (100, 100, 10, 100),
    "retrieval.sections": (False, True, False, True),
    "retrieval.min_score": (None, 0.1, ABOVE_08, None),
    "retrieval.turn_min_score": (None, 0.01, None, None),
    "retrieval.token_budget": (2_000, 800, 16_000, 1_400),
    "inject.position": ("split", "split", "system_merge", "split"),
    "inject.chat": (True, False, True, True),
    "inject.agents": (True, True, True, True),
    "inject.extras": ((), (), ("memories",), ("events",)),
    "known_scope": (("user_id",), ("user_id", "agent_id"), ("user_id",), ("user_id",)),
    "dedupe_scope": (("user_id",), ("user_id", "agent_id"), ("user_id",), ("user_id", "agent_id", "run_id")),
    "recall.visible_days": (30, None, None, None),
    "upkeep.retain_days": ((), (("episode", 365), ("turn", 365)), (), ()),
    "recall.decay_days": (None, 30, None, None),
    "upkeep.evict": (False, True, False, False),
    "upkeep.salience_floor": (0.2, 0.2, 0.2, 0.2),
    "upkeep.idle_days": (30, 30, 30, 30),
    "upkeep.ttl": ((), (), (), ()),
    "upkeep.interval_hours": (24, 24, 24, 24),
    "recall.bootstrap_min": (0, 0, 5, 5),  # a store of facts has nothing under "*" unless somebody puts it there
}


def value(policy: Policy, path: str) -> Any:
    found: Any = policy
    for step in path.split("."):
        found = getattr(found, step)
    return found


@pytest.mark.req("X-2", "X-4", "X-5", "X-8", "X-9", "X-15", "X-42")
@pytest.mark.parametrize("path", sorted(TABLE))
def test_the_values_of_the_presets(path: str) -> None:
    policies = [Settings.of({"preset": name}).as_policy() for name in NAMES]
    assert tuple(value(policy, path) for policy in policies) == TABLE[path]


def test_the_defaults_of_the_presets_need_nothing_but_this_machine() -> None:
    assert {PRESETS[name].embedder for name in NAMES} == {"local"}
    assert {PRESETS[name].store for name in NAMES} == {"sqlite"}
    assert PRESETS["shared"].env_embedder == "mistral-embed"
    assert PRESETS["facts"].env_embedder == "text-embedding-3-small"


@pytest.mark.req("X-6")
def test_a_minimum_belongs_to_the_model_it_was_found_for() -> None:
    shared = PRESETS["shared"].retrieval
    assert shared.minimum("openai:mistral-embed") == ABOVE_08
    assert shared.minimum("local:all-minilm-l6-v2-int8") == 0.3
    companion = PRESETS["companion"].retrieval
    assert (companion.minimum("any:model"), companion.minimum("any:model", turns=True)) == (0.1, 0.01)
    assert companion.minimum("local:all-minilm-l6-v2-int8") == 0
    values = {"preset": "shared", "context": {"min_scores": {"openai:other": 0.5}}}
    configured = Settings.of(values).as_policy().retrieval
    assert configured.minimum("openai:other") == 0.5
    assert configured.minimum("local:all-minilm-l6-v2-int8") == 0.3


def test_what_a_preset_says_can_be_configured_otherwise() -> None:
    values = {
        "preset": "gateway",
        "identity": {"sources": ["header:x-user", "body"], "nobody": "owner", "owner": "me"},
        "inject": {"position": "system_first", "chat": False},
        "extract": {"strategies": ["facts"], "neighbours": 8},
        "quota": {"user_memories": 10},
    }
    policy = Settings.of(values).as_policy()
    assert (policy.identity.sources, policy.identity.nobody) == (("header:x-user", "body"), "owner")
    assert (policy.inject.position, policy.inject.chat, policy.inject.agents) == ("system_first", False, True)
    assert (policy.curation.strategies, policy.curation.neighbours) == (("facts",), 8)
    assert policy.quotas.user_memories == 10


@pytest.mark.req("X-6", "P-9")
def test_with_the_built_in_model_shared_shows_what_belongs_to_a_question() -> None:
    config = {
        "preset": "shared",
        "store": {"url": "memory:"},
        "write": {"mode": "inline"},
        "context": {"gate": "always"},
    }
    with Memory(config, clock=FakeClock()) as memory:
        for text in ("My dog is called Rex", "I am allergic to peanuts", "I work as a nurse"):
            memory.add(text, user_id="alice", infer=False)
        assert "Rex" in memory.context("What is my dog called?", user_id="alice", gate="always").text
        assert "Rex" not in memory.context("What is the capital of Peru?", user_id="alice", gate="always").text
        assert "Rex" in memory.context("What is the capital of Peru?", user_id="alice", gate="profile").stable


@pytest.mark.req("X-2")
@pytest.mark.parametrize("name", NAMES)
def test_every_preset_remembers_and_says_what_it_costs(name: str) -> None:
    config = {
        "preset": name,
        "store": {"url": "memory:"},
        "write": {"mode": "inline"},
        "context": {"gate": "always", "false_injection": 0},
    }
    with Memory(config, clock=FakeClock()) as memory:
        memory.add("I live in Oslo", user_id="alice", agent_id="bot")
        pack = memory.context("Where do I live?", user_id="alice", agent_id="bot")
        assert "Oslo" in pack.text
        assert pack.tokens > 0
        receipt = memory.receipt(pack.receipt_id)
        assert receipt is not None
        assert receipt["tokens"] == pack.tokens
        assert receipt["chosen"]
