"""Load adapters by name.

Built-in names come from a table, so that nothing is scanned or imported before it is used. A name that is not in it is
looked for among installed entry points (group ``memstone.<kind>``); ``package.module:Class`` always works.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from memstone.errors import ConfigError, MissingExtra, install_hint

BUILT_IN: Final[dict[tuple[str, str], tuple[str, str]]] = {
    ("ledger", "sqlite"): ("memstone.adapters.sqlite.ledger:SqliteLedger", ""),
    ("move", "sqlite"): ("memstone.adapters.sqlite.copies:move_store", ""),
    ("ledger", "postgres"): ("memstone.adapters.postgres.ledger:PostgresLedger", "postgres"),
    ("index", "local"): ("memstone.adapters.vectors.local:LocalVectors", ""),
    ("index", "postgres"): ("memstone.adapters.vectors.postgres:PgVectors", "postgres"),
    ("texts", "local"): ("memstone.adapters.text.local:LocalText", ""),
    ("vectors", "memory"): ("memstone.adapters.vectors.memory:MemoryVectors", ""),
    ("vectors", "qdrant"): ("memstone.adapters.vectors.qdrant:QdrantStore", ""),
    ("vectors", "chroma"): ("memstone.adapters.vectors.chroma:ChromaStore", ""),
    ("vectors", "elasticsearch"): ("memstone.adapters.vectors.elasticsearch:ElasticsearchStore", ""),
    ("vectors", "opensearch"): ("memstone.adapters.vectors.opensearch:OpenSearchStore", ""),
    ("vectors", "faiss"): ("memstone.adapters.vectors.faiss:FaissStore", "faiss"),
    ("vectors", "milvus"): ("memstone.adapters.vectors.milvus:MilvusStore", "milvus"),
    ("vectors", "redis"): ("memstone.adapters.vectors.redis:RedisStore", "redis"),
    ("vectors", "weaviate"): ("memstone.adapters.vectors.weaviate:WeaviateStore", ""),
    ("vectors", "pinecone"): ("memstone.adapters.vectors.pinecone:PineconeStore", ""),
    ("vectors", "azure_ai_search"): ("memstone.adapters.vectors.azure_ai_search:AzureSearchStore", ""),
    ("vectors", "pgvector"): ("memstone.adapters.vectors.pgvector:PgVectorStore", "postgres"),
    ("graph", "neo4j"): ("memstone.adapters.graph.neo4j:Neo4jStore", "neo4j"),
    ("graph", "falkordb"): ("memstone.adapters.graph.falkordb:FalkorDbStore", "falkordb"),
    ("embedder", "local"): ("memstone.adapters.embed.local:LocalEmbedder", ""),
    ("embedder", "multilingual"): ("memstone.adapters.embed.multilingual:MultilingualEmbedder", "multilingual"),
    ("embedder", "static"): ("memstone.adapters.embed.static:StaticEmbedder", "static"),
    ("embedder", "openai"): ("memstone.adapters.embed.openai:OpenAiEmbedder", ""),
    ("embedder", "ollama"): ("memstone.adapters.embed.ollama:OllamaEmbedder", ""),
    ("embedder", "azure_openai"): ("memstone.adapters.embed.azure:AzureOpenAiEmbedder", ""),
    ("embedder", "cohere"): ("memstone.adapters.embed.cohere:CohereEmbedder", ""),
    ("embedder", "gemini"): ("memstone.adapters.embed.gemini:GeminiEmbedder", ""),
    ("embedder", "tei"): ("memstone.adapters.embed.tei:TeiEmbedder", ""),
    ("embedder", "voyage"): ("memstone.adapters.embed.voyage:VoyageEmbedder", ""),
    ("embedder", "deepinfra"): ("memstone.adapters.embed.compatible:deepinfra", ""),
    ("embedder", "fireworks"): ("memstone.adapters.embed.compatible:fireworks", ""),
    ("embedder", "jina"): ("memstone.adapters.embed.compatible:jina", ""),
    ("embedder", "llamacpp"): ("memstone.adapters.embed.compatible:llamacpp", ""),
    ("embedder", "lmstudio"): ("memstone.adapters.embed.compatible:lmstudio", ""),
    ("embedder", "mistral"): ("memstone.adapters.embed.compatible:mistral", ""),
    ("embedder", "nvidia"): ("memstone.adapters.embed.compatible:nvidia", ""),
    ("embedder", "together"): ("memstone.adapters.embed.compatible:together", ""),
    ("embedder", "vllm"): ("memstone.adapters.embed.compatible:vllm", ""),
    ("embedder", "hash"): ("memstone.adapters.embed.hash_embedder:HashEmbedder", ""),
    ("embedder", "callable"): ("memstone.adapters.embed.callable:CallableEmbedder", ""),
    ("llm", "openai"): ("memstone.adapters.llm.openai:OpenAiLlm", ""),
    ("llm", "anthropic"): ("memstone.adapters.llm.anthropic:AnthropicLlm", ""),
    ("llm", "azure_openai"): ("memstone.adapters.llm.azure:AzureOpenAiLlm", ""),
    ("llm", "gemini"): ("memstone.adapters.llm.gemini:GeminiLlm", ""),
    ("llm", "ollama"): ("memstone.adapters.llm.ollama:OllamaLlm", ""),
    ("llm", "local"): ("memstone.adapters.llm.local:LocalLlm", "local-llm"),
    ("llm", "litellm"): ("memstone.adapters.llm.litellm:LiteLlm", "litellm"),
    ("llm", "cerebras"): ("memstone.adapters.llm.compatible:cerebras", ""),
    ("llm", "dashscope"): ("memstone.adapters.llm.compatible:dashscope", ""),
    ("llm", "deepinfra"): ("memstone.adapters.llm.compatible:deepinfra", ""),
    ("llm", "deepseek"): ("memstone.adapters.llm.compatible:deepseek", ""),
    ("llm", "fireworks"): ("memstone.adapters.llm.compatible:fireworks", ""),
    ("llm", "groq"): ("memstone.adapters.llm.compatible:groq", ""),
    ("llm", "huggingface"): ("memstone.adapters.llm.compatible:huggingface", ""),
    ("llm", "llamacpp"): ("memstone.adapters.llm.compatible:llamacpp", ""),
    ("llm", "lmstudio"): ("memstone.adapters.llm.compatible:lmstudio", ""),
    ("llm", "mistral"): ("memstone.adapters.llm.compatible:mistral", ""),
    ("llm", "moonshot"): ("memstone.adapters.llm.compatible:moonshot", ""),
    ("llm", "nvidia"): ("memstone.adapters.llm.compatible:nvidia", ""),
    ("llm", "openrouter"): ("memstone.adapters.llm.compatible:openrouter", ""),
    ("llm", "perplexity"): ("memstone.adapters.llm.compatible:perplexity", ""),
    ("llm", "sambanova"): ("memstone.adapters.llm.compatible:sambanova", ""),
    ("llm", "together"): ("memstone.adapters.llm.compatible:together", ""),
    ("llm", "vllm"): ("memstone.adapters.llm.compatible:vllm", ""),
    ("llm", "xai"): ("memstone.adapters.llm.compatible:xai", ""),
    ("llm", "zai"): ("memstone.adapters.llm.compatible:zai", ""),
    ("llm", "guarded"): ("memstone.adapters.llm.breaker:GuardedLlm", ""),
    ("llm", "callable"): ("memstone.adapters.llm.callable:CallableLlm", ""),
    ("reranker", "http"): ("memstone.adapters.rerank.http:HttpReranker", ""),
    ("reranker", "cohere"): ("memstone.adapters.rerank.cohere:CohereReranker", ""),
    ("reranker", "jina"): ("memstone.adapters.rerank.jina:JinaReranker", ""),
    ("reranker", "voyage"): ("memstone.adapters.rerank.voyage:VoyageReranker", ""),
    ("reranker", "zeroentropy"): ("memstone.adapters.rerank.zeroentropy:ZeroEntropyReranker", ""),
    ("reranker", "llm"): ("memstone.engine.recall.llm_reranker:LlmReranker", ""),
    ("reranker", "local"): ("memstone.adapters.rerank.local:LocalReranker", ""),
    ("reranker", "callable"): ("memstone.adapters.rerank.callable:CallableReranker", ""),
    ("io", "blocking"): ("memstone.adapters.io.blocking:BlockingIo", ""),
    ("io", "asyncio"): ("memstone.adapters.io.aio:AsyncIo", ""),
    ("key", "file"): ("memstone.adapters.store_key:FileKey", ""),
    ("key", "keyring"): ("memstone.adapters.store_key:KeyringKey", "keyring"),
    ("key", "command"): ("memstone.adapters.store_key:CommandKey", ""),
    ("key", "env"): ("memstone.adapters.store_key:EnvKey", ""),
    ("key", "process"): ("memstone.adapters.store_key:ProcessKey", ""),
    ("encryption", "keys"): ("memstone.adapters.encryption_keys:SourcedKeys", ""),
    ("encryption", "files"): ("memstone.adapters.encrypted_files:EncryptedFiles", "encryption"),
    ("encryption", "encrypt"): ("memstone.adapters.sqlite.encryption:encrypt_store", "encryption"),
    ("encryption", "decrypt"): ("memstone.adapters.sqlite.encryption:decrypt_store", "encryption"),
    ("encryption", "rotate"): ("memstone.adapters.sqlite.encryption:rekey_store", "encryption"),
    ("encryption", "save"): ("memstone.adapters.encryption_keys:write_key_copy", ""),
    ("curator", "local"): ("memstone.adapters.embed.curator:LocalCurator", ""),
    ("language", "en"): ("memstone.language.en.english:English", ""),
    ("language", "neutral"): ("memstone.language.neutral:Neutral", ""),
    ("sealing", "aes-gcm"): ("memstone.adapters.store_key:AesGcm", "server"),
    ("tokenizer", "tiktoken"): ("memstone.adapters.tokenizers:load_tiktoken", "tiktoken"),
    ("clock", "system"): ("memstone.adapters.clock:SystemClock", ""),
    ("chat", "service"): ("memstone.adapters.vendors:find_chat_service", ""),
    ("chat", "services"): ("memstone.adapters.vendors:list_chat_services", ""),
    ("source", "sqlite"): ("memstone.adapters.sources.sqlite_source:SqliteSource", ""),
}
"""(kind, name) -> where the class is, and the extra that brings what it needs."""

OTHER_NAMES: Final[dict[tuple[str, str], str]] = {
    ("embedder", "transformers"): "local",
    ("embedder", "azure"): "azure_openai",
    ("embedder", "google"): "gemini",
    ("embedder", "huggingface"): "tei",
    ("llm", "azure"): "azure_openai",
    ("llm", "claude"): "anthropic",
    ("llm", "google"): "gemini",
    ("reranker", "cross_encoder"): "local",
    ("reranker", "sentence_transformer"): "local",
    ("reranker", "llm_reranker"): "llm",
    ("reranker", "zero_entropy"): "zeroentropy",
    ("vectors", "azure_search"): "azure_ai_search",
}
"""Names by which others know what is built in."""

_INTERNAL: Final = frozenset({"callable", "guarded"})
"""Names for what is passed as an object, or wrapped around another one."""

CALLED: Final = {"vectors": "vector store", "graph": "graph store"}
"""What people call a kind of adapter."""


def builtin_names(kind: str) -> list[str]:
    """Return the built-in names of a kind."""
    return sorted(name for of_kind, name in BUILT_IN if of_kind == kind)


def _configurable_names(kind: str) -> list[str]:
    """Return the names that a configuration may give."""
    more = {"local"} if kind in CALLED else set()  # what lies in the ledger is no store of its own
    return sorted({*builtin_names(kind), *more} - _INTERNAL)


def load_adapter(kind: str, name: str) -> Any:
    """Return the class of an adapter."""
    name = OTHER_NAMES.get((kind, name), name)
    if (kind, name) in BUILT_IN:
        return _import_adapter(kind, name, *BUILT_IN[kind, name])
    if ":" in name:
        return _import_adapter(kind, name, name, "")
    found = _entry_point(kind, name)
    if found is None:
        raise ConfigError(f"unknown {CALLED.get(kind, kind)} {name!r}", hint=_suggest_name(kind, name))
    return found


def _suggest_name(kind: str, name: str) -> str:
    """Return the name that was probably meant, and all known names."""
    from difflib import get_close_matches

    known = _configurable_names(kind)
    near = get_close_matches(name.lower(), known, n=1)
    return (f"did you mean {near[0]}? " if near else "") + "known: " + ", ".join(known)


def _import_adapter(kind: str, name: str, target: str, extra: str) -> Any:
    module, _, attribute = target.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except AttributeError as error:
        raise ConfigError(f"{module} has no {attribute}") from error
    except ImportError as error:
        hint = install_hint(extra) if extra else f"install the package that provides {error.name}"
        raise MissingExtra(f"{kind} {name!r} cannot be loaded: {error}", hint=hint) from error


def _entry_point(kind: str, name: str) -> Any:
    # Importing importlib.metadata and scanning takes longer than everything else here: only on a miss.
    from importlib.metadata import entry_points

    for entry in entry_points(group=f"memstone.{kind}", name=name):
        return entry.load()
    return None
