"""The playground: what it shows of recalling, answering and learning."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.console.house import Guest, House, open_house
from tests.server.conftest import CONFIG
from tests.server.upstream import Upstream, served

PAGE = "/console/playground?user=alice&session=s1"
SAY = "/console/playground/say"


@pytest.fixture
def upstream() -> Iterator[tuple[Upstream, str]]:
    """A service that runs models, and its address."""
    made = Upstream()
    with served(made.app) as url:
        yield made, url


def with_upstream(url: str, dialect: str = "openai", **more: Any) -> dict[str, Any]:
    """Settings with one upstream."""
    one = {"name": "loop", "base_url": f"{url}/v1", "dialect": dialect, "retries": 0}
    return {**CONFIG, "gateway": {"upstreams": [one]}, **more}


def say(guest: Guest, message: str, **fields: Any) -> str:
    """Say something without scripts, and return the page."""
    guest.see(PAGE)
    answer = guest.submit(SAY, user="alice", session="s1", message=message, **fields)
    assert answer.status_code == 200, answer.text[-800:]
    return str(answer.text)


def events_of(answer: Any) -> list[tuple[str, Any]]:
    """The events of a streamed answer."""
    parts = [dict(line.split(": ", 1) for line in one.split("\n")) for one in answer.text.strip().split("\n\n")]
    return [(part["event"], json.loads(part["data"])) for part in parts]


def test_without_an_upstream_everything_that_memory_does_is_shown(operator: Guest) -> None:
    page = say(operator, "I live in Oslo and I'm allergic to peanuts.")
    assert "no upstream is configured" in page.lower()
    assert "User lives in Oslo" in page
    assert "learned" in page
    assert "I&#39;m allergic to peanuts" in page or "allergic to peanuts" in page
    later = say(operator, "Where do I live?")
    assert "Always shown: the profile" in later
    assert "tokens" in later


def test_what_is_known_or_no_fact_is_said_to_be_so(operator: Guest) -> None:
    assert "states no lasting fact" in say(operator, "Hello there!")
    say(operator, "I live in Oslo.")
    again = say(operator, "I live in Oslo.")
    assert "known" in again


def test_learning_can_be_switched_off(house: House, operator: Guest) -> None:
    page = say(operator, "I live in Oslo.", learn="no")
    assert "Learning is off" in page
    assert house.run(house.memory.get_all, user_id="alice")["results"] == []


def test_the_gate_and_the_budget_are_those_that_were_chosen(operator: Guest) -> None:
    say(operator, "I live in Oslo.")
    assert "Nothing:" in say(operator, "Where do I live?", gate="never")
    assert "of 77 tokens" in say(operator, "Where do I live?", budget="77")


@pytest.mark.parametrize("wrong", [{"gate": "x"}, {"budget": "-1"}, {"budget": "99999"}, {"preset": "x"}])
def test_a_wrong_choice_is_explained(operator: Guest, wrong: dict[str, Any]) -> None:
    operator.see(PAGE)
    answer = operator.submit(SAY, user="alice", session="s1", message="Hi", **wrong)
    assert answer.status_code == 400
    assert "What to do" in answer.text


def test_another_preset_is_tried_without_changing_the_service(house: House, operator: Guest) -> None:
    page = say(operator, "I live in Oslo.", preset="companion")
    assert "Memory learns later by its settings" in page
    assert house.memory.engine.runtime.policy.preset == "facts"


def test_an_answer_is_streamed_with_the_block_in_its_place(upstream: tuple[Upstream, str]) -> None:
    made, url = upstream
    made.reply = "You live in Oslo."
    with open_house(with_upstream(url)) as house:
        house.add("I live in Oslo", infer=True)
        guest = house.guest()
        guest.see(PAGE)
        fields = {"user": "alice", "session": "s1", "message": "Where do I live?", "model": "m", "csrf": guest.csrf}
        answer = guest.post(SAY, data=fields, headers={"accept": "text/event-stream"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_of(answer)
    assert [name for name, _ in events if name != "piece"] == ["block", "answer", "learned"]
    assert "".join(text for name, text in events if name == "piece").strip() == "You live in Oslo."
    assert "User lives in Oslo" in dict(events)["block"]
    assert "User lives in Oslo" in json.dumps(made.seen[0]["messages"])


def test_an_anthropic_upstream_answers_too(upstream: tuple[Upstream, str]) -> None:
    made, url = upstream
    made.reply = "Hello!"
    with open_house(with_upstream(url, "anthropic")) as house:
        assert "Hello!" in say(house.guest(), "Hi", model="claude")
    assert made.seen[0]["max_tokens"]


def test_the_conversation_goes_along_with_the_next_message(upstream: tuple[Upstream, str]) -> None:
    made, url = upstream
    with open_house(with_upstream(url)) as house:
        guest = house.guest()
        say(guest, "My cat is Bo", model="m")
        say(guest, "And my dog?", model="m")
    roles = [one["role"] for one in made.seen[1]["messages"] if one["role"] != "system"]
    assert roles[-3:] == ["user", "assistant", "user"]


@pytest.mark.parametrize("status", [401, 500])
def test_an_upstream_that_fails_is_named_and_memory_still_learns(upstream: tuple[Upstream, str], status: int) -> None:
    made, url = upstream
    made.broken = [status] * 4
    with open_house(with_upstream(url)) as house:
        page = say(house.guest(), "I live in Oslo.", model="m")
        assert f"answered {status}" in page
        assert "User lives in Oslo" in page


def test_a_person_talks_as_themselves_whatever_the_form_says(house: House) -> None:
    guest = house.guest(user_id="bob")
    guest.see("/console/playground")
    guest.submit(SAY, user="alice", session="s1", message="I live in Rome.")
    assert house.run(house.memory.get_all, user_id="alice")["results"] == []
    assert house.run(house.memory.get_all, user_id="bob")["results"]


def test_a_conversation_is_for_whoever_had_it(house: House) -> None:
    say(house.guest(), "The word is swordfish.")
    assert "swordfish" not in house.guest().see(PAGE)


def test_a_message_is_not_empty_and_not_too_long(operator: Guest) -> None:
    operator.see(PAGE)
    for message in ("   ", "x" * 8_001):
        assert operator.submit(SAY, user="alice", session="s1", message=message).status_code == 400
