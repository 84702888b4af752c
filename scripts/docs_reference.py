"""Write the tables of the reference pages from the code they describe.

A page holds a pair of marks for each table; what stands between them is replaced. Run without arguments to write the
pages, with ``--check`` to learn whether they are up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr

from memstone.adapters.vendors import VENDORS
from memstone.config import Settings
from memstone.core.prompts import prompt_text, version_of
from memstone.errors import MemstoneError
from memstone.registry import BUILT_IN, load_adapter

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

DOCS: Final = Path(__file__).resolve().parent.parent / "docs"

MEANING: Final = {
    "store.url": "where the store is; none: `~/.memstone/memstone.db`",
    "store.durable": "wait for the disk on every write",
    "store.key": (
        "where to keep the key that signs backups and encrypts provider keys: `file:PATH`, `keyring:SERVICE/NAME` "
        "or `command:PROGRAM`; by default a file beside the store, or `~/.memstone/store.key`"
    ),
    "store.check": "check a file of up to 8 MB for damage whenever it is opened, and refuse a damaged one",
    "store.reserve_mb": "megabytes that must stay free on the disk of a file; with less, nothing is added; 0: none",
    "store.pool_size": "maximum number of connections to PostgreSQL per process",
    "store.statement_seconds": "time limit for a statement on PostgreSQL",
    "embedder.provider": (
        "what turns text into vectors: a name below, `none`, `package.module:Class`, or a source: `auto` (the "
        "remote model if it has its key, else the local one, else none), `remote`, `transformers` (the local one)"
    ),
    "embedder.config": "options of the provider, see below; with `auto` those of the local model",
    "embedder.remote.provider": (
        "the provider of the model for `auto` and `remote`: any [embedder](guides/providers.md), or "
        "`package.module:Class`"
    ),
    "embedder.remote.config": "options of that provider, see below",
    "llm.provider": (
        "the language model that learns facts: [a vendor](guides/providers.md), `openai` for any server with that "
        "protocol, `litellm`, or `package.module:Class`; without one, the curator learns"
    ),
    "llm.config": "options of the provider, see below",
    "llm.prices": "by model name, what a million tokens cost: `input` and `output`; jobs then have a `cost`",
    "llm.max_concurrent": "maximum number of calls at once, others wait; a function of your own is not limited",
    "vector_store.provider": (
        "where to search for similar vectors: `local`, a [vector store](guides/vector-stores.md) by its name, "
        "or `memory` for tests"
    ),
    "vector_store.config": "options of the provider, see below",
    "vector_store.collection_name": "the name of collections in a separate vector store; `local` has none",
    "history.db_path": "another way to set where the store is: the history is part of it",
    "embedding_cache.entries": "how many embedded texts to keep in memory",
    "embedding_cache.seconds": "for how long",
    "limits.text_chars": "maximum characters of a text",
    "limits.key_chars": "maximum characters of a key",
    "limits.metadata_bytes": "maximum bytes of a memory's metadata, as JSON",
    "limits.messages": "maximum messages in one `add`",
    "limits.batch": "maximum items in one `add_many`, `update_many` or `delete_many`",
    "limits.page": "maximum results of one `search` or `get_all`",
    "limits.import_bytes": "maximum bytes of an imported file, unpacked",
    "limits.import_items": "maximum turns and facts of one import",
    "policy.strategy": "the default search strategy",
    "policy.min_score": "the default minimum similarity in meaning",
    "policy.enabled": "switches memory on or off: if off, nothing is stored and nothing is shown to a model",
    "policy.learns": "switches only learning on or off",
    "policy.shows": "switches only showing on or off",
    "policy.language": "the language of the users, such as `nb` or `pt-BR`: a language model writes facts in it",
    "policy.search_tool": "let a model search by itself",
    "policy.skills": "for services that offer tools beside memory; has no effect here",
    "quota.user_memories": "maximum memories per user; none: no limit",
    "quota.user_turns": "maximum turns per user",
    "quota.user_chars": "maximum characters of both",
    "quota.tenant_memories": "maximum memories of all users together",
    "quota.tenant_turns": "maximum turns of all users together",
    "quota.tenant_chars": "maximum characters of both",
    "identity.sources": "where a service looks for the user of a request, in order: `body`, `header:<name>`, `api_key`",
    "identity.nobody": "what to do if a request names nobody: `error`, `off` (no memory) or `owner`",
    "identity.owner": "the user for `owner`",
    "inject.position": "where a service puts memories in a prompt, see [context](guides/context.md)",
    "inject.chat": "show memories in plain chats",
    "inject.agents": "show memories when an agent runs",
    "inject.extras": "what to add to an answer: `memories`, `events`",
    "reranker.provider": (
        "what reranks search results: `cohere`, `jina`, `voyage`, `http` for another server, `local` for a model in "
        "the process, or `package.module:Class`; none: nothing"
    ),
    "reranker.config": "options of the provider, see below",
    "preset": "a set of defaults for these sections, see [settings](guides/settings.md#presets)",
    "write.mode": "when Memstone learns: `inline`, `background`, `session_end` or `manual`",
    "write.debounce_seconds": "seconds without a message after which a session has ended",
    "write.digest": "also turn a session into an episode",
    "write.novelty_chars": "minimum characters of a session to distil it",
    "write.max_attempts": "how often to retry a session that a model cannot process",
    "write.lease_seconds": "how long a worker claims a session before it has to renew the claim",
    "write.without_llm": "without a language model, the curator distils sessions (`rules`), or they `wait` for one",
    "write.turns": "maximum turns of a session that a model sees",
    "write.turn_chars": "maximum characters of each turn",
    "write.shutdown_seconds": "how long closing may take to finish queued work",
    "write.idle_seconds": "how long background work steps aside for calls",
    "upkeep.interval_hours": "hours between consolidations",
    "upkeep.evict": "evict facts that have faded and are not used",
    "upkeep.salience_floor": "a fact below this strength has faded",
    "upkeep.idle_days": "days without use before a faded fact is evicted",
    "upkeep.merge_episodes": "how similar two episodes must be to be merged; 0: never",
    "upkeep.merge_facts": "the same for facts",
    "upkeep.promote_at": "a fact that this many recent episodes mention gains weight",
    "upkeep.promote_days": "how recent they must be",
    "upkeep.promote_overlap": "how many of the fact's words they must share",
    "upkeep.promote_boost": "the weight it gains",
    "upkeep.retain_days": "how many days to keep a layer, by its name; 0 or not named: for ever",
    "upkeep.log_days": "how many days to keep jobs and finished signals",
    "upkeep.deleted_keep_days": "how many days to keep a deleted text for undo",
    "upkeep.ttl": "how many days to keep an unused kind, by its name; not named: for ever",
    "upkeep.immune_uses": "after this many uses, `ttl` no longer applies",
    "upkeep.ttl_scan": "memories to check in one sweep",
    "upkeep.auto_summarize": "summarise old memories at every consolidation",
    "upkeep.keep_vectors": "keep the vectors of earlier embedders after `reindex`, so that going back costs nothing",
    "upkeep.summarize_tokens": "tokens of the newest memories that a summary leaves as they are",
    "server.host": "the address to listen on",
    "server.port": "the port; 0 takes a free one",
    "server.open_loopback": "callers on this machine need no key and may do everything in `tenant`",
    "server.hosts": "host names that the service accepts besides the local ones; `*`: any",
    "server.origins": "web pages that may call the service, as `https://host`",
    "server.proxies": "addresses or networks of your proxies, whose header with the caller's address is trusted",
    "server.proxy_header": "that header; your proxy must set it, and must not pass on a caller's",
    "server.private_urls": "hosts inside your network that stored settings may name",
    "server.body_bytes": "maximum size of a request",
    "server.connections.limit": "maximum concurrent requests; lowered to what the limit on open files allows",
    "server.connections.head_seconds": "time limit for the headers of a request",
    "server.connections.body_seconds": "time limit for a body, plus one second per `bytes_per_second`",
    "server.connections.bytes_per_second": "the slowest pace at which a body may arrive and a response may be read",
    "server.rate.per_minute": "requests per minute and key; 0: no limit",
    "server.rate.burst": "how many of them at once; 0: as many as in a minute",
    "server.quota.memories": "maximum memories per user of the service, unless `quota` sets it; 0: no limit",
    "server.quota.turns": "maximum turns per user",
    "server.quota.chars": "maximum characters of both",
    "server.failed_logins.per_minute": "wrong keys and passwords per minute and address; 0: no limit",
    "server.failed_logins.burst": "how many of them at once; 0: as many as in a minute",
    "server.accounts.access_minutes": "how long an access token is valid",
    "server.accounts.refresh_days": "how long a refresh token is valid",
    "server.accounts.session_days": "after how long a person has to log in again in any case",
    "server.accounts.failures": "wrong passwords in a row for an account before attempts are limited to one a minute",
    "server.log": "log lines for people (`console`) or for machines (`json`)",
    "server.log_level": "the minimum level to write; `debug` also writes ids, keys and facts",
    "server.mcp_remote": "let keys without the permission `admin` use `/mcp` from other machines",
    "server.tool_prefix": "prefix for the names of tools",
    "server.llm_tokens_per_day": "language model tokens per tenant and day; 0: no limit",
    "server.request_log": "how many of the last requests administrators can see; 0: none",
    "server.request_log_hours": "and for how long",
    "server.backup_folder": "folder for backups requested over HTTP; without it there are none",
    "gateway.body_bytes": "maximum size of a request to a model, including images",
    "gateway.recall_ms": "how long recall may delay a chat; after that only the profile is shown",
    "gateway.profile_ms": "how long a chat then waits for the profile; after that it continues without memory",
    "gateway.tool_rounds": "maximum requests per chat when the model searches memory; the last one is without the tool",
    "gateway.upstreams": "the upstreams that run the models: a list, see [the gateway](guides/gateway.md)",
    "graph.llm": "let the language model find entities and relations in facts; otherwise rules do",
    "context.budget": "maximum tokens of memories that a model sees",
    "context.scope": (
        "what a chat searches: its `session`, everything of its `owner`, or also what is shared with everybody"
    ),
    "context.gate": (
        "`profile`: the profile, and what is close to the message; or what decides whether memory helps: nothing "
        "(`always`), rules (`heuristic`), also a language model (`llm`); `never` shows nothing"
    ),
    "context.profile_tokens": "maximum tokens of the [profile](guides/context.md#the-profile)",
    "context.recalled_turns": "maximum turns recalled for a message",
    "context.recall_score": "how close to a message a memory must be to be recalled, with the built-in model",
    "context.embed_seconds": "how long to wait for a remote embedder; after that, words and the profile answer",
    "context.excerpt_chars": "maximum characters shown of a turn",
    "context.false_injection": "the share of unrelated questions that may get anything; 0: show everything found",
    "context.strategy": "the search strategy; none: as in `policy.strategy`",
    "context.min_score": "the minimum similarity in meaning",
    "context.candidates": "how many memories to consider",
    "context.limit": "maximum number of memories to show",
    "context.sections": "let the budget also limit the number of facts, episodes and turns",
    "context.transcript_days": "how many days back to search turns; 0: no limit",
    "context.override_tokens": "maximum tokens of standing instructions, whatever the budget",
    "context.cache_seconds": "how long to cache a block for the same question; any write ends it",
    "context.receipts": "how many receipts to keep",
    "context.receipt_days": "for how many days",
    "context.turn_min_score": "the minimum similarity in meaning for a turn",
    "context.min_scores": "the minimum similarity in meaning per embedder, by `provider:model`",
    "recall.fusion": "how to combine the channels: weighted `sum`, or reciprocal ranks (`rrf`)",
    "recall.rrf_k": "the constant for reciprocal ranks",
    "recall.decay_days": "after this many days without use, a score falls to 1/e; none: nothing fades",
    "recall.half_life_days": "the same as a half-life: a score halves in this many days",
    "recall.salience": "use the weight of a memory in its score",
    "recall.mmr": "spread similar results apart: 1 keeps the order, less spreads more; none: off",
    "recall.visible_days": "hide older memories; none: show all",
    "recall.layers": "the default layers of a search",
    "recall.bootstrap_min": "a user with fewer facts also sees those of the user `*`, which everybody shares; 0: never",
    "extract.language": (
        "the language whose rules read messages without a language model: `en`, `neutral` for rules that read "
        "nothing, or your own `package.module:Class`"
    ),
    "extract.strategies": (
        "what finds facts: `pattern` (the curator and your own patterns), `facts` (a language model), or both; "
        "none: the model if there is one"
    ),
    "extract.roles": "the roles to learn facts from",
    "extract.assistant_first_person": "also learn from what the assistant says about itself",
    "extract.timezone": 'the time zone for words like "yesterday", an IANA name such as `Europe/Oslo`',
    "extract.instructions": "text to add to the questions for a language model",
    "extract.redact": (
        "`off`, `mask` or `drop` for a kind of secret: `private_key`, `api_key`, `password`, `card`, `iban`, `ssn`"
        ' (masked by default), `email`, `url`, `phone`, `account` (off by default); `"off"` leaves every kind '
        "alone"
    ),
    "extract.keep_turns": (
        "store what was said beside the facts; without it, a fact keeps its quote and there are no turns"
    ),
    "extract.categories": "the categories for facts: a list, or a table with a few words about each",
    "extract.attachments": "store images and files in messages by name (`reference`), or raise an error (`refuse`)",
    "extract.neighbours": "how many similar memories a model sees per fact; twice as many per conversation",
    "extract.questions": (
        "1: one question decides what new turns change; 2: first the facts, then what to do with each; with your "
        "own prompts there are always two"
    ),
    "extract.message_chars": (
        "the curator learns from the last characters of a message, up to this many; all of it is stored"
    ),
    "extract.call_chars": "the curator learns from the newest characters of a call, up to this many",
    "extract.call_facts": "maximum facts learned from one call",
    "extract.patterns": "your own patterns for facts, see [your own rules](own-rules.md)",
    "reconcile.within": "the ids within which facts are compared, out of those given",
    "reconcile.slots": "what people have one or many of, see [your own rules](own-rules.md)",
    "custom_prompts.fact_extraction": (
        "replaces the instructions for finding facts, not the form of the answer. `{conversation}` and "
        "`{existing_memories_list}` are filled in"
    ),
    "custom_prompts.update_decision": (
        "replaces the instructions for deciding what a fact changes. `{existing_memories_list}` and "
        "`{new_facts_list}` are filled in"
    ),
    "version": '`v1.1` returns `{"results": [...]}`, `v1.0` the bare list',
    "tenant": "the tenant of this memory; it never sees another tenant's data",
    "embedder local.model_dir": "a directory with your own `model.onnx` and `vocab.txt`",
    "embedder local.model_name": "the name of that model's vector space; required with `model_dir`",
    "embedder local.model_sha256": "the expected checksum of `model.onnx`",
    "embedder local.vocab_sha256": "the expected checksum of `vocab.txt`",
    "embedder local.threads": "batches to compute at the same time; never more than the machine has processors",
    "embedder local.batch_size": "texts per run",
    "embedder hash.dim": "the length of the vectors",
    "llm *.model": "the model's name",
    "llm *.api_key": "the key; never logged; without it, the variable in [the table](guides/providers.md)",
    "llm *.base_url": "the address of the service",
    "llm *.temperature": "for every prompt that does not set its own",
    "llm *.max_tokens": "maximum length of an answer",
    "llm *.timeout": "seconds",
    "llm *.retries": "after a rate limit, a timeout or an outage",
    "llm *.headers": "further headers to send",
    "llm *.extra_body": "further parameters of the vendor, sent as they are",
    "llm *.json_mode": (
        "how to ask for JSON: by `schema`, as any `object`, or only in words (`none`); `auto`: the strictest way that "
        "the server accepts"
    ),
    "llm openai.base_url": "any server with the same API",
    "llm azure_openai.base_url": "the endpoint, `https://NAME.openai.azure.com`; or `AZURE_OPENAI_ENDPOINT`",
    "llm azure_openai.deployment": "the name of the deployment; none: the name of the model",
    "llm azure_openai.api_version": "the version of the API; or `OPENAI_API_VERSION`",
    "llm anthropic.version": "the header `anthropic-version`",
    "llm anthropic.json_mode": (
        "how to ask for JSON: by `schema`, as the arguments of a `tool`, or only in words (`none`); `auto`: the "
        "strictest way that the model accepts"
    ),
    "llm anthropic.send_temperature": "send `temperature`; current models refuse it at any value",
    "llm gemini.api_version": "the version of the API: `v1beta` or `v1`",
    "llm ollama.timeout": "seconds; the first request loads the model",
    "llm ollama.num_ctx": "the context length in tokens; Ollama silently drops what is longer",
    "llm ollama.keep_alive": "how long the model stays loaded, such as `10m`",
    "llm local.model_path": "a GGUF file",
    "llm local.model_name": "the name of the model; none: that of the file",
    "llm local.model_sha256": "the expected checksum of the file",
    "llm local.context_tokens": "how many tokens the model reads and writes in one question",
    "llm local.threads": "threads to compute with; none: half of the processors",
    "llm local.gpu_layers": "layers to compute on a graphics card; -1: all that fit",
    "llm local.parallel": "questions to answer at the same time; they share `context_tokens`",
    "llm litellm.model": "the model as litellm names it, such as `bedrock/…`",
    "llm litellm.api_key": "the key; without it, litellm reads the vendor's own variables",
    "llm litellm.parameters": "further arguments of `litellm.completion`",
    "embedder *.model": "the model's name",
    "embedder *.api_key": "the key; never logged; without it, the variable in [the table](guides/providers.md)",
    "embedder *.base_url": "the address of the service",
    "embedder *.dimensions": "requests shorter vectors; only sent if set",
    "embedder *.batch_size": "texts per request",
    "embedder *.max_concurrent": "maximum number of requests at once",
    "embedder *.timeout": "seconds",
    "embedder *.retries": "after a rate limit, a timeout or an outage",
    "embedder openai.base_url": "any server with the same API",
    "embedder azure_openai.base_url": "the endpoint, `https://NAME.openai.azure.com`; or `AZURE_OPENAI_ENDPOINT`",
    "embedder azure_openai.deployment": "the name of the deployment; none: the name of the model",
    "embedder azure_openai.api_version": "the version of the API; or `OPENAI_API_VERSION`",
    "embedder gemini.task_type": (
        "what all texts are for; none: `RETRIEVAL_QUERY` for queries, else `RETRIEVAL_DOCUMENT`"
    ),
    "embedder gemini.api_version": "the version of the API: `v1beta` or `v1`",
    "embedder cohere.input_type": "what all texts are for; none: `search_query` for queries, else `search_document`",
    "embedder voyage.input_type": "what all texts are for; none: `query` for queries, else `document`",
    "embedder tei.model": "a name for the server's model, which tells its vectors apart from others",
    "embedder tei.prompt_name": "the model's prompt for texts",
    "embedder tei.query_prompt_name": "the model's prompt for queries; none: as for texts",
    "embedder ollama.dimensions": "the length of the vectors, if you know it; never sent",
    "embedder ollama.batch_size": "texts per request; more than one uses `/api/embed`",
    "embedder ollama.timeout": "seconds; the first request loads the model",
    "reranker *.base_url": "the address of the service; questions and results are sent there",
    "reranker *.model": "the model's name",
    "reranker *.api_key": "the key; never logged; without it, the variable in [the table](guides/providers.md)",
    "reranker *.batch_size": "texts per request; none: up to 1,000",
    "reranker *.max_concurrent": "maximum number of requests at once",
    "reranker *.timeout": "seconds; after that the order stays as it was",
    "reranker *.retries": "after a rate limit, a timeout or an outage",
    "reranker http.base_url": "the address of the reranker; questions and results are sent there",
    "reranker http.dialect": "`cohere` (also Jina, vLLM and others) or `tei` (Text Embeddings Inference)",
    "reranker http.model": "the model's name; `cohere` needs one",
    "reranker http.api_key": "sent as a bearer token; never logged",
    "reranker http.batch_size": "texts per request; none: up to 1,000, 32 for `tei`",
    "reranker local.model_dir": "a directory with the `model.onnx` and `vocab.txt` of an uncased BERT cross-encoder",
    "reranker local.model_name": "the name of the model; none: that of the directory",
    "reranker local.model_sha256": "the expected checksum of `model.onnx`",
    "reranker local.vocab_sha256": "the expected checksum of `vocab.txt`",
    "reranker local.max_tokens": "how much of a question and a text is read together",
    "reranker local.threads": "batches to compute at the same time; never more than the machine has processors",
    "reranker local.batch_size": "texts per run",
    "index local.memory_mb": "maximum memory for vectors; the least recently used users are dropped first",
    "index local.quant": "keep vectors as bytes, in a quarter of the memory; close ones are compared exactly",
    "index postgres.memory_mb": "as without PostgreSQL, for what the process keeps in memory",
    "index postgres.quant": "as without PostgreSQL, for what the process keeps in memory",
    "index postgres.in_process_rows": "users with more memories are searched by an HNSW index, if one was built",
    "index postgres.exact_rows": "for such users: up to this many filtered rows are compared one by one",
    "index postgres.ef_search": "how many candidates an index considers at once; more find more and take longer",
    "index postgres.max_scan_tuples": "how many candidates an index considers in total before everything is compared",
    "vectors pgvector.url": "the database, `postgresql://…`",
    "vectors pgvector.schema_name": "the schema for the tables, one per collection",
    "vectors pgvector.index": "the kind of index for a new collection",
    "vectors pgvector.exact_rows": "collections of up to this many points are compared one by one",
    "vectors pgvector.ef_search": "how many candidates an index considers at once; more find more and take longer",
    "vectors pgvector.pool_size": "maximum number of connections per process",
    "vectors qdrant.url": "the address; without a port, 6333. Or set `host`",
    "vectors qdrant.host": "the host, with or without a scheme",
    "vectors qdrant.port": "the port, if the address has none",
    "vectors qdrant.https": "use https if the host has no scheme",
    "vectors qdrant.api_key": "sent in the header `api-key`; never logged",
    "vectors qdrant.timeout": "seconds for one request",
    "vectors qdrant.exact": "compare every point, without the approximate index",
    "vectors chroma.url": "the address of the server; without a port, 8000. Or set `host`",
    "vectors chroma.host": "the host, with or without a scheme",
    "vectors chroma.port": "the port, if the address has none",
    "vectors chroma.https": "use https if the host has no scheme",
    "vectors chroma.tenant": "the tenant in Chroma; Memstone's own tenants have collections of their own",
    "vectors chroma.database": "the database in Chroma",
    "vectors chroma.api_key": "the token; never logged",
    "vectors chroma.auth_header": "the header for the token; `authorization` sends it as a bearer token",
    "vectors chroma.ef_search": "how many candidates an index considers at once; more find more and take longer",
    "vectors chroma.timeout": "seconds for one request",
    "vectors elasticsearch.url": "the address of the server; without a port, 9200. Or set `host`",
    "vectors elasticsearch.host": "the host, with or without a scheme",
    "vectors elasticsearch.port": "the port, if the address has none",
    "vectors elasticsearch.https": "use https if the host has no scheme",
    "vectors elasticsearch.api_key": "sent in the header `authorization` as `ApiKey`; never logged",
    "vectors elasticsearch.username": "a user, instead of a key",
    "vectors elasticsearch.password": "the user's password; never logged",
    "vectors elasticsearch.prefix": "how the names of all indexes begin",
    "vectors elasticsearch.candidates": "how many candidates a shard considers; more find more and take longer",
    "vectors elasticsearch.timeout": "seconds for one request",
    "vectors opensearch.url": "the address of the server; without a port, 9200. Or set `host`",
    "vectors opensearch.host": "the host, with or without a scheme",
    "vectors opensearch.port": "the port, if the address has none",
    "vectors opensearch.https": "use https if the host has no scheme",
    "vectors opensearch.api_key": "sent in the header `authorization` as `ApiKey`; never logged",
    "vectors opensearch.username": "a user, instead of a key",
    "vectors opensearch.password": "the user's password; never logged",
    "vectors opensearch.prefix": "how the names of all indexes begin",
    "vectors opensearch.candidates": "how many candidates a shard considers; more find more and take longer",
    "vectors opensearch.timeout": "seconds for one request",
    "vectors faiss.path": "the folder for the points; none: they end with the process",
    "vectors faiss.index": "`flat` compares every point; `hnsw` uses an approximate index",
    "vectors faiss.ef_search": "how many candidates `hnsw` considers at once",
    "vectors redis.url": "the server, `redis://…` or `rediss://…`; it needs the search module",
    "vectors redis.password": "the password, if it is not in the address; never logged",
    "vectors redis.prefix": "how all keys begin",
    "vectors redis.index": "`flat` compares every point; `hnsw` uses an approximate index",
    "vectors redis.ef_search": "how many candidates `hnsw` considers at once",
    "vectors redis.timeout": "seconds for one command",
}
"""What each setting is for. A setting without a line here, or a line without a setting, is an error.

