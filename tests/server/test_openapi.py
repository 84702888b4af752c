from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]
import pytest
import schemathesis
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from memstone.server.console.reference import ABOUT
from memstone.server.description import FILES, GATEWAYS, MAIN, split_description
from memstone.server.schemas.base import WRONG
from memstone.server.summaries import SUMMARIES
from scripts import describe_service
from tests.server.conftest import CONFIG
from tests.server.world import World

ENDLESS: Final = frozenset({"/v1/events/stream"})
WITHOUT_KEY: Final = frozenset({"/healthz", "/readyz", "/v1/auth/login", "/v1/auth/refresh"})
# That somebody must be named, or that a date must be one, is not said by the schema: 400 tells it with a hint.
# Every request here shows a key, in the header that counts; that none is answered without one is a test of its own.
_BEYOND_THE_SCHEMA: Final = [positive_data_acceptance, ignored_auth]
IMPERATIVES: Final = frozenset(
    "Add Approve Build Cancel Change Check Choose Clean Compare Consolidate Count Create Delete Disable End Erase "
    "Exchange Explain Export Find Get Give Learn List Load Log Move Pause Preview Process Rebuild Record Reject Remove "
    "Replace Restore Retry Revoke Run Search Share Shorten Start Store Stream Suggest Take Test Undo Unshare Update "
    "Verify Write".split()
)
_HOST: Final = "http://testserver"


@schemathesis.serializer("application/x-ndjson")
def _lines(_: Any, value: Any) -> Any:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def stocked() -> Iterator[World]:
    """A service with something to find."""
    with World.of(CONFIG) as world:
        put_stock(world)
        yield world


def put_stock(world: World) -> None:
    texts = {"messages": "I live in Oslo. I like tea. My sister Anna lives in Rome.", "user_id": "alice"}
    world.client.post("/v1/memories", json={**texts, "agent_id": "helper", "run_id": "s1"})


def known(world: World) -> dict[str, str]:
    """What path parameters can stand for."""
    found = world.client.get("/v1/memories?user_id=alice").json()["results"]
    asked = {"query": "Where do I live?", "user_id": "alice"}
    receipt = world.client.post("/v1/context", json=asked).json()["receipt_id"]
    return {"memory_id": found[0]["id"] if found else "none", "receipt_id": receipt, "agent_id": "helper"}


def made_real(case: Any, world: World, names: dict[str, str]) -> None:
    """Let a request speak of what there is, so that more than 404 is answered."""
    for name in case.path_parameters or {}:
        case.path_parameters[name] = names.get(name, case.path_parameters[name])
    for part in (case.query, case.body):
        if isinstance(part, dict):
            part.update({name: "alice" for name in ("user_id",) if name in part})
            part.update({name: names["memory_id"] for name in ("memory_id",) if name in part})


def keys_of(world: World) -> list[str]:
    """What callers of every kind show: for everything, for whoever is named, for one user, one agent, its own pools."""
    kinds: list[dict[str, Any]] = [{"may_assert_user": True}, {"user_id": "alice"}, {"agent_id": "helper"}, {}]
    made = [world.as_key(**kind).headers["authorization"] for kind in kinds]
    return [*[world.client.headers["authorization"]] * len(made), *made]  # half of them reach everything


def answered(case: Any, world: World, key: str) -> Any:
    sent = case.as_transport_kwargs(base_url=_HOST)
    sent["headers"] = {**dict(sent["headers"]), "authorization": key}
    body = (
        {"content": sent["data"]} if sent.get("data") is not None else {"json": sent["json"]} if "json" in sent else {}
    )
    return world.client.request(sent["method"], sent["url"], headers=sent["headers"], params=sent.get("params"), **body)


def tried(world: World, operation: Any, keys: list[str], examples: int) -> str:
    """What is wrong with the answers of an operation; '' when nothing was found."""
    names = known(world)

    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), real=st.booleans(), key=st.sampled_from(keys))
    def ask(case: Any, *, real: bool, key: str) -> None:
        if real and case.meta.generation.mode == GenerationMode.POSITIVE:
            made_real(case, world, names)
        answer = answered(case, world, key)
        assert answer.status_code < 400 or answer.status_code in WRONG, "a status that the description does not name"
        case.validate_response(answer, excluded_checks=_BEYOND_THE_SCHEMA)

    try:
        ask()
    except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - all that is wrong is told at the end
        return f"{operation.label}: {error}"
    return ""


def wrong(world: World, examples: int) -> list[str]:
    described = schemathesis.openapi.from_dict(world.app.openapi())
    operations: list[Any] = [found.ok() for found in described.get_all_operations()]  # type: ignore[union-attr]
    assert len(operations) > 150
    keys = keys_of(world)
    return [text for one in operations if one.path not in ENDLESS and (text := tried(world, one, keys, examples))]


@pytest.mark.slow
def test_every_answer_is_as_described_and_nothing_breaks(stocked: World) -> None:
    found = wrong(stocked, 2)  # examples of each operation; they differ from run to run
    assert not found, "\n\n".join(found)


@pytest.mark.system
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("preset", ["facts", "gateway", "companion", "shared"])
def test_every_answer_is_as_described_whatever_is_asked(preset: str) -> None:
    with World.of({**CONFIG, "preset": preset, "server": {"rate": {"per_minute": 0}}}) as world:
        put_stock(world)
        found = wrong(world, 50)
    assert not found, "\n\n".join(found)


