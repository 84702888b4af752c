"""Every route with a name it does not know, read off the route table: whoever adds a route is tested here."""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Iterator
from typing import Any, Final, get_args

import pytest
from starlette.routing import Route

from tests.server.conftest import CONFIG
from tests.server.stock import Stocked, dump, example_of, stock

OWN_PROTOCOL: Final = frozenset({"/mcp"})
ENDLESS: Final = frozenset({"/v1/events/stream"})
PASSED_ON: Final = frozenset(
    {
        "/chat/completions",
        "/v1/chat/completions",
        "/v1/embeddings",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/responses",
        "/agents/{agent_id}/run",
    }
)
"""Bodies that belong to an upstream."""

DOCUMENTS: Final = frozenset({"/v1/import", "/v1/console/import", "/v1/console/erasures/verify"})
"""Bodies that are files: what is wrong with one is the answer about it."""

CALLERS_OWN: Final = frozenset({"metadata"})
TOLD_IN_THE_ANSWER: Final = frozenset({"items", "turns", "conversations", "messages"})
"""Lists whose entries have results or warnings of their own."""


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stocked]:
    """A service with something of everything that a request could change."""
    path = tmp_path_factory.mktemp("strict") / "memory.db"
    with stock(CONFIG, path) as made:
        yield made


CONSOLE = "console"
"""The name of every page for people; they are for sessions, not for keys: see ``tests/console/test_refusals.py``."""


def table(stocked: Stocked) -> Iterator[tuple[str, str, Any]]:
    """Every route: its method, its path as it is described, and itself."""
    for route in stocked.world.app.routes:
        assert isinstance(route, Route) or hasattr(route, "path_format"), f"{route!r} is no route this test knows"
        if route.path not in OWN_PROTOCOL and route.name != CONSOLE:
            for method in sorted(route.methods or ()):
                yield method, route.path_format, route


def ask(stocked: Stocked, method: str, path: str, query: str, body: Any) -> Any:
    """Send a request that would be right but for what is added to it."""
    more = {} if body is None else {"content": body} if isinstance(body, str) else {"json": body}
    return stocked.world.client.request(method, f"{stocked.real(path)}{query}", **more)


def test_no_route_takes_a_query_parameter_it_does_not_know(stocked: Stocked) -> None:
    wrong, before = list[Any](), dump(stocked.path)
    for method, path, _ in table(stocked):
        answer = ask(stocked, method, path, "?user_idd=alice&dry_run_=1", example_of(stocked.world, method, path))
        after = dump(stocked.path)
        if answer.status_code != 400 or after != before:
            wrong.append((method, path, answer.status_code, answer.text[:100], after != before))
            before = after
    assert not wrong


def test_no_route_takes_a_field_it_does_not_know(stocked: Stocked) -> None:
    wrong, before, tried = list[Any](), dump(stocked.path), 0
    for method, path, route in table(stocked):
        if getattr(route, "body_field", None) is None or path in DOCUMENTS:
            continue
        tried += 1
        answer = ask(stocked, method, path, "", {**example_of(stocked.world, method, path), "user_idd": "alice"})
        after = dump(stocked.path)
        if answer.status_code != 400 or "body.user_idd" not in answer.text or after != before:
            wrong.append((method, path, answer.status_code, answer.text[:100], after != before))
            before = after
    assert tried > 80
    assert not wrong


def twice(body: Any) -> Iterator[tuple[str, str]]:
    """A body with a name twice, at the top and further inside, and that name."""
    for place in ((), *places(body)):
        inner = body
        for step in place:
            inner = inner[step]
        for name in list(inner)[:1]:
            text = json.dumps(inner)
            repeated = f"{text[:-1]}, {json.dumps(name)}: {json.dumps(inner[name])}}}"
            yield json.dumps(body).replace(text, repeated, 1), name


def test_no_route_takes_a_name_twice(stocked: Stocked) -> None:
    wrong, before, tried = list[Any](), dump(stocked.path), 0
    kind = {"content-type": "application/json; charset=utf-8"}
    for method, path, route in table(stocked):
        if getattr(route, "body_field", None) is None:
            continue
        for text, name in twice(example_of(stocked.world, method, path)):
            tried += 1
            answer = stocked.world.client.request(method, stocked.real(path), content=text, headers=kind)
            after = dump(stocked.path)
            if answer.status_code != 400 or f"{name}: given more than once" not in answer.text or after != before:
                wrong.append((method, path, text, answer.status_code, answer.text[:100], after != before))
                before = after
    assert tried > 100
    assert not wrong


