"""Environment variables: those that set ``MEMSTONE_`` settings, and those of a gateway.

``MEMORY_…`` and ``QDRANT_…`` are read for those who have them set already. They say how large and how fast things are,
never whether memory is on or where text is sent: nobody's vectors leave the machine because a variable of another
program is set. ``MEMSTONE_`` variables are stronger than these, these than a file.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any, Final

from memstone.errors import ConfigError
from memstone.model.former_name import FORMER_NAME

PREFIX: Final = "MEMSTONE_"
OTHERS: Final = frozenset({"MEMSTONE_CONFIG", "MEMSTONE_KEY", "MEMSTONE_MODELS"})
"""Names that mean something to the command line, to callers of the service or to scripts, and are no settings."""

_YES: Final = ("1", "true", "yes", "on")


def _parse_number(text: str) -> float:
    value = float(text)
    return int(value) if value == int(value) else value


def _seconds_from_ms(text: str) -> float:
    return float(text) / 1_000


def _hours_from_ms(text: str) -> float:
    return float(text) / 3_600_000


def _parse_quantization(text: str) -> str | None:
    if text not in ("none", "int8"):
        raise ValueError(text)
    return None if text == "none" else text


VARIABLES: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "MEMORY_EMBEDDING_CACHE_TTL_MS": ("embedding_cache.seconds", _seconds_from_ms),
    "MEMORY_EMBEDDING_CACHE_MAX": ("embedding_cache.entries", _parse_number),
    "MEMORY_VEC_TOP_K": ("context.candidates", _parse_number),
    "MEMORY_RRF_K": ("recall.rrf_k", _parse_number),
    "MEMORY_TYPED_DECAY_EPISODIC_DAYS": ("upkeep.ttl.episodic", _parse_number),
    "MEMORY_TYPED_DECAY_ACCESS_IMMUNITY": ("upkeep.immune_uses", _parse_number),
    "MEMORY_TYPED_DECAY_SWEEP_INTERVAL": ("upkeep.interval_hours", _hours_from_ms),
}
"""Which setting each of them is, and how it is read. Times are in milliseconds, as there."""

_QUANTIZATION: Final = "MEMORY_VEC_QUANTIZATION"
_QDRANT: Final = {"QDRANT_URL": "url", "QDRANT_API_KEY": "api_key"}
_DECAY_DAYS: Final = 30


def named_settings(env: Mapping[str, str], known: Container[str]) -> dict[str, list[str]]:
    """Return the variables that name a setting, and the setting's path; what merely begins alike is somebody else's."""
    paths = {name: name[len(PREFIX) :].lower().split("__") for name in _memstone_variables(env)}
    return {name: path for name, path in paths.items() if len(path) > 1 or path[0] in known}


def refuse_former_variables(env: Mapping[str, str], known: Container[str]) -> None:
    """Raise if a setting is given by a variable of the former name: without it another, empty store might be opened."""
    former = f"{FORMER_NAME.upper()}_"
    renamed = {f"{PREFIX}{name.removeprefix(former)}": name for name in env if name.startswith(former)}
    wanted = {*named_settings(renamed, known), *(renamed.keys() & {"MEMSTONE_CONFIG"})} - env.keys()
    if wanted:
        name = min(wanted)
        raise ConfigError(f"{renamed[name]} is no longer read", hint=f"rename it to {name}")
    if "MEMSTONE_PROFILE" in env:
        raise ConfigError("MEMSTONE_PROFILE is no longer read", hint="rename it to MEMSTONE_PRESET")


def parse_value(value: str) -> Any:
    """Read numbers, booleans and lists as TOML or as JSON; anything else is text."""
    with suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(f"value = {value}")["value"]
    if value.lstrip()[:1] in ("[", "{"):
        with suppress(json.JSONDecodeError):
            return json.loads(value)
    return value


def unused_variables(env: Mapping[str, str], known: Container[str]) -> list[str]:
    """Return variables that look like settings and are none, such as those that Kubernetes sets for a service."""
    return sorted(set(_memstone_variables(env)) - named_settings(env, known).keys())


def _memstone_variables(env: Mapping[str, str]) -> Iterator[str]:
    return (name for name in env if name.startswith(PREFIX) and name not in OTHERS)


def from_gateway(env: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with what these variables say in it."""
    made: dict[str, Any] = deepcopy(dict(values))
    decays = env.get("MEMORY_TYPED_DECAY_ENABLED", "").strip().lower() in _YES
    for name, (setting, read) in VARIABLES.items():
        if name in env and (decays or not name.startswith("MEMORY_TYPED_DECAY")):
            _set_nested_value(made, setting, _parse_variable(name, env[name], read))
    if decays:
        made.setdefault("upkeep", {}).setdefault("ttl", {}).setdefault("episodic", _DECAY_DAYS)
    if _QUANTIZATION in env:
        _apply_quantization(made, env, _parse_variable(_QUANTIZATION, env[_QUANTIZATION], _parse_quantization))
    _apply_qdrant(made, env)
    return made


def _vector_store_provider(made: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """Return which vector store is chosen, in the file or by a variable of ours."""
    named: str = env.get("MEMSTONE_VECTOR_STORE__PROVIDER") or made.get("vector_store", {}).get("provider", "local")
    return named


def _apply_quantization(made: dict[str, Any], env: Mapping[str, str], quantization: str | None) -> None:
    """Set the quantisation of vectors in this process; other stores have their own."""
    if quantization is not None and _vector_store_provider(made, env) == "local":
        _set_nested_value(made, "vector_store.config.quant", quantization)


def _apply_qdrant(made: dict[str, Any], env: Mapping[str, str]) -> None:
    """Set where Qdrant is, for whom the configuration has chosen it."""
    if _vector_store_provider(made, env) != "qdrant":
        return
    made.setdefault("vector_store", {})
    for name, option in _QDRANT.items():
        if env.get(name):
            made["vector_store"].setdefault("config", {}).setdefault(option, env[name])
    if env.get("QDRANT_COLLECTION"):
        made["vector_store"].setdefault("collection_name", env["QDRANT_COLLECTION"])
    if env.get("QDRANT_HOST") and "url" not in made["vector_store"].get("config", {}):
        url = f"http://{env['QDRANT_HOST']}:{env.get('QDRANT_PORT') or 6_333}"
        made["vector_store"].setdefault("config", {})["url"] = url


def _parse_variable(name: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(text.strip())
    except ValueError:
        raise ConfigError(f"{name} cannot be read", hint="see docs/reference/api-memory.md") from None


def _set_nested_value(made: dict[str, Any], setting: str, value: Any) -> None:
    *steps, last = setting.split(".")
    target = made
    for step in steps:
        target = target.setdefault(step, {})
    target[last] = value
