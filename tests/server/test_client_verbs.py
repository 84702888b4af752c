"""Whatever is sent to a verb, the answer is an answer or a description of what is wrong: never a crash."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from memstone.core.checks.arguments import WORDS
from memstone.remote.routes import ROUTES
from memstone.server.rest.verb_forms import TYPES, call_parameters, form_of, verb_method
from tests.server.calls import call_verb
from tests.server.world import World

if TYPE_CHECKING:
    from starlette.testclient import TestClient

HASH = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}
NAMES = sorted(name for name, route in ROUTES.items() if route.made)
STRANGE: dict[str, list[Any]] = {
    "str": ["", " ", "\x00", "x" * 5_000, "ü🙂", "../../etc", "2026-13-40"],
    "int": [0, -1, 2**31, 2**63, 2**70],
    "float": [0.0, -1.5, 1e308],
    "bool": [True, False],
    "Mapping[str, Any]": [{}, {"": ""}, {"user_id": []}, {"a": {"b": [None]}}],
    "Filters": [{}, [], [[]], {"AND": []}, {"field": "x"}, {"NOT": {"OR": [1]}}],
    "When": ["", "yesterday", "0001-01-01", "9999-12-31T23:59:59-12:00"],
    "Sequence[str]": [[], [""], ["x"] * 2_000, ["\x00"]],
    "Sequence[float]": [[], [0.0], [1e308] * 3],
    "Sequence[Mapping[str, Any]]": [[], [{}], [{"messages": 7}], [{"id": "", "values": []}], [{"memory_id": "x"}]],
    "Iterable[Mapping[str, Any]]": [[], [{}], [{"type": "header"}], [{"id": "x", "messages": "y"}]],
    "ExportLines": [
        [],
        [{}],
        [{"type": "header"}],
        [{"type": "header", "format": "memstone-export", "version": 1}, {}],
    ],
    "MessagesInput": ["", [], {}, [{}], [{"role": "ghost", "content": "x"}], {"content": [{"type": "image_url"}]}],
    "TranscriptInput": ["", [], {}, [{}], [{"content": "x", "timestamp": "then"}], [{"content": "x", "run_id": []}]],
}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A caller who may do everything; one service will do, because nothing depends on what it holds."""
    with World.of(HASH) as world:
        yield world.client


def as_text(annotation: str) -> str:
    """An annotation with text in the place of one of a few words."""
    return re.sub(rf"\b(?:{'|'.join(WORDS)})\b", "str", annotation.removesuffix(" | None"))


def strange(annotation: str) -> list[Any]:
    plain = as_text(annotation)
    known = STRANGE.get(plain) or STRANGE.get(plain.split(" | ", maxsplit=1)[0])
    assert known is not None, annotation
    return known


def bodies(name: str) -> Iterator[dict[str, Any]]:
    """Bodies in which one argument is strange and those that are needed are not."""
    takes = call_parameters(verb_method(name))
    form, _ = form_of(name, verb_method(name), ROUTES[name])
    sample: dict[str, Any] = form.model_json_schema()["examples"][0]
    yield sample
    for one in takes:
        for value in strange(str(one.annotation)):
            yield {**sample, one.name: value}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_strange_argument_never_breaks_a_verb(client: TestClient, name: str) -> None:
    for body in bodies(name):
        answer = call_verb(client, name, body)
        assert answer.status_code < 500, (body, answer.text)
        if answer.status_code >= 400:
            reply = answer.json()
            assert reply["code"] not in ("internal", "memstone_error"), (body, reply)
            assert reply["detail"], body


@pytest.mark.parametrize("name", NAMES)
def test_what_a_verb_does_not_know_is_an_error(client: TestClient, name: str) -> None:
    sample = next(bodies(name))
    answer = call_verb(client, name, {**sample, "no_such_argument": 1})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert "no_such_argument" in answer.text


def test_types_are_not_guessed(client: TestClient) -> None:
    for body in ({"q": 7, "user_id": "a"}, {"user_id": True}, {"user_id": "a", "limit": "5"}):
        assert call_verb(client, "get_all", body).json()["code"] == "invalid_input"


def test_every_annotation_of_a_verb_has_a_form() -> None:
    found = {
        str(one.annotation).removesuffix(" | None") for name in NAMES for one in call_parameters(verb_method(name))
    }
    assert found <= set(TYPES)
    assert all(inspect.getdoc(verb_method(name)) for name in ROUTES)
