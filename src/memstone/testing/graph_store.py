"""The conformance suite for graph databases.

Subclass both suites in a test module; pytest does the rest, under both ways of waiting::

    class TestMyStore(GraphStoreSuite):
        def connect(self, io: Io) -> GraphStore:
            return MyStore(MyStore.Config(...), io)

    class TestMyGraph(GraphMemorySuite):
        def graph_store(self) -> dict[str, Any]:
            return {"provider": "my.module:MyStore", "config": {...}}

The first asks the database for what ``memstone.ports.graph.GraphStore`` promises. The second asks a memory that has it:
whatever happens to memories, the graph says the same as the ledger. Without ``graph_store`` it asks the tables of the
ledger themselves.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from inspect import isawaitable
from typing import Any, Final, TypeAlias

from memstone.adapters.io.blocking import BlockingIo
from memstone.async_memory import AsyncMemory
from memstone.drive import drive
from memstone.engine.recall.graph import GraphConnections, find_connections
from memstone.engine.runtime import Runtime
from memstone.memory import Memory
from memstone.model.memory import EntityRow, RelationRow
from memstone.model.scope import Scope
from memstone.ports.graph import GraphCounts, GraphMemory, GraphPage, GraphReader, GraphRows, GraphStore
from memstone.ports.io import Io
from memstone.testing.modes import MODES, run
from memstone.testing.vector_store import assert_equal

# --- what a graph database promises -----------------------------------------------------------------------------------


NAME: Final = "suite"
OTHER: Final = "suite_other"
TENANT: Final = "acme"
OWNER: Final = Scope(TENANT, user_id="alice")
AT: Final = "2026-01-01T00:00:00.000000Z"
ODD_NAMES: Final = (
    'O\'Neil "Jr" \\ Sons',
    "日本語 🦊",
    "Zoë-Ann",
    "$graph {id: 1}",
    "`x`) DETACH DELETE (n",
    "a\nb\tc",
    "x" * 200,
)
"""Names that a query could misread."""

_MANY: Final = 700
_AT_ONCE: Final = 8

StoreScenario: TypeAlias = Callable[[GraphStore], Coroutine[Any, Any, None]]


def make_entity(name: str, owner: Scope = OWNER, **fields: Any) -> EntityRow:
    """Return an entity whose id is its name, too."""
    values = {"type": "concept", "description": None, "updated_at": AT, **fields}
    return EntityRow(f"id-{name}", owner, name, name.casefold(), **values)


def make_relation(source: str, kind: str, target: str, seq: int, at: str = AT) -> RelationRow:
    """Return a relation between two entities by name, as a version states it."""
    return RelationRow(f"{source} {kind} {target} {seq}", f"id-{source}", f"id-{target}", kind, at, None, seq, at)


def make_page(
    start: int, end: int, rows: GraphRows, *, seqs: Sequence[int] = (), gone: Sequence[str] = ()
) -> GraphPage:
    """Return a page that is about the versions in its rows and some more."""
    own = {one.seq for one in rows.memories}
    return GraphPage(start, end, tuple(sorted({*own, *seqs})), rows, tuple(gone))


def make_rows(says: Mapping[int, Sequence[str]], *relations: RelationRow) -> GraphRows:
    """Return what versions say: whom each mentions by name, and what they relate."""
    names = dict.fromkeys(name for mentioned in says.values() for name in mentioned)
    ends = dict.fromkeys(end.removeprefix("id-") for one in relations for end in (one.source, one.target))
    memories = tuple(
        GraphMemory(seq, f"memory-{seq}", tuple(f"id-{name}" for name in mentioned)) for seq, mentioned in says.items()
    )
    return GraphRows(memories, relations, tuple(make_entity(name) for name in {**names, **ends}))


async def list_norms(reader: GraphReader, *norms: str) -> list[str]:
    """Return which of these the owner's graph knows."""
    return sorted(row.norm for row in await reader.find_by_norms(OWNER, norms))


async def count_rows(store: GraphStore, name: str = NAME) -> GraphCounts:
    """Return how much a graph holds."""
    return next((info.counts for info in await store.graphs() if info.name == name), GraphCounts())


