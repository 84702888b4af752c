"""Read addresses and keys of Azure OpenAI deployments, also from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from memstone.adapters.vendors import environment_reader

API_VERSION: Final = "2024-10-21"


def read_azure_environment(options: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """Return the options with the address, the key and the version that they leave to the environment."""
    made = environment_reader("azure_openai")(options, env)
    if made.get("api_version") is None and env.get("OPENAI_API_VERSION"):
        made["api_version"] = env["OPENAI_API_VERSION"]
    return made


def azure_path(deployment: str, call: str, api_version: str) -> str:
    """Return the path of a call of a deployment."""
    return f"/openai/deployments/{quote(deployment, safe='')}/{call}?api-version={quote(api_version)}"
