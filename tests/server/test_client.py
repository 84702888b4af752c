from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest

from memstone import AsyncClient, AsyncMemory, Client, Memory, errors
from memstone.api.aio.verbs import AsyncMemoryVerbs
from memstone.errors import (
    ConfigError,
    Forbidden,
    InvalidInput,
    MemstoneError,
    ScopeError,
    StorageError,
    Unauthenticated,
    Unsupported,
)
from memstone.model.query import Condition, Op
from memstone.remote import link
from memstone.remote.link import encode_arguments
from memstone.remote.routes import LEFT_OUT, NOT_OVER_HTTP, ROUTES
from memstone.server.app import create_app
from tests.faces.harness import list_verbs, verb_of
from tests.faces.ways import classes
from tests.server.calls import operation_of
from tests.server.stock import list_parameters
from tests.server.upstream import served

METHODS = list_verbs()
SHARED = [name for name in METHODS if name not in NOT_OVER_HTTP]


@pytest.fixture
def service(tmp_path: Any) -> Iterator[tuple[str, Memory]]:
    """The address of a service, and the memory beneath it."""
    config = {"store": {"url": f"sqlite:///{tmp_path}/m.db"}, "embedder": {"provider": "hash"}}
    with Memory(config) as memory, served(create_app(config)) as url:
        yield url, memory


def client_of(service: tuple[str, Memory], **key: Any) -> Client:
    url, memory = service
    return Client(url, memory.admin.keys.create(**{"verbs": ["read", "write", "admin"], **key})["key"])


@pytest.mark.req("D-21")
def test_every_verb_has_a_route_or_a_reason_to_have_none() -> None:
    assert set(ROUTES) | set(NOT_OVER_HTTP) == set(METHODS)
    assert not set(ROUTES) & set(NOT_OVER_HTTP)
    assert all(len(reason.split()) > 4 for reason in NOT_OVER_HTTP.values())


@pytest.mark.req("D-21")
def test_every_verb_of_a_client_goes_to_a_route_that_takes_what_it_sends() -> None:
    document = create_app({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}).openapi()
    assert {"/v1/me", "/v1/reset"} <= set(document["paths"])
    for name in set(SHARED) - {"reset", "load"}:
        method, path = operation_of(name).split(" ")
        operation = document["paths"][path][method.lower()]
        assert operation["description"], name
        assert {"200", "201"} & set(operation["responses"]), name
        assert "default" in operation["responses"], name
        takes = set(inspect.signature(verb_of(Client("http://127.0.0.1", "x"), name)).parameters) - LEFT_OUT
        known = taken_by(document, operation)
        assert takes - {"idempotency_key", ROUTES[name].body} <= known, name


def taken_by(document: dict[str, Any], operation: dict[str, Any]) -> set[str]:
    """Every name that an operation takes, in its path, its query or its body."""
    found = {one["name"] for one in list_parameters(document, operation)}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        for one in content["schema"].get("anyOf", [content["schema"]]):
            if "$ref" in one:
                found |= set(document["components"]["schemas"][one["$ref"].rpartition("/")[2]]["properties"])
    return found


@pytest.mark.parametrize("name", METHODS)
def test_a_client_has_the_signatures_and_docstrings_of_memory(name: str) -> None:
    memory = Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}})
    for ours, other in (
        (Client("http://127.0.0.1", "x"), memory),
        (AsyncClient("http://127.0.0.1", "x"), AsyncMemoryVerbs(memory.engine)),
    ):
        own, original = verb_of(ours, name), verb_of(other, name)
        assert inspect.signature(own) == inspect.signature(original)
        assert inspect.iscoroutinefunction(own) == inspect.iscoroutinefunction(original)
        assert inspect.getdoc(own) == inspect.getdoc(original)


@pytest.mark.parametrize("name", sorted(NOT_OVER_HTTP))
def test_what_makes_no_sense_over_http_says_what_to_use_instead(name: str) -> None:
    method = verb_of(Client("http://127.0.0.1:1", "key"), name)
    with pytest.raises(Unsupported, match=re.escape(NOT_OVER_HTTP[name].split(";")[0])):
        method(**values(method))