class GraphStoreSuite:
    """The contract of ``memstone.ports.graph.GraphStore``, one test a sentence."""

    def connect(self, io: Io) -> GraphStore:
        """Return a store as it is; called twice in one test, both see the same graphs."""
        raise NotImplementedError

    def interrupt(self) -> None:
        """Cut every connection to the store, where a test can."""

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Run every test under both ways of waiting, and once for each case."""
        for name, values in {"mode": MODES, "odd_name": ODD_NAMES}.items():
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, values)

    def play(self, mode: str, scenario: StoreScenario) -> None:
        """Run a scenario on a store without graphs."""

        async def on_fresh(io: Io) -> None:
            store = self.connect(io)
            async with _leave_clean(store):
                await scenario(store)

        run(mode, on_fresh)

    def test_a_graph_that_is_not_there_is_empty_and_has_no_position(self, mode: str) -> None:
        """Check that nothing has to be created before it is asked, and that asking creates nothing."""

        async def scenario(store: GraphStore) -> None:
            await store.check_health()
            assert_equal(await store.position(NAME), None)
            assert_equal(await store.find_touched(NAME, [1]), [])
            reader = store.reader(NAME)
            assert_equal(await list_norms(reader, "anna"), [])
            assert_equal(await reader.memories_of(TENANT, ["id-anna"], 5), {"id-anna": []})
            assert_equal(await store.apply(NAME, make_page(0, 1, make_rows({1: ["anna"]}))), expected=False)
            await store.drop(NAME)
            assert_equal(NAME in [info.name for info in await store.graphs()], expected=False)

        self.play(mode, scenario)

    def test_a_page_moves_the_graph_from_one_position_to_the_next(self, mode: str) -> None:
        """Check what a page puts into a graph, and where that is then."""

        async def scenario(store: GraphStore) -> None:
            await store.create(NAME)
            assert_equal(await store.position(NAME), 0)
            rows = make_rows({1: ["anna", "contoso"]}, make_relation("anna", "works_at", "contoso", 1))
            assert_equal(await store.apply(NAME, make_page(0, 7, rows)), expected=True)
            assert_equal(await store.position(NAME), 7)
            reader = store.reader(NAME)
            assert_equal(await list_norms(reader, "anna", "contoso", "felix"), ["anna", "contoso"])
            assert_equal(await reader.memories_of(TENANT, ["id-anna"], 5), {"id-anna": [1]})
            near = await reader.neighbours(TENANT, ["id-anna", "id-contoso"], 5)
            assert_equal(sorted((one, row.norm) for one, row in near), [("id-anna", "contoso"), ("id-contoso", "anna")])
            assert_equal(await reader.by_role(TENANT, [("works_at", "id-contoso")]), ["id-anna"])
            assert_equal(await reader.by_role(TENANT, [("sister_of", "id-contoso"), ("works_at", "id-anna")]), [])
            assert_equal(await count_rows(store), GraphCounts(2, 2, 1))
            await store.create(NAME)
            assert_equal((await store.position(NAME), await count_rows(store)), (7, GraphCounts(2, 2, 1)))

        self.play(mode, scenario)

    def test_entities_come_back_as_they_were_put(self, mode: str, odd_name: str) -> None:
        """Check every field, whatever is in it."""

        async def scenario(store: GraphStore) -> None:
            await store.create(NAME)
            row = make_entity(odd_name, type="person", description=f"about {odd_name}")
            rows = GraphRows((GraphMemory(1, "m", (row.id,)),), (), (row,))
            assert_equal(await store.apply(NAME, make_page(0, 1, rows)), expected=True)
            assert_equal(await store.reader(NAME).find_by_norms(OWNER, [row.norm]), [row])
            later = replace(row, description=None, type="concept")
            await store.apply(NAME, make_page(1, 2, GraphRows((GraphMemory(1, "m", (row.id,)),), (), (later,))))
            assert_equal(await store.reader(NAME).find_by_norms(OWNER, [row.norm]), [later])

        self.play(mode, scenario)

    def test_who_does_not_know_the_position_is_refused_and_changes_nothing(self, mode: str) -> None:
        """Check that a page that was applied is not applied again, nor one after a gap."""

        async def scenario(store: GraphStore) -> None:
            await store.create(NAME)
            first = make_page(0, 3, make_rows({1: ["anna"]}))
            assert_equal(await store.apply(NAME, first), expected=True)
            assert_equal(await store.apply(NAME, make_page(0, 3, make_rows({1: ["felix"]}))), expected=False)
            assert_equal(await store.apply(NAME, make_page(2, 9, make_rows({2: ["felix"]}))), expected=False)
            assert_equal(await store.position(NAME), 3)
            assert_equal(await list_norms(store.reader(NAME), "anna", "felix"), ["anna"])

        self.play(mode, scenario)

    def test_what_a_version_says_now_takes_the_place_of_what_it_said(self, mode: str) -> None:
        """Check that nothing of the former mentions and relations is left, and that others stay."""

        async def scenario(store: GraphStore) -> None:
            await store.create(NAME)
            says = {1: ["anna", "contoso"], 2: ["anna", "contoso"]}
            edges = [make_relation("anna", "works_at", "contoso", seq) for seq in says]
            await store.apply(NAME, make_page(0, 1, make_rows(says, *edges)))
            assert_equal(sorted(await store.find_touched(NAME, [1])), ["id-anna", "id-contoso"])
            await store.apply(NAME, make_page(1, 2, make_rows({1: ["anna"]})))
            reader = store.reader(NAME)
            mentioned = await reader.memories_of(TENANT, ["id-anna", "id-contoso"], 5)
            assert_equal(mentioned, {"id-anna": [1, 2], "id-contoso": [2]})
            assert_equal(await count_rows(store), GraphCounts(2, 3, 1))
            await store.apply(NAME, make_page(2, 3, GraphRows(), seqs=[1, 2], gone=["id-anna", "id-contoso"]))
            assert_equal((await count_rows(store), await store.position(NAME)), (GraphCounts(), 3))

        self.play(mode, scenario)

    def test_a_relation_ties_its_ends_to_the_memory_that_states_it(self, mode: str) -> None:
        """Check that ends which are not mentioned (the user never is) are found from the memory, too."""

        async def scenario(store: GraphStore) -> None:
            await store.create(NAME)
            rows = make_rows({1: ["contoso"]}, make_relation("user", "works_at", "contoso", 1))
            await store.apply(NAME, make_page(0, 1, rows))
            assert_equal(sorted(await store.find_touched(NAME, [1])), ["id-contoso", "id-user"])
            assert_equal(await store.reader(NAME).memories_of(TENANT, ["id-user"], 5), {"id-user": []})
            await store.apply(NAME, make_page(1, 2, GraphRows(), seqs=[1], gone=["id-contoso"]))
            assert_equal(await count_rows(store), GraphCounts(1, 0, 0))

        self.play(mode, scenario)

    def test_what_was_related_last_is_the_nearest(self, mode: str) -> None:
        """Check the order of neighbours, and that no more than asked for are returned for each."""

        async def scenario(store: GraphStore) -> None:
            await store.create(NAME)
            edges = [
                make_relation("hub", "knows", f"n{day}", day, f"2026-01-{day:02}T00:00:00Z") for day in range(1, 10)
            ]
            edges.append(make_relation("n1", "knows", "hub", 20, "2026-03-01T00:00:00Z"))
            await store.apply(NAME, make_page(0, 1, make_rows({one.memory_seq: ["hub"] for one in edges}, *edges)))
            near = await store.reader(NAME).neighbours(TENANT, ["id-hub", "id-n3"], 3)
            assert_equal([row.norm for one, row in near if one == "id-hub"], ["n1", "n9", "n8"])
            assert_equal([row.norm for one, row in near if one == "id-n3"], ["hub"])

        self.play(mode, scenario)

    def test_an_entity_in_many_memories_gives_one_more_than_asked_for(self, mode: str) -> None:
        """Check a page of many rows, and that an answer is no larger than somebody wants."""

        async def scenario(store: GraphStore) -> None:
            await store.create(NAME)
            await store.apply(NAME, make_page(0, _MANY, make_rows({seq: ["anna"] for seq in range(_MANY)})))
            reader = store.reader(NAME)
            assert_equal(len((await reader.memories_of(TENANT, ["id-anna"], 10))["id-anna"]), 11)
            assert_equal((await reader.memories_of(TENANT, ["id-anna"], _MANY))["id-anna"], list(range(_MANY)))

        self.play(mode, scenario)

    def test_relations_of_any_name_are_kept_by_that_name(self, mode: str) -> None:
        """Check that a name which is no type of an edge is found all the same."""

        async def scenario(store: GraphStore) -> None:
            await store.create(NAME)
            kinds = ("works_at", "9lives", "a b", "x]->() DELETE (n", "ß")
            edges = [make_relation("anna", kind, "contoso", seq) for seq, kind in enumerate(kinds)]
            await store.apply(NAME, make_page(0, 1, make_rows({seq: ["anna"] for seq in range(len(kinds))}, *edges)))
            for kind in kinds:
                assert_equal(await store.reader(NAME).by_role(TENANT, [(kind, "id-contoso")]), ["id-anna"], kind)
            assert_equal((await count_rows(store)).relations, len(kinds))

        self.play(mode, scenario)

    def test_graphs_and_owners_are_apart(self, mode: str) -> None:
        """Check that neither another graph nor another owner is ever seen or dropped."""

        async def scenario(store: GraphStore) -> None:
            for name in (NAME, OTHER):
                await store.create(name)
                await store.apply(name, make_page(0, 5, make_rows({1: ["anna", name]})))
            assert_equal(await list_norms(store.reader(NAME), "anna", NAME, OTHER), sorted(["anna", NAME]))
            for owner in (Scope(TENANT, user_id="bob"), Scope(TENANT, agent_id="alice"), Scope(TENANT, run_id="alice")):
                assert_equal(await store.reader(NAME).find_by_norms(owner, ["anna"]), [])
            await store.drop(NAME)
            assert_equal((await store.position(NAME), await store.position(OTHER)), (None, 5))
            assert_equal(await count_rows(store, OTHER), GraphCounts(2, 2, 0))
            await store.create(NAME)
            assert_equal((await store.position(NAME), await count_rows(store)), (0, GraphCounts()))

        self.play(mode, scenario)

    def test_a_second_connection_sees_the_same(self, mode: str) -> None:
        """Check that what was applied is there for whoever connects later."""

        async def on_fresh(io: Io) -> None:
            first = self.connect(io)
            async with _leave_clean(first):
                await first.create(NAME)
                await first.apply(NAME, make_page(0, 1, make_rows({1: ["anna"]})))
                second = self.connect(io)
                assert_equal((await second.position(NAME), await count_rows(second)), (1, GraphCounts(1, 1, 0)))
                await second.close()

        run(mode, on_fresh)

    def test_a_lost_connection_is_made_again(self, mode: str) -> None:
        """Check that the next call works after connections were cut, and that no page was applied twice."""

        async def scenario(store: GraphStore) -> None:
            await store.create(NAME)
            await store.apply(NAME, make_page(0, 1, make_rows({1: ["anna"]})))
            self.interrupt()
            assert_equal(await store.position(NAME), 1)
            self.interrupt()
            assert_equal(await store.apply(NAME, make_page(1, 2, make_rows({2: ["anna"]}))), expected=True)
            assert_equal(await count_rows(store), GraphCounts(1, 2, 0))

        self.play(mode, scenario)

    def test_of_many_who_apply_the_same_page_one_does(self) -> None:
        """Check that writers at the same time never apply a page twice, and lose none."""
        io = BlockingIo()
        stores = [self.connect(io) for _ in range(_AT_ONCE)]

        def write(store: GraphStore) -> int:
            done = 0
            while (at := drive(store.position(NAME)) or 0) < _AT_ONCE:
                done += drive(store.apply(NAME, make_page(at, at + 1, make_rows({at: ["anna", f"n{at}"]}))))
            return done

        try:
            drive(stores[0].drop(NAME))
            drive(stores[0].create(NAME))
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                done = sum(pool.map(write, stores))
            assert_equal((done, drive(stores[0].position(NAME))), (_AT_ONCE, _AT_ONCE))
            assert_equal(drive(count_rows(stores[0])), GraphCounts(1 + _AT_ONCE, 2 * _AT_ONCE, 0))
        finally:
            drive(stores[0].drop(NAME))
            for store in stores:
                drive(store.close())
            drive(io.close())


@asynccontextmanager
async def _leave_clean(store: GraphStore) -> AsyncIterator[None]:
    for name in (NAME, OTHER):
        await store.drop(name)
    try:
        yield
    finally:
        for name in (NAME, OTHER):
            await store.drop(name)
        await store.close()


# --- a memory with a graph --------------------------------------------------------------------------------------------


QUESTIONS: Final = (
    "What does Anna like?",
    "what does my sister do?",
    "Tell me about Contoso",
    "Is Oslo nice?",
    "hello",
)
FILLER: Final = tuple(f"The {thing} is in box number {number}." for number in range(6) for thing in "abcdefghij")
"""Sixty memories that have nothing to do with anything."""


@dataclass(slots=True)
class GraphScene:
    """A memory in one of the two ways of waiting, and a look at its graph."""

    memory: Any

    @property
    def runtime(self) -> Runtime:
        """What the memory works with."""
        found: Runtime = self.memory.engine.runtime
        return found

    async def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method, in a group where the name has a dot."""
        method: Any = self.memory
        for part in name.split("."):
            method = getattr(method, part)
        value = method(*args, **kwargs)
        return await value if isawaitable(value) else value

    async def add(self, text: str, user_id: str = "alice", **options: Any) -> str:
        """Store a text as it is, and return its id."""
        answer = await self.call("add", text, user_id=user_id, infer=False, **options)
        return str(answer["results"][0]["id"])

    async def connections(self, query: str, user_id: str = "alice") -> GraphConnections:
        """Return where a question leads, by the graph that a search asks."""
        return await find_connections(self.runtime, query, Scope(self.runtime.tenant_id, user_id=user_id))

    async def names(self, user_id: str = "alice") -> set[str]:
        """Return the names in somebody's memories."""
        return {one["name"] for one in (await self.call("graph.entities", user_id=user_id))["results"]}

    async def agree(self, *users: str) -> None:
        """Fail unless the graph, once it has followed, says what the ledger says."""
        graph = self.runtime.graph
        if graph is None:
            return
        await graph.catch_up(self.runtime.tenant_id)
        agreement = await graph.compare(self.runtime.tenant_id)
        assert_equal(agreement.mirror, agreement.ledger)
        alone = GraphScene(self.memory)
        for user in users or ("alice", "bob"):
            for question in QUESTIONS:
                scope = Scope(alone.runtime.tenant_id, user_id=user)
                by_ledger = await find_connections(replace(self.runtime, graph=None), question, scope)
                assert_equal(await self.connections(question, user), by_ledger, question)


