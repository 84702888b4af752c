"""Convert mem0's configuration into Memstone's settings.

Where mem0 keeps its data in files (an embedded vector store, a history file), Memstone keeps everything in one SQLite
file beside them and leaves those files alone. A vector store with an address is used as the index, as in any other
configuration.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from memstone.config import DEFAULT_PATH, Settings
from memstone.errors import ConfigError

LOG: Final = logging.getLogger("memstone.compat.mem0")

PROMPTS: Final = {
    "custom_fact_extraction_prompt": "fact_extraction",
    "custom_prompt": "fact_extraction",
    "custom_update_memory_prompt": "update_decision",
}
"""mem0's prompts, and what they are called in the section ``custom_prompts``."""

_MODEL_NAMES: Final = {"openai_structured": "openai", "azure_openai_structured": "azure_openai"}
_OPTIONS: Final = {"embedding_dims": "dimensions", "output_dimensionality": "dimensions", "model_name": "model"}
_AZURE: Final = {"azure_deployment": "deployment", "azure_endpoint": "base_url", "default_headers": "headers"}
_NO_COUNTERPART: Final = frozenset(
    """app_name enable_sampling_parameters enable_vision http_client_proxies is_reasoning_model
    lmstudio_response_format memory_add_embedding_type memory_search_embedding_type memory_update_embedding_type
    model_kwargs models reasoning_effort response_callback route site_url store top_k top_n top_p
    vision_details""".split()
)
"""Options of models that change nothing here; they are left out, and the log says so."""

_LOCAL_MODELS: Final = ("all-minilm-l6-v2",)
_EMBEDDED: Final = frozenset({"qdrant", "chroma", "faiss"})
"""Stores that mem0 also runs inside the process, on files."""

_ADDRESS: Final = ("url", "host", "redis_url", "connection_string")
_OF_THE_INDEX: Final = frozenset({"collection_name", "embedding_model_dims", "on_disk", "path", "distance_strategy"})
_GRAPHS: Final = frozenset({"neo4j", "falkordb"})


def translate_config(config: Any) -> dict[str, Any]:
    """Return settings of Memstone for a configuration of mem0: a mapping, or an object such as its ``MemoryConfig``.

    Sections that only Memstone has (``store``, ``recall``, …) are taken as they are.
    """
    values = _as_mapping(config)
    made = {name: value for name, value in values.items() if name not in _TRANSLATED}
    for name, translate in _SECTIONS.items():
        if values.get(name) is not None:
            made[name] = translate(_as_mapping(values[name]))
    prompts = {ours: values[name] for name, ours in PROMPTS.items() if values.get(name)}
    if prompts:
        made["custom_prompts"] = {**made.get("custom_prompts", {}), **prompts}
    if values.get("custom_instructions"):
        made["extract"] = {**made.get("extract", {}), "instructions": values["custom_instructions"]}
    if "store" not in made and (place := _store_url(values)):
        made["store"] = {"url": place}
    return made | _graph_settings(values)


def wants_graph(config: Any) -> bool:
    """Return whether a configuration names a graph store: then answers tell relations."""
    return bool(_as_mapping(config).get("graph_store"))


def _as_mapping(value: Any) -> dict[str, Any]:
    """Return a section as a dictionary: mem0 has dictionaries and pydantic models side by side."""
    if value is None:
        return {}
    dumped = value.model_dump() if hasattr(value, "model_dump") else value
    if not isinstance(dumped, Mapping):
        raise ConfigError(f"a configuration must be a dictionary, not {type(value).__name__}")
    return dict(dumped)


# --- models -----------------------------------------------------------------------------------------------------------


