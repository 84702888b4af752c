"""The list of memories, the page of one, the profile and the overview, without a browser: what they show and do."""

from __future__ import annotations

import io
import json
import re
from html import unescape
from typing import Any
from urllib.parse import quote

import pytest

from tests.console.house import Guest, House

LIST = "/console/memories"
EVIL = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><b>bold</b> \u202egnp.exe \x1b[31m "
    "{{ 7*7 }} {% if 1 %} javascript:alert(3) \u2066\u200f"
)


def texts(page: str) -> list[str]:
    """What a page lists."""
    found = re.findall(r'<a class="(?:memory-text said|said memory-text)"[^>]*>(.*?)</a>', page, re.DOTALL)
    return [unescape(re.sub(r"<[^>]+>", "", one)) for one in found]


# --- looking ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("O-87")
def test_the_list_shows_twenty_and_leads_to_the_others_and_back(house: House, operator: Guest) -> None:
    for number in range(45):
        house.add(f"Fact number {number}")
    first = operator.see(LIST)
    assert texts(first) == [f"Fact number {number}" for number in range(44, 24, -1)]
    assert "45 memories" in first
    older = re.search(r'rel="next" href="([^"]+)"', first)
    assert older is not None
    second = operator.see(older[1].replace("&amp;", "&"))
    assert texts(second) == [f"Fact number {number}" for number in range(24, 4, -1)]
    newer = re.search(r'rel="prev" href="([^"]+)"', second)
    assert newer is not None
    assert texts(operator.see(newer[1].replace("&amp;", "&"))) == texts(first)


@pytest.mark.req("O-87")
@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("osl", ["I live in Oslo"]),
        ("Oslo", ["I live in Oslo"]),
        ("live os", ["I live in Oslo"]),
        ("lives", ["I live in Oslo"]),
        ("bicyc", ["My bicycle is red"]),
        ("red bicycles", ["My bicycle is red"]),
        ("xyz", []),
        ("oslo rome", []),
        ('"', ["I live in Oslo", "My bicycle is red", "Rome was nice"]),
        ("ro", ["Rome was nice"]),
    ],
)
def test_words_are_found_as_they_are_typed(house: House, operator: Guest, typed: str, found: list[str]) -> None:
    for text in ("I live in Oslo", "My bicycle is red", "Rome was nice"):
        house.add(text)
    assert sorted(texts(operator.see(LIST, params={"q": typed}))) == (found if typed != '"' else [])
    assert sorted(texts(operator.see(LIST, params={"q": typed, "user": "alice"}))) == (found if typed != '"' else [])


def test_matches_are_highlighted(house: House, operator: Guest) -> None:
    house.add("I live in Oslo & Rome")
    page = operator.see(LIST, params={"q": "OSL"})
    assert "<mark>Osl</mark>o &amp; Rome" in page
    house.add("A night train to Tokyo, then Kyoto")
    assert "A night train to Tokyo, then <mark>Kyo</mark>to" in operator.see(LIST, params={"q": "kyo"})


@pytest.mark.req("O-88", "N-25")
def test_filters_choose_by_person_kind_status_tag_agent_session_and_day(house: House, operator: Guest) -> None:
    house.add("I like tea", kind="semantic")
    off = house.add("I like chess", metadata={"tags": ["game"]})
    house.add("I like rain", "bob", agent_id="coach", run_id="s1", occurred_at="2026-01-05")
    house.run(house.memory.review.disable, off)
    shown = {
        "user=bob": ["I like rain"],
        "kind=semantic": ["I like tea"],
        "status=disabled": ["I like chess"],
        "tag=game": ["I like chess"],
        "agent=coach": ["I like rain"],
        "session=s1": ["I like rain"],
        "since=2026-01-01&until=2026-01-05": ["I like rain"],
        "until=2026-01-04": [],
        "user=alice&sort=oldest": ["I like tea", "I like chess"],
        "show=said": [],
        "show=all&user=bob": ["I like rain"],
    }
    assert {query: texts(operator.see(f"{LIST}?{query}")) for query in shown} == shown


