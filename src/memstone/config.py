"""Settings: their sections, files and variables.

The library takes a dictionary or ``Settings``. Of the environment it reads by itself only the key and the address of a
provider that these name and say nothing more about (``memstone.compose.build_adapter``). ``Settings.load`` (a TOML file
plus ``MEMSTONE_`` variables) serves the command line and the server; ``Settings.from_env`` is the explicit way to
choose providers by the keys that are set.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, ValidationError, model_validator

from memstone.core.checks.arguments import checked_path
from memstone.environment import from_gateway, named_settings, parse_value, refuse_former_variables
from memstone.errors import ConfigError, InvalidInput
from memstone.language.language import Language
from memstone.literals import PresetName
from memstone.model.policy import PRESETS, Curation, Limits, OwnRules, Policy
from memstone.registry import load_adapter
from memstone.sections import (
    REMOTE_SOURCES,
    CacheSettings,
    ContextSettings,
    EmbedderSettings,
    ExtractSettings,
    GraphSettings,
    GraphStoreSettings,
    HistorySettings,
    IdentitySettings,
    InjectSettings,
    LimitSettings,
    LlmSettings,
    PolicySettings,
    PromptSettings,
    Provider,
    QuotaSettings,
    RecallSettings,
    ReconcileSettings,
    SettingsSection,
    StoreSettings,
    UpkeepSettings,
    VectorStoreSettings,
    WriteSettings,
)
from memstone.sections_service import GatewaySettings, ServerSettings
from memstone.setting_errors import format_validation_error, suggest_hint

DEFAULT_PATH: Final = Path("~/.memstone/memstone.db")
DEFAULT_KEY_PATH: Final = Path("~/.memstone/store.key")
"""Where the key of a store is by default that is no file of its own."""

FORMER_PATH: Final = Path("~/.retain/retain.db")
"""Where the store was by default before the product got its name."""

_FORMS: Final = (
    'Settings.load("memstone.toml") reads a file; {"store": {"url": "sqlite:///notes.db"}} sets where the store is'
)


class Settings(SettingsSection):
    """Everything that can be configured."""

    store: StoreSettings = StoreSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    llm: LlmSettings | None = None
    reranker: Provider | None = None
    vector_store: VectorStoreSettings = VectorStoreSettings()
    graph_store: GraphStoreSettings = GraphStoreSettings()
    history: HistorySettings = HistorySettings()
    embedding_cache: CacheSettings = CacheSettings()
    limits: LimitSettings = LimitSettings()
    policy: PolicySettings = PolicySettings()
    preset: PresetName = "facts"
    recall: RecallSettings = RecallSettings()
    context: ContextSettings = ContextSettings()
    graph: GraphSettings = GraphSettings()
    write: WriteSettings = WriteSettings()
    upkeep: UpkeepSettings = UpkeepSettings()
    extract: ExtractSettings = ExtractSettings()
    reconcile: ReconcileSettings = ReconcileSettings()
    custom_prompts: PromptSettings = PromptSettings()
    quota: QuotaSettings = QuotaSettings()
    identity: IdentitySettings = IdentitySettings()
    inject: InjectSettings = InjectSettings()
    server: ServerSettings = ServerSettings()
    gateway: GatewaySettings = GatewaySettings()
    version: Literal["v1.0", "v1.1"] = "v1.1"
    tenant: str = Field(default="default", min_length=1, max_length=256)

    @model_validator(mode="after")
    def _one_place(self) -> Settings:
        if self.store.url and self.history.db_path and store_path(self) != self.history.db_path.expanduser():
            raise ValueError("store.url and history.db_path differ: the history is part of the store")
        return self

    @model_validator(mode="after")
    def _usable_rules(self) -> Settings:
        self.own_rules()
        return self

    @classmethod
    def of(cls, settings: Settings | Mapping[str, Any] | None) -> Settings:
        """Return settings from what a caller passed; ``ConfigError`` names an invalid setting."""
        if isinstance(settings, Settings):
            return settings
        if settings is not None and not isinstance(settings, Mapping):
            raise ConfigError(
                f"a configuration must be a dictionary or Settings, not {type(settings).__name__}", hint=_FORMS
            )
        return cls._validate_settings(settings or {}, {})

    @classmethod
    def _validate_settings(cls, values: Mapping[str, Any], variables: Mapping[str, list[str]]) -> Settings:
        if "profile" in values:
            raise ConfigError(
                "configuration: profile was renamed to preset", hint=f"write preset = {values['profile']!r}"
            )
        try:
            return cls.model_validate(dict(values))
        except (ValidationError, TypeError, ValueError) as error:
            found = format_validation_error(error, variables, cls)
            raise ConfigError(f"configuration: {found}", hint=suggest_hint(error)) from None

    @classmethod
    def load(cls, path: str | Path | None = None, env: Mapping[str, str] | None = None) -> Settings:
        """Return settings from a TOML file and ``MEMSTONE_`` variables (``MEMSTONE_STORE__URL`` is ``store.url``).

        Other variables that happen to begin so, such as ``MEMSTONE_KEY``, are left alone.
        A file that ends in ``.json`` is the ``memory.json`` of a companion: ten values, each moved into its range.
        """
        values = os.environ if env is None else env
        file = None if path is None else _validate_file_path(path, "the configuration file")
        arguments = from_gateway(values, {} if file is None else _from_file(file))
        refuse_former_variables(values, cls.model_fields)
        variables = named_settings(values, cls.model_fields)
        for name, setting in variables.items():
            _set_nested_value(arguments, setting, parse_value(values[name]))
        return cls._validate_settings(arguments, variables)

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Settings:
        """Return providers chosen by the keys that are set: this is how text may leave the machine, by your word."""
        values = os.environ if env is None else env
        settings = cls.load(values.get("MEMSTONE_CONFIG"), values)
        account = _choose_provider_account(values, PRESETS[settings.preset].env_embedder)
        if account is None:
            return settings
        chosen = {
            "embedder": EmbedderSettings(provider="openai", config=account[0]),
            "llm": LlmSettings(provider="openai", config=account[1]),
        }
        named = settings.model_fields_set
        if settings.embedder.provider in REMOTE_SOURCES and settings.embedder.remote is None:
            remote = Provider(provider="openai", config=account[0])
            settings = settings.model_copy(update={"embedder": settings.embedder.model_copy(update={"remote": remote})})
        return settings.model_copy(update={name: value for name, value in chosen.items() if name not in named})

    def own_rules(self) -> OwnRules:
        """Return the configured patterns and slots."""
        if not self.extract.patterns and not self.reconcile.slots:
            return OwnRules()
        from memstone.core.checks.own_rules import own_rules

        language: Language = load_adapter("language", self.extract.language)()
        patterns = [one.model_dump() for one in self.extract.patterns]
        slots = [one.model_dump() for one in self.reconcile.slots]
        return own_rules(patterns, slots, language.changes.list_known_slots())

    def for_service(self) -> Settings:
        """Return the same settings, with the quotas of ``server.quota`` where ``quota`` sets none."""
        named, most = self.quota.model_dump(exclude_none=True), self.server.quota.model_dump()
        quota = {f"user_{name}": value for name, value in most.items() if value}
        return self.model_copy(update={"quota": QuotaSettings(**{**quota, **named})})

    def as_policy(self) -> Policy:
        """Return the policy for the engine."""
        limits, preset = Limits(**self.limits.model_dump()), PRESETS[self.preset]
        curation = Curation(
            strategies=preset.strategies if self.extract.strategies is None else self.extract.strategies,
            roles=preset.roles if self.extract.roles is None else self.extract.roles,
            assistant_first_person=self.extract.assistant_first_person,
            timezone=self.extract.timezone,
            extraction_prompt=self.custom_prompts.fact_extraction,
            decision_prompt=self.custom_prompts.update_decision,
            instructions=self.extract.instructions,
            redact=tuple(sorted(self.extract.redact.items())),
            keep_turns=self.extract.keep_turns,
            own=self.own_rules(),
            categories=tuple(self.extract.categories.items()),
            attachments=self.extract.attachments,
            questions=self.extract.questions,
            neighbours=preset.neighbours if self.extract.neighbours is None else self.extract.neighbours,
            message_chars=self.extract.message_chars,
            call_chars=self.extract.call_chars,
            call_facts=self.extract.call_facts,
        )
        return Policy(
            strategy=self.policy.strategy,
            min_score=self.policy.min_score,
            limits=limits,
            curation=curation,
            recall=self.recall.over(preset.recall),
            retrieval=self.context.over(preset.retrieval),
            formation=self.write.over(preset.formation),
            upkeep=self.upkeep.over(preset.upkeep),
            dedupe_scope=preset.dedupe_scope if self.reconcile.within is None else self.reconcile.within,
            known_scope=preset.known_scope if self.reconcile.within is None else self.reconcile.within,
            enabled=self.policy.enabled,
            learns=self.policy.learns,
            shows=self.policy.shows,
            language=self.policy.language,
            search_tool=self.policy.search_tool,
            skills=self.policy.skills,
            identity=self.identity.over(preset.identity),
            inject=self.inject.over(preset.inject),
            quotas=self.quota.as_policy(),
            preset=self.preset,
            graph_llm=self.graph.llm,
            prices=() if self.llm is None else self.llm.price_list(),
            bare_lists=self.version == "v1.0",
        )


def postgres_url(settings: Settings) -> str | None:
    """Return the URL of the store, if it is a PostgreSQL database."""
    url = settings.store.url or ""
    return url if url.startswith(("postgresql://", "postgres://")) else None


def store_place(settings: Settings) -> str:
    """Return where the store is, without a password."""
    url = postgres_url(settings)
    return _without_secrets(url) if url is not None else str(store_path(settings) or "memory:")


def store_path(settings: Settings) -> Path | None:
    """Return the file of the store; None if it is not a file."""
    url = settings.store.url
    if postgres_url(settings) is not None:
        return None
    if url is None:
        return (
            _validate_file_path(settings.history.db_path, "history.db_path")
            if settings.history.db_path
            else _default_path()
        )
    if url in ("memory:", ":memory:", "sqlite://", "sqlite:///:memory:"):
        return None
    if url.startswith("sqlite:///") and Path(url.removeprefix("sqlite:///")).name:
        return _validate_file_path(url.removeprefix("sqlite:///"), "the file in store.url")
    raise ConfigError(
        f"store.url cannot be used: {_without_secrets(url)}",
        hint="sqlite:///path/to/file.db (four slashes: absolute), memory:, or postgresql://user@host/database",
    )


def _validate_file_path(path: str | Path, what: str) -> Path:
    try:
        return checked_path(path, what)
    except (InvalidInput, RuntimeError) as error:  # or a home directory that nobody has
        raise ConfigError(getattr(error, "message", str(error)), hint="give the path of a file") from error


def _default_path() -> Path:
    """Return the default path; raise if there is only a store under the former name."""
    path, former = DEFAULT_PATH.expanduser(), FORMER_PATH.expanduser()
    if former.exists() and not path.exists():
        raise ConfigError(
            f"there is no store at {path}, but there is one under the former name at {former}",
            hint="`memstone adopt` moves it; to use it where it is, set --db or store.url",
        )
    return path


def _without_secrets(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2].partition('?')[0]}"


def _from_file(path: Path) -> dict[str, Any]:
    if path.suffix == ".json":
        return _read_companion_file(path)
    try:
        return tomllib.loads(path.expanduser().read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}", hint="the configuration file must be valid TOML") from error


def _read_companion_file(path: Path) -> dict[str, Any]:
    """Return a companion's ``memory.json``.

    A file that is missing or cannot be read means defaults, and is never written.
    """
    from memstone.core.settings.backends import as_configuration, read_companion

    written = None
    with suppress(OSError, UnicodeDecodeError):
        written = path.expanduser().read_text("utf-8")
    return as_configuration(read_companion(written))


def _set_nested_value(target: dict[str, Any], path: list[str], value: Any) -> None:
    for step in path[:-1]:
        target = target.setdefault(step, {})
        if not isinstance(target, dict):
            raise ConfigError(f"{'.'.join(path)} is set twice, once as a single value")
    target[path[-1]] = value


def _choose_provider_account(values: Mapping[str, str], embedder: str) -> tuple[dict[str, str], dict[str, str]] | None:
    """Choose the provider for embedding and learning by the keys in the environment.

    It is OpenAI's key, or Mistral's where it is the only one or the preset's own.
    """
    openai, mistral = values.get("OPENAI_API_KEY"), values.get("MISTRAL_API_KEY")
    if mistral and (not openai or embedder.startswith("mistral")):
        account = {"api_key": mistral, "base_url": values.get("MISTRAL_BASE_URL") or "https://api.mistral.ai/v1"}
        return {**account, "model": "mistral-embed"}, {**account, "model": "mistral-small-latest"}
    if not openai:
        return None
    config = {"api_key": openai}
    if values.get("OPENAI_BASE_URL"):
        config["base_url"] = values["OPENAI_BASE_URL"]
    return config, config