def _model_section(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section with a provider and its options under our names."""
    provider = str(section.get("provider", "openai"))
    rest = {name: value for name, value in section.items() if name not in ("provider", "config")}
    options = _model_options(provider, _as_mapping(section.get("config")))
    return {**rest, "provider": _MODEL_NAMES.get(provider, provider), "config": options}


def _model_options(provider: str, config: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, value in config.items():
        if value is None or name == "azure_kwargs":
            continue
        if name in _NO_COUNTERPART:
            LOG.info("mem0_option_ignored", extra={"option": name, "provider": provider})
        elif name.endswith("_base_url"):
            if name.removesuffix("_base_url") == provider.removesuffix("_structured"):
                options["base_url"] = value
        else:
            options[_OPTIONS.get(name, name)] = value
    azure = _as_mapping(config.get("azure_kwargs"))
    return options | {_AZURE.get(name, name): value for name, value in azure.items() if value is not None}


def _embedder_section(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return the embedder; a sentence-transformers model that is built in needs no other package."""
    if section.get("provider") in ("huggingface", "fastembed"):
        given = _as_mapping(section.get("config"))
        model, address = str(given.get("model") or ""), given.get("huggingface_base_url")
        if not address and model.lower().endswith(_LOCAL_MODELS):
            return {"provider": "local"}
        if not address:
            raise ConfigError(
                f"the embedding model {model or 'of mem0'!r} is not part of Memstone",
                hint='use {"provider": "local"}, which is all-MiniLM-L6-v2, or name a server: huggingface_base_url',
            )
        return {"provider": "tei", "config": {"model": model or "tei", "base_url": address}}
    return _model_section(section)


# --- where things are -------------------------------------------------------------------------------------------------


def _vector_section(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return the index: our own where mem0 would use files, else the store at its address."""
    provider, given = str(section.get("provider", "qdrant")), _as_mapping(section.get("config"))
    name = given.get("collection_name")
    more = {"collection_name": name} if name else {}
    if given.get("client") is not None:
        raise ConfigError(
            "vector_store.config.client cannot be used: Memstone makes its own connection", hint="give url or host"
        )
    if provider in _EMBEDDED and not any(given.get(name) for name in _ADDRESS):
        return {"provider": "local", **more}
    options = {name: value for name, value in given.items() if value is not None and name not in _OF_THE_INDEX}
    return {"provider": provider, "config": _STORES.get(provider, dict)(options), **more}


def _pgvector_options(config: dict[str, Any]) -> dict[str, Any]:
    url = config.get("connection_string")
    if not url:
        user, password = (quote(str(config.get(name, "")), safe="") for name in ("user", "password"))
        login = f"{user}:{password}@" if user else ""
        url = f"postgresql://{login}{config.get('host', 'localhost')}:{config.get('port', 5432)}/"
        url += str(config.get("dbname", "postgres")) + (
            f"?sslmode={config['sslmode']}" if config.get("sslmode") else ""
        )
    return {"url": url, "index": "hnsw" if config.get("hnsw", True) else "none"}


def _rename_options(**names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda config: {names.get(name, name): value for name, value in config.items() if names.get(name) != ""}


_STORES: Final[dict[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "pgvector": _pgvector_options,
    "redis": _rename_options(redis_url="url"),
    "milvus": _rename_options(db_name="database", metric_type=""),
    "elasticsearch": _rename_options(user="username", use_ssl="https", verify_certs="", auto_create_index=""),
    "opensearch": _rename_options(user="username", use_ssl="https", verify_certs=""),
}
"""How the options of a store are called here; the store itself says what it does not know."""


def _store_url(values: Mapping[str, Any]) -> str | None:
    """Return the file for a configuration: apart for each folder and each collection, as mem0's data is."""
    vectors = _as_mapping(_as_mapping(values.get("vector_store")).get("config"))
    path, history = vectors.get("path"), values.get("history_db_path")
    if ":memory:" in (path, None if path else history):
        return "memory:"
    collection = str(vectors.get("collection_name") or "")
    if not (path or history or collection):
        return None
    folder = Path(path) if path else Path(str(history)).parent if history else DEFAULT_PATH.expanduser().parent
    safe = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in collection)
    return f"sqlite:///{(folder.expanduser() / (f'memstone-{safe}.db' if safe else 'memstone.db')).absolute()}"


def _graph_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the graph store, where Memstone knows it; relations are kept in the ledger in any case."""
    section = _as_mapping(values.get("graph_store"))
    if not section:
        return {}
    if "graph_store" in Settings.model_fields and section.get("provider") in _GRAPHS:
        return {"graph_store": {"provider": section["provider"], "config": _as_mapping(section.get("config"))}}
    LOG.warning("mem0_graph_store_ignored", extra={"provider": section.get("provider")})
    return {}


_SECTIONS: Final[dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "vector_store": _vector_section,
    "llm": _model_section,
    "embedder": _embedder_section,
    "reranker": _model_section,
}
_TRANSLATED: Final = frozenset(
    {*_SECTIONS, *PROMPTS, "custom_instructions", "history_db_path", "graph_store", "version", "telemetry"}
)
