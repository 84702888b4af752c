"""Stored settings that choose a service's embedder, reranker and stores, and their keys.

These are not settings of somebody: a process has one embedder. They are stored for the tenant that runs the service and
hold from its next start. Keys are no settings at all: they are kept apart, never given back, and a key goes when the
place it was for changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from memstone.core.settings.forms import Choice, Flag, Form, Number, Text
from memstone.core.settings.lenient import (
    AGENT,
    COMPANION,
    FOREIGN,
    GATEWAY,
    Foreign,
    Normal,
    text_normalizer,
    word_normalizer,
)
from memstone.core.settings.names import SETTINGS, find_setting, validate_setting
from memstone.errors import Forbidden, InvalidInput
from memstone.model.policy import Policy

# --- which embedder, reranker and stores a service uses ---------------------------------------------------------------


QDRANT_KEY: Final = "qdrantApiKey"
MASK: Final = "***"
_VISIBLE_CHARS: Final = 4
_LONG_ENOUGH: Final = 12
_MODEL: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}/[^\s/][^\s]{0,199}")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_SECRET_NAME: Final = re.compile(
    r"(api|access|private)[_-]?key$|secret|passw|token$|credential|authorization|cookie", re.IGNORECASE
)
_SECRET_CHARS: Final = 4_096
_CONFIG = "backendConfigs"


@dataclass(frozen=True, slots=True)
class ProviderModel:
    """``provider/model``; where it is optional, null is none."""

    optional: bool = False

    def read(self, value: object) -> str | None:
        """Return the two, as one word."""
        if value is None and self.optional:
            return None
        if not isinstance(value, str) or not _MODEL.fullmatch(value):
            raise ValueError("provider/model, such as openai/text-embedding-3-small")
        return value

    def to_json(self, value: str | None) -> str | None:
        """Return the same."""
        return value


class BackendName:
    """A name of a few plain characters."""

    def read(self, value: object) -> str:
        """Return the name."""
        if not isinstance(value, str) or not _NAME.fullmatch(value):
            raise ValueError("a name of letters, digits, points, dashes and underscores")
        return value

    def to_json(self, value: str) -> str:
        """Return the same."""
        return value


class NamedList:
    """Names, each once."""

    def read(self, value: object) -> list[str]:
        """Return the names, in their order."""
        if not isinstance(value, (list, tuple)) or len(set(map(str, value))) < len(value):
            raise ValueError("a list of names, each once")
        return [BackendName().read(one) for one in value]

    def to_json(self, value: list[str]) -> list[str]:
        """Return the same."""
        return value


class BackendConnections:
    """Where backends are: ``{name: {"baseUrl": ..., ...}}``; what they are told besides is text, numbers or flags."""

    def read(self, value: object) -> dict[str, dict[str, Any]]:
        """Return a table of tables."""
        wrong = "a table of backends, each a table with a baseUrl and plain values"
        if not isinstance(value, Mapping):
            raise ValueError(wrong)  # noqa: TRY004 - callers wait for one kind of error
        made: dict[str, dict[str, Any]] = {}
        for name, options in value.items():
            if not isinstance(options, Mapping) or not all(_is_plain(one) for one in options.values()):
                raise ValueError(wrong)
            if any(_SECRET_NAME.search(str(key)) for key in options):
                raise ValueError(f"{wrong}; put the key under apiKey; nothing else is treated as a secret")
            made[BackendName().read(name)] = {str(key): one for key, one in options.items()}
        return made

    def to_json(self, value: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the same."""
        return value


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float, bool))


QDRANT: Final[dict[str, tuple[Form, Any]]] = {
    "qdrantEnabled": (Flag(), False),
    "qdrantHost": (Text(500), ""),
    "qdrantPort": (Number(1, 65_535), 6_333),
    "qdrantCollection": (BackendName(), "omniroute_memory"),
    "qdrantEmbeddingModel": (ProviderModel(), "openai/text-embedding-3-small"),
}
CHOICES: Final[dict[str, tuple[Form, Any]]] = {
    "embeddingSource": (Choice(("auto", "remote", "static", "transformers")), "auto"),
    "embeddingProviderModel": (ProviderModel(optional=True), None),
    "transformersEnabled": (Flag(), True),
    "staticEnabled": (Flag(), False),
    "rerankEnabled": (Flag(), False),
    "rerankProviderModel": (ProviderModel(optional=True), None),
    "vectorStore": (Choice(("auto", "sqlite-vec", "qdrant")), "auto"),
    "primaryBackend": (BackendName(), "ledger"),
    "fallbackBackends": (NamedList(), []),
    _CONFIG: (BackendConnections(), {}),
}
BACKENDS: Final = {**QDRANT, **CHOICES}
"""Every setting by its name: what it may be, and what it is when nobody has said anything."""