@pytest.mark.parametrize(
    "query", ["sort=weight", "show=x", "status=x", "per=7000", "at=zzz", "since=yesterday", "kind=x"]
)
def test_what_an_address_may_not_say_is_explained(operator: Guest, query: str) -> None:
    page = operator.see(f"{LIST}?{query}", 400)
    assert "What to do" in page


@pytest.mark.req("N-25")
def test_previews_hide_addresses_and_numbers_from_who_only_looks(house: House) -> None:
    house.add("Write to me at alice@example.com or +49 170 1234567")
    reader, alice = house.guest(read_only=True), house.guest(user_id="alice")
    assert "alice@example.com" not in reader.see(LIST)
    assert "alice@example.com" in alice.see(LIST)
    exported = reader.see(f"{LIST}/export")
    assert "alice@example.com" not in exported


@pytest.mark.req("N-25")
def test_a_search_by_meaning_says_why_it_found_each(house: House, operator: Guest) -> None:
    house.add("I live in Oslo")
    page = operator.see(f"{LIST}?user=alice&by=meaning&q=Oslo")
    assert texts(page) == ["I live in Oslo"]
    assert "its words match" in page or "contains it literally" in page


def test_an_empty_list_teaches_the_first_step(operator: Guest) -> None:
    page = operator.see(LIST)
    assert "Nothing is remembered yet" in page
    assert "memstone add" in page
    assert "Nothing matches" in operator.see(f"{LIST}?q=xyz")


# --- acting -----------------------------------------------------------------------------------------------------------


def undo(guest: Guest, answer: Any) -> Any:
    """Press Undo in the message."""
    name = re.search(r'name="toast" value="([^"]+)"', answer.text)
    assert name is not None, answer.text[-3000:]
    return guest.submit("/console/undo", toast=name[1], back=LIST)


@pytest.mark.req("O-90", "N-25")
@pytest.mark.parametrize("act", ["delete", "disable"])
def test_many_are_put_aside_at_once_and_undo_brings_all_back(house: House, operator: Guest, act: str) -> None:
    ids = [house.add(f"Fact {number}") for number in range(3)]
    operator.see(LIST)
    answer = operator.submit(f"{LIST}/act", id=ids[:2], act=act, back=LIST)
    assert f"{act.title()}d 2 memories" in answer.text
    assert [one["memory"] for one in house.run(house.memory.get_all, user_id="alice")["results"]] == ["Fact 2"]
    assert "Undone" in undo(operator, answer).text
    assert len(house.run(house.memory.get_all, user_id="alice")["results"]) == 3


def test_many_are_tagged_restored_enabled_and_moved(house: House, operator: Guest) -> None:
    one, two = house.add("Fact 1"), house.add("Fact 2")
    operator.submit(f"{LIST}/act", id=[one, two], act="tag", tag="blue")
    assert len(texts(operator.see(f"{LIST}?tag=blue"))) == 2
    operator.submit(f"{LIST}/act", id=[one], act="delete")
    assert texts(operator.see(f"{LIST}?status=deleted")) == ["Fact 1"]
    operator.submit(f"{LIST}/act", id=[one], act="restore")
    operator.submit(f"{LIST}/act", id=[two], act="disable")
    operator.submit(f"{LIST}/act", id=[two], act="enable")
    assert len(texts(operator.see(f"{LIST}?status=active"))) == 2
    moved = operator.submit(f"{LIST}/act", id=[one], act="move", to="bob", back=LIST)
    assert texts(operator.see(f"{LIST}?user=bob")) == ["Fact 1"]
    assert texts(operator.see(f"{LIST}?user=alice")) == ["Fact 2"]
    undo(operator, moved)
    assert sorted(texts(operator.see(f"{LIST}?user=alice"))) == ["Fact 1", "Fact 2"]


