"""Values that no database holds: whoever sends one is told so, and nothing breaks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from tests.postgres.server import APP
from tests.security.asgi import Call
from tests.server.conftest import CONFIG
from tests.server.stock import list_parameters
from tests.server.world import World

if TYPE_CHECKING:
    from tests.postgres.server import Server

HUGE: Final = 2**63
RAW: Final = (str(-HUGE - 1), "9" * 5_000, "1e999", "NaN", '"\\ud800"', '"\\u0000"', "[" * 5_000)
LEFT_OUT: Final = frozenset({"/v1/events/stream", "/v1/reset", "/memory/clear", "/v1/console/erase"})
_GIVEN_ID: Final = "0198c2d4-6b1e-7c3a-9f00-5d2b8e4a7c11"
Places = tuple[str | int, ...]


class Asked(NamedTuple):
    """Somebody who may do everything and is told of crashes, a memory that is there, and the description."""

    client: TestClient
    known: str
    described: dict[str, Any]


@pytest.fixture(scope="module", params=["memory:", pytest.param("postgres", marks=pytest.mark.postgres)])
def asked(request: pytest.FixtureRequest) -> Iterator[Asked]:
    url = request.param
    if url == "postgres":  # a database of its own: the one that all tests use is wiped by the next of them
        server: Server = request.getfixturevalue("postgres")
        url = server.url(server.database(server.pattern), APP)
    with World.of({**CONFIG, "store": {"url": url}}) as world:
        texts = {"messages": "I live in Oslo. My sister Anna works at Contoso.", "user_id": "alice"}
        known = world.client.post("/v1/memories", json=texts).json()["results"][0]["id"]
        client = TestClient(world.app, headers=dict(world.client.headers), raise_server_exceptions=False)
        client.portal = world.portal
        yield Asked(client, known, world.app.openapi())


def operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if path not in LEFT_OUT:
                yield method.upper(), path, operation


def example(described: dict[str, Any], operation: dict[str, Any], known: str) -> tuple[Any, list[str]]:
    """A body as it may be, and every name that it could have."""
    schema = operation["requestBody"]["content"].get("application/json", {"schema": {}})["schema"]
    schema = next((one for one in schema.get("anyOf", ()) if one.get("type") != "null"), schema)
    while "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    text = json.dumps(schema.get("examples", [{}])[0]).replace(_GIVEN_ID, known)
    return json.loads(text), list(schema.get("properties", {}))


def places(value: Any, before: Places = ()) -> Iterator[Places]:
    yield before
    for name, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(one, (*before, name))


def put(value: Any, place: Places, new: Any) -> Any:
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = put(copy[place[0]], place[1:], new)
    return copy


def bodies(value: Any, names: list[str], new: Any) -> Iterator[Any]:
    """The example with something else in each place, and under each name that it could have."""
    yield from (put(value, place, new) for place in places(value))
    if isinstance(value, dict):
        for name in names:
            yield from ({**value, name: new}, {**value, name: [new]}, {**value, name: {"n": new}})


def crashed(answer: Any) -> bool:
    return bool(answer.status_code == 500)  # 502 and 503 speak of what stands behind the service


def calls(described: dict[str, Any], known: str) -> Iterator[Call]:
    """Every operation with the number in each place."""
    for method, path, operation in operations(described):
        real = re.sub(r"{\w+}", "0", path.replace("{memory_id}", known))
        for one in list_parameters(described, operation):
            query: dict[str, str | int] = {"user_id": "alice", one["name"]: HUGE} if one["in"] == "query" else {}
            where = path.replace(f"{{{one['name']}}}", str(HUGE))
            yield Call(method, re.sub(r"{\w+}", known, where), query, {})
        if "requestBody" in operation:
            value, names = example(described, operation, known)
            yield from (Call(method, real, {}, {}, body) for body in bodies(value, names, HUGE))


async def broken(app: Any, headers: Mapping[str, str], items: Iterable[Call]) -> list[Call]:
    """Those of the requests at which the service breaks."""
    found = list[Call]()
    for call in items:
        try:
            status = (await replace(call, headers=headers).send_to(app)).status
        except Exception:  # noqa: BLE001 - whatever it was, it came out of the service
            status = 500
        if status == 500:
            found.append(call)
    return found


@pytest.mark.slow
def test_a_number_that_no_column_holds_breaks_nothing_wherever_it_stands(asked: Asked) -> None:
    headers = {name: asked.client.headers[name] for name in ("authorization",)}
    items = list(calls(asked.described, asked.known))
    assert len(items) > 1_000
    assert asked.client.portal is not None
    assert asked.client.portal.call(broken, asked.client.app, headers, items) == []


@pytest.mark.parametrize("raw", RAW, ids=lambda raw: raw[:9])
def test_what_json_can_say_and_nobody_can_hold_is_a_problem_of_the_request(asked: Asked, raw: str) -> None:
    client, known, _ = asked
    sent = {
        "POST /v1/memories": f'{{"messages": "x", "user_id": "alice", "infer": false, "metadata": {{"n": {raw}}}}}',
        "POST /v1/memories/search": f'{{"query": "x", "user_id": "alice", "filters": {{"n": {{"gte": {raw}}}}}}}',
        f"PUT /v1/memories/{known}": f'{{"metadata": {{"n": {raw}}}}}',
        "POST /v1/sessions/backfill": f'{{"conversations": [{{"id": {raw}, "messages": []}}], "user_id": "alice"}}',
        "POST /insert": f'{{"vectors": [{{"id": "v", "values": [{raw}, 1.0]}}], "userId": "alice"}}',
        "POST /v1/import": f'{{"type": "header", "format": "memstone", "version": {raw}}}',
        "POST /v1/chat/completions": f'{{"model": "m", "messages": {raw}}}',
    }
    for target, body in sent.items():
        method, path = target.split()
        answer = client.request(method, path, content=body, headers={"content-type": "application/json"})
        assert not crashed(answer), (target, answer.text)


@pytest.mark.parametrize("value", ["9" * 5_000, str(HUGE), "-1e999", "nan", "%00", quote("\ufffd")])
@pytest.mark.parametrize(
    "path", ["/v1/memories?user_id=a&limit={}", "/v1/events?after={}", "/agents/{}", "/v1/jobs?limit={}"]
)
def test_a_query_or_a_path_with_such_a_value_is_a_problem_of_the_request(asked: Asked, path: str, value: str) -> None:
    assert asked[0].get(path.format(value)).status_code in (400, 404)
