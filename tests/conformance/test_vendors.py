"""Vendors by name: the table they stand in, their keys, and the way each is asked."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest

from memstone.adapters.ollama_server import ollama_url
from memstone.adapters.vendors import CHAT, EMBEDDINGS, VENDORS
from memstone.compose import build_adapter
from memstone.errors import AuthenticationFailed, ConfigError
from memstone.ports.io import Io
from memstone.ports.models import Llm, Prompt
from memstone.registry import BUILT_IN, load_adapter
from memstone.testing.modes import run
from memstone.testing.wire import KEY, WireServer
from memstone.testing.wire_chat import MODEL, FakeCompatible, WireAnswer
from memstone.testing.wire_embed import EMBED_MODEL, FakeEmbeddings
from tests.conformance.chat_dialects import Asked, by_openai
from tests.conformance.embed_dialects import by_openai as embed_by_openai

HELLO = [{"role": "system", "content": "Answer in JSON."}, {"role": "user", "content": "Hello!"}]
SCHEMA = {
    "title": "words",
    "type": "object",
    "properties": {"words": {"type": "array", "items": {"type": "string"}}},
    "required": ["words"],
    "additionalProperties": False,
}


def path_of(name: str) -> str:
    return urlsplit(VENDORS[name].base_url).path


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor in VENDORS.values():
        for name in (*vendor.keys, vendor.address):
            if name:
                monkeypatch.delenv(name, raising=False)


# --- the table --------------------------------------------------------------------------------------------------------


def test_the_table_of_vendors_and_the_registry_name_the_same() -> None:
    for kind, names in (("llm", CHAT), ("embedder", EMBEDDINGS)):
        rows = {name for (of, name), (where, _) in BUILT_IN.items() if of == kind and ".compatible:" in where}
        assert rows == set(names) <= VENDORS.keys()


@pytest.mark.parametrize(("kind", "name"), [("llm", "magic"), ("embedder", "openai")])
def test_a_class_of_no_vendor_is_not_there(kind: str, name: str) -> None:
    package = {"llm": "llm", "embedder": "embed"}[kind]
    with pytest.raises(ConfigError, match=name):
        load_adapter(kind, f"memstone.adapters.{package}.compatible:{name}")


@pytest.mark.req("C-40")
@pytest.mark.parametrize("name", CHAT)
def test_each_vendor_is_asked_at_its_own_path_in_a_way_that_it_has(name: str) -> None:
    def scenario(prompt: Prompt) -> Any:
        async def ask(io: Io) -> str:
            options = {"base_url": f"{server.url}{path_of(name)}", "api_key": KEY, "model": MODEL}
            llm: Llm = build_adapter("llm", name, options, io)
            return (await llm.generate(prompt)).text

        return ask

    ways = VENDORS[name].json_ways
    refuses = [f"json_{way}" for way in ("schema", "object") if way not in ways]
    fake = FakeCompatible(WireAnswer('{"words": []}'), path=f"{path_of(name)}/chat/completions", refuses=refuses)
    with WireServer(fake) as server:
        assert by_openai(f"{server.url}{path_of(name)}", Asked(Prompt(HELLO))).text == '{"words": []}'
        for prompt in (Prompt(HELLO, response_format="json", schema=SCHEMA), Prompt(HELLO, response_format="json")):
            assert run("blocking", scenario(prompt)) == '{"words": []}'
        assert len(server.requests) == 3  # nothing was refused


@pytest.mark.req("C-41")
@pytest.mark.parametrize("name", EMBEDDINGS)
def test_each_vendor_embeds_at_its_own_path(name: str) -> None:
    fake = FakeEmbeddings(path=f"{path_of(name)}/embeddings", dimensions=VENDORS[name].dimensions_name)

    async def scenario(io: Io) -> Any:
        options = {"base_url": f"{server.url}{path_of(name)}", "api_key": KEY, "model": EMBED_MODEL, "dimensions": 4}
        made = build_adapter("embedder", name, options, io)
        return made.provider, (await made.embed(["tea"])).shape

    with WireServer(fake) as server:
        assert len(embed_by_openai(f"{server.url}{path_of(name)}", ["tea"], KEY, EMBED_MODEL)) == 1
        assert run("blocking", scenario) == (name, (1, 4))


# --- keys and addresses -----------------------------------------------------------------------------------------------

NAMED = [
    (kind, name)
    for kind, name in BUILT_IN
    if kind in ("llm", "embedder", "reranker") and name in VENDORS and VENDORS[name].keys
]


def key_of(kind: str, name: str, **options: Any) -> str:
    async def scenario(io: Io) -> str:
        base = {"base_url": "https://x.openai.azure.com"} if name == "azure_openai" else {}
        made = build_adapter(kind, name, {"model": "m", **base, **options}, io)
        key: str = made._config.key
        return key

    return run("blocking", scenario)


@pytest.mark.req("C-46", "X-38")
@pytest.mark.parametrize(("kind", "name"), NAMED)
def test_a_provider_that_is_named_takes_its_key_from_the_usual_variable(
    kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert key_of(kind, name) == ""
    for variable in reversed(VENDORS[name].keys):  # the first is the strongest
        monkeypatch.setenv(variable, f"key-of-{variable}")
        assert key_of(kind, name) == f"key-of-{variable}"
    assert key_of(kind, name, api_key="own") == "own"


@pytest.mark.req("C-46", "X-38")
@pytest.mark.parametrize(("kind", "name"), NAMED)
def test_the_key_of_a_vendor_goes_to_no_other_address(kind: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VENDORS[name].keys:
        monkeypatch.setenv(variable, "secret")
    for url in ("https://example.com/v1", "http://127.0.0.1:1/v1", "https://api.openai.com.example.com"):
        assert key_of(kind, name, base_url=url) == ""


@pytest.mark.req("C-46")
def test_an_address_of_another_vendor_gets_the_key_of_that_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-o")
    monkeypatch.setenv("GROQ_API_KEY", "key-g")
    assert key_of("llm", "openai", base_url="https://api.groq.com/openai/v1") == "key-g"
    monkeypatch.setenv("OPENAI_BASE_URL", "https://proxy.example.com/v1")
    assert key_of("llm", "openai") == "key-o"


@pytest.mark.req("C-46")
@pytest.mark.parametrize("kind", ["llm", "embedder"])
def test_azure_is_found_by_its_variables(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ENDPOINT": "https://mine.openai.azure.com/", "API_KEY": "key-a"}.items():
        monkeypatch.setenv(f"AZURE_OPENAI_{name}", value)
    monkeypatch.setenv("OPENAI_API_VERSION", "2030-01-01")

    async def scenario(io: Io) -> Any:
        made = build_adapter(kind, "azure", {"model": "m"}, io)
        return made.destination, made._config.key, made._config.api_version

    assert run("blocking", scenario) == ("mine.openai.azure.com", "key-a", "2030-01-01")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 - nobody listens, it is what people set
        ("gpu:8000", "http://gpu:8000"),
        ("https://ollama.com", "https://ollama.com:443"),
        ("http://gpu/api/", "http://gpu:80/api"),
        ("[::1]:9", "http://[::1]:9"),
    ],
)
def test_ollama_is_where_its_own_variable_says(host: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert ollama_url(host) == url

    async def scenario(io: Io) -> Any:
        return [
            build_adapter("llm", "ollama", {"model": "m"}, io)._config.base_url,
            build_adapter("embedder", "ollama", {}, io)._config.base_url,
        ]

    assert run("blocking", scenario) == [url, url]


@pytest.mark.req("X-38")
@pytest.mark.parametrize(
    ("kind", "name", "call"),
    [
        ("llm", "groq", lambda made: made.generate(Prompt(HELLO))),
        ("llm", "anthropic", lambda made: made.generate(Prompt(HELLO))),
        ("embedder", "voyage", lambda made: made.embed(["tea"])),
        ("reranker", "cohere", lambda made: made.rerank("tea", ["green tea"], 1)),
    ],
)
def test_without_a_key_nothing_is_sent_and_the_variable_is_named(kind: str, name: str, call: Any) -> None:
    async def scenario(io: Io) -> None:
        await call(build_adapter(kind, name, {"model": "m"}, io))

    with pytest.raises(AuthenticationFailed, match=VENDORS[name].keys[0]):
        run("blocking", scenario)


@pytest.mark.req("C-40.1", "C-41.1")
@pytest.mark.parametrize(
    ("kind", "name", "host"),
    [
        ("llm", "anthropic", "api.anthropic.com"),
        ("llm", "google", "generativelanguage.googleapis.com"),
        ("llm", "ollama", "localhost"),
        ("llm", "azure_openai", "mine.openai.azure.com"),
        ("embedder", "huggingface", "localhost"),
        ("embedder", "azure_openai", "mine.openai.azure.com"),
        ("embedder", "google", "generativelanguage.googleapis.com"),
    ],
)
def test_the_names_of_other_libraries_choose_the_same(
    kind: str, name: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com")

    async def scenario(io: Io) -> str:
        destination: str = build_adapter(kind, name, {"model": "m"}, io).destination
        return destination

    assert run("blocking", scenario) == host


# --- what is written wrongly ------------------------------------------------------------------------------------------


@pytest.mark.req("C-40", "C-41")
@pytest.mark.parametrize(
    ("kind", "name", "option", "meant"),
    [
        ("llm", "openai", "temprature", "temperature"),
        ("llm", "anthropic", "max_token", "max_tokens"),
        ("llm", "gemini", "apiKey", "api_key"),
        ("llm", "azure_openai", "azure_deployment", "deployment"),
        ("llm", "ollama", "ollama_base_url", "base_url"),
        ("llm", "groq", "timeot", "timeout"),
        ("embedder", "cohere", "embedding_dims", "dimensions"),
        ("embedder", "voyage", "input_types", "input_type"),
        ("reranker", "jina", "url", "base_url"),
        ("reranker", "local", "model_path", "model_dir"),
    ],
)
def test_an_unknown_option_is_answered_with_the_one_that_was_meant(
    kind: str, name: str, option: str, meant: str
) -> None:
    async def scenario(io: Io) -> None:
        build_adapter(kind, name, {"model": "m", option: 1}, io)

    with pytest.raises(ConfigError) as caught:
        run("blocking", scenario)
    assert option in caught.value.message
    assert caught.value.hint == f"did you mean {meant}?"


def test_an_option_like_no_other_is_answered_with_all_there_are() -> None:
    async def scenario(io: Io) -> None:
        build_adapter("reranker", "cohere", {"zzz": 1}, io)

    with pytest.raises(ConfigError, match=r"options are .*api_key"):
        run("blocking", scenario)


@pytest.mark.parametrize(("kind", "name", "meant"), [("llm", "antropic", "anthropic"), ("embedder", "Voyag", "voyage")])
def test_an_unknown_provider_is_answered_with_the_one_that_was_meant(kind: str, name: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean {meant}"):
        load_adapter(kind, name)