def test_what_could_not_be_done_is_said_beside_what_was(house: House, operator: Guest) -> None:
    known = house.add("Fact 1")
    answer = operator.submit(f"{LIST}/act", id=[known, "nobody-knows-this"], act="delete")
    assert "Deleted 1 memory" in answer.text
    assert "could not be" in answer.text
    assert operator.submit(f"{LIST}/act", act="delete").status_code == 400


@pytest.mark.req("O-89")
def test_a_memory_is_added_by_hand_with_key_and_kind(house: House, operator: Guest) -> None:
    sent = {"user": "alice", "text": "Likes window seats", "kind": "procedural", "key": "seat"}
    answer = operator.submit(f"{LIST}/add", **sent)
    assert "Added 1 memory" in answer.text
    (known,) = house.run(house.memory.get_all, user_id="alice")["results"]
    assert (known["memory"], known["kind"], known["key"]) == ("Likes window seats", "procedural", "seat")
    assert "known already" in operator.submit(f"{LIST}/add", **sent).text
    assert operator.submit(f"{LIST}/add", text="x").status_code == 400


@pytest.mark.req("N-16")
def test_a_text_is_edited_in_its_place_and_the_old_one_stays_in_the_history(house: House, operator: Guest) -> None:
    own = house.add("I live in Oslo")
    form = operator.see(f"{LIST}/{own}/edit?back={LIST}")
    assert ">I live in Oslo</textarea>" in form
    answer = operator.submit(f"{LIST}/{own}/edit", text="I live in Bergen", back=LIST)
    assert "Saved" in answer.text
    page = operator.see(f"{LIST}/{own}")
    assert "<del>Oslo</del><ins>Bergen</ins>" in page
    undo(operator, answer)
    assert house.run(house.memory.get, own)["memory"] == "I live in Oslo"


@pytest.mark.req("O-91")
def test_a_page_is_exported_and_imported_with_counts(house: House, operator: Guest) -> None:
    house.add("Fact 1", metadata={"tags": ["a"]})
    house.add("Fact 2", key="two")
    told = json.loads(operator.see(f"{LIST}/export?user=alice"))
    assert [one["memory"] for one in told["memories"]] == ["Fact 2", "Fact 1"]
    house.run(house.memory.delete_all, user_id="alice")
    house.add("Fact 1", "bob")

    def send(content: bytes, **fields: str) -> Any:
        files = {"file": ("memories.json", io.BytesIO(content), "application/json")}
        return operator.post(f"{LIST}/import", data={"csrf": operator.csrf, **fields}, files=files)

    answer = send(json.dumps(told).encode(), user="bob")
    assert "Imported 1 memory, skipped 1" in answer.text
    assert {one["memory"] for one in house.run(house.memory.get_all, user_id="bob")["results"]} == {"Fact 1", "Fact 2"}
    assert send(b"no json").status_code == 400
    assert send(b'{"memories": []}').status_code == 400
    assert send(b'{"memories": [{"text": 1}]}').status_code == 400


def test_what_was_learned_is_not_stored_again_when_its_page_is_imported(house: House, operator: Guest) -> None:
    house.run(house.memory.add, "I live in Oslo. I plan to visit Kyoto in April.", user_id="alice", run_id="s1")
    told = operator.see(f"{LIST}/export?user=alice").encode()
    before = [one["id"] for one in house.run(house.memory.get_all, user_id="alice")["results"]]

    def send(content: bytes) -> str:
        files = {"file": ("memories.json", io.BytesIO(content), "application/json")}
        text: str = operator.post(f"{LIST}/import", data={"csrf": operator.csrf}, files=files).text
        return text

    assert f"Imported 0 memories, skipped {len(before)}" in send(told)
    assert [one["id"] for one in house.run(house.memory.get_all, user_id="alice")["results"]] == before
    assert "Imported 1 memory" in send(told.replace(b"User lives in Oslo.", b"User lives in Bergen."))


# --- one memory -------------------------------------------------------------------------------------------------------


