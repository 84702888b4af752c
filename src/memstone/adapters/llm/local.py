"""A language model in this process: any GGUF file, on llama.cpp. Nothing leaves the machine."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from memstone.adapters.forks import ForkSafeLock
from memstone.adapters.llm.openai import read_completion, schema_format, wrap_tool
from memstone.errors import ConfigError, LLMError, MissingExtra, install_hint
from memstone.ports.io import Io
from memstone.ports.models import Prompt, Reply

_DEFAULTS: Final = Prompt(())
_GGUF: Final = b"GGUF"


class LocalLlmConfig(BaseModel):
    """Which file, and how much of the machine it may use."""

    # Without this pydantic claims names that begin with "model_" for itself.
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    model_path: Path
    model_name: str | None = Field(default=None, min_length=1)
    model_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    temperature: float = Field(default=0.0, ge=0, le=2)
    max_tokens: int = Field(default=2000, ge=1)
    context_tokens: int = Field(default=8192, ge=256)
    threads: int | None = Field(default=None, ge=1, le=256)
    gpu_layers: int = Field(default=0, ge=-1)
    parallel: int = Field(default=1, ge=1, le=64)
    json_mode: Literal["schema", "object", "none"] = "schema"


class LocalLlm:
    """Loads the file with the first question, once a process; a schema is kept to by the way words are chosen."""

    Config: ClassVar = LocalLlmConfig
    destination = "this machine"

    def __init__(self, config: LocalLlmConfig, io: Io) -> None:
        self._config = config
        self._io = io
        self._lock = ForkSafeLock()
        self._process = 0
        self._server: Any = None
        self._library = _import_library()
        _check_file(config.model_path.expanduser())

    @property
    def model(self) -> str:
        return self._config.model_name or self._config.model_path.stem

    async def generate(self, prompt: Prompt) -> Reply:
        answer = await self._io.run(lambda: self._ask(prompt))
        return read_completion(answer, f"model {self.model}")

    def _ask(self, prompt: Prompt) -> dict[str, Any]:
        answer = self._load_once().handle_chat_completions(self._payload(prompt))
        problem = _error_message(answer)
        if problem is None:
            return answer  # type: ignore[no-any-return]
        is_long = "context" in problem
        hint = "raise context_tokens, or send fewer messages at once" if is_long else None
        raise LLMError(f"model {self.model} failed: {problem}", hint=hint)

    def _payload(self, prompt: Prompt) -> dict[str, Any]:
        config = self._config
        by_default = prompt.max_tokens == _DEFAULTS.max_tokens, prompt.temperature == _DEFAULTS.temperature
        payload: dict[str, Any] = {
            "messages": [dict(message) for message in prompt.messages],
            "max_tokens": config.max_tokens if by_default[0] else prompt.max_tokens,
            "temperature": config.temperature if by_default[1] else prompt.temperature,
        }
        if prompt.tools:
            payload["tools"] = [wrap_tool(tool) for tool in prompt.tools]
        if prompt.response_format == "json" and config.json_mode != "none":
            by_schema = prompt.schema if config.json_mode == "schema" else None
            payload["response_format"] = {"type": "json_object"} if by_schema is None else schema_format(by_schema)
        return payload

    def _load_once(self) -> Any:
        """Return the model, ready to answer; a forked child has none of its threads and loads it again."""
        if self._server is None or self._process != os.getpid():
            with self._lock:
                if self._server is None or self._process != os.getpid():
                    self._server, self._process = self._load(), os.getpid()
        return self._server

    def _load(self) -> Any:
        config, path = self._config, self._config.model_path.expanduser()
        if config.model_sha256 is not None:
            _check_sum(path, config.model_sha256)
        settings = self._library.CommonParams()
        settings.model.path = str(path)
        settings.n_ctx, settings.n_parallel = config.context_tokens, config.parallel
        settings.n_gpu_layers = config.gpu_layers
        # With as many threads as there are processors, each word takes as long as the slowest of them.
        threads = config.threads or max(1, (os.cpu_count() or 2) // 2)
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
        settings.verbosity, settings.ui, settings.offline = -1, False, True
        # It also listens on a port of this machine, which is nobody's business: the key is known to no one.
        settings.hostnames, settings.port, settings.api_keys = ["127.0.0.1"], 0, [secrets.token_hex()]
        try:
            return self._library.Server(settings)
        except Exception as error:
            raise ConfigError(f"{path} cannot be loaded: {error}", hint="model_path must be a GGUF file") from error


def _error_message(answer: Any) -> str | None:
    """Return what went wrong; None for an answer."""
    if not isinstance(answer, dict):
        return "it gave no answer"
    error = answer.get("error", answer if "message" in answer else None)
    if error is None:
        return None
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)


def _check_file(path: Path) -> None:
    """Say at once, not at the first question, what is no model."""
    try:
        with path.open("rb") as file:
            begins = file.read(len(_GGUF))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint="model_path must be a GGUF file") from error
    if begins != _GGUF:
        raise ConfigError(f"{path} is not a GGUF file", hint="model_path must be a GGUF file")


def _check_sum(path: Path, expected: str) -> None:
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected:
        raise ConfigError(f"{path} is not the expected file: its SHA-256 is {actual}, not {expected}")


def _import_library() -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingExtra("a model in the process needs xllamacpp", hint=install_hint("local-llm")) from error
    return xllamacpp
