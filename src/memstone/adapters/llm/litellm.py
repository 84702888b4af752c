"""Language models through the library ``litellm``, for vendors without an adapter here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from memstone.adapters.io.http import host_of
from memstone.adapters.llm.openai import read_completion, schema_format, wrap_tool
from memstone.adapters.llm.remote import ADDRESS, MAX_TIMEOUT_SECONDS
from memstone.adapters.retry import with_retry
from memstone.backoff import parse_retry_after
from memstone.errors import (
    AuthenticationFailed,
    BackendError,
    BackendTimeout,
    BackendUnavailable,
    LLMError,
    MemstoneError,
    MissingExtra,
    ModelRefused,
    RateLimited,
    install_hint,
)
from memstone.ports.io import Io, is_hurried, seconds_left
from memstone.ports.models import Prompt, Reply

_DEFAULTS: Final = Prompt(())

# By name: the module is imported only where it is used, and its errors have no base of their own.
_REFUSED_KEY: Final = frozenset({"AuthenticationError", "PermissionDeniedError"})
_FAILED: Final[dict[str, type[BackendError]]] = {
    "Timeout": BackendTimeout,
    "APITimeoutError": BackendTimeout,
    "APIConnectionError": BackendUnavailable,
    "InternalServerError": BackendUnavailable,
    "ServiceUnavailableError": BackendUnavailable,
    "BadGatewayError": BackendUnavailable,
}


class LiteLlmConfig(BaseModel):
    """``model`` is as the library names it, with the vendor first: ``bedrock/anthropic.claude-…``.

    Without ``api_key`` the library looks for the vendor's usual variables itself. ``parameters`` are further arguments
    of its ``completion``, such as ``aws_region_name``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    api_key: SecretStr | None = None
    base_url: str | None = Field(default=None, pattern=ADDRESS)
    temperature: float = Field(default=0.0, ge=0, le=2)
    max_tokens: int = Field(default=2000, ge=1)
    timeout: float = Field(default=60.0, gt=0, le=MAX_TIMEOUT_SECONDS)
    retries: int = Field(default=3, ge=0, le=10)
    parameters: dict[str, Any] = Field(default_factory=dict, repr=False)


class LiteLlm:
    """Calls ``litellm.completion`` as blocking work; parameters that a model does not have are left out by it."""

    Config: ClassVar = LiteLlmConfig

    def __init__(self, config: LiteLlmConfig, io: Io) -> None:
        self._config = config
        self._io = io
        self._library = _import_library()

    @property
    def model(self) -> str:
        return self._config.model

    @property
    def destination(self) -> str:
        """Return the host that text is sent to, or the vendor whose host only the library knows."""
        if self._config.base_url:
            return host_of(self._config.base_url)
        return f"{self.model.partition('/')[0]} (by way of litellm)"

    async def generate(self, prompt: Prompt) -> Reply:
        async def attempt() -> Any:
            return await self._io.run(lambda: self._ask(prompt))

        answer = await with_retry(self._io, attempt, retries=0 if is_hurried() else self._config.retries)
        return read_completion(answer, f"model {self.model}")

    def _ask(self, prompt: Prompt) -> Any:
        with self._failures():
            return self._library.completion(**self._arguments(prompt)).model_dump()

    def _arguments(self, prompt: Prompt) -> dict[str, Any]:
        config = self._config
        is_default = prompt.max_tokens == _DEFAULTS.max_tokens, prompt.temperature == _DEFAULTS.temperature
        arguments: dict[str, Any] = {
            "model": config.model,
            "messages": [dict(message) for message in prompt.messages],
            "max_tokens": config.max_tokens if is_default[0] else prompt.max_tokens,
            "temperature": config.temperature if is_default[1] else prompt.temperature,
            "timeout": seconds_left(config.timeout),
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
            "api_key": config.api_key.get_secret_value() if config.api_key else None,
            "base_url": config.base_url,
            "tools": [wrap_tool(tool) for tool in prompt.tools] or None,
            "response_format": self._response_format(prompt),
        }
        return {**{name: value for name, value in arguments.items() if value is not None}, **config.parameters}

    def _response_format(self, prompt: Prompt) -> dict[str, Any] | None:
        if prompt.response_format != "json":
            return None
        if prompt.schema is None or not self._library.supports_response_schema(model=self.model):
            return {"type": "json_object"}
        return schema_format(prompt.schema)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Raise the library's errors as Memstone's."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the library's errors are the base of nothing
            raise _translate_error(error, self.destination, self._config.api_key) from None


def _translate_error(error: Exception, source: str, key: SecretStr | None) -> MemstoneError:
    text = " ".join(f"{source}: {type(error).__name__}: {error}".split())[:300]
    if key is not None and key.get_secret_value():
        text = text.replace(key.get_secret_value(), "***")
    name = type(error).__name__
    if name in _REFUSED_KEY:  # the text may repeat a part of the key
        return AuthenticationFailed(f"{source} refused the key ({name})")
    if name == "RateLimitError":
        return RateLimited(text, retry_after=parse_retry_after(_headers_of(error)))
    if name in _FAILED:
        return _FAILED[name](text, kind="llm", name=source)
    if name == "ContentPolicyViolationError":
        return ModelRefused(text)
    is_long = name == "ContextWindowExceededError"
    return LLMError(text, hint="the messages are too long for this model; send fewer at once" if is_long else None)


def _headers_of(error: Exception) -> Mapping[str, str]:
    own = getattr(error, "litellm_response_headers", None)  # those of its response are empty
    headers = own or getattr(getattr(error, "response", None), "headers", None) or {}
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _import_library() -> Any:
    """Return the module, told to send nothing about itself and to fetch nothing when it is imported."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        import litellm
    except ImportError as error:
        raise MissingExtra("the provider litellm needs its library", hint=install_hint("litellm")) from error
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm
