"""The composition root: the only place that builds things."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeAlias

from pydantic import BaseModel, ValidationError

from memstone.config import DEFAULT_KEY_PATH, Settings, postgres_url, store_path
from memstone.drive import drive
from memstone.engine.engine import Engine
from memstone.engine.runtime import Runtime
from memstone.engine.store.embedding import Embedding, VectorCache
from memstone.errors import ConfigError, MemstoneError, MissingExtra
from memstone.language.text.normal import ESTIMATE, TokenCounter
from memstone.ports.graph import GraphMirror
from memstone.ports.index import VectorIndex, VectorStore
from memstone.ports.io import Clock, Io
from memstone.ports.ledger import Ledger, WholeLedger
from memstone.ports.models import Embedder, Llm, Reranker
from memstone.ports.storage import EncryptionKeys, StoreKey
from memstone.registry import CALLED, load_adapter
from memstone.sections import EmbedderSettings
from memstone.setting_errors import format_validation_error
from memstone.trace import log

EmbedderLike: TypeAlias = "Embedder | Callable[[list[str]], Any]"
LlmLike: TypeAlias = "Llm | Callable[[list[dict[str, str]]], str | Awaitable[str]]"
RerankerLike: TypeAlias = "Reranker | Callable[[str, list[str]], Sequence[float] | Awaitable[Sequence[float]]]"
Tokenizer: TypeAlias = "Callable[[str], int]"


OTHER_OPTIONS: Final = {
    "apikey": "api_key",
    "key": "api_key",
    "token": "api_key",
    "api_base": "base_url",
    "endpoint": "base_url",
    "azure_endpoint": "base_url",
    "host": "base_url",
    "ollama_base_url": "base_url",
    "openai_base_url": "base_url",
    "url": "base_url",
    "azure_deployment": "deployment",
    "embedding_dims": "dimensions",
    "output_dimension": "dimensions",
    "model_path": "model_dir",
    "num_retries": "retries",
    "max_output_tokens": "max_tokens",
}
"""What other libraries call an option."""

_NEEDED: Final = {
    "embedder": ("provider", "model", "destination", "dimension"),
    "llm": ("model", "destination"),
    "reranker": ("model", "destination"),
}


def compose_engine(
    config: Settings | Mapping[str, Any] | None,
    io_name: str,
    *,
    embedder: EmbedderLike | None = None,
    llm: LlmLike | None = None,
    reranker: RerankerLike | None = None,
    clock: Clock | None = None,
    tokenizer: Tokenizer | None = None,
) -> Engine:
    """Build an engine from settings; ports that were passed as objects replace configured ones."""
    settings = Settings.of(config)
    _check_extractors(settings, llm)
    io: Io = load_adapter("io", io_name)()
    ledger = ledger_of(settings, io)
    runtime = Runtime(
        ledger=ledger,
        index=_build_index(settings, io, ledger),
        graph=_build_graph(settings, io, ledger),
        texts=build_adapter("texts", "local", {}, io, ledger),
        embedding=Embedding(
            _build_embedder(settings, io, embedder),
            VectorCache(settings.embedding_cache.entries, settings.embedding_cache.seconds),
            settings.tenant,
        ),
        clock=load_adapter("clock", "system")() if clock is None else _checked_clock(clock),
        io=io,
        policy=settings.as_policy(),
        tenant_id=settings.tenant,
        home_tenant=settings.tenant,
        store_key=store_key_of(settings, io),
        sealing=load_adapter("sealing", "aes-gcm")(),
        language=load_adapter("language", settings.extract.language)(),
        curator=load_adapter("curator", "local")(),
        llm=(model := _build_llm(settings, io, llm)),
        reranker=_build_reranker(settings, io, reranker, has_llm=model is not None),
        token_counter=_build_token_counter(settings, tokenizer),
    )
    return Engine(runtime)


def _build_token_counter(settings: Settings, tokenizer: Tokenizer | None) -> TokenCounter:
    """Return what counts tokens: a function that was passed, the one that settings name, or the estimate."""
    name, _, rest = (settings.context.tokenizer or "").partition(":")
    if tokenizer is not None:
        made = tokenizer
    elif not name:
        return ESTIMATE
    elif name == "tiktoken":
        made = load_adapter("tokenizer", name)(rest or "o200k_base")
    else:
        made = load_adapter("tokenizer", f"{name}:{rest}")
    try:
        found = made("How many tokens is this?")
    except MemstoneError:
        raise
    except Exception as error:
        raise ConfigError(f"the tokenizer failed: {error}", hint="it takes a text and returns a number") from error
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise ConfigError(
            f"a tokenizer returns how many tokens a text has, not {found!r}"[:200],
            hint="for an encoder, pass lambda text: len(encoder.encode(text))",
        )
    return TokenCounter(made)


def _checked_clock(clock: Clock) -> Clock:
    if not callable(getattr(clock, "now", None)):
        raise ConfigError(
            f"clock must have a method 'now', and {type(clock).__name__} has none",
            hint="now() returns a datetime with a time zone; for tests use memstone.testing.clock.FakeClock",
        )
    return clock


def _check_extractors(settings: Settings, llm: LlmLike | None) -> None:
    if "facts" in (settings.extract.strategies or ()) and llm is None and settings.llm is None:
        raise ConfigError(
            "extract.strategies contains facts, but no language model is configured",
            hint="configure llm, or leave out strategies to learn without a model",
        )


def ledger_of(settings: Settings, io: Io) -> WholeLedger:
    """Build the ledger of the settings."""
    url = postgres_url(settings)
    if url is None:
        choices = settings.store.model_dump(include={"durable", "check"})
        reserve = settings.store.reserve_mb * 1_000_000
        file = {**choices, "path": store_path(settings), "reserve_bytes": reserve}
        made: WholeLedger = build_adapter("ledger", "sqlite", file, io, encryption_keys_of(settings, io))
        return made
    options = settings.store.model_dump(include={"durable", "pool_size", "statement_seconds"})
    options = {**options, "url": url, "tenant": settings.tenant}
    found: WholeLedger = build_adapter("ledger", "postgres", options, io, encryption_keys_of(settings, io))
    return found


def encryption_keys_of(settings: Settings, io: Io) -> EncryptionKeys | None:
    """Return the encryption keys of the settings, or None if the store is not encrypted."""
    source = settings.store.encryption_key
    if source is None:
        return None
    if (file := _store_key_file(settings)) is not None and source == f"file:{file}":
        raise ConfigError(
            f"store.encryption_key names the file of store.key, {file}", hint="choose another file for one of them"
        )
    made: EncryptionKeys = build_adapter("encryption", "keys", {"source": source}, io)
    return made


def encrypted_files_of(settings: Settings, io: Io) -> Any:
    """Return what reads and writes files that are encrypted if the store is."""
    return load_adapter("encryption", "files")(encryption_keys_of(settings, io))


def _store_key_file(settings: Settings) -> Path | None:
    """Return the file of the store's key, if it is in a file."""
    kind, _, where = (settings.store.key or "").partition(":")
    if kind:
        return Path(where) if kind == "file" else None
    path = store_path(settings)
    if path is None:
        return None if postgres_url(settings) is None else DEFAULT_KEY_PATH
    return path.with_name(f"{path.name}.key")