def test_no_line_of_an_import_has_a_name_twice(stocked: Stocked) -> None:
    head = '{"type": "header", "format": "memstone-export", "version": 1, "version": 2}'
    answer = stocked.world.client.post("/v1/import", content=head)
    assert (answer.status_code, answer.json()["detail"]) == (400, "line 1 has a duplicate name")


def test_filters_have_one_form_everywhere(stocked: Stocked) -> None:
    """A list of conditions, all of which hold, wherever filters may stand."""
    wrong, tried = list[Any](), 0
    for method, path, route in table(stocked):
        field = getattr(route, "body_field", None)
        kind = field.field_info.annotation if field is not None else None
        names = {name for one in (kind, *get_args(kind)) for name in getattr(one, "model_fields", {})}
        if "filters" not in names:
            continue
        tried += 1
        example = {name: value for name, value in example_of(stocked.world, method, path).items() if name != "filters"}
        wanted: list[Any] = [{"colour": "none"}, {"size": 9}]
        trial = {"dry_run": True} if "dry_run" in names else {}
        answers = [
            ask(stocked, method, path, "", {**example, **trial, "filters": one}) for one in (wanted, {"AND": wanted})
        ]
        if len({answer.status_code for answer in answers}) > 1 or answers[0].status_code >= 300:
            wrong.append((method, path, [(answer.status_code, answer.text[:200]) for answer in answers]))
    assert tried > 4
    assert not wrong


def test_a_body_is_read_or_refused(stocked: Stocked) -> None:
    """Whoever reads a body describes it; only what is passed on, or a file, is read without a form."""
    wrong, before = list[Any](), dump(stocked.path)
    for method, path, route in table(stocked):
        if getattr(route, "reads_body", False):
            if route.body_field is None and path not in PASSED_ON | DOCUMENTS:
                wrong.append((method, path, "reads a body that has no form"))
            continue
        answer = ask(stocked, method, path, "", {"filters": {"status": "open"}})
        after = dump(stocked.path)
        if answer.status_code != 400 or after != before:
            wrong.append((method, path, answer.status_code, after != before))
            before = after
    assert not wrong


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where objects stand inside an example."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict) and place:
        yield place
    for step, one in inner:
        yield from places(one, (*place, step))


def test_no_object_inside_a_body_takes_a_field_it_does_not_know(stocked: Stocked) -> None:
    wrong = list[Any]()
    for method, path, route in table(stocked):
        if getattr(route, "body_field", None) is None or path in DOCUMENTS:
            continue
        example = example_of(stocked.world, method, path)
        for place in places(example):
            if CALLERS_OWN & set(map(str, place)):
                continue
            body = copy.deepcopy(example)
            inner = body
            for step in place:
                inner = inner[step]
            inner["zz_unknown"] = 1
            answer = ask(stocked, method, path, "", body)
            is_known = "zz_unknown" in answer.text and place[0] in TOLD_IN_THE_ANSWER
            if answer.status_code != 400 and not is_known:
                wrong.append((method, path, place, answer.status_code, answer.text[:200]))
    assert not wrong


