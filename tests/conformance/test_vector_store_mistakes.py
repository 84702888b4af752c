"""What a vector store says about a wrong option, address or key: a typed error with a hint, and never the key."""

from __future__ import annotations

from typing import Any, Final

import pytest

from memstone.compose import build_adapter
from memstone.errors import BackendUnavailable, ConfigError, MemstoneError, VectorStoreError
from memstone.ports.io import Io
from memstone.testing.modes import MODES, run
from memstone.testing.wire import WireReply, WireServer

HIDDEN: Final = "key-4711"
OVER_HTTP: Final = ("azure_ai_search", "chroma", "elasticsearch", "opensearch", "pinecone", "qdrant", "weaviate")

both = pytest.mark.parametrize("mode", MODES)
over_http = pytest.mark.parametrize("provider", OVER_HTTP)


def list_collections(mode: str, provider: str, **options: Any) -> Any:
    async def scenario(io: Io) -> Any:
        return await build_adapter("vectors", provider, options, io).collections()

    return run(mode, scenario, naps=[])


def options_for(provider: str, url: str) -> dict[str, Any]:
    return {"url": url} if provider == "chroma" else {"url": url, "api_key": HIDDEN}


def ask(mode: str, provider: str, reply: WireReply) -> MemstoneError:
    with WireServer(lambda _: reply) as server, pytest.raises(MemstoneError) as caught:
        list_collections(mode, provider, **options_for(provider, server.url))
    assert HIDDEN not in f"{caught.value!r} {caught.value.hint}"
    return caught.value


@both
@over_http
@pytest.mark.req("C-52")
def test_what_answers_at_a_wrong_address_is_named(mode: str, provider: str) -> None:
    other = ask(mode, provider, WireReply(404, body=b"<html>nothing here</html>"))
    assert (type(other), other.message) == (VectorStoreError, "127.0.0.1 answered 404")
    assert provider in (other.hint or "")
    page = ask(mode, provider, WireReply(200, body=b"<html>hello</html>"))
    assert (type(page), page.hint) == (VectorStoreError, "check the address")
    assert "JSON" in page.message


@both
@over_http
@pytest.mark.req("C-52")
def test_a_wrong_key_is_an_error_of_the_store_that_does_not_show_it(mode: str, provider: str) -> None:
    refused = ask(mode, provider, WireReply(401, json={"error": {"message": f"bad key {HIDDEN}"}}))
    assert (type(refused), refused.hint) == (VectorStoreError, "check the api_key of vector_store")


@both
@over_http
@pytest.mark.req("C-52")
def test_a_server_that_does_not_answer_is_unavailable(mode: str, provider: str) -> None:
    with pytest.raises(BackendUnavailable, match=r"127\.0\.0\.1") as caught:
        list_collections(mode, provider, **options_for(provider, "http://127.0.0.1:1"))
    assert "service is running" in (caught.value.hint or "")


@over_http
@pytest.mark.parametrize("url", ["ftp://host", "http://"])
def test_an_address_that_is_none_is_refused_before_anything_is_asked(provider: str, url: str) -> None:
    with pytest.raises(ConfigError, match=r"must start with http\(s\)://host"):
        list_collections("blocking", provider, **options_for(provider, url))


@pytest.mark.parametrize("url", [f"localhost:6379/{HIDDEN}", f"redis://:{HIDDEN}@host:port"])
def test_an_address_that_is_not_one_of_redis_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError, match="no address of Redis") as caught:
        list_collections("blocking", "redis", url=url)
    assert HIDDEN not in f"{caught.value!r}"


def test_an_address_that_is_not_one_of_postgresql_is_refused_without_its_password() -> None:
    with pytest.raises(VectorStoreError, match="no address of PostgreSQL") as caught:
        list_collections("blocking", "pgvector", url=f"localhost:5432/{HIDDEN}")
    assert HIDDEN not in f"{caught.value!r}"


@pytest.mark.parametrize("provider", [*OVER_HTTP, "redis", "pgvector", "faiss"])
@pytest.mark.req("C-39.1")
def test_a_wrong_option_is_an_error_that_suggests_the_right_one(provider: str) -> None:
    wrong = "pat" if provider == "faiss" else "urls"
    with pytest.raises(ConfigError, match=f"vector store {provider}: .*there is no setting {wrong}") as caught:
        list_collections("blocking", provider, **{wrong: "http://localhost"})
    assert caught.value.hint == ("did you mean path?" if provider == "faiss" else "did you mean url?")
