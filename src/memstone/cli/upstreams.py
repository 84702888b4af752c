"""Language models behind ``--upstream``: names, keys, and reading streamed answers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from memstone.errors import AuthenticationFailed, BackendUnavailable, ConfigError, LLMError

if TYPE_CHECKING:
    import httpx2

    from memstone.sections_service import UpstreamSettings

KEY_MARK: Final = "rt_"
"""What keys of this service begin with: they open no other one."""
_ANTHROPIC_VERSION: Final = "2023-06-01"
_ANSWER_TOKENS: Final = 4_096
_REFUSED: Final = (401, 403)
_OK: Final = 200


def find_upstreams(named: Sequence[str], key_variable: str | None = None) -> list[UpstreamSettings]:
    """Return the services that were named, by a name such as ``openai`` or by an address, with their keys."""
    return [_find_upstream(one, key_variable, several=len(named) > 1) for one in named]


def _find_upstream(wanted: str, key_variable: str | None, *, several: bool) -> UpstreamSettings:
    from pydantic import SecretStr

    from memstone.registry import load_adapter
    from memstone.sections_service import UpstreamSettings

    service = load_adapter("chat", "service")(wanted)
    if service is None:
        known = load_adapter("chat", "services")()
        near = get_close_matches(wanted.lower(), known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"give an address, or one of {', '.join(known)}"
        raise ConfigError(f"unknown upstream {wanted!r}", hint=hint)
    variables = (key_variable,) if key_variable else service.keys
    key = read_upstream_key(variables)
    options: dict[str, Any] = {"name": service.name, "base_url": service.base_url, "dialect": service.dialect}
    if several and service.dialect == "anthropic":
        options["models"] = ("claude-",)
    try:
        return UpstreamSettings(**options, api_key=None if key is None else SecretStr(key))
    except ValueError:
        raise ConfigError(f"{wanted!r} is not an address", hint="such as http://127.0.0.1:11434/v1") from None


def read_upstream_key(variables: Sequence[str]) -> str | None:
    """Return the first key among these variables that is not one of our own."""
    values = (os.environ.get(name) for name in variables)
    return next((value for value in values if value and not value.startswith(KEY_MARK)), None)


def describe_missing_key(upstream: UpstreamSettings) -> str | None:
    """Return which variable to set, for an upstream that wants a key and has none; None where nothing is missing."""
    from memstone.registry import load_adapter

    service = load_adapter("chat", "service")(upstream.base_url)
    if upstream.api_key is not None or service is None or not service.needs_key:
        return None
    return str(service.keys[0])


# --- asking one -------------------------------------------------------------------------------------------------------


def list_models(upstream: UpstreamSettings) -> list[str]:
    """Return the models that an upstream offers; none where it does not say."""
    import httpx2

    try:
        with _open_client(upstream) as client:
            response = client.get(f"{upstream.base_url}/models", headers=_headers(upstream))
    except httpx2.HTTPError as error:
        raise _unreachable(upstream, error) from error
    _raise_for_status(upstream, response)
    found = response.json().get("data", [])
    return [str(one["id"]) for one in found if isinstance(one, Mapping) and "id" in one]


def stream_answer(upstream: UpstreamSettings, model: str, messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the pieces of an answer as they come."""
    import httpx2

    is_anthropic = upstream.dialect == "anthropic"
    path, body = (
        ("/messages", _as_anthropic(messages)) if is_anthropic else ("/chat/completions", {"messages": messages})
    )
    request = {"model": model, "stream": True, **body}
    begun = False
    try:
        with (
            _open_client(upstream) as client,
            client.stream("POST", upstream.base_url + path, json=request, headers=_headers(upstream)) as response,
        ):
            if response.status_code != _OK:
                response.read()
                _raise_for_status(upstream, response)
            begun = True
            if "event-stream" in response.headers.get("content-type", ""):
                yield from _read_pieces(upstream, response.iter_lines())
            else:
                response.read()
                yield _read_whole(upstream, response)
    except httpx2.HTTPError as error:
        if begun:
            raise LLMError(f"{upstream.name} broke off its answer: {error}", hint="ask again") from error
        raise _unreachable(upstream, error) from error


def _as_anthropic(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the messages as that dialect wants them: what is said to the model as a system stands apart."""
    system = "\n\n".join(str(one["content"]) for one in messages if one["role"] == "system")
    rest = [one for one in messages if one["role"] != "system"]
    return {"messages": rest, "max_tokens": _ANSWER_TOKENS, **({"system": system} if system else {})}


def _read_pieces(upstream: UpstreamSettings, lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if not line.startswith("data:") or line[5:].strip() == "[DONE]":
            continue
        event = json.loads(line[5:])
        if "error" in event:
            raise LLMError(f"{upstream.name} broke off its answer: {_message_of(event)}", hint="ask again")
        if upstream.dialect == "anthropic":
            yield str(event.get("delta", {}).get("text", ""))
        else:
            yield from (str(one.get("delta", {}).get("content") or "") for one in event.get("choices", []))


def _read_whole(upstream: UpstreamSettings, response: httpx2.Response) -> str:
    """Return an answer that came at once, from a service that does not stream."""
    try:
        body = response.json()
        if upstream.dialect == "anthropic":
            return "".join(str(one.get("text", "")) for one in body["content"])
        return str(body["choices"][0]["message"]["content"] or "")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise LLMError(
            f"{upstream.name} answered with something that is not a chat completion: {response.text[:200]}",
            hint="check --upstream: most addresses end with /v1",
        ) from error


def _open_client(upstream: UpstreamSettings) -> httpx2.Client:
    import httpx2

    return httpx2.Client(timeout=httpx2.Timeout(upstream.timeout, connect=upstream.connect_timeout))


def _headers(upstream: UpstreamSettings) -> dict[str, str]:
    key = upstream.api_key.get_secret_value() if upstream.api_key else ""
    if upstream.dialect == "anthropic":
        return {"anthropic-version": _ANTHROPIC_VERSION, **({"x-api-key": key} if key else {})}
    return {"authorization": f"Bearer {key}"} if key else {}


def _raise_for_status(upstream: UpstreamSettings, response: httpx2.Response) -> None:
    if response.status_code == _OK:
        return
    try:
        said = _message_of(response.json())
    except ValueError:
        said = response.text[:200]
    if response.status_code in _REFUSED:
        variable = describe_missing_key(upstream)
        hint = f"set {variable}" if variable else "check the key of the upstream"
        raise AuthenticationFailed(f"{upstream.name} refused its key: {said}", hint=hint)
    raise LLMError(f"{upstream.name} answered {response.status_code}: {said}", hint="check --upstream and --model")


def _message_of(body: Any) -> str:
    error = body.get("error", body) if isinstance(body, Mapping) else body
    return str(error.get("message", error) if isinstance(error, Mapping) else error)


def _unreachable(upstream: UpstreamSettings, error: Exception) -> BackendUnavailable:
    return BackendUnavailable(f"{upstream.base_url} cannot be reached: {error}", hint="is it running?")
