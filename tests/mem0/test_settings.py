from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memstone import Settings
from memstone.compat.mem0.settings import translate_config, wants_graph
from memstone.errors import ConfigError


def translated(**config: Any) -> dict[str, Any]:
    """The settings for a configuration, which Memstone itself must accept."""
    made = translate_config(config)
    Settings.of(made)
    return made


def test_a_model_keeps_its_provider_and_gets_our_names_for_its_options() -> None:
    options = {"model": "gpt", "temperature": 0.1, "max_tokens": 99, "top_p": 0.1, "openai_base_url": "http://x/v1"}
    assert translated(llm={"provider": "openai_structured", "config": {**options, "api_key": "k"}})["llm"] == {
        "provider": "openai",
        "config": {"model": "gpt", "temperature": 0.1, "max_tokens": 99, "base_url": "http://x/v1", "api_key": "k"},
    }
    ollama = {"model": "qwen", "ollama_base_url": "http://h:11434", "openai_base_url": "http://other"}
    made = translated(embedder={"provider": "ollama", "config": {**ollama, "embedding_dims": 768}})
    assert made["embedder"]["config"] == {"model": "qwen", "base_url": "http://h:11434", "dimensions": 768}


def test_azure_options_are_found_in_their_own_section() -> None:
    azure = {"api_key": "k", "azure_deployment": "d", "azure_endpoint": "https://e", "api_version": "2024-10-21"}
    made = translated(llm={"provider": "azure_openai", "config": {"model": "m", "azure_kwargs": azure}})
    wanted = {"model": "m", "api_key": "k", "deployment": "d", "base_url": "https://e", "api_version": "2024-10-21"}
    assert made["llm"] == {"provider": "azure_openai", "config": wanted}


def test_a_model_that_is_built_in_needs_no_other_package() -> None:
    name = "sentence-transformers/all-MiniLM-L6-v2"
    assert translated(embedder={"provider": "huggingface", "config": {"model": name}})["embedder"] == {
        "provider": "local"
    }
    served = {"model": "big", "huggingface_base_url": "http://h:8080"}
    made = translated(embedder={"provider": "huggingface", "config": served})
    assert made["embedder"] == {"provider": "tei", "config": {"model": "big", "base_url": "http://h:8080"}}
    with pytest.raises(ConfigError, match="is not part of Memstone"):
        translate_config({"embedder": {"provider": "fastembed", "config": {"model": "other"}}})


@pytest.mark.parametrize(
    ("provider", "config", "expected"),
    [
        ("qdrant", {"host": "h", "port": 6333, "api_key": "k"}, {"host": "h", "port": 6333, "api_key": "k"}),
        ("chroma", {"host": "h", "port": 8000}, {"host": "h", "port": 8000}),
        ("redis", {"redis_url": "redis://h"}, {"url": "redis://h"}),
        ("milvus", {"url": "http://h", "token": "t", "db_name": "d", "metric_type": "L2"}, None),
        (
            "elasticsearch",
            {"host": "h", "port": 9200, "user": "u", "password": "p", "use_ssl": True, "verify_certs": True},
            {"host": "h", "port": 9200, "username": "u", "password": "p", "https": True},
        ),
        (
            "pgvector",
            {"dbname": "d", "user": "u", "password": "p@ss", "host": "h", "port": 5433, "hnsw": True},
            {"url": "postgresql://u:p%40ss@h:5433/d", "index": "hnsw"},
        ),
        ("pgvector", {"connection_string": "postgresql://x/y"}, {"url": "postgresql://x/y", "index": "hnsw"}),
    ],
)
def test_a_store_with_an_address_becomes_the_index(
    provider: str, config: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    extra = {"collection_name": "notes", "embedding_model_dims": 384}
    made = translated(vector_store={"provider": provider, "config": {**config, **extra}})["vector_store"]
    assert (made["provider"], made["collection_name"]) == (provider, "notes")
    assert made["config"] == (expected or {"url": "http://h", "token": "t", "database": "d"})


def test_files_of_mem0_are_left_alone(tmp_path: Path) -> None:
    vectors = {"provider": "qdrant", "config": {"path": str(tmp_path / "q"), "collection_name": "my notes"}}
    made = translated(vector_store=vectors, history_db_path=str(tmp_path / "history.db"))
    assert made["store"] == {"url": f"sqlite:///{tmp_path / 'q' / 'memstone-my_notes.db'}"}
    assert made["vector_store"]["provider"] == "local"
    made = translated(history_db_path=str(tmp_path / "history.db"))
    assert made["store"] == {"url": f"sqlite:///{tmp_path / 'memstone.db'}"}
    assert translated(history_db_path=":memory:")["store"] == {"url": "memory:"}
    vectors["config"] = {"path": str(tmp_path / "q")}
    made = translated(vector_store=vectors, history_db_path=":memory:")
    assert made["store"] == {"url": f"sqlite:///{tmp_path / 'q' / 'memstone.db'}"}, "the memories are to be kept"
    assert "store" not in translated()
    with pytest.raises(ConfigError, match="makes its own connection"):
        translate_config({"vector_store": {"provider": "qdrant", "config": {"client": object()}}})


def test_prompts_graph_and_sections_of_ours() -> None:
    made = translated(
        custom_fact_extraction_prompt="a",
        custom_update_memory_prompt="b",
        custom_instructions="c",
        version="v1.1",
        recall={"mmr": 0.5},
        extract={"timezone": "Europe/Oslo"},
    )
    assert made == {
        "custom_prompts": {"fact_extraction": "a", "update_decision": "b"},
        "extract": {"timezone": "Europe/Oslo", "instructions": "c"},
        "recall": {"mmr": 0.5},
    }
    graph = {"graph_store": {"provider": "memgraph", "config": {"url": "bolt://x"}}}
    assert translate_config(graph) == {}
    assert wants_graph(graph)
    assert not wants_graph({})


def test_an_object_such_as_mem0s_own_configuration_is_taken() -> None:
    section = SimpleNamespace(model_dump=lambda: {"provider": "openai", "config": {"model": "m"}})
    whole = SimpleNamespace(model_dump=lambda: {"llm": section, "history_db_path": ":memory:", "reranker": None})
    assert translate_config(whole) == {
        "llm": {"provider": "openai", "config": {"model": "m"}},
        "store": {"url": "memory:"},
    }
    with pytest.raises(ConfigError, match="must be a dictionary"):
        translate_config("mem0.toml")
