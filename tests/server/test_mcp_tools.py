"""Every tool, by what its schema says: what it refuses, what it promises, and where it looks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]
import pytest

from memstone import AsyncMemory
from memstone.model.access import Verb
from memstone.results import StoreStats
from memstone.server.mcp.server import keyed_server, local_server
from memstone.server.mcp.spec import ToolSpec, ToolUse, call_tool
from memstone.server.mcp.tools import tools_by_name
from tests.server.world import World

PLAIN: Final[dict[str, Any]] = {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}
BUILT_IN: Final[dict[str, Any]] = {"store": {"url": "memory:"}}
TOOLS: Final = tools_by_name()
GATEWAY: Final = ("apiKeyId", "type", "maxTokens", "sessionId", "olderThan", "limit", "metadata", "key", "content")
ODD: Final = [7, 0, -1, 1.5, 10**12, True, [], ["x"], {}, {"a": 1}, "text", "", " ", "x" * 60_000]
VALID: Final[dict[str, Any]] = {"query": "tea", "content": "likes tea", "scope": "pinned", "id": "some-id"}


class Tools:
    """The tools over one memory, for alice unless a call names somebody else."""

    def __init__(self, memory: AsyncMemory) -> None:
        self.memory = memory

    async def answer(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers."""
        answer = await call_tool(TOOLS[tool], ToolUse(self.memory, arguments, "alice"))
        jsonschema.validate(answer, TOOLS[tool].output_schema)
        return answer

    async def data(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The same, when it succeeds."""
        answer = await self.answer(tool, **arguments)
        assert answer["success"], answer
        data: dict[str, Any] = answer["data"]
        return data

    async def found(self, **arguments: Any) -> list[str]:
        """What a search finds."""
        return [one["content"] for one in (await self.data("memory_search", **arguments))["memories"]]

    async def everything(self) -> tuple[list[Any], StoreStats]:
        """All that is stored."""
        return [line async for line in self.memory.export(everybody=True)][1:], await self.memory.stats()


def with_tools(work: Callable[[Tools], Coroutine[Any, Any, None]], config: dict[str, Any] | None = None) -> None:
    async def run() -> None:
        async with AsyncMemory(config or PLAIN) as memory:
            await work(Tools(memory))

    asyncio.run(run())


def base(spec: ToolSpec) -> dict[str, Any]:
    """Arguments that a tool takes, as few as possible."""
    more = {"confirm": True} if spec.name == "memory_clear" else {}
    return {name: VALID[name] for name in spec.required} | more


def wrong_arguments(spec: ToolSpec) -> list[dict[str, Any]]:
    """Names that a tool does not know, and for each of its names every value that its schema refuses."""
    forms, schema = spec.schema["properties"], jsonschema.Draft202012Validator(spec.schema)
    cases: list[dict[str, Any]] = [{"colour": "red"}, {"userId": "bob"}, {"QUERY": "tea"}]
    cases += [{name: value} for name in forms for value in ODD if not schema.is_valid({**base(spec), name: value})]
    return cases + [{name: " "} for name, form in forms.items() if form["type"] == "string"]


@pytest.mark.req("O-83", "O-84", "O-85", "S-65")
@pytest.mark.parametrize("spec", TOOLS.values(), ids=list(TOOLS))
def test_what_a_tool_does_not_take_is_refused_and_nothing_is_written(spec: ToolSpec) -> None:
    cases = wrong_arguments(spec)

    async def work(over: Tools) -> None:
        await over.memory.add("likes tea", user_id="alice", infer=False)
        before = await over.everything()
        assert len(cases) > 5
        for case in cases:
            answer = await over.answer(spec.name, **{**base(spec), **case})
            assert not answer["success"], case
            assert answer["error"]["code"] == "invalid_input", (case, answer)
            assert answer["error"]["message"].startswith("invalid arguments: "), (case, answer)
        assert await over.everything() == before

    with_tools(work)


@pytest.mark.req("S-65", "O-84")
@pytest.mark.parametrize("spec", TOOLS.values(), ids=list(TOOLS))
def test_what_a_tool_needs_has_to_be_there(spec: ToolSpec) -> None:
    async def work(over: Tools) -> None:
        for name in spec.required:
            for left in ({}, {name: None}):
                values = {key: value for key, value in base(spec).items() if key != name} | left
                error = (await over.answer(spec.name, **values))["error"]
                assert (error["code"], name in error["message"]) == ("invalid_input", True)

    with_tools(work)


@pytest.mark.req("O-83", "O-84", "O-85")
@pytest.mark.parametrize("spec", TOOLS.values(), ids=list(TOOLS))
def test_every_argument_is_described_and_both_its_names_mean_the_same(spec: ToolSpec) -> None:
    for name, form in spec.schema["properties"].items():
        assert form["description"], name
    for one in spec.arguments:
        if one.other:
            first, other = (spec.schema["properties"][name] for name in (one.name, one.other))
            assert {**first, "description": ""} == {**other, "description": ""}


@pytest.mark.req("O-83", "O-84", "O-85")
def test_the_gateways_names_are_all_taken() -> None:
    taken = {name for spec in TOOLS.values() for name in spec.schema["properties"]}
    assert set(GATEWAY) <= taken
    search, add, clear = (TOOLS[f"memory_{name}"].schema for name in ("search", "add", "clear"))
    assert {"apiKeyId", "query", "type", "maxTokens", "limit"} <= set(search["properties"])
    assert (search["properties"]["maxTokens"]["minimum"], search["properties"]["maxTokens"]["maximum"]) == (1, 8_000)
    assert (search["properties"]["limit"]["minimum"], search["properties"]["limit"]["maximum"]) == (1, 100)
    assert {"apiKeyId", "sessionId", "type", "key", "content", "metadata"} <= set(add["properties"])
    assert {"apiKeyId", "type", "olderThan"} <= set(clear["properties"])
    verbs = {name: TOOLS[f"memory_{name}"].verb for name in ("search", "add", "clear")}
    assert verbs == {"search": Verb.READ, "add": Verb.WRITE, "clear": Verb.WRITE}


@pytest.mark.req("O-83", "O-85")
def test_two_names_of_one_thing_must_agree() -> None:
    async def work(over: Tools) -> None:
        same = await over.answer(
            "memory_search", query="tea", kind="factual", type="factual", maxTokens=5, max_tokens=5
        )
        assert same["success"]
        for values in ({"kind": "factual", "type": "semantic"}, {"maxTokens": 5, "max_tokens": 6}):
            answer = await over.answer("memory_search", query="tea", **values)
            assert answer["error"]["code"] == "invalid_input"

    with_tools(work)


# --- what clients are told --------------------------------------------------------------------------------------------


@pytest.mark.req("O-83", "O-85")
@pytest.mark.parametrize("spec", TOOLS.values(), ids=list(TOOLS))
def test_a_tool_says_what_it_does_to_the_memory(spec: ToolSpec) -> None:
    hints = spec.annotations
    assert hints["readOnlyHint"] is (spec.verb is Verb.READ)
    assert hints["destructiveHint"] is (spec.name in ("memory_delete", "memory_clear"))
    assert (hints["idempotentHint"], hints["openWorldHint"]) == (True, False)
    jsonschema.Draft202012Validator.check_schema(spec.schema)
    jsonschema.Draft202012Validator.check_schema(spec.output_schema)


@pytest.mark.req("O-85")
@pytest.mark.parametrize("is_local", [True, False])
def test_the_names_of_the_tools_begin_as_configured(*, is_local: bool) -> None:
    nobody: Any = None
    server = local_server(nobody, "me", "omniroute_") if is_local else keyed_server(nobody, "omniroute_")
    handler: Any = server.get_request_handler("tools/list")
    names = {one.name for one in asyncio.run(handler.handler(None, None)).tools}
    assert {"omniroute_memory_search", "omniroute_memory_add", "omniroute_memory_clear"} <= names
    assert [name for name in names if not name.startswith("omniroute_")] == ["search_memory"]


@pytest.mark.req("O-85", "O-86")
def test_a_configured_prefix_is_that_of_the_service() -> None:
    with World.of({**PLAIN, "server": {"tool_prefix": "omniroute_"}}) as world:
        call = {"name": "omniroute_memory_add", "arguments": {"content": "tea", "key": "k", "user_id": "alice"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        accepts = {"accept": "application/json, text/event-stream"}
        answer = world.client.post("/mcp", json=message, headers=accepts).json()["result"]["structuredContent"]
        assert (answer["success"], answer["data"]["memory"]["content"]) == (True, "tea")


# --- searching --------------------------------------------------------------------------------------------------------

FACTS: Final = [
    "User lives in Oslo.",
    "User is allergic to peanuts.",
    "User's sister is called Mia.",
    "User works as a nurse at the city hospital.",
    "User prefers tea over coffee.",
    "User drives a red Volvo.",
    "User speaks Norwegian and Spanish.",
    "User has two cats named Ink and Paper.",
]
UNLIKE: Final = [
    "quantum chromodynamics lattice simulation",
    "zxqv blorf",
    "how do I sort a list in Python?",
    "stock price of Nvidia",
    "falconry",
]
ANSWERED: Final = {
    "which car do I have?": "Volvo",
    "what am I allergic to?": "peanuts",
    "pets": "cats",
    "do I have siblings?": "Mia",
    "what do I do for a living?": "nurse",
}


@pytest.mark.req("O-83", "O-50")
def test_a_search_for_nothing_alike_finds_nothing_and_one_for_something_finds_it() -> None:
    async def work(over: Tools) -> None:
        for fact in FACTS:
            await over.memory.add(fact, user_id="alice", infer=False)
        for turn in ("I like boats", "x", "ok thanks"):
            await over.memory.add(turn, user_id="alice")
        for query in UNLIKE:
            assert await over.found(query=query) == [], query
        for query, answer in ANSWERED.items():
            assert any(answer in one for one in await over.found(query=query)), query
        every = len((await over.memory.get_all(user_id="alice"))["results"])
        assert len(await over.found(query="what do you know about me?")) >= every, "all of it is alike"
        assert len(await over.found()) == every

    with_tools(work, BUILT_IN)


@pytest.mark.req("O-83", "O-50")
@pytest.mark.parametrize("embedder", ["hash", "none"])
def test_the_same_without_the_built_in_model(embedder: str) -> None:
    async def work(over: Tools) -> None:
        for fact in FACTS:
            await over.memory.add(fact, user_id="alice", infer=False)
        assert await over.found(query="zxqv blorf") == []
        assert (await over.found(query="Volvo"))[0] == "User drives a red Volvo."

    with_tools(work, {**PLAIN, "embedder": {"provider": embedder}})


@pytest.mark.req("O-56")
@pytest.mark.parametrize("off", [{"policy.enabled": False}, {"policy.shows": False}, {"inject.chat": False}])
def test_a_search_works_where_nothing_is_shown_in_chats(off: dict[str, Any]) -> None:
    async def work(over: Tools) -> None:
        await over.memory.add("likes tea", user_id="alice", infer=False)
        await over.memory.settings.set(off, user_id="alice")
        assert await over.found(query="tea") == await over.found() == ["likes tea"]

    with_tools(work)


@pytest.mark.req("O-56", "O-43")
def test_a_budget_of_nothing_finds_nothing() -> None:
    async def work(over: Tools) -> None:
        await over.memory.add("likes tea", user_id="alice", infer=False)
        await over.memory.settings.set({"context.budget": 0}, user_id="alice")
        empty = {"memories": [], "count": 0, "totalTokens": 0}
        for values in ({"query": "tea"}, {}, {"query": "tea", "maxTokens": 500}):
            assert await over.data("memory_search", **values) == empty
        assert await over.data("search_memory", scope="pinned", query="tea") == empty
        assert (await over.data("memory_list"))["total"] == 1, "listing is not recalling"

    with_tools(work)


@pytest.mark.req("O-83", "O-52", "O-44")
def test_a_budget_is_kept_and_the_best_is_always_there() -> None:
    async def work(over: Tools) -> None:
        for number in range(8):
            await over.memory.add(f"tea note {number} " + "x" * 29, user_id="alice", infer=False)
        for most, expected in ((1, 1), (10, 1), (20, 2), (45, 4)):
            data = await over.data("memory_search", query="tea note", maxTokens=most)
            assert (data["count"], data["totalTokens"]) == (expected, 10 * expected)
        await over.memory.settings.set({"context.budget": 30}, user_id="alice")
        assert (await over.data("memory_search", query="tea note"))["count"] == 3, (
            "the configured budget is the default"
        )

    with_tools(work)


@pytest.mark.req("O-26", "X-31", "O-26.1")
def test_scopes_say_whose_memories_are_searched() -> None:
    async def work(over: Tools) -> None:
        for text, user, run in (
            ("tea in the first session", "alice", "s1"),
            ("tea in the second session", "alice", "s2"),
            ("tea of everybody", "*", None),
            ("tea of bob", "bob", None),
        ):
            await over.memory.add(text, user_id=user, run_id=run, infer=False)
        first, second, shared = "tea in the first session", "tea in the second session", "tea of everybody"
        for values in ({"query": "tea"}, {}):
            for session in ({"sessionId": "s1"}, {"session_id": "s1"}):
                assert await over.found(**values, scope="session", **session) == [first]
                assert await over.found(**values, **session) == [first]
                for all_of_it in ("apiKey", "owner"):
                    assert sorted(await over.found(**values, scope=all_of_it, **session)) == [first, second]
            assert sorted(await over.found(**values, scope="global")) == [first, second, shared]
            assert sorted(await over.found(**values, scope="pinned")) == [first, second]

    with_tools(work, {**PLAIN, "preset": "gateway"})


@pytest.mark.req("O-26", "X-31")
def test_a_key_that_is_bound_to_a_user_sees_what_is_everybodys_and_nothing_of_others() -> None:
    async def work(over: Tools) -> None:
        for user in ("alice", "bob", "*"):
            await over.memory.add(f"tea of {user}", user_id=user, infer=False)
        bound = Tools(over.memory.acting_for("default", user_id="alice"))
        assert sorted(await bound.found(query="tea", scope="global")) == ["tea of *", "tea of alice"]
        assert await bound.found(query="tea", scope="apiKey") == ["tea of alice"]

    with_tools(work, {**PLAIN, "preset": "gateway"})


@pytest.mark.req("S-65", "X-32")
def test_the_parts_of_a_memory_are_searched_apart() -> None:
    async def work(over: Tools) -> None:
        await over.data("memory_add", content="I live in Oslo.")
        for tool in ("memory_search", "search_memory"):
            texts = await over.data(tool, scope="transcript", query="Oslo")
            known = await over.data(tool, scope="pinned", query="Oslo")
            assert [(one["layer"], one["content"]) for one in texts["memories"]] == [("turn", "I live in Oslo.")]
            assert [(one["layer"], one["content"]) for one in known["memories"]] == [("fact", "User lives in Oslo.")]
            assert (await over.data(tool, scope="episodes", query="Oslo"))["count"] == 0

    with_tools(work)


@pytest.mark.req("S-65")
def test_a_store_that_is_closed_is_said_to_be_there_again_later() -> None:
    async def run() -> None:
        memory = AsyncMemory(PLAIN)
        await memory.add("tea", user_id="alice", infer=False)
        await memory.close()
        for spec in TOOLS.values():
            answer = await call_tool(spec, ToolUse(memory, base(spec), "alice"))
            assert (answer["success"], answer["error"]["retryable"]) == (False, True), (spec.name, answer)
            assert answer["error"]["message"] == "the store is not available right now"

    asyncio.run(run())


# --- listing and deleting ---------------------------------------------------------------------------------------------


@pytest.mark.req("O-83", "O-13")
def test_memories_are_listed_in_pages_newest_first() -> None:
    async def work(over: Tools) -> None:
        for number in range(5):
            await over.data("memory_add", content=f"note {number}", key=str(number), type="procedural")
        await over.data("memory_add", content="tea", key="tea", type="factual", sessionId="s1")
        page = await over.data("memory_list", limit=2, offset=1)
        assert ([one["key"] for one in page["memories"]], page["count"], page["total"]) == (["4", "3"], 2, 6)
        assert (await over.data("memory_list", type="factual"))["total"] == 1
        assert (await over.data("memory_list", sessionId="s1"))["total"] == 1
        assert (await over.data("memory_list", scope="transcript"))["total"] == 0

    with_tools(work)


@pytest.mark.req("O-84", "O-9")
def test_the_same_key_again_is_the_same_entry_with_other_words() -> None:
    async def work(over: Tools) -> None:
        first = await over.data("memory_add", content="Likes tea", key="drink", metadata={"by": "ann"})
        again = await over.data("memory_add", content="Likes coffee", key="drink", metadata={"at": "home"})
        assert (first["memory"]["id"], again["message"]) == (again["memory"]["id"], "memories: 1 updated")
        assert again["memory"]["content"] == "Likes coffee"
        assert (await over.data("memory_list"))["total"] == 1

    with_tools(work)


def test_a_memory_is_deleted_by_its_id_once() -> None:
    async def work(over: Tools) -> None:
        for name in ("id", "memoryId"):
            stored = (await over.data("memory_add", content=f"Likes {name}", key=name))["memory"]["id"]
            gone = await over.data("memory_delete", **{name: stored})
            assert gone == {"deletedCount": 1, "message": "1 memory deleted"}
            assert (await over.answer("memory_delete", **{name: stored}))["error"]["code"] == "not_found"

    with_tools(work)


@pytest.mark.req("X-42")
@pytest.mark.parametrize("scope", [None, "pinned", "transcript"])
def test_a_model_is_not_given_what_a_person_marked_private(scope: str | None) -> None:
    async def work(tools: Tools) -> None:
        for text in ("I have diabetes. Zebras sleep standing up.", "I like tea."):
            await tools.memory.add(text, user_id="alice")
        (fact,) = [one for one in (await tools.memory.get_all(user_id="alice"))["results"] if "diab" in one["memory"]]
        await tools.memory.profile.set_visibility(fact["id"], "private")
        await tools.memory.add(
            "I have diabetes. The weather forecast mumbles about drizzle over the fjord.", user_id="alice"
        )
        narrowed = {} if scope is None else {"scope": scope}

        found = [
            await tools.found(query=query, **narrowed)
            for query in ("diabetes", "zebras sleep standing", "forecast drizzle", "tea")
        ]
        newest = await tools.found(**narrowed)
        listed = [one["content"] for one in (await tools.data("memory_list", **narrowed))["memories"]]

        answer_text = " ".join([*(text for texts in found for text in texts), *newest, *listed])
        assert "tea" in answer_text
        assert "diabetes" not in answer_text
        assert "Zebras" not in answer_text
        assert "drizzle" not in answer_text

    with_tools(work)