def test_a_function_is_not_sent_to_a_service() -> None:
    client = Client("http://127.0.0.1:1", "key")
    with pytest.raises(InvalidInput, match="progress cannot be sent"):
        client.admin.reindex(progress=lambda *_: None)


def values(method: Any) -> dict[str, Any]:
    """Something for every argument that must be given."""
    lists = ("ids", "items", "records", "texts", "updates", "vector", "vectors")
    mappings = ("from_scope", "report", "to_scope", "values")
    values: dict[str, Any] = {"position": 0, "useful": True, **{name: [] for name in lists}}
    values |= {name: {} for name in mappings}
    needed = [one for one in inspect.signature(method).parameters.values() if one.default is inspect.Parameter.empty]
    return {one.name: values.get(one.name, "x") for one in needed}


@pytest.mark.parametrize("name", SHARED)
def test_a_closed_client_raises_what_a_closed_memory_raises(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memstone.adapters.io.blocking.BlockingIo.http", _unreachable)
    monkeypatch.setattr("memstone.adapters.io.aio.AsyncIo.http", _unreachable)
    with Client("http://127.0.0.1:1", "key") as client:
        client.close()
    with pytest.raises(StorageError, match="this client is closed") as caught:
        list(verb_of(client, name)(**values(verb_of(client, name))))  # an export begins when it is read
    assert caught.value.hint == "create a new one"

    async def steps() -> None:
        async with AsyncClient("http://127.0.0.1:1", "key") as other:
            await other.close()
        await other.close()
        answer = verb_of(other, name)(**values(verb_of(other, name)))
        with pytest.raises(StorageError, match="this client is closed"):
            await (answer if inspect.isawaitable(answer) else anext(answer))

    asyncio.run(steps())


async def _unreachable(*_: Any) -> Any:
    raise AssertionError("a closed client asks nobody")


def test_a_closed_client_says_the_same_as_a_closed_memory() -> None:
    memory = Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}})
    memory.close()
    client = Client("http://127.0.0.1:1", "key")
    client.close()
    errors = list[MemstoneError]()
    for one in (memory, client):
        with pytest.raises(MemstoneError) as caught:
            one.get_all(user_id="alice")
        errors.append(caught.value)
    assert type(errors[0]) is type(errors[1])
    assert (errors[0].code, errors[0].hint) == (errors[1].code, errors[1].hint)


def test_a_client_that_is_closed_while_it_waits_to_try_again_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client("http://127.0.0.1:1", "key")

    async def closing(*_: Any) -> None:
        client.close()

    monkeypatch.setattr(client._link._io, "sleep", closing)
    with pytest.raises(StorageError, match="this client is closed"):
        client.get_all(user_id="alice")


@pytest.mark.req("C-51")
def test_the_key_stands_in_no_repr_and_no_error(service: tuple[str, Memory]) -> None:
    key = "rt_0000000000000000_" + "x" * 43
    with Client(service[0], key) as client, pytest.raises(Unauthenticated) as caught:
        client.search("Oslo", user_id="alice")
    output = f"{client!r} {client._link!r} {caught.value!r} {caught.value} {vars(caught.value)}"
    assert "xxx" not in output
    assert caught.value.hint


@pytest.mark.parametrize(
    "address",
    ["", "localhost:8420", "ftp://x", "http://", "http://a:b@host", "http://h?q=1", "http://[::1", "file:///x"],
)
def test_an_address_that_cannot_be_is_refused(address: str) -> None:
    with pytest.raises(ConfigError):
        Client(address, "key")


