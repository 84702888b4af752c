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

from memstone.config import Settings
from memstone.core.prompts import prompt_text, version_of
from memstone.errors import MemstoneError
from memstone.registry import load_adapter

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

DOCS: Final = Path(__file__).resolve().parent.parent / "docs"

MEANING: Final = {
    "store.url": "where the memory lives; none: `~/.memstone/memstone.db`",
    "store.durable": "wait for the disk on every write",
    "store.key": "where the key is kept that signs backups and seals keys of providers: `file:PATH`, "
    "`keyring:SERVICE/NAME` or `command:PROGRAM`; by default a file beside the store, or `~/.memstone/store.key`",
    "store.check": "look for damage whenever a file of up to 8 MB is opened, and refuse a damaged one",
    "store.reserve_mb": "megabytes that must stay free on the disk of a file; with less, nothing is added; 0: none",
    "store.pool_size": "how many connections to PostgreSQL a process holds at most",
    "store.statement_seconds": "how long a statement on PostgreSQL may take",
    "embedder.provider": (
        "who turns text into vectors: a name below, `none`, `package.module:Class`, or a source: `auto` (the remote "
        "model if it has its key, else the local one, else none), `remote`, `transformers` (the local one)"
    ),
    "embedder.config": "the provider's own options, see below; with `auto` those of the local model",
    "embedder.remote.provider": "who runs the model of `auto` and `remote`: `openai`, `ollama`, `package.module:Class`",
    "embedder.remote.config": "its options, see below",
    "llm.provider": (
        "who is asked when facts are learned: `openai` (any server with that protocol), or `package.module:Class`; "
        "without one, the curator learns"
    ),
    "llm.config": "the provider's own options",
    "llm.max_concurrent": "so many questions at once, the others wait; a function of yours is not limited",
    "vector_store.provider": "where nearest neighbours are looked for: `local`, `pgvector`, or `memory` for tests",
    "vector_store.config": "the provider's own options, see below",
    "vector_store.collection_name": "how collections in a vector store of its own are named; `local` has none",
    "history.db_path": "another way to say where the store is: the history lives in it",
    "embedding_cache.entries": "how many embedded texts are kept in memory",
    "embedding_cache.seconds": "for how long",
    "limits.text_chars": "characters of one text",
    "limits.key_chars": "characters of a key",
    "limits.metadata_bytes": "bytes of one memory's metadata, as JSON",
    "limits.messages": "messages of one `add`",
    "limits.batch": "items of one `add_many`, `update_many` or `delete_many`",
    "limits.page": "results of one `search` or `get_all`",
    "limits.import_bytes": "bytes of a file that is imported, unpacked",
    "limits.import_items": "turns and facts of one import",
    "policy.strategy": "how a search looks for things when the call does not say",
    "policy.min_score": "how near in meaning a hit must be when the call does not say",
    "policy.enabled": "the switch for all of it: without, nothing is stored and nothing shown to a model",
    "policy.learns": "the switch for learning alone",
    "policy.shows": "the switch for showing alone",
    "policy.language": "the language of the users, such as `nb` or `pt-BR`: a language model writes facts in it",
    "policy.search_tool": "a model may search by itself",
    "policy.skills": "kept for services that offer tools beside memory; does nothing here",
    "quota.user_memories": "memories of one user; none: without end",
    "quota.user_turns": "turns of one user",
    "quota.user_chars": "characters of both",
    "quota.tenant_memories": "memories of all users together",
    "quota.tenant_turns": "turns of all users together",
    "quota.tenant_chars": "characters of both",
    "identity.sources": "where a service looks for whom it is about, in order: `body`, `header:<name>`, `api_key`",
    "identity.nobody": "what happens when nobody is named: `error`, `off` (no memory) or `owner`",
    "identity.owner": "who that is",
    "inject.position": "where a service puts what a model is shown, see [context](guides/context.md)",
    "inject.chat": "the plain chat route shows memory",
    "inject.agents": "running an agent shows memory",
    "inject.extras": "what an answer also carries: `memories`, `events`",
    "reranker.provider": "who takes a closer look at what was found: `http`, or `package.module:Class`; none: nobody",
    "reranker.config": "the provider's own options, see below",
    "preset": "a set of values over which these sections are laid, see [settings](guides/settings.md#presets)",
    "write.mode": "when what was said becomes memory: `inline`, `background`, `session_end` or `manual`",
    "write.debounce_seconds": "silence after which a session has ended",
    "write.digest": "a session also becomes an episode",
    "write.novelty_chars": "a session with fewer characters is not distilled",
    "write.max_attempts": "how often a session is tried that a model makes nothing of",
    "write.lease_seconds": "how long a worker holds a session before it says again that it works on it",
    "write.without_llm": "without a language model the curator distils (`rules`), or sessions `wait` for one",
    "write.turns": "turns of a session that a model is shown",
    "write.turn_chars": "characters of each",
    "write.shutdown_seconds": "how long closing may take to finish what waits",
    "write.idle_seconds": "how long background work steps aside for calls",
    "upkeep.interval_hours": "how often memory is consolidated",
    "upkeep.evict": "put aside facts that faded and that nobody uses",
    "upkeep.salience_floor": "below this a fact has faded",
    "upkeep.idle_days": "days without use before it is put aside",
    "upkeep.merge_episodes": "how alike two episodes must be to become one; 0: never",
    "upkeep.merge_facts": "the same for facts",
    "upkeep.promote_at": "a fact that so many recent episodes speak of gains weight",
    "upkeep.promote_days": "how recent they must be",
    "upkeep.promote_overlap": "how much of the fact's words they must share",
    "upkeep.promote_boost": "the weight it gains",
    "upkeep.retain_days": "how long a layer is kept, by its name; 0 or not named: for ever",
    "upkeep.log_days": "how long jobs and finished signals are kept",
    "upkeep.deleted_keep_days": "how long a deleted text is kept for undo",
    "upkeep.ttl": "how long a kind is kept unused, by its name; not named: for ever",
    "upkeep.immune_uses": "uses after which that no longer applies",
    "upkeep.ttl_scan": "memories looked at in one sweep",
    "upkeep.auto_summarize": "summarise what is old whenever memory is consolidated",
    "upkeep.keep_vectors": "keep the vectors of earlier embedders after `reindex`, so that going back costs nothing",
    "upkeep.summarize_tokens": "tokens of the newest memories that a summary leaves as they are",
    "server.host": "where the service listens",
    "server.port": "its port; 0 takes a free one",
    "server.open_loopback": "callers on this machine need no key and may do everything in `tenant`",
    "server.hosts": "names under which the service may be asked besides the local ones; `*`: any",
    "server.origins": "web pages that may ask it, as `https://host`",
    "server.proxies": "addresses or networks of proxies that may say for whom they ask; without any, nobody may",
    "server.proxy_header": "the header in which they say it; your proxy must set it, and not pass one on",
    "server.private_urls": "hosts inside your network that stored settings may name",
    "server.body_bytes": "how large a request may be",
    "server.connections.limit": "requests that are answered at once; lowered to what the process may have files open",
    "server.connections.head_seconds": "how long the head of a request may take to come",
    "server.connections.body_seconds": "how long a body may take to come, besides a second for each of the bytes below",
    "server.connections.bytes_per_second": "the least pace at which a body must come and an answer must be read",
    "server.rate.per_minute": "requests a key may make in a minute; 0: no limit",
    "server.rate.burst": "how many of them at once; 0: as many as in a minute",
    "server.quota.memories": "memories of one user of the service where `quota` says nothing; 0: no limit",
    "server.quota.turns": "turns of one user",
    "server.quota.chars": "characters of both",
    "server.failed_logins.per_minute": "wrong keys and passwords that are forgiven an address in a minute; 0: no limit",
    "server.failed_logins.burst": "how many of them at once; 0: as many as in a minute",
    "server.accounts.access_minutes": "how long the token of somebody who is logged in is good for asking",
    "server.accounts.refresh_days": "how long it can be exchanged for another one",
    "server.accounts.session_days": "after how long one has to log in again in any case",
    "server.accounts.failures": "how often an account's password may be wrong in a row; then it is tried once a minute",
    "server.log": "log lines for people (`console`) or for machines (`json`)",
    "server.log_level": "the least level that is written; `debug` also writes ids, keys and facts",
    "server.mcp_remote": "keys without the permission `admin` may use `/mcp` from other machines",
    "server.tool_prefix": "what the names of tools begin with",
    "server.llm_tokens_per_day": "tokens of language models a tenant may use in a day; 0: no limit",
    "server.request_log": "how many of the last requests administrators can look at; 0: none",
    "server.request_log_hours": "and for how long",
    "server.backup_folder": "where backups that are asked for over HTTP are written; without it none are",
    "gateway.body_bytes": "how large a request to a model may be, pictures included",
    "gateway.recall_ms": "how long recalling may hold a chat up; then the profile alone is shown",
    "gateway.profile_ms": "how long a chat waits for the profile after that; then it goes on without memory",
    "gateway.tool_rounds": "requests of a chat whose model searches memory by itself; the last is without the tool",
    "gateway.upstreams": "who runs the models: a list, see [the gateway](guides/gateway.md)",
    "graph.llm": "the language model names whom and what a fact speaks of, and how that is related; else rules do",
    "context.budget": "tokens a model is shown at most",
    "context.scope": "how far a chat looks: in its `session`, at all of its `owner`'s, or also at everybody's",
    "context.gate": "`profile`: what is always known, and what is near to the message; or who decides whether memory "
    "helps: nobody (`always`), rules (`heuristic`), also a language model (`llm`); `never` shows nothing",
    "context.profile_tokens": "tokens of the [profile](guides/context.md#the-profile) at most",
    "context.recalled_turns": "turns that are recalled for a message at most",
    "context.recall_score": "how near to a message something must be to be recalled, with the built-in model",
    "context.embed_seconds": "how long a block waits for an embedder elsewhere; then words and the profile answer",
    "context.excerpt_chars": "characters of a turn that are shown at most",
    "context.false_injection": "the share of unrelated questions that may be shown anything; 0: all found is shown",
    "context.strategy": "how is searched for it; none: as `policy.strategy` says",
    "context.min_score": "how near in meaning it must be",
    "context.candidates": "how many memories are looked at",
    "context.limit": "how many are shown at most",
    "context.sections": "a budget also says how many there may be of facts, of episodes and of turns",
    "context.transcript_days": "how far back turns are looked for; 0: without end",
    "context.override_tokens": "how much of what a user told us to keep in mind is shown, whatever the budget",
    "context.cache_seconds": "how long a block is kept for the same question; any write ends it",
    "context.receipts": "how many receipts are kept",
    "context.receipt_days": "for how long",
    "context.turn_min_score": "how near in meaning a turn must be",
    "context.min_scores": "how near in meaning it must be by the words of one embedder, `provider:model`",
    "recall.fusion": "how channels become one ranking: their weighted `sum`, or reciprocal ranks (`rrf`)",
    "recall.rrf_k": "the constant of reciprocal ranks",
    "recall.decay_days": "what was not used for so many days keeps a share of 1/e of its score; none: nothing fades",
    "recall.half_life_days": "another way to say it: so many days halve a score",
    "recall.salience": "the weight of a memory counts in its score",
    "recall.mmr": "spreads hits that say the same: 1 keeps the order, less spreads more; none: off",
    "recall.visible_days": "older memories are not found; none: all are",
    "recall.layers": "what a search looks at, unless the call says it",
    "recall.bootstrap_min": "a user with fewer facts also sees those of the user `*`, which are everybody's; 0: never",
    "extract.language": (
        "whose rules read what is said without a language model: `en`, `neutral` for rules that read nothing, or the "
        "`package.module:Class` of your own"
    ),
    "extract.strategies": (
        "who finds facts: `pattern` (the curator and your own patterns), `facts` (a language model), or both; "
        "none: the model where there is one"
    ),
    "extract.roles": "whose words facts are learned from",
    "extract.assistant_first_person": "also learn from what the assistant says of itself",
    "extract.timezone": 'where "yesterday" is meant, an IANA name such as `Europe/Oslo`',
    "extract.instructions": "added to the questions a language model is asked",
    "extract.redact": (
        "`off`, `mask` or `drop` for a kind of secret: `private_key`, `api_key`, `password`, `card`, `iban`, `ssn` "
        '(masked by default), `email`, `url`, `phone`, `account` (off by default); `"off"` leaves every kind alone'
    ),
    "extract.keep_turns": "keep what was said beside the facts; without, a fact keeps its quote and no turn",
    "extract.categories": "the categories facts are sorted into: a list, or a table with a few words about each",
    "extract.attachments": "pictures and files in messages are kept by name (`reference`), or an error (`refuse`)",
    "extract.neighbours": "memories near a fact that a model is shown; twice as many near a talk",
    "extract.questions": "1: one question says what new turns do to the memory; 2: facts first, then what becomes of "
    "each; with prompts of your own there are always two",
    "extract.message_chars": "characters of one message that the curator learns from, the last; all of it is kept",
    "extract.call_chars": "characters of all messages of one call that the curator learns from, the newest",
    "extract.call_facts": "facts that one call may teach",
    "extract.patterns": "ways of your own to say a fact, see [own rules](own-rules.md)",
    "reconcile.within": "the ids within which a fact is known once and changes what is known, of those that are given",
    "reconcile.slots": "what people have one or many of, see [own rules](own-rules.md)",
    "custom_prompts.fact_extraction": "replaces the instructions for finding facts; the form of the answer stays ours. "
    "`{conversation}` and `{existing_memories_list}` are filled in",
    "custom_prompts.update_decision": "replaces the instructions for deciding what a fact does to what is known. "
    "`{existing_memories_list}` and `{new_facts_list}` are filled in",
    "version": '`v1.1` answers `{"results": [...]}`, `v1.0` the bare list',
    "tenant": "the isolation wall: one memory never sees another tenant's rows",
    "embedder local.model_dir": "a directory with a `model.onnx` and `vocab.txt` of your own",
    "embedder local.model_name": "names the vector space of that model; required with `model_dir`",
    "embedder local.model_sha256": "the expected checksum of `model.onnx`",
    "embedder local.vocab_sha256": "the expected checksum of `vocab.txt`",
    "embedder local.threads": "batches computed at the same time; never more than the machine has processors",
    "embedder local.batch_size": "texts of one run",
    "embedder openai.model": "the model's name",
    "embedder openai.api_key": "sent as a bearer token; never logged",
    "embedder openai.base_url": "any server that speaks the same dialect",
    "embedder openai.dimensions": "asks for shorter vectors; sent only when set",
    "embedder openai.batch_size": "texts of one request",
    "embedder openai.timeout": "seconds",
    "embedder openai.retries": "after a rate limit, a time-out or a service that is down",
    "embedder ollama.model": "the model's name",
    "embedder ollama.base_url": "where Ollama listens",
    "embedder ollama.dimensions": "the length of the vectors, if you know it; never sent",
    "embedder ollama.timeout": "seconds; the first request loads the model",
    "embedder ollama.retries": "after a time-out or a service that is down",
    "embedder hash.dim": "the length of the vectors",
    "reranker http.base_url": "where the reranker listens; the questions and the texts found are sent there",
    "reranker http.dialect": "`cohere` (also Jina, vLLM and others) or `tei` (Text Embeddings Inference)",
    "reranker http.model": "the model's name; `cohere` needs one",
    "reranker http.api_key": "sent as a bearer token; never logged",
    "reranker http.batch_size": "texts of one request; none: all at once, 32 for `tei`",
    "reranker http.timeout": "seconds; then the order stays what it was",
    "reranker http.retries": "after a rate limit, a time-out or a service that is down",
    "index local.memory_mb": "how much memory held vectors may take; the least recently used users go first",
    "index local.quant": "holds vectors as bytes, in a quarter of the memory; what comes near is compared exactly",
    "index postgres.memory_mb": "as without PostgreSQL, for what is held in the process",
    "index postgres.quant": "as without PostgreSQL, for what is held in the process",
    "index postgres.in_process_rows": "users with more memories are looked for by an HNSW index, if one was built",
    "index postgres.exact_rows": "of such users: what a filter chose is compared one by one up to so many",
    "index postgres.ef_search": "how many candidates an index looks at together; more find more and take longer",
    "index postgres.max_scan_tuples": "how many candidates an index looks at in all before everything is compared",
    "vectors pgvector.url": "the database, `postgresql://…`",
    "vectors pgvector.schema_name": "the schema in which each collection is a table",
    "vectors pgvector.index": "which index a new collection gets",
    "vectors pgvector.exact_rows": "collections of up to so many points are compared one by one",
    "vectors pgvector.ef_search": "how many candidates an index looks at together; more find more and take longer",
    "vectors pgvector.pool_size": "how many connections a process holds at most",
}
"""What each setting is for. A setting without a line here, or a line without a setting, is an error."""

