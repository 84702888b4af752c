"""The environment variables of a gateway."""

from __future__ import annotations

from typing import Any

import pytest

from memstone import Memory
from memstone.config import Settings
from memstone.errors import ConfigError


@pytest.mark.req("N-9")
def test_the_variables_of_a_gateway_are_settings_here() -> None:
    env = {
        "MEMORY_EMBEDDING_CACHE_TTL_MS": "60000",
        "MEMORY_EMBEDDING_CACHE_MAX": "50",
        "MEMORY_VEC_TOP_K": "33",
        "MEMORY_RRF_K": "10",
        "MEMORY_VEC_QUANTIZATION": "int8",
        "MEMORY_TYPED_DECAY_ENABLED": "true",
        "MEMORY_TYPED_DECAY_EPISODIC_DAYS": "14",
        "MEMORY_TYPED_DECAY_ACCESS_IMMUNITY": "5",
        "MEMORY_TYPED_DECAY_SWEEP_INTERVAL": "7200000",
    }
    settings = Settings.load(env=env)
    assert settings.embedding_cache.model_dump() == {"entries": 50, "seconds": 60.0}
    assert settings.as_policy().retrieval.candidates == 33
    assert settings.as_policy().recall.rrf_k == 10
    assert settings.vector_store.config == {"quant": "int8"}
    upkeep = settings.as_policy().upkeep
    assert (upkeep.ttl, upkeep.immune_uses, upkeep.interval_hours) == ((("episodic", 14),), 5, 2.0)


@pytest.mark.req("N-9")
def test_their_defaults_are_the_defaults_here() -> None:
    policy = Settings.load(env={}).as_policy()
    assert Settings.load(env={}).embedding_cache.model_dump() == {"entries": 1_000, "seconds": 300.0}
    assert (policy.recall.rrf_k, policy.upkeep.ttl, policy.upkeep.immune_uses) == (60, (), 3)
    decaying = Settings.load(env={"MEMORY_TYPED_DECAY_ENABLED": "1"}).as_policy().upkeep
    assert decaying.ttl == (("episodic", 30),)
    off = Settings.load(env={"MEMORY_TYPED_DECAY_EPISODIC_DAYS": "3", "MEMORY_VEC_QUANTIZATION": "none"})
    assert off.as_policy().upkeep.ttl == ()
    assert off.vector_store.config == {}


@pytest.mark.req("N-9")
def test_memstone_variables_are_stronger_than_those_and_those_than_a_file(tmp_path: Any) -> None:
    file = tmp_path / "memstone.toml"
    file.write_text("[recall]\nrrf_k = 1\nmmr = 0.5\n[embedding_cache]\nentries = 7\n")
    env = {"MEMORY_RRF_K": "2", "MEMORY_EMBEDDING_CACHE_MAX": "8", "MEMSTONE_RECALL__RRF_K": "3"}
    settings = Settings.load(file, env)
    assert (settings.recall.rrf_k, settings.recall.mmr, settings.embedding_cache.entries) == (3, 0.5, 8)


@pytest.mark.req("N-9")
@pytest.mark.parametrize("name", ["MEMORY_RRF_K", "MEMORY_EMBEDDING_CACHE_TTL_MS", "MEMORY_VEC_QUANTIZATION"])
def test_a_variable_that_cannot_be_read_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        Settings.load(env={name: "lots"})


@pytest.mark.req("N-9")
def test_qdrant_variables_say_where_it_is_and_do_not_choose_it() -> None:
    env = {"QDRANT_URL": "https://q.example.com", "QDRANT_API_KEY": "k", "QDRANT_COLLECTION": "mine"}
    assert Settings.load(env=env).vector_store.provider == "local"
    chosen = Settings.load(env={**env, "MEMSTONE_VECTOR_STORE__PROVIDER": "qdrant"})
    assert chosen.vector_store.provider == "qdrant"
    assert chosen.vector_store.config == {"url": "https://q.example.com", "api_key": "k"}
    assert chosen.vector_store.collection_name == "mine"
    by_host = {"QDRANT_HOST": "q.internal", "MEMSTONE_VECTOR_STORE__PROVIDER": "qdrant"}
    assert Settings.load(env=by_host).vector_store.config == {"url": "http://q.internal:6333"}


@pytest.mark.req("O-73")
def test_no_variable_controls_whether_and_how_memory_works(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("MEMORY_ENABLED", "MEMORY_MAX_TOKENS", "MEMORY_RETENTION_DAYS", "MEMORY_STRATEGY", "SKILLS_ENABLED")
    for name in (*names, "memoryEnabled", "memoryMaxTokens", "MEMORY_RRF_K", "MEMSTONE_POLICY__ENABLED"):
        monkeypatch.setenv(name, "0")
    assert Settings.load(env=dict.fromkeys(names, "0")) == Settings.load(env={})
    with Memory({"store": {"url": "memory:"}, "embedder": {"provider": "none"}}) as memory:
        found = memory.settings.get(names="gateway")
        assert found["settings"]["memoryEnabled"] is True
        assert found["settings"]["memoryMaxTokens"] == 1_400
        assert set(found["sources"].values()) <= {"default", "preset", "configuration"}
        assert memory.add("I live in Oslo", user_id="a")["status"] == "ok"