@pytest.mark.parametrize("key", ["a\nb", "schlüssel", 7])
def test_a_key_that_cannot_be_sent_is_refused(key: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        Client("http://127.0.0.1", key)
    assert str(key) not in str(caught.value)


@pytest.mark.req("C-51", "X-1")
def test_a_key_of_one_user_reaches_nobody_else(service: tuple[str, Memory]) -> None:
    service[1].add("I live in Rome", user_id="bob")
    foreign = service[1].get_all(user_id="bob")["results"][0]["id"]
    with client_of(service, user_id="alice") as alice:
        alice.add("I live in Oslo")
        assert [one["memory"] for one in alice.get_all()["results"]] == ["User lives in Oslo."]
        assert alice.get(foreign) is None
        assert alice.history(foreign) == []
        forbidden: list[Callable[[], Any]] = [
            lambda: alice.search("Rome", user_id="bob"),
            lambda: alice.admin.keys.create("more"),
            alice.admin.keys.list,
            alice.reset,
            alice.stats,
            lambda: alice.admin.erase(user_id="bob"),
            lambda: alice.sharing.reassign({"user_id": "bob"}, {"user_id": "alice"}),
            lambda: alice.load([]),
            alice.admin.list_scopes,
            alice.admin.check,
        ]
        for call in forbidden:
            with pytest.raises(Forbidden):
                call()
        seen = [line["memory_id"] for line in alice.export() if line["type"] == "event"]
        assert foreign not in seen
    assert len(service[1].get_all(user_id="bob")["results"]) == 1


@pytest.mark.req("X-24")
def test_a_key_does_what_its_verbs_allow(service: tuple[str, Memory]) -> None:
    trusted = {"may_assert_user": True}
    with (
        client_of(service, verbs=["read"], **trusted) as reader,
        client_of(service, verbs=["read", "write"], **trusted) as writer,
    ):
        memory_id = writer.add("tea", user_id="alice", infer=False)["results"][0]["id"]
        assert reader.get(memory_id)
        assert writer.admin.consolidate(user_id="alice")["status"]
        forbidden: list[Callable[[], Any]] = [
            lambda: reader.add("coffee", user_id="alice"),
            lambda: reader.review.events(everybody=True),
            lambda: list(reader.export(everybody=True)),
            lambda: reader.vectors.query([1.0], everybody=True),
            lambda: writer.admin.consolidate(everybody=True),
            lambda: writer.settings.set({"context.budget": 100}),
            lambda: writer.review.approve(memory_id),
            lambda: writer.review.rollback(source="user", everybody=True),
        ]
        for call in forbidden:
            with pytest.raises(Forbidden):
                call()


def test_a_revoked_key_is_refused_at_once(service: tuple[str, Memory]) -> None:
    with client_of(service) as admin:
        made = admin.admin.keys.create("app")
        with Client(service[0], made["key"]) as app:
            assert app.get("x") is None
            admin.admin.keys.revoke(made["id"])
            with pytest.raises(Unauthenticated):
                app.get("x")


def test_times_filters_and_generators_are_sent_as_json_holds_them(service: tuple[str, Memory]) -> None:
    with client_of(service) as client:
        message = ({"role": "user", "content": text} for text in ("one", "two"))
        assert client.ingest(message, user_id="alice", occurred_at=date(2026, 1, 2))["stored"] == 2
        memory_id = client.add("tea", user_id=7, infer=False, expires_at=datetime(2100, 1, 2, tzinfo=UTC))["results"][
            0
        ]["id"]
        item = client.get(memory_id)
        assert item is not None
        assert (item["user_id"], item["expires_at"]) == ("7", "2100-01-02T00:00:00.000000Z")
        assert client.update(memory_id, expires_at=None)["expires_at"] is None
        later = datetime(2100, 1, 1, tzinfo=UTC)
        assert client.search("tea", user_id=7, as_of=later, layers=("fact",))["results"][0]["id"] == memory_id
        with pytest.raises(InvalidInput, match="filters"):
            client.search("tea", user_id=7, filters=Condition("room", Op.EQ, "hall"))
        with pytest.raises(InvalidInput, match="metadata"):
            client.add("tea", user_id=7, metadata={"x": object()})


def test_messages_are_sent_in_every_shape_a_memory_takes() -> None:
    class Dumped:
        def model_dump(self) -> dict[str, Any]:
            return {"role": "assistant", "content": "b", "refusal": None}

        def __iter__(self) -> Iterator[Any]:
            return iter(self.model_dump().items())

    texts = {"role": "assistant", "content": "b", "refusal": None}
    user = UUID("8e9d7c5a-1b2c-4d3e-9f00-abcdefabcdef")
    values = {"messages": ["x", ("user", "a"), Dumped()], "user_id": user}
    wanted = {"messages": ["x", {"role": "user", "content": "a"}, texts], "user_id": str(user)}
    assert encode_arguments("add", values) == wanted
    assert encode_arguments("add", {"messages": Dumped()}) == {"messages": texts}
    assert encode_arguments("add", {"messages": ("user", "a")}) == {"messages": ["user", "a"]}, (
        "two things that were said"
    )
    assert encode_arguments("add_many", {"items": [values]}) == {"items": [wanted]}


def test_an_export_that_comes_over_a_loop_is_put_back(service: tuple[str, Memory]) -> None:
    async def moved() -> int:
        key = service[1].admin.keys.create(verbs=["admin"])["key"]
        async with AsyncMemory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}) as source:
            await source.add("I live in Oslo", user_id="alice", infer=False)
            async with AsyncClient(service[0], key) as client:
                return (await client.load(source.export(everybody=True)))["memories"]

    assert asyncio.run(moved()) == 1


