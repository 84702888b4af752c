"""Find the address of the Ollama server, as Ollama's own programs do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from memstone.adapters.vendors import VENDORS, environment_reader

_PORT: Final = 11_434


def read_ollama_environment(options: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """Return the options with the address and the key that they leave to the environment."""
    variable = VENDORS["ollama"].address
    if not env.get(variable):
        return environment_reader("ollama")(options, env)
    return environment_reader("ollama")(options, {**env, variable: ollama_url(env[variable])})


def ollama_url(host: str) -> str:
    """Return ``OLLAMA_HOST`` as a URL.

    It may lack the scheme or the port, and may be an address that a server listens on.
    """
    parts = urlsplit(host.strip() if "://" in host else f"http://{host.strip()}")
    name = parts.hostname or "localhost"
    name = "127.0.0.1" if name in ("0.0.0.0", "::") else name  # noqa: S104 - nobody listens here, we ask
    port = parts.port or {"https": 443}.get(parts.scheme, 80 if "://" in host else _PORT)
    return f"{parts.scheme}://{f'[{name}]' if ':' in name else name}:{port}{parts.path.rstrip('/')}"
