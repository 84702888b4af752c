"""What the description says of answers is true: the fields, their types, and which of them may be null."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]
import pytest

from memstone.remote.routes import ROUTES
from scripts import rest_walk
from tests.server.calls import call_verb, operation_of
from tests.server.conftest import CONFIG
from tests.server.world import World

JSON: Final = "application/json"
_REF: Final = "#/components/schemas/"
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")

FREE: Final = frozenset(
    {
        "AgentItem.settings",
        "BackfillItem.run_id",
        "InstructionSuggestion.example_settings",
        "JobItem.details",
        "MemorySettings.backendConfigs",
        "ServiceConfiguration.configuration",
        "SettingsChange.set",
        "SettingsReport.effective",
        "SettingsReport.settings",
    }
)
"""What may hold anything, besides metadata: names of settings, what each task tells in its own way."""

VENDORS: Final = frozenset(
    {
        "POST /agents/{agent_id}/run",
        "POST /v1/chat/completions",
        "POST /v1/embeddings",
        "POST /v1/messages",
        "POST /v1/messages/count_tokens",
        "POST /v1/responses",
    }
)
"""What a model answers is described by whoever makes it."""

OPEN: Final = frozenset({"UpstreamModel", "VersionState"})
"""Forms of which only a part is ours to describe, or worth it."""


@dataclass
class Described:
    """The description of a service, to hold answers against."""

    document: dict[str, Any]
    validators: dict[str, Any] = field(default_factory=dict)

    def schema(self, operation: str) -> dict[str, Any] | None:
        """What an operation answers when all is well; None where that is no JSON."""
        method, path = operation.split(" ")
        answers: dict[str, Any] = self.document["paths"][path][method.lower()]["responses"]
        (well,) = (answer for status, answer in answers.items() if status.startswith("2"))
        shared = well.get("$ref", "").removeprefix("#/components/responses/")
        content: dict[str, Any] = (self.document["components"]["responses"][shared] if shared else well)["content"]
        return content[JSON]["schema"] if JSON in content else None

    def form(self, schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """What a schema refers to, with its name."""
        name = schema.get("$ref", "").removeprefix(_REF)
        found = self.document["components"]["schemas"][name] if name else schema
        if "allOf" not in found:
            return name, found
        parts = [self.form(part)[1] for part in found["allOf"]]
        return name, {**found, "properties": {key: one for part in parts for key, one in part["properties"].items()}}

    def wrong(self, operation: str, answer: Any) -> list[str]:
        """What an answer has that is not as described; what is there and not named is wrong, too."""
        schema = self.schema(operation)
        if schema is None or operation in VENDORS:
            return []
        errors = [f"{one.json_path}: {one.message[:300]}" for one in self._validator(operation).iter_errors(answer)]
        return [f"{operation} {one}" for one in (*errors, *self._unnamed(schema, answer, "$"))]

    def fits(self, schema: dict[str, Any], value: Any) -> bool:
        """Whether a value is of a form."""
        full = {**schema, "components": self.document["components"]}
        return bool(jsonschema.Draft202012Validator(full).is_valid(value))

    def _validator(self, operation: str) -> Any:
        if operation not in self.validators:
            full = {**(self.schema(operation) or {}), "components": self.document["components"]}
            self.validators[operation] = jsonschema.Draft202012Validator(full)
        return self.validators[operation]

    def _unnamed(self, schema: dict[str, Any], value: Any, place: str) -> Iterator[str]:
        """Fields that an answer has and no form names; of several forms one that fits must name all of them."""
        if "anyOf" in schema:
            fitting = [one for one in schema["anyOf"] if self.fits(one, value)]
            found = [list(self._unnamed(one, value, place)) for one in fitting]
            yield from min(found, key=len, default=[])
            return
        name, form = self.form(schema)
        if isinstance(value, list):
            for at, one in enumerate(value):
                yield from self._unnamed(form.get("items", {}), one, f"{place}[{at}]")
        elif isinstance(value, dict) and (named := form.get("properties")):
            for key, one in value.items():
                if key in named:
                    yield from self._unnamed(named[key], one, f"{place}.{key}")
                elif name not in OPEN:
                    yield f"{place}.{key} is not described in {name}"
        elif isinstance(value, dict) and isinstance(form.get("additionalProperties"), dict):
            for key, one in value.items():
                yield from self._unnamed(form["additionalProperties"], one, f"{place}.{key}")


@pytest.fixture(scope="module")
def asked() -> Iterator[World]:
    with World.of(CONFIG) as world:
        yield world


@pytest.fixture(scope="module")
def described(asked: World) -> Described:
    return Described(asked.app.openapi())


# --- what is described ------------------------------------------------------------------------------------------------


def anything(described: Described, schema: dict[str, Any], place: str, seen: set[str]) -> Iterator[str]:
    """The places at which a form says no more than "an object", or nothing at all."""
    name, form = described.form(schema)
    if name in seen:
        return
    seen |= {name} - {""}
    here = name or place
    inner = [(f"{here}.{key}", one) for key, one in form.get("properties", {}).items()]
    inner += [(here, form[key]) for key in ("items", "additionalProperties") if isinstance(form.get(key), dict)]
    inner += [(here, one) for one in form.get("anyOf", ())]
    if not inner and form.get("type", "object") == "object" and not {"const", "enum"} & set(form):
        yield here
    for where, one in inner:
        yield from anything(described, one, where, seen)


def test_no_answer_is_described_as_just_any_object(described: Described) -> None:
    seen: set[str] = set()
    found: set[str] = set()
    for operation in rest_walk.operations(described.document["paths"]) - VENDORS:
        schema = described.schema(operation)
        found.update(anything(described, schema, operation, seen) if schema is not None else ())
    assert {one for one in found if not one.endswith(".metadata")} == FREE


def test_every_form_is_referred_to_by_its_own_name_and_means_something(described: Described) -> None:
    schemas = described.document["components"]["schemas"]
    referred = set(re.findall(rf'"{_REF}(\w+)"', json.dumps(described.document)))
    assert referred == set(schemas)  # two forms of one name would have got longer ones
    assert not [name for name in schemas if "__" in name or not schemas[name].get("description")]


def test_the_forms_are_not_loaded_before_somebody_asks_for_the_description() -> None:
    script = (
        "import sys; from memstone.server.app import create_app; "
        f"app = create_app({CONFIG!r}); "
        "forms = {'memstone.results', 'memstone.server.schemas.answers'}; "
        "early = forms & set(sys.modules); "
        "app.openapi(); "
        "print(sorted(early), forms <= set(sys.modules))"
    )
    ended = subprocess.run(  # noqa: S603 - a command of our own
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    assert ended.stdout.strip() == "[] True"


# --- what is answered -------------------------------------------------------------------------------------------------


@dataclass
class Listener(rest_walk.Walker):
    """Somebody who walks a page, and keeps what was answered."""

    heard: list[tuple[str, str]] = field(default_factory=list)

    def _typed(self, command: str) -> str:
        answer = super()._typed(command)
        written = re.search(r" -o (\S+)", command)
        self.heard.append((command, (self.place / written[1]).read_text("utf-8") if written else answer))
        return answer


@needs_curl
@pytest.mark.slow
@pytest.mark.parametrize("page", rest_walk.pages(), ids=lambda page: page.stem)
def test_every_route_answers_as_described(described: Described, page: Path) -> None:
    with rest_walk.service() as walker:
        listener = Listener(walker.place, walker.clock, walker.names)
        listener.page(page.read_text("utf-8"))
    wrong = list[str]()
    for command, answer in listener.heard:
        operation = rest_walk.operation_of(command, described.document["paths"])
        if operation and not command.endswith("# refused") and described.schema(operation) is not None:
            wrong += described.wrong(operation, json.loads(answer) if operation not in VENDORS else None)
    assert not wrong, "\n".join(wrong)


SAID: Final = {"role": "user", "content": "I like tea"}
SECRET: Final = {"role": "user", "content": "My key is sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}
CALLS: Final[list[tuple[str, Any]]] = [
    ("POST /v1/memories", {"messages": "I live in Oslo. My sister Anna lives in Rome.", "user_id": "al"}),
    ("POST /v1/memories", {"messages": "I live in Oslo.", "user_id": "al"}),
    ("POST /v1/memories", {"messages": "I moved to Bergen.", "user_id": "al", "key": "home", "infer": False}),
    ("POST /v1/memories/batch", {"items": [{"messages": "I like tea", "user_id": "al"}, {"messages": ""}, {}]}),
    ("PUT /v1/memories/batch", {"items": [{"memory_id": "nobody", "text": "x"}, {"memory_id": "$ID", "text": "Hi"}]}),
    ("POST /v1/memories/search", {"query": "Where does Anna live?", "user_id": "al", "explain": True}),
    ("search", {"query": "tea", "user_id": "al", "layers": ["fact", "turn"]}),
    ("get_all", {"user_id": "al", "counts": True, "layers": ["fact", "turn"]}),
    ("get", {"memory_id": "nobody"}),
    ("agents.get", {"agent_id": "nobody"}),
    ("receipt", {"receipt_id": "nobody"}),
    ("review.list", {"q": "Oslo", "user_id": "al"}),
    ("review.list", {"everybody": True}),
    ("review.disable", {"memory_id": "$ID"}),
    ("review.disable", {"memory_id": "$ID"}),
    ("review.enable", {"memory_id": "$ID", "reason": "it is true"}),
    ("sharing.share", {"memory_id": "$ID", "user_id": "bo"}),
    ("sharing.share", {"memory_id": "$ID", "user_id": "bo"}),
    ("sharing.replace", {"memory_id": "$ID", "text": "Bo has moved", "user_id": "bo"}),
    ("review.replacements", {"user_id": "bo"}),
    ("ingest", {"turns": [SECRET, {"role": "tool", "content": "1"}], "user_id": "al"}),
    ("sessions.backfill", {"conversations": [{"id": "c1", "messages": [SAID]}, {"id": 7}], "user_id": "al"}),
    ("sessions.transcript", {"user_id": "al"}),
    ("sessions.end", {"user_id": "al"}),
    ("admin.dashboard", {"everybody": True}),
    ("admin.dashboard", {"agent_id": "nobody"}),
    ("admin.dashboard", {"user_id": "al"}),
    ("settings.get", {"names": "gateway"}),
    ("settings.pause", {"user_id": "al"}),
    ("settings.pauses", {"everybody": True}),
    ("POST /v1/memories", {"messages": "I like coffee", "user_id": "al"}),
    ("ingest", {"turns": "I like coffee", "user_id": "al"}),
    ("sessions.ingest", {"turns": [{"user": "I like coffee", "assistant": "Oh"}], "user_id": "al"}),
    ("vectors.insert", {"vectors": [{"id": "v1", "values": [0.5, 0.5]}], "user_id": "al"}),
    ("settings.resume", {"user_id": "al"}),
    ("settings.resume", {"user_id": "al"}),
    ("admin.consolidate", {"everybody": True, "dry_run": True}),
    ("admin.consolidate", {"everybody": True}),
    ("review.rollback", {"since": "2020-01-01", "everybody": True, "dry_run": True}),
    ("admin.redact", {"dry_run": True}),
    ("context", {"query": "Where does my sister live?", "user_id": "al"}),
    ("review.events", {"everybody": True}),
    ("admin.jobs", {"everybody": True}),
    ("history", {"memory_id": "$ID"}),
    ("delete_many", {"ids": ["$ID", "nobody"]}),
    ("review.restore", {"memory_id": "$ID"}),
    ("admin.erase", {"memory_id": "$ID"}),
    ("admin.erase", {"user_id": "al"}),
    ("admin.health", {}),
    ("stats", {}),
    ("admin.check", {}),
]
"""What the pages do not show: the same twice, what is not there, what is wrong, what is paused."""


def test_answers_to_what_is_odd_are_as_described() -> None:
    with World.of(CONFIG) as world:
        described = Described(world.app.openapi())
        stored = call_verb(world.client, "add", {"messages": "Bo is here", "user_id": "al", "infer": False})
        current, wrong = stored.json()["results"][0]["id"], list[str]()
        for asked, body in CALLS:
            value = json.loads(json.dumps(body).replace("$ID", current))
            operation = operation_of(asked) if asked in ROUTES else asked
            if asked in ROUTES:
                answer = call_verb(world.client, asked, value)
            else:
                answer = world.client.request(*operation.split(" "), json=value)
            if answer.status_code == 404 and "nobody" in str(value):
                continue
            assert answer.status_code == 200, (operation, answer.text)
            wrong += described.wrong(operation, answer.json())
    assert not wrong, "\n".join(wrong)


def test_an_answer_is_sent_as_it_is_whatever_is_described(asked: World, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"memories": "many", "more": [None, 1.5]}

    async def other(_: Any) -> Any:
        return values

    monkeypatch.setattr("memstone.api.aio.verbs.AsyncMemoryVerbs.stats", other)
    assert asked.client.get("/v1/stats").json() == values


def test_a_service_answers_with_objects_also_where_the_library_gives_bare_lists() -> None:
    with World.of({**CONFIG, "version": "v1.0"}) as world:
        described = Described(world.app.openapi())
        reply = {"messages": "I live in Oslo", "user_id": "al"}
        asked = {"add": reply, "get_all": {"user_id": "al"}, "search": {"query": "Oslo", "user_id": "al"}}
        for verb, body in asked.items():
            answer = call_verb(world.client, verb, body)
            assert answer.status_code == 200
            assert [one["memory"] for one in answer.json()["results"]][:1] == ["User lives in Oslo."]
            assert not described.wrong(operation_of(verb), answer.json())


def test_what_is_wrong_with_an_answer_is_noticed(described: Described) -> None:
    """The checks above can fail."""
    good: dict[str, Any] = {
        "id": "1",
        "name": "",
        "model": None,
        "system_prompt": None,
        "settings": {},
        "memory_entry_count": 1,
    }
    more = {
        "paused": False,
        "memory_counts": {"fact": 1},
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    }
    assert described.wrong("GET /agents/{agent_id}", {**good, **more}) == []
    (missing,) = described.wrong("POST /v1/memories/delete", {})
    assert "'deleted' is a required property" in missing
    (unnamed,) = described.wrong("GET /agents", {"agents": [{**good, **more, "age": 3}], "total": 1})
    assert "$.agents[0].age is not described in AgentItem" in unnamed


@pytest.mark.req("C-1")
def test_only_what_a_search_found_has_a_score(world: World) -> None:
    texts = {"messages": "I like tea", "user_id": "alice", "infer": False}
    memory_id = world.client.post("/v1/memories", json=texts).json()["results"][0]["id"]
    found = world.client.get("/v1/memories/search", params={"q": "tea", "user_id": "alice"}).json()["results"]
    assert [isinstance(one["score"], float) for one in found] == [True]
    listed = world.client.get("/v1/memories", params={"user_id": "alice"}).json()["results"]
    one = world.client.get(f"/v1/memories/{memory_id}").json()
    changed = world.client.put(f"/v1/memories/{memory_id}", json={"text": "I like coffee"}).json()
    seen = world.client.post("/v1/console/search", json={"user_id": "alice"}).json()["results"]
    assert not any("score" in item for item in (*listed, one, changed, *seen))
