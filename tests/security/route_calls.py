"""Requests made from the table of routes: every route, every method, every tool, aimed at somebody's memory.

A route that is added is asked by being there. What its parameters are called decides what they are filled with; a name
that nobody has seen fails the test, which says where to add it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from starlette.routing import Route

from memstone.server.mcp.tools import tools_by_name
from tests.security.asgi import Call
from tests.security.crowd import AGENT, VECTOR, Crowd, Pool
from tests.server.stock import list_parameters

Json: TypeAlias = dict[str, Any]
_OFTEN: Final = 0.4
_WAYS: Final = 3
"""By id and by name; by id alone; by name alone."""

MCP: Final = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
UNDESCRIBED: Final[dict[str, str]] = {
    "/mcp": "POST",
    "/mcp/sse": "GET",
    "/mcp/messages": "POST",
}
"""Routes that are in no description, and their method: each has to be known here."""

_FILE: Final = b'[{"memory": "User likes the harbour.", "user_id": "alice"}]'
_EXPORT: Final = b'{"type": "header", "format": "memstone-export", "version": 1}\n'


@dataclass(frozen=True)
class Aim:
    """Whose memory a request is aimed at, and in which of the ways."""

    crowd: Crowd
    pool: Pool
    way: int
    dice: random.Random

    @property
    def user(self) -> str:
        """What could be given as a user: how they are called, under what it is stored, or the key it belongs to."""
        pool = self.pool
        names = [pool.name or pool.user, pool.user, pool.key_id] if pool.user else [AGENT]
        return self.dice.choice([one for one in names if one])

    def named(self, name: str) -> str:
        """Something by which the memory could be asked for; in the last way nothing by its id."""
        return self.pool.names.get(name) or "00000000-0000-4000-8000-000000000000"

    @property
    def names_users(self) -> bool:
        """Whether users are named where they need not be."""
        return self.way != 1


def _user(aim: Aim, _: Json) -> Any:
    return aim.user


def _said(aim: Aim, schema: Json) -> Any:
    message = {"role": "user", "content": "I like the harbour."}
    return [message] if _kind(schema) == "array" else aim.dice.choice(["I like the harbour.", [message]])


def _values(aim: Aim, schema: Json) -> Any:
    return {"object": {"context.budget": 300}, "array": VECTOR, "boolean": True}[_kind(schema)]


def _filters(aim: Aim, _: Json) -> Any:
    choices: list[Any] = [{"place": "harbour"}, {"user_id": {"eq": aim.user}}, {"memory.status": {"ne": "x"}}]
    return aim.dice.choice(choices)


def _confirm(aim: Aim, _: Json) -> Any:
    return aim.dice.choice([aim.pool.tenant, aim.pool.user or AGENT, aim.pool.name or AGENT, aim.pool.key_id or AGENT])


def _kind(schema: Json) -> str:
    kinds = [one.get("type") for one in [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]]
    return next((one for one in kinds if one not in (None, "null")), "object")


def _fixed(value: Any) -> Fill:
    return lambda _, __: value


Fill: TypeAlias = Callable[[Aim, Json], Any]
_NUMBER: Final = _fixed(1)
_OFF, _ON = _fixed(value=False), _fixed(value=True)

FILLED: Final[dict[str, Fill]] = {
    # who
    **dict.fromkeys(["user_id", "userId", "apiKeyId", "user", "from_user"], _user),
    "agent_id": lambda aim, _: aim.pool.agent or AGENT,
    **dict.fromkeys(["run_id", "sessionId", "session_id", "conversation_id"], lambda aim, _: aim.named("run_id")),
    "project_id": _fixed("apollo"),
    "tenant_id": lambda aim, _: aim.pool.tenant,
    "confirm": _confirm,
    # what, by its id
    **dict.fromkeys(["memory_id", "memoryId"], lambda aim, _: aim.named("memory_id")),
    "id": lambda aim, _: aim.named("memory_id"),
    "ids": lambda aim, _: [aim.named("memory_id"), aim.named("gone_id"), aim.named("vector_id")],
    **dict.fromkeys(["vectorId", "vector_id"], lambda aim, _: aim.named("vector_id")),
    "receipt_id": lambda aim, _: aim.named("receipt_id"),
    "event_id": lambda aim, _: aim.named("event_id"),
    "job_id": lambda aim, _: aim.named("job_id"),
    "key_id": lambda aim, _: aim.crowd.key_ids[f"spare of {aim.pool.tenant}"],
    **dict.fromkeys(["account", "account_id"], lambda aim, _: aim.crowd.about[aim.pool.tenant]["account"]),
    "login": lambda aim, _: aim.crowd.about[aim.pool.tenant]["login"],
    # words
    **dict.fromkeys(["q", "query", "text", "content", "answer", "reason", "note", "prompt"], _fixed("harbour")),
    **dict.fromkeys(["texts"], _fixed(["I like the harbour"])),
    "messages": _said,
    "turns": _fixed([{"role": "user", "content": "I like the harbour"}]),
    "vectors": lambda aim, _: [{"id": aim.named("vector_id"), "values": VECTOR, "metadata": {"content": "harbour"}}],
    "assistant": _fixed("I see"),
    "input": _fixed("I like the harbour"),
    "use_case": _fixed("a support desk of a harbour"),
    "system_prompt": _fixed("You are kind"),
    "name": _fixed("harbour"),
    "key": _fixed("place:harbour"),
    "new": _fixed("another sentence of mine"),
    **dict.fromkeys(["password", "current"], _fixed("a sentence that is wrong")),
    "refresh_token": _fixed("rr_eA.a.b.c"),
    "idempotency_key": lambda aim, _: f"fuzz-{aim.dice.random()}",
    "Idempotency-Key": lambda aim, _: f"fuzz-{aim.dice.random()}",
    "metadata": lambda _, schema: True if _kind(schema) == "boolean" else {"place": "harbour"},
    "filters": _filters,
    # how
    "values": _values,
    "vector": _fixed(VECTOR),
    "names": lambda _, schema: ["context.budget"] if _kind(schema) == "array" else "native",
    "settings": _fixed({"context.budget": 300}),
    "verbs": _fixed(["read"]),
    "role": _fixed("viewer"),
    "act": _fixed("disable"),
    "layers": _fixed(["fact", "turn", "episode", "identity"]),
    "statuses": _fixed(["active", "deleted", "quarantined"]),
    "status": _fixed("active"),
    "visibility": _fixed("hidden"),
    "tokens": _fixed(800),
    "kind": lambda aim, schema: _chosen(aim, schema) or "factual",
    "type": lambda aim, schema: _chosen(aim, schema) or "factual",
    "scope": lambda aim, schema: _chosen(aim, schema) or "owner",
    "strategy": lambda aim, schema: _chosen(aim, schema) or "hybrid",
    "gate": _fixed("always"),
    "task": _fixed("facts"),
    "source": _fixed("user"),
    "format": _fixed("auto"),
    "as_of": _fixed("2030-01-01"),
    **dict.fromkeys(["since", "older_than", "olderThan"], _fixed("2020-01-01")),
    **dict.fromkeys(["until", "expires_at", "expiresAt"], _fixed("2099-01-01T00:00:00Z")),
    **dict.fromkeys(["occurred_at", "session_date", "date"], _fixed("2026-01-02T03:04:05Z")),
    **dict.fromkeys(["limit", "top_k", "topK", "olderThanDays", "older_than_days", "maxTokens", "max_tokens"], _NUMBER),
    **dict.fromkeys(["page", "version"], _NUMBER),
    **dict.fromkeys(["offset", "after", "position", "min_score", "threshold", "Last-Event-ID"], _fixed(0)),
    "budget": _fixed(500),
    "grace_seconds": _fixed(60),
    "retentionDays": _fixed(30),
    **dict.fromkeys(["everybody", "counts", "explain", "show_expired"], _ON),
    **dict.fromkeys(["returnValues", "returnMetadata", "useful"], _ON),
    **dict.fromkeys(["infer", "strict", "keep_turns", "stream", "learn", "grace", "enabled", "skip_extraction"], _OFF),
    **dict.fromkeys(["dry_run", "dryRun", "disabled", "everywhere", "force", "trusted", "may_assert_user"], _OFF),
    # backends of the whole service
    **dict.fromkeys(["rerankEnabled", "skillsEnabled", "staticEnabled", "transformersEnabled"], _OFF),
    **dict.fromkeys(["embeddingProviderModel", "rerankProviderModel", "primaryBackend"], _fixed(None)),
    "embeddingSource": _fixed("auto"),
    "vectorStore": _fixed("auto"),
    "backendConfigs": _fixed({}),
    "fallbackBackends": _fixed([]),
    "host": _fixed("127.0.0.1"),
    "newest_first": _fixed("true"),
    "port": _fixed(6333),
    "apiKey": _fixed("abc"),
    "collection": _fixed("harbour"),
    "embeddingModel": _fixed("openai/text-embedding-3-small"),
    "model": _fixed("m"),
    "beta": _fixed("true"),
    "report": _fixed({"format": "memstone-erasure", "version": 1, "subject": {"user_id": "alice"}}),
    "from_scope": lambda aim, _: {"user_id": aim.pool.user or aim.pool.name or "x"},
    "to_scope": _fixed({"user_id": "mallory"}),
    "records": _fixed([{"type": "header", "format": "memstone-export", "version": 1}]),
}
"""What a parameter is filled with, by its name. ``items`` and ``conversations`` are made of their parts."""

_MADE_OF_PARTS: Final = frozenset({"items", "conversations"})
_SPECIAL: Final[dict[tuple[str, str], Fill]] = {
    ("GET /v1/entities/{name}/relations", "name"): lambda aim, _: aim.named("entity"),
    ("POST /v1/admin/graph", "repair"): _ON,
    ("POST /memory/ingest", "turns"): _fixed([{"user": "I like the harbour", "assistant": "I see"}]),
    ("POST /v1/console/memories/{memory_id}/approve", "memory_id"): lambda aim, _: aim.named("quarantined_id"),
    ("POST /v1/console/memories/{memory_id}/reject", "memory_id"): lambda aim, _: aim.named("quarantined_id"),
    ("GET /v1/console/jobs/{job_id}", "job_id"): lambda aim, _: aim.crowd.about[aim.pool.tenant]["work_id"],
    ("POST /v1/console/jobs/{job_id}/cancel", "job_id"): lambda aim, _: aim.crowd.about[aim.pool.tenant]["work_id"],
    ("POST /v1/accounts", "login"): lambda aim, _: f"new{aim.dice.random()}@example.org",
}
"""Where a name means something else, or has to mean something that fits."""

_NAMING: Final = frozenset({"user_id", "userId", "apiKeyId", "agent_id", "run_id", "sessionId", "session_id", "user"})


def _chosen(aim: Aim, schema: Json) -> Any:
    """One of the values that a schema lists."""
    listed = [value for one in (schema, *schema.get("anyOf", ())) for value in one.get("enum", ())]
    return aim.dice.choice(listed) if listed else None


@dataclass(frozen=True)
class Operation:
    """One way to ask the service for something."""

    title: str
    make: Callable[[Aim], Call]

    def calls(self, crowd: Crowd, pool: Pool, dice: random.Random) -> Iterator[Call]:
        """Requests for somebody's memory, in each way it can be asked for."""
        for way in range(_WAYS):
            yield self.make(Aim(crowd, pool, way, dice))