@pytest.mark.req("N-25", "S-66.1")
def test_a_memory_says_where_it_comes_from_why_it_changed_and_who_was_shown_it(house: House, operator: Guest) -> None:
    made = house.run(house.memory.add, "Hello there. I live in Oslo.", user_id="alice", run_id="s1")
    own = made["results"][0]["id"]
    house.run(house.memory.context, "Where do I live?", user_id="alice")
    page = operator.see(f"{LIST}/{own}")
    assert "<mark>I live in Oslo.</mark>" in page
    assert "nothing known says this or its opposite" in page
    assert "Where do I live?" in page
    receipt = re.search(r'href="(/console/receipts/[^"]+)"', page)
    assert receipt is not None
    shown = operator.see(receipt[1])
    assert "Shown to the model" in shown
    assert "User lives in Oslo." in shown


def test_a_memory_also_shows_the_words_that_changed_it(house: House, operator: Guest) -> None:
    said = ("I live in Oslo and work as a marine biologist.", "I moved to Bergen in October, near the harbour.")
    for number, text in enumerate(said):
        house.run(house.memory.add, text, user_id="alice", run_id=f"s{number}")
    facts = house.run(house.memory.get_all, user_id="alice")["results"]
    own = next(one["id"] for one in facts if one["evidence"].get("also"))
    page = operator.see(f"{LIST}/{own}")
    assert "<mark>I live in Oslo and work as a marine biologist.</mark>" in page
    assert "<mark>I moved to Bergen in October, near the harbour.</mark>" in page


def test_a_memory_says_how_often_it_was_recalled_and_how_often_it_was_in_the_profile(
    house: House, operator: Guest
) -> None:
    own = house.add("The bicycle of my neighbour was stolen in Lisbon")

    def about() -> str:
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", operator.see(f"{LIST}/{own}"))).split()).replace(" ,", ",")

    assert "Recalled 0 times for a message" in about()
    assert "In the profile" not in about()
    house.run(house.memory.profile.set_visibility, own, "pinned")
    for message in ("Where do I live?", "Plan my weekend."):
        house.run(house.memory.context, message, user_id="alice")
    assert "Recalled 0 times for a message In the profile 2 times" in about()
    house.run(house.memory.profile.set_visibility, own, "hidden")
    house.run(house.memory.context, "Which bicycle was stolen in Lisbon?", user_id="alice")
    assert "Recalled 1 time for a message, last now In the profile 2 times" in about()
    assert "3 receipts" in about()
    assert "now recalled for alice" in about()


def test_a_memory_is_disabled_enabled_held_forgotten_restored_and_judged(house: House, operator: Guest) -> None:
    own = house.add("I live in Oslo")
    page = f"{LIST}/{own}"
    for act, status in (("disable", "disabled"), ("enable", "active"), ("quarantine", "quarantined")):
        assert f"Now {status}" in operator.submit(f"{page}/status", act=act).text
    assert operator.submit(f"{page}/status", act="disable").status_code == 409
    assert "Approved" in operator.submit(f"{page}/decide", act="approve").text
    operator.submit(f"{page}/status", act="quarantine")
    assert "Undone" in undo(operator, operator.submit(f"{page}/decide", act="reject")).text
    operator.submit(f"{page}/decide", act="approve")
    assert "Deleted 1 memory" in operator.submit(f"{page}/forget").text
    assert "Restored" in operator.submit(f"{page}/restore").text
    assert "weight follows" in operator.submit(f"{page}/judge", useful="yes").text
    assert operator.submit(f"{page}/status", act="x").status_code == 400


def test_an_earlier_version_comes_back_and_one_change_is_undone(house: House, operator: Guest) -> None:
    own = house.add("one")
    house.run(house.memory.update, own, "two")
    house.run(house.memory.update, own, "three")
    operator.submit(f"{LIST}/{own}/restore", version="1")
    assert house.run(house.memory.get, own)["memory"] == "one"
    event = house.run(house.memory.history, own)[-1]["id"]
    operator.submit(f"{LIST}/{own}/undo", event=event)
    assert house.run(house.memory.get, own)["memory"] == "three"