def test_every_operation_is_described_and_needs_a_key(stocked: World) -> None:
    described = stocked.app.openapi()
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            assert operation.get("description") or operation.get("summary"), (method, path)
            if path in WITHOUT_KEY | ENDLESS:
                continue
            answer = stocked.anonymous().request(method.upper(), path.replace("{", "").replace("}", ""))
            assert answer.status_code == 401, (method, path, answer.status_code)


def test_a_problem_is_described_once_and_referred_to_by_every_route(stocked: World) -> None:
    described = stocked.app.openapi()
    problem = described["components"]["responses"]["Problem"]
    assert problem["content"]["application/problem+json"]["schema"] == {"$ref": "#/components/schemas/Problem"}
    assert all(f"{status}: {text}" in problem["description"] for status, text in WRONG.items())
    assert "request_id" in described["components"]["schemas"]["Problem"]["properties"]
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            assert "422" not in operation["responses"], (method, path)
            if path not in WITHOUT_KEY:
                assert operation["responses"]["default"] == {"$ref": "#/components/responses/Problem"}, (method, path)


def test_the_description_has_no_titles_and_is_small(stocked: World) -> None:
    described = stocked.app.openapi()
    forms = described["components"]["schemas"]
    assert described["info"]["title"]
    assert forms["Problem"]["properties"]["title"] == {"type": "string"}, "a field of that name is none"
    assert not [name for name, form in forms.items() if "title" in form]
    assert [file.stat().st_size <= 200_000 for file in FILES.values()] == [True, True]


def test_every_operation_has_a_summary_in_plain_words(stocked: World) -> None:
    paths = stocked.app.openapi()["paths"]
    made = {f"{method.upper()} {path}": one for path, methods in paths.items() for method, one in methods.items()}
    summaries = {name: operation["summary"] for name, operation in made.items()}
    functions = {
        " ".join(word.capitalize() for word in route.name.split("_"))
        for route in stocked.app.routes
        if isinstance(route, APIRoute) and "_" in route.name
    }
    assert summaries == SUMMARIES, "a route has no summary in summaries.py, or a summary no route"
    assert not functions & set(summaries.values()), "the title of a function is no summary"
    assert len(set(summaries.values())) == len(summaries), "two operations have the same summary"
    assert len({one["operationId"] for one in made.values()}) == len(made)
    for name, summary in summaries.items():
        assert summary.split()[0].rstrip(",") in IMPERATIVES, (name, summary)
        assert len(summary) <= 60, (name, summary)
        assert len(made[name]["tags"]) == 1, name


def test_every_part_of_the_interface_is_introduced_in_the_reference(stocked: World) -> None:
    operations = [one for methods in stocked.app.openapi()["paths"].values() for one in methods.values()]
    assert {one["tags"][0] for one in operations} == set(ABOUT)


def test_the_description_that_is_sent_is_that_of_the_routes(stocked: World) -> None:
    parts = split_description(stocked.app.openapi())
    for name in FILES:
        first, second = (stocked.anonymous().get(name) for _ in range(2))
        assert first.json() == parts[name]
        assert first.content == second.content
        assert first.headers["content-type"] == "application/json"


def test_every_route_is_in_one_of_the_two_descriptions_with_all_it_refers_to(stocked: World) -> None:
    whole = stocked.app.openapi()
    parts = split_description(whole)
    assert {**parts[MAIN]["paths"], **parts[GATEWAYS]["paths"]} == whole["paths"]
    assert not set(parts[MAIN]["paths"]) & set(parts[GATEWAYS]["paths"])
    assert all(path.startswith("/api/") for path in parts[GATEWAYS]["paths"])
    for name, part in parts.items():
        text, kinds = json.dumps(part), ("schemas", "responses", "parameters")
        referred = set(re.findall(r'"#/components/(\w+)/([^"]+)"', text))
        assert referred == {(kind, one) for kind in kinds for one in part["components"][kind]}, name


def test_the_file_that_is_sent_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert describe_service.main(["--check"]) == 0, capsys.readouterr().out


def test_a_description_that_is_out_of_date_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describe_service, "FILES", {name: tmp_path / name[1:].replace("/", "_") for name in FILES})
    assert describe_service.main(["--check"]) == 1
    assert describe_service.main([]) == 0
    assert describe_service.main(["--check"]) == 0


def test_an_application_with_routes_of_its_own_describes_them() -> None:
    with World.of(CONFIG) as world:
        world.app.add_api_route("/weather", lambda: "sunny", methods=["GET"])
        paths = world.anonymous().get("/openapi.json").json()["paths"]
    assert {"/weather", "/v1/memories"} <= set(paths)


def forms(described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every body that can be sent, as its schema."""
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                schema = content["schema"]
                schema = next((one for one in schema.get("anyOf", ()) if one.get("type") != "null"), schema)
                if "$ref" in schema:
                    schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
                yield f"{method.upper()} {path}", schema


def test_every_body_has_an_example_that_fits(stocked: World) -> None:
    described = stocked.app.openapi()
    for operation, schema in forms(described):
        assert schema.get("examples"), f"{operation} shows nobody what to send"
        full = {**schema, "components": described["components"]}
        for example in schema["examples"]:
            jsonschema.Draft202012Validator(full).validate(example)


def test_the_description_says_how_a_key_is_shown_and_where_none_is_needed(stocked: World) -> None:
    described = stocked.app.openapi()
    assert set(described["components"]["securitySchemes"]) == {name for one in described["security"] for name in one}
    paths = {path: one for path, operations in described["paths"].items() for one in operations.values()}
    assert {path for path, one in paths.items() if one.get("security") == []} == WITHOUT_KEY
