"""What type checkers see of the public names: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal, assert_type

from memstone import (
    AddResult,
    AsyncClient,
    AsyncMemory,
    Client,
    ContextPack,
    Filters,
    HistoryEvent,
    Memory,
    MemoryItem,
    MemstoneError,
    QuotaExceeded,
    SearchHit,
    SearchResults,
    Settings,
)
from memstone.literals import Strategy
from memstone.results import (
    AccountItem,
    AgentItem,
    BackupResult,
    ContextReceipt,
    DashboardResult,
    DeferredEvent,
    ErasurePreview,
    ErasureReport,
    Evidence,
    IdentityResult,
    KeySecret,
    MemoryList,
    PreviewHit,
    UndoResult,
    VectorMatches,
)


def add_and_search(memory: Memory) -> str:
    """Everyday calls."""
    added = memory.add("I live in Oslo", user_id="alice")
    assert_type(added, AddResult)
    assert_type(added["results"][0]["id"], str)
    assert_type(added["results"][0]["event"], Literal["ADD", "UPDATE", "REPLACE", "DELETE", "NONE"])
    assert_type(added.get("deferred"), list[DeferredEvent] | None)
    found = memory.search("Where does she live?", user_id="alice", limit=5, strategy="hybrid", layers=["fact", "turn"])
    assert_type(found, SearchResults)
    for hit in found["results"]:
        assert_type(hit, SearchHit)
        assert_type(hit["score"], float)
        assert_type(hit["layer"], Literal["identity", "fact", "episode", "turn"])
        assert_type(hit.get("evidence"), Evidence | None)
    item = memory.get(added["results"][0]["id"])
    assert_type(item, MemoryItem | None)
    assert_type(memory.history("id"), list[HistoryEvent])
    assert_type(memory.context("What should I cook?", user_id="alice", gate="profile"), ContextPack)
    return "" if item is None else item["memory"]


def other_answers(memory: Memory) -> None:
    """One of each family."""
    assert_type(memory.get_all(user_id="alice", status="quarantined", kind="factual", counts=True), MemoryList)
    assert_type(memory.receipt("id"), ContextReceipt | None)
    assert_type(memory.identity.get(user_id="alice"), IdentityResult)
    assert_type(memory.agents.get("coach"), AgentItem | None)
    assert_type(memory.admin.keys.create(verbs=["read"]), KeySecret)
    assert_type(memory.admin.accounts.create("ada", "a long sentence", role="editor"), AccountItem)
    assert_type(memory.undo("id"), UndoResult)
    assert_type(memory.admin.dashboard(user_id="alice"), DashboardResult)
    assert_type(memory.vectors.query([0.1, 0.2], user_id="alice"), VectorMatches)
    assert_type(memory.profile.preview_search("tea", user_id="alice")["items"], list[PreviewHit])
    assert_type(memory.admin.backups.create("store.backup"), BackupResult)
    assert_type(memory.export(everybody=True), Iterator[dict[str, Any]])
    assert_type(memory.admin.erase(user_id="alice"), ErasureReport)
    assert_type(memory.admin.erase(user_id="alice", dry_run=True), ErasurePreview)


async def same_with_await(memory: AsyncMemory, client: AsyncClient) -> None:
    """The asyncio face and the clients answer alike."""
    assert_type(await memory.add("I live in Oslo", user_id="alice"), AddResult)
    assert_type(await client.search("Oslo", user_id="alice"), SearchResults)
    assert_type(await client.admin.erase(user_id="alice", dry_run=True), ErasurePreview)
    assert_type(client.export(everybody=True), AsyncIterator[dict[str, Any]])
    assert_type(Client("http://127.0.0.1:8765", "key").get("id"), MemoryItem | None)


def own_wrapper(memory: Memory, strategy: Strategy, filters: Filters, settings: Settings) -> list[SearchHit]:
    """Names for annotations of one's own."""
    assert_type(settings.preset, Literal["facts", "gateway", "companion", "shared"])
    try:
        return memory.search("tea", user_id="alice", strategy=strategy, filters=filters)["results"]
    except QuotaExceeded as error:
        assert_type(error.limit, int)
    except MemstoneError as error:
        assert_type(error.hint, str)
        assert_type(error.as_dict()["code"], str)
    return []


def mistakes(memory: Memory, hit: SearchHit) -> None:
    """Each of these is an error: the comment says which, and is an error itself where there is none."""
    hit["text"]  # type: ignore[typeddict-item]
    hit["score"] + "1"  # type: ignore[operator]
    memory.search("tea", user_id="alice", strategy="magic")  # type: ignore[arg-type]
    memory.search("tea", user_id="alice", layers=["facts"])  # type: ignore[list-item]
    memory.context("tea", user_id="alice", gate="sometimes")  # type: ignore[arg-type]
    memory.add("tea", user_id="alice", kind="narrative")  # type: ignore[arg-type]
    memory.admin.erase(user_id="alice", dry_run=True)["complete"]  # type: ignore[typeddict-item]