def test_erasing_takes_the_typed_word_and_leaves_nothing(house: House, operator: Guest) -> None:
    own = house.add("The word is swordfish")
    assert operator.submit(f"{LIST}/{own}/erase", confirm="yes").status_code == 400
    answer = operator.submit(f"{LIST}/{own}/erase", confirm="erase")
    assert "Erased for good" in answer.text
    assert operator.get(f"{LIST}/{own}").status_code == 404


def test_a_deleted_memory_still_has_its_page(house: House, operator: Guest) -> None:
    own = house.add("I live in Oslo")
    house.run(house.memory.delete, own)
    page = operator.see(f"{LIST}/{own}")
    assert "Restore" in page
    assert "deleted" in page


# --- the profile and the overview -------------------------------------------------------------------------------------


def test_the_profile_is_what_models_are_always_shown_and_follows_every_choice(house: House, operator: Guest) -> None:
    house.run(
        house.memory.add, "I am allergic to peanuts. I live in Oslo. My favourite food is ramen.", user_id="alice"
    )
    ids = {one["memory"]: one["id"] for one in house.run(house.memory.get_all, user_id="alice")["results"]}
    page = operator.see("/console/profile?user=alice")
    assert [one["memory"] for one in house.run(house.memory.profile.get, user_id="alice")["facts"]] == texts(page)[:3]
    own = ids["User's favourite food is ramen."]
    operator.submit(f"{LIST}/{own}/visibility", visibility="pinned")
    assert texts(operator.see("/console/profile?user=alice"))[0] == "User's favourite food is ramen."
    operator.submit(f"{LIST}/{own}/visibility", visibility="private")
    assert "ramen" not in "".join(texts(operator.see("/console/profile?user=alice"))[:2])
    tried = operator.see("/console/profile?user=alice&message=Where+do+I+live%3F")
    assert "Recalled for it" in tried
    assert "As the model reads it" in tried
    assert "Whose memory?" in operator.see("/console/profile")


@pytest.mark.req("O-92", "O-93", "S-66.1")
def test_the_overview_counts_plots_and_says_how_to_connect(house: House) -> None:
    house.run(house.memory.add, "I live in Oslo.", user_id="alice")
    house.add("I like tea", "bob")
    house.run(house.memory.context, "Where do I live?", user_id="alice")
    operator = house.guest()
    page = operator.see("/")
    assert re.findall(r'stat-label">([^<]+)</span><span class="stat-value[^"]*">(\d+)<', page) == [
        ("People", "2"), ("Memories", "2"), ("Turns", "1"), ("Waiting for review", "0"),
    ]  # fmt: skip
    assert "learned 2" in page
    assert "recalled 1" in page
    assert "OPENAI_BASE_URL=http://testserver/v1" in page
    assert "http://testserver/mcp" in page
    assert 'class="dot ok"' in operator.see("/console/dot")
    assert "Consolidated" in operator.submit("/console/consolidate").text
    assert "Learned from" in operator.submit("/console/learn").text


def test_a_person_sees_and_corrects_their_own_memory_and_nothing_else(house: House) -> None:
    own, other = house.add("I live in Oslo"), house.add("I like chess", "bob")
    alice = house.guest(user_id="alice")
    assert "Your memory" in alice.see("/")
    assert texts(alice.see(LIST)) == ["I live in Oslo"]
    assert texts(alice.see(f"{LIST}?user=alice")) == ["I live in Oslo"]
    assert alice.get(f"{LIST}?user=bob").status_code == 403
    assert alice.get(f"{LIST}/{other}").status_code == 404
    assert "Saved" in alice.submit(f"{LIST}/{own}/edit", text="I live in Rome").text
    assert alice.submit(f"{LIST}/{other}/edit", text="x").status_code == 404
    assert alice.submit("/console/consolidate").status_code == 403
    assert "Added" in alice.submit(f"{LIST}/add", text="I like tea", user="bob").text
    assert [one["memory"] for one in house.run(house.memory.get_all, user_id="bob")["results"]] == ["I like chess"]


