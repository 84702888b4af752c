"""Apply stored backends to the settings, when a service starts.

The configuration file says what there is; what is stored says which of it is used. A choice that cannot be followed
(the adapter is not installed, an address is not safe) is left out and said aloud: a service starts in any case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from memstone.compose import ledger_of, store_key_of
from memstone.config import Settings, store_path
from memstone.core.settings.backends import QDRANT_KEY, qdrant_url
from memstone.drive import drive
from memstone.engine.backends import KeyBox, ProviderKeys
from memstone.errors import ConfigError, InvalidInput, MemstoneError
from memstone.model.instant import to_instant
from memstone.registry import builtin_names, load_adapter
from memstone.sections import EmbedderSettings, Provider, VectorStoreSettings
from memstone.server.observe import log
from memstone.server.urls import UrlGuard

# --- from the backends that are stored to the settings a service runs with, at its next start -------------------------


LOCAL_EMBEDDERS: Final = frozenset({"local", "multilingual", "static", "hash", "callable"})
OWN_SERVERS: Final = frozenset({"llamacpp", "lmstudio", "ollama", "tei", "vllm"})
"""Embedders that people run themselves, mostly without a key."""
_CARRIED: Final = ("api_key", "base_url")


@dataclass(slots=True)
class AppliedSettings:
    """Settings with the stored choices applied, and what could not be applied."""

    settings: Settings
    problems: dict[str, str] = field(default_factory=dict)


def with_stored(settings: Settings, guard: UrlGuard | None = None) -> Settings:
    """Return settings for ``create_app``: what the store of these settings says about backends is followed."""
    if (
        settings.store.url is not None
        and store_path(settings) is None
        and not settings.store.url.startswith("postgres")
    ):
        return settings  # a store in memory is empty when a service starts
    values, secrets = _read_backends(settings)
    for name, problem in secrets.unreadable.items():
        log.warning("backends.key_unreadable", setting=name, reason=problem)
    if not values:
        return settings
    applied = apply_choices(settings, values, secrets, guard or UrlGuard(settings.server.private_urls))
    for name, problem in applied.problems.items():
        log.warning("backends.not_applied", setting=name, reason=problem)
    return applied.settings


def _read_backends(settings: Settings) -> tuple[dict[str, Any], ProviderKeys]:
    io = load_adapter("io", "blocking")()
    ledger = ledger_of(settings, io)
    try:
        drive(ledger.open())
        box = KeyBox(ledger, settings.tenant, store_key_of(settings, io), load_adapter("sealing", "aes-gcm")())
        return drive(box.read(to_instant(load_adapter("clock", "system")().now())))
    finally:
        drive(ledger.close())
        drive(io.close())


def apply_choices(
    settings: Settings, values: Mapping[str, Any], secrets: Mapping[str, str], guard: UrlGuard
) -> AppliedSettings:
    """Return settings with stored choices in place of what is configured. May resolve names, which blocks."""
    applied = AppliedSettings(settings)
    choices = _Choices(settings, values, secrets, guard)
    for name, choose in (
        ("embeddingSource", choices.embedder),
        ("staticEnabled", choices.static),
        ("rerankEnabled", choices.reranker),
        ("vectorStore", choices.vector_store),
        ("primaryBackend", choices.primary),
        ("fallbackBackends", choices.fallbacks),
    ):
        try:
            update = choose()
        except MemstoneError as error:
            applied.problems[name] = error.message
        else:
            applied.settings = applied.settings.model_copy(update=update)
    return applied


@dataclass(frozen=True, slots=True)
class _Choices:
    """Each choice as a change of the settings; ``MemstoneError`` where it cannot be followed."""

    settings: Settings
    values: Mapping[str, Any]
    secrets: Mapping[str, str]
    guard: UrlGuard

    def embedder(self) -> dict[str, Any]:
        source = self.values.get("embeddingSource", "auto")
        if source == "remote":
            return {"embedder": self._remote()}
        if source == "static":
            return {"embedder": self._static_model()}
        if source == "transformers":
            if not self._transformers:
                raise ConfigError("transformersEnabled is off")
            embedder_settings = self.settings.embedder
            return {"embedder": embedder_settings if embedder_settings.provider == "local" else EmbedderSettings()}
        return self._auto()

    def _auto(self) -> dict[str, Any]:
        """Return the remote model that is named, if it has its key; else what the file says.

        A local one is left out where it is off.
        """
        remote = self._remote() if self.values.get("embeddingProviderModel") else None
        if remote is not None and not _lacks_key(remote):
            return {"embedder": remote}
        if self.values.get("staticEnabled"):
            return {"embedder": self._static_model()}
        local = self.settings.embedder.provider in ("local", "transformers")
        return {"embedder": EmbedderSettings(provider="none")} if local and not self._transformers else {}

    @property
    def _transformers(self) -> bool:
        return bool(self.values.get("transformersEnabled", True))

    def static(self) -> dict[str, Any]:
        """Return nothing, or raise if the static model is chosen and not installed; ``embedder`` uses it."""
        if self.values.get("staticEnabled"):
            self._static_model()
        return {}

    def _static_model(self) -> EmbedderSettings:
        """Return the settings of the static model, if it can be loaded."""
        load_adapter("embedder", "static").check_installed()
        return EmbedderSettings(provider="static")

    def _remote(self) -> EmbedderSettings:
        provider, _, model = str(self.values.get("embeddingProviderModel") or "").partition("/")
        if not provider:
            raise ConfigError("embeddingProviderModel, which names the model, is not set")
        if provider in LOCAL_EMBEDDERS or provider not in builtin_names("embedder"):
            raise ConfigError(f"unknown remote embedder {provider!r}")
        config = {**self._file_options(provider), **self._connection(provider), "model": model}
        return EmbedderSettings(provider=provider, config=_validate_options("embedder", provider, config))

    def reranker(self) -> dict[str, Any]:
        if "rerankEnabled" not in self.values:
            return {}
        if not self.values["rerankEnabled"]:
            return {"reranker": None}
        provider, _, model = str(self.values.get("rerankProviderModel") or "").partition("/")
        config = {**(self.settings.reranker.config if self.settings.reranker else {}), **self._connection(provider)}
        if "base_url" not in config:
            raise ConfigError("no reranker is configured", hint="set reranker in the configuration file")
        made = {**config, **({"model": model} if model else {})}
        name = self.settings.reranker.provider if self.settings.reranker else "http"
        return {"reranker": Provider(provider=name, config=_validate_options("reranker", name, made))}

    def vector_store(self) -> dict[str, Any]:
        chosen = self.values.get("vectorStore", "auto")
        if chosen == "sqlite-vec":
            vector_store_settings = self.settings.vector_store
            return {
                "vector_store": vector_store_settings
                if vector_store_settings.provider == "local"
                else VectorStoreSettings()
            }
        if chosen != "qdrant":
            return {}
        if not self.values.get("qdrantHost"):
            raise ConfigError("qdrantHost is not set")
        config = {"url": self._safe(qdrant_url(self.values)), "api_key": self.secrets.get(QDRANT_KEY)}
        plain = _validate_options("vectors", "qdrant", {name: value for name, value in config.items() if value})
        name = self.values.get("qdrantCollection", "omniroute_memory")
        return {"vector_store": VectorStoreSettings(provider="qdrant", config=plain, collection_name=name)}

    def primary(self) -> dict[str, Any]:
        _check_backends([self.values.get("primaryBackend", "ledger")])
        return {}

    def fallbacks(self) -> dict[str, Any]:
        _check_backends(self.values.get("fallbackBackends", ()))
        return {}

    def _file_options(self, provider: str) -> dict[str, Any]:
        """Return how the configuration file reaches a provider, for whatever purpose."""
        for one in (self.settings.embedder, self.settings.embedder.remote, self.settings.llm):
            if one is not None and one.provider == provider:
                return {name: one.config[name] for name in _CARRIED if name in one.config}
        return {}

    def _connection(self, provider: str) -> dict[str, Any]:
        """Return how what is stored reaches it; a key from the file is never sent to an address from the store."""
        options = self.values.get("backendConfigs", {}).get(provider)
        if not options or not options.get("baseUrl"):
            return {}
        secret = self.secrets.get(f"backendConfigs.{provider}")
        return {"base_url": self._safe(str(options["baseUrl"])), "api_key": secret}

    def _safe(self, url: str) -> str:
        """Return an address as a client gets it.

        Without TLS the machine is pinned; with it, its certificate must fit.
        """
        safe = self.guard.resolve_url(url)
        return safe.pinned_url if safe.scheme == "http" else safe.text


def _lacks_key(chosen: EmbedderSettings) -> bool:
    options = load_adapter("embedder", chosen.provider).Config.model_validate(chosen.config)
    return bool(getattr(options, "lacks_key", False))


def _check_backends(wanted: Any) -> None:
    """Raise unless only the ledger is named: nothing else holds memories."""
    unknown = [one for one in wanted if one != "ledger"]
    if unknown:
        raise ConfigError(f"unknown backend {unknown[0]!r}: ledger")


def _validate_options(kind: str, name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that the adapter accepts; what it complains about names no value."""
    values = {option: value for option, value in config.items() if value is not None}
    model: type[BaseModel] = load_adapter(kind, name).Config
    try:
        model.model_validate(values)
    except ValidationError as error:
        field_name = ".".join(map(str, error.errors()[0]["loc"]))
        raise InvalidInput(f"{kind} {name} cannot be used with these options: {field_name}") from None
    return values


