"""Activity: the list, the causes, and the live feed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memstone.server.console import activity_feed
from memstone.server.console.activity_feed import ActivityReader, Feeds
from tests.console.house import Guest, House

PAGE = "/console/activity"


def test_changes_recalls_and_failures_are_listed_with_their_causes(house: House, operator: Guest) -> None:
    memory_id = house.add("I live in Oslo", infer=True)
    receipt = house.run(house.memory.context, "Where do I live?", user_id="alice").receipt_id
    house.world.client.get("/v1/memories/nowhere")
    page = operator.see(PAGE)
    assert "User lives in Oslo" in page
    assert f"/console/memories/{memory_id}" in page
    assert f"/console/receipts/{receipt}" in page
    assert "404 GET /v1/memories/" in page


@pytest.mark.parametrize(
    ("kind", "there", "absent"), [("change", "Learned", "Showed"), ("recall", "Showed", "Learned")]
)
def test_a_filter_leaves_one_kind(house: House, operator: Guest, kind: str, there: str, absent: str) -> None:
    house.add("I live in Oslo", infer=True)
    house.run(house.memory.context, "Where do I live?", user_id="alice")
    page = operator.see(f"{PAGE}?kind={kind}")
    rows = page.partition('id="feed"')[2]
    assert there in rows
    assert absent not in rows


def test_a_filter_leaves_one_person(house: House, operator: Guest) -> None:
    house.add("I live in Oslo")
    house.add("I live in Rome", "bob")
    page = operator.see(f"{PAGE}?user=bob")
    assert "Rome" in page
    assert "Oslo" not in page


def test_a_person_sees_what_concerns_them_and_no_failures_of_the_service(house: House) -> None:
    house.add("The word is swordfish")
    house.world.client.get("/v1/memories/nowhere")
    page = house.guest(user_id="bob").see(PAGE)
    assert "swordfish" not in page
    assert "404 GET" not in page


def test_an_empty_feed_teaches_the_first_step(operator: Guest) -> None:
    assert "Say something in the playground" in operator.see(PAGE)


def test_a_job_tells_its_outcome_and_is_undone(house: House, operator: Guest) -> None:
    house.add("I live in Oslo", infer=True)
    house.run(house.memory.admin.consolidate, everybody=True)
    job = house.run(house.memory.admin.jobs, everybody=True)["results"][0]
    page = operator.see(f"{PAGE}/jobs/{job['id']}")
    assert "Outcome" in page
    operator.see(f"{PAGE}/jobs/nowhere", 404)


def test_secrets_in_rows_are_masked(house: House, operator: Guest) -> None:
    house.add("Write to maya@example.com please")
    assert "maya@example.com" not in operator.see(PAGE)


def test_the_stream_opened_as_a_page_leads_to_the_page(operator: Guest) -> None:
    answer = operator.get(f"{PAGE}/stream", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)


# --- live -------------------------------------------------------------------------------------------------------------


async def _watch(house: House, feeds: Feeds, acts: Any, watchers: int = 1) -> list[list[str]]:
    """What so many watchers are sent while something happens."""
    scope = {"user_id": None, "agent_id": None, "run_id": None, "everybody": True}
    templates = house.world.app.state.console.templates
    subscriptions = [
        await feeds.subscribe("all", ActivityReader(house.memory, scope, "default"), templates) for _ in range(watchers)
    ]
    await acts()
    sent = [await asyncio.wait_for(_first_rows(one), 20) for one in subscriptions]
    for one in subscriptions:
        one.close()
    return sent


async def _first_rows(subscription: Any) -> list[str]:
    while not (rows := await subscription.wait(1.0)):
        pass
    return list(rows)


def test_what_happens_reaches_everybody_who_watches_and_is_read_once(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    read = ActivityReader.read_news

    async def counted(reader: ActivityReader) -> Any:
        looks.append(1)
        return await read(reader)

    monkeypatch.setattr(ActivityReader, "read_news", counted)
    monkeypatch.setattr(activity_feed, "EVERY", 0.01)
    house.add("before")
    feeds = Feeds()

    async def acts() -> None:
        looks.clear()
        await house.memory.add("<b>I live in Oslo</b>", user_id="alice", infer=False)

    sent = house.run(_watch, house, feeds, acts, 20)
    assert all(len(rows) == 1 for rows in sent)
    assert "event: change" in sent[0][0]
    assert "&lt;b&gt;I live in Oslo" in sent[0][0]
    assert "before" not in sent[0][0]
    assert len(looks) < 20, "one look serves all"
    assert not feeds._feeds, "nobody watches any more"


def test_recalls_and_jobs_are_sent_once(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity_feed, "EVERY", 0.01)
    house.add("I live in Oslo", infer=True)

    async def acts() -> None:
        await house.memory.context("Where do I live?", user_id="alice")

    (rows,) = house.run(_watch, house, Feeds(), acts)
    assert [row.splitlines()[0] for row in rows] == ["event: recall"]


def test_who_comes_back_is_sent_what_was_missed(house: House) -> None:
    first = house.add("one")
    cursor = house.run(house.memory.review.events, everybody=True)["cursor"]
    house.add("two")

    async def come_back() -> list[str]:
        scope = {"user_id": None, "agent_id": None, "run_id": None, "everybody": True}
        reader = ActivityReader(house.memory, scope, "default")
        feeds = Feeds()
        made = await feeds.subscribe("all", reader, house.world.app.state.console.templates, cursor)
        rows = await made.wait(1.0)
        made.close()
        return rows

    rows = "".join(house.run(come_back))
    assert "two" in rows
    assert first not in rows
