"""Settings: what a memory is made of and how it behaves.

The library takes a dictionary or ``Settings`` and never reads the environment by itself. ``Settings.load`` (a TOML file
plus ``RETAIN_`` variables) serves the command line and the server; ``Settings.from_env`` is the explicit way to choose
providers by the keys that are set.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from retain.core.redact import RedactPolicy
from retain.errors import ConfigError
from retain.model.policy import Curation, Limits, Policy

DEFAULT_PATH: Final = Path("~/.retain/retain.db")
PREFIX: Final = "RETAIN_"
_LIMITS: Final = Limits()


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class StoreSettings(_Part):
    """``url``: ``sqlite:///path`` or ``memory:``; ``durable`` waits for the disk on every write."""

    url: str | None = None
    durable: bool = True


class Provider(_Part):
    """A provider by name, and its own options, which the provider checks."""

    provider: str
    config: dict[str, Any] = Field(default_factory=dict, repr=False)  # it may hold a key


class EmbedderSettings(Provider):
    """Who turns text into vectors; ``none`` means search by text only."""

    provider: str = "local"


class VectorStoreSettings(Provider):
    """Where nearest neighbours are looked for; ``local`` is in this process, over the ledger."""

    provider: str = "local"
    collection_name: str = Field(default="memories", min_length=1)


class HistorySettings(_Part):
    """The history lives in the store; ``db_path`` is another way to say where that is."""

    db_path: Path | None = None


class CacheSettings(_Part):
    """How many embeddings are kept, and for how long."""

    entries: int = Field(default=1000, ge=0)
    seconds: float = Field(default=300.0, ge=0)


class LimitSettings(_Part):
    """How large things may be."""

    text_chars: int = Field(default=_LIMITS.text_chars, ge=1)
    key_chars: int = Field(default=_LIMITS.key_chars, ge=1)
    metadata_bytes: int = Field(default=_LIMITS.metadata_bytes, ge=2)
    messages: int = Field(default=_LIMITS.messages, ge=1)
    batch: int = Field(default=_LIMITS.batch, ge=1)
    page: int = Field(default=_LIMITS.page, ge=1)


class PolicySettings(_Part):
    """How the memory behaves where it is not told otherwise in a call."""

    strategy: Literal["hybrid", "vector", "text"] = "hybrid"
    min_score: float | None = Field(default=None, ge=0, le=1)


class ExtractSettings(_Part):
    """From whose words facts are learned, and how secrets in them are treated.

    ``assistant_first_person`` also reads what the assistant says of itself. ``timezone`` is where "yesterday" is meant.
    ``instructions`` are added to the questions a language model is asked. ``redact`` says ``off``, ``mask`` or ``drop``
    for each kind of secret.
    """

    roles: tuple[Literal["user", "assistant"], ...] = ("user", "assistant")
    assistant_first_person: bool = False
    timezone: str = "UTC"
    instructions: str = ""
    redact: dict[str, Literal["off", "mask", "drop"]] = Field(default_factory=dict)

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(f"unknown time zone {value!r}") from error
        return value

    @field_validator("redact")
    @classmethod
    def _known_kinds(cls, value: dict[str, str]) -> dict[str, str]:
        unknown = sorted(set(value) - {item.name for item in fields(RedactPolicy)})
        if unknown:
            raise ValueError(f"unknown kind {unknown[0]!r}")
        return value


class PromptSettings(_Part):
    """Texts that replace the built-in instructions of the two questions; the form of the answer is always ours."""

    fact_extraction: str = ""
    update_decision: str = ""