def store_key_of(settings: Settings, io: Io) -> StoreKey:
    """Return the store's key: by default in a file beside the store, or in the home directory."""
    if (file := _store_key_file(settings)) is not None:
        in_file: StoreKey = build_adapter("key", "file", {"path": file}, io, encryption_keys_of(settings, io))
        return in_file
    kind, _, where = (settings.store.key or "process:").partition(":")
    options: dict[str, Any] = {} if kind == "process" else {kind: where}
    if kind == "keyring":
        service, _, name = where.partition("/")
        options = {"service": service, "name": name}
    made: StoreKey = build_adapter("key", kind, options, io)
    return made


def adopt_store_key(settings: Settings, source: Path) -> None:
    """Use the key in a file as the key of this store; raise ``Conflict`` if it has another one."""
    io: Io = load_adapter("io", "blocking")()
    key = store_key_of(settings, io)
    if not isinstance(key, load_adapter("key", "file")):
        raise ConfigError("the key of this store is not kept in a file", hint="store.key sets where it is kept")
    try:
        drive(key.adopt(source))
    finally:
        drive(io.close())


def _build_index(settings: Settings, io: Io, ledger: Ledger) -> VectorIndex:
    chosen = settings.vector_store
    where = "local" if postgres_url(settings) is None else "postgres"
    if chosen.provider == "local":
        local: VectorIndex = build_adapter("index", where, chosen.config, io, ledger)
        return local
    from memstone.engine.transfer.mirror import MirroredIndex

    store = vector_store_of(settings, io)
    embedded: VectorIndex = build_adapter("index", where, {}, io, ledger)
    return MirroredIndex(ledger, store, chosen.collection_name, io, embedded, payload_text=chosen.payload_text)


def vector_store_of(settings: Settings, io: Io) -> VectorStore:
    """Build the separate vector store of the settings."""
    chosen = settings.vector_store
    more = (encryption_keys_of(settings, io),) if _encrypts_own_file(chosen.provider) else ()
    made: VectorStore = build_adapter("vectors", chosen.provider, chosen.config, io, *more)
    return made


def _encrypts_own_file(provider: str) -> bool:
    """Return whether a vector store writes its own file and can encrypt it."""
    return bool(getattr(load_adapter("vectors", provider), "encrypts_file", False))


def _build_graph(settings: Settings, io: Io, ledger: Ledger) -> GraphMirror | None:
    chosen = settings.graph_store
    if chosen.provider == "local":
        if chosen.config:
            raise ConfigError(
                "graph_store.provider is local, which has no options",
                hint='name the database, for example {"provider": "neo4j", "config": {"url": "bolt://localhost:7687"}}',
            )
        return None
    from memstone.engine.transfer.graph_mirror import MirroredGraph

    store = build_adapter("graph", chosen.provider, chosen.config, io)
    return MirroredGraph(ledger, store, chosen.collection_name, io)