def operations(app: Any) -> list[Operation]:
    """Everything that a service can be asked for; an error names what nobody has said how to ask for."""
    described = app.openapi()
    made = [
        Operation(f"{method.upper()} {path}", _Described(described, path, method, operation).call)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    made += [Operation(f"tool {name}", _Tool(name, spec.schema).call) for name, spec in tools_by_name().items()]
    return [*made, *_hidden(app, {one.title for one in made})]


def _hidden(app: Any, known: set[str]) -> Iterator[Operation]:
    """Routes that are not described: each is asked like the one it stands for, or plainly."""
    for route in app.routes:
        assert isinstance(route, Route), f"tell tests/security/route_calls.py how to ask {route}"
        if (
            route.name == "console"
        ):  # pages for sessions, not keys: tests/console/test_refusals.py asks every one of them
            continue
        for method in sorted(route.methods or {UNDESCRIBED.get(route.path, "")}):
            path = re.sub(r"{(\w+):\w+}", r"{\1}", route.path)
            if f"{method} {path}" in known:
                continue
            title = f"{method} {path}"
            same = method == "HEAD" or path in {"/chat/completions", "/openapi.json", "/api/openapi.json"}
            assert same or UNDESCRIBED.get(path) == method, f"tell tests/security/route_calls.py how to ask {title}"
            yield Operation(title, _plain(method, path))


def _plain(method: str, path: str) -> Callable[[Aim], Call]:
    def call(aim: Aim) -> Call:
        chat = {"model": "m", "messages": [{"role": "user", "content": "What about the harbour?"}], "user": aim.user}
        body = {"/chat/completions": chat, "/mcp": _rpc("tools/list", {}), "/mcp/messages": _rpc("tools/list", {})}
        query = {"session_id": "0" * 32} if path == "/mcp/messages" else {}
        return Call(method, path, query, MCP if path.startswith("/mcp") else {}, body.get(path))

    return call


def _rpc(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@dataclass(frozen=True)
class _Tool:
    name: str
    schema: Json

    def call(self, aim: Aim) -> Call:
        value = _object(self.schema, aim, {}, self.name)
        params = {"name": self.name, "arguments": value}
        return Call("POST", "/mcp", {}, MCP, _rpc("tools/call", params))


@dataclass(frozen=True)
class _Described:
    """An operation as the description tells it."""

    described: Json
    path: str
    method: str
    operation: Json

    def call(self, aim: Aim) -> Call:
        path, query, headers = self.path, dict[str, Any](), dict[str, str]()
        for one in list_parameters(self.described, self.operation):
            if not (one.get("required") or _wanted(one["name"], aim)):
                continue
            value = _filled(one["name"], one["schema"], aim, self._title)
            if one["in"] == "path":
                path = path.replace(f"{{{one['name']}}}", str(value))
            elif one["in"] == "query":
                query[one["name"]] = _text(value)
            else:
                headers[one["name"]] = str(value)
        return Call(self.method.upper(), path, query, {**headers, **self._type}, self._body(aim))

    @property
    def _title(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def _content(self) -> Json:
        content: Json = self.operation.get("requestBody", {}).get("content", {})
        return content

    @property
    def _type(self) -> dict[str, str]:
        return {"content-type": next(iter(self._content))} if self._content else {}

    def _body(self, aim: Aim) -> Any:
        content = self._content
        if not content:
            return None
        if "application/json" not in content:
            return _EXPORT if "application/x-ndjson" in content else _FILE
        parts = self.described["components"]["schemas"]
        return _object(content["application/json"]["schema"], aim, parts, self._title)


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _wanted(name: str, aim: Aim) -> bool:
    """Whether something that may be left out is given: names in two of the ways, other things now and then."""
    return aim.names_users if name in _NAMING else aim.dice.random() < _OFTEN


def _object(schema: Json, aim: Aim, parts: Mapping[str, Json], title: str) -> Any:
    """A body by its schema: what it needs, and some of what it may have."""
    full = _resolved(schema, parts)
    needed = set(full.get("required", ()))
    made = {}
    for name, about in full.get("properties", {}).items():
        if name in needed or _wanted(name, aim):
            made[name] = _filled(name, _resolved(about, parts), aim, title, parts)
    return made


def _filled(name: str, schema: Json, aim: Aim, title: str, parts: Mapping[str, Json] | None = None) -> Any:
    if name in _MADE_OF_PARTS:
        item = next(one for one in [schema, *schema.get("anyOf", ())] if "items" in one)["items"]
        made = _object(item, aim, parts or {}, title)
        return [made or {"messages": "I like the harbour", "user_id": aim.user, "infer": False}]
    fill = _SPECIAL.get((title, name)) or FILLED.get(name)
    assert fill is not None, f"say in tests/security/route_calls.py what {name!r} of {title} is filled with"
    return fill(aim, schema)


def _resolved(schema: Json, parts: Mapping[str, Json]) -> Json:
    """A schema without references; of several forms the first that is an object or a list."""
    while "$ref" in schema:
        schema = parts[schema["$ref"].rsplit("/", 1)[-1]]
    forms = [_resolved(one, parts) for one in schema.get("anyOf", ()) if "$ref" in one]
    return forms[0] if forms else schema


def shown(call: Call) -> str:
    """A request as a person would type it in, for an error."""
    body = json.dumps(call.body, default=str)[:500]
    return f"{call.method} {call.path} {dict(call.query)} {dict(call.headers)} {body}"