@pytest.mark.parametrize(
    ("method", "path", "query", "body", "hint"),
    [
        ("DELETE", "/v1/memories", "?user_id=z&runid=r1", None, "did you mean run_id?"),
        ("GET", "/v1/memories/search", "?q=tea&user_id=z&Limit=5", None, "did you mean limit?"),
        ("GET", "/api/memory", "?api_key_id=x", None, "did you mean apiKeyId?"),
        ("GET", "/v1/stats", "?wholly=1", None, "this route has no query parameters"),
        ("POST", "/v1/memories/search", "?user_id=z", {"query": "tea"}, "send user_id in the body"),
        ("POST", "/v1/memories", "", {"messages": "I like tea", "userid": "z"}, "did you mean user_id?"),
        ("PUT", "/v1/settings", "", {"user_id": "z", "values": {}}, "send user_id in the query"),
        ("PUT", "/v1/settings", "?user_id=z", {"settings": {}}, "this route takes values"),
        ("POST", "/memory/ingest", "", {"user_id": "z", "turns": []}, "give agent_id and conversation_id"),
        (
            "POST",
            "/memory/ingest",
            "",
            {"agent_id": "a", "conversation_id": "c", "turns": [{"role": "user", "content": "I like tea"}]},
            "this route takes user and assistant",
        ),
        (
            "POST",
            "/v1/ingest",
            "",
            {"user_id": "z", "turns": [{"role": "user", "content": "I like tea", "timestmp": "2026-03-02"}]},
            "did you mean timestamp?",
        ),
        (
            "POST",
            "/v1/ingest",
            "",
            {"user_id": "z", "turns": [{"content": "I like tea", "mood": "good"}]},
            "a turn has role, content, name, timestamp and run_id",
        ),
        ("POST", "/api/memory", "", {"content": "a", "key": "b", "expires": None}, "did you mean expiresAt?"),
        (
            "POST",
            "/insert",
            "",
            {"userId": "z", "vectors": [{"id": "v", "values": [1.0], "meta": {}}]},
            "did you mean metadata?",
        ),
        (
            "DELETE",
            "/v1/memories",
            "?user_id=z",
            {"filters": {"a": 1}},
            "leave out the body; the query parameters are agent_id",
        ),
    ],
)
def test_the_nearest_name_is_suggested(
    stocked: Stocked, method: str, path: str, query: str, body: Any, hint: str
) -> None:
    answer = ask(stocked, method, path, query, body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["hint"].startswith(hint)


def test_a_parameter_that_may_be_given_once_is_not_given_twice(stocked: Stocked) -> None:
    answer = stocked.world.client.delete("/v1/memories?user_id=alice&user_id=bob")
    assert answer.status_code == 400
    assert answer.json()["detail"] == "query.user_id: given more than once"
    assert stocked.world.client.get("/v1/memories?user_id=alice&layers=fact&layers=turn").status_code == 200


def test_a_body_that_names_nothing_is_no_mistake(stocked: Stocked) -> None:
    for body in ("", "{}", " {} ", "null"):
        assert stocked.world.client.request("GET", "/v1/me", content=body).status_code == 200
    for body in ("x", '{"a": 1}', "[1]", "0"):
        assert stocked.world.client.request("GET", "/v1/me", content=body).status_code == 400


def test_whoever_has_no_key_learns_nothing_about_names(stocked: Stocked) -> None:
    assert stocked.world.anonymous().get("/v1/memories?nonsense=1").status_code == 401


def test_a_secret_in_a_wrong_place_is_not_repeated(stocked: Stocked) -> None:
    key = stocked.world.client.headers["authorization"].removeprefix("Bearer ")
    assert key not in stocked.world.client.get(f"/v1/me?{key}=1").text


@pytest.mark.req("C-50", "C-28")
def test_entities_are_asked_for_in_the_body_or_in_the_query(stocked: Stocked) -> None:
    client = stocked.world.client
    by_query = client.post("/v1/entities?user_id=alice").json()["results"]
    by_body = client.post("/v1/entities", json={"user_id": "alice"}).json()["results"]
    assert by_query == by_body != []
    assert len(client.post("/v1/entities", json={"user_id": "alice", "limit": 1}).json()["results"]) == 1
    assert client.post("/v1/entities", json={"user_id": "nobody"}).json()["results"] == []
    both = client.post("/v1/entities?user_id=alice", json={"user_id": "bob"})
    assert both.status_code == 400
    assert both.json()["hint"] == "give one of them"


def test_the_dump_of_a_store_notices_a_change(stocked: Stocked) -> None:
    """What the tests above rely on."""
    before = dump(stocked.path)
    with sqlite3.connect(stocked.path) as connection:
        connection.execute("UPDATE agents SET name = 'other'")
    assert dump(stocked.path) != before


@pytest.mark.parametrize(
    ("messages", "detail"),
    [
        (5, "body.messages: must be text, an object or a list"),
        ([5], "body.messages.0: must be text or an object"),
        (["text", None], "body.messages.1: must be text or an object"),
    ],
)
def test_a_value_of_the_wrong_type_is_answered_with_the_right_ones(
    stocked: Stocked, messages: object, detail: str
) -> None:
    answer = stocked.world.client.post("/v1/memories", json={"messages": messages, "user_id": "alice"})
    assert (answer.status_code, answer.json()["detail"]) == (400, detail)
