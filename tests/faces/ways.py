"""The ways to ask a memory: in this process, with a client, by plain REST, and by the tools of a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import httpx2

from memstone.errors import Conflict, MemstoneError
from tests.faces.harness import Face

if TYPE_CHECKING:
    from mcp import Client as McpClient

_SCOPE: Final = ("user_id", "agent_id", "run_id")
_LISTED: Final = frozenset({*_SCOPE, "limit", "offset", "page", "kind", "q", "status", "as_of", "layers"})


def classes(kind: type[MemstoneError] = MemstoneError) -> Iterator[type[MemstoneError]]:
    """Every class of error."""
    yield kind
    for narrower in kind.__subclasses__():
        yield from classes(narrower)


def raised(code: str, message: str, hint: str) -> MemstoneError:
    """The error with a code; each code has one class."""
    by_code = {kind.code: kind for kind in classes()}
    return by_code[code](message, hint=hint)


@dataclass(frozen=True)
class Told:
    """A context as JSON tells it, with the names of a ``ContextPack``."""

    text: str
    receipt_id: str
    citations: tuple[Any, ...]


@dataclass(frozen=True)
class Line:
    """A citation."""

    memory_id: str
    line: str
    turn_id: str | None = None
    date: str = ""
    memory: str = ""


def told(body: Mapping[str, Any]) -> Told:
    """A context from JSON."""
    return Told(body["text"], body["receipt_id"], tuple(Line(**one) for one in body["citations"]))


class RestGroup:
    """The verbs of a group, each a method of ``Rest``."""

    def __init__(self, rest: Rest, name: str) -> None:
        self._rest, self._name = rest, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rest, f"{self._name}_{name}")


class Rest(Face):
    """Plain HTTP, as the reference of the routes describes it."""

    def __init__(self, url: str, token: str) -> None:
        self._http = httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=120)

    def __getattr__(self, name: str) -> Any:
        if any(one.startswith(f"{name}_") for one in vars(type(self))):
            return RestGroup(self, name)
        raise AssertionError(f"{name} has no route here")

    def ask(self, method: str, path: str, *, missing: bool = False, **rest: Any) -> Any:
        """What a route answers; a problem is raised, or None where something may be missing."""
        response = self._http.request(method, path, **rest)
        if response.is_success:
            return response.json()
        assert response.headers["content-type"].startswith("application/problem+json")
        body = response.json()
        if missing and response.status_code == 404:
            return None
        assert (body["status"], body["detail"]) == (response.status_code, body["error"]["message"])
        raise raised(body["code"], body["detail"], body["hint"])

    async def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    async def add(self, messages: Any, **rest: Any) -> Any:
        """Learn from what was said."""
        return self.ask("POST", "/v1/memories/", json={"messages": messages, **rest})

    async def add_many(self, items: Any, idempotency_key: str | None = None) -> Any:
        """Learn from several at once."""
        return self._batch("POST", {"items": items}, idempotency_key)

    async def update_many(self, items: Any, idempotency_key: str | None = None) -> Any:
        """Change several at once."""
        return self._batch("PUT", {"items": items}, idempotency_key)

    async def delete_many(self, ids: Any, idempotency_key: str | None = None) -> Any:
        """Delete several at once."""
        return self._batch("DELETE", {"ids": ids}, idempotency_key)

    def _batch(self, method: str, body: Any, key: str | None) -> Any:
        return self.ask(method, "/v1/memories/batch", json=body, headers={"Idempotency-Key": key} if key else {})

    async def ingest(self, turns: Any, **rest: Any) -> Any:
        """Keep a transcript."""
        return self.ask("POST", "/v1/ingest", json={"turns": turns, **rest})

    async def search(self, query: str, **rest: Any) -> Any:
        """Find memories; simple questions fit into an address."""
        if set(rest) <= {*_SCOPE, "limit"}:
            return self.ask("GET", "/v1/memories/search/", params={"q": query, **rest})
        return self.ask("POST", "/v1/memories/search", json={"query": query, **rest})

    async def context(self, query: str, **rest: Any) -> Told:
        """What to put into a prompt."""
        return told(self.ask("POST", "/v1/context", json={"query": query, **rest}))

    async def profile_get(self, **rest: Any) -> Any:
        """What a model is always shown of a user."""
        return self.ask("GET", "/v1/profile", params=rest)

    async def profile_set_visibility(self, memory_id: str, visibility: str) -> Any:
        """Decide whether models are shown a memory."""
        return self.ask("PUT", f"/v1/memories/{quote(memory_id)}/visibility", json={"visibility": visibility})

    async def receipt(self, receipt_id: str) -> Any:
        """The account of a context."""
        return self.ask("GET", f"/v1/receipts/{receipt_id}", missing=True)

    async def get(self, memory_id: str) -> Any:
        """One memory."""
        return self.ask("GET", f"/v1/memories/{quote(memory_id)}/", missing=True)

    async def get_all(self, **rest: Any) -> Any:
        """What a scope sees."""
        assert set(rest) <= {*_LISTED, "show_expired", "counts"}
        return self.ask("GET", "/v1/memories/", params=rest)

    async def update(self, memory_id: str, text: str | None = None, **rest: Any) -> Any:
        """Change a memory."""
        body = {**({} if text is None else {"text": text}), **rest}
        return self.ask("PUT", f"/v1/memories/{memory_id}/", json=body)

    async def delete(self, memory_id: str) -> Any:
        """Delete a memory."""
        return self.ask("DELETE", f"/v1/memories/{memory_id}/")

    async def delete_all(self, **scope: Any) -> Any:
        """Delete everything of a scope."""
        return self.ask("DELETE", "/v1/memories/", params=scope)

    async def history(self, memory_id: str) -> Any:
        """Everything that happened to a memory."""
        return self.ask("GET", f"/v1/memories/{memory_id}/history/")["results"]

    async def graph_entities(self, **scope: Any) -> Any:
        """Whom memories speak of."""
        return self.ask("POST", "/v1/entities/", params=scope)

    async def graph_relations(self, **scope: Any) -> Any:
        """How they are related; over HTTP somebody is asked about by name."""
        return self.ask("GET", "/v1/entities/Anna/relations/", params=scope)

    async def reset(self) -> None:
        """Remove everything of the tenant."""
        self.ask("POST", "/v1/reset/", json={"confirm": self.ask("GET", "/v1/me")["tenant_id"]})

    async def undo(self, event_id: str) -> Any:
        """Take back a change."""
        return self.ask("POST", "/v1/console/undo", json={"event_id": event_id})

    async def sharing_share(self, memory_id: str, **whom: Any) -> Any:
        """Let somebody else hold a memory."""
        return self.ask("POST", f"/v1/console/memories/{memory_id}/share", json=whom)

    async def sharing_unshare(self, memory_id: str, **whom: Any) -> Any:
        """Take a memory from somebody."""
        return self.ask("POST", f"/v1/console/memories/{memory_id}/unshare", json=whom)

    async def review_disable(self, memory_id: str) -> Any:
        """Put a memory aside."""
        return self.ask("POST", f"/v1/console/memories/{memory_id}/disable")

    async def review_enable(self, memory_id: str) -> Any:
        """Recall it again."""
        return self.ask("POST", f"/v1/console/memories/{memory_id}/enable")

    async def identity_add_override(self, text: str, *, user_id: str) -> Any:
        """Keep something in mind for good."""
        return self.ask("POST", "/memory/identity/overrides", json={"text": text, "user_id": user_id})

    async def identity_remove_override(self, position: int, *, user_id: str) -> Any:
        """Delete an override."""
        return self.ask("DELETE", f"/memory/identity/overrides/{position}", params={"user_id": user_id})

    async def settings_pause(self, **scope: Any) -> Any:
        """No memory for a while."""
        return self.ask("POST", "/v1/pause", json=scope)

    async def settings_resume(self, **scope: Any) -> Any:
        """Go on."""
        return self.ask("DELETE", "/v1/pause", params=scope)

    async def settings_pauses(self, **scope: Any) -> Any:
        """The pauses that hold."""
        return self.ask("GET", "/v1/pause", params=scope)

    async def export(self, **scope: Any) -> list[dict[str, Any]]:
        """The lines of an export."""
        response = self._http.get("/v1/export", params=scope)
        return [json.loads(line) for line in response.text.splitlines()]

    async def load(self, records: list[dict[str, Any]]) -> Any:
        """Put an export back."""
        text = "\n".join(map(json.dumps, records))
        return self.ask("POST", "/v1/import", content=text, headers={"Content-Type": "application/x-ndjson"})


class Tools(Face):
    """The tools of a model, over either transport. ``prefix`` keeps the users of one scenario from another's."""

    def __init__(self, client: McpClient, prefix: str = "") -> None:
        self._client, self._prefix = client, prefix

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise AssertionError(f"{name} is no tool")

    async def use(self, tool: str, *, user_id: str, **arguments: Any) -> Any:
        """What a tool answers."""
        answer = await self._client.call_tool(tool, {**arguments, "user_id": self._prefix + user_id})
        body = answer.structured_content
        assert body is not None
        if answer.is_error:
            raise raised(body["error"]["code"], body["error"]["message"], body["error"]["hint"])
        return body["data"]

    async def add(self, messages: str, **rest: Any) -> Any:
        """``memory_add``, which says so when nothing comes of it."""
        try:
            changes = (await self.use("memory_add", content=messages, **rest))["changes"]
        except Conflict as error:
            if error.message.startswith("nothing was stored"):
                return {"results": []}
            raise
        return {"results": [{**one, "memory": one["content"]} for one in changes]}

    async def search(self, query: str, **rest: Any) -> Any:
        """``memory_search``."""
        found = (await self.use("memory_search", query=query, **rest))["memories"]
        return {"results": [{**one, "memory": one["content"]} for one in found]}

    async def delete_all(self, **scope: Any) -> Any:
        """``memory_clear``."""
        return {"deleted": (await self.use("memory_clear", confirm=True, **scope))["deletedCount"]}

    async def context(self, query: str, **rest: Any) -> Told:
        """``memory_context``."""
        body = await self.use("memory_context", query=query, **rest)
        return Told(body["text"], body["receipt_id"], ())
