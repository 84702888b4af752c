"""The file ``memory.json`` of a companion: ten values, each brought into its range, as a configuration."""

from __future__ import annotations

import json
from typing import Any, Final

from memstone.core.settings.lenient import COMPANION, Normal, text, word

DEFAULT_MODEL: Final = "nomic-embed-text-v1.5"
_LOCAL: Final = ("local", "mlx")
EMBEDDING: Final[dict[str, Normal]] = {
    "embeddingBackend": word("local", "local", "mlx", "remote", "none"),
    "embeddingModel": text(DEFAULT_MODEL),
}


def companion_normal(given: object) -> dict[str, Any]:
    """All ten values in normal form; whatever else stands there is left out."""
    values = given if isinstance(given, dict) else {}
    every = {**{name: one.normal for name, one in COMPANION.items()}, **EMBEDDING}
    normal = {name: every[name](values.get(name)) for name in every}
    normal["embeddingBackend"] = "local" if normal["embeddingBackend"] in _LOCAL else normal["embeddingBackend"]
    return normal


def read_companion(written: str | None) -> dict[str, Any]:
    """The ten values of a file's text; without a text, or with one that cannot be read, the defaults."""
    try:
        return companion_normal(json.loads(written or "{}"))
    except ValueError:
        return companion_normal({})


def as_configuration(values: dict[str, Any]) -> dict[str, Any]:
    """The ten values, in normal form, as the configuration they stand for."""
    made: dict[str, Any] = {"preset": "companion"}
    if values["embeddingBackend"] != "local":  # which is what there is without a word
        made["embedder"] = _embedder(values)
    for name, one in COMPANION.items():
        section, _, key = one.name.partition(".")
        made.setdefault(section, {})[key] = one.to(values[name])
    return made


def _embedder(values: dict[str, Any]) -> dict[str, Any]:
    """The built-in model has its own name: one that is named is asked for only where a service answers to it."""
    if values["embeddingBackend"] == "remote":
        return {"provider": "openai", "config": {"model": values["embeddingModel"]}}
    return {"provider": values["embeddingBackend"]}