class Settings(_Part):
    """Everything that can be configured."""

    store: StoreSettings = StoreSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    llm: Provider | None = None
    vector_store: VectorStoreSettings = VectorStoreSettings()
    history: HistorySettings = HistorySettings()
    embedding_cache: CacheSettings = CacheSettings()
    limits: LimitSettings = LimitSettings()
    policy: PolicySettings = PolicySettings()
    extract: ExtractSettings = ExtractSettings()
    custom_prompts: PromptSettings = PromptSettings()
    version: Literal["v1.0", "v1.1"] = "v1.1"
    tenant: str = Field(default="default", min_length=1, max_length=256)

    @model_validator(mode="after")
    def _one_place(self) -> Settings:
        if self.store.url and self.history.db_path and store_path(self) != self.history.db_path.expanduser():
            raise ValueError("store.url and history.db_path name two places: the history lives in the store")
        return self

    @classmethod
    def of(cls, given: Settings | Mapping[str, Any] | None) -> Settings:
        """Settings from what a caller passed; ``ConfigError`` names the setting that is wrong."""
        if isinstance(given, Settings):
            return given
        try:
            return cls.model_validate(dict(given or {}))
        except (ValidationError, TypeError, ValueError) as error:
            raise ConfigError(f"configuration: {readable(error)}", hint="see docs/configuration.md") from None

    @classmethod
    def load(cls, path: str | Path | None = None, env: Mapping[str, str] | None = None) -> Settings:
        """Settings from a TOML file and ``RETAIN_`` variables (``RETAIN_STORE__URL`` is ``store.url``)."""
        given = _from_file(Path(path)) if path is not None else {}
        for name, value in (os.environ if env is None else env).items():
            if name.startswith(PREFIX) and name != "RETAIN_CONFIG":
                _put(given, name[len(PREFIX) :].lower().split("__"), _parsed(value))
        return cls.of(given)

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Settings:
        """Providers chosen by the keys that are set: this is how text may leave the machine, by your word."""
        values = os.environ if env is None else env
        settings = cls.load(values.get("RETAIN_CONFIG"), values)
        key = values.get("OPENAI_API_KEY")
        if not key:
            return settings
        config = {"api_key": key}
        if values.get("OPENAI_BASE_URL"):
            config["base_url"] = values["OPENAI_BASE_URL"]
        chosen = {
            "embedder": EmbedderSettings(provider="openai", config=config),
            "llm": Provider(provider="openai", config=config),
        }
        named = settings.model_fields_set
        return settings.model_copy(update={name: value for name, value in chosen.items() if name not in named})

    def as_policy(self) -> Policy:
        """The values the engine works with."""
        limits = Limits(**self.limits.model_dump())
        curation = Curation(
            roles=self.extract.roles,
            assistant_first_person=self.extract.assistant_first_person,
            timezone=self.extract.timezone,
            extraction_prompt=self.custom_prompts.fact_extraction,
            decision_prompt=self.custom_prompts.update_decision,
            instructions=self.extract.instructions,
            redact=tuple(sorted(self.extract.redact.items())),
        )
        return Policy(
            strategy=self.policy.strategy,
            min_score=self.policy.min_score,
            limits=limits,
            curation=curation,
            bare_lists=self.version == "v1.0",
        )


def store_path(settings: Settings) -> Path | None:
    """The file of the store; None for one that lives in memory."""
    url = settings.store.url
    if url is None:
        return (settings.history.db_path or DEFAULT_PATH).expanduser()
    if url in ("memory:", ":memory:", "sqlite://", "sqlite:///:memory:"):
        return None
    if url.startswith("sqlite:///"):
        return Path(url.removeprefix("sqlite:///")).expanduser()
    raise ConfigError(
        f"store.url cannot be used: {_without_secrets(url)}",
        hint="sqlite:///path/to/file.db (four slashes: absolute), or memory:",
    )


def readable(error: Exception) -> str:
    """The first complaints of a validation, without the values, which may be secrets."""
    if not isinstance(error, ValidationError):
        return str(error)
    places = (f"{'.'.join(map(str, one['loc'])) or 'settings'}: {one['msg']}" for one in error.errors()[:3])
    return "; ".join(places)


def _without_secrets(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.expanduser().read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}", hint="the configuration file must be readable TOML") from error


def _put(target: dict[str, Any], path: list[str], value: Any) -> None:
    for step in path[:-1]:
        target = target.setdefault(step, {})
        if not isinstance(target, dict):
            raise ConfigError(f"{'.'.join(path)} is set twice, once as a single value")
    target[path[-1]] = value


def _parsed(value: str) -> Any:
    """Numbers, booleans and lists as TOML reads them; anything else is text."""
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value