def checked_backends(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what somebody sets, in its written form; and the keys that stood among it ('' takes one away)."""
    if not isinstance(arguments, Mapping):
        raise InvalidInput(f"settings must be a mapping of names to values, not {type(arguments).__name__}")
    values: dict[str, Any] = {}
    secrets: dict[str, str] = {}
    for name, value in arguments.items():
        if name == QDRANT_KEY:
            secrets[name] = value
        elif name == _CONFIG and isinstance(value, Mapping):
            values[name], found = _split_secrets(value)
            secrets |= found
        else:
            values[name] = value
    made = {name: _validate_backend(name, value) for name, value in values.items()}
    return made, {
        name: secret for name, value in secrets.items() if (secret := _validate_secret(name, value)) is not None
    }


def _split_secrets(configs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tables of backends without their keys, and the keys."""
    plain, secrets = {}, {}
    for name, options in configs.items():
        stored = dict(options) if isinstance(options, Mapping) else options
        if isinstance(stored, dict) and "apiKey" in stored:
            secrets[f"{_CONFIG}.{name}"] = stored.pop("apiKey")
        plain[name] = stored
    return plain, secrets


def _validate_backend(name: str, value: object) -> Any:
    if name not in BACKENDS:
        raise InvalidInput(f"unknown setting {name!r}"[:300], hint="one of " + ", ".join(BACKENDS))
    form = BACKENDS[name][0]
    try:
        return form.to_json(form.read(value))
    except ValueError as error:
        raise InvalidInput(f"invalid value for {name}", hint=f"expected {error}") from None


def _validate_secret(name: str, value: object) -> str | None:
    """Return a key; None where it is only the mask of the one that is there."""
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > _SECRET_CHARS or not (value.isascii() and value.isprintable()):
        raise InvalidInput(f"invalid value for {name}", hint="use plain characters; an empty text removes it")
    text = value.strip()
    return None if text.startswith(MASK) else text


def mask_secret(secret: str) -> str:
    """Return what is shown of a key: its end, and of a short one nothing."""
    return MASK + (secret[-_VISIBLE_CHARS:] if len(secret) >= _LONG_ENOUGH else "")


def place_of(secret: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return where a key is sent: when that changes the key is not for it any more."""
    if secret == QDRANT_KEY:
        return tuple(values.get(name, BACKENDS[name][1]) for name in ("qdrantHost", "qdrantPort"))
    options = values.get(_CONFIG, {}).get(secret.partition(".")[2])
    return (None,) if options is None else ("there", options.get("baseUrl"), options.get("url"), options.get("host"))


def backend_addresses(values: Mapping[str, Any]) -> list[str]:
    """Return every address that is in some values, in the form in which it is asked."""
    found = [qdrant_url(values)] if values.get("qdrantHost") else []
    for options in values.get(_CONFIG, {}).values():
        found += [str(options[name]) for name in ("baseUrl", "url") if options.get(name)]
        if options.get("host"):
            found.append(_build_url(str(options["host"]), options.get("port")))
    return found


def qdrant_url(values: Mapping[str, Any]) -> str:
    """Return where Qdrant is: a host alone is asked at its port, an address as it is."""
    return _build_url(str(values.get("qdrantHost") or ""), values.get("qdrantPort", BACKENDS["qdrantPort"][1]))


def _build_url(host: str, port: Any) -> str:
    text = host.strip()
    full_text = text if "://" in text else f"http://{f'[{text}]' if text.count(':') > 1 and '[' not in text else text}"
    _, _, rest = full_text.partition("://")
    authority, slash, path = rest.partition("/")
    has_port = authority.rpartition("]")[2].count(":") > 0
    if has_port or not port:
        return full_text
    return f"{full_text.partition('://')[0]}://{authority}:{port}{slash}{path}"


# --- the file ``memory.json`` of a companion --------------------------------------------------------------------------


DEFAULT_MODEL: Final = "nomic-embed-text-v1.5"
_LOCAL: Final = ("local", "mlx")
EMBEDDING: Final[dict[str, Normal]] = {
    "embeddingBackend": word_normalizer("local", "local", "mlx", "remote", "none"),
    "embeddingModel": text_normalizer(DEFAULT_MODEL),
}


def companion_normal(value: object) -> dict[str, Any]:
    """Return all ten values in normal form; whatever else stands there is left out."""
    values = value if isinstance(value, dict) else {}
    every = {**{name: one.normal for name, one in COMPANION.items()}, **EMBEDDING}
    normal = {name: every[name](values.get(name)) for name in every}
    normal["embeddingBackend"] = "local" if normal["embeddingBackend"] in _LOCAL else normal["embeddingBackend"]
    return normal


def read_companion(written: str | None) -> dict[str, Any]:
    """Return the ten values of a file's text; without a text, or with one that cannot be read, the defaults."""
    try:
        return companion_normal(json.loads(written or "{}"))
    except ValueError:
        return companion_normal({})


def as_configuration(values: dict[str, Any]) -> dict[str, Any]:
    """Return the ten values, in normal form, as the configuration they stand for."""
    made: dict[str, Any] = {"preset": "companion"}
    if values["embeddingBackend"] != "local":  # which is what there is without a word
        made["embedder"] = _embedder_config(values)
    for name, one in COMPANION.items():
        section, _, key = one.name.partition(".")
        made.setdefault(section, {})[key] = one.to(values[name])
    return made


def _embedder_config(values: dict[str, Any]) -> dict[str, Any]:
    """Return how to embed: a named model is asked for where a service answers to it; the built-in has its own name."""
    if values["embeddingBackend"] == "remote":
        return {"provider": "openai", "config": {"model": values["embeddingModel"]}}
    return {"provider": values["embeddingBackend"]}


# --- from the names a caller uses to those that are stored, and back --------------------------------------------------


VOCABULARIES: Final[dict[str, Mapping[str, Foreign]]] = {"gateway": GATEWAY, "companion": COMPANION, "agent": AGENT}
SHORT: Final = {"timezone": "extract.timezone", "language": "policy.language"}
"""What users set for themselves has a short name."""


def native_name(name: object) -> str:
    """Return the name under which a setting is stored."""
    if name in EMBEDDING:
        raise InvalidInput(
            f"{name} is configuration, not a stored setting",
            hint="set embedder.provider and its model in the configuration, then run reindex",
        )
    foreign = FOREIGN.get(name) if isinstance(name, str) else None
    if foreign is not None:
        return foreign.name
    find_setting(short := SHORT.get(str(name), name))
    return str(short)


def to_native(values: Mapping[str, object]) -> dict[str, Any]:
    """Return what a caller sets, by the names and in the form in which it is stored.

    Names of ours are taken strictly. Those of other products are brought into form, as they expect it.
    """
    if not isinstance(values, Mapping):
        raise InvalidInput(f"settings must be a mapping of names to values, not {type(values).__name__}")
    made: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for name, value in values.items():
        stored = native_name(name)
        if stored in made:
            raise InvalidInput(f"{texts[stored]} and {name} are the same setting", hint="give one of them")
        foreign = FOREIGN.get(name)
        texts[stored] = name
        made[stored] = validate_setting(stored, value if foreign is None else foreign.to(foreign.normal(value)))
    return made


def native_names(names: Iterable[str]) -> list[str]:
    """Return the names under which settings are stored."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInput("the names of settings must be a list")
    names = list(names)
    if not all(isinstance(name, str) for name in names):
        raise InvalidInput("the name of a setting must be text", hint='such as "context.budget"')
    return [native_name(name) for name in names]


def tenant_only(names: Iterable[str]) -> None:
    """Raise ``InvalidInput`` when one of these makes sense for a whole tenant only."""
    for name in names:
        if SETTINGS[name].tenant_only:
            raise InvalidInput(f"{name} can only be set for everybody", hint="leave out user_id and agent_id")


def operator_names(names: Iterable[str]) -> list[str]:
    """Return those of these names, of whatever vocabulary, that nobody sets for themselves.

    Unknown ones are left out.
    """
    texts = [(name, FOREIGN[name].name if name in FOREIGN else SHORT.get(name, name)) for name in names]
    return [name for name, stored in texts if stored in SETTINGS and SETTINGS[stored].operators]


def refuse_operators(names: Iterable[str]) -> None:
    """Raise ``Forbidden`` when one of these is not for somebody who is bound by it."""
    found = operator_names(names)
    if found:
        raise Forbidden(f"only an administrator can set {found[0]}", hint="use a key for the whole tenant")


def view_settings(policy: Policy, vocabulary: str) -> dict[str, tuple[str, Any]]:
    """Return every setting of a vocabulary: the name under which it is stored, and its value in a policy."""
    if vocabulary == "native":
        return {name: (name, one.form.to_json(one.of(policy))) for name, one in SETTINGS.items()}
    if not isinstance(vocabulary, str) or vocabulary not in VOCABULARIES:
        hint = "one of native, " + ", ".join(VOCABULARIES)
        raise InvalidInput(f"unknown names {vocabulary!r}", hint=hint)
    names = VOCABULARIES[vocabulary]
    return {name: (one.name, one.of(_effective_value(policy, one.name))) for name, one in names.items()}


def _effective_value(policy: Policy, name: str) -> Any:
    value = SETTINGS[name].of(policy)
    return policy.strategy if name == "context.strategy" and not value else value