For an option that means the same for every provider of a kind, ``*`` stands for their names.
"""

PROVIDERS: Final = (
    ("llm", "openai"),
    ("llm", "azure_openai"),
    ("llm", "anthropic"),
    ("llm", "gemini"),
    ("llm", "ollama"),
    ("llm", "local"),
    ("llm", "litellm"),
    ("embedder", "local"),
    ("embedder", "openai"),
    ("embedder", "azure_openai"),
    ("embedder", "gemini"),
    ("embedder", "cohere"),
    ("embedder", "voyage"),
    ("embedder", "tei"),
    ("embedder", "ollama"),
    ("embedder", "hash"),
    ("index", "local"),
    ("index", "postgres"),
    ("vectors", "pgvector"),
    ("vectors", "qdrant"),
    ("vectors", "chroma"),
    ("vectors", "elasticsearch"),
    ("vectors", "opensearch"),
    ("vectors", "faiss"),
    ("vectors", "redis"),
    ("reranker", "cohere"),
    ("reranker", "jina"),
    ("reranker", "voyage"),
    ("reranker", "http"),
    ("reranker", "local"),
)
HEADINGS: Final = {
    "llm": "llm.config",
    "embedder": "embedder.config",
    "index": "vector_store.config",
    "vectors": "vector_store.config",
    "reranker": "reranker.config",
}


_USES: Final = ("llm", "embedder", "reranker")


def settings_table() -> str:
    """Every setting with its type, default and meaning."""
    return _table(("setting", "value", "default", "meaning"), _rows(Settings, ""))


def providers_tables() -> str:
    """The options of every built-in provider."""
    return "\n\n".join(_provider(kind, name) for kind, name in PROVIDERS)


def _provider(kind: str, name: str) -> str:
    rows = [
        (f"`{row[0].strip('`').partition('.')[2]}`", *row[1:])
        for row in _rows(load_adapter(kind, name).Config, f"{kind} {name}.")
    ]
    return f"### `{HEADINGS[kind]}` of `{name}`\n\n" + _table(("option", "value", "default", "meaning"), rows)


def vendors_table() -> str:
    """Every provider that a model can be named after, with its address and its variables."""
    names = sorted({name for kind, name in BUILT_IN if kind in _USES and name in VENDORS})
    return _table(("provider", "use as", "default address", "key", "default model"), map(_vendor_row, names))


def _vendor_row(name: str) -> tuple[str, ...]:
    vendor = VENDORS[name]
    uses = [kind for kind in _USES if (kind, name) in BUILT_IN]
    models = [load_adapter(kind, name).Config.model_fields["model"] for kind in uses]
    defaults = [f"`{field.default}`" for field in models if not field.is_required()]
    address = f"`{vendor.base_url}`" if vendor.base_url else ""
    variable = f"`{vendor.address}`" if vendor.address else ""
    return (
        f"`{name}`",
        ", ".join(f"`{kind}`" for kind in uses),
        ", or ".join(part for part in (address, variable) if part),
        ", ".join(f"`{key}`" for key in vendor.keys) + ("" if vendor.needs_key else " (optional)"),
        ", ".join(defaults) or "set `model`",
    )


def errors_table() -> str:
    """Every error with its code."""
    return _table(
        ("error", "code", "when", "what to do"), (_error_row(cls, depth) for cls, depth in _tree(MemstoneError, 0))
    )


def _tree(cls: type[MemstoneError], depth: int) -> Iterator[tuple[type[MemstoneError], int]]:
    yield cls, depth
    for child in cls.__subclasses__():
        if child.__module__ == cls.__module__:
            yield from _tree(child, depth + 1)


def _error_row(cls: type[MemstoneError], depth: int) -> tuple[str, ...]:
    builtin = [base.__name__ for base in cls.__bases__ if not issubclass(base, MemstoneError) and base is not Exception]
    name = "&emsp;" * depth + f"`{cls.__name__}`" + (f" (and `{builtin[0]}`)" if builtin else "")
    when = (cls.__doc__ or "").partition("\n")[0].rstrip(".")
    todo = cls.default_hint or ("may be tried again" if cls.retryable else "")
    return name, f"`{cls.code}`", when, todo


def _rows(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        inner = next((part for part in _parts(field.annotation) if _is_model(part)), None)
        if inner is not None:
            yield from _rows(inner, f"{prefix}{name}.")
        else:
            yield f"`{prefix}{name}`", _value(field), _default(field), MEANING[_meaning_key(prefix + name)]


def _meaning_key(name: str) -> str:
    """Which line of ``MEANING`` is about a setting: its own, or that of all providers of its kind."""
    kind, _, rest = name.partition(" ")
    return name if name in MEANING or not rest else f"{kind} *.{rest.partition('.')[2]}"


def _parts(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _is_model(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)


def _value(field: FieldInfo) -> str:
    kinds = [_kind(part) for part in _parts(field.annotation) if part is not NoneType]
    return ", ".join([*kinds, *_bounds(field)])


def _kind(part: Any) -> str:
    if get_origin(part) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(part))
    names = {
        str: "text",
        bool: "`true`, `false`",
        int: "whole number",
        float: "number",
        Path: "path",
        SecretStr: "secret text",
    }
    return names.get(part, "table")


def _bounds(field: FieldInfo) -> Iterator[str]:
    signs = {"ge": "≥", "gt": ">", "le": "≤"}
    for rule in field.metadata:
        for name, sign in signs.items():
            if getattr(rule, name, None) is not None:
                yield f"{sign} {getattr(rule, name):,}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value in (None, {}, ()):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


_PROMPTS: Final = {
    "learn": "What new turns do to the memory (`add`)",
    "extract_facts": "Facts, where two questions are asked",
    "extract_facts_agent": "The same, where the memories are an agent's own",
    "decide": "What becomes of each fact, where two questions are asked",
    "distill": "The digest of a session",
    "distill_narrative": "The text about a user",
    "graph": "Names and relations, with `graph.llm`",
    "gate": 'Whether memory helps with a message, with `context.gate = "llm"`',
    "instructions": "`suggest_instructions`",
}


def prompts_text() -> str:
    """Every prompt as it is sent, the form of the answer behind it."""
    visible: list[str] = []
    for name, title in _PROMPTS.items():
        parts = [prompt_text(version_of(name))]
        if name not in ("learn", "extract_facts_agent"):
            parts.append(prompt_text(version_of(f"{name}_format")))
        text = "\n\n".join(parts)
        visible.append(f"## {title}\n\n`{version_of(name)}`\n\n```text\n{text}\n```")
    return "\n\n".join(visible)


TABLES: Final[dict[str, Callable[[], str]]] = {
    "settings": settings_table,
    "providers": providers_tables,
    "vendors": vendors_table,
    "errors": errors_table,
    "prompts": prompts_text,
}
PAGES: Final = ("configuration.md", "guides/providers.md", "reference/errors.md", "reference/prompts.md")


def filled(text: str) -> str:
    """A page with its tables as the code has them now."""
    return re.sub(r"(<!-- (\w+): made by [^>]*-->\n).*?(<!-- end -->)", _filled_mark, text, flags=re.DOTALL)


def _filled_mark(mark: re.Match[str]) -> str:
    return f"{mark[1]}\n{TABLES[mark[2]]()}\n\n{mark[3]}"


def unused_meanings() -> set[str]:
    """Lines of ``MEANING`` whose setting is gone."""
    output = settings_table() + "".join(
        f"`{_meaning_key(f'{kind} {name}.{option}')}`"
        for kind, name in PROVIDERS
        for option in load_adapter(kind, name).Config.model_fields
    )
    return {name for name in MEANING if f"`{name}`" not in output}


def main(arguments: list[str]) -> int:
    """Write the pages, or say which are out of date."""
    if unused_meanings():
        print(f"scripts/docs_reference.py speaks of settings that are gone: {sorted(unused_meanings())}")
        return 1
    late = [page for page in PAGES if filled((DOCS / page).read_text("utf-8")) != (DOCS / page).read_text("utf-8")]
    for page in late:
        if "--check" in arguments:
            print(f"docs/{page} is out of date: run python scripts/docs_reference.py")
        else:
            (DOCS / page).write_text(filled((DOCS / page).read_text("utf-8")), "utf-8")
    return 1 if late and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
