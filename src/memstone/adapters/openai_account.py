"""Where an OpenAI account is, and its key, for a provider that a configuration names without saying them.

A key of the environment goes only to the service it is for: an address that a configuration gives gets the key of that
service, or none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memstone.adapters.io.http import host_of

KEYS: Final = {"api.openai.com": "OPENAI_API_KEY", "api.mistral.ai": "MISTRAL_API_KEY"}
"""The variable that holds the key of a service, by its host."""

_ADDRESS: Final = "OPENAI_BASE_URL"


def read_environment(options: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """Return the options with the address and the key that they leave to the environment."""
    made = dict(options)
    if made.get("base_url") is None and env.get(_ADDRESS):
        made["base_url"] = env[_ADDRESS]
    if made.get("api_key") is None and (key := env.get(_key_variable_name(made.get("base_url"), env), "")):
        made["api_key"] = key
    return made


def _key_variable_name(base_url: object, env: Mapping[str, str]) -> str:
    """Return the variable with the key for an address; '' for one that no key of the environment is meant for."""
    if base_url is None or base_url == env.get(_ADDRESS):
        return KEYS["api.openai.com"]
    return KEYS.get(host_of(base_url), "") if isinstance(base_url, str) else ""