PROVIDERS: Final = (
    ("embedder", "local"),
    ("embedder", "openai"),
    ("embedder", "ollama"),
    ("embedder", "hash"),
    ("index", "local"),
    ("index", "postgres"),
    ("vectors", "pgvector"),
    ("reranker", "http"),
)
HEADINGS: Final = {
    "embedder": "embedder.config",
    "index": "vector_store.config",
    "vectors": "vector_store.config",
    "reranker": "reranker.config",
}


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
            yield f"`{prefix}{name}`", _value(field), _default(field), MEANING[prefix + name]


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
    shown: list[str] = []
    for name, title in _PROMPTS.items():
        parts = [prompt_text(version_of(name))]
        if name not in ("learn", "extract_facts_agent"):
            parts.append(prompt_text(version_of(f"{name}_format")))
        text = "\n\n".join(parts)
        shown.append(f"## {title}\n\n`{version_of(name)}`\n\n```text\n{text}\n```")
    return "\n\n".join(shown)


TABLES: Final[dict[str, Callable[[], str]]] = {
    "settings": settings_table,
    "providers": providers_tables,
    "errors": errors_table,
    "prompts": prompts_text,
}
PAGES: Final = ("configuration.md", "reference/errors.md", "reference/prompts.md")


def filled(text: str) -> str:
    """A page with its tables as the code has them now."""
    return re.sub(r"(<!-- (\w+): made by [^>]*-->\n).*?(<!-- end -->)", _filled_mark, text, flags=re.DOTALL)


def _filled_mark(mark: re.Match[str]) -> str:
    return f"{mark[1]}\n{TABLES[mark[2]]()}\n\n{mark[3]}"


def unused_meanings() -> set[str]:
    """Lines of ``MEANING`` whose setting is gone."""
    shown = settings_table() + "".join(
        f"`{kind} {name}.{option}`"
        for kind, name in PROVIDERS
        for option in load_adapter(kind, name).Config.model_fields
    )
    return {name for name in MEANING if f"`{name}`" not in shown}


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