def _build_embedder(settings: Settings, io: Io, embedder: EmbedderLike | None) -> Embedder | None:
    if embedder is not None:
        wrapped: Embedder = _wrap_as_port("embedder", embedder, "embed", io)
        return wrapped
    return embedder_of(settings, io)


def embedder_of(settings: Settings, io: Io) -> Embedder | None:
    """Build the embedder of the settings; None if there is none."""
    chosen = settings.embedder
    if chosen.provider == "none":
        return None
    if chosen.provider == "auto":
        return _remote_with_key(chosen, io) or _local_or_none(chosen, io)
    if "embedder" not in settings.model_fields_set:
        return _local_or_none(chosen, io)
    if chosen.provider == "remote":
        return _build_remote_embedder(chosen, io)
    made: Embedder = build_adapter("embedder", chosen.provider, chosen.config, io)
    return made


def _build_remote_embedder(chosen: EmbedderSettings, io: Io) -> Embedder:
    if chosen.remote is None:
        raise ConfigError(
            "embedder.provider is remote, but embedder.remote names no model",
            hint='set embedder.remote, for example {"provider": "openai", "config": {"api_key": "..."}}',
        )
    made: Embedder = build_adapter("embedder", chosen.remote.provider, chosen.remote.config, io)
    return made


def _remote_with_key(chosen: EmbedderSettings, io: Io) -> Embedder | None:
    if chosen.remote is None:
        return None
    made = _build_remote_embedder(chosen, io)
    if getattr(made, "lacks_key", False):
        log.warning("no key is set for %s, so it does not embed text (no_key)", made.destination)
        return None
    return made


def _local_or_none(chosen: EmbedderSettings, io: Io) -> Embedder | None:
    try:
        made: Embedder = build_adapter("embedder", "local", chosen.config, io)
    except MissingExtra as error:
        log.warning("the local embedding model is not installed, so search uses text only: %s", error)
        return None
    return made


def _build_llm(settings: Settings, io: Io, llm: LlmLike | None) -> Llm | None:
    if llm is not None:
        wrapped: Llm = _wrap_as_port("llm", llm, "generate", io)
        return wrapped
    if settings.llm is None:
        return None
    asked = build_adapter("llm", settings.llm.provider, settings.llm.config, io)
    guarded: Llm = load_adapter("llm", "guarded")(asked, io, max_concurrent=settings.llm.max_concurrent)
    return guarded


def _build_reranker(settings: Settings, io: Io, reranker: RerankerLike | None, *, has_llm: bool) -> Reranker | None:
    if reranker is not None:
        wrapped: Reranker = _wrap_as_port("reranker", reranker, "rerank", io)
        return wrapped
    if settings.reranker is None:
        return None
    made: Reranker = build_adapter("reranker", settings.reranker.provider, settings.reranker.config, io)
    if not has_llm and callable(getattr(made, "bind", None)):
        raise ConfigError("reranker.provider is llm, and there is no language model", hint="set llm.provider")
    return made


def _wrap_as_port(kind: str, value: Any, method: str, io: Io) -> Any:
    """Return an object that implements the port, or wrap a plain function."""
    if callable(getattr(value, method, None)):
        missing = [name for name in _NEEDED[kind] if not hasattr(value, name)]
        if missing:
            raise ConfigError(f"this {kind} lacks the methods {', '.join(missing)}", hint=f"see memstone.ports.{kind}")
        return value
    if callable(value):
        return load_adapter(kind, "callable")(value, io)
    raise ConfigError(f"{kind} must have a method {method!r} or be a function, not {type(value).__name__}")


def build_adapter(kind: str, name: str, options: Mapping[str, Any], io: Io, *more: Any) -> Any:
    """Build an adapter from its name and options.

    What the options of a provider leave to the environment, such as a key, it reads there itself.
    """
    cls = load_adapter(kind, name)
    model: type[BaseModel] = cls.Config
    complete = getattr(cls, "read_environment", None)
    try:
        config = model.model_validate(dict(options) if complete is None else complete(options, os.environ))
    except ValidationError as error:
        hint = _suggest_option(error, model.model_fields) or "see docs/configuration.md"
        raise ConfigError(f"{CALLED.get(kind, kind)} {name}: {format_validation_error(error)}", hint=hint) from None
    return cls(config, io, *more)


def _suggest_option(error: ValidationError, known: Collection[str]) -> str:
    """Return the option that was probably meant by an unknown one; '' if none is unknown."""
    unknown = [str(one["loc"][0]) for one in error.errors() if one["type"] == "extra_forbidden"]
    if not unknown:
        return ""
    meant = OTHER_OPTIONS.get(unknown[0], "")
    near = [meant] if meant in known else get_close_matches(unknown[0].lower(), known, n=1)
    return f"did you mean {near[0]}?" if near else f"{unknown[0]} is unknown; options are {', '.join(known)}"
