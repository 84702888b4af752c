"""The dialects of language models: the fake of each, our provider, and the vendor's own client."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from memstone.ports.models import Prompt, Reply, ToolCall
from memstone.testing.wire import KEY, Handler
from memstone.testing.wire_chat import (
    MODEL,
    FakeAnthropic,
    FakeAzure,
    FakeCompatible,
    FakeGemini,
    FakeMistral,
    FakeOllama,
)

Official = Callable[[str, "Asked"], Reply]


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt as it is put to a vendor's own client."""

    prompt: Prompt
    key: str = KEY
    model: str = MODEL
    timeout: float = 30.0
    stream: bool = False

    @property
    def by_schema(self) -> bool:
        """Whether the answer has to fit a schema."""
        return self.prompt.schema is not None

    @property
    def system(self) -> str:
        """The instructions."""
        return self.prompt.messages[0]["content"]

    @property
    def messages(self) -> list[dict[str, str]]:
        """What is said besides."""
        return list(self.prompt.messages[1:])


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect; ``path`` is what stands before its routes in an address."""

    provider: str
    fake: Callable[..., Handler]
    official: Official
    path: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def config(self, url: str, **more: Any) -> dict[str, Any]:
        """The options of our provider for a server."""
        return {"base_url": f"{url}{self.path}", "api_key": KEY, "model": MODEL, **self.options, **more}


def _arguments(asked: Asked) -> dict[str, Any]:
    arguments: dict[str, Any] = {"model": asked.model, "messages": list(asked.prompt.messages)}
    if asked.by_schema:
        schema = {"name": "words", "schema": asked.prompt.schema, "strict": True}
        arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
    if asked.prompt.tools:
        arguments["tools"] = [{"type": "function", "function": tool} for tool in asked.prompt.tools]
    return {**arguments, "temperature": 0, "max_tokens": 2000}


def _stream_arguments(asked: Asked) -> dict[str, Any]:
    return {**_arguments(asked), "stream": True, "stream_options": {"include_usage": True}}


def _joined_chunks(chunks: Iterable[Any]) -> Reply:
    """What somebody gathers from the chunks that a client hands out."""
    text, tokens, reason = "", (0, 0), None
    calls: dict[int, tuple[str, str]] = {}
    for chunk in chunks:
        if chunk.usage:
            tokens = chunk.usage.prompt_tokens, chunk.usage.completion_tokens
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
            for call in choice.delta.tool_calls or ():
                name, arguments = calls.get(call.index, ("", ""))
                calls[call.index] = name or call.function.name or "", arguments + (call.function.arguments or "")
    assert reason is not None, "the stream ended too early"
    return Reply(text, tuple(ToolCall(name, json.loads(arguments)) for name, arguments in calls.values()), *tokens)


def _completion(created: Any) -> Reply:
    message = created.choices[0].message
    calls = [ToolCall(one.function.name, json.loads(one.function.arguments)) for one in message.tool_calls or ()]
    return Reply(message.content or "", tuple(calls), created.usage.prompt_tokens, created.usage.completion_tokens)


def by_openai(url: str, asked: Asked) -> Reply:
    openai: Any = import_module("openai")
    with openai.OpenAI(base_url=url, api_key=asked.key, max_retries=0, timeout=asked.timeout) as client:
        if asked.stream:
            return _joined_chunks(client.chat.completions.create(**_stream_arguments(asked)))
        return _completion(client.chat.completions.create(**_arguments(asked)))


def by_azure(url: str, asked: Asked) -> Reply:
    openai: Any = import_module("openai")
    options = {"azure_endpoint": url, "api_version": "2024-10-21", "azure_deployment": MODEL}
    with openai.AzureOpenAI(**options, api_key=asked.key, max_retries=0, timeout=asked.timeout) as client:
        if asked.stream:
            return _joined_chunks(client.chat.completions.create(**_stream_arguments(asked)))
        return _completion(client.chat.completions.create(**_arguments(asked)))


def by_mistral(url: str, asked: Asked) -> Reply:
    mistral: Any = import_module("mistralai.client")
    with mistral.Mistral(api_key=asked.key, server_url=url, timeout_ms=int(asked.timeout * 1000)) as client:
        if asked.stream:
            return _joined_chunks(event.data for event in client.chat.stream(**_arguments(asked)))
        return _completion(client.chat.complete(**_arguments(asked)))


def by_anthropic(url: str, asked: Asked) -> Reply:
    anthropic: Any = import_module("anthropic")
    arguments: dict[str, Any] = {"model": asked.model, "max_tokens": 2000, "messages": asked.messages}
    if asked.by_schema:
        arguments["output_config"] = {"format": {"type": "json_schema", "schema": asked.prompt.schema}}
    if asked.prompt.tools:
        arguments["tools"] = [
            {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
            for tool in asked.prompt.tools
        ]
    with anthropic.Anthropic(base_url=url, api_key=asked.key, max_retries=0, timeout=asked.timeout) as client:
        if asked.stream:
            with client.messages.stream(system=asked.system, **arguments) as stream:
                created = stream.get_final_message()
                assert stream.current_message_snapshot.stop_reason, "the stream ended too early"
        else:
            created = client.messages.create(system=asked.system, **arguments)
    text = "".join(block.text for block in created.content if block.type == "text")
    calls = [ToolCall(block.name, block.input) for block in created.content if block.type == "tool_use"]
    read = created.usage.input_tokens + created.usage.cache_read_input_tokens
    return Reply(text, tuple(calls), read, created.usage.output_tokens)


def by_gemini(url: str, asked: Asked) -> Reply:
    genai: Any = import_module("google.genai")
    types = genai.types
    options: dict[str, Any] = {"system_instruction": asked.system, "temperature": 0, "max_output_tokens": 2000}
    if asked.by_schema:
        options |= {"response_mime_type": "application/json", "response_schema": asked.prompt.schema}
    if asked.prompt.tools:
        declared = [types.FunctionDeclaration(**tool) for tool in asked.prompt.tools]
        options["tools"] = [types.Tool(function_declarations=declared)]
    contents = [types.Content(role="user", parts=[types.Part(text=one["content"])]) for one in asked.messages]
    http = types.HttpOptions(base_url=url, timeout=int(asked.timeout * 1000))
    with genai.Client(api_key=asked.key, http_options=http) as client:
        config = types.GenerateContentConfig(**options)
        question = {"model": asked.model, "contents": contents, "config": config}
        if asked.stream:
            pieces = list(client.models.generate_content_stream(**question))
        else:
            pieces = [client.models.generate_content(**question)]
    created = pieces[-1]
    assert created.candidates[0].finish_reason, "the stream ended too early"
    parts = [part for piece in pieces for part in piece.candidates[0].content.parts]
    text = "".join(part.text for part in parts if part.text and not part.thought)
    calls = [ToolCall(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
    usage = created.usage_metadata
    written = usage.candidates_token_count + usage.thoughts_token_count
    return Reply(text, tuple(calls), usage.prompt_token_count, written)


def by_ollama(url: str, asked: Asked) -> Reply:
    ollama: Any = import_module("ollama")
    headers = {"authorization": f"Bearer {asked.key}"}
    client = ollama.Client(host=url, headers=headers, timeout=asked.timeout)
    try:
        created = client.chat(
            model=asked.model,
            messages=list(asked.prompt.messages),
            format=asked.prompt.schema,
            options={"temperature": 0, "num_predict": 2000},
            tools=[{"type": "function", "function": tool} for tool in asked.prompt.tools] or None,
            stream=asked.stream,
        )
        pieces = list(created) if asked.stream else [created]
    finally:
        client._client.close()  # it has no way of its own
    assert pieces[-1].done, "the stream ended too early"
    called = [call.function for piece in pieces for call in piece.message.tool_calls or ()]
    calls = [ToolCall(one.name, dict(one.arguments)) for one in called]
    text = "".join(piece.message.content or "" for piece in pieces)
    return Reply(text, tuple(calls), pieces[-1].prompt_eval_count, pieces[-1].eval_count)


def status_of(error: BaseException) -> int | None:
    """The HTTP status that a client's error is about."""
    found = (getattr(error, name, None) for name in ("status_code", "code", "http_status"))
    return next((status for status in found if isinstance(status, int)), None)


DIALECTS = {
    one.provider: one
    for one in (
        Dialect("openai", FakeCompatible, by_openai, "/v1"),
        Dialect("mistral", FakeMistral, lambda url, asked: by_mistral(url.removesuffix("/v1"), asked), "/v1"),
        Dialect("azure_openai", FakeAzure, by_azure),
        Dialect("anthropic", FakeAnthropic, by_anthropic),
        Dialect("gemini", FakeGemini, by_gemini),
        Dialect("ollama", FakeOllama, by_ollama),
    )
}
