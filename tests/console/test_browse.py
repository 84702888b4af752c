"""Looking through a store: the same pages, words and days on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from memstone import Memory
from memstone.drive import drive
from memstone.engine import browse
from memstone.engine.browse import BrowseRequest
from memstone.errors import Forbidden, InvalidInput, NotFoundError
from memstone.ports.browse import LayerCount

if TYPE_CHECKING:
    from tests.postgres.server import Server


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    url = "memory:"
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        url = server.url(server.database(server.pattern), "app")
    with Memory({"store": {"url": url}, "embedder": {"provider": "hash"}}) as made:
        for number in range(25):
            made.add(f"Fact number {number} of Oslo", user_id="alice" if number % 2 else "bob", infer=False)
        made.add("Ich wohne in Köln-Ehrenfeld, near Straße 12", user_id="alice", infer=False, key="home:köln")
        made.acting_for("acme").add("Fact of another tenant in Oslo", user_id="alice", infer=False)
        yield made


def page(memory: Memory, **asked: Any) -> browse.BrowsePage:
    return drive(memory.engine.run(browse.browse_memories, BrowseRequest(**{"everybody": True, **asked})))


def texts(found: browse.BrowsePage) -> list[str]:
    return [row.text for row in found.rows]


def walk(memory: Memory, **asked: Any) -> list[str]:
    """All pages from the first to the last, and back again: both ways say the same."""
    found = page(memory, **asked)
    pages = [texts(found)]
    while found.next_cursor:
        found = page(memory, **asked, cursor=found.next_cursor)
        pages.append(texts(found))
    back = [texts(found)]
    while found.previous_cursor:
        found = page(memory, **asked, cursor=found.previous_cursor)
        back.append(texts(found))
    assert back[::-1] == pages
    return [text for one in pages for text in one]


@pytest.mark.parametrize("sort", ["newest", "oldest"])
@pytest.mark.parametrize("q", ["", "fact", "oslo numb"])
def test_every_memory_is_on_one_page(memory: Memory, sort: str, q: str) -> None:
    found = walk(memory, sort=sort, q=q, limit=7)
    expected = 26 if not q else 25
    assert len(found) == len(set(found)) == expected
    assert not any("another tenant" in text for text in found)


@pytest.mark.parametrize("sort", ["weight", "said"])
def test_one_person_is_sorted_by_weight_and_time(memory: Memory, sort: str) -> None:
    asked = {"user_id": "alice", "everybody": False}
    assert sorted(walk(memory, sort=sort, limit=5, **asked)) == sorted(texts(page(memory, limit=100, **asked)))


@pytest.mark.parametrize(
    ("typed", "count"),
    [
        ("köl", 1), ("KÖLN", 1), ("ehren", 1), ("strasse", 1), ("straße", 1), ("number 1", 11), ("number 12", 1),
        ("' OR 1=1", 0), ("fact*", 25), ('"fact', 25), ("fact -oslo", 25), (":", 1), ("a" * 900, 0), ("numbers", 25),
    ],
)  # fmt: skip
def test_words_are_found_however_they_are_typed(memory: Memory, typed: str, count: int) -> None:
    assert len(texts(page(memory, q=typed, limit=100))) == count


def test_how_many_there_are_is_counted_up_to_a_bound(memory: Memory) -> None:
    assert page(memory, limit=5).total == 26
    assert page(memory, limit=100).total == 26
    assert page(memory, q="oslo", limit=5).total is None


@pytest.mark.parametrize(
    "asked",
    [{"sort": "x"}, {"cursor": "x"}, {"cursor": "a.x.y"}, {"statuses": ("x",)}, {"statuses": ()}, {"limit": 101}],
)
def test_what_makes_no_sense_is_refused(memory: Memory, asked: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        page(memory, **asked)


def test_who_is_bound_sees_their_own_on_every_way(memory: Memory) -> None:
    bob = memory.acting_for("default", user_id="bob")
    for q, sort in (("", "newest"), ("fact", "newest"), ("oslo", "oldest")):
        request = BrowseRequest(user_id="bob", limit=100, q=q, sort=sort)
        found = drive(bob.engine.run(browse.browse_memories, request))
        assert {row.scope["user_id"] for row in found.rows} == {"bob"}
        assert len(found.rows) == 13
    figures = drive(bob.engine.run(browse.overview_figures, "bob", 30))
    assert (figures.people, figures.count("fact")) == (None, 13)
    with pytest.raises(Forbidden):
        drive(bob.engine.run(browse.overview_figures, "alice", 30))
    alices = page(memory, user_id="alice", everybody=False).rows[0].id
    with pytest.raises(NotFoundError):
        drive(bob.engine.run(browse.inspect_memory, alices))
    assert drive(bob.engine.run(browse.find_by_ids, [alices])) == {}


def test_figures_and_receipts_count_what_happened(memory: Memory) -> None:
    memory.add("I live in Rome.", user_id="carol")
    pack = memory.context("Where do I live?", user_id="carol")
    own = page(memory, user_id="carol", everybody=False).rows[0].id
    details = drive(memory.engine.run(browse.inspect_memory, own))
    assert [one["id"] for one in details.receipts] == [pack.receipt_id]
    figures = drive(memory.engine.run(browse.overview_figures, "carol", 30))
    assert {one.name: one.times for one in figures.days} == {"ADD": 1, "RECALL": 1}
    everybody = drive(memory.engine.run(browse.overview_figures, "", 30))
    assert everybody.people == 3
    assert everybody.waiting == {"pending": 0, "dead": 0}
    assert everybody.work is not None
    memory.delete_all(user_id="carol")


def test_who_has_nothing_left_is_no_longer_counted(memory: Memory) -> None:
    def people() -> int | None:
        return drive(memory.engine.run(browse.overview_figures, "", 30)).people

    before = people()
    ids = [memory.add(text, user_id="zoe", infer=False)["results"][0]["id"] for text in ("I like tea", "I like jazz")]
    assert (before, people()) == (2, 3)
    memory.review.disable(ids[0])
    assert people() == 3, "one memory is enough"
    memory.review.quarantine(ids[1])
    assert people() == len(memory.admin.list_scopes("user")["results"]) == 2
    memory.delete_all(user_id="zoe")
    assert people() == 2


def test_delete_all_deletes_what_is_disabled_or_held_back_too(memory: Memory) -> None:
    texts_of_eve = ("I like tea", "I like jazz", "I like chess", "I like ramen")
    ids = [memory.add(text, user_id="eve", infer=False)["results"][0]["id"] for text in texts_of_eve]
    memory.review.disable(ids[0])
    memory.review.quarantine(ids[1])
    memory.profile.set_visibility(ids[2], "private")
    assert memory.delete_all(user_id="eve", dry_run=True)["deleted"] == 4
    assert memory.delete_all(user_id="eve")["deleted"] == 4
    assert not page(memory, user_id="eve", everybody=False).rows
    gone = page(memory, user_id="eve", everybody=False, statuses=("deleted",)).rows
    assert {one.id for one in gone} == set(ids)


def test_days_that_have_as_many_events_as_before_are_not_counted_by_kind_again() -> None:
    memory = Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}})

    def figures(known: browse.OverviewFigures | None = None) -> browse.OverviewFigures:
        return drive(memory.engine.run(browse.overview_figures, "dora", 30, known))

    own = memory.add("I like tea", user_id="dora", infer=False)["results"][0]["id"]
    first = figures()
    assert [(one.name, one.times) for one in first.events] == [("ADD", 1)]
    marked = replace(first, events=[first.events[0]._replace(name="SEEN")])
    assert [one.name for one in figures(marked).events] == ["SEEN"], "as it was counted before"
    memory.update(own, "I like coffee")
    assert sorted((one.name, one.times) for one in figures(marked).events) == [("ADD", 1), ("UPDATE", 1)]
    memory.review.disable(own)
    assert figures().layers["fact", "disabled"].memories == 1
    everybody = drive(memory.engine.run(browse.overview_figures, "", 30))
    assert everybody.layers["fact", "disabled"] == LayerCount(1, 0)
    memory.close()
