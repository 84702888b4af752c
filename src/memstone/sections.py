"""The sections of the settings."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from memstone.core.ranking.strength import time_constant
from memstone.core.redact import RedactPolicy
from memstone.core.settings.forms import Categories
from memstone.errors import ConfigError
from memstone.literals import CallerKind, GateName, LayerName, Strategy
from memstone.model.policy import Formation, Identity, Injection, Limits, Quotas, Recall, RetrievalPolicy, Upkeep

_LIMITS: Final = Limits()
REMOTE_SOURCES: Final = ("auto", "remote")


class SettingsSection(BaseModel):
    """A section of the settings: what it does not know is an error, and no value is ever shown in one."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


_KEY_PLACE: Final = r"^(file:.+|keyring:[^/]+/.+|command:.+|env:[A-Za-z_][A-Za-z0-9_]*)$"


class StoreSettings(SettingsSection):
    """``url``: ``sqlite:///path``, ``memory:`` or ``postgresql://…``; ``durable`` waits for the disk on every write.

    ``check`` looks for damage whenever a file of up to 8 MB is opened; without it a damaged file is opened, too, and
    what can be read of it can be saved. ``reserve_mb`` must stay free on the disk of a file: beyond that nothing is
    added, so that deleting, erasing and everybody else on that disk still have room. ``key`` says where the key is kept
    that signs backups and seals the keys of providers: ``file:PATH``, ``keyring:SERVICE/NAME`` or ``command:PROGRAM AND
    ARGUMENTS``, or ``env:NAME``. ``encryption_key`` says the same of the keys that the store is encrypted with, and
    everything that Memstone writes beside it; without it nothing is encrypted. The others are for PostgreSQL: how many
    connections a process holds, and how long a statement may take.
    """

    url: str | None = Field(default=None, repr=False)  # it may hold a password
    durable: bool = True
    check: bool = True
    reserve_mb: int = Field(default=64, ge=0)
    key: str | None = Field(default=None, repr=False, pattern=_KEY_PLACE)
    encryption_key: str | None = Field(default=None, repr=False, pattern=_KEY_PLACE)
    pool_size: int = Field(default=10, ge=1)
    statement_seconds: float = Field(default=60.0, gt=0)


class Provider(SettingsSection):
    """A provider by name, and its own options, which the provider checks."""

    provider: str
    config: dict[str, Any] = Field(default_factory=dict, repr=False)  # it may hold a key