SceneScenario: TypeAlias = Callable[[GraphScene], Coroutine[Any, Any, None]]


class GraphMemorySuite:
    """A memory and its graph: what happens to the one happens to the other."""

    def graph_store(self) -> dict[str, Any]:
        """Return the setting ``graph_store``; nothing for the tables of the ledger."""
        return {}

    def store(self) -> dict[str, Any]:
        """Return the setting ``store``: where the ledger is."""
        return {"url": "memory:"}

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Run every test under both ways of waiting."""
        if "mode" in metafunc.fixturenames:
            metafunc.parametrize("mode", MODES)

    def play(self, mode: str, scenario: SceneScenario) -> None:
        """Run a scenario with an empty memory."""

        async def on_fresh(_: Io) -> None:
            settings: dict[str, Any] = {"store": self.store(), "embedder": {"provider": "none"}}
            if chosen := self.graph_store():
                settings["graph_store"] = chosen
            scene = GraphScene((Memory if mode == "blocking" else AsyncMemory)(settings))
            try:
                await scene.call("reset")
                await scenario(scene)
                await scene.agree()
                await scene.call("reset")
            finally:
                await scene.call("close")

        run(mode, on_fresh)

    def test_what_is_stored_as_it_is_enters_the_graph(self, mode: str) -> None:
        """Check people, organizations and relations of memories that nothing was learned from."""

        async def scenario(scene: GraphScene) -> None:
            await scene.add("My sister Anna works at Contoso.")
            await scene.add("I play tennis on Sundays with Anna.")
            assert_equal(await scene.names(), {"Anna", "Contoso"})
            edges = (await scene.call("graph.relations", user_id="alice"))["results"]
            known = {(one["source"], one["relation"], one["target"]) for one in edges}
            assert_equal(known, {("Anna", "works_at", "Contoso"), ("Anna", "sister_of", "user")})
            found = await scene.connections("Where does Anna work?")
            assert_equal((len(found.boosts), found.failure), (2, None))
            await scene.agree()

        self.play(mode, scenario)

    def test_a_question_leads_over_a_relation_to_what_is_connected(self, mode: str) -> None:
        """Check the connected memory among the first five of 62, though no word of the question is in it."""

        async def scenario(scene: GraphScene) -> None:
            for text in FILLER[:30]:
                await scene.add(text)
            await scene.add("My sister Anna works at Contoso.")
            wanted = await scene.add("Contoso repairs lighthouses.")
            for text in FILLER[30:]:
                await scene.add(text)
            answer = await scene.call("search", "How does my sister earn money?", user_id="alice", limit=5)
            ids = [one["id"] for one in answer["results"]]
            if wanted not in ids or answer.get("degraded"):
                raise AssertionError(f"{wanted} is not in {answer!r}")

        self.play(mode, scenario)

    def test_what_is_changed_or_deleted_leaves_the_graph_and_comes_back_with_an_undo(self, mode: str) -> None:
        """Check update, delete and undo."""

        async def scenario(scene: GraphScene) -> None:
            first = await scene.add("Anna works at Contoso.")
            second = await scene.add("My sister Anna lives in Oslo.")
            await scene.agree()
            await scene.call("update", first, "Anna works at Acme Corp.")
            assert_equal(await scene.names(), {"Anna", "Acme Corp", "Oslo"})
            await scene.agree()
            await scene.call("delete", second)
            assert_equal(await scene.names(), {"Anna", "Acme Corp"})
            await scene.agree()
            events = await scene.call("history", second)
            await scene.call("undo", events[-1]["id"])
            assert_equal(await scene.names(), {"Anna", "Acme Corp", "Oslo"})

        self.play(mode, scenario)

    def test_one_user_leaves_and_the_others_keep_what_they_know(self, mode: str) -> None:
        """Check deletion of everything, and erasure, of one of two who know the same names."""

        async def scenario(scene: GraphScene) -> None:
            for user in ("alice", "bob"):
                await scene.add("Anna works at Contoso.", user)
            assert_equal(len((await scene.connections("Where does Anna work?", "bob")).boosts), 1)
            await scene.call("delete_all", user_id="alice")
            await scene.agree()
            assert_equal((await scene.names("alice"), await scene.names("bob")), (set(), {"Anna", "Contoso"}))
            await scene.add("Anna moved to Oslo.", "alice")
            await scene.agree()
            await scene.call("admin.erase", user_id="alice")
            await scene.agree()
            assert_equal((await scene.names("alice"), await scene.names("bob")), (set(), {"Anna", "Contoso"}))
            assert_equal((await scene.connections("Is Anna there?", "alice")).boosts, {})

        self.play(mode, scenario)

    def test_a_mirror_that_is_dropped_is_filled_again(self, mode: str) -> None:
        """Check that a graph somebody removed, and one that is rebuilt, hold everything."""

        async def scenario(scene: GraphScene) -> None:
            for number in range(40):
                await scene.add(f"Anna met Felix and visited Oslo {number} times.")
            await scene.agree()
            graph = scene.runtime.graph
            if graph is not None:
                await graph.forget(scene.runtime.tenant_id)
                assert_equal(len((await scene.connections("Where is Anna?")).boosts), 40)
                await scene.agree()
                await graph.rebuild(scene.runtime.tenant_id)

        self.play(mode, scenario)

    def test_a_reset_empties_the_graph(self, mode: str) -> None:
        """Check that nothing of the former memories is found after it."""

        async def scenario(scene: GraphScene) -> None:
            await scene.add("Anna works at Contoso.")
            await scene.agree()
            await scene.call("reset")
            assert_equal((await scene.connections("Where does Anna work?")).boosts, {})
            await scene.add("Felix works at Contoso.")
            assert_equal(await scene.names(), {"Felix", "Contoso"})

        self.play(mode, scenario)

    def test_tenants_are_apart(self, mode: str) -> None:
        """Check that another tenant's graph has the same user's other memories, and nothing else."""

        async def scenario(scene: GraphScene) -> None:
            await scene.add("Anna works at Contoso.")
            guest: Any = scene.memory.acting_for("globex")
            other = GraphScene(guest)
            await other.add("Anna moved to Oslo.")
            await other.agree()
            assert_equal((await scene.names(), await other.names()), ({"Anna", "Contoso"}, {"Anna", "Oslo"}))
            own, theirs = await scene.connections("Where is Anna?"), await other.connections("Where is Anna?")
            if own.boosts.keys() & theirs.boosts.keys():
                raise AssertionError("two tenants are led to the same memory")
            await other.call("reset")
            await scene.agree()

        self.play(mode, scenario)