# --- the configuration as an administrator may see it -----------------------------------------------------------------


MASK: Final = "***"
_SECRET: Final = re.compile(
    r"(api_?key|secret|password|passwd|token|authorization|credential|cookie)s?$", re.IGNORECASE
)
_SECRET_TABLES: Final = frozenset({"headers", "extra_headers"})
_USERINFO: Final = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_IN_QUERY: Final = re.compile(r"(?i)([?&](?=[^=&?\s]*(?:key|secret|password|token))[^=&?\s]*+=)[^&\s]*")


def mask_settings(settings: Settings) -> dict[str, Any]:
    """Return settings as plain values, with a mask in place of every secret."""
    walked = _mask_value(settings.model_dump(mode="json"), hidden=False)
    assert isinstance(walked, dict)  # noqa: S101 - settings are a mapping
    return walked


def _mask_value(value: Any, *, hidden: bool) -> Any:
    if isinstance(value, dict):
        return {name: _mask_value(one, hidden=hidden or _is_secret(name)) for name, one in value.items()}
    if isinstance(value, list):
        return [_mask_value(one, hidden=hidden) for one in value]
    if not isinstance(value, str) or not value:
        return value
    return MASK if hidden else _IN_QUERY.sub(rf"\1{MASK}", _USERINFO.sub(MASK, value))


def _is_secret(name: str) -> bool:
    return name in _SECRET_TABLES or bool(_SECRET.search(name))
