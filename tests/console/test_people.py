"""People and agents: the list, a person's views, any day, merging, and the graph."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memstone.server.console.people import FIRST_NODES
from tests.console.house import Guest, House

PERSON = "/console/people/person"


def talk(house: House, text: str, user: str = "alice", session: str = "s1", days: int = 0, **rest: Any) -> None:
    """Let somebody say something, some days ago."""
    at = datetime.now(UTC) - timedelta(days=days)
    house.add(text, user, infer=True, run_id=session, occurred_at=at, **rest)


def finish(house: House, guest: Guest, page: Any) -> str:
    """Wait for the work that a page shows."""
    path = str(page.url).partition("testserver")[2]
    until = time.monotonic() + 30
    text = guest.see(path)
    while 'hx-trigger="every 1s"' in text and time.monotonic() < until:
        house.run(_pause)
        text = guest.see(path)
    return text


async def _pause() -> None:
    import asyncio

    await asyncio.sleep(0.02)


def test_everybody_is_listed_with_counts_and_the_last_change(house: House, operator: Guest) -> None:
    talk(house, "I live in Oslo")
    talk(house, "I live in Rome", "bob")
    page = operator.see("/console/people")
    assert "alice" in page
    assert "bob" in page
    assert "now" in page


def test_an_empty_list_teaches_the_first_step(operator: Guest) -> None:
    assert "memory.add" in operator.see("/console/people")
    assert "agent_id" in operator.see("/console/people?kind=agent")


def test_who_sees_one_person_is_led_to_them(house: House) -> None:
    house.add("I like tea", "bob")
    guest = house.guest(user_id="bob")
    page = guest.get("/console/people")
    assert page.status_code == 200
    assert "I like tea" in page.text
    assert "Merge" not in page.text


def test_a_person_has_identity_sessions_and_transcripts(house: House, operator: Guest) -> None:
    talk(house, "I live in Oslo")
    assert "User lives in Oslo" in operator.see(f"{PERSON}?user=alice")
    assert "s1" in operator.see(f"{PERSON}?user=alice&view=sessions")
    transcript = operator.see("/console/people/session?user=alice&session=s1")
    assert "I live in Oslo" in transcript
    assert "1 turn," in transcript
    operator.see("/console/people/session?user=alice&session=nowhere", 404)
    operator.see("/console/people/session?user=bob&session=s1", 404)


def test_episodes_are_a_timeline(house: House, operator: Guest) -> None:
    house.run(house.memory.settings.set, {"write.digest": True})
    turns = [
        {"role": "user", "content": "We decided to move to Bergen in May because of the new job at the harbour."},
        {"role": "assistant", "content": "A big step."},
        {"role": "user", "content": "Yes. Please remind me to call the landlord about the flat on Friday."},
    ]
    house.run(house.memory.sessions.ingest, turns, user_id="alice", run_id="move")
    page = operator.see(f"{PERSON}?user=alice&view=timeline")
    assert 'class="timeline"' in page
    assert "session=move" in page


def test_any_day_shows_what_was_known_then(house: House, operator: Guest) -> None:
    talk(house, "I live in Oslo", days=30)
    talk(house, "I moved to Bergen", session="s2", days=3)
    then = (datetime.now(UTC) - timedelta(days=10)).date()
    past = operator.see(f"{PERSON}?user=alice&view=past&day={then}")
    assert "User lives in Oslo" in past
    assert "Bergen" not in past
    assert "different now" in past or "gone since" in past
    assert "Bergen" in operator.see(f"{PERSON}?user=alice&view=past")
    operator.see(f"{PERSON}?user=alice&view=past&day=tomorrow", 400)


def test_the_graph_follows_the_day_and_grows_around_a_name(house: House, operator: Guest) -> None:
    talk(house, "I live in Oslo and my sister Mia works at Equinor.", days=30)
    talk(house, "I moved to Bergen", session="s2", days=3)
    then = (datetime.now(UTC) - timedelta(days=10)).date()
    old = operator.get(f"/console/people/graph.json?user=alice&day={then}").json()
    new = operator.get("/console/people/graph.json?user=alice").json()

    def home(graph: Any) -> set[str]:
        names = {node["id"]: node["name"] for node in graph["nodes"]}
        return {names[edge["target"]] for edge in graph["edges"] if edge["label"] == "lives in"}

    assert home(old) == {"Oslo"}
    assert home(new) == {"Bergen"}
    assert {node["name"] for node in old["nodes"]} == {"alice", "Oslo", "Mia", "Equinor"}, "Bergen came later"
    assert "Bergen" not in operator.see(f"{PERSON}?user=alice&view=graph&day={then}").split('id="main"')[1]
    mia = next(node["id"] for node in new["nodes"] if node["name"] == "Mia")
    around = operator.get(f"/console/people/graph.json?user=alice&around={mia}").json()
    assert {"Mia", "Equinor", "alice"} <= {node["name"] for node in around["nodes"]}
    assert len(new["nodes"]) <= FIRST_NODES
    assert "sister of" in operator.see(f"{PERSON}?user=alice&view=graph")


def test_memory_is_paused_and_goes_on(house: House, operator: Guest) -> None:
    house.add("I like tea")
    operator.see(f"{PERSON}?user=alice")
    paused = operator.submit("/console/people/pause", user="alice", wanted="pause").text
    assert "Memory is paused for alice" in paused
    assert house.run(house.memory.add, "I live in Oslo", user_id="alice")["status"] == "paused"
    operator.submit("/console/people/pause", user="alice", wanted="resume")
    assert house.run(house.memory.add, "I live in Oslo", user_id="alice")["status"] == "ok"


def test_two_people_are_merged_and_it_can_be_undone(house: House, operator: Guest) -> None:
    house.add("I like tea", "al")
    house.add("I like trains", "alice")
    operator.see(f"{PERSON}?user=al")
    refused = operator.submit("/console/people/merge", user="al", into="alice", confirm="")
    assert refused.status_code == 400
    done = finish(house, operator, operator.submit("/console/people/merge", user="al", into="alice", confirm="al"))
    assert "1</strong> memories moved" in done
    assert len(house.run(house.memory.get_all, user_id="alice")["results"]) == 2
    undo = done.partition('action="/console/activity/jobs/')[2].partition('"')[0]
    operator.submit(f"/console/activity/jobs/{undo}")
    assert len(house.run(house.memory.get_all, user_id="al")["results"]) == 1


def test_an_agent_is_changed_and_deleted(house: House, operator: Guest) -> None:
    house.add("Be kind", agent_id="support")
    page = operator.see("/console/people/agent?agent=support")
    assert "Settings" in page
    fields: dict[str, Any] = {
        "agent": "support",
        "name": "Help desk",
        "model": "m1",
        "prompt": "Be brief.",
        "search": "on",
    }
    operator.submit("/console/people/agent/save", **fields)
    agent = house.run(house.memory.agents.get, "support")
    assert (agent["name"], agent["model"], agent["system_prompt"]) == ("Help desk", "m1", "Be brief.")
    assert (agent["settings"]["disableMemory"], agent["settings"]["searchMemoryEnabled"]) == (True, True)
    assert operator.submit("/console/people/agent/delete", agent="support", confirm="x").status_code == 400
    operator.submit("/console/people/agent/delete", agent="support", confirm="support")
    assert house.run(house.memory.agents.get, "support") is None


@pytest.mark.parametrize("view", ["identity", "timeline", "sessions", "graph", "past"])
def test_another_person_sees_nothing_of_it(house: House, view: str) -> None:
    talk(house, "I live in Swordfish and my sister Mia knows it")
    answer = house.guest(user_id="bob").get(f"{PERSON}?user=alice&view={view}")
    assert answer.status_code in {403, 404}
    assert "wordfish" not in answer.text
    assert "Mia" not in answer.text


def test_ids_with_slashes_and_signs_have_their_page(house: House, operator: Guest) -> None:
    for name in ("team/alice", "a&b=c", "é#1"):
        house.add("I like tea", name)
        page = operator.see("/console/people")
        href = [part.partition('"')[0] for part in page.split('href="')[1:] if part.startswith(PERSON)]
        assert href
        assert "I like tea" in operator.get(PERSON, params={"user": name}).text