class PriceSettings(SettingsSection):
    """What a million tokens of a model cost, those it reads (``input``) and those it writes (``output``)."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class LlmSettings(Provider):
    """Who is asked when facts are learned, and how many questions are under way at once; the others wait.

    With ``prices``, by the name of a model, the log of jobs also says what its tokens cost.
    """

    max_concurrent: int = Field(default=4, ge=1, le=1_000)
    prices: dict[str, PriceSettings] = Field(default_factory=dict)

    def price_list(self) -> tuple[tuple[str, float, float], ...]:
        """Return the prices as the engine has them."""
        return tuple((model, price.input, price.output) for model, price in self.prices.items())


class EmbedderSettings(Provider):
    """Who turns text into vectors; ``none`` means search by text only.

    ``auto`` is the model of ``remote`` if it is there with its key, else the local one, else none. ``remote`` is only
    that of ``remote``. ``config`` has the options of the local one then.
    """

    provider: str = "local"
    remote: Provider | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.remote is not None and self.provider not in REMOTE_SOURCES:
            raise ValueError("remote is only used by the providers auto and remote")
        if self.provider == "remote" and self.config:
            raise ValueError("put the options of a remote model in remote.config")
        return self


class VectorStoreSettings(Provider):
    """Where nearest neighbours are looked for; ``local`` is in this process, over the ledger."""

    provider: str = "local"
    collection_name: str = Field(default="memories", min_length=1)
    payload_text: bool = False


class GraphStoreSettings(Provider):
    """Where entities and relations are kept besides the ledger; ``local`` is in the ledger alone."""

    provider: str = "local"
    collection_name: str = Field(default="memories", min_length=1)


class HistorySettings(SettingsSection):
    """The history lives in the store; ``db_path`` is another way to say where that is."""

    db_path: Path | None = None


class CacheSettings(SettingsSection):
    """How many embeddings are kept, and for how long."""

    entries: int = Field(default=1000, ge=0)
    seconds: float = Field(default=300.0, ge=0)


class LimitSettings(SettingsSection):
    """How large things may be."""

    text_chars: int = Field(default=_LIMITS.text_chars, ge=1)
    key_chars: int = Field(default=_LIMITS.key_chars, ge=1)
    metadata_bytes: int = Field(default=_LIMITS.metadata_bytes, ge=2)
    messages: int = Field(default=_LIMITS.messages, ge=1)
    batch: int = Field(default=_LIMITS.batch, ge=1)
    page: int = Field(default=_LIMITS.page, ge=1)
    import_bytes: int = Field(default=_LIMITS.import_bytes, ge=1)
    import_items: int = Field(default=_LIMITS.import_items, ge=1)


class RecallSettings(SettingsSection):
    """How a search ranks what it finds.

    ``fusion``: the weighted ``sum`` of the channels, or reciprocal ranks (``rrf``, with ``rrf_k``). ``decay_days`` or
    ``half_life_days`` let fade what is old, ``salience`` lets the weight of a memory count, ``mmr`` spreads hits that
    say the same. ``visible_days`` hides what was stored before. A user with fewer than ``bootstrap_min`` facts also
    sees those of the user ``*``, which are everybody's.
    """

    fusion: Literal["sum", "rrf"] = "sum"
    rrf_k: int = Field(default=60, ge=1)
    decay_days: float | None = Field(default=None, gt=0)
    half_life_days: float | None = Field(default=None, gt=0)
    salience: bool = False
    mmr: float | None = Field(default=None, ge=0, le=1)
    visible_days: int | None = Field(default=None, ge=1, le=36_500)
    bootstrap_min: int = Field(default=5, ge=0)
    layers: tuple[LayerName, ...] = Field(default=("fact", "turn"), min_length=1)

    @model_validator(mode="after")
    def _one_speed(self) -> Self:
        if self.decay_days is not None and self.half_life_days is not None:
            raise ValueError("decay_days and half_life_days set the same thing: give only one")
        return self

    def over(self, preset: Recall) -> Recall:
        """Return the values of a preset with what is set here in their place."""
        named = {name: getattr(self, name) for name in self.model_fields_set}
        if half_life := named.pop("half_life_days", None):
            named["decay_days"] = time_constant(half_life_days=half_life)
        return replace(preset, **named)


class GraphSettings(SettingsSection):
    """Who finds out whom and what a fact mentions: rules, or with ``llm`` a language model, once an ``add``."""

    llm: bool = False


class ContextSettings(SettingsSection):
    """What a model is shown of the memory; what is not set is as the preset says.

    ``gate`` decides whether memory helps at all: ``always`` (``off`` is another name for it), ``heuristic`` (rules) or
    ``llm`` (rules, and a language model where they find nothing). ``scope`` is how far a chat looks: in its
    ``session``, at all of the ``owner``'s, or with ``global`` also at what is everybody's. ``tokenizer`` counts the
    tokens: ``tiktoken:<encoding>``, or ``package.module:function`` of your own.
    """

    budget: int | None = Field(default=None, ge=0, le=16_000)
    profile_tokens: int | None = Field(default=None, ge=0, le=16_000)
    recalled_turns: int | None = Field(default=None, ge=0, le=100)
    recall_score: float | None = Field(default=None, ge=0, le=1)
    excerpt_chars: int | None = Field(default=None, ge=80, le=4_000)
    embed_seconds: float | None = Field(default=None, gt=0, le=60)
    gate: GateName | None = None
    scope: Literal["session", "owner", "global"] | None = None
    false_injection: float | None = Field(default=None, ge=0, lt=1)
    strategy: Strategy | None = None
    min_score: float | None = Field(default=None, ge=0, le=1)
    candidates: int | None = Field(default=None, ge=1)
    limit: int | None = Field(default=None, ge=1)
    sections: bool | None = None
    transcript_days: int | None = Field(default=None, ge=0)
    override_tokens: int | None = Field(default=None, ge=0)
    cache_seconds: float | None = Field(default=None, ge=0, le=86_400)
    receipts: int | None = Field(default=None, ge=0)
    receipt_days: int | None = Field(default=None, ge=0, le=36_500)
    turn_min_score: float | None = Field(default=None, ge=0, le=1)
    min_scores: dict[str, float] | None = None
    tokenizer: str | None = Field(default=None, pattern=r"^(tiktoken|[\w.]+:\w+|tiktoken:[\w.-]+)$", max_length=200)

    def over(self, preset: RetrievalPolicy) -> RetrievalPolicy:
        """Return the values of a preset with what is set here in their place."""
        named = _explicit_values(self)
        named.pop("tokenizer", None)  # it belongs to the process
        if "budget" in named:
            named["token_budget"] = named.pop("budget")
        if "min_scores" in named:
            named["min_scores"] = tuple(sorted({**dict(preset.min_scores), **named["min_scores"]}.items()))
        return replace(preset, **named)


class WriteSettings(SettingsSection):
    """When what was said becomes memory; what is not set is as the preset says.

    ``mode``: ``inline``, ``background``, ``session_end`` (after ``debounce_seconds`` of silence) or ``manual``. With
    ``digest`` a session also becomes an episode. ``without_llm``: ``rules`` distil, or sessions ``wait`` for a model.
    Without ``remote_llm``, a language model outside this machine is told nothing.
    """

    mode: Literal["inline", "background", "session_end", "manual"] | None = None
    debounce_seconds: float | None = Field(default=None, ge=0, le=3_600)
    digest: bool | None = None
    novelty_chars: int | None = Field(default=None, ge=0)
    max_attempts: int | None = Field(default=None, ge=1, le=100)
    lease_seconds: float | None = Field(default=None, gt=0)
    without_llm: Literal["rules", "wait"] | None = None
    remote_llm: bool | None = None
    turns: int | None = Field(default=None, ge=4)
    turn_chars: int | None = Field(default=None, ge=100)
    shutdown_seconds: float | None = Field(default=None, ge=0)
    idle_seconds: float | None = Field(default=None, ge=0)

    def over(self, preset: Formation) -> Formation:
        """Return the values of a preset with what is set here in their place."""
        return replace(preset, **_explicit_values(self))


class UpkeepSettings(SettingsSection):
    """How memory is kept small; what is not set is as the preset says.

    ``retain_days`` names layers and how long they are kept, ``ttl`` kinds and how long they are kept unused. Facts
    whose salience fell under ``salience_floor`` and that nobody used for ``idle_days`` are put aside with ``evict``.
    """

    interval_hours: float | None = Field(default=None, gt=0, le=168)
    evict: bool | None = None
    salience_floor: float | None = Field(default=None, ge=0, le=1)
    idle_days: float | None = Field(default=None, ge=0)
    merge_episodes: float | None = Field(default=None, ge=0, le=1)
    merge_facts: float | None = Field(default=None, ge=0, le=1)
    promote_at: int | None = Field(default=None, ge=1)
    promote_days: float | None = Field(default=None, gt=0)
    promote_overlap: float | None = Field(default=None, ge=0, le=1)
    promote_boost: float | None = Field(default=None, ge=0, le=1)
    retain_days: dict[LayerName, int] | None = None
    log_days: int | None = Field(default=None, ge=0)
    deleted_keep_days: int | None = Field(default=None, ge=0)
    ttl: dict[CallerKind, int] | None = None
    immune_uses: int | None = Field(default=None, ge=1)
    ttl_scan: int | None = Field(default=None, ge=1)
    auto_summarize: bool | None = None
    summarize_tokens: int | None = Field(default=None, ge=0)
    keep_vectors: bool | None = None

    def over(self, preset: Upkeep) -> Upkeep:
        """Return the values of a preset with what is set here in their place; 0 days are without end."""
        named = _explicit_values(self)
        for name in ("retain_days", "ttl"):
            if name in named:
                named[name] = tuple(sorted((what, days) for what, days in named[name].items() if days > 0))
        return replace(preset, **named)


def _explicit_values(section: SettingsSection) -> dict[str, Any]:
    """Return what was set, and not to nothing."""
    values = ((name, getattr(section, name)) for name in section.model_fields_set)
    return {name: value for name, value in values if value is not None}


class PatternSettings(SettingsSection):
    """A way of your own to say a fact: ``match`` finds it in a sentence, ``fact`` is the sentence to keep."""

    match: str
    fact: str
    category: str = "statement"
    slot: str = ""


class SlotSettings(SettingsSection):
    """Something people have ``one`` of at a time, or ``many`` of; ``patterns`` find its value in other sentences."""

    name: str
    cardinality: str = "one"
    patterns: tuple[str, ...] = ()


class ReconcileSettings(SettingsSection):
    """What a new fact does to what is known: ``slots`` of your own.

    ``within`` are the ids within which a fact is known once, and changes what is known: only ``user_id`` means all that
    a user says, whichever agent they say it to and in whichever conversation.
    """

    slots: tuple[SlotSettings, ...] = ()
    within: tuple[Literal["user_id", "agent_id", "run_id"], ...] | None = Field(default=None, min_length=1)


class ExtractSettings(SettingsSection):
    """How facts are learned, from whose words, and how secrets in them are treated.

    ``strategies`` are the extractors that run: ``pattern`` (rules) and ``facts`` (a language model), one or both.
    ``assistant_first_person`` also reads what the assistant says of itself. ``timezone`` is where "yesterday" is meant.
    ``instructions`` are added to the questions a language model is asked. ``redact`` says ``off``, ``mask`` or ``drop``
    for each kind of secret; one word alone says it for all. ``keep_turns`` keeps what was said beside what was learned.
    ``patterns`` are ways of your own to say a fact. ``categories`` are those facts are sorted into, each with a few
    words about it. ``attachments``: pictures and files are kept by name (``reference``), or ``refuse`` raises.
    ``language`` is that of the rules that read without a model: ``en``, or ``neutral`` for rules that read nothing.
    ``message_chars``, ``call_chars`` and ``call_facts`` bound what one message and one call may cost: beyond them what
    was said is kept, and no facts are learned from it.
    """

    language: str = "en"
    strategies: tuple[Literal["pattern", "facts"], ...] | None = Field(default=None, min_length=1)
    roles: tuple[Literal["user", "assistant"], ...] | None = None
    assistant_first_person: bool = False
    timezone: str = "UTC"
    instructions: str = ""
    redact: dict[str, Literal["off", "mask", "drop"]] = Field(default_factory=dict)
    keep_turns: bool = True
    patterns: tuple[PatternSettings, ...] = ()
    categories: dict[str, str] = Field(default_factory=dict)
    attachments: Literal["reference", "refuse"] = "reference"
    neighbours: int | None = Field(default=None, ge=1, le=50)
    questions: Literal[1, 2] = 1
    message_chars: int = Field(default=65_536, ge=1_000, le=65_536)
    call_chars: int = Field(default=262_144, ge=1_000)
    call_facts: int = Field(default=256, ge=1)

    @field_validator("categories", mode="before")
    @classmethod
    def _named_categories(cls, value: object) -> object:
        return dict(Categories().read(value))

    @field_validator("strategies", mode="before")
    @classmethod
    def _extractors(cls, value: object) -> object:
        if isinstance(value, (list, tuple)) and "digest" in value:
            hint = "digests of sessions are made in the background; use pattern and facts"
            raise ConfigError("digest is not supported yet", hint=hint)
        return value

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(f"unknown time zone {value!r}") from error
        return value

    @field_validator("redact", mode="before")
    @classmethod
    def _for_all_kinds(cls, value: object) -> object:
        """Read one word for all: ``off`` leaves every kind alone, others are for the kinds that are masked anyway."""
        if not isinstance(value, str):
            return value
        defaults = {item.name: item.default for item in fields(RedactPolicy)}
        return {name: value for name, action in defaults.items() if value == "off" or action != "off"}

    @field_validator("redact")
    @classmethod
    def _known_kinds(cls, value: dict[str, str]) -> dict[str, str]:
        unknown = sorted(set(value) - {item.name for item in fields(RedactPolicy)})
        if unknown:
            raise ValueError(f"unknown kind {unknown[0]!r}")
        return value


class PromptSettings(SettingsSection):
    """Texts that replace the built-in instructions of the two questions; the form of the answer is always ours."""

    fact_extraction: str = ""
    update_decision: str = ""


class PolicySettings(SettingsSection):
    """How the memory behaves where it is not told otherwise in a call.

    ``enabled`` switches all of it, ``learns`` and ``shows`` its two halves. ``language`` is that of the users, as in
    ``nb`` or ``pt-BR``. ``search_tool`` lets a model search by itself. ``skills`` does nothing here: it is kept for
    services that offer tools beside memory.
    """

    strategy: Strategy = "hybrid"
    min_score: float | None = Field(default=None, ge=0, le=1)
    enabled: bool = True
    learns: bool = True
    shows: bool = True
    language: str = Field(default="", max_length=35, pattern=r"^([A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)?$")
    search_tool: bool = False
    skills: bool = False


class QuotaSettings(SettingsSection):
    """How much may be stored for one user and for all together; none is without end."""

    user_memories: int | None = Field(default=None, ge=0)
    user_turns: int | None = Field(default=None, ge=0)
    user_chars: int | None = Field(default=None, ge=0)
    tenant_memories: int | None = Field(default=None, ge=0)
    tenant_turns: int | None = Field(default=None, ge=0)
    tenant_chars: int | None = Field(default=None, ge=0)

    def as_policy(self) -> Quotas:
        """Return the values the engine works with."""
        return Quotas(**self.model_dump())


class IdentitySettings(SettingsSection):
    """Who a request to a service is about; what is not set is as the preset says.

    ``sources`` are looked at in order: ``body``, ``header:<name>``, ``api_key``. ``nobody`` says what happens when none
    of them names anybody: ``error``, ``off`` (no memory for that request) or ``owner`` (it is about ``owner``).
    """

    sources: tuple[str, ...] | None = Field(default=None, min_length=1)
    nobody: Literal["error", "off", "owner"] | None = None
    owner: str | None = Field(default=None, min_length=1, max_length=256)

    @field_validator("sources")
    @classmethod
    def _known_sources(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for one in value or ():
            if one not in ("body", "api_key") and not (one.startswith("header:") and one.removeprefix("header:")):
                raise ValueError(f"unknown source {one!r}: use body, api_key or header:<name>")
        return value

    def over(self, preset: Identity) -> Identity:
        """Return the values of a preset with what is set here in their place."""
        return replace(preset, **_explicit_values(self))


class InjectSettings(SettingsSection):
    """Where a service puts what a model is shown, and which of its routes do; what is not set is as the preset says.

    ``position``: ``split``, ``system_first``, ``system_merge`` or ``prefix_last_user``. ``chat`` is the plain chat
    route, ``agents`` the running of an agent.
    """

    position: Literal["split", "system_first", "system_merge", "prefix_last_user"] | None = None
    chat: bool | None = None
    agents: bool | None = None
    extras: tuple[Literal["memories", "events"], ...] | None = None

    def over(self, preset: Injection) -> Injection:
        """Return the values of a preset with what is set here in their place."""
        return replace(preset, **_explicit_values(self))