# --- stored text ------------------------------------------------------------------------------------------------------


def test_stored_text_is_inert_on_every_page(house: House, operator: Guest) -> None:
    user = 'eve"><script>alert(4)</script>'
    own = house.add(EVIL, user, metadata={"tags": [EVIL[:90]], "note": EVIL}, key="<i>key</i>")
    house.run(house.memory.update, own, EVIL + " again")
    receipt = house.run(house.memory.context, EVIL, user_id=user).receipt_id
    query = {"user": user, "q": "<script>alert(5)</script>", "message": EVIL, "tag": EVIL}
    pages = [
        operator.get("/"),
        operator.get(LIST),
        operator.get(LIST, params=query),
        operator.get(LIST, params={"user": user}),
        operator.get(f"{LIST}/{own}"),
        operator.get(f"{LIST}/{own}/edit"),
        operator.get("/console/profile", params=query),
        operator.get("/console/options"),
        operator.get(f"/console/receipts/{receipt}"),
        operator.get(f"/console/{quote(EVIL, safe='')}"),
    ]
    for answer in pages:
        assert answer.status_code < 500
        text = answer.text
        assert not re.search(r"<script(?![^>]*\bsrc=\"/console/static/)", text), answer.request.url
        assert not re.search(r"<img|<b>bold|<i>key", text), answer.request.url
        assert not re.search(r"href=\"\s*javascript:", text)
        assert not set(text) & set("\u202e\u2066\u200f\x1b")
        assert "49" not in re.findall(r"\{\{ 7\*7 \}\}|\b49\b", text)


def test_nothing_is_added_while_memory_is_paused_and_the_page_says_so(house: House, operator: Guest) -> None:
    house.run(house.memory.settings.pause, user_id="alice")
    answer = operator.submit("/console/memories/add", text="Likes tea", user="alice", kind="factual")
    assert answer.status_code == 409
    assert "Memory is paused for this user" in answer.text
    file = {"file": ("x.json", b'[{"memory": "Likes tea", "user_id": "alice"}]', "application/json")}
    answer = operator.post("/console/memories/import", data={"csrf": operator.csrf}, files=file)
    assert answer.status_code == 409
    assert "import again" in answer.text


def test_nothing_is_said_to_be_erased_that_was_not_there(house: House, operator: Guest) -> None:
    gone = "00000000-0000-7000-8000-000000000000"
    assert operator.submit(f"/console/memories/{gone}/erase", confirm="erase").status_code == 404


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("storage_full", "Free some space on the server"),
        ("storage_busy", "Wait until a backup"),
        ("storage_error", "write to its file and folder"),
    ],
)
def test_every_page_says_what_to_do_while_the_store_is_read_only(
    house: House, operator: Guest, monkeypatch: pytest.MonkeyPatch, reason: str, advice: str
) -> None:
    person = house.guest(user_id="alice")

    async def fails() -> str:
        return reason

    monkeypatch.setattr(house.world.app.state.memstone.writable, "reason", fails)
    for path in ("/", "/console/memories", "/console/profile?user=alice", "/console/activity", "/console/settings"):
        assert advice in operator.see(path)
        assert advice not in person.see(path.split("?")[0])
        assert "Tell whoever runs this service" in person.see(path.split("?")[0])
    monkeypatch.undo()
    assert "nothing is learned or changed" not in operator.see("/")


def test_the_overview_does_not_look_at_every_memory_to_say_how_memory_is(
    house: House, operator: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.add("Likes tea")

    async def fails(_: object) -> int:
        raise AssertionError

    monkeypatch.setattr("memstone.engine.status.pending_vectors", fails)
    page = operator.see("/")
    assert "Embeddings" in page
    assert "bow-v1" in page