def test_none_is_sent_only_where_it_says_something() -> None:
    assert encode_arguments("update", {"memory_id": "x", "key": None, "text": None}) == {"memory_id": "x", "key": None}
    assert encode_arguments("identity.set_narrative", {"text": None, "user_id": "a"}) == {"text": None, "user_id": "a"}
    assert encode_arguments("search", {"query": "x", "as_of": None}) == {"query": "x"}


def test_a_long_export_is_put_back_in_pieces(service: tuple[str, Memory], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "_PAGE_CHARS", 2_000)
    with client_of(service) as client:
        client.add_many([{"messages": f"note {n}", "user_id": "alice", "infer": False} for n in range(20)])
        lines = list(client.export(everybody=True))
        client.reset()
        assert client.load(iter(lines))["memories"] == 20
        assert client.load(lines)["already_there"] >= 20
        assert client.get_all(user_id="alice", counts=True)["total"] == 20
        with pytest.raises(InvalidInput, match="not a Memstone export"):
            client.load([])


def test_what_is_wrong_with_an_export_is_told_in_full(service: tuple[str, Memory]) -> None:
    async def steps() -> None:
        key = service[1].admin.keys.create(verbs=["admin"])["key"]
        async with AsyncClient(service[0], key) as client:
            with pytest.raises(MemstoneError) as caught:
                [line async for line in client.export(user_id="a" * 300)]
            assert caught.value.code in ("scope", "invalid_input", "too_large")
            assert vars(caught.value)["request_id"]

    asyncio.run(steps())


@pytest.mark.req("N-43")
def test_an_error_says_what_is_wrong_with_which_field(service: tuple[str, Memory]) -> None:
    with client_of(service) as client:
        with pytest.raises(InvalidInput) as caught:
            client.search("Oslo", user_id="alice", min_score=2.0)
        answer = vars(caught.value)
        assert [one["field"] for one in answer["details"]] == ["body.min_score"]
        assert answer["request_id"] in caught.value.__notes__[0]
        with pytest.raises(ScopeError, match="user_id"):
            client.search("Oslo")


@pytest.mark.req("N-43")
def test_every_error_has_a_code_of_its_own_and_can_be_made_from_it() -> None:
    found = list(classes())
    assert len({kind.code for kind in found}) == len(found)
    for kind in found:
        assert kind("what happened", hint="what to do").hint == "what to do"
    assert errors.StorageBusy in found
